// One call as the rules for the types of results see it: types of operands, and plain values, by parameter.
#pragma once

#include <complex>

#include "graph/operators.h"
#include "graph/promotion.h"

namespace lightline::graph {

// Thrown by a rule when the arguments make no sense; `result_types` turns it into an Error.
struct TypeError {
  ErrorCode code;
  std::string message;
};
[[noreturn]] void refuse(std::string message, ErrorCode code = ErrorCode::shape);
inline void expect(bool condition, std::string_view message) {
  if (!condition) refuse(std::string(message));
}

class TypeCall {
 public:
  // Arguments stand under the names of the parameters, or in their order.
  TypeCall(const OperatorSignature& op, const Graph& graph, const Node& node);

  const OperatorSignature& op() const { return op_; }
  const Node& node() const { return node_; }
  // Null where a parameter without a default is not given.
  const Argument* argument(std::string_view name) const;
  bool has(std::string_view name) const;  // given, and not none

  const TensorType& tensor(std::string_view name) const;
  const TensorType* tensor_if(std::string_view name) const;
  std::vector<TensorType> tensors(std::string_view name) const;                  // without those that are absent
  std::vector<const TensorType*> optional_tensors(std::string_view name) const;  // null: absent
  const TensorType& first() const;                                               // the first tensor there is
  std::vector<TypedOperand> operands() const;                                    // all tensors and operands, in order
  std::vector<TypedOperand> operands(const std::vector<std::string_view>& names) const;
  std::optional<TypedOperand> operand_if(std::string_view name) const;

  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback) const;
  std::vector<int64_t> integers(std::string_view name) const;  // empty if absent or none
  std::vector<int64_t> integers(std::string_view name, size_t count, int64_t fallback) const;
  std::vector<double> reals(std::string_view name) const;
  double real(std::string_view name, double fallback) const;
  bool flag(std::string_view name, bool fallback = false) const;
  std::string_view text(std::string_view name, std::string_view fallback = "") const;
  std::optional<DType> dtype(std::string_view name = "dtype") const;
  // What stands in the brackets of the rule: names of parameters.
  std::vector<std::string_view> words;
  size_t result_count() const { return node_.results.size(); }
  // What the source recorded for result i.
  const TensorType* recorded(size_t i) const;

 private:
  const TensorType* type_of(ValueId id) const;

  const OperatorSignature& op_;
  const Graph& graph_;
  const Node& node_;
  std::vector<const Argument*> values_;  // by parameter
};

using TypeRule = std::vector<TensorType> (*)(const TypeCall&);

// ---- shapes ----
int64_t wrapped(int64_t dim, size_t rank);  // -1 is the last; refuses what is out of range
Shape joined_shape(const Shape& a, const Shape& b);
std::vector<bool> chosen_dims(const std::vector<int64_t>& dims, size_t rank);  // none: all
Shape reduced_shape(const Shape& shape, const std::vector<bool>& chosen, bool keep);
int64_t element_count_of(const Shape& shape);

}  // namespace lightline::graph
