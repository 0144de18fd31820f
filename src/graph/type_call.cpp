#include "graph/type_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lightline::graph {

void refuse(std::string message, ErrorCode code) { throw TypeError{code, std::move(message)}; }

TypeCall::TypeCall(const OperatorSignature& op, const Graph& graph, const Node& node)
    : op_(op), graph_(graph), node_(node), values_(op.parameters.size(), nullptr) {
  size_t position = 0;
  for (const NamedArgument& argument : node.arguments) {
    if (argument.name.empty()) {
      if (position < values_.size()) values_[position++] = &argument.value;
      continue;
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      const std::string_view own = op.parameters[i].name;
      // schemas call their first tensor `self` or `input`
      const bool same = own == argument.name || (own == "self" && argument.name == "input") ||
                        (own == "input" && argument.name == "self");
      if (same) values_[i] = &argument.value;
    }
  }
  for (size_t i = 0; i < values_.size(); ++i)
    if (!values_[i] && op.parameters[i].fallback) values_[i] = &*op.parameters[i].fallback;
}

const Argument* TypeCall::argument(std::string_view name) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (op_.parameters[i].name == name) return values_[i];
  return nullptr;
}

bool TypeCall::has(std::string_view name) const {
  const Argument* value = argument(name);
  return value && !std::holds_alternative<std::monostate>(*value);
}

const TensorType* TypeCall::type_of(ValueId id) const {
  if (id == no_value) return nullptr;
  const auto& type = graph_.values[id].type;
  if (!type) refuse(fmt::format("the type of '{}' is not known", graph_.values[id].name), ErrorCode::unsupported);
  return &*type;
}

const TensorType* TypeCall::recorded(size_t i) const {
  if (i >= node_.results.size() || node_.results[i] == no_value) return nullptr;
  const auto& type = graph_.values[node_.results[i]].type;
  return type ? &*type : nullptr;
}

const TensorType* TypeCall::tensor_if(std::string_view name) const {
  const Argument* value = argument(name);
  const auto* ref = value ? std::get_if<ValueRef>(value) : nullptr;
  return ref ? type_of(ref->id) : nullptr;
}

const TensorType& TypeCall::tensor(std::string_view name) const {
  const TensorType* found = tensor_if(name);
  if (!found) refuse(fmt::format("the tensor argument '{}' is missing", name));
  return *found;
}

std::vector<const TensorType*> TypeCall::optional_tensors(std::string_view name) const {
  std::vector<const TensorType*> types;
  const Argument* value = argument(name);
  if (!value) return types;
  if (const auto* list = std::get_if<std::vector<ValueId>>(value))
    for (const ValueId id : *list) types.push_back(type_of(id));
  else if (const auto* ref = std::get_if<ValueRef>(value))
    types.push_back(type_of(ref->id));
  return types;
}

std::vector<TensorType> TypeCall::tensors(std::string_view name) const {
  std::vector<TensorType> types;
  for (const TensorType* type : optional_tensors(name))
    if (type) types.push_back(*type);
  return types;
}

const TensorType& TypeCall::first() const {
  for (const Argument* value : values_) {
    if (!value) continue;
    if (const auto* ref = std::get_if<ValueRef>(value))
      if (const TensorType* type = type_of(ref->id)) return *type;
    if (const auto* list = std::get_if<std::vector<ValueId>>(value))
      for (const ValueId id : *list)
        if (const TensorType* type = type_of(id)) return *type;
  }
  refuse("the call has no tensor");
}

std::optional<TypedOperand> TypeCall::operand_if(std::string_view name) const {
  if (const TensorType* type = tensor_if(name)) return TypedOperand{*type, {}};
  const Argument* value = argument(name);
  if (!value) return std::nullopt;
  if (std::holds_alternative<bool>(*value)) return TypedOperand{{}, Category::boolean};
  if (std::holds_alternative<int64_t>(*value)) return TypedOperand{{}, Category::integer};
  if (std::holds_alternative<double>(*value)) return TypedOperand{{}, Category::floating};
  if (std::holds_alternative<std::complex<double>>(*value)) return TypedOperand{{}, Category::complex};
  return std::nullopt;
}

std::vector<TypedOperand> TypeCall::operands(const std::vector<std::string_view>& names) const {
  std::vector<TypedOperand> list;
  for (const std::string_view name : names)
    if (auto operand = operand_if(name)) list.push_back(*std::move(operand));
  return list;
}

std::vector<TypedOperand> TypeCall::operands() const {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : op_.parameters)
    if (parameter.kind == ParameterKind::tensor || parameter.kind == ParameterKind::operand)
      names.push_back(parameter.name);
  return operands(names);
}

int64_t TypeCall::integer(std::string_view name) const {
  const Argument* value = argument(name);
  if (!value) refuse(fmt::format("the argument '{}' is missing", name));
  if (const auto* i = std::get_if<int64_t>(value)) return *i;
  if (const auto* b = std::get_if<bool>(value)) return *b;
  if (const auto* d = std::get_if<double>(value); d && std::nearbyint(*d) == *d) return int64_t(*d);
  if (const auto* list = std::get_if<std::vector<int64_t>>(value); list && list->size() == 1) return (*list)[0];
  refuse(fmt::format("the argument '{}' is not an integer known when the program was captured", name),
         ErrorCode::unsupported);
}

int64_t TypeCall::integer(std::string_view name, int64_t fallback) const {
  return has(name) ? integer(name) : fallback;
}

std::vector<int64_t> TypeCall::integers(std::string_view name) const {
  if (!has(name)) return {};
  const Argument* value = argument(name);
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return *list;
  if (const auto* list = std::get_if<std::vector<ValueId>>(value); list && list->empty()) return {};
  if (const auto* list = std::get_if<std::vector<double>>(value); list && list->empty()) return {};
  return {integer(name)};
}

std::vector<int64_t> TypeCall::integers(std::string_view name, size_t count, int64_t fallback) const {
  std::vector<int64_t> list = integers(name);
  if (list.empty()) return std::vector<int64_t>(count, fallback);
  if (list.size() == 1) return std::vector<int64_t>(count, list[0]);
  if (list.size() != count) refuse(fmt::format("the argument '{}' has {} values, not {}", name, list.size(), count));
  return list;
}

double TypeCall::real(std::string_view name, double fallback) const {
  if (!has(name)) return fallback;
  if (const auto* d = std::get_if<double>(argument(name))) return *d;
  return double(integer(name));
}

std::vector<double> TypeCall::reals(std::string_view name) const {
  if (!has(name)) return {};
  const Argument* value = argument(name);
  if (const auto* list = std::get_if<std::vector<double>>(value)) return *list;
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return {list->begin(), list->end()};
  return {real(name, 0)};
}

bool TypeCall::flag(std::string_view name, bool fallback) const {
  if (!has(name)) return fallback;
  if (const auto* b = std::get_if<bool>(argument(name))) return *b;
  return integer(name) != 0;
}

std::string_view TypeCall::text(std::string_view name, std::string_view fallback) const {
  const Argument* value = argument(name);
  const auto* s = value ? std::get_if<std::string>(value) : nullptr;
  return s ? std::string_view(*s) : fallback;
}

std::optional<DType> TypeCall::dtype(std::string_view name) const {
  const Argument* value = argument(name);
  const auto* d = value ? std::get_if<DType>(value) : nullptr;
  return d ? std::optional(*d) : std::nullopt;
}

int64_t wrapped(int64_t dim, size_t rank) {
  const int64_t own = rank == 0 ? 1 : int64_t(rank);
  if (dim < -own || dim >= own) refuse(fmt::format("there is no dimension {} in a tensor of rank {}", dim, rank));
  return dim < 0 ? dim + own : dim;
}

Shape joined_shape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      refuse(fmt::format("the shapes {} and {} do not fit each other", to_string(a), to_string(b)));
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

std::vector<bool> chosen_dims(const std::vector<int64_t>& dims, size_t rank) {
  std::vector<bool> chosen(rank, dims.empty());
  for (const int64_t dim : dims) {
    const int64_t own = wrapped(dim, rank);
    if (rank > 0) chosen[size_t(own)] = true;
  }
  return chosen;
}

Shape reduced_shape(const Shape& shape, const std::vector<bool>& chosen, bool keep) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!chosen[i])
      result.push_back(shape[i]);
    else if (keep)
      result.push_back(1);
  }
  return result;
}

int64_t element_count_of(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

}  // namespace lightline::graph
