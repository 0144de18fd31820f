#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <set>

#include "base/bytes.h"
#include "base/json_string.h"
#include "base/shown.h"
#include "base/tensor_io.h"

// The format: https://github.com/huggingface/safetensors#format. Eight bytes of header length, a JSON header, the data.
namespace lightline {
namespace {

constexpr uint64_t safetensors_header_limit = 100'000'000;  // the format's own
constexpr size_t safetensors_rank_limit = 64;
constexpr std::string_view metadata_key = "__metadata__";

constexpr std::pair<std::string_view, DType> type_names[] = {
    {"F64", DType::f64},        {"F32", DType::f32},        {"F16", DType::f16},   {"BF16", DType::bf16},
    {"F8_E4M3", DType::f8e4m3}, {"F8_E5M2", DType::f8e5m2}, {"F4", DType::f4e2m1}, {"I64", DType::i64},
    {"I32", DType::i32},        {"I16", DType::i16},        {"I8", DType::i8},     {"U8", DType::u8},
    {"BOOL", DType::boolean},   {"C64", DType::c64},
};

Error broken_safetensors(std::string detail) {
  return {ErrorCode::parse, "the safetensors data is broken: " + std::move(detail),
          "the file is damaged or not a safetensors file: write or download it again"};
}

struct Entry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  uint64_t begin = 0;  // in the data
  uint64_t end = 0;
};

Result<DType> parse_type(std::string_view tensor, simdjson::dom::element value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS)
    return broken_safetensors(fmt::format("the dtype of '{}' is not a string", shown(tensor)));
  for (const auto& [known, dtype] : type_names) {
    if (text == known) return dtype;
  }
  return Error{ErrorCode::unsupported,
               fmt::format("tensor '{}' has the unsupported dtype '{}'", shown(tensor), shown(text)),
               text.starts_with('U') ? "convert it to I64 before saving"
                                     : "convert it to F32, BF16, F8_E4M3 or F8_E5M2 before saving"};
}

Result<Shape> parse_shape(std::string_view tensor, simdjson::dom::element value) {
  simdjson::dom::array extents;
  if (value.get(extents) != simdjson::SUCCESS)
    return broken_safetensors(fmt::format("the shape of '{}' is not an array", shown(tensor)));
  Shape shape;
  for (const simdjson::dom::element extent : extents) {
    int64_t number = 0;
    if (extent.get(number) != simdjson::SUCCESS || number < 0) {
      return broken_safetensors(fmt::format("the shape of '{}' has something other than extents", shown(tensor)));
    }
    shape.push_back(number);
    if (shape.size() > safetensors_rank_limit)
      return Error{ErrorCode::limit, fmt::format("tensor '{}' has more than 64 dimensions", shown(tensor)),
                   "use fewer dimensions"};
  }
  return shape;
}

Result<std::pair<uint64_t, uint64_t>> parse_offsets(std::string_view tensor, simdjson::dom::element value) {
  const Error error =
      broken_safetensors(fmt::format("the data_offsets of '{}' are not two numbers in order", shown(tensor)));
  simdjson::dom::array offsets;
  if (value.get(offsets) != simdjson::SUCCESS) return error;
  uint64_t numbers[2];
  size_t count = 0;
  for (const simdjson::dom::element offset : offsets) {
    if (count == 2 || offset.get(numbers[count]) != simdjson::SUCCESS) return error;
    ++count;
  }
  if (count != 2 || numbers[0] > numbers[1]) return error;
  return std::pair(numbers[0], numbers[1]);
}

Status check_metadata(simdjson::dom::element value) {
  simdjson::dom::object fields;
  if (value.get(fields) != simdjson::SUCCESS) return broken_safetensors("__metadata__ is not an object");
  for (const simdjson::dom::key_value_pair field : fields) {
    if (!field.value.is_string())
      return broken_safetensors(fmt::format("the metadata '{}' is not a string", shown(field.key)));
  }
  return Ok{};
}

// The bytes a tensor takes in the file.
Result<uint64_t> stored_bytes(const Entry& entry) {
  LL_TRY(const int64_t count, element_count(entry.shape));
  if (entry.dtype == DType::f4e2m1) {
    if (count % 2 != 0)
      return broken_safetensors(fmt::format("tensor '{}' has an odd number of 4-bit elements", shown(entry.name)));
    return uint64_t(count) / 2;
  }
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(uint64_t(count), uint64_t(byte_size(entry.dtype)), &bytes)) {
    return broken_safetensors(fmt::format("the shape of '{}' is too large", shown(entry.name)));
  }
  return bytes;
}

Result<Entry> parse_entry(std::string_view name, simdjson::dom::element value, uint64_t data_size) {
  simdjson::dom::object fields;
  if (value.get(fields) != simdjson::SUCCESS)
    return broken_safetensors(fmt::format("the header's '{}' is not an object", shown(name)));
  Entry entry;
  entry.name = name;
  bool has_dtype = false, has_shape = false, has_offsets = false;
  for (const simdjson::dom::key_value_pair field : fields) {
    bool* seen = field.key == "dtype"          ? &has_dtype
                 : field.key == "shape"        ? &has_shape
                 : field.key == "data_offsets" ? &has_offsets
                                               : nullptr;
    if (seen == nullptr) continue;
    if (*seen) return broken_safetensors(fmt::format("tensor '{}' has '{}' twice", shown(name), shown(field.key)));
    *seen = true;
    if (field.key == "dtype") {
      LL_TRY(entry.dtype, parse_type(name, field.value));
    } else if (field.key == "shape") {
      LL_TRY(entry.shape, parse_shape(name, field.value));
    } else {
      LL_TRY(const auto offsets, parse_offsets(name, field.value));
      entry.begin = offsets.first;
      entry.end = offsets.second;
    }
  }
  if (!has_dtype || !has_shape || !has_offsets) {
    return broken_safetensors(fmt::format("tensor '{}' has no '{}'", shown(name),
                                          !has_dtype   ? "dtype"
                                          : !has_shape ? "shape"
                                                       : "data_offsets"));
  }
  if (entry.end > data_size) return broken_safetensors(fmt::format("tensor '{}' reaches beyond the file", shown(name)));
  LL_TRY(const uint64_t bytes, stored_bytes(entry));
  if (bytes != entry.end - entry.begin) {
    return broken_safetensors(fmt::format("tensor '{}' of shape {} needs {} bytes, its data_offsets hold {}",
                                          shown(name), to_string(entry.shape), bytes, entry.end - entry.begin));
  }
  return entry;
}

Result<std::vector<Entry>> parse_header(std::string_view text, uint64_t data_size) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (const auto code = parser.parse(text.data(), text.size(), true).get(document); code == simdjson::MEMALLOC) {
    return out_of_memory("the safetensors data");
  } else if (code != simdjson::SUCCESS) {
    return broken_safetensors(code == simdjson::UTF8_ERROR ? "its header is not UTF-8" : "its header is not JSON");
  }
  simdjson::dom::object tensors;
  if (document.get(tensors) != simdjson::SUCCESS) return broken_safetensors("its header is not an object");
  std::vector<Entry> entries;
  std::set<std::string_view> names;
  for (const simdjson::dom::key_value_pair tensor : tensors) {
    if (!names.insert(tensor.key).second)
      return broken_safetensors(fmt::format("its header has '{}' twice", shown(tensor.key)));
    if (tensor.key == metadata_key) {
      LL_DO(check_metadata(tensor.value));
      continue;
    }
    LL_TRY(Entry entry, parse_entry(tensor.key, tensor.value, data_size));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Status check_overlap(const std::vector<Entry>& entries) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) {
    if (entry.begin < entry.end) order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) { return a->begin < b->begin; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->begin < order[i - 1]->end)
      return broken_safetensors(
          fmt::format("tensors '{}' and '{}' overlap", shown(order[i - 1]->name), shown(order[i]->name)));
  }
  return Ok{};
}

Result<Tensor> load(const Entry& entry, std::string_view data) {
  LL_TRY(Tensor tensor, Tensor::allocate(entry.dtype, entry.shape));
  if (tensor.size() == 0) return tensor;
  const std::string_view bytes = data.substr(size_t(entry.begin), size_t(entry.end - entry.begin));
  if (entry.dtype == DType::f4e2m1) {
    const std::span<uint8_t> values = tensor.as<uint8_t>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = uint8_t(uint8_t(bytes[i / 2]) >> (i % 2 * 4)) & 0xF;
    return tensor;
  }
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  if (entry.dtype == DType::boolean) {
    for (uint8_t& value : tensor.as<uint8_t>()) value = value != 0;
  }
  return tensor;
}

void append_data(std::string& content, const Tensor& tensor) {
  if (tensor.size() == 0) return;
  if (tensor.dtype() != DType::f4e2m1) {
    content.append(reinterpret_cast<const char*>(tensor.data()), tensor.byte_count());
    return;
  }
  const std::span<const uint8_t> values = tensor.as<uint8_t>();
  for (size_t i = 0; i < values.size(); i += 2) content += char((values[i] & 0xF) | (values[i + 1] & 0xF) << 4);
}

std::string_view type_name(DType dtype) {
  for (const auto& [known, type] : type_names) {
    if (type == dtype) return known;
  }
  return "";
}

Status check_names(const NamedTensors& tensors) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == metadata_key || !simdjson::validate_utf8(name)) {
      return Error{ErrorCode::name, fmt::format("a safetensors file can not name a tensor '{}'", shown(name)),
                   "give the tensor another name, in UTF-8"};
    }
    if (!names.insert(name).second)
      return Error{ErrorCode::name, fmt::format("two tensors are named '{}'", shown(name)),
                   "give every tensor its own name"};
  }
  return Ok{};
}

}  // namespace

Result<NamedTensors> parse_safetensors(std::string_view content) try {
  if (content.size() < 8) return broken_safetensors("it is too short");
  const uint64_t header_size = load_le<uint64_t>(content, 0);
  if (header_size > safetensors_header_limit) {
    return Error{ErrorCode::limit, fmt::format("the safetensors header claims {} bytes", header_size),
                 "headers have at most 100 MB; check that this is a safetensors file"};
  }
  if (header_size > content.size() - 8) return broken_safetensors("it ends inside the header");
  const std::string_view data = content.substr(8 + size_t(header_size));
  LL_TRY(const std::vector<Entry> entries, parse_header(content.substr(8, size_t(header_size)), data.size()));
  LL_DO(check_overlap(entries));
  NamedTensors tensors;
  for (const Entry& entry : entries) {
    LL_TRY(Tensor tensor, load(entry, data));
    tensors.emplace_back(entry.name, std::move(tensor));
  }
  return tensors;
} catch (const std::bad_alloc&) {
  return out_of_memory("the safetensors data");
}

Result<std::string> format_safetensors(const NamedTensors& tensors) try {
  LL_DO(check_names(tensors));
  // Wide elements come first in the data, so that all of it is aligned; the header keeps the caller's order.
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return bits(tensors[a].second.dtype()) > bits(tensors[b].second.dtype());
  });
  std::vector<Entry> entries(tensors.size());
  uint64_t end = 0;
  for (const size_t i : order) {
    const auto& [name, tensor] = tensors[i];
    if (tensor.dtype() == DType::f4e2m1 && tensor.size() % 2 != 0) {
      return Error{
          ErrorCode::unsupported,
          fmt::format("tensor '{}' has an odd number of 4-bit elements, which safetensors can not store", shown(name)),
          "use an .npz file"};
    }
    entries[i] = {name, tensor.dtype(), tensor.shape(), end, 0};
    LL_TRY(const uint64_t bytes, stored_bytes(entries[i]));
    end += bytes;
    entries[i].end = end;
  }
  std::string header = "{";
  for (const Entry& entry : entries) {
    header += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", header.size() > 1 ? "," : "",
                          json_string(entry.name), type_name(entry.dtype), fmt::join(entry.shape, ","), entry.begin,
                          entry.end);
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  if (header.size() > safetensors_header_limit) {
    return Error{ErrorCode::limit, "the safetensors header would have more than 100 MB",
                 "write fewer tensors, or shorter names"};
  }
  std::string content;
  content.reserve(8 + header.size() + end);
  append_le<uint64_t>(content, header.size());
  content += header;
  for (const size_t i : order) append_data(content, tensors[i].second);
  return content;
} catch (const std::bad_alloc&) {
  return out_of_memory("the safetensors data");
}

}  // namespace lightline
