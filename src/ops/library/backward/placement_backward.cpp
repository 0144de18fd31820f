// Gradients of operators that place, select or pad: every gradient goes back to where its value came from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

// ---- views: the gradient of what was not seen is 0 ----

Shape input_sizes(const OpCall& c) {
  const Shape sizes = c.integers("input_sizes");
  for (const int64_t size : sizes) require(size >= 0, "an input size is negative");
  return sizes;
}

void select_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output");
  const Shape sizes = input_sizes(c);
  require(grad.shape.size() + 1 == sizes.size(), "the gradient of a selection has one dimension less than the input");
  const auto dim = size_t(wrap_dim(c.integer("dim"), int64_t(sizes.size())));
  int64_t index = c.integer("index");
  if (index < 0) index += sizes[dim];
  require(index >= 0 && index < sizes[dim],
          fmt::format("index {} is outside dimension {} of {}", index, dim, to_string(sizes)));
  const SymbolicTensor row = l.unsqueeze(grad, int64_t(dim));
  c.add_result(l.map(grad.dtype, sizes, [&](const Indices& i) {
    Indices at = i;
    at[dim] = i[dim] - index;
    return l.read(row, at, zero());
  }));
}

void slice_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output");
  const Shape sizes = input_sizes(c);
  require(grad.shape.size() == sizes.size(), "the gradient of a slice has the rank of the input");
  const auto dim = size_t(wrap_dim(c.integer("dim"), int64_t(sizes.size())));
  const int64_t step = c.integer("step", 1);
  require(step >= 1, "a slice's step is positive");
  int64_t start = c.integer("start", 0);
  if (start < 0) start += sizes[dim];
  start = std::clamp<int64_t>(start, 0, sizes[dim]);
  c.add_result(l.map(grad.dtype, sizes, [&](const Indices& i) {
    Indices at = i;
    at[dim] = div(i[dim] - start, step);
    const Scalar value = l.read(grad, at, zero());
    return step == 1 ? value : select(ops::value(mod(i[dim] - start, step)) == 0.0, value, 0.0);
  }));
}

void diagonal_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output");
  const Shape sizes = input_sizes(c);
  require(sizes.size() >= 2 && grad.shape.size() + 1 == sizes.size(),
          "the gradient of a diagonal has one dimension less than the input");
  const auto row = size_t(wrap_dim(c.integer("dim1", 0), int64_t(sizes.size()))),
             column = size_t(wrap_dim(c.integer("dim2", 1), int64_t(sizes.size())));
  require(row != column, "a diagonal needs two different dimensions");
  const int64_t offset = c.integer("offset", 0);
  c.add_result(l.map(grad.dtype, sizes, [&](const Indices& i) {
    Indices at;
    for (size_t d = 0; d < sizes.size(); ++d)
      if (d != row && d != column) at.push_back(i[d]);
    at.push_back(offset >= 0 ? i[row] : i[column]);
    return select(value(i[column] - i[row]) == double(offset), l.read(grad, at, zero()), 0.0);
  }));
}

// Adds what several places of a result took from one place of the input. Narrow floats add up in f32.
void give_sum(OpCall& c, const SymbolicTensor& grad, const Shape& shape, const Shape& domain,
              const std::function<ScatterWrite(const Indices&)>& body, bool drop = false) {
  Lowering& l = c.lowering();
  c.add_result(
      l.cast(l.scatter(compute_type(grad.dtype), shape, zero(), Reducer::sum, domain, body, drop), grad.dtype));
}

void unfold_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_in");
  const Shape sizes = input_sizes(c);
  require(grad.shape.size() == sizes.size() + 1, "the gradient of an unfolding has one dimension more than the input");
  const auto dim = size_t(wrap_dim(c.integer("dim"), int64_t(sizes.size())));
  const int64_t step = c.integer("step");
  require(step >= 1 && step <= int64_t(1) << 40, "an unfolding's step is positive");
  for (size_t i = 0; i < sizes.size(); ++i)
    require(i == dim || grad.shape[i] == sizes[i], "the gradient of an unfolding has the input's other extents");
  const int64_t last = (grad.shape[dim] - 1) * step + grad.shape.back() - 1;
  require(grad.size() == 0 || last < sizes[dim], "the gradient of an unfolding reaches beyond the input");
  give_sum(c, grad, sizes, grad.shape, [&](const Indices& i) {
    Indices target(i.begin(), i.end() - 1);
    target[dim] = i[dim] * step + i.back();
    return ScatterWrite{target, l.read(grad, i)};
  });
}

// ---- gathers ----

void embedding_backward(OpCall& c, std::string_view grad_name) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor(grad_name), rows = c.tensor("indices");
  const int64_t count = c.integer("num_weights"), padding = c.integer("padding_idx", -1);
  require(count >= 0, "an embedding has a negative number of rows");
  Shape expected = rows.shape;
  expected.push_back(grad.shape.empty() ? 0 : grad.shape.back());
  require(is_integer(rows.dtype) && grad.shape == expected,
          fmt::format("the gradient of an embedding is {} for indices of shape {}", to_string(grad.shape),
                      to_string(rows.shape)));
  const int64_t width = grad.shape.back();
  const auto row = [&](const Indices& at) {
    const Scalar own = convert(l.read(rows, at), DType::i64);
    return padding < 0 ? l.index(own) : l.index(select(own == double(padding), -1.0, own));
  };
  std::optional<SymbolicTensor> frequency;
  if (c.flag("scale_grad_by_freq", false))
    frequency = l.scatter(
        DType::f32, {count}, zero(), Reducer::sum, rows.shape,
        [&](const Indices& at) {
          return ScatterWrite{{row(at)}, l.convert(l.literal(Literal::of(int64_t(1))), DType::f32)};
        },
        padding >= 0);
  give_sum(
      c, grad, {count, width}, grad.shape,
      [&](const Indices& i) {
        const Indices at(i.begin(), i.end() - 1);
        const Scalar value = l.read(grad, i);
        return ScatterWrite{
            {row(at), i.back()},
            frequency ? value / convert(l.read(*frequency, {row(at)}, Literal::of(int64_t(1))), value.type) : value};
      },
      padding >= 0);
}

// The gradient of max.dim and the like goes to the positions that were chosen.
void value_selecting_backward(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor grad = c.tensor("grad"), positions = c.tensor("indices");
  const Shape sizes = c.integers("sizes");
  const auto dim = size_t(wrap_dim(c.integer("dim"), int64_t(sizes.size())));
  if (sizes.empty()) return c.add_result(l.copy(grad));
  if (!c.flag("keepdim", false)) {
    grad = l.unsqueeze(grad, int64_t(dim));
    positions = l.unsqueeze(positions, int64_t(dim));
  }
  Shape expected = sizes;
  expected[dim] = 1;
  require(is_integer(positions.dtype) && grad.shape == expected && positions.shape == expected,
          "the gradient and the positions have one value per line");
  give_sum(c, grad, sizes, grad.shape, [&](const Indices& i) {
    Indices target = i;
    target[dim] = l.index(l.read(positions, i));
    return ScatterWrite{target, l.read(grad, i)};
  });
}

void index_select_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad"), index = c.tensor("index");
  const Shape sizes = c.integers("self_sizes");
  const auto dim = size_t(wrap_dim(c.integer("dim"), int64_t(sizes.size())));
  Shape expected = sizes;
  if (!expected.empty()) expected[dim] = index.size();
  require(is_integer(index.dtype) && index.rank() <= 1 && grad.shape == expected,
          "the gradient of a selection has one slice per index");
  give_sum(c, grad, sizes, grad.shape, [&](const Indices& i) {
    Indices target = i;
    if (!target.empty()) target[dim] = l.index(l.read(index, index.shape.empty() ? Indices{} : Indices{i[dim]}));
    return ScatterWrite{target, l.read(grad, i)};
  });
}

}  // namespace

void register_placement_backward(Registry& r) {
  r.add("select_backward", "grad_output, input_sizes, dim, index", select_backward);
  r.add("slice_backward", "grad_output, input_sizes, dim, start, end, step", slice_backward);
  r.add("diagonal_backward", "grad_output, input_sizes, offset, dim1, dim2", diagonal_backward);
  r.add("unfold_backward", "grad_in, input_sizes, dim, size, step", unfold_backward);
  r.add("embedding_dense_backward", "grad_output, indices, num_weights, padding_idx, scale_grad_by_freq",
        [](OpCall& c) { embedding_backward(c, "grad_output"); });
  r.add("embedding_backward", "grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse",
        [](OpCall& c) { embedding_backward(c, "grad"); });
  r.add("value_selecting_reduction_backward", "grad, dim, indices, sizes, keepdim", value_selecting_backward);
  r.add("index_select_backward", "grad, self_sizes, dim, index", index_select_backward);
}

}  // namespace lightline::ops
