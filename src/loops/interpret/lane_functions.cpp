#include "loops/interpret/lane_functions.h"

#include <array>
#include <bit>
#include <type_traits>

#include "base/maths.h"
#include "loops/ir/element.h"

namespace lightline::loops::interpreter {
namespace {

// Truth values live in integer lanes.
template <class T>
struct LaneOf {
  using type = T;
};
template <>
struct LaneOf<bool> {
  using type = int64_t;
};

template <class T, auto function>
void unary(std::byte* out, const std::byte* a, const std::byte*, const std::byte*, int64_t count) {
  using R = typename LaneOf<decltype(function(T{}))>::type;
  R* __restrict to = reinterpret_cast<R*>(out);
  const T* __restrict x = reinterpret_cast<const T*>(a);
  for (int64_t i = 0; i < count; ++i) to[i] = R(function(x[i]));
}

template <class T, auto function>
void binary(std::byte* out, const std::byte* a, const std::byte* b, const std::byte*, int64_t count) {
  using R = typename LaneOf<decltype(function(T{}, T{}))>::type;
  R* __restrict to = reinterpret_cast<R*>(out);
  const T* __restrict x = reinterpret_cast<const T*>(a);
  const T* __restrict y = reinterpret_cast<const T*>(b);
  for (int64_t i = 0; i < count; ++i) to[i] = R(function(x[i], y[i]));
}

template <class T>
void select(std::byte* out, const std::byte* a, const std::byte* b, const std::byte* c, int64_t count) {
  T* __restrict to = reinterpret_cast<T*>(out);
  const int64_t* __restrict condition = reinterpret_cast<const int64_t*>(a);
  const T* __restrict x = reinterpret_cast<const T*>(b);
  const T* __restrict y = reinterpret_cast<const T*>(c);
  for (int64_t i = 0; i < count; ++i) to[i] = condition[i] ? x[i] : y[i];
}

#define LL_UNARY(id, expression) \
  case Function::id: return &unary<T, [](T x) { return (expression); }>
#define LL_BINARY(id, expression) \
  case Function::id: return &binary<T, [](T x, T y) { return (expression); }>

// What every type has.
template <class T>
LaneFunction equality_function(Function function) {
  switch (function) {
    LL_BINARY(eq, x == y);
    LL_BINARY(ne, x != y);
    case Function::select: return &select<T>;
    default: return nullptr;
  }
}

// What every ordered type has.
template <class T>
LaneFunction order_function(Function function) {
  switch (function) {
    LL_BINARY(lt, x < y);
    LL_BINARY(le, x <= y);
    LL_BINARY(gt, x > y);
    LL_BINARY(ge, x >= y);
    LL_BINARY(min, scalar::minimum(x, y));
    LL_BINARY(max, scalar::maximum(x, y));
    LL_BINARY(fmin, scalar::minimum_number(x, y));
    LL_BINARY(fmax, scalar::maximum_number(x, y));
    LL_UNARY(sign, scalar::sign(x));
    default: return equality_function<T>(function);
  }
}

template <class T>
LaneFunction transcendental_function(Function function) {
  switch (function) {
    LL_UNARY(sqrt, std::sqrt(x));
    LL_UNARY(rsqrt, T(1) / std::sqrt(x));
    LL_UNARY(cbrt, std::cbrt(x));
    LL_UNARY(exp, std::exp(x));
    LL_UNARY(exp2, std::exp2(x));
    LL_UNARY(expm1, std::expm1(x));
    LL_UNARY(log, std::log(x));
    LL_UNARY(log2, std::log2(x));
    LL_UNARY(log10, std::log10(x));
    LL_UNARY(log1p, std::log1p(x));
    LL_BINARY(pow, std::pow(x, y));
    LL_UNARY(sin, std::sin(x));
    LL_UNARY(cos, std::cos(x));
    LL_UNARY(tan, std::tan(x));
    LL_UNARY(asin, std::asin(x));
    LL_UNARY(acos, std::acos(x));
    LL_UNARY(atan, std::atan(x));
    LL_BINARY(atan2, std::atan2(x, y));
    LL_UNARY(sinh, std::sinh(x));
    LL_UNARY(cosh, std::cosh(x));
    LL_UNARY(tanh, std::tanh(x));
    LL_UNARY(asinh, std::asinh(x));
    LL_UNARY(acosh, std::acosh(x));
    LL_UNARY(atanh, std::atanh(x));
    LL_BINARY(hypot, std::hypot(x, y));
    LL_UNARY(sigmoid, scalar::sigmoid(x));
    LL_UNARY(silu, scalar::silu(x));
    LL_UNARY(softplus, scalar::softplus(x));
    LL_UNARY(erf, std::erf(x));
    LL_UNARY(erfc, std::erfc(x));
    LL_UNARY(erfinv, scalar::erfinv(x));
    LL_UNARY(gelu, scalar::gelu(x));
    LL_UNARY(gelu_tanh, scalar::gelu_tanh(x));
    LL_UNARY(lgamma, scalar::lgamma(x));
    LL_UNARY(digamma, scalar::digamma(x));
    default: return order_function<T>(function);
  }
}

template <class T>
LaneFunction float_function(Function function) {
  switch (function) {
    LL_BINARY(add, x + y);
    LL_BINARY(sub, x - y);
    LL_BINARY(mul, x * y);
    LL_BINARY(divide, x / y);
    LL_UNARY(neg, -x);
    LL_UNARY(abs, std::abs(x));
    LL_UNARY(floor, std::floor(x));
    LL_UNARY(ceil, std::ceil(x));
    LL_UNARY(round, std::rint(x));
    LL_UNARY(trunc, std::trunc(x));
    LL_BINARY(fmod, std::fmod(x, y));
    LL_BINARY(remainder, scalar::remainder(x, y));
    LL_BINARY(copysign, std::copysign(x, y));
    LL_BINARY(nextafter, std::nextafter(x, y));
    LL_UNARY(isnan, bool(std::isnan(x)));
    LL_UNARY(isinf, bool(std::isinf(x)));
    LL_UNARY(isfinite, bool(std::isfinite(x)));
    LL_UNARY(signbit, bool(std::signbit(x)));
    LL_BINARY(complex_, Complex(float(x), float(y)));
    LL_UNARY(bits, scalar::bits_of(x));
    default: return transcendental_function<T>(function);
  }
}

// Integer lanes are 64 bits wide; the result keeps the low bits of the type I.
#define LL_WRAPPED_UNARY(id, expression) \
  case Function::id: return &unary<int64_t, [](int64_t x) { return int64_t(I(expression)); }>
#define LL_WRAPPED_BINARY(id, expression) \
  case Function::id: return &binary<int64_t, [](int64_t x, int64_t y) { return int64_t(I(expression)); }>

template <class I>
LaneFunction integer_function(Function function) {
  switch (function) {
    LL_WRAPPED_BINARY(add, wrapping_add(x, y));
    LL_WRAPPED_BINARY(sub, wrapping_sub(x, y));
    LL_WRAPPED_BINARY(mul, wrapping_mul(x, y));
    LL_WRAPPED_BINARY(div, scalar::floor_div(x, y));
    LL_WRAPPED_BINARY(mod, scalar::floor_mod(x, y));
    LL_WRAPPED_BINARY(remainder, scalar::floor_mod(x, y));
    LL_WRAPPED_BINARY(fmod, scalar::trunc_mod(x, y));
    LL_WRAPPED_UNARY(neg, wrapping_neg(x));
    LL_WRAPPED_UNARY(abs, x < 0 ? wrapping_neg(x) : x);
    LL_WRAPPED_BINARY(pow, scalar::power(x, y));
    LL_WRAPPED_BINARY(bitand_, x & y);
    LL_WRAPPED_BINARY(bitor_, x | y);
    LL_WRAPPED_BINARY(bitxor_, x ^ y);
    LL_WRAPPED_UNARY(bitnot, ~x);
    LL_WRAPPED_BINARY(shl, scalar::shift_left(x, y, int(8 * sizeof(I))));
    LL_WRAPPED_BINARY(shr, scalar::shift_right(x, y, int(8 * sizeof(I))));
    LL_WRAPPED_BINARY(ushr, scalar::shift_right_logical(uint64_t(std::make_unsigned_t<I>(x)), y, int(8 * sizeof(I))));
    case Function::from_bits:
      if constexpr (sizeof(I) == 8)
        return &unary<int64_t, [](int64_t x) { return std::bit_cast<double>(x); }>;
      else
        return &unary<int64_t, [](int64_t x) { return std::bit_cast<float>(int32_t(x)); }>;
    default: return order_function<int64_t>(function);
  }
}

#undef LL_WRAPPED_UNARY
#undef LL_WRAPPED_BINARY

LaneFunction boolean_function(Function function) {
  using T = int64_t;
  switch (function) {
    case Function::bitand_: LL_BINARY(logical_and, x & y);
    case Function::bitor_: LL_BINARY(logical_or, x | y); LL_BINARY(bitxor_, x ^ y);
    case Function::bitnot: LL_UNARY(logical_not, x ^ 1);
    default: return order_function<int64_t>(function);
  }
}

LaneFunction complex_function(Function function) {
  using T = Complex;
  using scalar::narrow;
  using scalar::widen;
  switch (function) {
    LL_BINARY(add, x + y);
    LL_BINARY(sub, x - y);
    LL_BINARY(mul, scalar::multiply(x, y));
    LL_BINARY(divide, scalar::divide(x, y));
    LL_UNARY(neg, -x);
    LL_UNARY(abs, std::hypot(x.real(), x.imag()));
    LL_UNARY(sqrt, narrow(std::sqrt(widen(x))));
    LL_UNARY(exp, narrow(std::exp(widen(x))));
    LL_UNARY(log, narrow(std::log(widen(x))));
    LL_UNARY(sin, narrow(std::sin(widen(x))));
    LL_UNARY(cos, narrow(std::cos(widen(x))));
    LL_UNARY(tan, narrow(std::tan(widen(x))));
    LL_UNARY(asin, narrow(std::asin(widen(x))));
    LL_UNARY(acos, narrow(std::acos(widen(x))));
    LL_UNARY(atan, narrow(std::atan(widen(x))));
    LL_UNARY(sinh, narrow(std::sinh(widen(x))));
    LL_UNARY(cosh, narrow(std::cosh(widen(x))));
    LL_UNARY(tanh, narrow(std::tanh(widen(x))));
    LL_UNARY(asinh, narrow(std::asinh(widen(x))));
    LL_UNARY(acosh, narrow(std::acosh(widen(x))));
    LL_UNARY(atanh, narrow(std::atanh(widen(x))));
    LL_UNARY(log1p, scalar::log1p(x));
    LL_UNARY(real, x.real());
    LL_UNARY(imag, x.imag());
    LL_UNARY(conj, std::conj(x));
    default: return equality_function<T>(function);
  }
}

#undef LL_UNARY
#undef LL_BINARY

template <DType dtype>
void load_elements(std::byte* out, const std::byte* data, int64_t start, int64_t stride, int64_t count) {
  using E = Element<dtype>;
  auto* __restrict to = reinterpret_cast<typename E::Lane*>(out);
  const auto* __restrict from = reinterpret_cast<const typename E::Stored*>(data) + start;
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = E::load(from[i]);
  } else if (stride == 0) {
    const typename E::Lane value = E::load(*from);
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = E::load(from[i * stride]);
  }
}

template <DType dtype>
void gather_elements(std::byte* out, const std::byte* data, const int64_t* positions, int64_t count) {
  using E = Element<dtype>;
  auto* __restrict to = reinterpret_cast<typename E::Lane*>(out);
  const auto* __restrict from = reinterpret_cast<const typename E::Stored*>(data);
  for (int64_t i = 0; i < count; ++i) to[i] = E::load(from[positions[i]]);
}

template <DType dtype>
void store_elements(std::byte* data, int64_t start, const std::byte* lanes, int64_t count) {
  using E = Element<dtype>;
  auto* __restrict to = reinterpret_cast<typename E::Stored*>(data) + start;
  const auto* __restrict from = reinterpret_cast<const typename E::Lane*>(lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = E::store(from[i]);
}

template <class From, DType target>
void cast_lanes(std::byte* out, const std::byte* a, const std::byte*, const std::byte*, int64_t count) {
  auto* __restrict to = reinterpret_cast<typename Element<target>::Lane*>(out);
  const From* __restrict from = reinterpret_cast<const From*>(a);
  for (int64_t i = 0; i < count; ++i) to[i] = convert<target>(from[i]);
}

template <class T>
void fill(std::byte* out, T value) {
  T* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < block_lanes; ++i) to[i] = value;
}

}  // namespace

LaneFunction lane_function(Function function, DType type) {
  switch (type) {
    case DType::f64: return float_function<double>(function);
    case DType::i64: return integer_function<int64_t>(function);
    case DType::i32: return integer_function<int32_t>(function);
    case DType::i16: return integer_function<int16_t>(function);
    case DType::i8: return integer_function<int8_t>(function);
    case DType::u8: return integer_function<uint8_t>(function);
    case DType::boolean: return boolean_function(function);
    case DType::c64: return complex_function(function);
    default: return float_function<float>(function);
  }
}

LaneFunction lane_cast(DType from, DType target) {
  if (from == target || (target == DType::i64 && (is_integer(from) || from == DType::boolean)))
    return nullptr;  // all in 64-bit lanes
  return with_dtype(target, [&]<DType to>() -> LaneFunction {
    switch (compute_type(from)) {
      case DType::f64: return &cast_lanes<double, to>;
      case DType::f32: return &cast_lanes<float, to>;
      case DType::c64: return &cast_lanes<Complex, to>;
      default: return &cast_lanes<int64_t, to>;
    }
  });
}

const ElementAccess& element_access(DType dtype) {
  static constexpr auto row = []<DType d>() {
    return ElementAccess{&load_elements<d>, &gather_elements<d>, &store_elements<d>};
  };
  static const auto table = [] {
    std::array<ElementAccess, dtype_count> rows{};
    for (int i = 0; i < dtype_count; ++i) rows[size_t(i)] = with_dtype(DType(i), row);
    return rows;
  }();
  return table[size_t(dtype)];
}

int64_t lane_bytes(DType compute) { return compute_type(compute) == DType::f32 ? 4 : 8; }

void broadcast(std::byte* out, DType compute, const Literal& literal) {
  const bool is_real = literal.kind == Literal::Kind::floating;
  with_dtype(compute_type(compute),
             [&]<DType to>() { fill(out, is_real ? convert<to>(literal.floating) : convert<to>(literal.integer)); });
}

}  // namespace lightline::loops::interpreter
