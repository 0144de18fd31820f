// The types of what an operator gives, from the types of its operands and its other arguments: no loops, no data.
// The list says for every operator which rules hold, one for each result, each with what becomes of the dtype:
//   self                 the type of that parameter
//   weight?              the same, or no result where the parameter is none
//   reduced as i64       the shape by a rule (types/*.cpp), and this dtype
//   ... as floating      integers and bool become f32
//   ... as total         integers and bool become i64, as sums do
//   ... as truth         bool, but u8 stays, as all and any have it
//   ... as counted       bool becomes i64
//   ... as real          the part of a complex number
//   ... as dtype         what the argument `dtype` says, where it is given
//   given                only the source knows
#pragma once

#include "graph/operators.h"

namespace lightline::graph {

// As many as the operator gives; of code `unsupported` where data or only the source tell.
Result<std::vector<TensorType>> result_types(const OperatorSignature& op, const Graph& graph, const Node& node);

// Empty if every rule that the operator names exists.
std::string unknown_rule(const OperatorSignature& op);

}  // namespace lightline::graph
