// Norms of vectors and matrices.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {

SymbolicTensor vector_norm(Lowering& l, DType dtype, double p, const ReducedDims& dims, bool keepdim,
                           const ElementAt& element) {
  const DType wide = compute_type(dtype);
  const auto magnitude = [&](const Indices& at) { return convert(call(Function::abs, element(at)), wide); };
  const auto reduced = [&](DType type, Reducer reducer, const ElementAt& body) {
    return reduce_dims(l, type, reducer, dims, keepdim, body);
  };
  if (std::isinf(p)) {
    require(dims.count() != 0 || product(dims.kept(false)) == 0,
            "the largest or smallest magnitude of no elements has no value");
    return reduced(dtype, p > 0 ? Reducer::max : Reducer::min, magnitude);
  }
  if (p == 1) return reduced(dtype, Reducer::sum, magnitude);
  if (p == 0) return reduced(dtype, Reducer::sum, [&](const Indices& at) { return convert(element(at) != 0.0, wide); });
  if (p == 2) {
    const SymbolicTensor sum = reduced(wide, Reducer::sum, [&](const Indices& at) {
      const Scalar x = element(at);
      if (x.type != DType::c64) return convert(x, wide) * convert(x, wide);
      const Scalar re = call(Function::real, x), im = call(Function::imag, x);
      return re * re + im * im;
    });
    return l.map(dtype, sum.shape, [&](const Indices& i) { return call(Function::sqrt, l.read(sum, i)); });
  }
  const SymbolicTensor sum = reduced(wide, Reducer::sum, [&](const Indices& at) {
    const Scalar x = magnitude(at);
    return call(Function::pow, x, number(x, p));
  });
  return l.map(dtype, sum.shape, [&](const Indices& i) {
    const Scalar x = l.read(sum, i);
    return call(Function::pow, x, number(x, 1 / p));
  });
}

namespace {

// The norm of a complex tensor is real.
DType norm_type(const OpCall& c, const SymbolicTensor& x) {
  const DType type = c.dtype("dtype", floating_type(x.dtype));
  return type == DType::c64 ? DType::f32 : type;
}

ElementAt elements_of(Lowering& l, const SymbolicTensor& x, DType type) {
  return [&l, x, type](const Indices& at) {
    return x.dtype == DType::c64 ? l.read(x, at) : read_converted(l, x, at, type);
  };
}

SymbolicTensor vector_norm(OpCall& c, const SymbolicTensor& x, double p, const ReducedDims& dims) {
  const DType type = norm_type(c, x);
  return vector_norm(c.lowering(), type, p, dims, c.flag("keepdim", false), elements_of(c.lowering(), x, type));
}

double order(const OpCall& c, std::string_view name, double fallback) {
  if (c.text(name, "").empty()) return c.number(name, fallback);
  const std::string text = c.text(name, "");
  if (text == "fro") return 2;
  if (text == "inf" || text == "-inf") return (text[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
  fail(fmt::format("there is no norm '{}'", text));
}

// Singular values have no affine definition; the sum or extreme over them has.
SymbolicTensor spectral_norm(OpCall& c, const SymbolicTensor& x, Reducer reducer, const std::vector<int64_t>& dims) {
  Lowering& l = c.lowering();
  const ReducedDims both = reduced_dims(x.shape, dims);
  std::vector<int64_t> sequence;
  Shape batch;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!both.reduced[size_t(i)]) {
      sequence.push_back(i);
      batch.push_back(x.shape[size_t(i)]);
    }
  const int64_t row = wrap_dim(dims[0], x.rank()), column = wrap_dim(dims[1], x.rank());
  sequence.push_back(row);
  sequence.push_back(column);
  const int64_t rank = std::min(x.shape[size_t(row)], x.shape[size_t(column)]);
  Shape values_shape = batch;
  values_shape.push_back(rank);
  const DType type = norm_type(c, x);
  const SymbolicTensor values =
      l.opaque("singular_values", {l.permute(x, sequence)}, {}, {{compute_type(type), values_shape}})[0];
  const SymbolicTensor norm = l.reduce(type, batch, reducer, {rank}, [&](const Indices& i, const Indices& r) {
    Indices at = i;
    at.push_back(r[0]);
    return l.read(values, at);
  });
  return l.reshape(norm, both.kept(c.flag("keepdim", false)));
}

// The largest or smallest sum of magnitudes of a row (order inf) or of a column (order 1).
SymbolicTensor line_norm(OpCall& c, const SymbolicTensor& x, double p, int64_t row, int64_t column) {
  Lowering& l = c.lowering();
  const DType type = norm_type(c, x);
  const ReducedDims line = reduced_dims(x.shape, {std::isinf(p) ? column : row});
  const SymbolicTensor sums = vector_norm(l, compute_type(type), 1, line, true, elements_of(l, x, type));
  const ReducedDims lines = reduced_dims(sums.shape, {row, column});
  const SymbolicTensor extreme = reduce_dims(l, type, p > 0 ? Reducer::max : Reducer::min, lines, true,
                                             [&](const Indices& at) { return l.read(sums, at); });
  const SymbolicTensor norm =
      p < 0 ? extreme : l.map(type, extreme.shape, [&](const Indices& i) { return max(l.read(extreme, i), 0.0); });
  return l.reshape(norm, lines.kept(c.flag("keepdim", false)));
}

SymbolicTensor matrix_norm(OpCall& c, const SymbolicTensor& x, std::vector<int64_t> dims) {
  require(dims.size() == 2, "a matrix norm needs two dimensions");
  require(x.rank() >= 2, "a matrix norm needs a tensor of rank 2 or more");
  for (int64_t& dim : dims) dim = wrap_dim(dim, x.rank());
  require(dims[0] != dims[1], "a matrix norm needs two different dimensions");
  const std::string text = c.text("ord", c.has("ord") ? "" : "fro");
  if (text == "fro") return vector_norm(c, x, 2, reduced_dims(x.shape, dims));
  if (text == "nuc") return spectral_norm(c, x, Reducer::sum, dims);
  const double p = order(c, "ord", 2);
  if (std::fabs(p) == 2) return spectral_norm(c, x, p > 0 ? Reducer::max : Reducer::min, dims);
  require(std::fabs(p) == 1 || std::isinf(p), fmt::format("there is no matrix norm of order {}", p));
  return line_norm(c, x, p, dims[0], dims[1]);
}

void linalg_norm(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const std::vector<int64_t> dims = c.integers("dim", {});
  if (!c.has("ord")) return c.add_result(vector_norm(c, x, 2, reduced_dims(c, x.shape)));
  if (dims.size() == 2 || (dims.empty() && x.rank() == 2))
    return c.add_result(matrix_norm(c, x, dims.empty() ? std::vector<int64_t>{0, 1} : dims));
  c.add_result(vector_norm(c, x, order(c, "ord", 2), reduced_dims(c, x.shape)));
}

void norm(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  if (c.text("p", "") != "nuc") return c.add_result(vector_norm(c, x, order(c, "p", 2), reduced_dims(c, x.shape)));
  c.add_result(spectral_norm(c, x, Reducer::sum, c.integers("dim", {-2, -1})));
}

void nuclear_norm(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const std::vector<int64_t> dims = c.integers("dim", {-2, -1});
  require(dims.size() == 2 && x.rank() >= 2, "a nuclear norm needs two dimensions");
  c.add_result(spectral_norm(c, x, Reducer::sum, dims));
}

void distance(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor a = c.tensor("self"), b = c.tensor("other");
  const DType type = result_type({{a, {}}, {b, {}}});
  const auto difference = [&](const Indices& at) {
    return convert(l.read_broadcast(a, at), type) - convert(l.read_broadcast(b, at), type);
  };
  c.add_result(vector_norm(l, type == DType::c64 ? DType::f32 : type, order(c, "p", 2),
                           all_dims(broadcast(a.shape, b.shape)), false, difference));
}

// Scales the slices along a dimension whose norm is too large.
void renorm(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const double limit = c.number("maxnorm", 0);
  const DType wide = real_type(compute_type(x.dtype));
  ReducedDims dims = all_dims(x.shape);
  require(x.rank() >= 2 && category(x.dtype) >= Category::floating, "renorm needs floats of rank 2 or more");
  dims.reduced[size_t(wrap_dim(c.integer("dim"), x.rank()))] = false;
  const SymbolicTensor norms =
      vector_norm(l, wide, order(c, "p", 2), dims, true, [&](const Indices& at) { return l.read(x, at); });
  const SymbolicTensor factors = l.map(wide, norms.shape, [&](const Indices& i) {
    const Scalar value = l.read(norms, i);
    return select(value > limit, limit / (value + 1e-7), 1.0);
  });
  c.add_result(l.map(x.dtype, x.shape,
                     [&](const Indices& i) { return l.read(x, i) * convert(l.read_broadcast(factors, i), x.dtype); }));
}

// x / max(norm, eps)
void normalize(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const DType type = floating_type(x.dtype), wide = compute_type(type);
  const SymbolicTensor norms = vector_norm(l, wide, order(c, "p", 2), reduced_dims(x.shape, c.integers("dim", {1})),
                                           true, elements_of(l, x, type));
  const double eps = c.number("eps", 1e-12);
  const SymbolicTensor divisors =
      l.map(wide, norms.shape, [&](const Indices& i) { return max(l.read(norms, i), eps); });
  c.add_result(l.map(type, x.shape,
                     [&](const Indices& i) { return convert(l.read(x, i), wide) / l.read_broadcast(divisors, i); }));
}

}  // namespace

void register_vector_norms(Registry& r) {
  r.add("linalg_vector_norm", "self, ord, dim, keepdim, dtype",
        [](OpCall& c) {
          const SymbolicTensor x = c.tensor("self");
          c.add_result(vector_norm(c, x, order(c, "ord", 2), reduced_dims(c, x.shape)));
        },
        {"torch.linalg.vector_norm"});
  r.add("linalg_matrix_norm", "self, ord, dim, keepdim, dtype",
        [](OpCall& c) {
          c.add_result(matrix_norm(c, c.tensor("self"), c.integers("dim", {-2, -1})));
        },
        {"torch.linalg.matrix_norm"});
  r.add("linalg_norm", "self, ord, dim, keepdim, dtype", linalg_norm, {"torch.linalg.norm"});
  r.add("norm", "self, p, dim, keepdim, dtype", norm, {"native_norm"});
  r.add("frobenius_norm", "self, dim, keepdim", [](OpCall& c) {
    const SymbolicTensor x = c.tensor("self");
    c.add_result(vector_norm(c, x, 2, reduced_dims(c, x.shape)));
  });
  r.add("nuclear_norm", "self, dim, keepdim", nuclear_norm);
  r.add("dist", "self, other, p", distance);
  r.add("renorm", "self, p, dim, maxnorm", renorm);
  r.add("normalize", "self, p, dim, eps", normalize);
}

}  // namespace lightline::ops
