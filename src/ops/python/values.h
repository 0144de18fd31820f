// What a Python program computes with beside tensors: numbers, tuples, slices. Known while lowering, so that shapes
// are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ops/build/lowering.h"

namespace lightline::ops {

struct PyValue {
  enum class Kind : uint8_t { constant, tensor, sequence, slice, ellipsis };
  Kind kind = Kind::constant;
  graph::Argument constant;  // None, a number, a string, a dtype, or a list of numbers
  std::optional<SymbolicTensor> tensor;
  std::vector<PyValue> items;   // of a sequence; start, stop and step of a slice
  bool list = false;            // a sequence in square brackets
  std::vector<int64_t> levels;  // of a tensor under vmap: what its leading dimensions stand for, in rising order

  static PyValue of(graph::Argument value);
  static PyValue of(SymbolicTensor tensor);
  static PyValue sequence(std::vector<PyValue> items);
  static PyValue shape(const Shape& shape);

  bool is_none() const { return kind == Kind::constant && std::holds_alternative<std::monostate>(constant); }
  bool is_tensor() const { return kind == Kind::tensor; }
  bool is_sequence() const;
  bool is_number() const;  // bool, integer, real or complex
  const std::string* text() const { return kind == Kind::constant ? std::get_if<std::string>(&constant) : nullptr; }
  const DType* dtype() const { return kind == Kind::constant ? std::get_if<DType>(&constant) : nullptr; }
  std::optional<int64_t> integer() const;  // also of a bool
  std::optional<double> real() const;      // of any number that is not complex
  std::vector<PyValue> elements() const;   // of a sequence
};

// One call with its arguments as Python sees them; `name` is empty for a positional one.
struct PyCall {
  std::string target;
  std::string name;  // for messages
  struct Argument {
    std::string name;
    PyValue value;
  };
  std::vector<Argument> arguments;

  std::vector<PyValue> positional() const;
  const PyValue* at(size_t position) const;           // null if there are fewer positional arguments
  const PyValue* named(std::string_view name) const;  // null if absent
  const PyValue* find(std::string_view name, size_t position) const;
  void set(std::string name, PyValue value);  // replaces one of the name, or adds it
  void remove(std::string_view name);
};

// Python's arithmetic on numbers by the name in `operator` ("add", "floordiv", "lt"); none if it has no such operator
// for them. Fails where Python would, and where the result leaves 64 bits.
std::optional<PyValue> fold_operator(std::string_view name, const std::vector<PyValue>& operands);
// builtins and math: "max", "round", "math.ceil", "sym_sum", ...
std::optional<PyValue> fold_function(std::string_view name, const std::vector<PyValue>& operands);

}  // namespace lightline::ops
