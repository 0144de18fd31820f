// fft: the unnormalised discrete Fourier transform of c64 lines of any length, computed in f64.
#include <fmt/format.h>

#include <bit>
#include <complex>
#include <numbers>

#include "loops/opaque/builtin.h"

namespace lightline::loops::opaque {
namespace {

using Complex = std::complex<double>;

// exp(sign * 2 pi i * part / whole)
Complex root_of_unity(int64_t part, int64_t whole, double sign) {
  return std::polar(1.0, sign * 2 * std::numbers::pi * double(part % whole) / double(whole));
}

// Without the library's handling of infinities, which would take most of the time.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Lengths that are powers of two, in place.
class PowerOfTwo {
 public:
  PowerOfTwo(size_t length, double sign) : length_(length) {
    for (size_t i = 0; i < length / 2; ++i) roots_.push_back(root_of_unity(int64_t(i), int64_t(length), sign));
  }
  void transform(std::vector<Complex>& data) const {
    for (size_t i = 1, j = 0; i < length_; ++i) {  // bit reversal
      size_t bit = length_ >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(data[i], data[j]);
    }
    for (size_t width = 2; width <= length_; width *= 2)
      for (size_t first = 0; first < length_; first += width)
        for (size_t k = 0; k < width / 2; ++k) {
          const Complex even = data[first + k];
          const Complex odd = times(data[first + k + width / 2], roots_[k * (length_ / width)]);
          data[first + k] = even + odd;
          data[first + k + width / 2] = even - odd;
        }
  }

 private:
  size_t length_;
  std::vector<Complex> roots_;
};

// Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2 makes any length a convolution, done at a power of two.
class AnyLength {
 public:
  AnyLength(size_t length, double sign)
      : length_(length),
        padded_(std::bit_ceil(2 * length - 1)),
        forward_(padded_, -1),
        backward_(padded_, 1),
        chirp_(length),
        kernel_(padded_) {
    for (size_t k = 0; k < length; ++k)
      chirp_[k] = root_of_unity(int64_t(k * k % (2 * length)), int64_t(2 * length), sign);
    for (size_t k = 0; k < length; ++k) kernel_[k] = kernel_[(padded_ - k) % padded_] = std::conj(chirp_[k]);
    forward_.transform(kernel_);
  }
  void transform(std::vector<Complex>& data) const {
    std::vector<Complex> work(padded_);
    for (size_t k = 0; k < length_; ++k) work[k] = times(data[k], chirp_[k]);
    forward_.transform(work);
    for (size_t k = 0; k < padded_; ++k) work[k] = times(work[k], kernel_[k]);
    backward_.transform(work);
    for (size_t k = 0; k < length_; ++k) data[k] = times(work[k], chirp_[k]) / double(padded_);
  }

 private:
  size_t length_;
  size_t padded_;
  PowerOfTwo forward_;
  PowerOfTwo backward_;
  std::vector<Complex> chirp_;
  std::vector<Complex> kernel_;
};

template <class Transform>
void transform_lines(const Transform& transform, const Lines& lines, const Tensor& x, Tensor& result) {
  const auto from = x.as<std::complex<float>>();
  const auto to = result.as<std::complex<float>>();
  std::vector<Complex> data(size_t(lines.length));
  for (int64_t line = 0; line < lines.count; ++line) {
    for (int64_t j = 0; j < lines.length; ++j)
      data[size_t(j)] = Complex(from[size_t(lines.start(line) + j * lines.step)]);
    transform.transform(data);
    for (int64_t j = 0; j < lines.length; ++j)
      to[size_t(lines.start(line) + j * lines.step)] = std::complex<float>(data[size_t(j)]);
  }
}

}  // namespace

Status run_fft(const Opaque& statement, const Operands& operands, const Results& results) {
  const Lines lines(operands[0]->shape(), dimension(statement, operands[0]->shape().size()));
  const double sign = flag(statement, "inverse", false) ? 1 : -1;
  const size_t length = size_t(lines.length);
  if (lines.count == 0 || length == 0) return Ok{};
  if (std::has_single_bit(length))
    transform_lines(PowerOfTwo(length, sign), lines, *operands[0], *results[0]);
  else
    transform_lines(AnyLength(length, sign), lines, *operands[0], *results[0]);
  return Ok{};
}

}  // namespace lightline::loops::opaque
