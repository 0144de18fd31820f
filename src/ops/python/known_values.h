// Values that follow from what the metadata of a program state: small parts of it are run while it is lowered.
#pragma once

#include <optional>
#include <unordered_map>

#include "base/tensor.h"
#include "loops/ir/program.h"

namespace lightline::ops {

using KnownArrays = std::unordered_map<loops::ArrayId, const lightline::Tensor*>;

// The content of an array if it depends on known arrays alone and takes little work; none otherwise.
std::optional<lightline::Tensor> known_content(const loops::Program& program, loops::ArrayId array,
                                               const KnownArrays& known);

}  // namespace lightline::ops
