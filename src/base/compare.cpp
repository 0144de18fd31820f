#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tensor.h"

namespace lightline {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Distance {
  double absolute = 0;
  double size = 0;     // |expected|
  bool finite = true;  // false: the two are equal or unequal as they stand, there is no distance
  bool equal = false;
};

Distance distance(double actual, double expected) {
  if (std::isfinite(actual) && std::isfinite(expected)) {
    return {std::abs(actual - expected), std::abs(expected), true, actual == expected};
  }
  return {0, 0, false, actual == expected || (std::isnan(actual) && std::isnan(expected))};
}

Distance distance(int64_t actual, int64_t expected) {
  const uint64_t apart =
      actual > expected ? uint64_t(actual) - uint64_t(expected) : uint64_t(expected) - uint64_t(actual);
  return {double(apart), std::abs(double(expected)), true, actual == expected};
}

// Complex numbers are apart by the modulus of their difference, as rounding errors of a transform are.
Distance distance(std::complex<double> actual, std::complex<double> expected) {
  const Distance re = distance(actual.real(), expected.real());
  const Distance im = distance(actual.imag(), expected.imag());
  if (!re.finite || !im.finite) return {0, 0, false, re.equal && im.equal};
  return {std::hypot(re.absolute, im.absolute), std::abs(expected), true, re.equal && im.equal};
}

Distance element_distance(const Tensor& actual, const Tensor& expected, int64_t i) {
  if (actual.dtype() == DType::c64) return distance(actual.get_c128(i), expected.get_c128(i));
  if (is_float(actual.dtype())) return distance(actual.get_f64(i), expected.get_f64(i));
  return distance(actual.get_i64(i), expected.get_i64(i));
}

std::string element_text(const Tensor& tensor, int64_t flat) {
  if (tensor.dtype() == DType::c64) {
    const std::complex<double> value = tensor.get_c128(flat);
    return fmt::format("({}, {})", float(value.real()), float(value.imag()));
  }
  if (tensor.dtype() == DType::f64) return fmt::format("{}", tensor.get_f64(flat));
  if (is_float(tensor.dtype())) return fmt::format("{}", float(tensor.get_f64(flat)));
  if (tensor.dtype() == DType::boolean) return tensor.get_i64(flat) != 0 ? "true" : "false";
  return fmt::format("{}", tensor.get_i64(flat));
}

std::string position_text(const Shape& shape, int64_t flat) {
  Shape position(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    position[d] = flat % shape[d];
    flat /= shape[d];
  }
  return to_string(position);
}

}  // namespace

Tolerance tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64: return {1e-12, 1e-10};
    case DType::f32:
    case DType::c64: return {1e-5, 1e-4};
    case DType::f16: return {0x1p-10, 0x1p-8};
    case DType::bf16: return {0x1p-7, 0x1p-5};
    case DType::f8e4m3: return {0x1p-4, 0x1p-3};
    case DType::f8e5m2: return {0x1p-3, 0x1p-2};
    case DType::f4e2m1: return {0.5, 0.375};
    default: return {0, 0};
  }
}

Comparison compare(const Tensor& actual, const Tensor& expected, Tolerance tolerance) {
  Comparison result;
  if (actual.dtype() != expected.dtype()) {
    result.reason = fmt::format("the dtype is {}, expected {}", name(actual.dtype()), name(expected.dtype()));
    return result;
  }
  if (actual.shape() != expected.shape()) {
    result.reason = fmt::format("the shape is {}, expected {}", to_string(actual.shape()), to_string(expected.shape()));
    return result;
  }
  const bool exact = !is_float(actual.dtype()) && actual.dtype() != DType::c64;
  int64_t disagreeing = 0;
  double worst_score = -1;
  Distance worst;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const Distance d = element_distance(actual, expected, i);
    if (d.equal) continue;
    const double allowed = exact ? 0 : tolerance.absolute + tolerance.relative * d.size;
    const bool agrees = d.finite && d.absolute <= allowed;
    if (!agrees) ++disagreeing;
    if (d.finite) {
      result.worst_absolute = std::max(result.worst_absolute, d.absolute);
      if (d.size > 0) result.worst_relative = std::max(result.worst_relative, d.absolute / d.size);
    }
    // Agreeing elements score at most 1; integers, which allow nothing, score by their distance.
    const double score = !d.finite ? infinity : allowed > 0 ? d.absolute / allowed : 1 + d.absolute;
    if (score > worst_score) {
      worst_score = score;
      worst = d;
      result.worst_index = i;
    }
  }
  result.agree = disagreeing == 0;
  if (!result.agree) {
    const int64_t i = result.worst_index;
    result.reason = fmt::format("element {} is {}, expected {}", position_text(actual.shape(), i),
                                element_text(actual, i), element_text(expected, i));
    if (worst.finite && !exact) {
      result.reason += fmt::format(" (off by {:.3g}, allowed {:.3g})", worst.absolute,
                                   tolerance.absolute + tolerance.relative * worst.size);
    }
    result.reason += fmt::format("; {} of {} elements disagree", disagreeing, actual.size());
  }
  return result;
}

Comparison compare(const Tensor& actual, const Tensor& expected) {
  return compare(actual, expected, tolerance(expected.dtype()));
}

}  // namespace lightline
