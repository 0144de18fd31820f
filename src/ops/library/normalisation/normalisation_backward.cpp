// Gradients of the normalisations. With y = x_hat * weight + bias and g = grad * weight, the gradient of the input is
// rstd * (g - mean(g) - x_hat * mean(g * x_hat)), the means taken over what the forward pass normalised.
#include <fmt/format.h>

#include "ops/library/normalisation/normalisation.h"

namespace lightline::ops {
namespace {

// `output_mask` says which gradients are wanted.
bool wanted(const OpCall& c, size_t i) {
  const std::vector<int64_t> mask = c.integers("output_mask", {});
  return i >= mask.size() || mask[i] != 0;
}
void give_if(OpCall& c, bool condition, const std::function<SymbolicTensor()>& make) {
  if (condition)
    c.add_result(make());
  else
    c.add_empty_result();
}

struct Operands {
  SymbolicTensor grad;
  SymbolicTensor x;
  std::optional<SymbolicTensor> weight;  // these three broadcast against x
  std::optional<SymbolicTensor> mean;
  SymbolicTensor rstd;
};

class NormGradient {
 public:
  NormGradient(Lowering& l, const Operands& o) : l_(l), grad_(o.grad), dtype_(o.x.dtype), rstd_(o.rstd) {
    require(o.grad.shape == o.x.shape && compute_type(o.grad.dtype) == compute_type(o.x.dtype),
            "the gradient and the input have one shape and one kind of float");
    if (o.weight) require_broadcasts(*o.weight, o.x.shape, "the weight");
    const DType wide = compute_type(o.x.dtype);
    x_hat_ = normalised(l, o.x, wide, {o.mean, o.rstd, {}, {}});
    weighted_ = o.weight
                    ? l.map(wide, o.x.shape,
                            [&](const Indices& at) {
                              return convert(l.read(o.grad, at), wide) * convert(l.read_broadcast(*o.weight, at), wide);
                            })
                    : o.grad;
  }

  const SymbolicTensor& x_hat() const { return x_hat_; }
  const SymbolicTensor& weighted() const { return weighted_; }

  // sum of grad * x_hat
  SymbolicTensor weight_gradient(DType dtype, const ReducedDims& dims, const Shape& shape) {
    const SymbolicTensor sum = reduce_dims(l_, dtype, Reducer::sum, dims, false,
                                           [&](const Indices& at) { return l_.read(grad_, at) * l_.read(x_hat_, at); });
    return l_.reshape(sum, shape);
  }
  SymbolicTensor bias_gradient(DType dtype, const ReducedDims& dims, const Shape& shape) {
    const SymbolicTensor sum =
        reduce_dims(l_, dtype, Reducer::sum, dims, false, [&](const Indices& at) { return l_.read(grad_, at); });
    return l_.reshape(sum, shape);
  }
  // `mean` and `dot`: the means of g and of g * x_hat, which broadcast against x.
  SymbolicTensor input_gradient(const std::optional<SymbolicTensor>& mean, const SymbolicTensor& dot) {
    const DType wide = compute_type(dtype_);
    return l_.map(dtype_, x_hat_.shape, [&](const Indices& at) {
      Scalar value = l_.read(weighted_, at);
      if (mean) value = value - l_.read_broadcast(*mean, at);
      return (value - l_.read(x_hat_, at) * l_.read_broadcast(dot, at)) * convert(l_.read_broadcast(rstd_, at), wide);
    });
  }

 private:
  Lowering& l_;
  SymbolicTensor grad_;
  DType dtype_;
  SymbolicTensor rstd_;
  SymbolicTensor x_hat_;
  SymbolicTensor weighted_;
};

SymbolicTensor mean_of(Lowering& l, const SymbolicTensor& x, const ReducedDims& dims) {
  return mean_dims(l, compute_type(x.dtype), dims, true, [&](const Indices& at) { return l.read(x, at); });
}
SymbolicTensor mean_of_product(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b, const ReducedDims& dims) {
  return mean_dims(l, compute_type(a.dtype), dims, true,
                   [&](const Indices& at) { return l.read(a, at) * l.read(b, at); });
}

ReducedDims opposite(ReducedDims dims) {
  dims.reduced.flip();
  return dims;
}

DType gradient_type(const OpCall& c, size_t i, DType fallback) {
  const auto recorded = c.recorded(i);
  return recorded ? recorded->dtype : fallback;
}

void layer_norm_backward(OpCall& c, bool centred) {
  Lowering& l = c.lowering();
  const auto weight = c.tensor_if("weight");
  const Operands o{c.tensor("grad_out"), c.tensor("input"), weight, centred ? c.tensor_if("mean") : std::nullopt,
                   c.tensor("rstd")};
  const ReducedDims dims = normalised_dims(c, o.x), rows = opposite(dims);
  const Shape inner = dims.extents();
  const DType parameter = weight ? weight->dtype : o.x.dtype;
  NormGradient gradient(l, o);
  give_if(c, wanted(c, 0), [&] {
    const auto mean = centred ? std::optional(mean_of(l, gradient.weighted(), dims)) : std::nullopt;
    return gradient.input_gradient(mean, mean_of_product(l, gradient.weighted(), gradient.x_hat(), dims));
  });
  give_if(c, wanted(c, 1) && weight,
          [&] { return gradient.weight_gradient(gradient_type(c, 1, parameter), rows, inner); });
  if (centred)
    give_if(c, wanted(c, 2), [&] { return gradient.bias_gradient(gradient_type(c, 2, parameter), rows, inner); });
}

void group_norm_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const int64_t groups = c.integer("group");
  const auto weight = c.tensor_if("weight");
  const auto spread = [&](const SymbolicTensor& t) { return spread_groups(l, t, x.shape[1], x.rank()); };
  require(x.rank() >= 2, "group norm needs a tensor of rank 2 or more");
  NormGradient gradient(
      l, {c.tensor("grad_out"), x, weight ? std::optional(per_channel(l, *weight, x.rank())) : std::nullopt,
          spread(c.tensor("mean")), spread(c.tensor("rstd"))});
  const ReducedDims channel = all_but_channel(x.shape);
  const DType parameter = weight ? weight->dtype : x.dtype;
  give_if(c, wanted(c, 0), [&] {
    const SymbolicTensor g = grouped(l, gradient.weighted(), groups), x_hat = grouped(l, gradient.x_hat(), groups);
    const ReducedDims dims = trailing_dims(g.shape, 2);
    const auto flat = [&](const SymbolicTensor& t) { return spread(l.reshape(t, {x.shape[0], groups})); };
    return gradient.input_gradient(flat(mean_of(l, g, dims)), flat(mean_of_product(l, g, x_hat, dims)));
  });
  give_if(c, wanted(c, 1),
          [&] { return gradient.weight_gradient(gradient_type(c, 1, parameter), channel, {x.shape[1]}); });
  give_if(c, wanted(c, 2),
          [&] { return gradient.bias_gradient(gradient_type(c, 2, parameter), channel, {x.shape[1]}); });
}

struct BatchNormBackward {
  std::string grad = "grad_out";
  std::string inverse = "save_invstd";
  std::string train = "train";  // "": always
  std::string eps = "eps";
};

void batch_norm_backward(OpCall& c, const BatchNormBackward& names) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input"), grad = c.tensor(names.grad);
  const bool train = names.train.empty() || c.flag(names.train, true);
  const auto weight = c.tensor_if("weight");
  const SymbolicTensor mean = train ? c.tensor("save_mean") : c.tensor("running_mean");
  const SymbolicTensor inverse =
      train ? c.tensor(names.inverse) : inverse_deviation(l, c.tensor("running_var"), 1, c.number(names.eps, 1e-5));
  const auto channel = [&](const SymbolicTensor& t) { return per_channel(l, t, x.rank()); };
  const ReducedDims dims = all_but_channel(x.shape);
  const DType parameter = weight ? weight->dtype : mean.dtype;
  // The weight is one value per channel, so it multiplies the result instead of the gradient.
  const SymbolicTensor scale = channel(scaled(l, l.cast(inverse, compute_type(inverse.dtype)), weight));
  NormGradient gradient(l, {grad, x, {}, channel(mean), channel(inverse)});
  give_if(c, wanted(c, 0), [&] {
    if (!train)
      return l.map(x.dtype, x.shape, [&](const Indices& at) { return l.read(grad, at) * l.read_broadcast(scale, at); });
    const SymbolicTensor average = mean_of(l, grad, dims), dot = mean_of_product(l, grad, gradient.x_hat(), dims);
    return l.map(x.dtype, x.shape, [&](const Indices& at) {
      return (l.read(grad, at) - l.read_broadcast(average, at) -
              l.read(gradient.x_hat(), at) * l.read_broadcast(dot, at)) *
             l.read_broadcast(scale, at);
    });
  });
  give_if(c, wanted(c, 1),
          [&] { return gradient.weight_gradient(gradient_type(c, 1, parameter), dims, {x.shape[1]}); });
  give_if(c, wanted(c, 2), [&] { return gradient.bias_gradient(gradient_type(c, 2, parameter), dims, {x.shape[1]}); });
}

void weight_norm_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_w"), v = c.tensor("saved_v"), g = c.tensor("saved_g"),
                       norms = c.tensor("saved_norms");
  require(grad.shape == v.shape && v.rank() >= 1, "the gradient and the weight have one shape");
  const DType wide = compute_type(v.dtype);
  ReducedDims dims = all_dims(v.shape);
  dims.reduced[size_t(wrap_dim(c.integer("dim"), v.rank()))] = false;
  const SymbolicTensor dot = reduce_dims(l, wide, Reducer::sum, dims, true,
                                         [&](const Indices& at) { return l.read(grad, at) * l.read(v, at); });
  const SymbolicTensor norm = l.reshape(norms, dot.shape), length = l.reshape(g, dot.shape);
  const auto read = [&](const SymbolicTensor& t, const Indices& at) { return convert(l.read_broadcast(t, at), wide); };
  const SymbolicTensor scale =
      l.map(wide, dot.shape, [&](const Indices& i) { return read(length, i) / read(norm, i); });
  const SymbolicTensor along =
      l.map(wide, dot.shape, [&](const Indices& i) { return read(dot, i) / (read(norm, i) * read(norm, i)); });
  c.add_result(l.map(v.dtype, v.shape, [&](const Indices& at) {
    return (read(grad, at) - read(v, at) * read(along, at)) * read(scale, at);
  }));
  c.add_result(l.map(g.dtype, g.shape, [&](const Indices& i) {
    return read(l.reshape(dot, g.shape), i) / read(l.reshape(norms, g.shape), i);
  }));
}

}  // namespace

void register_normalisation_backward(Registry& r) {
  r.add("native_layer_norm_backward", "grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask",
        [](OpCall& c) { layer_norm_backward(c, true); });
  r.add("_fused_rms_norm_backward", "grad_out, input, normalized_shape, rstd, weight, output_mask",
        [](OpCall& c) { layer_norm_backward(c, false); });
  r.add("native_group_norm_backward", "grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask",
        group_norm_backward);
  r.add("native_batch_norm_backward",
        "grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask",
        [](OpCall& c) { batch_norm_backward(c, {}); });
  r.add("batch_norm_backward",
        "grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask, reserve",
        [](OpCall& c) { batch_norm_backward(c, {.inverse = "save_var", .train = "update"}); });
  r.add("cudnn_batch_norm_backward",
        "input, grad_output, weight, running_mean, running_var, save_mean, save_var, epsilon, reserveSpace",
        [](OpCall& c) {
          batch_norm_backward(c, {.grad = "grad_output", .inverse = "save_var", .train = "", .eps = "epsilon"});
        },
        {"miopen_batch_norm_backward"});
  r.add("_weight_norm_interface_backward", "grad_w, saved_v, saved_g, saved_norms, dim", weight_norm_backward,
        {"_weight_norm_differentiable_backward"});
}

}  // namespace lightline::ops
