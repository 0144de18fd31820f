#include "base/dtype.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "base/helpers.h"
#include "base/tensor_io.h"
#include "support/seed.h"

namespace lightline {
namespace {

using base_test::all_dtypes;
using base_test::fixture;

constexpr double infinity = std::numeric_limits<double>::infinity();

// A format by its definition, without bit tricks: values by ldexp, rounding by looking for the nearest.
struct Reference {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  int finite_codes;  // codes 0 ... finite_codes - 1 are finite and not negative
  double beyond;     // what overflow gives

  int sign_bit() const { return 1 << (exponent_bits + mantissa_bits); }
  double value(int code) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = code >> mantissa_bits;
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
  // The first code whose value is not below x; code `finite_codes` stands for the value that would come next.
  double rounded(double x) const {
    const double magnitude = std::abs(x);
    int low = 0, high = finite_codes;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (value(middle) < magnitude)
        low = middle + 1;
      else
        high = middle;
    }
    int code = low;
    if (low == finite_codes && magnitude > value(finite_codes)) {
      code = finite_codes;
    } else if (low > 0) {
      const long double up = static_cast<long double>(value(low)) - magnitude;
      const long double down = magnitude - static_cast<long double>(value(low - 1));
      if (down < up || (down == up && (low - 1) % 2 == 0)) code = low - 1;
    }
    return std::copysign(code == finite_codes ? beyond : value(code), x);
  }
};

const Reference references[] = {
    {DType::f16, 5, 10, 0x7C00, infinity},
    {DType::bf16, 8, 7, 0x7F80, infinity},
    {DType::f8e4m3, 4, 3, 0x7F, std::numeric_limits<double>::quiet_NaN()},
    {DType::f8e5m2, 5, 2, 0x7C, infinity},
    {DType::f4e2m1, 2, 1, 0x8, 6},
};

uint32_t encode(DType dtype, float value) {
  switch (dtype) {
    case DType::f16: return f32_to_f16(value);
    case DType::bf16: return f32_to_bf16(value);
    case DType::f8e4m3: return f32_to_f8e4m3(value);
    case DType::f8e5m2: return f32_to_f8e5m2(value);
    default: return f32_to_f4e2m1(value);
  }
}
float decode(DType dtype, uint32_t code) {
  switch (dtype) {
    case DType::f16: return f16_to_f32(uint16_t(code));
    case DType::bf16: return bf16_to_f32(uint16_t(code));
    case DType::f8e4m3: return f8e4m3_to_f32(uint8_t(code));
    case DType::f8e5m2: return f8e5m2_to_f32(uint8_t(code));
    default: return f4e2m1_to_f32(uint8_t(code));
  }
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(Dtype, NamesAndSizes) {
  for (DType dtype : all_dtypes()) EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
  EXPECT_EQ(name(DType::boolean), "bool");
  EXPECT_EQ(dtype_from_name("float32"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_EQ(bits(DType::f4e2m1), 4);
  EXPECT_EQ(byte_size(DType::f4e2m1), 1);
  EXPECT_EQ(bits(DType::boolean), 8);
  EXPECT_EQ(bits(DType::c64), 64);
  for (DType dtype : all_dtypes()) EXPECT_EQ(byte_size(dtype), (bits(dtype) + 7) / 8);
  EXPECT_EQ(compute_type(DType::bf16), DType::f32);
  EXPECT_EQ(compute_type(DType::f4e2m1), DType::f32);
  EXPECT_EQ(compute_type(DType::f64), DType::f64);
  for (DType dtype : {DType::i64, DType::u8, DType::boolean, DType::c64}) EXPECT_EQ(compute_type(dtype), dtype);
  EXPECT_TRUE(is_float(DType::f4e2m1) && !is_float(DType::i64) && !is_float(DType::c64));
  EXPECT_TRUE(is_integer(DType::i64) && is_integer(DType::u8) && !is_integer(DType::boolean) &&
              !is_integer(DType::f4e2m1));
}

TEST(Dtype, EveryPatternHasItsValueAndComesBack) {
  for (const Reference& format : references) {
    const uint32_t sign = uint32_t(format.sign_bit());
    for (uint32_t code = 0; code < 2 * sign; ++code) {
      const float value = decode(format.dtype, code);
      const int magnitude = int(code & (sign - 1));
      ASSERT_EQ(std::signbit(value), code >= sign) << name(format.dtype) << " " << code;
      if (magnitude < format.finite_codes) {
        ASSERT_EQ(std::abs(double(value)), format.value(magnitude)) << name(format.dtype) << " " << code;
      } else if (magnitude == format.finite_codes) {
        ASSERT_TRUE(same(std::abs(value), format.beyond)) << name(format.dtype) << " " << code;
      } else {
        ASSERT_TRUE(std::isnan(value)) << name(format.dtype) << " " << code;
      }
      ASSERT_EQ(encode(format.dtype, value), code) << name(format.dtype);
    }
  }
}

TEST(Dtype, TiesAndNeighboursOfTiesRoundToTheNearest) {
  for (const Reference& format : references) {
    for (int code = 0; code < format.finite_codes; ++code) {
      const double tie = (format.value(code) + format.value(code + 1)) / 2;
      for (double x : {format.value(code), tie, std::nextafter(tie, 0), std::nextafter(tie, infinity)}) {
        for (double signed_x : {x, -x}) {
          ASSERT_TRUE(same(round_to(format.dtype, signed_x), format.rounded(signed_x)))
              << name(format.dtype) << " " << signed_x;
        }
      }
      for (float x : {float(tie), std::nextafter(float(tie), 0.0f), std::nextafter(float(tie), INFINITY)}) {
        if (!std::isfinite(x)) continue;
        for (float signed_x : {x, -x}) {
          ASSERT_TRUE(same(decode(format.dtype, encode(format.dtype, signed_x)), format.rounded(signed_x)))
              << name(format.dtype) << " " << signed_x;
        }
      }
    }
  }
}

TEST(Dtype, RandomNumbersRoundToTheNearest) {
  SCOPED_TRACE(testing_support::seed_text());
  std::mt19937_64 random(testing_support::seed_of(3));
  std::uniform_real_distribution<double> fraction(1, 2), exponent(-155, 135);
  for (const Reference& format : references) {
    for (int i = 0; i < 100000; ++i) {
      const double x = std::ldexp(fraction(random), int(exponent(random))) * (i % 2 == 0 ? 1 : -1);
      ASSERT_TRUE(same(round_to(format.dtype, x), format.rounded(x))) << name(format.dtype) << " " << x;
      const float f = float(x);
      if (std::isfinite(f)) {
        ASSERT_TRUE(same(decode(format.dtype, encode(format.dtype, f)), format.rounded(f)))
            << name(format.dtype) << " " << f;
      }
    }
    for (double x : {0.0, -0.0, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(),
                     std::numeric_limits<double>::max()}) {
      EXPECT_TRUE(same(round_to(format.dtype, x), format.rounded(x))) << name(format.dtype) << " " << x;
      EXPECT_TRUE(same(round_to(format.dtype, -x), format.rounded(-x))) << name(format.dtype) << " " << -x;
    }
  }
}

TEST(Dtype, AgreesWithNumpyAndMlDtypes) {
  const Result<NamedTensors> columns = read_tensors(fixture("rounding.npz"));
  ASSERT_TRUE(columns.ok()) << to_string(columns.error());
  const Tensor& input = columns->front().second;
  ASSERT_EQ(columns->size(), 6u);
  for (size_t column = 1; column < columns->size(); ++column) {
    const auto& [type_name, codes] = (*columns)[column];
    const DType dtype = dtype_from_name(type_name).value();
    for (int64_t i = 0; i < input.size(); ++i) {
      const float x = input.as<float>()[size_t(i)];
      const uint32_t expected = uint32_t(codes.get_i64(i)) & (byte_size(dtype) == 2 ? 0xFFFF : 0xFF);
      EXPECT_EQ(encode(dtype, x), expected) << type_name << " " << x;
    }
  }
}

TEST(Dtype, InfinityNanAndSaturation) {
  EXPECT_EQ(f32_to_f16(INFINITY), 0x7C00);
  EXPECT_EQ(f32_to_f16(-INFINITY), 0xFC00);
  EXPECT_EQ(f32_to_bf16(INFINITY), 0x7F80);
  EXPECT_EQ(f32_to_f8e4m3(INFINITY), 0x7F);
  EXPECT_EQ(f32_to_f8e4m3(-INFINITY), 0xFF);
  EXPECT_EQ(f32_to_f8e4m3(464), 0x7E);
  EXPECT_EQ(f32_to_f8e4m3(465), 0x7F);
  EXPECT_EQ(f32_to_f8e4m3(465, true), 0x7E);
  EXPECT_EQ(f32_to_f8e4m3(-INFINITY, true), 0xFE);
  EXPECT_EQ(f32_to_f8e5m2(61440), 0x7C);
  EXPECT_EQ(f32_to_f8e5m2(61440, true), 0x7B);
  EXPECT_EQ(f32_to_f8e5m2(-INFINITY, true), 0xFB);
  EXPECT_EQ(f32_to_f4e2m1(-INFINITY), 0xF);
  EXPECT_EQ(f32_to_f4e2m1(1e30f), 0x7);
  EXPECT_EQ(f32_to_f4e2m1(-NAN), 0x7);
  EXPECT_EQ(f4e2m1_to_f32(0xF5), 3.0f);

  const float quiet = std::bit_cast<float>(0x7FC00000u), low_payload = std::bit_cast<float>(0xFF800001u);
  EXPECT_EQ(f32_to_f16(quiet), 0x7E00);
  EXPECT_EQ(f32_to_bf16(quiet), 0x7FC0);
  EXPECT_EQ(f32_to_f8e5m2(quiet), 0x7E);
  EXPECT_EQ(f32_to_f16(low_payload), 0xFE00);
  EXPECT_EQ(f32_to_bf16(low_payload), 0xFFC0);
  EXPECT_EQ(f32_to_f8e5m2(low_payload), 0xFE);
  EXPECT_EQ(f32_to_f8e4m3(low_payload, true), 0xFF);
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    EXPECT_TRUE(std::isnan(round_to(dtype, NAN))) << name(dtype);
  }
  EXPECT_EQ(round_to(DType::f4e2m1, -NAN), 6);
}

TEST(Dtype, RoundToRoundsOnce) {
  EXPECT_EQ(round_to(DType::f16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);  // through f32 it would be a tie, and 1
  EXPECT_EQ(round_to(DType::bf16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(round_to(DType::f8e4m3, 1 + 0x1p-4 + 0x1p-40), 1.125);
  EXPECT_EQ(round_to(DType::f8e5m2, 1 + 0x1p-3 + 0x1p-40), 1.25);
  EXPECT_EQ(round_to(DType::f4e2m1, 1.25 + 0x1p-40), 1.5);
  EXPECT_EQ(round_to(DType::f32, 0.1), double(0.1f));
  EXPECT_EQ(round_to(DType::f64, 0.1), 0.1);
  EXPECT_EQ(round_to(DType::i8, 200.9), -56);
  EXPECT_EQ(round_to(DType::boolean, -0.5), 1);
  EXPECT_EQ(round_to(DType::boolean, 0), 0);
}

TEST(Dtype, FloatToInteger) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(float_to_i64(-2.9), -2);
  EXPECT_EQ(float_to_i64(2.9), 2);
  EXPECT_EQ(float_to_i64(NAN), least);
  EXPECT_EQ(float_to_i64(infinity), least);
  EXPECT_EQ(float_to_i64(0x1p63), least);
  EXPECT_EQ(float_to_i64(-0x1p63), least);
  EXPECT_EQ(float_to_i64(std::nextafter(0x1p63, 0)), 9223372036854774784);
}

TEST(Dtype, IntegersRoundOnceOnTheirWayToNarrowFloats) {
  // halfway between two bf16, and a little more: f64 alone would lose the little
  const int64_t tie = (int64_t(1) << 62) + (int64_t(1) << 54);
  EXPECT_EQ(round_to(DType::bf16, f64_for_rounding(tie)), 0x1p62);
  EXPECT_EQ(round_to(DType::bf16, f64_for_rounding(tie + 1)), 0x1p62 + 0x1p55);
  EXPECT_EQ(round_to(DType::bf16, f64_for_rounding(-tie - 1)), -0x1p62 - 0x1p55);
  EXPECT_EQ(f64_for_rounding((int64_t(1) << 53) - 1), 9007199254740991.0);
  EXPECT_EQ(f64_for_rounding(INT64_MIN), -0x1p63);
}

TEST(Dtype, IntegerLimitsAreWhatStaysTheSameWhenWrapped) {
  for (const DType dtype : {DType::i32, DType::i16, DType::i8, DType::u8, DType::boolean}) {
    const auto [least, greatest] = integer_limits(dtype);
    EXPECT_EQ(wrap_to(dtype, least), least) << name(dtype);
    EXPECT_EQ(wrap_to(dtype, greatest), greatest) << name(dtype);
    EXPECT_NE(wrap_to(dtype, least - 1), least - 1) << name(dtype);
    EXPECT_NE(wrap_to(dtype, greatest + 1), greatest + 1) << name(dtype);
  }
  EXPECT_EQ(integer_limits(DType::i64).least, INT64_MIN);
  EXPECT_EQ(integer_limits(DType::f32).greatest, INT64_MAX);
}

TEST(Dtype, WrapKeepsTheLowBits) {
  EXPECT_EQ(wrap_to(DType::i64, -5), -5);
  EXPECT_EQ(wrap_to(DType::i32, int64_t(1) << 31), -(int64_t(1) << 31));
  EXPECT_EQ(wrap_to(DType::i16, 40000), 40000 - 65536);
  EXPECT_EQ(wrap_to(DType::i8, -129), 127);
  EXPECT_EQ(wrap_to(DType::u8, -1), 255);
  EXPECT_EQ(wrap_to(DType::u8, 256), 0);
  EXPECT_EQ(wrap_to(DType::boolean, 256), 1);
}

}  // namespace
}  // namespace lightline
