#include "frontend/export/json_fields.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/export/json_place.h"

namespace lightline::frontend {
namespace {

constexpr int64_t max_items = 30'000'000;  // an item takes up to 20 bytes while it is parsed

constexpr std::string_view origin_hint = "the file should be what torch.export.save writes";

constexpr int64_t uint16_type = 28, uint32_type = 34;

std::optional<DType> dtype_from_scalar_type(int64_t type) {
  switch (type) {
    case 1: return DType::u8;
    case 2: return DType::i8;
    case 3: return DType::i16;
    case 4: return DType::i32;
    case 5: return DType::i64;
    case 6: return DType::f16;
    case 7: return DType::f32;
    case 8: return DType::f64;
    case 10: return DType::c64;
    case 12: return DType::boolean;
    case 13: return DType::bf16;
    case 29: return DType::f8e4m3;
    case 30: return DType::f8e5m2;
    case uint16_type: return DType::i32;
    case uint32_type: return DType::i64;
    default: return std::nullopt;
  }
}

std::string_view scalar_type_name(int64_t type) {
  static const std::unordered_map<int64_t, std::string_view> names = {
      {0, "unknown"},          {9, "complex32"},       {11, "complex128"}, {28, "uint16"}, {31, "float8_e4m3fnuz"},
      {32, "float8_e5m2fnuz"}, {33, "float8_e8m0fnu"}, {34, "uint32"},     {35, "uint64"}};
  const auto found = names.find(type);
  return found == names.end() ? "an unknown dtype" : found->second;
}

// An upper bound of the values and keys in the text.
int64_t item_count(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (c == ',') | (c == ':') | (c == '[') | (c == '{'); });
}

}  // namespace

Result<JsonElement> parse_json(simdjson::dom::parser& parser, std::string_view text) {
  if (text.size() > max_json_text)
    return Error{ErrorCode::limit,
                 fmt::format("the program text has {} bytes; the limit is {}", text.size(), max_json_text),
                 "export without weights, or split the program",
                 {}};
  if (const int64_t items = int64_t(text.size()) <= max_items ? 0 : item_count(text); items > max_items)
    return Error{ErrorCode::limit,
                 fmt::format("the program text has {} items; the limit is {}", items, max_items),
                 "split the program",
                 {}};
  JsonElement root;
  if (const auto code = parser.parse(text.data(), text.size()).get(root); code != simdjson::SUCCESS)
    return Error{ErrorCode::parse,
                 fmt::format("not valid JSON: {}", simdjson::error_message(code)),
                 std::string(origin_hint),
                 json_place(text)};
  return root;
}

void fail(ErrorCode code, std::string message, std::string hint) {
  throw ExportError{code, std::move(message), std::move(hint)};
}
void fail_missing(std::string_view what) {
  fail(ErrorCode::parse, fmt::format("{} is missing or of the wrong kind", what), std::string(origin_hint));
}

JsonElement field(const JsonObject& o, std::string_view key, std::string_view where) {
  JsonElement found;
  if (o[key].get(found) != simdjson::SUCCESS)
    fail(ErrorCode::parse, fmt::format("{} has no '{}'", where, key), std::string(origin_hint));
  return found;
}

bool find(const JsonObject& o, std::string_view key, JsonElement& into) {
  return o[key].get(into) == simdjson::SUCCESS && !into.is_null();
}

int64_t integer_of(const JsonElement& e, std::string_view what) {
  int64_t value = 0;
  if (e.get_int64().get(value) == simdjson::SUCCESS) return value;
  uint64_t large = 0;
  if (e.get_uint64().get(large) == simdjson::SUCCESS)
    fail(ErrorCode::limit, fmt::format("{} is {}, which does not fit 64 bits", what, large));
  fail(ErrorCode::parse, fmt::format("{} is not an integer", what));
}

double real_of(const JsonElement& e, std::string_view what) {
  double value = 0;
  if (e.get_double().get(value) == simdjson::SUCCESS) return value;
  std::string_view text;
  if (e.get_string().get(text) == simdjson::SUCCESS) {
    if (text == "Infinity" || text == "inf") return __builtin_inf();
    if (text == "-Infinity" || text == "-inf") return -__builtin_inf();
    if (text == "NaN" || text == "nan") return __builtin_nan("");
  }
  fail(ErrorCode::parse, fmt::format("{} is not a number", what));
}

bool is_widened(const JsonElement& e) {
  int64_t type = 0;
  return e.get_int64().get(type) == simdjson::SUCCESS && (type == uint16_type || type == uint32_type);
}

void fail_dtype(const JsonElement& e, std::string_view what) {
  fail(ErrorCode::unsupported,
       fmt::format("{} is {}, which Lightline does not have", what, scalar_type_name(integer_of(e, what))),
       "convert the tensor to a supported dtype before export");
}

DType dtype_of(const JsonElement& e, std::string_view what) {
  const auto dtype = dtype_from_scalar_type(integer_of(e, what));
  if (!dtype) fail_dtype(e, what);
  return *dtype;
}

std::pair<std::string_view, JsonElement> tagged(const JsonElement& e, std::string_view what) {
  const JsonObject o = object_of(e, what);
  for (const auto& [key, value] : o)
    if (!value.is_null()) return {key, value};
  for (const auto& [key, value] : o) return {key, value};
  fail(ErrorCode::parse, fmt::format("{} is an empty union", what));
}

}  // namespace lightline::frontend
