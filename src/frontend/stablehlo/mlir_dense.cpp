#include "frontend/stablehlo/mlir_dense.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/shown.h"
#include "frontend/stablehlo/mlir_lexer.h"

namespace lightline::frontend::mlir {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Bytes of an element as the text writes them.
size_t source_bytes(const Type& type) {
  if (type.narrowed && type.dtype == DType::c64) return 16;
  return size_t(byte_size(type.dtype));
}

class DenseReader {
 public:
  DenseReader(std::string_view text, size_t offset, Dense& into) : lexer_(text), offset_(offset), into_(into) {
    count_ = *element_count(into.type.shape);
    advance();
  }

  void run() {
    if (token_.kind == TokenKind::string) {
      hexadecimal();
    } else if (token_.kind == TokenKind::end) {
      if (count_ != 0) fail("a constant with elements has none");
      allocate(0);
    } else if (token_.is('[')) {
      elements();
    } else {
      into_.splat = true;
      allocate(1);
      element(0);
    }
    if (token_.kind != TokenKind::end) fail("a dense constant goes on after its elements");
  }

 private:
  void advance() {
    token_ = lexer_.next();
    token_.offset += offset_;
  }
  [[noreturn]] void fail(std::string message, ErrorCode code = ErrorCode::parse) const {
    throw MlirError{code, std::move(message), "", token_.offset};
  }
  void allocate(int64_t elements) {
    Shape shape = elements == count_ && !into_.splat ? into_.type.shape : Shape{elements};
    if (into_.splat) shape = {};
    auto data = Tensor::allocate(into_.type.dtype, std::move(shape));
    if (!data.ok()) fail("a constant is too large", ErrorCode::limit);
    into_.data = std::move(data).value();
  }

  // [[1, 2], [3, 4]]: every element takes at least two characters, so the text bounds the count.
  void elements() {
    if (count_ > int64_t(lexer_.text().size()))
      fail(fmt::format("a constant of {} elements has fewer in its text", count_));
    allocate(count_);
    int64_t at = 0;
    nested(0, at);
    if (at != count_) fail(fmt::format("a constant of {} elements has {} in its text", count_, at));
  }
  void nested(size_t depth, int64_t& at) {
    const Shape& shape = into_.type.shape;
    if (depth == shape.size()) {
      if (at >= count_) fail(fmt::format("a constant of {} elements has more in its text", count_));
      element(at++);
      return;
    }
    if (!token_.is('[')) fail("the nesting of a constant does not fit its shape");
    advance();
    int64_t entries = 0;
    while (!token_.is(']')) {
      nested(depth + 1, at);
      ++entries;
      if (!token_.is(',')) break;
      advance();
    }
    if (!token_.is(']') || entries != shape[depth]) fail("the nesting of a constant does not fit its shape");
    advance();
  }

  void element(int64_t at) {
    if (into_.type.dtype != DType::c64) {
      scalar(at, false);
      return;
    }
    if (!token_.is('(')) fail("a complex constant is written (real, imaginary)");
    advance();
    const double re = complex_part();
    if (!token_.is(',')) fail("a complex constant is written (real, imaginary)");
    advance();
    const double im = complex_part();
    if (!token_.is(')')) fail("a complex constant is written (real, imaginary)");
    advance();
    into_.data.set_c128(at, {re, im});
  }
  double complex_part() {
    const bool negative = sign();
    double value = 0;
    if (token_.kind == TokenKind::integer && token_.text.starts_with("0x")) {
      const uint64_t bits = integer();
      if (into_.type.narrowed) {
        std::memcpy(&value, &bits, sizeof value);
      } else {
        const auto low = uint32_t(bits);
        float single = 0;
        std::memcpy(&single, &low, sizeof single);
        value = double(single);
      }
    } else {
      value = real();
    }
    advance();
    return negative ? -value : value;
  }

  bool sign() {
    if (!token_.is('-')) return false;
    advance();
    return true;
  }
  double real() const {
    if (token_.kind != TokenKind::integer && token_.kind != TokenKind::real) bad_element();
    return std::strtod(std::string(token_.text).c_str(), nullptr);
  }
  uint64_t integer() const {
    if (token_.kind != TokenKind::integer) bad_element();
    const bool hex = token_.text.starts_with("0x");
    uint64_t value = 0;
    const char* last = token_.text.data() + token_.text.size();
    const auto [end, error] = std::from_chars(token_.text.data() + (hex ? 2 : 0), last, value, hex ? 16 : 10);
    if (error != std::errc() || end != last) fail("an element does not fit 64 bits", ErrorCode::limit);
    return value;
  }
  [[noreturn]] void bad_element() const {
    fail(token_.kind == TokenKind::end ? std::string("an element of a constant is missing")
                                       : fmt::format("'{}' is no element of a constant", shown(token_.text)));
  }

  void scalar(int64_t at, bool negative) {
    const DType dtype = into_.type.dtype;
    if (dtype == DType::boolean && token_.kind == TokenKind::word) {
      if (token_.text != "true" && token_.text != "false") bad_element();
      into_.data.set_i64(at, token_.text == "true");
    } else {
      negative = sign();
      if (!is_float(dtype)) {
        const uint64_t value = integer();
        into_.data.set_i64(at, wrap_to(dtype, int64_t(negative ? 0 - value : value)));
      } else if (token_.kind == TokenKind::integer && token_.text.starts_with("0x")) {
        const uint64_t bits = integer();  // the element's own bits, low end first
        std::memcpy(into_.data.data() + at * byte_size(dtype), &bits, size_t(byte_size(dtype)));
      } else {
        const double value = real();
        into_.data.set_f64(at, negative ? -value : value);
      }
    }
    advance();
  }

  // "0x...": the elements' bytes, or those of one that stands for all.
  void hexadecimal() {
    std::string_view digits = token_.text;
    if (!digits.starts_with("0x") || digits.size() % 2 != 0) fail("a constant's bytes are not written in hexadecimal");
    digits.remove_prefix(2);
    const size_t bytes = digits.size() / 2, each = source_bytes(into_.type);
    const auto byte = [&](size_t i) {
      const int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
      if (high < 0 || low < 0) fail("a constant's bytes are not written in hexadecimal");
      return uint8_t(high * 16 + low);
    };
    const bool packed =
        into_.type.dtype == DType::boolean && bytes != size_t(count_) && bytes == (size_t(count_) + 7) / 8;
    into_.splat = !packed && count_ != 1 && bytes == each;
    const int64_t stored = into_.splat ? 1 : count_;
    if (!packed && (stored > int64_t(bytes) || size_t(stored) * each != bytes))
      fail(fmt::format("a constant of {} elements has {} bytes in its text", count_, bytes));
    allocate(stored);
    for (int64_t i = 0; i < stored; ++i) {
      if (into_.type.dtype == DType::boolean) {
        const auto at = size_t(i);
        into_.data.set_i64(i, packed ? byte(at / 8) >> (at % 8) & 1 : byte(at) != 0);
        continue;
      }
      uint8_t raw[16] = {};
      for (size_t b = 0; b < each; ++b) raw[b] = byte(size_t(i) * each + b);
      if (each == 16) {
        double parts[2];
        std::memcpy(parts, raw, sizeof parts);
        into_.data.set_c128(i, {parts[0], parts[1]});
      } else {
        std::memcpy(into_.data.data() + size_t(i) * each, raw, each);
      }
    }
    advance();
  }

  Lexer lexer_;
  size_t offset_;
  Dense& into_;
  int64_t count_ = 0;
  Token token_;
};

}  // namespace

void read_dense(std::string_view text, size_t offset, Dense& into) { DenseReader(text, offset, into).run(); }

}  // namespace lightline::frontend::mlir
