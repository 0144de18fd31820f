// Where a bound is lower than it might be, and by how much at most.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index/direction.h"
#include "index/form.h"
#include "loops/ir/program.h"

namespace lightline::demand {

class Needs;
struct NormalForm;

// By statement and reason: how often.
using Drops = std::map<std::pair<uint32_t, std::string>, int64_t>;

struct GivenUp {
  std::string what;
  std::string group;  // whose statement
  int64_t times = 0;
  bool unknown =
      false;  // of a result nothing is known, so that what is made of it counts nothing either; else a set of
              // points became smaller
  // How much more there could be; by this alone, since one thing may be behind several.
  index::AtMost macs, bytes;
};

// Names what was lost since `before`, for a statement.
void note_losses(const index::Losses& before, const index::Losses& after, uint32_t statement, Drops& drops);

// Of the fused tier, the worst first.
std::vector<GivenUp> given_up(const NormalForm& form, const Needs& fused);

}  // namespace lightline::demand
