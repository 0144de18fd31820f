// Systems of equations: by Cholesky factors, by triangles, and in general.
#include "ops/library/linear_algebra/linear_algebra.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::ops {

void require_square(const SymbolicTensor& a) {
  require(a.rank() >= 2 && a.shape[a.shape.size() - 1] == a.shape[a.shape.size() - 2],
          fmt::format("matrices of shape {} are not square", to_string(a.shape)));
  require(category(a.dtype) >= Category::floating, "matrices of integers have no factors");
}

SymbolicTensor identity(Lowering& l, DType dtype, int64_t n) {
  return l.map(dtype, {n, n}, [&](const Indices& i) { return convert(value(i[0]) == value(i[1]), dtype); });
}

SymbolicTensor no_errors(Lowering& l, const SymbolicTensor& a) {
  return l.map(DType::i32, Shape(a.shape.begin(), a.shape.end() - 2),
               [&](const Indices&) { return l.convert(l.literal(Literal::of(int64_t(0))), DType::i32); });
}

void add_named_opaque(OpCall& c, const std::string& name) {
  std::vector<SymbolicTensor> operands;
  for (const graph::NamedArgument& argument : c.node().arguments)
    if (!argument.name.empty() && std::holds_alternative<graph::ValueRef>(argument.value))
      operands.push_back(c.tensor(argument.name));
  if (operands.empty()) operands.push_back(c.tensor("self"));
  add_opaque_results(c, name, operands);
}

bool add_opaque_if_complex(OpCall& c) {
  for (const graph::NamedArgument& argument : c.node().arguments) {
    if (argument.name.empty() || !std::holds_alternative<graph::ValueRef>(argument.value)) continue;
    const auto tensor = c.tensor_if(argument.name);
    if (!tensor || tensor->dtype != DType::c64) continue;
    const std::string& target = c.node().target;
    const size_t from = target.find('.') + 1;
    add_named_opaque(c, "complex_" + target.substr(from, target.find('.', from) - from));
    return true;
  }
  return false;
}

namespace {

// Both operands with the batch that they share.
struct System {
  SymbolicTensor a, b;
};

System with_common_batch(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b) {
  require_square(a);
  require(b.rank() >= 2 && b.shape[b.shape.size() - 2] == a.shape.back(),
          fmt::format("a system of {} does not fit right sides of {}", to_string(a.shape), to_string(b.shape)));
  require(a.dtype == b.dtype, "a system and its right sides have different dtypes");
  const Shape batch = broadcast({a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2});
  const auto grown = [&](const SymbolicTensor& x) {
    Shape shape = batch;
    shape.insert(shape.end(), x.shape.end() - 2, x.shape.end());
    return l.expand(x, shape);
  };
  return {grown(a), grown(b)};
}

SymbolicTensor turned(Lowering& l, const SymbolicTensor& a) { return l.transpose(a, -2, -1); }

}  // namespace

SymbolicTensor solved(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b) {
  const System s = with_common_batch(l, a, b);
  return l.opaque("solve", {s.a, s.b}, {}, {{s.b.dtype, s.b.shape}})[0];
}

SymbolicTensor solved_triangular(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b, bool upper, bool unit) {
  const System s = with_common_batch(l, a, b);
  return l.opaque("triangular_solve", {s.a, s.b}, {{"upper", upper}, {"unit", unit}}, {{s.b.dtype, s.b.shape}})[0];
}

namespace {

// ---- Cholesky ----

SymbolicTensor cholesky(Lowering& l, const SymbolicTensor& a, bool upper) {
  require_square(a);
  return l.opaque("cholesky", {a}, {{"upper", upper}}, {{a.dtype, a.shape}})[0];
}

void define_cholesky(OpCall& c, bool with_info) {
  if (add_opaque_if_complex(c)) return;
  const SymbolicTensor a = c.tensor("self");
  c.add_result(cholesky(c.lowering(), a, c.flag("upper", false)));
  if (with_info) c.add_result(no_errors(c.lowering(), a));
}

// a = L L': two triangles.
SymbolicTensor solved_by_cholesky(Lowering& l, const SymbolicTensor& factor, const SymbolicTensor& b, bool upper) {
  const SymbolicTensor lower = upper ? turned(l, factor) : factor;
  return solved_triangular(l, turned(l, lower), solved_triangular(l, lower, b, false, false), true, false);
}

void define_cholesky_solve(OpCall& c, std::string_view factor) {
  if (add_opaque_if_complex(c)) return;
  c.add_result(solved_by_cholesky(c.lowering(), c.tensor(factor), c.tensor("self"), c.flag("upper", false)));
}

void define_cholesky_inverse(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  const SymbolicTensor factor = c.tensor("self");
  require_square(factor);
  c.add_result(solved_by_cholesky(c.lowering(), factor, identity(c.lowering(), factor.dtype, factor.shape.back()),
                                  c.flag("upper", false)));
}

// ---- triangles ----

void define_solve_triangular(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  const SymbolicTensor a = c.tensor("self"), b = c.tensor("B");
  const bool upper = c.flag("upper", false), unit = c.flag("unitriangular", false);
  require(a.rank() >= 2 && b.rank() >= 2, "a system needs matrices");
  if (c.flag("left", true)) return c.add_result(solved_triangular(l, a, b, upper, unit));
  c.add_result(turned(l, solved_triangular(l, turned(l, a), turned(l, b), !upper, unit)));
}

void define_triangular_solve(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  const SymbolicTensor b = c.tensor("self"), a = c.tensor("A");
  const bool upper = c.flag("upper", true), transpose = c.flag("transpose", false);
  require(a.rank() >= 2 && b.rank() >= 2, "a system needs matrices");
  const SymbolicTensor x =
      solved_triangular(l, transpose ? turned(l, a) : a, b, transpose ? !upper : upper, c.flag("unitriangular", false));
  Shape shape(x.shape.begin(), x.shape.end() - 2);
  shape.insert(shape.end(), a.shape.end() - 2, a.shape.end());
  c.add_result(x);
  c.add_result(l.copy(l.expand(a, shape)));
}

// ---- in general ----

// One right side per matrix, as a vector.
bool is_vector(const SymbolicTensor& a, const SymbolicTensor& b) {
  return b.rank() == 1 || (b.rank() == a.rank() - 1 && std::equal(b.shape.begin(), b.shape.end(), a.shape.begin()));
}

SymbolicTensor solution(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor a = c.tensor("A"), b = c.tensor("B");
  require_square(a);
  const bool vector = is_vector(a, b);
  if (c.flag("left", true)) {
    const SymbolicTensor x = solved(l, a, vector ? l.unsqueeze(b, -1) : b);
    return vector ? l.squeeze(x, -1) : x;
  }
  require(!vector, "a system from the right needs a matrix");
  return turned(l, solved(l, turned(l, a), turned(l, b)));
}

void define_solve(OpCall& c, bool with_info) {
  if (add_opaque_if_complex(c)) return;
  c.add_result(solution(c));
  if (with_info) c.add_result(no_errors(c.lowering(), c.tensor("A")));
}

void define_solve_with_factors(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  c.add_result(solution(c));
  if (c.is_used(1) || c.is_used(2)) {
    const Eliminated factors = eliminated(l, c.tensor("A"));
    c.add_result(factors.factors);
    c.add_result(factors.pivots);
  } else {
    c.add_empty_result();
    c.add_empty_result();
  }
  c.add_result(no_errors(l, c.tensor("A")));
}

void define_inverse(OpCall& c, std::string_view matrix, bool with_info) {
  if (add_opaque_if_complex(c)) return;
  const SymbolicTensor a = c.tensor(matrix);
  require_square(a);
  c.add_result(solved(c.lowering(), a, identity(c.lowering(), a.dtype, a.shape.back())));
  if (with_info) c.add_result(no_errors(c.lowering(), a));
}

// A tensor as a matrix: the first `split` dimensions are its rows.
SymbolicTensor as_matrix(Lowering& l, const SymbolicTensor& a, int64_t split) {
  const auto middle = a.shape.begin() + split;
  const int64_t rows = product(Shape(a.shape.begin(), middle)), columns = product(Shape(middle, a.shape.end()));
  require(rows == columns, "the tensor is not square as a matrix");
  return l.reshape(a, {rows, columns});
}

void define_tensor_inverse(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  const SymbolicTensor a = c.tensor("self");
  const int64_t split = c.integer("ind", 2);
  require(split > 0 && split <= a.rank(), "tensorinv splits no dimension");
  const SymbolicTensor matrix = as_matrix(l, a, split);
  Shape shape(a.shape.begin() + split, a.shape.end());
  shape.insert(shape.end(), a.shape.begin(), a.shape.begin() + split);
  c.add_result(l.reshape(solved(l, matrix, identity(l, a.dtype, matrix.shape[0])), shape));
}

void define_tensor_solve(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  SymbolicTensor a = c.tensor("self");
  const SymbolicTensor b = c.tensor("other");
  std::vector<int64_t> order, last;
  for (const int64_t dim : c.integers("dims", {})) last.push_back(wrap_dim(dim, a.rank()));
  for (int64_t d = 0; d < a.rank(); ++d)
    if (std::ranges::find(last, d) == last.end()) order.push_back(d);
  order.insert(order.end(), last.begin(), last.end());
  a = l.permute(a, order);
  require(b.rank() <= a.rank(), "tensorsolve has more results than unknowns");
  const SymbolicTensor matrix = as_matrix(l, a, b.rank());
  require(b.size() == matrix.shape[0], "the right side of tensorsolve does not fit");
  const SymbolicTensor x = solved(l, matrix, l.reshape(b, {b.size(), 1}));
  c.add_result(l.reshape(x, {a.shape.begin() + b.rank(), a.shape.end()}));
}

// ---- cross products ----

void define_cross(OpCall& c, bool default_is_first_of_three) {
  Lowering& l = c.lowering();
  const Operand first = c.operand("self"), second = c.operand("other");
  const Shape shape = broadcast(first.shape(), second.shape());
  const DType dtype = result_type({first, second});
  require(!shape.empty(), "a cross product needs vectors");
  auto dim =
      size_t(default_is_first_of_three && !c.has("dim") ? std::find(shape.begin(), shape.end(), 3) - shape.begin()
                                                        : wrap_dim(c.integer("dim", -1), int64_t(shape.size())));
  require(dim < shape.size() && shape[dim] == 3, "a cross product needs vectors of three elements");
  c.add_result(l.map(dtype, shape, [&](const Indices& i) {
    const auto part = [&](const Operand& operand, int64_t ahead) {
      Indices at = i;
      at[dim] = mod(i[dim] + ahead, 3);
      return c.read_as(operand, at, dtype);
    };
    return part(first, 1) * part(second, 2) - part(first, 2) * part(second, 1);
  }));
}

// What has no loop nest here: decompositions by iteration.
constexpr const char* opaque_names[] = {
    "linalg_svd",
    "_linalg_svd",
    "svd",
    "linalg_svdvals",
    "linalg_eigh",
    "_linalg_eigh",
    "linalg_eigvalsh",
    "linalg_eig",
    "linalg_eigvals",
    "_linalg_eigvals",
    "linalg_lstsq",
    "linalg_pinv",
    "linalg_matrix_rank",
    "linalg_cond",
    "linalg_matrix_exp",
    "matrix_exp",
    "ormqr",
    "linalg_ldl_factor",
    "linalg_ldl_factor_ex",
    "linalg_ldl_solve",
};

}  // namespace

void register_linear_algebra(Registry& r) {
  r.add("linalg_cholesky", "self, upper", [](OpCall& c) { define_cholesky(c, false); }, {"cholesky"});
  r.add("linalg_cholesky_ex", "self, upper, check_errors", [](OpCall& c) { define_cholesky(c, true); });
  r.add("cholesky_solve", "self, input2, upper", [](OpCall& c) { define_cholesky_solve(c, "input2"); });
  r.add("_cholesky_solve_helper", "self, A, upper", [](OpCall& c) { define_cholesky_solve(c, "A"); });
  r.add("cholesky_inverse", "self, upper", define_cholesky_inverse);
  r.add("linalg_solve_triangular", "self, B, upper, left, unitriangular", define_solve_triangular);
  r.add("triangular_solve", "self, A, upper, transpose, unitriangular", define_triangular_solve);
  r.add("linalg_solve", "A, B, left", [](OpCall& c) { define_solve(c, false); });
  r.add("linalg_solve_ex", "A, B, left, check_errors", [](OpCall& c) { define_solve(c, true); });
  r.add("_linalg_solve_ex", "A, B, left, check_errors", define_solve_with_factors);
  r.add("linalg_inv", "A", [](OpCall& c) { define_inverse(c, "A", false); });
  r.add("linalg_inv_ex", "A, check_errors", [](OpCall& c) { define_inverse(c, "A", true); });
  r.add("inverse", "self", [](OpCall& c) { define_inverse(c, "self", false); });
  r.add("_linalg_check_errors", "info, api_name, is_matrix", [](OpCall&) {});
  r.add("linalg_cross", "self, other, dim", [](OpCall& c) { define_cross(c, false); });
  r.add("cross", "self, other, dim", [](OpCall& c) { define_cross(c, true); });
  for (const char* name : opaque_names)
    r.add(name, "self", [name = std::string(name)](OpCall& c) { add_named_opaque(c, name); }).opaque = true;
  r.add("linalg_tensorinv", "self, ind", define_tensor_inverse);
  r.add("linalg_tensorsolve", "self, other, dims", define_tensor_solve);
  register_elimination(r);
  register_householder(r);
  register_statistics_of_matrices(r);
}

}  // namespace lightline::ops
