#include "ops/python/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "base/maths.h"

namespace lightline::ops {

using graph::Argument;

PyValue PyValue::of(Argument value) {
  PyValue result;
  result.constant = std::move(value);
  return result;
}

PyValue PyValue::of(SymbolicTensor tensor) {
  PyValue result;
  result.kind = Kind::tensor;
  result.tensor = std::move(tensor);
  return result;
}

PyValue PyValue::sequence(std::vector<PyValue> items) {
  PyValue result;
  result.kind = Kind::sequence;
  result.items = std::move(items);
  return result;
}

PyValue PyValue::shape(const Shape& shape) { return of(Argument(shape)); }

bool PyValue::is_sequence() const {
  return kind == Kind::sequence || (kind == Kind::constant && (std::holds_alternative<std::vector<int64_t>>(constant) ||
                                                               std::holds_alternative<std::vector<double>>(constant)));
}

bool PyValue::is_number() const {
  return kind == Kind::constant &&
         (std::holds_alternative<bool>(constant) || std::holds_alternative<int64_t>(constant) ||
          std::holds_alternative<double>(constant) || std::holds_alternative<std::complex<double>>(constant));
}

std::optional<int64_t> PyValue::integer() const {
  if (kind != Kind::constant) return std::nullopt;
  if (const auto* i = std::get_if<int64_t>(&constant)) return *i;
  if (const auto* b = std::get_if<bool>(&constant)) return int64_t(*b);
  return std::nullopt;
}

std::optional<double> PyValue::real() const {
  if (const auto i = integer()) return double(*i);
  const auto* d = kind == Kind::constant ? std::get_if<double>(&constant) : nullptr;
  return d ? std::optional(*d) : std::nullopt;
}

std::vector<PyValue> PyValue::elements() const {
  if (kind == Kind::sequence) return items;
  std::vector<PyValue> result;
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&constant))
    for (const int64_t i : *integers) result.push_back(of(Argument(i)));
  if (const auto* reals = std::get_if<std::vector<double>>(&constant))
    for (const double d : *reals) result.push_back(of(Argument(d)));
  return result;
}

// ---- calls ----

std::vector<PyValue> PyCall::positional() const {
  std::vector<PyValue> result;
  for (const Argument& argument : arguments)
    if (argument.name.empty()) result.push_back(argument.value);
  return result;
}

const PyValue* PyCall::at(size_t position) const {
  for (const Argument& argument : arguments)
    if (argument.name.empty() && position-- == 0) return &argument.value;
  return nullptr;
}

const PyValue* PyCall::named(std::string_view wanted) const {
  for (const Argument& argument : arguments)
    if (!wanted.empty() && argument.name == wanted) return &argument.value;
  return nullptr;
}

const PyValue* PyCall::find(std::string_view wanted, size_t position) const {
  const PyValue* found = named(wanted);
  return found ? found : at(position);
}

void PyCall::set(std::string wanted, PyValue value) {
  remove(wanted);
  arguments.push_back({std::move(wanted), std::move(value)});
}

void PyCall::remove(std::string_view wanted) {
  std::erase_if(arguments, [&](const Argument& argument) { return argument.name == wanted; });
}

// ---- numbers ----

namespace {

constexpr std::string_view overflow = "an integer of the program does not fit 64 bits";

int64_t floor_division(int64_t a, int64_t b) {
  require(b != 0, "the program divides by zero");
  require(b != -1 || a != INT64_MIN, overflow);
  return floor_div(a, b);
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) require(!__builtin_mul_overflow(result, base, &result), overflow);
    if (exponent > 1) require(!__builtin_mul_overflow(base, base, &base), overflow);
  }
  return result;
}

int64_t shifted(int64_t value, int64_t by) {
  require(by >= 0, "the program shifts by a negative number");
  if (value == 0) return 0;
  int64_t result = 0;
  require(by < 63 && !__builtin_mul_overflow(value, int64_t(1) << by, &result), overflow);
  return result;
}

std::optional<Argument> on_integers(std::string_view name, int64_t a, int64_t b) {
  int64_t result = 0;
  if (name == "add") return require(!__builtin_add_overflow(a, b, &result), overflow), Argument(result);
  if (name == "sub") return require(!__builtin_sub_overflow(a, b, &result), overflow), Argument(result);
  if (name == "mul") return require(!__builtin_mul_overflow(a, b, &result), overflow), Argument(result);
  if (name == "floordiv") return floor_division(a, b);
  if (name == "mod") return b == -1 ? 0 : a - floor_division(a, b) * b;
  if (name == "pow" && b >= 0) return integer_power(a, b);
  if (name == "and_") return a & b;
  if (name == "or_") return a | b;
  if (name == "xor") return a ^ b;
  if (name == "lshift") return shifted(a, b);
  if (name == "rshift") {
    require(b >= 0, "the program shifts by a negative number");
    return a >> std::min<int64_t>(b, 63);
  }
  return std::nullopt;
}

std::optional<Argument> on_reals(std::string_view name, double a, double b) {
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "mul") return a * b;
  if (name == "pow") return std::pow(a, b);
  if (name != "truediv" && name != "floordiv" && name != "mod") return std::nullopt;
  require(b != 0, "the program divides by zero");
  if (name == "truediv") return a / b;
  if (name == "floordiv") return std::floor(a / b);
  return a - std::floor(a / b) * b;
}

// Ordered by operator: eq, ne, lt, le, gt, ge.
template <class T>
std::optional<bool> compared(std::string_view name, const T& a, const T& b) {
  if (name == "eq") return a == b;
  if (name == "ne") return a != b;
  if (name == "lt") return a < b;
  if (name == "le") return a <= b;
  if (name == "gt") return a > b;
  if (name == "ge") return a >= b;
  return std::nullopt;
}

std::optional<PyValue> on_one(std::string_view name, const PyValue& a) {
  const auto i = a.integer();
  const auto d = a.real();
  if (!d) return std::nullopt;
  if (name == "neg" && i) return PyValue::of(*on_integers("sub", 0, *i));
  if (name == "neg") return PyValue::of(Argument(-*d));
  if (name == "pos") return a;
  if (name == "invert" && i) return PyValue::of(Argument(~*i));
  if (name == "not_") return PyValue::of(Argument(*d == 0));
  if (name == "abs" && i) return *i < 0 ? on_one("neg", a) : std::optional(PyValue::of(Argument(*i)));
  if (name == "abs") return PyValue::of(Argument(std::fabs(*d)));
  return std::nullopt;
}

std::optional<PyValue> joined_sequences(std::string_view name, const PyValue& a, const PyValue& b) {
  std::vector<PyValue> items = a.elements();
  if (name == "add" && b.is_sequence()) {
    for (PyValue& item : b.elements()) items.push_back(std::move(item));
    return PyValue::sequence(std::move(items));
  }
  const auto times = b.integer();
  if (name != "mul" || !times) return std::nullopt;
  require(*times <= 0 || items.size() * size_t(*times) < (1 << 20), "a tuple becomes too long");
  std::vector<PyValue> repeated;
  for (int64_t i = 0; i < *times; ++i) repeated.insert(repeated.end(), items.begin(), items.end());
  return PyValue::sequence(std::move(repeated));
}

Argument checked_integer(double value) {
  require(std::isfinite(value) && std::fabs(value) < 0x1p62, overflow);
  return int64_t(value);
}

std::optional<PyValue> best_of(const std::vector<PyValue>& operands, bool greatest) {
  const std::vector<PyValue> list = operands.size() == 1 ? operands[0].elements() : operands;
  const PyValue* best = nullptr;
  for (const PyValue& item : list) {
    if (!item.real()) return std::nullopt;
    if (!best || (greatest ? *item.real() > *best->real() : *item.real() < *best->real())) best = &item;
  }
  return best ? std::optional(*best) : std::nullopt;
}

std::optional<PyValue> sum_of(const std::vector<PyValue>& operands) {
  PyValue total = PyValue::of(Argument(int64_t(0)));
  for (const PyValue& item : operands.size() == 1 && operands[0].is_sequence() ? operands[0].elements() : operands) {
    auto next = fold_operator("add", {total, item});
    if (!next) return std::nullopt;
    total = *std::move(next);
  }
  return total;
}

}  // namespace

std::optional<PyValue> fold_operator(std::string_view name, const std::vector<PyValue>& operands) {
  if (name.starts_with('i') && name != "invert" && name != "inv") return fold_operator(name.substr(1), operands);
  if (operands.size() == 1) return on_one(name, operands[0]);
  if (operands.size() != 2) return std::nullopt;
  const PyValue &a = operands[0], &b = operands[1];
  if (a.is_sequence()) return joined_sequences(name, a, b);
  if (const auto *s = a.text(), *t = b.text(); s && t)
    if (const auto result = compared(name, *s, *t)) return PyValue::of(Argument(*result));
  if (const auto *s = a.dtype(), *t = b.dtype(); s && t && (name == "eq" || name == "ne"))
    return PyValue::of(Argument((*s == *t) == (name == "eq")));
  const auto i = a.integer(), j = b.integer();
  const auto x = a.real(), y = b.real();
  if (!x || !y) return std::nullopt;
  if (const auto result = i && j ? compared(name, *i, *j) : compared(name, *x, *y))
    return PyValue::of(Argument(*result));
  if (i && j) {
    const std::string_view plain = name == "and" ? "and_" : name == "or" ? "or_" : name;
    if (auto result = on_integers(plain, *i, *j)) return PyValue::of(*std::move(result));
  }
  if (auto result = on_reals(name, *x, *y)) return PyValue::of(*std::move(result));
  return std::nullopt;
}

std::optional<PyValue> fold_function(std::string_view name, const std::vector<PyValue>& operands) {
  static const std::unordered_map<std::string_view, double (*)(double)> real_functions = {
      {"sqrt", [](double x) { return std::sqrt(x); }}, {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},   {"log2", [](double x) { return std::log2(x); }},
      {"sin", [](double x) { return std::sin(x); }},   {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},   {"tanh", [](double x) { return std::tanh(x); }}};
  static const std::unordered_map<std::string_view, double (*)(double)> roundings = {
      {"ceil", [](double x) { return std::ceil(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
      {"int", [](double x) { return std::trunc(x); }},
      {"round", [](double x) { return std::nearbyint(x); }}};
  if (name == "max" || name == "min") return best_of(operands, name == "max");
  if (name == "sum") return sum_of(operands);
  if (operands.size() != 1) return std::nullopt;
  const PyValue& a = operands[0];
  if (name == "len" && a.is_sequence()) return PyValue::of(Argument(int64_t(a.elements().size())));
  const auto i = a.integer();
  const auto x = a.real();
  if (!x) return std::nullopt;
  if (name == "abs" || name == "not_") return on_one(name, a);
  if (name == "float") return PyValue::of(Argument(*x));
  if (name == "bool") return PyValue::of(Argument(*x != 0));
  if (const auto rounding = roundings.find(name); rounding != roundings.end())
    return PyValue::of(i ? Argument(*i) : checked_integer(rounding->second(*x)));
  if (const auto function = real_functions.find(name); function != real_functions.end())
    return PyValue::of(Argument(function->second(*x)));
  return std::nullopt;
}

}  // namespace lightline::ops
