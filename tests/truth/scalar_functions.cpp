// The functions of the language as nodes: what folds, what is the same by another name, what nothing depends on.
#include <algorithm>
#include <cmath>
#include <limits>

#include "truth/scalar_graph.h"

namespace lightline::truth {

using loops::Function;
using loops::Signature;

namespace {

bool is_even(Function function) {
  return function == Function::abs || function == Function::cos || function == Function::cosh;
}

bool vanishes_far_below(Function function) {
  return function == Function::exp || function == Function::exp2 || function == Function::sigmoid;
}

int significant_bits(DType type) {
  switch (type) {
    case DType::f64: return 53;
    case DType::f32:
    case DType::c64: return 24;
    case DType::f16: return 11;
    case DType::bf16:
    case DType::u8: return 8;
    case DType::f8e4m3: return 4;
    case DType::f8e5m2: return 3;
    case DType::f4e2m1: return 2;
    case DType::i64: return 63;
    case DType::i32: return 31;
    case DType::i16: return 15;
    case DType::i8: return 7;
    case DType::boolean: return 1;
  }
  return 0;
}

// Whether every value of `grid` is one of `target`.
bool holds(DType target, DType grid) {
  if (target == grid || grid == DType::boolean) return true;
  if (is_integral(target)) return is_integer(grid) && significant_bits(grid) < significant_bits(target);
  if (grid == DType::c64) return false;
  if (target == DType::f16 && grid == DType::bf16) return false;
  return significant_bits(grid) <= significant_bits(target);
}

}  // namespace

NodeId ScalarGraph::folded(Function function, std::span<const NodeId> operands) {
  std::vector<Value> values;
  for (const NodeId operand : operands) values.push_back(nodes_[operand].value);
  return constant(applied(function, values));
}

NodeId ScalarGraph::arithmetic(Function function, NodeId a, NodeId b) {
  const DType type = nodes_[a].type;
  if (function == Function::add || function == Function::sub) {
    const Term terms[] = {{Coefficient::of(1), a}, {Coefficient::of(function == Function::add ? 1 : -1), b}};
    return linear(terms, {}, type);
  }
  if (function == Function::mul) return product(a, b);
  if (a == b && !is_constant(a)) return general_call(function, std::vector<NodeId>{a, b});  // a softmax of one
  if (!is_constant(b)) return is_number(a, 0) ? a : product(a, inverse(b));
  const Node divisor = nodes_[b];
  if (divisor.value.number() == 0.0 || !std::isfinite(divisor.value.real()) || type == DType::c64)
    return general_call(function, std::vector<NodeId>{a, b});
  return scaled({1 / divisor.value.real(), divisor.field.inverse()}, a);
}

NodeId ScalarGraph::negation(NodeId condition) {
  if (is_constant(condition)) return folded(Function::logical_not, std::span(&condition, 1));
  Node node{.kind = Kind::call, .function = Function::logical_not, .type = DType::boolean, .grid = DType::boolean};
  node.operands = {condition};
  node.field = Field{1} - nodes_[condition].field;
  node.value = applied(Function::logical_not, std::span(&nodes_[condition].value, 1));
  return intern(std::move(node));
}

NodeId ScalarGraph::less(NodeId a, NodeId b) {
  const NodeId operands[] = {a, b};
  return general_call(Function::lt, operands);
}

NodeId ScalarGraph::compare(Function function, NodeId a, NodeId b) {
  const NodeId operands[] = {a, b};
  if (is_constant(a) && is_constant(b)) return folded(function, operands);
  if (nodes_[a].type != DType::boolean && nodes_[a].type != DType::c64) {
    const NodeId difference = arithmetic(Function::sub, a, b);
    if (is_constant(difference) && !nodes_[difference].value.is_nan()) {
      const NodeId against[] = {difference, number(nodes_[a].type, 0)};
      return folded(function, against);
    }
  }
  switch (function) {
    case Function::lt: return less(a, b);
    case Function::gt: return less(b, a);
    case Function::le: return negation(less(b, a));
    case Function::ge: return negation(less(a, b));
    case Function::ne: return negation(compare(Function::eq, a, b));
    default: break;
  }
  const NodeId sorted[] = {std::min(a, b), std::max(a, b)};
  return general_call(Function::eq, sorted);
}

NodeId ScalarGraph::choice(NodeId condition, NodeId a, NodeId b) {
  if (is_constant(condition)) return nodes_[condition].value.integer() != 0 ? a : b;
  if (a == b) return a;
  const DType type = nodes_[a].type;
  if (type == DType::boolean) {
    const NodeId first[] = {condition, a}, second[] = {negation(condition), b};
    const NodeId sides[] = {logic(Function::logical_and, first), logic(Function::logical_and, second)};
    return logic(Function::logical_or, sides);
  }
  if (is_number(b, 0)) return product(cast(condition, type), a);
  if (is_number(a, 0)) return product(cast(negation(condition), type), b);
  Node node{.kind = Kind::choice, .function = Function::select, .type = type, .grid = type};
  if (holds(DType::f16, nodes_[a].grid) && holds(DType::f16, nodes_[b].grid)) node.grid = DType::f16;
  if (nodes_[a].grid == nodes_[b].grid) node.grid = nodes_[a].grid;
  node.reach = std::max(nodes_[a].reach + std::abs(nodes_[a].shift), nodes_[b].reach + std::abs(nodes_[b].shift));
  node.operands = {condition, a, b};
  node.field = nodes_[b].field + nodes_[condition].field * (nodes_[a].field - nodes_[b].field);
  node.value = nodes_[condition].value.integer() != 0 ? nodes_[a].value : nodes_[b].value;
  return intern(std::move(node));
}

NodeId ScalarGraph::power(NodeId base, NodeId exponent) {
  const DType type = nodes_[base].type;
  const NodeId operands[] = {base, exponent};
  if (!is_constant(exponent)) return general_call(Function::pow, operands);
  const double n = nodes_[exponent].value.real();
  if (n == 0.5 && !is_integral(type)) return call(Function::sqrt, std::span(&base, 1));
  if (n != std::floor(n) || n < 0 || n > 4) return general_call(Function::pow, operands);
  NodeId result = number(type, 1);
  for (int i = 0; i < int(n); ++i) result = product(result, base);
  return result;
}

NodeId ScalarGraph::general_call(Function function, std::span<const NodeId> operands) {
  std::vector<Value> values;
  bool all_constant = true;
  for (const NodeId operand : operands) {
    values.push_back(nodes_[operand].value);
    all_constant = all_constant && is_constant(operand);
  }
  if (all_constant) return folded(function, operands);
  Node node{.kind = Kind::call, .function = function};
  node.value = applied(function, values);
  node.type = node.grid = node.value.type;
  node.field = Field::hashed(uint64_t(function) + 1000, uint64_t(node.type));
  for (const NodeId operand : operands) {
    const Field field = is_even(function) ? nodes_[operand].field.without_sign() : nodes_[operand].field;
    node.field = Field::hashed(node.field.number, field.number);
  }
  node.reach = 1000;
  if (function == Function::sign && !is_integral(node.type)) node.grid = DType::f16;
  if (is_even(function) && function == Function::abs) node.grid = nodes_[operands[0]].grid;
  node.operands.assign(operands.begin(), operands.end());
  return intern(std::move(node));
}

NodeId ScalarGraph::call(Function function, std::span<const NodeId> operands) {
  const NodeId a = operands[0];
  switch (function) {
    case Function::add:
    case Function::sub:
    case Function::mul:
    case Function::divide: return arithmetic(function, a, operands[1]);
    case Function::neg: return scaled(Coefficient::of(-1), a);
    case Function::max:
    case Function::min: return extremum(function, operands, nodes_[a].type);
    case Function::logical_and:
    case Function::logical_or: return logic(function, operands);
    case Function::logical_not: return negation(a);
    case Function::select: return choice(a, operands[1], operands[2]);
    case Function::pow: return power(a, operands[1]);
    default: break;
  }
  if (loops::info(function).signature == Signature::equality || loops::info(function).signature == Signature::ordering)
    return compare(function, a, operands[1]);
  if (vanishes_far_below(function) && !is_constant(a) && is_far_below(a)) return number(nodes_[a].type, 0);
  if (nodes_[a].kind == Kind::call && nodes_[a].function == Function::complex_) {
    if (function == Function::real) return nodes_[a].operands[0];
    if (function == Function::imag) return nodes_[a].operands[1];
  }
  return general_call(function, operands);
}

NodeId ScalarGraph::cast(NodeId id, DType target) {
  const Node from = nodes_[id];
  const DType type = compute_type(target);
  if (from.kind == Kind::constant) return constant(converted(from.value, target));
  if (target == DType::boolean && from.type != DType::boolean && from.grid != DType::boolean)
    return compare(Function::ne, id, number(from.type, 0));
  const bool exact = holds(target, from.grid) || (is_integer(from.type) && is_float(target));
  if (exact && type == from.type) return id;
  const Term bare = unscaled(id);
  if (exact && bare.node != id && !is_integral(type) && bare.coefficient.is_unit())
    return scaled(bare.coefficient, cast(bare.node, target));
  Node node{.kind = Kind::cast, .type = type, .grid = exact ? from.grid : target};
  node.operands = {id};
  node.field = exact ? from.field : Field::hashed(from.field.number, 500 + uint64_t(target));
  node.value = converted(from.value, target);
  node.shift = from.shift;
  node.reach = from.reach;
  return intern(std::move(node));
}

std::vector<NodeId> ScalarGraph::elements_of(Kind kind, Function function, std::span<const NodeId> operands) const {
  std::vector<NodeId> all;
  for (const NodeId operand : operands) {
    const Node& node = nodes_[operand];
    if (node.kind == kind && node.function == function)
      all.insert(all.end(), node.elements.begin(), node.elements.end());
    else
      all.push_back(operand);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

NodeId ScalarGraph::extremum(Function function, std::span<const NodeId> operands, DType type) {
  const double sign = function == Function::max ? 1 : -1;
  std::vector<NodeId> all = elements_of(Kind::extremum, function, operands);
  std::vector<Value> constants;
  for (const NodeId id : all)
    if (is_constant(id)) constants.push_back(nodes_[id].value);
  const size_t before = all.size();
  std::erase_if(all, [&](NodeId id) { return is_constant(id); });
  const bool near = std::any_of(all.begin(), all.end(), [&](NodeId id) { return !is_far_below(id, sign); });
  if (near && !is_integral(type)) std::erase_if(all, [&](NodeId id) { return is_far_below(id, sign); });
  if (!constants.empty()) {
    Value best = constants[0];
    for (const Value& value : constants) best = applied(function, std::vector<Value>{best, value});
    const bool loses = !is_integral(type) && (sign * best.real() == -std::numeric_limits<double>::infinity() ||
                                              (near && sign * best.real() <= far_below));
    if (!loses || all.empty()) all.push_back(constant(best));
  }
  // A row of which a mask leaves one is still a row: what softmax subtracts from it must not cancel.
  if (all.size() == 1 && (before == 1 || is_integral(type))) return all[0];
  if (all.size() == 1 && is_constant(all[0])) return all[0];
  std::sort(all.begin(), all.end());
  Node node{.kind = Kind::extremum, .function = function, .type = type, .grid = nodes_[all[0]].grid};
  node.elements = all;
  node.operands.assign(operands.begin(), operands.end());
  if (all.size() < before) node.operands = all;
  std::sort(node.operands.begin(), node.operands.end());
  node.operands.erase(std::unique(node.operands.begin(), node.operands.end()), node.operands.end());
  std::vector<uint64_t> fields;
  node.value = nodes_[all[0]].value;
  node.shift = near ? 0 : nodes_[all[0]].shift;
  for (const NodeId id : all) {
    fields.push_back(nodes_[id].field.number);
    node.value = applied(function, std::vector<Value>{node.value, nodes_[id].value});
    if (nodes_[id].grid != node.grid) node.grid = type;
    if (!near && sign * nodes_[id].shift > sign * node.shift) node.shift = nodes_[id].shift;
    node.reach = std::max(node.reach, nodes_[id].reach + (near ? std::abs(nodes_[id].shift) : 0));
  }
  std::sort(fields.begin(), fields.end());
  node.field = Field::hashed(uint64_t(function), 900);
  for (const uint64_t field : fields) node.field = Field::hashed(node.field.number, field);
  return intern(std::move(node));
}

// Truth values are 0 and 1: `and` is a product, `or` the complement of a product of complements.
NodeId ScalarGraph::logic(Function function, std::span<const NodeId> operands) {
  const bool conjunction = function == Function::logical_and;
  std::vector<NodeId> all = elements_of(Kind::logic, function, operands);
  for (const NodeId id : all)
    if (is_constant(id) && (nodes_[id].value.integer() != 0) != conjunction) return id;
  const size_t before = all.size();
  std::erase_if(all, [&](NodeId id) { return is_constant(id); });
  if (all.empty()) return constant(Value::of_integer(DType::boolean, conjunction));
  if (all.size() == 1) return all[0];
  Node node{.kind = Kind::logic, .function = function, .type = DType::boolean, .grid = DType::boolean};
  node.elements = all;
  node.operands.assign(operands.begin(), operands.end());
  if (all.size() < before) node.operands = all;
  std::sort(node.operands.begin(), node.operands.end());
  node.operands.erase(std::unique(node.operands.begin(), node.operands.end()), node.operands.end());
  node.field = Field{1};
  node.value = nodes_[all[0]].value;
  for (const NodeId id : all) {
    node.field = node.field * (conjunction ? nodes_[id].field : Field{1} - nodes_[id].field);
    node.value = applied(function, std::vector<Value>{node.value, nodes_[id].value});
  }
  if (!conjunction) node.field = Field{1} - node.field;
  return intern(std::move(node));
}

NodeId ScalarGraph::position(bool greatest, std::span<const NodeId> operands) {
  if (operands.size() == 1) return number(DType::i64, 0);
  Node node{.kind = Kind::position, .type = DType::i64, .grid = DType::i64};
  node.function = greatest ? Function::max : Function::min;
  node.field = Field::hashed(greatest ? 31 : 32, operands.size());
  int64_t best = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    node.field = Field::hashed(node.field.number, nodes_[operands[i]].field.number);
    const double x = nodes_[operands[i]].value.real(), y = nodes_[operands[size_t(best)]].value.real();
    if (!std::isnan(y) && (std::isnan(x) || (greatest ? x > y : x < y))) best = int64_t(i);
  }
  node.operands.assign(operands.begin(), operands.end());
  std::sort(node.operands.begin(), node.operands.end());
  node.operands.erase(std::unique(node.operands.begin(), node.operands.end()), node.operands.end());
  node.value = Value::of_integer(DType::i64, best);
  const bool all_constant = std::all_of(operands.begin(), operands.end(), [&](NodeId id) { return is_constant(id); });
  return all_constant ? constant(node.value) : intern(std::move(node));
}

}  // namespace lightline::truth
