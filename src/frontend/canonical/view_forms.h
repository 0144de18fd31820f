// The views of the list, brought to a few: reshape, permute, expand, slice, select, diagonal, unfold, as_strided, and the
// parts of complex numbers.
#pragma once

#include <optional>

#include "graph/operators.h"

namespace lightline::frontend {

// A view with its arguments, the tensor left out; an empty operator is the tensor itself.
struct ViewStep {
  const graph::OperatorSignature* op = nullptr;
  std::vector<graph::NamedArgument> arguments;
  TensorType from, to;
};

// What the call of a view operator gives, one step for each result; none if the operator is no view.
// `arguments` stand in the order of the operator's parameters; types of results by the list.
std::optional<std::vector<ViewStep>> view_steps(const graph::OperatorSignature& op,
                                                const std::vector<graph::Argument>& arguments, const TensorType& from,
                                                const std::vector<TensorType>& results);

ViewStep reshape_step(const TensorType& from, const Shape& to);

}  // namespace lightline::frontend
