// cholesky, solve, triangular_solve and lu on batches of f32 or f64 matrices, computed in f64; triangular_solve of c64,
// too.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

#include "loops/opaque/builtin.h"

namespace lightline::loops::opaque {
namespace {

// One matrix of a batch, row-major.
template <class T>
struct MatrixOf {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<T> values;
  T& at(int64_t i, int64_t j) { return values[size_t(i * columns + j)]; }
  T at(int64_t i, int64_t j) const { return values[size_t(i * columns + j)]; }
};
using Matrix = MatrixOf<double>;

int64_t batch_of(const Shape& shape) {
  int64_t batch = 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d) batch *= shape[d];
  return batch;
}

template <class T = double>
MatrixOf<T> load(const Tensor& tensor, int64_t batch) {
  const Shape& shape = tensor.shape();
  MatrixOf<T> matrix{shape[shape.size() - 2], shape[shape.size() - 1], {}};
  const size_t size = size_t(matrix.rows * matrix.columns);
  matrix.values.resize(size);
  for (size_t i = 0; i < size; ++i) {
    const int64_t at = batch * int64_t(size) + int64_t(i);
    if constexpr (std::is_same_v<T, double>)
      matrix.values[i] = tensor.get_f64(at);
    else
      matrix.values[i] = tensor.get_c128(at);
  }
  return matrix;
}

template <class T>
void store(const MatrixOf<T>& matrix, Tensor& tensor, int64_t batch) {
  for (size_t i = 0; i < matrix.values.size(); ++i) {
    const size_t at = size_t(batch) * matrix.values.size() + i;
    if constexpr (!std::is_same_v<T, double>)
      tensor.as<std::complex<float>>()[at] = std::complex<float>(matrix.values[i]);
    else if (tensor.dtype() == DType::f64)
      tensor.as<double>()[at] = matrix.values[i];
    else
      tensor.as<float>()[at] = float(matrix.values[i]);
  }
}

// The lower factor from the lower triangle; returns the first pivot that is not positive, or -1.
int64_t factor(const Matrix& a, Matrix& lower) {
  const int64_t n = a.rows;
  lower = {n, n, std::vector<double>(size_t(n * n), 0.0)};
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double rest = a.at(i, j);
      for (int64_t k = 0; k < j; ++k) rest -= lower.at(i, k) * lower.at(j, k);
      if (i == j && !(rest > 0)) return i;
      lower.at(i, j) = i == j ? std::sqrt(rest) : rest / lower.at(j, j);
    }
  return -1;
}

void transpose(Matrix& a) {
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < i; ++j) std::swap(a.at(i, j), a.at(j, i));
}

// Gauss with row exchanges, on a and b together; then b holds the solution. Returns the first zero pivot, or -1.
int64_t eliminate(Matrix& a, Matrix& b) {
  const int64_t n = a.rows;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(a.at(i, k)) > std::abs(a.at(pivot, k))) pivot = i;
    if (a.at(pivot, k) == 0) return k;
    if (pivot != k) {
      std::swap_ranges(&a.at(k, 0), &a.at(k, 0) + n, &a.at(pivot, 0));
      std::swap_ranges(b.values.begin() + k * b.columns, b.values.begin() + (k + 1) * b.columns,
                       b.values.begin() + pivot * b.columns);
    }
    for (int64_t i = k + 1; i < n; ++i) {
      const double multiple = a.at(i, k) / a.at(k, k);
      for (int64_t j = k + 1; j < n; ++j) a.at(i, j) -= multiple * a.at(k, j);
      for (int64_t j = 0; j < b.columns; ++j) b.at(i, j) -= multiple * b.at(k, j);
    }
  }
  return -1;
}

// L below the diagonal and U from there on; `pivots` are the rows, from 1 on, that rows changed places with. A column
// of zeros is left as it is.
void factor_with_exchanges(Matrix& a, std::vector<int32_t>& pivots) {
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < a.rows; ++i)
      if (std::abs(a.at(i, k)) > std::abs(a.at(pivot, k))) pivot = i;
    pivots.push_back(int32_t(pivot + 1));
    if (pivot != k) std::swap_ranges(&a.at(k, 0), &a.at(k, 0) + a.columns, &a.at(pivot, 0));
    if (a.at(k, k) == 0) continue;
    for (int64_t i = k + 1; i < a.rows; ++i) {
      a.at(i, k) /= a.at(k, k);
      for (int64_t j = k + 1; j < a.columns; ++j) a.at(i, j) -= a.at(i, k) * a.at(k, j);
    }
  }
}

template <class T>
void substitute(const MatrixOf<T>& a, MatrixOf<T>& b, bool upper, bool unit) {
  const int64_t n = a.rows;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k)
      for (int64_t j = 0; j < b.columns; ++j) b.at(i, j) -= a.at(i, k) * b.at(k, j);
    if (unit) continue;
    for (int64_t j = 0; j < b.columns; ++j) b.at(i, j) /= a.at(i, i);
  }
}

}  // namespace

Status run_cholesky(const Opaque& statement, const Operands& operands, const Results& results) {
  const bool upper = flag(statement, "upper", false);
  for (int64_t batch = 0; batch < batch_of(operands[0]->shape()); ++batch) {
    Matrix a = load(*operands[0], batch);
    if (upper) transpose(a);
    Matrix lower;
    if (const int64_t pivot = factor(a, lower); pivot >= 0)
      return Error{ErrorCode::range,
                   fmt::format("cholesky: matrix {} of the batch is not positive definite at row {}", batch, pivot),
                   "",
                   {}};
    if (upper) transpose(lower);
    store(lower, *results[0], batch);
  }
  return Ok{};
}

Status run_solve(const Opaque&, const Operands& operands, const Results& results) {
  for (int64_t batch = 0; batch < batch_of(operands[0]->shape()); ++batch) {
    Matrix a = load(*operands[0], batch);
    Matrix b = load(*operands[1], batch);
    if (const int64_t pivot = eliminate(a, b); pivot >= 0)
      return Error{ErrorCode::range,
                   fmt::format("solve: matrix {} of the batch is singular at column {}", batch, pivot),
                   "",
                   {}};
    substitute(a, b, true, false);
    store(b, *results[0], batch);
  }
  return Ok{};
}

Status run_lu(const Opaque&, const Operands& operands, const Results& results) {
  std::vector<int32_t> pivots;
  for (int64_t batch = 0; batch < batch_of(operands[0]->shape()); ++batch) {
    Matrix a = load(*operands[0], batch);
    factor_with_exchanges(a, pivots);
    store(a, *results[0], batch);
  }
  std::copy(pivots.begin(), pivots.end(), results[1]->as<int32_t>().begin());
  return Ok{};
}

Status run_triangular_solve(const Opaque& statement, const Operands& operands, const Results& results) {
  const bool upper = flag(statement, "upper", false), unit = flag(statement, "unit", false);
  const auto solve = [&]<class T>(int64_t batch) {
    MatrixOf<T> b = load<T>(*operands[1], batch);
    substitute(load<T>(*operands[0], batch), b, upper, unit);
    store(b, *results[0], batch);
  };
  const bool is_complex = operands[0]->dtype() == DType::c64;
  for (int64_t batch = 0; batch < batch_of(operands[0]->shape()); ++batch)
    is_complex ? solve.operator()<std::complex<double>>(batch) : solve.operator()<double>(batch);
  return Ok{};
}

}  // namespace lightline::loops::opaque
