// Reading the JSON that torch.export writes: every access is checked, and what is wrong is thrown as a ExportError,
// which stays inside this room.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/error.h"

namespace lightline::frontend {

using JsonArray = simdjson::dom::array;
using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;

inline constexpr size_t max_json_text = size_t(128) << 20;

// Parses a document of foreign origin; what would take too much memory is refused before it is parsed.
Result<JsonElement> parse_json(simdjson::dom::parser& parser, std::string_view text);

struct ExportError {
  ErrorCode code;
  std::string message;
  std::string hint;
};
[[noreturn]] void fail(ErrorCode code, std::string message, std::string hint = "");
[[noreturn]] void fail_missing(std::string_view what);

template <class T>
T take(simdjson::simdjson_result<T> result, std::string_view what) {
  if (result.error() != simdjson::SUCCESS) fail_missing(what);
  return std::move(result).value_unsafe();
}
inline JsonObject object_of(const JsonElement& e, std::string_view what) { return take(e.get_object(), what); }
inline JsonArray array_of(const JsonElement& e, std::string_view what) { return take(e.get_array(), what); }
inline std::string_view text_of(const JsonElement& e, std::string_view what) { return take(e.get_string(), what); }

JsonElement field(const JsonObject& o, std::string_view key, std::string_view where);
bool find(const JsonObject& o, std::string_view key, JsonElement& into);  // present and not null
int64_t integer_of(const JsonElement& e, std::string_view what);
double real_of(const JsonElement& e, std::string_view what);  // "inf", "-inf" and "nan" are written as strings
// PyTorch's number of a scalar type. Of uint16 and uint32 the next wider signed type: it has all their values, but more
// bytes, so that inputs and outputs must not be of them.
DType dtype_of(const JsonElement& e, std::string_view what);
bool is_widened(const JsonElement& e);
[[noreturn]] void fail_dtype(const JsonElement& e, std::string_view what);

// The one entry of a tagged union {"as_int": 3}; older writers add null siblings.
std::pair<std::string_view, JsonElement> tagged(const JsonElement& e, std::string_view what);

}  // namespace lightline::frontend
