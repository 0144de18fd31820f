// Which operator of the list a source's name means, and in which order its arguments stand.
//
// Room frontend/canonical: from the calls that sources spell in many ways to the operators of the list: names, order and
// defaults of arguments, one operator for what means the same, no writes in place.
// May use: base, graph.
#pragma once

#include <string_view>
#include <vector>

#include "graph/operators.h"

namespace lightline::frontend {

// SPELLING(parameters) = OPERATOR(arguments)
struct Form {
  std::vector<graph::Parameter> parameters;
  // For every parameter of the operator, in its order: the parameter of the spelling, or a value.
  struct Source {
    size_t parameter = SIZE_MAX;
    graph::Argument value;
  };
  std::vector<Source> arguments;
};

struct Spelling {
  const graph::OperatorSignature* op = nullptr;  // null: the name is not known
  const Form* form = nullptr;                    // null: the parameters are the operator's own
  bool in_place = false;                         // writes its first argument
};

// "aten.relu_.default", "torch.nn.functional.relu", "Tensor.add", "_operator.add", ...
Spelling find_spelling(std::string_view target);

}  // namespace lightline::frontend
