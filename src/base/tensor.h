// Tensors: a dtype, a shape, and elements. `Tensor` owns dense row-major memory; `TensorView` borrows strided memory.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"

namespace lightline {

using Shape = std::vector<int64_t>;

// Product of the extents, or an error if an extent is negative or the product (without extents of 0) leaves i64.
Result<int64_t> element_count(std::span<const int64_t> shape);
std::string to_string(const Shape& shape);  // "[2, 3]"

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "f32[2, 3]"

struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<int64_t> strides;  // in elements
  const std::byte* data = nullptr;
};

class Tensor {  // NOLINT(clang-analyzer-core.uninitialized.Assign): see Error
 public:
  Tensor() = default;
  // Zero-filled; LL_CHECKs that the element count is representable. Use `allocate` for foreign sizes.
  Tensor(DType dtype, Shape shape);
  static Result<Tensor> allocate(DType dtype, Shape shape);
  static Tensor dense_copy(const TensorView& view);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  size_t byte_count() const { return size_t(size_) * size_t(byte_size(dtype_)); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_.get()), size_t(size_)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.get()), size_t(size_)};
  }
  TensorView view() const;

  // Element access by flat index with conversion; for tests and small work.
  double get_f64(int64_t flat) const;  // the real part for c64
  int64_t get_i64(int64_t flat) const;
  std::complex<double> get_c128(int64_t flat) const;
  void set_f64(int64_t flat, double value);
  void set_i64(int64_t flat, int64_t value);
  void set_c128(int64_t flat, std::complex<double> value);

 private:
  struct AlignedFree {
    void operator()(std::byte* p) const;
  };
  DType dtype_ = DType::f32;
  Shape shape_{0};
  int64_t size_ = 0;
  std::unique_ptr<std::byte[], AlignedFree> data_;  // 64-byte aligned
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Deterministic inputs, defined so that another language can reproduce them in a line: element i of a tensor
// with seed s draws u = splitmix64(s * 2^32 + i); floats are (top 24 bits of u) * 2^-24 * 2 - 1 in [-1, 1),
// rounded to the dtype (c64 draws elements 2i and 2i+1); integers are (u >> 33) mod `integer_limit`;
// bool is the top bit.
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, int64_t integer_limit = 10);
uint64_t splitmix64(uint64_t x);  // the generator's output for state x: adds 0x9E3779B97F4A7C15, then mixes

// How far apart two tensors are. Floats agree if |actual - expected| <= absolute + relative * |expected| (c64: by
// modulus), NaN agrees with NaN and infinity with itself; integers and bool must be equal.
struct Comparison {
  bool agree = false;
  double worst_absolute = 0;  // over finite elements
  double worst_relative = 0;  // of |expected|, over finite elements where it is not 0
  int64_t worst_index = -1;   // flat index of the element that uses most of its tolerance, -1 if all are equal
  std::string reason;         // why not `agree`: shape, dtype, or the worst element in words
};
struct Tolerance {
  double absolute;
  double relative;
};
// What one operator may lose, for data of magnitude about 1:
//            absolute  relative
//   f64      1e-12     1e-10
//   f32 c64  1e-5      1e-4
//   f16      2^-10     2^-8    8 unit roundoffs (4 to 8 steps), and one step at 1
//   bf16     2^-7      2^-5    the same
//   f8e4m3   2^-4      2^-3    one step, so that neighbours agree: more would accept anything
//   f8e5m2   2^-3      2^-2    the same
//   f4e2m1   0.5       0.375   the same
//   others   0         0       exact
Tolerance tolerance(DType dtype);
Comparison compare(const Tensor& actual, const Tensor& expected, Tolerance tolerance);
Comparison compare(const Tensor& actual, const Tensor& expected);

}  // namespace lightline
