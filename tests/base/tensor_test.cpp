#include "base/tensor.h"

#include <cmath>
#include <limits>

#include "base/helpers.h"
#include "base/internal_error.h"

namespace lightline {
namespace {

using base_test::all_dtypes;
using base_test::expect_error;
using base_test::same_bits;

Tensor numbers(DType dtype, const Shape& shape, std::initializer_list<double> values) {
  Tensor tensor(dtype, shape);
  int64_t i = 0;
  for (double value : values) tensor.set_f64(i++, value);
  return tensor;
}

TEST(Tensor, ElementCount) {
  EXPECT_EQ(element_count(Shape{}).value(), 1);
  EXPECT_EQ(element_count(Shape{2, 3}).value(), 6);
  EXPECT_EQ(element_count(Shape{2, 0, 3}).value(), 0);
  expect_error(element_count(Shape{2, -3}), ErrorCode::shape, "extent -3 is negative");
  expect_error(element_count(Shape{int64_t(1) << 32, int64_t(1) << 31}), ErrorCode::limit,
               "shape [4294967296, 2147483648] leaves 64 bits");
  expect_error(element_count(Shape{0, int64_t(1) << 32, int64_t(1) << 31}), ErrorCode::limit,
               "shape [0, 4294967296, 2147483648] leaves 64 bits");
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Tensor, AllocationIsZeroedAndAligned) {
  for (DType dtype : all_dtypes()) {
    const Tensor tensor(dtype, {3, 5});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
    for (size_t i = 0; i < tensor.byte_count(); ++i) EXPECT_EQ(tensor.data()[i], std::byte(0));
  }
  EXPECT_NE(Tensor(DType::f32, {0}).data(), nullptr);
  EXPECT_EQ(Tensor(DType::f32, {}).size(), 1);
  EXPECT_EQ(Tensor().size(), 0);
}

TEST(Tensor, ForeignSizesAreRefused) {
  expect_error(Tensor::allocate(DType::f64, {int64_t(1) << 38}), ErrorCode::limit,
               "a f64 tensor of shape [274877906944] takes more than 1 TiB");
  expect_error(Tensor::allocate(DType::f64, {-1}), ErrorCode::shape, "extent -1 is negative");
  EXPECT_THROW(Tensor(DType::f64, {-1}), InternalError);
  EXPECT_TRUE(Tensor::allocate(DType::f64, {4, 4}).ok());
}

TEST(Tensor, ElementsConvert) {
  for (DType dtype : all_dtypes()) {
    Tensor tensor(dtype, {2});
    tensor.set_f64(1, 1);
    EXPECT_EQ(tensor.get_f64(1), 1) << name(dtype);
    EXPECT_EQ(tensor.get_i64(1), 1) << name(dtype);
    EXPECT_EQ(tensor.get_c128(1), std::complex<double>(1)) << name(dtype);
    EXPECT_EQ(tensor.get_f64(0), 0) << name(dtype);
    tensor.set_i64(0, 1);
    EXPECT_EQ(tensor.get_f64(0), 1) << name(dtype);
  }
  Tensor complex(DType::c64, {1});
  complex.set_c128(0, {1, -2});
  EXPECT_EQ(complex.get_c128(0), std::complex<double>(1, -2));
  EXPECT_EQ(complex.get_f64(0), 1);
  Tensor byte(DType::u8, {1});
  byte.set_i64(0, 300);
  EXPECT_EQ(byte.get_i64(0), 44);
  byte.set_f64(0, -1.5);
  EXPECT_EQ(byte.get_i64(0), 255);
  Tensor flag(DType::boolean, {1});
  flag.set_f64(0, 0.25);
  EXPECT_EQ(flag.get_i64(0), 1);
  Tensor half(DType::f16, {1});
  half.set_f64(0, 1 + 0x1p-11 + 0x1p-40);
  EXPECT_EQ(half.get_f64(0), 1 + 0x1p-10);
}

TEST(Tensor, LargeIntegersRoundOnceToFloats) {
  // Just above a tie: f64 would drop the last bit and make it one.
  const int64_t above_f32_tie = (int64_t(1) << 62) + (int64_t(1) << 38) + 1;
  const int64_t above_bf16_tie = (int64_t(1) << 62) + (int64_t(1) << 54) + 1;
  Tensor f32(DType::f32, {2});
  f32.set_i64(0, above_f32_tie);
  f32.set_i64(1, -above_f32_tie);
  EXPECT_EQ(f32.get_f64(0), 0x1p62 + 0x1p39);
  EXPECT_EQ(f32.get_f64(1), -0x1p62 - 0x1p39);
  Tensor bf16(DType::bf16, {2});
  bf16.set_i64(0, above_bf16_tie);
  bf16.set_i64(1, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(bf16.get_f64(0), 0x1p62 + 0x1p55);
  EXPECT_EQ(bf16.get_f64(1), -0x1p63);
}

TEST(Tensor, DenseCopyFollowsStrides) {
  const Tensor source = numbers(DType::i16, {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(source.view().strides, (std::vector<int64_t>{3, 1}));
  EXPECT_TRUE(same_bits(Tensor::dense_copy(source.view()), source));
  const TensorView transposed{DType::i16, {3, 2}, {1, 3}, source.data()};
  EXPECT_TRUE(same_bits(Tensor::dense_copy(transposed), numbers(DType::i16, {3, 2}, {0, 3, 1, 4, 2, 5})));
  const TensorView reversed{DType::i16, {3}, {-1}, source.data() + 2 * sizeof(int16_t)};
  EXPECT_TRUE(same_bits(Tensor::dense_copy(reversed), numbers(DType::i16, {3}, {2, 1, 0})));
  const TensorView repeated{DType::i16, {2, 2, 2}, {0, 3, 0}, source.data()};
  EXPECT_TRUE(same_bits(Tensor::dense_copy(repeated), numbers(DType::i16, {2, 2, 2}, {0, 0, 3, 3, 0, 0, 3, 3})));
  const TensorView scalar{DType::i16, {}, {}, source.data() + 4 * sizeof(int16_t)};
  EXPECT_TRUE(same_bits(Tensor::dense_copy(scalar), numbers(DType::i16, {}, {4})));
  const TensorView empty{DType::i16, {2, 0}, {0, 1}, nullptr};
  EXPECT_EQ(Tensor::dense_copy(empty).size(), 0);
}

TEST(Tensor, RandomIsWhatTheHeaderSays) {
  EXPECT_EQ(splitmix64(0), 0xE220A8397B1DCDAFu);  // the generator's published first output for seed 0
  const uint64_t draw = splitmix64((uint64_t(7) << 32) + 5);
  EXPECT_EQ(random_tensor(DType::f64, {8}, 7).get_f64(5), double(draw >> 40) / 16777216 * 2 - 1);
  for (const uint64_t other : {uint64_t(7) + (uint64_t(1) << 32), uint64_t(7) << 32, (uint64_t(1) << 53) + 7})
    EXPECT_NE(random_tensor(DType::f64, {8}, 7).get_f64(5), random_tensor(DType::f64, {8}, other).get_f64(5)) << other;
  EXPECT_EQ(random_tensor(DType::f32, {8}, 7).get_f64(5), double(draw >> 40) / 16777216 * 2 - 1);
  EXPECT_EQ(random_tensor(DType::bf16, {8}, 7).get_f64(5),
            round_to(DType::bf16, double(draw >> 40) / 16777216 * 2 - 1));
  EXPECT_EQ(random_tensor(DType::i32, {8}, 7, 1000).get_i64(5), int64_t((draw >> 33) % 1000));
  EXPECT_EQ(random_tensor(DType::boolean, {8}, 7).get_i64(5), int64_t(draw >> 63));
  EXPECT_EQ(random_tensor(DType::c64, {8}, 7).get_c128(2).imag(), random_tensor(DType::f32, {8}, 7).get_f64(5));
  EXPECT_FALSE(same_bits(random_tensor(DType::f32, {8}, 7), random_tensor(DType::f32, {8}, 8)));
}

TEST(Compare, EqualTensorsAgree) {
  for (DType dtype : all_dtypes()) {
    const Comparison result = compare(random_tensor(dtype, {4, 4}, 1), random_tensor(dtype, {4, 4}, 1));
    EXPECT_TRUE(result.agree) << name(dtype);
    EXPECT_EQ(result.worst_index, -1);
    EXPECT_EQ(result.worst_absolute, 0);
    EXPECT_EQ(result.reason, "");
  }
  EXPECT_TRUE(compare(Tensor(DType::f32, {0}), Tensor(DType::f32, {0})).agree);
}

TEST(Compare, ShapeAndTypeMustBeTheSame) {
  EXPECT_EQ(compare(Tensor(DType::f32, {2}), Tensor(DType::f32, {1, 2})).reason, "the shape is [2], expected [1, 2]");
  EXPECT_EQ(compare(Tensor(DType::f32, {2}), Tensor(DType::f64, {2})).reason, "the dtype is f32, expected f64");
  EXPECT_FALSE(compare(Tensor(DType::f32, {2}), Tensor(DType::f64, {2})).agree);
}

TEST(Compare, ToleranceIsAbsolutePlusRelative) {
  const Tensor expected = numbers(DType::f64, {2}, {100, 0});
  EXPECT_TRUE(compare(numbers(DType::f64, {2}, {101.5, 0.5}), expected, {0.5, 0.01}).agree);
  EXPECT_FALSE(compare(numbers(DType::f64, {2}, {101.6, 0.5}), expected, {0.5, 0.01}).agree);
  EXPECT_FALSE(compare(numbers(DType::f64, {2}, {100, 0.6}), expected, {0.5, 0.01}).agree);
  const Comparison result = compare(numbers(DType::f64, {2}, {101, 0.25}), expected, {0.5, 0.01});
  EXPECT_TRUE(result.agree);
  EXPECT_EQ(result.worst_absolute, 1);
  EXPECT_EQ(result.worst_relative, 0.01);
  EXPECT_EQ(result.worst_index, 0);
}

TEST(Compare, SaysWhichElementIsWorst) {
  const Comparison result =
      compare(numbers(DType::f32, {2, 2}, {1, 2, 3.5, 4.25}), numbers(DType::f32, {2, 2}, {1, 2, 3, 4}));
  EXPECT_FALSE(result.agree);
  EXPECT_EQ(result.worst_index, 2);
  EXPECT_EQ(result.worst_absolute, 0.5);
  EXPECT_EQ(result.reason, "element [1, 0] is 3.5, expected 3 (off by 0.5, allowed 0.00031); 2 of 4 elements disagree");
}

TEST(Compare, NanAndInfinityMustMatch) {
  EXPECT_TRUE(compare(numbers(DType::f32, {3}, {NAN, INFINITY, -INFINITY}),
                      numbers(DType::f32, {3}, {-NAN, INFINITY, -INFINITY}))
                  .agree);
  EXPECT_EQ(compare(numbers(DType::f32, {2}, {NAN, 2}), numbers(DType::f32, {2}, {1, 1})).reason,
            "element [0] is nan, expected 1; 2 of 2 elements disagree");
  EXPECT_FALSE(compare(numbers(DType::f32, {1}, {1}), numbers(DType::f32, {1}, {NAN})).agree);
  EXPECT_FALSE(compare(numbers(DType::f32, {1}, {-INFINITY}), numbers(DType::f32, {1}, {INFINITY})).agree);
  EXPECT_FALSE(compare(numbers(DType::f32, {1}, {3e38}), numbers(DType::f32, {1}, {INFINITY})).agree);
  EXPECT_FALSE(compare(numbers(DType::f32, {1}, {INFINITY}), numbers(DType::f32, {1}, {3e38}), {0, 10}).agree);
}

TEST(Compare, IntegersAndBooleansAreExact) {
  for (DType dtype : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8, DType::boolean}) {
    EXPECT_FALSE(compare(numbers(dtype, {1}, {1}), numbers(dtype, {1}, {0}), {10, 10}).agree) << name(dtype);
  }
  Tensor large(DType::i64, {2}), off_by_one(DType::i64, {2});
  large.set_i64(0, std::numeric_limits<int64_t>::max());
  off_by_one.set_i64(0, std::numeric_limits<int64_t>::max() - 1);
  off_by_one.set_i64(1, std::numeric_limits<int64_t>::min());
  const Comparison result = compare(large, off_by_one);
  EXPECT_EQ(result.worst_absolute, 0x1p63);
  EXPECT_EQ(result.reason, "element [1] is 0, expected -9223372036854775808; 2 of 2 elements disagree");
  EXPECT_EQ(compare(numbers(DType::boolean, {}, {1}), numbers(DType::boolean, {}, {0})).reason,
            "element [] is true, expected false; 1 of 1 elements disagree");
}

TEST(Compare, ComplexNumbersByModulus) {
  Tensor actual(DType::c64, {1}), expected(DType::c64, {1});
  expected.set_c128(0, {1000, 0});
  actual.set_c128(0, {1000, 0.0625});  // small beside |expected|, though not beside its imaginary part
  EXPECT_TRUE(compare(actual, expected).agree);
  actual.set_c128(0, {1000, 1});
  EXPECT_EQ(compare(actual, expected).reason,
            "element [0] is (1000, 1), expected (1000, 0) (off by 1, allowed 0.1); 1 of 1 elements disagree");
  actual.set_c128(0, {1000, NAN});
  EXPECT_FALSE(compare(actual, expected).agree);
  expected.set_c128(0, {1000, NAN});
  EXPECT_TRUE(compare(actual, expected).agree);
}

TEST(Compare, NeighboursAgreeInNarrowTypes) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2, DType::f4e2m1}) {
    const int codes = dtype == DType::f4e2m1 ? 8 : byte_size(dtype) == 1 ? 0x78 : 0x7BFF;
    for (int code = 0; code + 1 < codes; ++code) {
      Tensor lower(dtype, {1}), upper(dtype, {1});
      std::memcpy(lower.data(), &code, lower.byte_count());
      const int next = code + 1;
      std::memcpy(upper.data(), &next, upper.byte_count());
      ASSERT_TRUE(compare(lower, upper).agree) << name(dtype) << " " << code;
      ASSERT_TRUE(compare(upper, lower).agree) << name(dtype) << " " << code;
    }
    EXPECT_FALSE(compare(numbers(dtype, {1}, {1}), numbers(dtype, {1}, {3})).agree) << name(dtype);
  }
}

}  // namespace
}  // namespace lightline
