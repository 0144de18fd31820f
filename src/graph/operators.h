// The one list of operators, operators.txt: what each is called, what it takes, with defaults, and the types of what
// it gives. Front ends translate into these, definitions are found by these names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lightline::graph {

enum class ParameterKind : uint8_t {
  tensor,
  tensors,  // a list; elements may be absent
  operand,  // a tensor or a number
  number,   // bool, integer, real or complex
  integer,
  integers,  // a list, or one
  real,
  reals,
  flag,
  flags,
  text,
  dtype,
  graph,
  any,
};

struct Parameter {
  std::string_view name;
  ParameterKind kind = ParameterKind::tensor;
  bool optional = false;             // may be none
  std::optional<Argument> fallback;  // what it is where a source says nothing
};

struct OperatorSignature {
  std::string_view name;     // canonical: "relu"
  std::string_view family;   // "elementwise"
  std::string_view results;  // rules for the types of the results: "reduced, reduced as i64"; result_types.h
  std::vector<Parameter> parameters;
  std::vector<std::string_view> names;  // further names that PyTorch has for it
};

// In the order of the list.
std::span<const OperatorSignature> operator_list();
// Null if the list has no such canonical name.
const OperatorSignature* find_operator(std::string_view name);

// none, true, 1, 1e-05, 'text', f32, [1, 2]; nothing for anything else.
std::optional<Argument> argument_from(std::string_view text);

// Reads a list in the form of operators.txt; an error names the line.
Result<std::vector<OperatorSignature>> parse_operator_list(std::string_view text, std::string_view file);

}  // namespace lightline::graph
