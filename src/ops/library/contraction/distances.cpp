// Distances and similarities between vectors.
#include <cmath>

#include "ops/library/contraction/contraction.h"
#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

// The p-norm over `features` of `difference`, for every element of `shape`; 0 where there are no features.
SymbolicTensor norm_of(Lowering& l, DType dtype, const Shape& shape, int64_t features, double p,
                       const std::function<Scalar(const Indices&, const Subscript&)>& difference) {
  if (features == 0) return l.map(dtype, shape, [&](const Indices&) { return l.literal(Literal::of(int64_t(0))); });
  Shape full = shape;
  full.push_back(features);
  return vector_norm(l, dtype, p, reduced_dims(full, {-1}), false, [&](const Indices& at) {
    return difference({at.begin(), at.end() - 1}, at.back());
  });
}

struct Points {
  SymbolicTensor x, y;  // [..., rows, features] each
  Shape batch;          // what comes before, broadcast
  Shape shape;          // batch, rows of x, rows of y
  int64_t features;
};

Points point_sets(OpCall& c) {
  Points points{c.tensor("x1"), c.tensor("x2"), {}, {}, 0};
  require(points.x.rank() >= 2 && points.y.rank() >= 2, "distances need matrices of points");
  require(points.x.shape.back() == points.y.shape.back(), "the points of both sets have different numbers of features");
  const auto leading = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  points.batch = broadcast(leading(points.x.shape), leading(points.y.shape));
  points.shape = points.batch;
  points.shape.push_back(points.x.shape[points.x.shape.size() - 2]);
  points.shape.push_back(points.y.shape[points.y.shape.size() - 2]);
  points.features = points.x.shape.back();
  return points;
}

// x's point and y's point for the element `i` of the result.
std::pair<Indices, Indices> points_at(const Indices& i, const Subscript& feature) {
  Indices of_x(i.begin(), i.end() - 2), of_y = of_x;
  of_x.push_back(i[i.size() - 2]);
  of_y.push_back(i[i.size() - 1]);
  of_x.push_back(feature);
  of_y.push_back(feature);
  return {of_x, of_y};
}

SymbolicTensor squared_norms(Lowering& l, DType dtype, const SymbolicTensor& x) {
  return reduce_dims(l, dtype, Reducer::sum, reduced_dims(x.shape, {-1}), false, [&](const Indices& at) {
    const Scalar v = l.read(x, at);
    return v * v;
  });
}

// |x|^2 + |y|^2 - 2 x.y, which is a matrix product.
SymbolicTensor euclidean_by_product(Lowering& l, const Points& points) {
  const DType dtype = common_dtype(points.x, points.y), compute = compute_type(dtype);
  const SymbolicTensor norms_x = squared_norms(l, compute, points.x), norms_y = squared_norms(l, compute, points.y);
  const SymbolicTensor products = matrix_product(l, compute, points.x, l.transpose(points.y, -2, -1));
  return l.map(dtype, points.shape, [&](const Indices& i) {
    const auto [of_x, of_y] = points_at(i, i.back());
    const Scalar norms = l.read_broadcast(norms_x, {of_x.begin(), of_x.end() - 1}) +
                         l.read_broadcast(norms_y, {of_y.begin(), of_y.end() - 1});
    return call(Function::sqrt, max(norms - 2.0 * l.read(products, i), 0.0));
  });
}

void cdist(OpCall& c) {
  Lowering& l = c.lowering();
  const Points points = point_sets(c);
  const double p = c.number("p", 2);
  const int64_t mode = c.integer("compute_mode", 0);
  constexpr int64_t large = 25;  // from here on PyTorch takes the product form, unless told not to
  const bool is_large = points.shape[points.batch.size()] > large || points.shape.back() > large;
  if (p == 2 && points.features > 0 && (mode == 1 || (mode == 0 && is_large)))
    return c.add_result(euclidean_by_product(l, points));
  c.add_result(norm_of(l, common_dtype(points.x, points.y), points.shape, points.features, p,
                       [&](const Indices& i, const Subscript& k) {
                         const auto [of_x, of_y] = points_at(i, k);
                         return l.read_broadcast(points.x, of_x) - l.read_broadcast(points.y, of_y);
                       }));
}

// d(distance)/d(difference), times `grad`; 0 where points coincide.
Scalar distance_slope(Scalar grad, Scalar difference, Scalar distance, double p) {
  const Scalar sign = call(Function::sign, difference), size = call(Function::abs, difference);
  if (p == 0) return grad * 0.0;
  if (p == 1) return grad * sign;
  if (std::isinf(p)) return select(size == distance, grad * sign, 0.0);
  if (p == 2) return select(distance == 0.0, 0.0, grad * difference / distance);
  const Scalar ratio = call(Function::pow, size / distance, number(grad, p - 1));
  const bool steep = p < 1;  // then the slope at 0 would be infinite
  return select(steep ? distance == 0.0 || difference == 0.0 : distance == 0.0, 0.0, grad * sign * ratio);
}

void cdist_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const Points points = point_sets(c);
  const SymbolicTensor grad = c.tensor("grad"), distances = c.tensor("cdist");
  const double p = c.number("p", 2);
  Shape shape = points.batch;
  shape.insert(shape.end(), points.x.shape.end() - 2, points.x.shape.end());
  c.add_result(
      l.reduce(grad.dtype, shape, Reducer::sum, {points.shape.back()}, [&](const Indices& i, const Indices& other) {
        const Subscript& feature = i.back();
        Indices pair(i.begin(), i.end() - 1);
        pair.push_back(other[0]);
        const auto [of_x, of_y] = points_at(pair, feature);
        const Scalar difference = l.read_broadcast(points.x, of_x) - l.read_broadcast(points.y, of_y);
        return distance_slope(l.read_broadcast(grad, pair), difference, l.read_broadcast(distances, pair), p);
      }));
}

// The pairs i < j in row-major order: position n of the result is the pair (first[n], second[n]).
void pdist(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() == 2, "pdist needs a matrix of points");
  const int64_t n = x.shape[0], pairs = n < 2 ? 0 : product(std::vector<int64_t>{n, n - 1}) / 2;
  const SymbolicTensor position = l.map(DType::i64, {n, n}, [&](const Indices& ij) {
    const Scalar i = value(ij[0]), j = value(ij[1]);
    return select(j > i, call(Function::div, i * (double(2 * n - 3) - i), number(i, int64_t(2))) + j - 1.0, -1.0);
  });
  const auto numbered = [&](size_t which) {
    return l.scatter(
        DType::i64, {pairs}, Literal::of(int64_t(0)), Reducer::set, {n, n},
        [&](const Indices& ij) {
          return ScatterWrite{{l.index(l.read(position, ij))}, value(ij[which])};
        },
        true);
  };
  const SymbolicTensor first = numbered(0), second = numbered(1);
  c.add_result(norm_of(l, x.dtype, {pairs}, x.shape[1], c.number("p", 2), [&](const Indices& i, const Subscript& k) {
    const auto point = [&](const SymbolicTensor& which) {
      return l.read(x, {l.index(l.read(which, i), {0, n - 1}), k});
    };
    return point(first) - point(second);
  }));
}

void pairwise_distance(OpCall& c) {
  Lowering& l = c.lowering();
  const Operand x = c.operand("x1"), y = c.operand("x2");
  const DType dtype = floating_type(result_type({x, y}));
  Shape shape = broadcast(x.shape(), y.shape());
  require(!shape.empty(), "pairwise_distance needs vectors");
  const int64_t features = shape.back();
  shape.pop_back();
  const double eps = c.number("eps", 1e-6);
  const SymbolicTensor distance =
      norm_of(l, real_type(dtype), shape, features, c.number("p", 2), [&](const Indices& i, const Subscript& k) {
        Indices at = i;
        at.push_back(k);
        return c.read_as(x, at, dtype) - c.read_as(y, at, dtype) + eps;
      });
  c.add_result(c.flag("keepdim", false) ? l.unsqueeze(distance, -1) : distance);
}

void cosine_similarity(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("x1"), y = c.tensor("x2");
  const DType dtype = result_type({{x, {}}, {y, {}}}), compute = compute_type(dtype);
  require(category(dtype) == Category::floating, "cosine_similarity needs floats");
  const Shape shape = broadcast(x.shape, y.shape);
  const SymbolicTensor a = l.expand(x, shape), b = l.expand(y, shape);
  const ReducedDims dims = reduced_dims(shape, {c.integer("dim", 1)});
  const double eps = c.number("eps", 1e-8);
  const auto dot = [&](const SymbolicTensor& u, const SymbolicTensor& v) {
    return reduce_dims(l, compute, Reducer::sum, dims, false, [&](const Indices& at) {
      return convert(l.read(u, at), compute) * convert(l.read(v, at), compute);
    });
  };
  const SymbolicTensor product = dot(a, b), square_x = dot(a, a), square_y = dot(b, b);
  c.add_result(l.map(dtype, product.shape, [&](const Indices& i) {
    const auto norm = [&](const SymbolicTensor& square) { return max(call(Function::sqrt, l.read(square, i)), eps); };
    return l.read(product, i) / (norm(square_x) * norm(square_y));
  }));
}

}  // namespace

void register_distances(Registry& r) {
  r.add("cdist", "x1, x2, p, compute_mode", cdist, {"_cdist_forward"});
  r.add("_cdist_backward", "grad, x1, x2, p, cdist", cdist_backward);
  r.add("_euclidean_dist", "x1, x2",
        [](OpCall& c) { c.add_result(euclidean_by_product(c.lowering(), point_sets(c))); });
  r.add("pdist", "self, p", pdist, {"_pdist_forward"});
  r.add("pairwise_distance", "x1, x2, p, eps, keepdim", pairwise_distance);
  r.add("cosine_similarity", "x1, x2, dim, eps", cosine_similarity);
}

}  // namespace lightline::ops
