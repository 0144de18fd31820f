// Values, symbolic sizes and arguments of an exported program.
#include "frontend/export/reader.h"
#include "frontend/export/sym_expr.h"

namespace lightline::frontend {
namespace {

constexpr size_t max_dimensions = 64;  // PyTorch has no more
constexpr int64_t max_elements = int64_t(1) << 56;

// "s0" of "Symbol('s0', integer=True)", else nothing.
std::string_view plain_symbol(std::string_view text) {
  if (!text.starts_with("Symbol('")) return {};
  const size_t end = text.find('\'', 8);
  if (end == std::string_view::npos || text.find(')', end) != text.size() - 1) return {};
  return text.substr(8, end - 8);
}

}  // namespace

std::string_view tensor_name(const JsonElement& e) {
  return text_of(field(object_of(e, "a tensor argument"), "name", "a tensor argument"), "a tensor's name");
}

// ---- symbols ----

std::optional<int64_t> ExportReader::symbol_value(std::string_view symbol) const {
  const auto found = symbols_.find(std::string(symbol));
  return found == symbols_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> ExportReader::sym_int(const JsonElement& e, std::string_view what) {
  const auto [tag, value] = tagged(e, what);
  if (tag == "as_int") return integer_of(value, what);
  if (tag == "as_bool") return take(value.get_bool(), what) ? 1 : 0;
  if (tag != "as_expr") return std::nullopt;
  const JsonObject expr = object_of(value, what);
  JsonElement hint, text;
  if (find(expr, "hint", hint)) {
    const auto [hint_tag, hint_value] = tagged(hint, what);
    if (hint_tag == "as_int") {
      const int64_t known = integer_of(hint_value, what);
      if (find(expr, "expr_str", text)) learn_symbol(text_of(text, what), known);
      return known;
    }
  }
  if (!find(expr, "expr_str", text)) return std::nullopt;
  return evaluate_sym_expr(text_of(text, what), [&](std::string_view s) { return symbol_value(s); });
}

// A size that depends on data, such as the number of non-zeros, is taken to be the least it can be, but not 0.
std::optional<int64_t> ExportReader::size_of(const JsonElement& e, std::string_view what) {
  if (const auto known = sym_int(e, what)) return known;
  const auto [tag, value] = tagged(e, what);
  JsonElement text;
  if (tag != "as_expr" || !find(object_of(value, what), "expr_str", text)) return std::nullopt;
  return evaluate_sym_expr(text_of(text, what), [&](std::string_view symbol) {
    if (const auto least = least_.find(std::string(symbol)); least != least_.end())
      assume(symbol, std::max<int64_t>(least->second, 1));
    return symbol_value(symbol);
  });
}

void ExportReader::read_ranges(const JsonObject& root) {
  JsonElement ranges, least;
  if (!find(root, "range_constraints", ranges)) return;
  for (const auto& [symbol, range] : object_of(ranges, "range_constraints")) {
    const bool bounded = find(object_of(range, "a range"), "min_val", least) && least.is_int64();
    least_.emplace(symbol, bounded ? integer_of(least, "a range") : 0);
  }
}

// A plain symbol with a hint tells its value.
void ExportReader::learn_symbol(std::string_view text, int64_t value) {
  if (const std::string_view symbol = plain_symbol(text); !symbol.empty()) symbols_.emplace(symbol, value);
}

std::string_view ExportReader::symbol_of(const JsonElement& e) {
  const auto [tag, value] = tagged(e, "a symbolic integer");
  JsonElement text;
  JsonObject expr;
  if (tag != "as_expr" || value.get_object().get(expr) != simdjson::SUCCESS || !find(expr, "expr_str", text)) return {};
  return plain_symbol(text_of(text, "a symbolic integer"));
}

void ExportReader::assume(std::string_view symbol, int64_t value) {
  if (symbols_.emplace(symbol, value).second) assumed_.emplace_back(symbol, value);
}

// Sizes that depend on data, such as the lengths of packed sequences: assume that the parts are equal.
void ExportReader::assume_split(const JsonArray& inputs, Scope& scope) {
  std::vector<std::string_view> unknown;
  int64_t known = 0, total = -1, dim = 0;
  std::string_view tensor;
  for (const JsonElement input : inputs) {
    const JsonObject argument = object_of(input, "an argument");
    const std::string_view name = text_of(field(argument, "name", "an argument"), "an argument's name");
    const auto [tag, value] = tagged(field(argument, "arg", "an argument"), name);
    if (name == "self" && tag == "as_tensor") tensor = tensor_name(value);
    if (name == "dim" && tag == "as_int") dim = integer_of(value, name);
    if (name != "split_sizes" || tag != "as_sym_ints") continue;
    for (const JsonElement item : array_of(value, name)) {
      const auto [kind, part] = tagged(item, name);
      if (kind == "as_int") known += integer_of(part, name);
      if (kind != "as_name") continue;
      const auto found = scope.symbols.find(text_of(part, name));
      if (found == scope.symbols.end()) return;
      if (const auto size = sym_int(found->second, name))
        known += *size;
      else if (const std::string_view symbol = symbol_of(found->second); !symbol.empty())
        unknown.push_back(symbol);
    }
  }
  if (unknown.empty() || tensor.empty()) return;
  const auto& type = graph_.values[use(scope, tensor)].type;
  if (!type || type->shape.empty()) return;
  if (dim < 0) dim += int64_t(type->shape.size());
  if (dim < 0 || dim >= int64_t(type->shape.size())) return;
  total = type->shape[size_t(dim)] - known;
  int64_t left = int64_t(unknown.size());
  for (const std::string_view symbol : unknown) {
    const int64_t part = std::max<int64_t>(total, 0) / left--;
    assume(symbol, part);
    total -= part;
  }
}

// The end of a slice that depends on data, such as the last of cu_seqlens: the least that it can be.
void ExportReader::assume_end(const JsonArray& inputs, const Scope& scope) {
  for (const JsonElement input : inputs) {
    const JsonObject argument = object_of(input, "an argument");
    const std::string_view name = text_of(field(argument, "name", "an argument"), "an argument's name");
    const auto [tag, value] = tagged(field(argument, "arg", "an argument"), name);
    if (name != "end" || tag != "as_sym_int") continue;
    const auto [kind, symbol] = tagged(value, name);
    if (kind != "as_name") continue;
    if (const auto found = scope.symbols.find(text_of(symbol, name)); found != scope.symbols.end())
      (void)size_of(found->second, name);
  }
}

// ---- values ----

void ExportReader::open_scope(const JsonObject& g, Scope& scope) {
  JsonElement e;
  if (find(g, "tensor_values", e)) {
    const JsonObject tensors = object_of(e, "tensor_values");
    scope.names.reserve(tensors.size());
    for (const auto& [name, meta] : tensors) scope.names[name].tensor = meta;
  }
  for (const std::string_view key : {"sym_int_values", "sym_float_values", "sym_bool_values"})
    if (find(g, key, e))
      for (const auto& [name, value] : object_of(e, key)) scope.symbols.emplace(name, value);
}

std::optional<TensorType> ExportReader::recorded_type(const Scope& scope, std::string_view name) {
  const Named* found = scope.names.find(name);
  if (found == nullptr || !found->tensor) return std::nullopt;
  try {
    return read_type(*found->tensor);
  } catch (ExportError& failure) {
    failure.message = fmt::format("tensor '{}': {}", name, failure.message);
    throw;
  }
}

TensorType ExportReader::read_type(const JsonElement& meta) {
  const JsonObject o = object_of(meta, "its entry in tensor_values");
  TensorType type;
  type.dtype = dtype_of(field(o, "dtype", "its entry"), "its dtype");
  const JsonArray sizes = array_of(field(o, "sizes", "its entry"), "its list of sizes");
  if (sizes.size() > max_dimensions)
    fail(ErrorCode::limit, fmt::format("it has {} dimensions; the limit is {}", sizes.size(), max_dimensions));
  type.shape.reserve(sizes.size());
  for (const JsonElement size : sizes) {
    const auto extent = size_of(size, "a size");
    if (!extent)
      fail(ErrorCode::unsupported, "a size depends on data and has no example value",
           "export with example inputs that fix the size");
    if (*extent < 0) fail(ErrorCode::shape, fmt::format("a size is negative: {}", *extent));
    type.shape.push_back(*extent);
  }
  const auto count = element_count(type.shape);
  if (!count.ok() || *count > max_elements)
    fail(ErrorCode::limit, fmt::format("the shape {} has too many elements", to_string(type.shape)));
  return type;
}

// None where they are not recorded, or depend on data.
std::optional<std::vector<int64_t>> ExportReader::recorded_strides(const Scope& scope, std::string_view name) {
  const Named* found = scope.names.find(name);
  JsonElement list;
  if (found == nullptr || !found->tensor || !find(object_of(*found->tensor, "its entry"), "strides", list))
    return std::nullopt;
  std::vector<int64_t> strides;
  JsonArray items;
  if (list.get_array().get(items) != simdjson::SUCCESS || items.size() > max_dimensions) return std::nullopt;
  for (const JsonElement item : items) {
    const auto stride = sym_int(item, "a stride");
    if (!stride || *stride < 0 || *stride > max_elements) return std::nullopt;
    strides.push_back(*stride);
  }
  return strides;
}

// What memory holds must not have more bytes here than it has there.
void ExportReader::require_own_width(const Scope& scope, std::string_view name) {
  const Named* found = scope.names.find(name);
  if (found == nullptr || !found->tensor) return;
  const JsonElement dtype = field(object_of(*found->tensor, "its entry in tensor_values"), "dtype", "its entry");
  if (is_widened(dtype)) fail_dtype(dtype, fmt::format("tensor '{}': its dtype", name));
}

graph::ValueId ExportReader::define(Scope& scope, std::string_view name, std::optional<TensorType> type) {
  Named& named = scope.names[name];
  if (named.value != graph::no_value)
    fail(ErrorCode::name, fmt::format("'{}' is defined twice", name), "the graph must define every value once");
  named.value = graph_.add_value(std::string(name), std::move(type));
  graph::Value& value = graph_.values[named.value];
  if (auto strides = recorded_strides(scope, name);
      value.type && strides && strides->size() == value.type->shape.size())
    value.strides = std::move(strides);
  return named.value;
}

graph::ValueId ExportReader::find_value(const Scope& scope, std::string_view name) {
  const Named* found = scope.names.find(name);
  return found == nullptr ? graph::no_value : found->value;
}

graph::ValueId ExportReader::use(const Scope& scope, std::string_view name) const {
  const graph::ValueId id = find_value(scope, name);
  if (id == graph::no_value)
    fail(ErrorCode::name, fmt::format("node '{}' uses '{}' before it is defined", current_, name),
         "the graph is cyclic or its nodes are out of order");
  return id;
}

// ---- arguments ----

// A named symbolic scalar: its number if known, else the value that computes it.
graph::Argument ExportReader::symbol_argument(Scope& scope, std::string_view name) {
  if (const auto constant = scope.constants.find(name); constant != scope.constants.end()) return constant->second;
  if (const auto found = scope.symbols.find(name); found != scope.symbols.end())
    if (const auto value = sym_int(found->second, name)) return *value;
  return graph::ValueRef{use(scope, name)};
}

graph::Argument ExportReader::sym_argument(Scope& scope, const JsonElement& e, std::string_view what) {
  const auto [tag, value] = tagged(e, what);
  if (tag == "as_name") return symbol_argument(scope, text_of(value, what));
  if (tag == "as_int") return integer_of(value, what);
  if (tag == "as_float") return real_of(value, what);
  if (tag == "as_bool") return take(value.get_bool(), what);
  fail(ErrorCode::parse, fmt::format("{} is a symbolic value of kind '{}'", what, tag));
}

std::vector<graph::ValueId> ExportReader::tensor_list(Scope& scope, const JsonElement& list) {
  std::vector<graph::ValueId> ids;
  for (const JsonElement item : array_of(list, "a list of tensors")) {
    const JsonObject o = object_of(item, "a tensor argument");
    JsonElement nested;
    if (find(o, "as_tensor", nested))
      ids.push_back(use(scope, tensor_name(nested)));
    else if (o["as_none"].get(nested) == simdjson::SUCCESS)
      ids.push_back(graph::no_value);
    else
      ids.push_back(use(scope, tensor_name(item)));
  }
  return ids;
}

graph::Argument ExportReader::read_argument(Scope& scope, const JsonElement& e, std::string_view what) {
  const auto [tag, value] = tagged(e, what);
  if (tag == "as_tensor") return graph::ValueRef{use(scope, tensor_name(value))};
  if (tag == "as_none") return std::monostate{};
  if (tag == "as_int") return integer_of(value, what);
  if (tag == "as_bool") return take(value.get_bool(), what);
  if (tag == "as_float") return real_of(value, what);
  if (tag == "as_ints" || tag == "as_bools") {
    std::vector<int64_t> list;
    for (const JsonElement item : array_of(value, what)) {
      bool flag = false;
      list.push_back(item.get_bool().get(flag) == simdjson::SUCCESS ? int64_t(flag) : integer_of(item, what));
    }
    return list;
  }
  if (tag == "as_tensors" || tag == "as_optional_tensors") return tensor_list(scope, value);
  if (tag == "as_optional_tensor") return read_argument(scope, value, what);
  if (tag == "as_string" || tag == "as_operator") return std::string(text_of(value, what));
  if (tag == "as_scalar_type") return dtype_of(value, what);
  if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") return sym_argument(scope, value, what);
  if (tag == "as_complex") {
    const JsonObject o = object_of(value, what);
    return std::complex<double>(real_of(field(o, "real", what), what), real_of(field(o, "imag", what), what));
  }
  if (tag == "as_floats") {
    std::vector<double> list;
    for (const JsonElement item : array_of(value, what)) list.push_back(real_of(item, what));
    return list;
  }
  if (tag == "as_sym_ints" || tag == "as_sym_bools") return sym_integers(scope, value, what);
  if (tag == "as_sym_floats") return sym_floats(scope, value, what);
  // devices, layouts, memory formats and script objects do not change what is computed
  return std::monostate{};
}

graph::Argument ExportReader::sym_integers(Scope& scope, const JsonElement& value, std::string_view what) {
  std::vector<int64_t> list;
  for (const JsonElement item : array_of(value, what)) {
    const auto [tag, name] = tagged(item, what);
    if (const auto symbol = tag == "as_name" ? scope.symbols.find(text_of(name, what)) : scope.symbols.end();
        symbol != scope.symbols.end())
      (void)size_of(symbol->second, what);
    const graph::Argument part = sym_argument(scope, item, what);
    if (const auto* i = std::get_if<int64_t>(&part))
      list.push_back(*i);
    else if (const auto* b = std::get_if<bool>(&part))
      list.push_back(*b);
    else
      fail(ErrorCode::unsupported,
           fmt::format("node '{}': '{}' has an element whose value is not known before the program runs", current_,
                       what),
           "export with example inputs that fix it");
  }
  return list;
}

graph::Argument ExportReader::sym_floats(Scope& scope, const JsonElement& value, std::string_view what) {
  std::vector<double> list;
  for (const JsonElement item : array_of(value, what)) {
    const graph::Argument part = sym_argument(scope, item, what);
    if (const auto* d = std::get_if<double>(&part))
      list.push_back(*d);
    else if (const auto* i = std::get_if<int64_t>(&part))
      list.push_back(double(*i));
    else
      fail(ErrorCode::unsupported,
           fmt::format("node '{}': '{}' has an element whose value is not known", current_, what));
  }
  return list;
}

}  // namespace lightline::frontend
