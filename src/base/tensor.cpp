#include "base/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace lightline {
namespace {

constexpr size_t alignment = 64;
constexpr int64_t byte_limit = int64_t(1) << 40;

// Zeroed memory at a 64-byte boundary, or null. calloc leaves large blocks untouched until they are used; the pointer
// it gave stands just before the block, for AlignedFree.
std::byte* allocate_zeroed(size_t bytes) {
  void* raw = std::calloc(bytes + 2 * alignment, 1);
  if (raw == nullptr) return nullptr;
  const size_t past = (reinterpret_cast<uintptr_t>(raw) + sizeof(void*)) % alignment;
  std::byte* aligned = static_cast<std::byte*>(raw) + sizeof(void*) + (past == 0 ? 0 : alignment - past);
  std::memcpy(aligned - sizeof(void*), &raw, sizeof(void*));
  return aligned;
}

template <class T>
T load(const std::byte* data, int64_t flat) {
  T value;
  std::memcpy(&value, data + size_t(flat) * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void store(std::byte* data, int64_t flat, T value) {
  std::memcpy(data + size_t(flat) * sizeof(T), &value, sizeof(T));
}

// Copies `count` elements that lie `stride` elements apart. Sources may be unaligned.
template <size_t bytes>
void copy_row(std::byte* target, const std::byte* source, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(target + i * int64_t(bytes), source + i * stride * int64_t(bytes), bytes);
}
void copy_row(size_t bytes, std::byte* target, const std::byte* source, int64_t count, int64_t stride) {
  if (stride == 1) {
    std::memcpy(target, source, size_t(count) * bytes);
    return;
  }
  switch (bytes) {
    case 1: copy_row<1>(target, source, count, stride); break;
    case 2: copy_row<2>(target, source, count, stride); break;
    case 4: copy_row<4>(target, source, count, stride); break;
    default: copy_row<8>(target, source, count, stride); break;
  }
}

}  // namespace

Result<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t count = 1;  // with 1 for extents of 0, so that strides are safe as well
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return Error{ErrorCode::shape, fmt::format("extent {} is negative", extent), "extents are 0 or greater"};
    empty |= extent == 0;
    if (__builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count)) {
      return Error{ErrorCode::limit, fmt::format("shape [{}] leaves 64 bits", fmt::join(shape, ", ")),
                   "use smaller extents"};
    }
  }
  return empty ? int64_t(0) : count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }
std::string to_string(const TensorType& type) { return fmt::format("{}{}", name(type.dtype), to_string(type.shape)); }

void Tensor::AlignedFree::operator()(std::byte* p) const {
  void* raw;
  std::memcpy(&raw, p - sizeof(void*), sizeof(void*));
  std::free(raw);
}

Result<Tensor> Tensor::allocate(DType dtype, Shape shape) {
  LL_TRY(const int64_t count, element_count(shape));
  if (count > byte_limit / byte_size(dtype)) {
    return Error{ErrorCode::limit,
                 fmt::format("a {} tensor of shape {} takes more than 1 TiB", name(dtype), to_string(shape)),
                 "use smaller extents"};
  }
  Tensor tensor;
  tensor.data_.reset(allocate_zeroed(size_t(count) * size_t(byte_size(dtype))));
  if (!tensor.data_) {
    return Error{ErrorCode::limit,
                 fmt::format("there is no memory for a {} tensor of shape {}", name(dtype), to_string(shape)),
                 "use smaller extents, or a machine with more memory"};
  }
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.size_ = count;
  return tensor;
}

Tensor::Tensor(DType dtype, Shape shape) {
  const Result<int64_t> count = element_count(shape);
  LL_CHECK(count.ok());
  LL_CHECK(*count <= byte_limit / byte_size(dtype));
  data_.reset(allocate_zeroed(size_t(*count) * size_t(byte_size(dtype))));
  if (!data_) throw std::bad_alloc();
  dtype_ = dtype;
  shape_ = std::move(shape);
  size_ = *count;
}

Tensor Tensor::dense_copy(const TensorView& view) {
  LL_CHECK(view.strides.size() == view.shape.size());
  Tensor result(view.dtype, view.shape);
  if (result.size() == 0) return result;
  const size_t bytes = size_t(byte_size(view.dtype));
  const size_t rank = view.shape.size();
  const int64_t row = rank == 0 ? 1 : view.shape.back();
  const int64_t stride = rank == 0 ? 1 : view.strides.back();
  std::vector<int64_t> position(rank, 0);
  int64_t source = 0;  // of the row, in elements
  for (int64_t done = 0; done < result.size(); done += row) {
    copy_row(bytes, result.data() + size_t(done) * bytes, view.data + source * int64_t(bytes), row, stride);
    for (size_t d = rank > 0 ? rank - 1 : 0; d-- > 0;) {
      source += view.strides[d];
      if (++position[d] < view.shape[d]) break;
      source -= view.strides[d] * view.shape[d];
      position[d] = 0;
    }
  }
  return result;
}

TensorView Tensor::view() const {
  std::vector<int64_t> strides(shape_.size());
  int64_t stride = 1;
  for (size_t d = shape_.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(shape_[d], 1);
  }
  return {dtype_, shape_, std::move(strides), data_.get()};
}

double Tensor::get_f64(int64_t flat) const {
  switch (dtype_) {
    case DType::f64: return load<double>(data(), flat);
    case DType::f32: return load<float>(data(), flat);
    case DType::f16: return f16_to_f32(load<uint16_t>(data(), flat));
    case DType::bf16: return bf16_to_f32(load<uint16_t>(data(), flat));
    case DType::f8e4m3: return f8e4m3_to_f32(load<uint8_t>(data(), flat));
    case DType::f8e5m2: return f8e5m2_to_f32(load<uint8_t>(data(), flat));
    case DType::f4e2m1: return f4e2m1_to_f32(load<uint8_t>(data(), flat));
    case DType::c64: return load<float>(data(), 2 * flat);
    default: return double(get_i64(flat));
  }
}

int64_t Tensor::get_i64(int64_t flat) const {
  switch (dtype_) {
    case DType::i64: return load<int64_t>(data(), flat);
    case DType::i32: return load<int32_t>(data(), flat);
    case DType::i16: return load<int16_t>(data(), flat);
    case DType::i8: return load<int8_t>(data(), flat);
    case DType::u8: return load<uint8_t>(data(), flat);
    case DType::boolean: return load<uint8_t>(data(), flat) != 0 ? 1 : 0;
    default: return float_to_i64(get_f64(flat));
  }
}

std::complex<double> Tensor::get_c128(int64_t flat) const {
  if (dtype_ != DType::c64) return get_f64(flat);
  return {load<float>(data(), 2 * flat), load<float>(data(), 2 * flat + 1)};
}

void Tensor::set_f64(int64_t flat, double value) {
  const double rounded = round_to(dtype_, value);  // exact in f32 for every type below f64
  const float narrow = float(rounded);
  switch (dtype_) {
    case DType::f64: store(data(), flat, value); break;
    case DType::f32: store(data(), flat, narrow); break;
    case DType::f16: store(data(), flat, f32_to_f16(narrow)); break;
    case DType::bf16: store(data(), flat, f32_to_bf16(narrow)); break;
    case DType::f8e4m3: store(data(), flat, f32_to_f8e4m3(narrow)); break;
    case DType::f8e5m2: store(data(), flat, f32_to_f8e5m2(narrow)); break;
    case DType::f4e2m1: store(data(), flat, f32_to_f4e2m1(narrow)); break;
    case DType::c64: set_c128(flat, value); break;
    case DType::boolean: store<uint8_t>(data(), flat, value != 0); break;
    default: set_i64(flat, float_to_i64(value)); break;
  }
}

void Tensor::set_i64(int64_t flat, int64_t value) {
  switch (dtype_) {
    case DType::f64: store(data(), flat, double(value)); break;
    case DType::i64: store(data(), flat, value); break;
    case DType::i32: store(data(), flat, int32_t(wrap_to(dtype_, value))); break;
    case DType::i16: store(data(), flat, int16_t(wrap_to(dtype_, value))); break;
    case DType::i8:
    case DType::u8:
    case DType::boolean: store(data(), flat, uint8_t(wrap_to(dtype_, value))); break;
    default: set_f64(flat, f64_for_rounding(value)); break;
  }
}

void Tensor::set_c128(int64_t flat, std::complex<double> value) {
  if (dtype_ != DType::c64) return set_f64(flat, value.real());
  store(data(), 2 * flat, float(value.real()));
  store(data(), 2 * flat + 1, float(value.imag()));
}

uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, int64_t integer_limit) {
  LL_CHECK(integer_limit > 0);
  Tensor tensor(dtype, shape);
  const uint64_t start = seed < uint64_t(1) << 32 ? seed << 32 : splitmix64(seed);
  const auto draw = [&](int64_t i) { return splitmix64(start + uint64_t(i)); };
  const auto uniform = [&](int64_t i) { return double(draw(i) >> 40) * 0x1p-24 * 2 - 1; };
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (dtype == DType::c64) {
      tensor.set_c128(i, {uniform(2 * i), uniform(2 * i + 1)});
    } else if (is_float(dtype)) {
      tensor.set_f64(i, uniform(i));
    } else if (dtype == DType::boolean) {
      tensor.set_i64(i, int64_t(draw(i) >> 63));
    } else {
      tensor.set_i64(i, int64_t(draw(i) >> 33) % integer_limit);
    }
  }
  return tensor;
}

}  // namespace lightline
