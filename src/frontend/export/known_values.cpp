// Values of inputs that our capture adds to an exported program:
// {"lightline": {"name": ..., "notes": [...], "values": {"idx": {"shape": [4], "data": [1, 0, 2, 3]}}}}
// A list has "inf", "-inf" and "nan" for what JSON has no numbers for; "gzip" instead of "data" is base64 of the
// compressed bytes of the elements, row-major, as the dtype stores them.
#include <algorithm>
#include <array>

#include "base/file.h"
#include "frontend/export/reader.h"

namespace lightline::frontend {
namespace {

constexpr uint64_t max_unpacked = uint64_t(1) << 30;
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::array<int8_t, 256> digit_table() {
  std::array<int8_t, 256> table;
  table.fill(-1);
  for (size_t i = 0; i < alphabet.size(); ++i) table[uint8_t(alphabet[i])] = int8_t(i);
  return table;
}

std::optional<std::string> from_base64(std::string_view text) {
  static const std::array<int8_t, 256> digits = digit_table();
  if (text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int8_t digit = digits[uint8_t(c)];
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | uint32_t(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += char(bits >> held & 0xff);
  }
  return bytes;
}

Tensor unpacked(std::string_view text, const TensorType& type, std::string_view name) {
  const auto packed = from_base64(text);
  if (!packed) fail(ErrorCode::parse, fmt::format("the known values of '{}' are not base64", name));
  const uint64_t size = uint64_t(*element_count(type.shape)) * uint64_t(byte_size(type.dtype));
  const auto bytes = decompress(*packed, std::min(size, max_unpacked));
  if (!bytes.ok()) fail(bytes.error().code, fmt::format("the known values of '{}': {}", name, bytes.error().message));
  if (bytes->size() != size)
    fail(ErrorCode::shape, fmt::format("the known values of '{}' have {} bytes, but {} has {}", name, bytes->size(),
                                       to_string(type), size));
  Tensor tensor(type.dtype, type.shape);
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<char*>(tensor.data()));
  return tensor;
}

Tensor listed(const JsonArray& data, const TensorType& type, std::string_view name) {
  int64_t count = 0;
  for ([[maybe_unused]] const JsonElement item : data) ++count;  // size() saturates
  if (count != *element_count(type.shape))
    fail(ErrorCode::shape,
         fmt::format("the known values of '{}' do not fit its shape {}", name, to_string(type.shape)));
  Tensor known(type.dtype, type.shape);
  int64_t i = 0;
  for (const JsonElement item : data) {
    bool flag = false;
    if (item.get_bool().get(flag) == simdjson::SUCCESS)
      known.set_i64(i++, flag);
    else if (is_integer(type.dtype))
      known.set_i64(i++, integer_of(item, name));
    else
      known.set_f64(i++, real_of(item, name));
  }
  return known;
}

}  // namespace

void ExportReader::read_known_values(const JsonObject& root, const Scope& scope) {
  JsonElement extra, notes, values;
  JsonObject members, entries;
  if (!find(root, "lightline", extra) || extra.get_object().get(members) != simdjson::SUCCESS) return;
  if (find(members, "notes", notes))
    for (const JsonElement note : array_of(notes, "the notes"))
      graph_.assumptions.emplace_back(text_of(note, "a note"));
  if (!find(members, "values", values) || values.get_object().get(entries) != simdjson::SUCCESS) return;
  std::unordered_map<graph::ValueId, JsonElement> known;
  for (const auto& [name, entry] : entries)
    if (const graph::ValueId id = find_value(scope, name); id != graph::no_value) known.emplace(id, entry);
  for (graph::Input& input : graph_.inputs)
    if (const auto found = known.find(input.value); found != known.end())
      keep_values(input, object_of(found->second, "a known value"), graph_.values[input.value].name);
}

void ExportReader::keep_values(graph::Input& input, const JsonObject& entry, std::string_view name) {
  const TensorType& type = *graph_.values[input.value].type;
  JsonElement packed;
  input.known = find(entry, "gzip", packed)
                    ? unpacked(text_of(packed, "a known value"), type, name)
                    : listed(array_of(field(entry, "data", "a known value"), "a known value"), type, name);
}

}  // namespace lightline::frontend
