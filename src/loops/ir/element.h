// Stored elements and register lanes, one dtype at a time.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "base/error.h"
#include "loops/ir/scalar_math.h"

namespace lightline::loops::interpreter {

using scalar::Complex;

template <class T>
bool is_nan(T value) {
  if constexpr (std::floating_point<T>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

template <DType dtype>
struct Element;

template <class T, class LaneType>
struct PlainElement {
  using Stored = T;
  using Lane = LaneType;
  static Lane load(T value) { return Lane(value); }
  static T store(Lane value) { return T(value); }
};
template <>
struct Element<DType::f64> : PlainElement<double, double> {};
template <>
struct Element<DType::f32> : PlainElement<float, float> {};
template <>
struct Element<DType::i64> : PlainElement<int64_t, int64_t> {};
template <>
struct Element<DType::i32> : PlainElement<int32_t, int64_t> {};
template <>
struct Element<DType::i16> : PlainElement<int16_t, int64_t> {};
template <>
struct Element<DType::i8> : PlainElement<int8_t, int64_t> {};
template <>
struct Element<DType::u8> : PlainElement<uint8_t, int64_t> {};
template <>
struct Element<DType::c64> : PlainElement<Complex, Complex> {};
template <>
struct Element<DType::boolean> {
  using Stored = uint8_t;
  using Lane = int64_t;
  static int64_t load(uint8_t value) { return value != 0; }
  static uint8_t store(int64_t value) { return value != 0; }
};

#define LL_NARROW_FLOAT(dtype, bits)                                 \
  template <>                                                        \
  struct Element<DType::dtype> {                                     \
    using Stored = bits;                                             \
    using Lane = float;                                              \
    static float load(bits value) { return dtype##_to_f32(value); }  \
    static bits store(float value) { return f32_to_##dtype(value); } \
  };
LL_NARROW_FLOAT(f16, uint16_t)
LL_NARROW_FLOAT(bf16, uint16_t)
LL_NARROW_FLOAT(f8e4m3, uint8_t)
LL_NARROW_FLOAT(f8e5m2, uint8_t)
LL_NARROW_FLOAT(f4e2m1, uint8_t)
#undef LL_NARROW_FLOAT

constexpr bool is_narrow_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f8e4m3 || dtype == DType::f8e5m2 ||
         dtype == DType::f4e2m1;
}

// A lane of one compute type as a lane of `target`'s, rounded to `target` once.
template <DType target, class From>
typename Element<target>::Lane convert(From value) {
  using To = typename Element<target>::Lane;
  if constexpr (target == DType::boolean) {
    return value != From(0);
  } else if constexpr (target == DType::c64) {
    if constexpr (std::same_as<From, Complex>)
      return value;
    else
      return Complex(float(value), 0.0f);
  } else if constexpr (std::same_as<From, Complex>) {
    return convert<target>(value.real());
  } else if constexpr (is_narrow_float(target)) {
    if constexpr (std::same_as<From, float>)
      return Element<target>::load(Element<target>::store(value));
    else if constexpr (std::same_as<From, int64_t>)
      return float(round_to(target, f64_for_rounding(value)));
    else
      return float(round_to(target, value));
  } else if constexpr (std::same_as<To, int64_t>) {
    if constexpr (std::same_as<From, int64_t>)
      return typename Element<target>::Stored(value);
    else
      return typename Element<target>::Stored(float_to_i64(double(value)));
  } else {
    return To(value);
  }
}

// Calls `use` with a dtype as a compile-time constant.
template <class Use>
decltype(auto) with_dtype(DType dtype, Use use) {
#define LL_CASE(id) \
  case DType::id: return use.template operator()<DType::id>()
  switch (dtype) {
    LL_CASE(f64);
    LL_CASE(f32);
    LL_CASE(f16);
    LL_CASE(bf16);
    LL_CASE(f8e4m3);
    LL_CASE(f8e5m2);
    LL_CASE(f4e2m1);
    LL_CASE(i64);
    LL_CASE(i32);
    LL_CASE(i16);
    LL_CASE(i8);
    LL_CASE(u8);
    LL_CASE(boolean);
    LL_CASE(c64);
  }
#undef LL_CASE
  check_failed("a dtype", __FILE__, __LINE__);
}

}  // namespace lightline::loops::interpreter
