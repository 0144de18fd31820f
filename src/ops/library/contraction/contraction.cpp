#include "ops/library/contraction/contraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

bool names(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

using Extents = std::map<int, int64_t>;

void join_extents(Extents& extents, const Labelled& operand) {
  require(operand.labels.size() == operand.tensor.shape.size(),
          "an operand of a contraction needs one label per dimension");
  for (size_t d = 0; d < operand.labels.size(); ++d) {
    const int64_t extent = operand.tensor.shape[d];
    const auto [known, fresh] = extents.emplace(operand.labels[d], extent);
    if (fresh || extent == 1 || known->second == extent) continue;
    if (known->second != 1) fail(fmt::format("extents {} and {} of a contraction do not match", known->second, extent));
    known->second = extent;
  }
}

using Running = std::map<int, Subscript>;

Scalar read_labelled(Lowering& l, const Labelled& operand, const Running& running) {
  Indices index;
  for (size_t d = 0; d < operand.labels.size(); ++d)
    index.push_back(operand.tensor.shape[d] == 1 ? l.constant_index(0) : running.at(operand.labels[d]));
  return l.read(operand.tensor, index);
}

void run(Running& running, const std::vector<int>& labels, const Indices& index) {
  for (size_t i = 0; i < labels.size(); ++i) running.insert_or_assign(labels[i], index[i]);
}

Shape extents_of(const Extents& extents, const std::vector<int>& labels) {
  Shape shape;
  for (const int label : labels) {
    const auto known = extents.find(label);
    shape.push_back(known == extents.end() ? 1 : known->second);
  }
  return shape;
}

// Labels in order of appearance, each once.
std::vector<int> distinct(const std::vector<int>& labels) {
  std::vector<int> once;
  for (const int label : labels)
    if (!names(once, label)) once.push_back(label);
  return once;
}

// Sums `operand` over the labels that neither `other` (with more than one element) nor `out` uses.
Labelled without_lone_labels(Lowering& l, DType dtype, const Labelled& operand, const Labelled& other,
                             const std::vector<int>& out) {
  std::vector<int> shared;
  for (size_t d = 0; d < other.labels.size(); ++d)
    if (other.tensor.shape[d] != 1) shared.push_back(other.labels[d]);
  std::vector<int> kept, lone;
  for (const int label : distinct(operand.labels))
    (names(out, label) || names(shared, label) ? kept : lone).push_back(label);
  Extents extents;
  join_extents(extents, operand);
  // what runs over one element only needs no sum
  if (std::all_of(lone.begin(), lone.end(), [&](int label) { return extents.at(label) == 1; })) return operand;
  const SymbolicTensor sum = l.reduce(compute_type(dtype), extents_of(extents, kept), Reducer::sum,
                                      extents_of(extents, lone), [&](const Indices& index, const Indices& reduced) {
                                        Running running;
                                        run(running, kept, index);
                                        run(running, lone, reduced);
                                        return read_labelled(l, operand, running);
                                      });
  return {sum, kept};
}

Scalar times(Scalar a, Scalar b) { return a.type == DType::boolean ? a && b : a * b; }

// beta * self + alpha * product, rounded once. A factor of 1 is left out, and self where beta is 0.
SymbolicTensor add_scaled(OpCall& c, DType dtype, const SymbolicTensor& product, const Shape& shape) {
  const Operand beta = c.operand_or("beta", 1), alpha = c.operand_or("alpha", 1);
  const SymbolicTensor self = c.tensor("self");
  return c.lowering().map(dtype, shape, [&](const Indices& i) {
    const Scalar scaled = convert(c.lowering().read(product, i), dtype);
    const Scalar sum = is_number(alpha, 1) ? scaled : times(c.read_as(alpha, {}, dtype), scaled);
    if (is_number(beta, 0)) return sum;
    const Scalar start = convert(c.lowering().read_broadcast(self, i), dtype);
    const Scalar kept = is_number(beta, 1) ? start : times(c.read_as(beta, {}, dtype), start);
    return dtype == DType::boolean ? kept || sum : kept + sum;
  });
}

void require_rank(const SymbolicTensor& tensor, int64_t rank, std::string_view what) {
  if (tensor.rank() != rank) fail(fmt::format("{} has rank {}, not {}", what, tensor.rank(), rank));
}

// mm, bmm, mv, dot, matmul: the operands are "self" and `other`.
void product_of(OpCall& c, std::string_view other, int64_t rank_self = -1, int64_t rank_other = -1) {
  const SymbolicTensor a = c.tensor("self"), b = c.tensor(other);
  if (rank_self >= 0) require_rank(a, rank_self, "the first operand");
  if (rank_other >= 0) require_rank(b, rank_other, "the second operand");
  if (rank_self == 3) require(a.shape[0] == b.shape[0], "the two batches have different sizes");
  c.add_result(matrix_product(c.lowering(), c.dtype("out_dtype", common_dtype(a, b)), a, b));
}

// addmm, baddbmm, addmv.
void add_product(OpCall& c, std::string_view left, std::string_view right) {
  const SymbolicTensor a = c.tensor(left), b = c.tensor(right);
  const DType dtype = c.dtype("out_dtype", common_dtype(a, b));
  const SymbolicTensor product = matrix_product(c.lowering(), compute_type(dtype), a, b);
  c.add_result(add_scaled(c, dtype, product, product.shape));
}

// addbmm sums the batch away as well.
void add_batch_product(OpCall& c) {
  const SymbolicTensor a = c.tensor("batch1"), b = c.tensor("batch2");
  require_rank(a, 3, "batch1");
  require_rank(b, 3, "batch2");
  const DType dtype = common_dtype(a, b);
  const SymbolicTensor product = contract(c.lowering(), compute_type(dtype), {a, {0, 1, 2}}, {b, {0, 2, 3}}, {1, 3});
  c.add_result(add_scaled(c, dtype, product, product.shape));
}

void add_outer_product(OpCall& c) {
  const SymbolicTensor a = c.tensor("vec1"), b = c.tensor("vec2");
  require_rank(a, 1, "vec1");
  require_rank(b, 1, "vec2");
  const DType dtype = result_type({{c.tensor("self"), {}}, {a, {}}, {b, {}}});
  const SymbolicTensor product = contract(c.lowering(), compute_type(dtype), {a, {0}}, {b, {1}}, {0, 1});
  c.add_result(add_scaled(c, dtype, product, product.shape));
}

void addmm_activation(OpCall& c) {
  add_product(c, "mat1", "mat2");
  const SymbolicTensor sum = *c.results.back();
  const bool gelu = c.flag("use_gelu", false);
  c.results.back() = c.lowering().map(sum.dtype, sum.shape, [&](const Indices& i) {
    const Scalar x = c.lowering().read(sum, i);
    return gelu ? call(Function::gelu, x) : max(x, 0.0);
  });
}

void outer(OpCall& c) {
  const SymbolicTensor a = c.tensor("self"), b = c.tensor("vec2");
  require_rank(a, 1, "the first operand");
  require_rank(b, 1, "the second operand");
  c.add_result(contract(c.lowering(), result_type({{a, {}}, {b, {}}}), {a, {0}}, {b, {1}}, {0, 1}));
}

void inner(OpCall& c) {
  const SymbolicTensor a = c.tensor("self"), b = c.tensor("other");
  std::vector<int> left, right, out;
  const bool plain = a.shape.empty() || b.shape.empty();  // then a product, not a sum
  for (int64_t d = 0; d < a.rank(); ++d) left.push_back(!plain && d + 1 == a.rank() ? 0 : int(d) + 1);
  for (int64_t d = 0; d < b.rank(); ++d) right.push_back(!plain && d + 1 == b.rank() ? 0 : int(a.rank() + d) + 1);
  for (const int label : left)
    if (label) out.push_back(label);
  for (const int label : right)
    if (label) out.push_back(label);
  if (!plain) require(a.shape.back() == b.shape.back(), "the last dimensions of an inner product differ");
  c.add_result(contract(c.lowering(), common_dtype(a, b), {a, left}, {b, right}, out));
}

// sum of conj(x) * y along one dimension: vdot and linalg.vecdot.
SymbolicTensor vector_dot(Lowering& l, const SymbolicTensor& x, const SymbolicTensor& y, int64_t dim) {
  const DType dtype = common_dtype(x, y);
  const Shape shape = broadcast(x.shape, y.shape);
  require(!shape.empty(), "a dot product needs vectors");
  return reduce_dims(l, dtype, Reducer::sum, reduced_dims(shape, {dim}), false,
                     [&](const Indices& at) { return conjugate(l.read_broadcast(x, at)) * l.read_broadcast(y, at); });
}

void linear_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), grad = c.tensor("grad_output"), weight = c.tensor("weight");
  require(x.rank() >= 1 && weight.rank() == 2 && grad.rank() == x.rank(), "the ranks of the operands do not fit");
  const std::vector<int64_t> mask = c.integers("output_mask", {1, 1, 1});
  require(mask.size() == 3, "output_mask has three entries");
  const SymbolicTensor rows = l.reshape(grad, {product({grad.shape.data(), grad.shape.size() - 1}), grad.shape.back()});
  const SymbolicTensor inputs = l.reshape(x, {rows.shape[0], x.shape.back()});
  if (mask[0])
    c.add_result(matrix_product(l, x.dtype, grad, weight));
  else
    c.add_empty_result();
  if (mask[1])
    c.add_result(contract(l, weight.dtype, {rows, {0, 1}}, {inputs, {0, 2}}, {1, 2}));
  else
    c.add_empty_result();
  if (mask[2])
    c.add_result(sum_over(l, grad.dtype, rows, {0}));
  else
    c.add_empty_result();
}

}  // namespace

SymbolicTensor contract(Lowering& l, DType dtype, const Labelled& left, const Labelled& right,
                        const std::vector<int>& out) {
  Extents extents;
  join_extents(extents, left);
  join_extents(extents, right);
  const Labelled a = without_lone_labels(l, dtype, left, right, out),
                 b = without_lone_labels(l, dtype, right, left, out);
  Extents left_over;
  join_extents(left_over, a);
  join_extents(left_over, b);
  std::vector<int> summed;
  for (const Labelled* operand : {&a, &b})
    for (const int label : operand->labels)
      if (!names(out, label) && !names(summed, label) && left_over.at(label) != 1) summed.push_back(label);
  return l.reduce(dtype, extents_of(extents, out), Reducer::sum, extents_of(extents, summed),
                  [&](const Indices& index, const Indices& reduced) {
                    Running running;
                    run(running, out, index);
                    run(running, summed, reduced);
                    return times(convert(read_labelled(l, a, running), dtype),
                                 convert(read_labelled(l, b, running), dtype));
                  });
}

SymbolicTensor matrix_product(Lowering& l, DType dtype, const SymbolicTensor& a, const SymbolicTensor& b) {
  require(!a.shape.empty() && !b.shape.empty(), "a matrix product needs at least vectors");
  constexpr int k = 0, row = 1, column = 2;
  std::vector<int> left, right, out;
  const auto batch = [](const SymbolicTensor& tensor) { return std::max<int64_t>(tensor.rank() - 2, 0); };
  for (int64_t d = batch(a); d > 0; --d) left.push_back(2 + int(d));
  for (int64_t d = batch(b); d > 0; --d) right.push_back(2 + int(d));
  out = left.size() > right.size() ? left : right;
  if (a.rank() > 1) left.push_back(row), out.push_back(row);
  left.push_back(k);
  right.push_back(k);
  if (b.rank() > 1) right.push_back(column), out.push_back(column);
  const int64_t a_k = a.shape.back(), b_k = b.shape[size_t(std::max<int64_t>(b.rank() - 2, 0))];
  if (a_k != b_k)
    fail(fmt::format("the matrices {} and {} do not multiply: {} columns meet {} rows", to_string(a.shape),
                     to_string(b.shape), a_k, b_k));
  return contract(l, dtype, {a, left}, {b, right}, out);
}

SymbolicTensor with_bias(Lowering& l, DType dtype, const SymbolicTensor& product,
                         const std::optional<SymbolicTensor>& bias, int64_t dim) {
  if (!bias) return l.cast(product, dtype);
  require(bias->rank() <= 1 && (bias->size() == 1 || bias->shape[0] == product.shape[size_t(dim)]),
          "the bias does not fit");
  return l.map(dtype, product.shape, [&](const Indices& i) {
    return convert(l.read(product, i), dtype) + convert(l.read_broadcast(*bias, {i[size_t(dim)]}), dtype);
  });
}

SymbolicTensor linear(Lowering& l, const SymbolicTensor& x, const SymbolicTensor& weight,
                      const std::optional<SymbolicTensor>& bias) {
  const DType dtype = common_dtype(x, weight);
  require(!x.shape.empty() && (weight.rank() == 1 || weight.rank() == 2),
          "linear needs a vector or more, and a weight of rank 1 or 2");
  if (x.shape.back() != weight.shape.back())
    fail(fmt::format("inputs of {} features meet a weight of shape {}", x.shape.back(), to_string(weight.shape)));
  std::vector<int> labels, out;
  for (int64_t d = 0; d + 1 < x.rank(); ++d) labels.push_back(2 + int(d));
  out = labels;
  labels.push_back(0);
  if (weight.rank() == 2) out.push_back(1);
  const SymbolicTensor sum = contract(l, bias ? compute_type(dtype) : dtype, {x, labels},
                                      {weight, weight.rank() == 2 ? std::vector<int>{1, 0} : std::vector<int>{0}}, out);
  if (bias && sum.shape.empty())
    return l.map(dtype, {}, [&](const Indices&) { return l.read(sum, {}) + l.read(l.reshape(*bias, {}), {}); });
  return with_bias(l, dtype, sum, bias, sum.rank() - 1);
}

SymbolicTensor sum_over(Lowering& l, DType dtype, const SymbolicTensor& x, const std::vector<int64_t>& dims) {
  return reduce_dims(l, dtype, Reducer::sum, reduced_dims(x.shape, dims), false,
                     [&](const Indices& at) { return l.read(x, at); });
}

DType common_dtype(const SymbolicTensor& a, const SymbolicTensor& b) {
  if (a.dtype != b.dtype)
    fail(fmt::format("the operands are {} and {}; both must have one dtype", name(a.dtype), name(b.dtype)),
         ErrorCode::type);
  return a.dtype;
}

Scalar conjugate(Scalar value) { return value.type == DType::c64 ? call(Function::conj, value) : value; }

void register_contraction(Registry& r) {
  r.add("mm", "self, mat2, out_dtype", [](OpCall& c) { product_of(c, "mat2", 2, 2); });
  r.add("bmm", "self, mat2, out_dtype", [](OpCall& c) { product_of(c, "mat2", 3, 3); });
  r.add("mv", "self, vec", [](OpCall& c) { product_of(c, "vec", 2, 1); });
  r.add("dot", "self, tensor", [](OpCall& c) { product_of(c, "tensor", 1, 1); });
  r.add("matmul", "self, other", [](OpCall& c) { product_of(c, "other"); },
        {"linalg_matmul", "__matmul__", "_operator.matmul", "operator.matmul"});
  r.add(
      "linear", "input, weight, bias",
      [](OpCall& c) { c.add_result(linear(c.lowering(), c.tensor("input"), c.tensor("weight"), c.tensor_if("bias"))); },
      {"mkldnn_linear"});
  r.add("linear_backward", "self, grad_output, weight, output_mask", linear_backward, {"mkldnn_linear_backward"});
  r.add("addmm", "self, mat1, mat2, out_dtype, beta, alpha", [](OpCall& c) { add_product(c, "mat1", "mat2"); });
  r.add("baddbmm", "self, batch1, batch2, out_dtype, beta, alpha",
        [](OpCall& c) { add_product(c, "batch1", "batch2"); });
  r.add("addmv", "self, mat, vec, beta, alpha", [](OpCall& c) { add_product(c, "mat", "vec"); });
  r.add("addbmm", "self, batch1, batch2, beta, alpha", add_batch_product);
  r.add("addr", "self, vec1, vec2, beta, alpha", add_outer_product);
  r.add("_addmm_activation", "self, mat1, mat2, beta, alpha, use_gelu", addmm_activation);
  r.add("outer", "self, vec2", outer, {"ger"});
  r.add("inner", "self, other", inner);
  r.add("vdot", "self, other",
        [](OpCall& c) { c.add_result(vector_dot(c.lowering(), c.tensor("self"), c.tensor("other"), 0)); });
  r.add("linalg_vecdot", "x, y, dim",
        [](OpCall& c) { c.add_result(vector_dot(c.lowering(), c.tensor("x"), c.tensor("y"), c.integer("dim", -1))); },
        {"vecdot"});
  register_einsum(r);
  register_distances(r);
  register_scaled_products(r);
}

}  // namespace lightline::ops
