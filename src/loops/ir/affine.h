// Integer expressions as affine forms: constant + sum of coefficient * index.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "loops/ir/program.h"

namespace lightline::loops {

struct Affine {
  int64_t constant = 0;
  std::vector<std::pair<IndexId, int64_t>> terms;  // by ascending index, no zero coefficients

  int64_t coefficient(IndexId index) const;
  bool operator==(const Affine&) const = default;
};

// Nothing if the expression has div, mod, min, max, a read, a product of indices, or overflows.
std::optional<Affine> affine_of(const Program& program, ExprId expr);

}  // namespace lightline::loops
