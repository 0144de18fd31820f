// Contractions by labels, and chains of matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "ops/build/registry.h"
#include "ops/library/contraction/contraction.h"

namespace lightline::ops {
namespace {

// Labels 0 to 51 are A to Z, a to z, which is also the order of an implicit output; an ellipsis takes those from 52 on,
// counted from its right end.
constexpr int ellipsis = 52;

struct Subscripts {
  std::vector<int> labels;
  bool has_ellipsis = false;
};

Subscripts parse_subscripts(std::string_view text) {
  Subscripts result;
  for (size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (ch == ' ') continue;
    if (ch == '.') {
      require(text.substr(i, 3) == "..." && !result.has_ellipsis, "the einsum equation has a malformed ellipsis");
      result.has_ellipsis = true;
      result.labels.push_back(ellipsis);
      i += 2;
    } else {
      if (!std::isalpha(uint8_t(ch))) fail(fmt::format("the einsum equation has '{}' where a letter belongs", ch));
      result.labels.push_back(std::isupper(uint8_t(ch)) ? ch - 'A' : 26 + ch - 'a');
    }
  }
  return result;
}

// The ellipsis spelled out as `rank` labels.
std::vector<int> spelled(const Subscripts& subscripts, int64_t rank) {
  std::vector<int> labels;
  for (const int label : subscripts.labels) {
    if (label != ellipsis) {
      labels.push_back(label);
      continue;
    }
    for (int64_t d = rank; d > 0; --d) labels.push_back(ellipsis + int(d) - 1);
  }
  return labels;
}

struct Equation {
  std::vector<Labelled> operands;
  std::vector<int> out;
};

std::vector<int> implicit_output(const std::vector<Labelled>& operands, int64_t ellipsis_rank) {
  std::vector<int> count(ellipsis, 0), out;
  for (const Labelled& operand : operands)
    for (const int label : operand.labels)
      if (label < ellipsis) ++count[size_t(label)];
  for (int64_t d = ellipsis_rank; d > 0; --d) out.push_back(ellipsis + int(d) - 1);
  for (int label = 0; label < ellipsis; ++label)
    if (count[size_t(label)] == 1) out.push_back(label);
  return out;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Equation parse_equation(std::string_view text, const std::vector<SymbolicTensor>& tensors) {
  const size_t arrow = text.find("->");
  const std::vector<std::string_view> parts = split_at_commas(text.substr(0, arrow));
  if (parts.size() != tensors.size())
    fail(fmt::format("the einsum equation '{}' has {} operands, but {} are given", text, parts.size(), tensors.size()));
  Equation equation;
  int64_t ellipsis_rank = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SymbolicTensor& tensor = tensors[i];
    const Subscripts subscripts = parse_subscripts(parts[i]);
    const int64_t rank = tensor.rank() - int64_t(subscripts.labels.size()) + (subscripts.has_ellipsis ? 1 : 0);
    if (rank < 0 || (rank > 0 && !subscripts.has_ellipsis))
      fail(fmt::format("the einsum equation '{}' does not fit an operand of rank {}", text, tensor.rank()));
    ellipsis_rank = std::max(ellipsis_rank, rank);
    equation.operands.push_back({tensor, spelled(subscripts, rank)});
  }
  equation.out = arrow == std::string_view::npos ? implicit_output(equation.operands, ellipsis_rank)
                                                 : spelled(parse_subscripts(text.substr(arrow + 2)), ellipsis_rank);
  return equation;
}

bool uses(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

size_t place_of(const std::vector<int>& labels, int label) {
  return size_t(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

// One operand: permutations and diagonals are views, what remains is a sum.
SymbolicTensor einsum_one(Lowering& l, const Labelled& operand, const std::vector<int>& out) {
  std::vector<int> running = out;
  for (const int label : operand.labels)
    if (!uses(running, label)) running.push_back(label);
  Shape shape(running.size());
  for (size_t d = operand.labels.size(); d-- > 0;)
    shape[place_of(running, operand.labels[d])] = operand.tensor.shape[d];
  std::vector<AffineRow> rows;
  for (size_t d = 0; d < operand.labels.size(); ++d) {
    const size_t at = place_of(running, operand.labels[d]);
    if (shape[at] != operand.tensor.shape[d])
      fail(fmt::format("a label of the einsum equation stands for {} and {}", shape[at], operand.tensor.shape[d]));
    rows.push_back({0, {{int(at), 1}}});
  }
  const SymbolicTensor spread = l.view(operand.tensor, shape, std::move(rows));
  std::vector<int64_t> summed;
  for (size_t d = out.size(); d < running.size(); ++d) summed.push_back(int64_t(d));
  return summed.empty() ? spread : sum_over(l, spread.dtype, spread, summed);
}

// The labels that a product of two operands keeps: those that the other operands or the output still use.
std::vector<int> kept_labels(const Labelled& a, const Labelled& b, const std::vector<Labelled>& others,
                             const std::vector<int>& out) {
  if (others.empty()) return out;
  std::vector<int> kept;
  for (const Labelled* operand : {&a, &b}) {
    for (const int label : operand->labels) {
      const bool needed = uses(out, label) || std::any_of(others.begin(), others.end(), [&](const Labelled& other) {
                            return uses(other.labels, label);
                          });
      if (needed && !uses(kept, label)) kept.push_back(label);
    }
  }
  return kept;
}

void einsum(OpCall& c) {
  Lowering& l = c.lowering();
  const std::string text = c.text("equation", "");
  Equation equation = parse_equation(text, c.tensors("tensors"));
  std::vector<Labelled>& rest = equation.operands;
  require(!rest.empty(), "einsum needs an operand");
  for (size_t i = 0; i < equation.out.size(); ++i) {
    const int label = equation.out[i];
    const bool known =
        std::any_of(rest.begin(), rest.end(), [&](const Labelled& operand) { return uses(operand.labels, label); });
    require(known && std::count(equation.out.begin(), equation.out.end(), label) == 1,
            "the output of the einsum equation names a label twice, or one that no operand has");
  }
  const std::vector<int64_t> path = c.integers("path", std::vector<int64_t>{});
  if (rest.size() == 1) return c.add_result(einsum_one(l, rest[0], equation.out));
  for (size_t step = 0; rest.size() > 1; ++step) {
    // The result of a pair goes to the end with a path, and to the front without one.
    const bool ordered = 2 * step + 1 < path.size();
    const int64_t n = int64_t(rest.size());
    int64_t first = ordered ? path[2 * step] : 0, second = ordered ? path[2 * step + 1] : 1;
    require(first >= 0 && first < n && second >= 0 && second < n && first != second,
            "the einsum path names operands that are not there");
    if (first > second) std::swap(first, second);
    const Labelled a = rest[size_t(first)], b = rest[size_t(second)];
    rest.erase(rest.begin() + second);
    rest.erase(rest.begin() + first);
    const std::vector<int> kept = kept_labels(a, b, rest, equation.out);
    const DType dtype = common_dtype(a.tensor, b.tensor);
    Labelled joined{contract(l, dtype, a, b, kept), kept};
    rest.insert(ordered ? rest.end() : rest.begin(), std::move(joined));
  }
  c.add_result(rest[0].tensor);
}

std::vector<int64_t> wrapped(std::vector<int64_t> dims, int64_t rank) {
  for (int64_t& dim : dims) dim = wrap_dim(dim, rank);
  return dims;
}

void tensordot(OpCall& c) {
  const SymbolicTensor a = c.tensor("self"), b = c.tensor("other");
  const std::vector<int64_t> dims_a = wrapped(c.integers("dims_self"), a.rank()),
                             dims_b = wrapped(c.integers("dims_other"), b.rank());
  require(dims_a.size() == dims_b.size(), "tensordot pairs equally many dimensions of both tensors");
  std::vector<int> left, right, out;
  for (int64_t d = 0; d < a.rank(); ++d) left.push_back(int(d));
  for (int64_t d = 0; d < b.rank(); ++d) right.push_back(int(a.rank() + d));
  for (size_t i = 0; i < dims_a.size(); ++i) right[size_t(dims_b[i])] = int(dims_a[i]);
  for (int64_t d = 0; d < a.rank(); ++d)
    if (std::find(dims_a.begin(), dims_a.end(), d) == dims_a.end()) out.push_back(int(d));
  for (int64_t d = 0; d < b.rank(); ++d)
    if (std::find(dims_b.begin(), dims_b.end(), d) == dims_b.end()) out.push_back(int(a.rank() + d));
  c.add_result(contract(c.lowering(), common_dtype(a, b), {a, left}, {b, right}, out));
}

// i1 * i2 * i3, each unsqueezed at its `expand` dimensions, summed over `sumdim`.
void trilinear(OpCall& c) {
  const SymbolicTensor operands[] = {c.tensor("i1"), c.tensor("i2"), c.tensor("i3")};
  const std::vector<int64_t> expands[] = {c.integers("expand1"), c.integers("expand2"), c.integers("expand3")};
  const int64_t total = operands[0].rank() + int64_t(expands[0].size());
  const std::vector<int64_t> summed = wrapped(c.integers("sumdim"), total);
  Labelled labelled[3];
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<int64_t> expand = wrapped(expands[i], total);
    require(operands[i].rank() + int64_t(expand.size()) == total, "the expanded operands have different ranks");
    labelled[i].tensor = operands[i];
    for (int64_t d = 0; d < total; ++d)
      if (std::find(expand.begin(), expand.end(), d) == expand.end()) labelled[i].labels.push_back(int(d));
    require(labelled[i].labels.size() == operands[i].shape.size(), "an operand is expanded twice at one dimension");
  }
  std::vector<int> out;
  for (int64_t d = 0; d < total; ++d)
    if (std::find(summed.begin(), summed.end(), d) == summed.end()) out.push_back(int(d));
  const DType dtype = common_dtype(operands[0], operands[1]);
  const std::vector<int> kept = kept_labels(labelled[0], labelled[1], {labelled[2]}, out);
  const SymbolicTensor pair = contract(c.lowering(), compute_type(dtype), labelled[0], labelled[1], kept);
  c.add_result(contract(c.lowering(), dtype, {pair, kept}, labelled[2], out));
}

void bilinear(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input1"), y = c.tensor("input2"), weight = c.tensor("weight");
  require(weight.rank() == 3 && x.rank() == y.rank() && x.rank() >= 1,
          "bilinear needs two inputs of one rank and a weight of rank 3");
  constexpr int feature = 0, left = 1, right = 2;
  std::vector<int> batch;
  for (int64_t d = 0; d + 1 < x.rank(); ++d) batch.push_back(3 + int(d));
  const auto with = [&](std::initializer_list<int> more) {
    std::vector<int> labels = batch;
    labels.insert(labels.end(), more);
    return labels;
  };
  const DType dtype = common_dtype(x, y);
  const auto bias = c.tensor_if("bias");
  const SymbolicTensor half =
      contract(l, compute_type(dtype), {x, with({left})}, {weight, {feature, left, right}}, with({feature, right}));
  const SymbolicTensor sum = contract(l, bias ? compute_type(dtype) : dtype, {half, with({feature, right})},
                                      {y, with({right})}, with({feature}));
  c.add_result(with_bias(l, dtype, sum, bias, sum.rank() - 1));
}

// Where to split matrices[first..last] so that the products take the fewest multiplications.
struct ChainOrder {
  std::vector<int64_t> sizes;  // matrix i is sizes[i] by sizes[i + 1]
  std::vector<std::vector<double>> cost;
  std::vector<std::vector<size_t>> split;

  explicit ChainOrder(std::vector<int64_t> extents) : sizes(std::move(extents)) {
    const size_t n = sizes.size() - 1;
    cost.assign(n, std::vector<double>(n, 0));
    split.assign(n, std::vector<size_t>(n, 0));
    for (size_t length = 1; length < n; ++length) {
      for (size_t i = 0; i + length < n; ++i) {
        const size_t j = i + length;
        cost[i][j] = std::numeric_limits<double>::infinity();
        for (size_t k = i; k < j; ++k) {
          const double here =
              cost[i][k] + cost[k + 1][j] + double(sizes[i]) * double(sizes[k + 1]) * double(sizes[j + 1]);
          if (here < cost[i][j]) cost[i][j] = here, split[i][j] = k;
        }
      }
    }
  }
};

SymbolicTensor chain_product(Lowering& l, const std::vector<SymbolicTensor>& matrices, const ChainOrder& order,
                             size_t first, size_t last) {
  if (first == last) return matrices[first];
  const size_t k = order.split[first][last];
  const SymbolicTensor left = chain_product(l, matrices, order, first, k),
                       right = chain_product(l, matrices, order, k + 1, last);
  return matrix_product(l, common_dtype(left, right), left, right);
}

void multi_dot(OpCall& c, std::string_view list) {
  Lowering& l = c.lowering();
  std::vector<SymbolicTensor> matrices = c.tensors(list);
  constexpr size_t most = 128;  // the search for the best order is cubic
  require(!matrices.empty() && matrices.size() <= most, "a chain of matrix products has between 1 and 128 matrices");
  const bool from_vector = matrices.front().rank() == 1, to_vector = matrices.size() > 1 && matrices.back().rank() == 1;
  if (from_vector) matrices.front() = l.unsqueeze(matrices.front(), 0);
  if (to_vector) matrices.back() = l.unsqueeze(matrices.back(), 1);
  std::vector<int64_t> sizes;
  for (const SymbolicTensor& matrix : matrices) {
    require(matrix.rank() == 2, "a chain of matrix products has matrices, and vectors only at its ends");
    sizes.push_back(matrix.shape[0]);
  }
  sizes.push_back(matrices.back().shape[1]);
  SymbolicTensor result = chain_product(l, matrices, ChainOrder(sizes), 0, matrices.size() - 1);
  if (to_vector) result = l.squeeze(result, 1);
  if (from_vector) result = l.squeeze(result, 0);
  c.add_result(result);
}

void kron(OpCall& c) {
  Lowering& l = c.lowering();
  const Operand a = c.operand("self"), b = c.operand("other");
  const size_t rank = std::max(a.shape().size(), b.shape().size());
  const auto padded = [&](Shape shape) {
    shape.insert(shape.begin(), rank - shape.size(), 1);
    return shape;
  };
  const Shape left = padded(a.shape()), right = padded(b.shape());
  Shape shape;
  for (size_t d = 0; d < rank; ++d) shape.push_back(product(std::vector<int64_t>{left[d], right[d]}));
  const DType dtype = result_type({a, b});
  c.add_result(l.map(dtype, shape, [&](const Indices& i) {
    Indices outer, inner;
    for (size_t d = 0; d < rank; ++d) {
      outer.push_back(right[d] > 0 ? div(i[d], right[d]) : i[d]);
      inner.push_back(right[d] > 0 ? mod(i[d], right[d]) : i[d]);
    }
    const Scalar x = c.read_as(a, outer, dtype), y = c.read_as(b, inner, dtype);
    return dtype == DType::boolean ? x && y : x * y;
  }));
}

SymbolicTensor identity_like(Lowering& l, const SymbolicTensor& matrix) {
  return l.map(matrix.dtype, matrix.shape, [&](const Indices& i) {
    const Scalar on_diagonal = value(i[i.size() - 2]) == value(i[i.size() - 1]);
    return convert(on_diagonal, compute_type(matrix.dtype));
  });
}

void matrix_power(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor base = c.tensor("self");
  int64_t n = c.integer("n");
  require(base.rank() >= 2 && base.shape[base.shape.size() - 1] == base.shape[base.shape.size() - 2],
          "matrix_power needs square matrices");
  require(n > std::numeric_limits<int64_t>::min(), "the exponent of matrix_power is out of range");
  if (n == 0) return c.add_result(identity_like(l, base));
  if (n < 0) {
    base = l.opaque("solve", {base, identity_like(l, base)}, {}, {{base.dtype, base.shape}})[0];
    n = -n;
  }
  std::optional<SymbolicTensor> result;
  for (;; base = matrix_product(l, base.dtype, base, base)) {
    if (n & 1) result = result ? matrix_product(l, base.dtype, *result, base) : base;
    n >>= 1;
    if (n == 0) break;
  }
  c.add_result(l.in_same_array(*result, c.tensor("self")) ? l.copy(*result) : *result);
}

}  // namespace

void register_einsum(Registry& r) {
  r.add("einsum", "equation, tensors, path", einsum);
  r.add("tensordot", "self, other, dims_self, dims_other", tensordot);
  r.add("_trilinear", "i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim", trilinear);
  r.add("bilinear", "input1, input2, weight, bias", bilinear);
  r.add("linalg_multi_dot", "tensors", [](OpCall& c) { multi_dot(c, "tensors"); }, {"multi_dot"});
  r.add("chain_matmul", "matrices", [](OpCall& c) { multi_dot(c, "matrices"); });
  r.add("kron", "self, other", kron);
  r.add("matrix_power", "self, n", matrix_power, {"linalg_matrix_power"});
}

}  // namespace lightline::ops
