// Activation functions.
#include "ops/library/elementwise/activations.h"

#include "ops/library/elementwise/elementwise.h"

namespace lightline::ops {

EluScales selu_scales() { return {1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1}; }

Ex relu(Ex x) { return max(x, 0.0); }

Ex leaky_relu(Ex x, double slope) { return select(x > 0.0, x, x * slope); }

Ex elu(Ex x, const EluScales& s) {
  const Ex below = call(Function::expm1, s.input_scale == 1 ? x : x * s.input_scale) * (s.alpha * s.scale);
  return select(x > 0.0, s.scale == 1 ? x : x * s.scale, below);
}

Ex gelu(Ex x, bool tanh_approximation) { return call(tanh_approximation ? Function::gelu_tanh : Function::gelu, x); }

Ex softplus(Ex x, double beta, double threshold) {
  const Ex scaled = beta == 1 ? x : x * beta;
  const Ex smooth = call(Function::softplus, scaled);
  return select(scaled > threshold, x, beta == 1 ? smooth : smooth / beta);
}

Ex mish(Ex x) { return x * call(Function::tanh, call(Function::softplus, x)); }

Ex log_sigmoid(Ex x) { return min(x, 0.0) - call(Function::log1p, call(Function::exp, -call(Function::abs, x))); }

double shrink_width(OpCall& c) { return round_to(c.tensor("self").dtype, c.number("lambd", 0.5)); }

namespace {

bool tanh_approximation(OpCall& c) {
  const std::string approximate = c.text("approximate", "none");
  require(approximate == "none" || approximate == "tanh", "'approximate' is neither 'none' nor 'tanh'");
  return approximate == "tanh";
}

void define_prelu(OpCall& c) {
  const Tensor x = c.tensor("self");
  Tensor weight = c.tensor("weight");
  if (weight.rank() == 1 && weight.shape[0] != 1 && x.rank() >= 2 &&
      c.node().target.find("_prelu_kernel") == std::string::npos) {
    require(weight.shape[0] == x.shape[1], "prelu needs one weight, or one per channel");
    Shape shape(x.shape.size(), 1);
    shape[1] = weight.shape[0];
    weight = c.lowering().reshape(weight, std::move(shape));
  } else if (weight.size() == 1) {
    weight = c.lowering().reshape(weight, {});
  }
  require(broadcast(x.shape, weight.shape) == x.shape, "the weights of prelu do not fit the tensor");
  c.give(c.lowering().map(x.dtype, x.shape, [&](const Indices& i) {
    const Ex value = c.lowering().read(x, i);
    return select(value > 0.0, value, value * c.lowering().read_broadcast(weight, i));
  }));
}

void define_glu(OpCall& c) {
  Lowering& l = c.lowering();
  const Tensor x = c.tensor("self");
  const int64_t dim = wrap_dim(c.integer("dim", -1), x.rank());
  require(x.rank() > 0 && x.shape[size_t(dim)] % 2 == 0, "glu halves a dimension of even size");
  const int64_t half = x.shape[size_t(dim)] / 2;
  const Tensor value = l.slice(x, dim, 0, half), gate = l.slice(x, dim, half, half);
  c.give(l.map(x.dtype, value.shape, [&](const Indices& i) { return l.read(value, i) * sigmoid_of(l.read(gate, i)); }));
}

void define_log_sigmoid_forward(OpCall& c) {
  unary(c, Promotion::same, log_sigmoid);
  // what the backward pass may reuse; empty on devices that recompute it
  const auto recorded = c.recorded(1);
  const Tensor x = c.tensor("self");
  if (recorded && recorded->shape != x.shape) {
    c.give(c.lowering().map(recorded->dtype, recorded->shape,
                            [&](const Indices&) { return c.lowering().literal(Literal::of(int64_t(0))); }));
    return;
  }
  unary(c, Promotion::same, [](Ex v) { return call(Function::exp, -call(Function::abs, v)); });
}

Ex hard_sigmoid(Ex x) { return clamped(x + 3.0, 0, 6) / 6.0; }

void register_plain(Registry& r) {
  const auto add = [&](const char* name, Ex (*body)(Ex), std::vector<std::string> aliases = {}) {
    r.add(
        name, "self", [body](OpCall& c) { unary(c, Promotion::same, body); }, std::move(aliases));
  };
  add("relu", relu);
  add("relu6", [](Ex x) { return clamped(x, 0, 6); });
  add("silu", [](Ex x) { return call(Function::silu, x); });
  add("mish", mish);
  add("selu", [](Ex x) { return elu(x, selu_scales()); });
  add("hardsigmoid", hard_sigmoid);
  add("hardswish", [](Ex x) { return x * hard_sigmoid(x); });
  add("log_sigmoid", log_sigmoid, {"logsigmoid"});
  add("softsign", [](Ex x) { return x / (call(Function::abs, x) + 1.0); });
  add("tanhshrink", [](Ex x) { return x - call(Function::tanh, x); });
}

}  // namespace

void register_activations(Registry& r) {
  register_plain(r);
  r.add("leaky_relu", "self, negative_slope", [](OpCall& c) {
    unary(c, Promotion::same, [&](Ex x) { return leaky_relu(x, c.number("negative_slope", 0.01)); });
  });
  r.add("prelu", "self, weight", define_prelu, {"_prelu_kernel"});
  r.add("elu", "self, alpha, scale, input_scale", [](OpCall& c) {
    const EluScales scales{c.number("alpha", 1), c.number("scale", 1), c.number("input_scale", 1)};
    unary(c, Promotion::same, [&](Ex x) { return elu(x, scales); });
  });
  r.add("celu", "self, alpha", [](OpCall& c) {
    const double alpha = c.number("alpha", 1);
    require(alpha != 0, "celu divides by 'alpha', which is 0");
    unary(c, Promotion::same, [&](Ex x) { return elu(x, {alpha, 1, 1 / alpha}); });
  });
  r.add("gelu", "self, approximate",
        [](OpCall& c) { unary(c, Promotion::same, [tanh = tanh_approximation(c)](Ex x) { return gelu(x, tanh); }); });
  r.add("hardtanh", "self, min_val, max_val", [](OpCall& c) {
    unary(c, Promotion::same, [&](Ex x) { return clamped(x, c.number("min_val", -1), c.number("max_val", 1)); });
  });
  r.add("softplus", "self, beta, threshold", [](OpCall& c) {
    unary(c, Promotion::same, [&](Ex x) { return softplus(x, c.number("beta", 1), c.number("threshold", 20)); });
  });
  r.add("threshold", "self, threshold, value", [](OpCall& c) {
    unary(c, Promotion::same, [&](Ex x) { return select(x <= c.number("threshold", 0), c.number("value", 0), x); });
  });
  r.add("hardshrink", "self, lambd", [](OpCall& c) {
    const double lambd = shrink_width(c);
    unary(c, Promotion::same, [&](Ex x) { return select(x >= -lambd && x <= lambd, 0.0, x); });
  });
  r.add("softshrink", "self, lambd", [](OpCall& c) {
    const double lambd = shrink_width(c);
    unary(c, Promotion::same,
          [&](Ex x) { return select(x > lambd, x - lambd, select(x < -lambd, x + lambd, x * 0.0)); });
  });
  r.add("glu", "self, dim", define_glu);
  r.add("log_sigmoid_forward", "self", define_log_sigmoid_forward);
}

}  // namespace lightline::ops
