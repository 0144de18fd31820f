// One form of the arguments of a call: dimensions counted from the front and in order, one number for each dimension of
// a window, one operator for convolutions and softmaxes of all kinds.
#pragma once

#include <functional>
#include <vector>

#include "graph/operators.h"

namespace lightline::frontend {

struct CanonicalCall {
  const graph::OperatorSignature* op;
  std::vector<graph::Argument> arguments;  // in the order of its parameters
};

// `type_of` gives the types of tensors among the arguments.
using TypeOf = std::function<TensorType(graph::ValueId)>;

CanonicalCall with_plain_arguments(CanonicalCall call, const TypeOf& type_of);

}  // namespace lightline::frontend
