#include "ops/library/softmax/softmax.h"

#include <fmt/format.h>

#include <limits>

namespace lightline::ops {

SoftmaxDim softmax_dim(Lowering& l, const SymbolicTensor& x, int64_t dim) {
  const int64_t along = wrap_dim(dim, x.rank());
  const SymbolicTensor line = x.shape.empty() ? l.reshape(x, {1}) : x;
  return {line, reduced_dims(line.shape, {along})};
}

namespace {

SymbolicTensor largest(Lowering& l, const SoftmaxDim& s) {
  return reduce_dims(l, compute_type(s.x.dtype), Reducer::max, s.dims, true,
                     [&](const Indices& at) { return l.read(s.x, at); });
}

SymbolicTensor sum_along(Lowering& l, const SymbolicTensor& x, const ReducedDims& dims) {
  return reduce_dims(l, compute_type(x.dtype), Reducer::sum, dims, true,
                     [&](const Indices& at) { return l.read(x, at); });
}

// exp(x - shift) of every element.
SymbolicTensor exponentials(Lowering& l, const SoftmaxDim& s, const SymbolicTensor& shift) {
  return l.map(compute_type(s.x.dtype), s.x.shape,
               [&](const Indices& at) { return call(Function::exp, l.read(s.x, at) - l.read_broadcast(shift, at)); });
}

}  // namespace

LogSum log_sum_exp(Lowering& l, const SoftmaxDim& s) {
  const SymbolicTensor shift = largest(l, s);
  const SymbolicTensor sum = reduce_dims(
      l, compute_type(s.x.dtype), Reducer::sum, s.dims, true,
      [&](const Indices& at) { return call(Function::exp, l.read(s.x, at) - l.read_broadcast(shift, at)); });
  return {shift, l.map(sum.dtype, sum.shape, [&](const Indices& i) { return call(Function::log, l.read(sum, i)); })};
}

SymbolicTensor softmax(Lowering& l, const SymbolicTensor& x, int64_t dim, DType dtype) {
  const SoftmaxDim s = softmax_dim(l, x, dim);
  const SymbolicTensor powers = exponentials(l, s, largest(l, s));
  const SymbolicTensor sum = sum_along(l, powers, s.dims);
  const SymbolicTensor result =
      l.map(dtype, powers.shape, [&](const Indices& at) { return l.read(powers, at) / l.read_broadcast(sum, at); });
  return l.reshape(result, x.shape);
}

SymbolicTensor log_softmax(Lowering& l, const SymbolicTensor& x, int64_t dim, DType dtype) {
  const SoftmaxDim s = softmax_dim(l, x, dim);
  const LogSum sum = log_sum_exp(l, s);
  const SymbolicTensor result = l.map(dtype, s.x.shape, [&](const Indices& at) {
    return l.read(s.x, at) - l.read_broadcast(sum.shift, at) - l.read_broadcast(sum.log_sum, at);
  });
  return l.reshape(result, x.shape);
}

namespace {

// The input in the dtype of the result, as `dtype` asks.
struct SoftmaxCall {
  SymbolicTensor x;
  DType dtype;
  int64_t dim;
};
SoftmaxCall softmax_call(OpCall& c) {
  SymbolicTensor x = c.tensor("self");
  DType dtype = c.dtype("dtype", x.dtype);
  if (c.flag("half_to_float", false)) {
    require(compute_type(x.dtype) == DType::f32, fmt::format("softmax of {} does not give f32", name(x.dtype)));
    dtype = DType::f32;
  }
  if (category(dtype) != Category::floating)
    fail(fmt::format("softmax of {} needs a floating dtype", name(dtype)), ErrorCode::type);
  if (!is_float(x.dtype) || compute_type(x.dtype) != compute_type(dtype) || bits(dtype) < bits(x.dtype))
    x = c.lowering().cast(x, dtype);
  const int64_t last = x.rank() - 1;
  return {x, dtype, c.integer("dim", std::max<int64_t>(last, 0))};
}

void safe_softmax(OpCall& c) {
  Lowering& l = c.lowering();
  const auto [x, dtype, dim] = softmax_call(c);
  const SoftmaxDim s = softmax_dim(l, x, dim);
  // A line of -inf only is masked out: its probabilities are 0.
  const SymbolicTensor shift = largest(l, s);
  const SymbolicTensor finite = l.map(shift.dtype, shift.shape, [&](const Indices& i) {
    const Scalar value = l.read(shift, i);
    return select(value == -std::numeric_limits<double>::infinity(), 0.0, value);
  });
  const SymbolicTensor powers = exponentials(l, s, finite);
  const SymbolicTensor sum = sum_along(l, powers, s.dims);
  const SymbolicTensor result = l.map(dtype, powers.shape, [&](const Indices& at) {
    const Scalar share = l.read(powers, at) / l.read_broadcast(sum, at);
    return select(l.read_broadcast(shift, at) == -std::numeric_limits<double>::infinity(), 0.0, share);
  });
  c.add_result(l.reshape(result, x.shape));
}

void masked_softmax(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), mask = c.tensor("mask");
  const SymbolicTensor masked = l.map(x.dtype, x.shape, [&](const Indices& i) {
    return select(l.read_broadcast(mask, i), -std::numeric_limits<double>::infinity(), l.read(x, i));
  });
  c.add_result(softmax(l, masked, c.integer("dim", -1), x.dtype));
}

void softmin(OpCall& c) {
  Lowering& l = c.lowering();
  const auto [x, dtype, dim] = softmax_call(c);
  const SymbolicTensor negative = l.map(x.dtype, x.shape, [&, &x = x](const Indices& i) { return -l.read(x, i); });
  c.add_result(softmax(l, negative, dim, dtype));
}

// ---- backward ----

struct SoftmaxGradient {
  SymbolicTensor grad;
  SymbolicTensor output;
  ReducedDims dims;
  DType dtype;
};
SoftmaxGradient softmax_gradient(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output"), output = c.tensor("output");
  require(grad.shape == output.shape, "the gradient and the output have one shape");
  require(is_float(grad.dtype) && compute_type(grad.dtype) == compute_type(output.dtype),
          "the gradient and the output have one kind of float");
  const SoftmaxDim s = softmax_dim(l, grad, c.integer("dim"));
  return {s.x, output.shape.empty() ? l.reshape(output, {1}) : output, s.dims, c.dtype("input_dtype", grad.dtype)};
}

void softmax_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SoftmaxGradient g = softmax_gradient(c);
  const SymbolicTensor dot = reduce_dims(l, compute_type(g.grad.dtype), Reducer::sum, g.dims, true,
                                         [&](const Indices& at) { return l.read(g.grad, at) * l.read(g.output, at); });
  const SymbolicTensor result = l.map(g.dtype, g.grad.shape, [&](const Indices& at) {
    return (l.read(g.grad, at) - l.read_broadcast(dot, at)) * l.read(g.output, at);
  });
  c.add_result(l.reshape(result, c.tensor("grad_output").shape));
}

void log_softmax_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SoftmaxGradient g = softmax_gradient(c);
  const SymbolicTensor sum = sum_along(l, g.grad, g.dims);
  const SymbolicTensor result = l.map(g.dtype, g.grad.shape, [&](const Indices& at) {
    return l.read(g.grad, at) - call(Function::exp, l.read(g.output, at)) * l.read_broadcast(sum, at);
  });
  c.add_result(l.reshape(result, c.tensor("grad_output").shape));
}

}  // namespace

void register_softmax(Registry& r) {
  r.add("softmax", "self, dim, dtype",
        [](OpCall& c) {
          const auto [x, dtype, dim] = softmax_call(c);
          c.add_result(softmax(c.lowering(), x, dim, dtype));
        },
        {"special_softmax"});
  r.add("_softmax", "self, dim, half_to_float", [](OpCall& c) {
    const auto [x, dtype, dim] = softmax_call(c);
    c.add_result(softmax(c.lowering(), x, dim, dtype));
  });
  r.add("log_softmax", "self, dim, dtype",
        [](OpCall& c) {
          const auto [x, dtype, dim] = softmax_call(c);
          c.add_result(log_softmax(c.lowering(), x, dim, dtype));
        },
        {"special_log_softmax"});
  r.add("_log_softmax", "self, dim, half_to_float", [](OpCall& c) {
    const auto [x, dtype, dim] = softmax_call(c);
    c.add_result(log_softmax(c.lowering(), x, dim, dtype));
  });
  r.add("_safe_softmax", "self, dim, dtype", safe_softmax);
  r.add("_masked_softmax", "self, mask, dim, mask_type", masked_softmax);
  r.add("softmin", "self, dim, dtype", softmin);
  r.add("_softmax_backward_data", "grad_output, output, dim, input_dtype", softmax_backward);
  r.add("_log_softmax_backward_data", "grad_output, output, dim, input_dtype", log_softmax_backward);
}

}  // namespace lightline::ops
