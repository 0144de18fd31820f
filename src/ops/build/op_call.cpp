#include "ops/build/op_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lightline::ops {

using graph::Argument;

namespace {

Category scalar_category(const Argument& scalar) {
  if (std::holds_alternative<bool>(scalar)) return Category::boolean;
  if (std::holds_alternative<int64_t>(scalar)) return Category::integer;
  return std::holds_alternative<std::complex<double>>(scalar) ? Category::complex : Category::floating;
}

}  // namespace

DType result_type(const std::vector<Operand>& operands) {
  std::vector<graph::TypedOperand> typed;
  for (const Operand& operand : operands) {
    if (operand.tensor)
      typed.push_back({TensorType{operand.tensor->dtype, operand.tensor->shape}, {}});
    else
      typed.push_back({{}, scalar_category(operand.scalar)});
  }
  return graph::promoted(typed);
}

bool is_number(const Operand& operand, double value) {
  if (operand.tensor) return false;
  if (const auto* b = std::get_if<bool>(&operand.scalar)) return double(*b) == value;
  if (const auto* i = std::get_if<int64_t>(&operand.scalar)) return double(*i) == value;
  if (const auto* d = std::get_if<double>(&operand.scalar)) return *d == value;
  return false;
}

SymbolicTensor write_out(Lowering& lowering, const SymbolicTensor& out, const SymbolicTensor& result) {
  if (out.shape != result.shape) fail("the tensor given by out= has another shape", ErrorCode::unsupported);
  lowering.write(out, result);
  return out;
}

std::string_view OpCall::overload() const {
  const size_t first = node_.target.find('.');
  const size_t last = node_.target.rfind('.');
  return first == std::string::npos || first == last ? std::string_view()
                                                     : std::string_view(node_.target).substr(last + 1);
}

const Argument* OpCall::argument(std::string_view name) const {
  size_t unnamed = 0;
  for (const graph::NamedArgument& argument : node_.arguments) {
    if (argument.name == name) return &argument.value;
    unnamed += argument.name.empty();
  }
  // schemas call their first tensor `self` or `input`
  const std::string_view synonym = name == "self" ? "input" : name == "input" ? "self" : "";
  for (const graph::NamedArgument& argument : node_.arguments)
    if (!synonym.empty() && argument.name == synonym) return &argument.value;
  if (unnamed == 0) return nullptr;
  // by position: the n-th parameter is the n-th unnamed argument
  size_t position = 0, from = 0;
  while (from <= parameters_.size()) {
    const size_t comma = std::min(parameters_.find(',', from), parameters_.size());
    std::string_view parameter = parameters_.substr(from, comma - from);
    while (!parameter.empty() && parameter.front() == ' ') parameter.remove_prefix(1);
    if (parameter == name || (!synonym.empty() && parameter == synonym)) break;
    ++position;
    from = comma + 1;
  }
  if (from > parameters_.size()) return nullptr;
  for (const graph::NamedArgument& argument : node_.arguments) {
    if (!argument.name.empty()) continue;
    if (position-- == 0) return &argument.value;
  }
  return nullptr;
}

bool OpCall::has(std::string_view name) const {
  const Argument* value = argument(name);
  return value && !std::holds_alternative<std::monostate>(*value);
}

std::optional<SymbolicTensor> OpCall::tensor_if(std::string_view name) const {
  const Argument* value = argument(name);
  if (!value) return std::nullopt;
  const auto* ref = std::get_if<graph::ValueRef>(value);
  if (!ref || ref->id == graph::no_value) return std::nullopt;
  if (!values_[ref->id]) fail(fmt::format("argument '{}' has no value", name));
  return values_[ref->id];
}

SymbolicTensor OpCall::tensor(std::string_view name) const {
  auto found = tensor_if(name);
  if (!found) fail(fmt::format("the tensor argument '{}' is missing", name));
  return *std::move(found);
}

std::vector<std::optional<SymbolicTensor>> OpCall::optional_tensors(std::string_view name) const {
  const Argument* value = argument(name);
  std::vector<std::optional<SymbolicTensor>> result;
  if (!value) return result;
  if (const auto* list = std::get_if<std::vector<graph::ValueId>>(value)) {
    for (const graph::ValueId id : *list) result.push_back(id == graph::no_value ? std::nullopt : values_[id]);
  } else if (const auto* ref = std::get_if<graph::ValueRef>(value)) {
    result.push_back(values_[ref->id]);
  }
  return result;
}

std::vector<SymbolicTensor> OpCall::tensors(std::string_view name) const {
  std::vector<SymbolicTensor> result;
  for (auto& tensor : optional_tensors(name)) {
    if (!tensor) fail(fmt::format("the list '{}' has a hole", name));
    result.push_back(*std::move(tensor));
  }
  return result;
}

Operand OpCall::operand(std::string_view name) const {
  if (auto found = tensor_if(name)) return {std::move(found), {}};
  const Argument* value = argument(name);
  if (!value || std::holds_alternative<std::monostate>(*value)) fail(fmt::format("the argument '{}' is missing", name));
  const bool plain = std::holds_alternative<bool>(*value) || std::holds_alternative<int64_t>(*value) ||
                     std::holds_alternative<double>(*value) || std::holds_alternative<std::complex<double>>(*value);
  if (!plain) fail(fmt::format("the argument '{}' is neither a tensor nor a number", name), ErrorCode::type);
  return {std::nullopt, *value};
}

Operand OpCall::operand_or(std::string_view name, double fallback) const {
  if (has(name)) return operand(name);
  if (std::nearbyint(fallback) == fallback) return {std::nullopt, int64_t(fallback)};
  return {std::nullopt, fallback};
}

int64_t OpCall::integer(std::string_view name) const {
  const Argument* value = argument(name);
  if (!value) fail(fmt::format("the argument '{}' is missing", name));
  if (const auto* i = std::get_if<int64_t>(value)) return *i;
  if (const auto* b = std::get_if<bool>(value)) return *b;
  if (const auto* d = std::get_if<double>(value); d && std::nearbyint(*d) == *d) return int64_t(*d);
  if (const auto* list = std::get_if<std::vector<int64_t>>(value); list && list->size() == 1) return (*list)[0];
  fail(fmt::format("the argument '{}' is not an integer known when the program was captured", name),
       ErrorCode::unsupported);
}

int64_t OpCall::integer(std::string_view name, int64_t fallback) const { return has(name) ? integer(name) : fallback; }

double OpCall::number(std::string_view name, double fallback) const {
  if (!has(name)) return fallback;
  const Argument* value = argument(name);
  if (const auto* d = std::get_if<double>(value)) return *d;
  return double(integer(name));
}

bool OpCall::flag(std::string_view name, bool fallback) const {
  if (!has(name)) return fallback;
  const Argument* value = argument(name);
  if (const auto* b = std::get_if<bool>(value)) return *b;
  return integer(name) != 0;
}

std::string OpCall::text(std::string_view name, std::string_view fallback) const {
  const Argument* value = argument(name);
  const auto* s = value ? std::get_if<std::string>(value) : nullptr;
  return s ? *s : std::string(fallback);
}

std::optional<Shape> OpCall::memory_format(const Shape& shape) const {
  const std::string format = text("memory_format", "");
  if (format.find("channels_last") != std::string::npos) return channels_last_strides(shape);
  return format.find("contiguous") == std::string::npos ? std::nullopt : std::optional<Shape>(Shape{});
}

std::optional<DType> OpCall::dtype_if(std::string_view name) const {
  const Argument* value = argument(name);
  const auto* d = value ? std::get_if<DType>(value) : nullptr;
  return d ? std::optional(*d) : std::nullopt;
}

DType OpCall::dtype(std::string_view name, DType fallback) const { return dtype_if(name).value_or(fallback); }

std::vector<int64_t> OpCall::integers(std::string_view name) const {
  const Argument* value = argument(name);
  if (!value) fail(fmt::format("the argument '{}' is missing", name));
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return *list;
  if (const auto* list = std::get_if<std::vector<graph::ValueId>>(value); list && list->empty()) return {};
  if (const auto* list = std::get_if<std::vector<double>>(value); list && list->empty()) return {};
  return {integer(name)};
}

std::vector<int64_t> OpCall::integers(std::string_view name, std::vector<int64_t> fallback) const {
  return has(name) ? integers(name) : std::move(fallback);
}

std::vector<int64_t> OpCall::integers(std::string_view name, size_t count, int64_t fallback) const {
  std::vector<int64_t> list = has(name) ? integers(name) : std::vector<int64_t>{};
  if (list.empty()) return std::vector<int64_t>(count, fallback);
  if (list.size() == 1) return std::vector<int64_t>(count, list[0]);
  if (list.size() != count) fail(fmt::format("the argument '{}' has {} values, not {}", name, list.size(), count));
  return list;
}

std::vector<double> OpCall::numbers(std::string_view name, std::vector<double> fallback) const {
  if (!has(name)) return fallback;
  const Argument* value = argument(name);
  if (const auto* list = std::get_if<std::vector<double>>(value)) return *list;
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return {list->begin(), list->end()};
  return {number(name, 0)};
}

std::optional<TensorType> OpCall::recorded(size_t i) const {
  if (i >= node_.results.size() || node_.results[i] == graph::no_value) return std::nullopt;
  return graph_.values[node_.results[i]].type;
}

std::optional<Shape> OpCall::recorded_strides(size_t i) const {
  if (i >= node_.results.size() || node_.results[i] == graph::no_value) return std::nullopt;
  return graph_.values[node_.results[i]].strides;
}

std::vector<SymbolicTensor> OpCall::lower_subgraph(std::string_view name, const std::vector<SymbolicTensor>& inputs) {
  const Argument* value = argument(name);
  const auto* ref = value ? std::get_if<graph::SubgraphRef>(value) : nullptr;
  if (!ref || ref->index >= graph_.subgraphs.size()) fail(fmt::format("the argument '{}' is not a graph", name));
  return lower_graph(graph_.subgraphs[ref->index], inputs);
}

Scalar OpCall::read_as(const Operand& operand, const Indices& index, DType dtype) {
  if (operand.tensor) return convert(lowering_.read_broadcast(*operand.tensor, index), dtype);
  const DType compute = compute_type(dtype);
  if (const auto* c = std::get_if<std::complex<double>>(&operand.scalar)) {
    const auto part = [&](double v) { return lowering_.convert(lowering_.literal(Literal::of(v)), DType::f32); };
    return lowering_.call(Function::complex_, part(c->real()), part(c->imag()));
  }
  double number = 0;
  if (const auto* b = std::get_if<bool>(&operand.scalar)) number = *b;
  if (const auto* d = std::get_if<double>(&operand.scalar)) number = *d;
  if (const auto* i = std::get_if<int64_t>(&operand.scalar)) {
    if (is_integer(compute)) return {&lowering_, lowering_.literal(Literal::of(*i)).id, compute, true};
    number = double(*i);
  }
  if (compute == DType::boolean) return lowering_.literal(Literal::of_bool(number != 0));
  if (is_integer(compute)) return {&lowering_, lowering_.literal(Literal::of(int64_t(number))).id, compute, true};
  return {&lowering_, lowering_.literal(Literal::of(number)).id, compute, true};
}

SymbolicTensor OpCall::elementwise(const std::vector<Operand>& operands, DType compute, DType result,
                                   const ElementBody& body) {
  Shape shape;
  std::vector<Layout> layouts;
  for (const Operand& operand : operands) {
    shape = broadcast(shape, operand.shape());
    if (operand.tensor) layouts.push_back(operand.tensor->layout());
  }
  Shape strides = elementwise_strides(shape, layouts);
  const SymbolicTensor tensor = lowering_.map(result, std::move(shape), [&](const Indices& index) {
    std::vector<Scalar> values;
    for (const Operand& operand : operands) values.push_back(read_as(operand, index, compute));
    return body(values);
  });
  return lowering_.laid_out(tensor, std::move(strides));
}

}  // namespace lightline::ops
