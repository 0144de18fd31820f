// Activation functions.
#include "ops/library/elementwise/activations.h"

#include <cmath>

#include "ops/library/elementwise/elementwise.h"

namespace lightline::ops {

EluScales selu_scales() { return {1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1}; }

Scalar relu(Scalar x) { return max(x, 0.0); }

Scalar leaky_relu(Scalar x, double slope) { return select(x > 0.0, x, x * slope); }

Scalar elu(Scalar x, const EluScales& s) {
  const Scalar below = call(Function::expm1, s.input_scale == 1 ? x : x * s.input_scale) * (s.alpha * s.scale);
  return select(x > 0.0, s.scale == 1 ? x : x * s.scale, below);
}

Scalar gelu(Scalar x, bool tanh_approximation) {
  return call(tanh_approximation ? Function::gelu_tanh : Function::gelu, x);
}

Scalar softplus(Scalar x, double beta, double threshold) {
  const Scalar scaled = beta == 1 ? x : x * beta;
  const Scalar smooth = call(Function::softplus, scaled);
  return select(scaled > threshold, x, beta == 1 ? smooth : smooth / beta);
}

Scalar mish(Scalar x) { return x * call(Function::tanh, call(Function::softplus, x)); }

Scalar log_sigmoid(Scalar x) {
  return min(x, 0.0) - call(Function::log1p, call(Function::exp, -call(Function::abs, x)));
}

double shrink_width(OpCall& c) { return round_to(c.tensor("self").dtype, c.number("lambd", 0.5)); }

namespace {

bool tanh_approximation(OpCall& c) {
  const std::string approximate = c.text("approximate", "none");
  require(approximate == "none" || approximate == "tanh", "'approximate' is neither 'none' nor 'tanh'");
  return approximate == "tanh";
}

void define_prelu(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  SymbolicTensor weight = c.tensor("weight");
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
  c.add_result(c.lowering().map(x.dtype, x.shape, [&](const Indices& i) {
    const Scalar value = c.lowering().read(x, i);
    return select(value > 0.0, value, value * c.lowering().read_broadcast(weight, i));
  }));
}

void define_glu(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const int64_t dim = wrap_dim(c.integer("dim", -1), x.rank());
  require(x.rank() > 0 && x.shape[size_t(dim)] % 2 == 0, "glu halves a dimension of even size");
  const int64_t half = x.shape[size_t(dim)] / 2;
  const SymbolicTensor value = l.slice(x, dim, 0, half), gate = l.slice(x, dim, half, half);
  c.add_result(
      l.map(x.dtype, value.shape, [&](const Indices& i) { return l.read(value, i) * sigmoid_of(l.read(gate, i)); }));
}

void define_log_sigmoid_forward(OpCall& c) {
  unary(c, Promotion::same, log_sigmoid);
  // what the backward pass may reuse; empty on devices that recompute it
  const auto recorded = c.recorded(1);
  const SymbolicTensor x = c.tensor("self");
  if (recorded && recorded->shape != x.shape) {
    c.add_result(c.lowering().map(recorded->dtype, recorded->shape,
                                  [&](const Indices&) { return c.lowering().literal(Literal::of(int64_t(0))); }));
    return;
  }
  unary(c, Promotion::same, [](Scalar v) { return call(Function::exp, -call(Function::abs, v)); });
}

Scalar hard_sigmoid(Scalar x) { return clamped(x + 3.0, 0, 6) / 6.0; }

void register_plain(Registry& r) {
  const auto add = [&](const char* name, Scalar (*body)(Scalar), std::vector<std::string> aliases = {}) {
    r.add(
        name, "self", [body](OpCall& c) { unary(c, Promotion::same, body); }, std::move(aliases));
  };
  add("relu", relu);
  add("relu6", [](Scalar x) { return clamped(x, 0, 6); });
  add("silu", [](Scalar x) { return x.type == DType::c64 ? x * sigmoid_of(x) : call(Function::silu, x); });
  add("mish", mish);
  add("selu", [](Scalar x) { return elu(x, selu_scales()); });
  add("hardsigmoid", hard_sigmoid);
  add("hardswish", [](Scalar x) { return x * hard_sigmoid(x); });
  add("log_sigmoid", log_sigmoid, {"logsigmoid"});
  add("softsign", [](Scalar x) { return x / (call(Function::abs, x) + 1.0); });
  add("tanhshrink", [](Scalar x) { return x - call(Function::tanh, x); });
}

}  // namespace

void register_activations(Registry& r) {
  register_plain(r);
  r.add("leaky_relu", "self, negative_slope", [](OpCall& c) {
    unary(c, Promotion::same, [&](Scalar x) { return leaky_relu(x, c.number("negative_slope", 0.01)); });
  });
  r.add("prelu", "self, weight", define_prelu, {"_prelu_kernel"});
  r.add("elu", "self, alpha, scale, input_scale", [](OpCall& c) {
    const EluScales scales{c.number("alpha", 1), c.number("scale", 1), c.number("input_scale", 1)};
    unary(c, Promotion::same, [&](Scalar x) { return elu(x, scales); });
  });
  r.add("celu", "self, alpha", [](OpCall& c) {
    const double alpha = c.number("alpha", 1);
    require(alpha != 0, "celu divides by 'alpha', which is 0");
    unary(c, Promotion::same, [&](Scalar x) { return elu(x, {alpha, 1, 1 / alpha}); });
  });
  r.add("gelu", "self, approximate", [](OpCall& c) {
    unary(c, Promotion::same, [tanh = tanh_approximation(c)](Scalar x) { return gelu(x, tanh); });
  });
  r.add("hardtanh", "self, min_val, max_val", [](OpCall& c) {
    unary(c, Promotion::same, [&](Scalar x) {
      const double low = c.number("min_val", -1), high = c.number("max_val", 1);
      return is_integer(x.type) ? clamped(x, std::trunc(low) + 0.0, std::trunc(high) + 0.0) : clamped(x, low, high);
    });
  });
  r.add("softplus", "self, beta, threshold", [](OpCall& c) {
    unary(c, Promotion::same, [&](Scalar x) { return softplus(x, c.number("beta", 1), c.number("threshold", 20)); });
  });
  r.add("threshold", "self, threshold, value", [](OpCall& c) {
    unary(c, Promotion::same, [&](Scalar x) { return select(x <= c.number("threshold", 0), c.number("value", 0), x); });
  });
  r.add("hardshrink", "self, lambd", [](OpCall& c) {
    const double lambd = shrink_width(c);
    unary(c, Promotion::same, [&](Scalar x) { return select(x >= -lambd && x <= lambd, 0.0, x); });
  });
  r.add("softshrink", "self, lambd", [](OpCall& c) {
    const double lambd = shrink_width(c);
    unary(c, Promotion::same,
          [&](Scalar x) { return select(x > lambd, x - lambd, select(x < -lambd, x + lambd, x * 0.0)); });
  });
  r.add("glu", "self, dim", define_glu);
  r.add("log_sigmoid_forward", "self", define_log_sigmoid_forward);
}

}  // namespace lightline::ops
