#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>

#include "base/bytes.h"
#include "base/shown.h"
#include "base/tensor_io.h"

// The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
namespace lightline {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr size_t header_limit = size_t(1) << 20;
constexpr size_t rank_limit = 64;  // numpy's own

Error broken_npy(std::string detail) {
  return {ErrorCode::parse, "the .npy data is broken: " + std::move(detail), "write the file again with numpy.save"};
}

struct Header {
  std::string_view descr;
  bool fortran_order = false;
  Shape shape;
};

// A Python dict of exactly three entries, as numpy.save writes it:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    LL_DO(expect('{'));
    while (!accept('}')) {
      LL_DO(entry());
      if (accept('}')) break;
      LL_DO(expect(','));
    }
    skip_space();
    if (at_ != text_.size()) return unexpected("the end");
    if (!has_descr_ || !has_order_ || !has_shape_) {
      return broken_npy(fmt::format("the header has no '{}'", !has_descr_   ? "descr"
                                                              : !has_order_ ? "fortran_order"
                                                                            : "shape"));
    }
    return std::move(header_);
  }

 private:
  Status entry() {
    LL_TRY(const std::string_view key, string());
    bool* seen = key == "descr"           ? &has_descr_
                 : key == "fortran_order" ? &has_order_
                 : key == "shape"         ? &has_shape_
                                          : nullptr;
    if (seen == nullptr) return broken_npy(fmt::format("the header has an unknown key '{}'", shown(key)));
    if (*seen) return broken_npy(fmt::format("the header has '{}' twice", key));
    *seen = true;
    LL_DO(expect(':'));
    if (key == "descr") return descr();
    if (key == "fortran_order") return order();
    return shape();
  }

  Status descr() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
      return Error{ErrorCode::unsupported, "the .npy data is an array of records",
                   "save each field as an array of its own, for example with numpy.savez"};
    }
    LL_TRY(header_.descr, string());
    return Ok{};
  }

  Status order() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      header_.fortran_order = word == "True";
      return Ok{};
    }
    return unexpected("True or False");
  }

  // (), (3,), (3, 4) and (3, 4, )
  Status shape() {
    LL_DO(expect('('));
    bool comma = true;
    while (!accept(')')) {
      if (!comma) return unexpected("',' or ')'");
      LL_TRY(const int64_t extent, integer());
      header_.shape.push_back(extent);
      if (header_.shape.size() > rank_limit)
        return Error{ErrorCode::limit, "the .npy data has more than 64 dimensions", "use fewer dimensions"};
      comma = accept(',');
    }
    if (header_.shape.size() == 1 && !comma) return unexpected("',' after the only extent");
    return Ok{};
  }

  Result<int64_t> integer() {
    skip_space();
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code == std::errc::result_out_of_range) return broken_npy("an extent leaves 64 bits");
    if (code != std::errc() || *begin == '-') return unexpected("an extent");
    at_ += size_t(end - begin);
    return value;
  }

  // No escapes: none of the strings that mean something needs one.
  Result<std::string_view> string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') return unexpected("a string");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return unexpected("a string that ends");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    if (value.find_first_of("\\\n") != std::string_view::npos) return unexpected("a string without escapes");
    at_ = end + 1;
    return value;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status expect(char c) {
    if (!accept(c)) return unexpected(fmt::format("'{}'", c));
    return Ok{};
  }
  Error unexpected(std::string_view wanted) const {
    return broken_npy(fmt::format("its header needs {} at byte {}", wanted, at_));
  }

  std::string_view text_;
  size_t at_ = 0;
  Header header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

struct ElementType {
  DType dtype;
  size_t swapped = 1;  // bytes to reverse as a unit; 1 if they lie as on this machine
};

Error unsupported_type(std::string_view descr, std::string_view what, std::string hint) {
  return {ErrorCode::unsupported, fmt::format("the .npy data holds {} ('{}')", what, shown(descr)), std::move(hint)};
}

std::string_view astype_hint(std::string_view code) {
  if (code == "u2") return "convert it: x.astype('int32')";
  if (code == "u4" || code == "u8") return "convert it: x.astype('int64')";
  if (code == "c16" || code == "c32") return "convert it: x.astype('complex64')";
  if (code == "f16" || code == "f12") return "convert it: x.astype('float64')";
  return "convert it to a number: x.astype('float32') or x.astype('int64')";
}

Result<ElementType> raw_type(std::string_view descr, std::optional<DType> as) {
  if (descr.substr(1) == "V2") return ElementType{DType::bf16};
  if (as == DType::f8e4m3 || as == DType::f8e5m2 || as == DType::f4e2m1) return ElementType{*as};
  return Error{ErrorCode::type,
               fmt::format("the .npy data holds one-byte records ('{}') that could be f8e4m3, f8e5m2 or f4e2m1", descr),
               as ? fmt::format("expected {}; write the tensor again as that", name(*as))
                  : "use a .safetensors file, which names the type"};
}

Result<ElementType> element_type(std::string_view descr, std::optional<DType> as) {
  static constexpr std::pair<std::string_view, DType> types[] = {
      {"f8", DType::f64}, {"f4", DType::f32},     {"f2", DType::f16}, {"f1", DType::f8e5m2},
      {"i8", DType::i64}, {"i4", DType::i32},     {"i2", DType::i16}, {"i1", DType::i8},
      {"u1", DType::u8},  {"b1", DType::boolean}, {"c8", DType::c64},
  };
  const char order = descr.empty() ? '\0' : descr.front();
  if (std::string_view("<>=|").find(order) == std::string_view::npos || order == '\0') {
    return broken_npy(fmt::format("the type '{}' has no byte order", shown(descr)));
  }
  const std::string_view code = descr.substr(1);
  for (const auto& [known, dtype] : types) {
    if (code != known) continue;
    const size_t unit = dtype == DType::c64 ? 4 : size_t(byte_size(dtype));
    if (order == '|' && unit > 1) return broken_npy(fmt::format("the type '{}' has no byte order", descr));
    return ElementType{dtype, order == '>' ? unit : 1};
  }
  if ((code == "V2" || code == "V1") && order != '>') return raw_type(descr, as);
  const std::string_view what = code.starts_with('u')                            ? "unsigned integers"
                                : code.starts_with('O')                          ? "Python objects"
                                : code.starts_with('U') || code.starts_with('S') ? "strings"
                                                                                 : "numbers of an unsupported type";
  return unsupported_type(descr, what, std::string(astype_hint(code)));
}

void swap_bytes(std::byte* data, size_t count, size_t unit) {
  for (size_t at = 0; at < count; at += unit) std::reverse(data + at, data + at + unit);
}

// Booleans become 0 or 1 and 4-bit floats lose their high half, so that every tensor in memory has one form.
void normalise(Tensor& tensor) {
  if (tensor.dtype() == DType::boolean) {
    for (uint8_t& value : tensor.as<uint8_t>()) value = value != 0;
  } else if (tensor.dtype() == DType::f4e2m1) {
    for (uint8_t& value : tensor.as<uint8_t>()) value &= 0xF;
  }
}

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return "<f8";
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::bf16: return "<V2";
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::f4e2m1: return "<V1";
    case DType::i64: return "<i8";
    case DType::i32: return "<i4";
    case DType::i16: return "<i2";
    case DType::i8: return "|i1";
    case DType::u8: return "|u1";
    case DType::boolean: return "|b1";
    case DType::c64: return "<c8";
  }
  return "";
}

// The header's text and the data behind it.
Result<std::pair<std::string_view, std::string_view>> split(std::string_view content) {
  if (!content.starts_with(magic))
    return Error{ErrorCode::parse, "this is not .npy data", "write the file with numpy.save"};
  if (content.size() < 10) return broken_npy("it ends inside the header");
  const int major = uint8_t(content[6]);
  const int minor = uint8_t(content[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return Error{ErrorCode::unsupported, fmt::format("the .npy data has version {}.{}", major, minor),
                 "versions 1.0, 2.0 and 3.0 are known; write the file with numpy.save"};
  }
  const size_t begin = major == 1 ? 10 : 12;
  if (content.size() < begin) return broken_npy("it ends inside the header");
  const size_t size = major == 1 ? load_le<uint16_t>(content, 8) : load_le<uint32_t>(content, 8);
  if (size > content.size() - begin) return broken_npy("it ends inside the header");
  if (size > header_limit)
    return Error{ErrorCode::limit, "the .npy header is larger than 1 MiB", "save the array without field names"};
  return std::pair(content.substr(begin, size), content.substr(begin + size));
}

}  // namespace

Result<Tensor> parse_npy(std::string_view content, std::optional<DType> as) try {
  LL_TRY(const auto parts, split(content));
  const std::string_view data = parts.second;
  LL_TRY(Header header, HeaderParser(parts.first).parse());
  LL_TRY(const ElementType type, element_type(header.descr, as));
  LL_TRY(const int64_t count, element_count(header.shape));
  const size_t element = size_t(byte_size(type.dtype));
  if (data.size() % element != 0 || data.size() / element != size_t(count)) {
    return broken_npy(fmt::format("shape {} of '{}' needs {} elements of {} bytes, there are {} bytes",
                                  to_string(header.shape), header.descr, count, element, data.size()));
  }
  Tensor tensor;
  if (header.fortran_order && header.shape.size() > 1) {
    TensorView view{type.dtype, header.shape, {}, reinterpret_cast<const std::byte*>(data.data())};
    int64_t stride = 1;
    for (int64_t extent : header.shape) {
      view.strides.push_back(stride);
      stride *= extent;
    }
    tensor = Tensor::dense_copy(view);
  } else {
    LL_TRY(tensor, Tensor::allocate(type.dtype, header.shape));
    if (count > 0) std::memcpy(tensor.data(), data.data(), data.size());
  }
  if (type.swapped > 1) swap_bytes(tensor.data(), tensor.byte_count(), type.swapped);
  normalise(tensor);
  return tensor;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::limit, "there is no memory for the .npy data", "free memory, or use a smaller file"};
}

std::string format_npy(const Tensor& tensor) {
  std::string shape;
  for (int64_t extent : tensor.shape()) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  if (tensor.shape().size() == 1) shape += ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(tensor.dtype()), shape);

  // Spaces and a line end make the data start at a multiple of 64, as numpy does. Version 2 has room for long headers.
  const bool long_header = header.size() > 65000;
  const size_t begin = long_header ? 12 : 10;
  header.append(63 - (begin + header.size()) % 64, ' ').append("\n");
  std::string content(magic);
  content += long_header ? '\2' : '\1';
  content += '\0';
  if (long_header) {
    append_le(content, uint32_t(header.size()));
  } else {
    append_le(content, uint16_t(header.size()));
  }
  content += header;
  if (tensor.size() > 0) content.append(reinterpret_cast<const char*>(tensor.data()), tensor.byte_count());
  return content;
}

}  // namespace lightline
