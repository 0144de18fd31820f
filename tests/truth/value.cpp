#include "truth/value.h"

#include <cmath>

#include "loops/interpret/lane_functions.h"

namespace lightline::truth {

namespace lanes = loops::interpreter;

bool is_integral(DType type) { return is_integer(type) || type == DType::boolean; }

Value Value::of(DType type, const loops::Literal& literal) {
  Value result{compute_type(type)};
  alignas(8) std::byte block[lanes::register_bytes];
  lanes::broadcast(block, result.type, literal);
  std::memcpy(result.lane, block, size_t(lanes::lane_bytes(result.type)));
  return result;
}
Value Value::of(DType type, double number) {
  Value result{compute_type(type)};
  if (is_integral(result.type)) return of_integer(result.type, float_to_i64(number));
  if (result.type == DType::c64) return of_complex(number);
  if (result.type == DType::f64) {
    std::memcpy(result.lane, &number, sizeof number);
  } else {
    const auto narrow = float(number);
    std::memcpy(result.lane, &narrow, sizeof narrow);
  }
  return result;
}
Value Value::of_integer(DType type, int64_t number) {
  Value result{compute_type(type)};
  if (!is_integral(result.type)) return of(type, double(number));
  number = wrap_to(result.type, number);
  std::memcpy(result.lane, &number, sizeof number);
  return result;
}
Value Value::of_complex(std::complex<double> number) {
  Value result{DType::c64};
  const std::complex<float> narrow(float(number.real()), float(number.imag()));
  std::memcpy(result.lane, &narrow, sizeof narrow);
  return result;
}
Value Value::element(const Tensor& tensor, int64_t offset) {
  const DType type = compute_type(tensor.dtype());
  if (is_integral(type)) return of_integer(type, tensor.get_i64(offset));
  if (type == DType::c64) return of_complex(tensor.get_c128(offset));
  return of(type, tensor.get_f64(offset));
}

std::complex<double> Value::number() const {
  if (is_integral(type)) return double(integer());
  if (type == DType::f64) {
    double result = 0;
    std::memcpy(&result, lane, sizeof result);
    return result;
  }
  float parts[2] = {};
  std::memcpy(parts, lane, type == DType::c64 ? 8 : 4);
  return {parts[0], parts[1]};
}
int64_t Value::integer() const {
  if (!is_integral(type)) return float_to_i64(real());
  int64_t result = 0;
  std::memcpy(&result, lane, sizeof result);
  return result;
}
bool Value::is_nan() const { return std::isnan(number().real()) || std::isnan(number().imag()); }

Value applied(loops::Function function, std::span<const Value> operands) {
  const DType type = operands.back().type;
  DType result = type;
  switch (loops::info(function).signature) {
    case loops::Signature::equality:
    case loops::Signature::ordering:
    case loops::Signature::test: result = DType::boolean; break;
    case loops::Signature::magnitude: result = type == DType::c64 ? DType::f32 : type; break;
    case loops::Signature::make_complex: result = DType::c64; break;
    case loops::Signature::complex_part: result = DType::f32; break;
    case loops::Signature::to_bits: result = type == DType::f64 ? DType::i64 : DType::i32; break;
    case loops::Signature::from_bits: result = type == DType::i64 ? DType::f64 : DType::f32; break;
    default: break;
  }
  Value value{result};
  const auto lane = [&](size_t i) { return i < operands.size() ? operands[i].lane : nullptr; };
  lanes::lane_function(function, type)(value.lane, lane(0), lane(1), lane(2), 1);
  return value;
}

Value converted(const Value& value, DType target) {
  Value result{compute_type(target)};
  if (const auto cast = lanes::lane_cast(value.type, target))
    cast(result.lane, value.lane, nullptr, nullptr, 1);
  else
    std::memcpy(result.lane, value.lane, sizeof result.lane);
  return result;
}

bool close(const Value& a, const Value& b, DType stored) {
  const auto x = a.number(), y = b.number();
  if (a.is_nan() || b.is_nan()) return a.is_nan() == b.is_nan();
  if (x == y) return true;
  const Tolerance allowed = tolerance(stored);
  return std::abs(x - y) <= 8 * allowed.absolute + 8 * allowed.relative * std::abs(y);
}

}  // namespace lightline::truth
