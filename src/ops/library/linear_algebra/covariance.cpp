// Covariances, correlations, and matrices of powers.
#include <fmt/format.h>

#include "ops/library/contraction/contraction.h"
#include "ops/library/linear_algebra/linear_algebra.h"

namespace lightline::ops {
namespace {

// Observations are columns; a vector is one variable.
SymbolicTensor variables_of(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() <= 2 && x.dtype != DType::boolean, "covariances are taken of a matrix of numbers");
  Lowering& l = c.lowering();
  const SymbolicTensor rows = x.rank() == 2 ? x : l.reshape(x, {1, x.size()});
  return l.cast(rows, floating_type(x.dtype));
}

// The weight of each observation, if there is one.
std::optional<SymbolicTensor> weights_of(OpCall& c, DType dtype) {
  Lowering& l = c.lowering();
  const auto counts = c.tensor_if("fweights"), shares = c.tensor_if("aweights");
  if (!counts && !shares) return std::nullopt;
  return l.map(compute_type(dtype), (counts ? counts : shares)->shape, [&](const Indices& i) {
    const auto read = [&](const SymbolicTensor& t) { return convert(l.read(t, i), dtype); };
    return counts && shares ? read(*counts) * read(*shares) : read(counts ? *counts : *shares);
  });
}

// What the sums of products are divided by.
SymbolicTensor divisor(OpCall& c, const std::optional<SymbolicTensor>& weights, int64_t count, DType wide) {
  Lowering& l = c.lowering();
  const double correction = double(c.integer("correction", 1));
  if (!weights)
    return l.map(wide, {}, [&](const Indices&) {
      return l.rounded(l.literal(Literal::of(std::max(double(count) - correction, 0.0))), wide);
    });
  const auto shares = c.tensor_if("aweights");
  const auto total = [&](const ElementAt& element) {
    return reduce_dims(l, wide, Reducer::sum, all_dims({count}), false, element);
  };
  const SymbolicTensor sum = total([&](const Indices& i) { return l.read(*weights, i); });
  const bool is_shared = shares && correction != 0;
  const SymbolicTensor squares =
      is_shared ? total([&](const Indices& i) { return l.read(*weights, i) * convert(l.read(*shares, i), wide); })
                : sum;
  return l.map(wide, {}, [&](const Indices&) {
    const Scalar all = l.read(sum, {});
    return max(is_shared ? all - l.read(squares, {}) / all * correction : all - correction, 0.0);
  });
}

SymbolicTensor covariance(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = variables_of(c);
  const DType wide = compute_type(x.dtype);
  const int64_t count = x.shape[1];
  const auto weights = weights_of(c, x.dtype);
  const auto weighted = [&](Scalar value, const Subscript& observation) {
    return weights ? value * convert(l.read(*weights, {observation}), value.type) : value;
  };
  const ReducedDims rows = reduced_dims(x.shape, {1});
  const SymbolicTensor sum =
      reduce_dims(l, wide, Reducer::sum, rows, false, [&](const Indices& i) { return weighted(l.read(x, i), i[1]); });
  const std::optional<SymbolicTensor> total =
      weights ? std::optional(reduce_dims(l, compute_type(weights->dtype), Reducer::sum, all_dims({count}), false,
                                          [&](const Indices& i) { return l.read(*weights, i); }))
              : std::nullopt;
  const auto centred = [&](bool with_weight) {
    return l.map(wide, x.shape, [&](const Indices& i) {
      const Scalar all = l.read(sum, {i[0]}), value = l.read(x, i);
      const Scalar mean = total ? all / convert(l.read(*total, {}), all.type) : all / double(count);
      return with_weight ? weighted(value - mean, i[1]) : conjugate(value - mean);
    });
  };
  const SymbolicTensor products = contract(l, wide, {centred(true), {0, 2}}, {centred(false), {1, 2}}, {0, 1});
  const SymbolicTensor norm = divisor(c, weights, count, wide == DType::c64 ? DType::f32 : wide);
  const SymbolicTensor result = l.map(x.dtype, products.shape, [&](const Indices& i) {
    const Scalar value = l.read(products, i);
    return value / convert(l.read(norm, {}), value.type);
  });
  return x.shape[0] == 1 ? l.reshape(result, {}) : result;
}

void define_corrcoef(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor covariances = covariance(c);
  require(covariances.dtype != DType::c64, "correlations are taken of real numbers");
  if (covariances.rank() == 0)
    return c.add_result(l.map(covariances.dtype, {},
                              [&](const Indices&) { return l.read(covariances, {}) / l.read(covariances, {}); }));
  c.add_result(l.map(covariances.dtype, covariances.shape, [&](const Indices& i) {
    const auto deviation = [&](const Subscript& k) { return call(Function::sqrt, l.read(covariances, {k, k})); };
    return min(max(l.read(covariances, i) / deviation(i[0]) / deviation(i[1]), -1.0), 1.0);
  }));
}

// Powers of each element along a new last dimension.
void define_vander(OpCall& c, std::string_view vector, bool increasing) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor(vector);
  require(x.rank() >= 1, "a Vandermonde matrix is made of vectors");
  const int64_t count = c.integer("N", x.shape.back());
  require(count >= 0, "a Vandermonde matrix has a negative size");
  Shape shape = x.shape;
  shape.push_back(count);
  const DType dtype = x.dtype == DType::boolean ? DType::i64 : x.dtype;
  require(dtype != DType::c64, "Vandermonde matrices of complex numbers are not supported");
  c.add_result(l.map(dtype, shape, [&](const Indices& i) {
    const Scalar base = convert(l.read(x, Indices(i.begin(), i.end() - 1)), dtype);
    return call(Function::pow, base, convert(value(increasing ? i.back() : count - 1 - i.back()), base.type));
  }));
}

}  // namespace

void register_statistics_of_matrices(Registry& r) {
  r.add("cov", "self, correction, fweights, aweights", [](OpCall& c) { c.add_result(covariance(c)); });
  r.add("corrcoef", "self", define_corrcoef);
  r.add("linalg_vander", "x, N", [](OpCall& c) { define_vander(c, "x", true); });
  r.add("vander", "x, N, increasing", [](OpCall& c) { define_vander(c, "x", c.flag("increasing", false)); });
}

}  // namespace lightline::ops
