// Elementwise operators that draw noise while training, and their gradients.
#include "ops/build/registry.h"

namespace lightline::ops {
namespace {

SymbolicTensor uniform(Lowering& l, const Shape& shape) {
  return l.opaque("random", {}, {{"distribution", std::string("uniform")}}, {{DType::f32, shape}})[0];
}

// The kept elements, scaled by 1 / (1 - p), and the mask of what is kept.
void native_dropout(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const double p = c.number("p", 0.5);
  require(p >= 0 && p <= 1, "the dropout probability is not between 0 and 1");
  if (!c.flag("train", true) || p == 0) {
    c.add_result(l.copy(x));
    return c.add_result(
        l.map(DType::boolean, x.shape, [&](const Indices&) { return l.literal(Literal::of_bool(true)); }));
  }
  const SymbolicTensor draws = uniform(l, x.shape);
  const SymbolicTensor mask = l.map(DType::boolean, x.shape, [&](const Indices& i) { return l.read(draws, i) >= p; });
  const double factor = p < 1 ? 1 / (1 - p) : 0;
  c.add_result(
      l.map(x.dtype, x.shape, [&](const Indices& i) { return select(l.read(mask, i), l.read(x, i) * factor, 0.0); }));
  c.add_result(mask);
}

void native_dropout_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output"), mask = c.tensor("mask");
  require(grad.shape == mask.shape, "the gradient and the mask have one shape");
  const double scale = c.number("scale", 1);
  const DType type = floating_type(grad.dtype);
  c.add_result(l.map(type, grad.shape, [&](const Indices& i) {
    return convert(l.read(grad, i), type) * convert(l.read(mask, i), type) * scale;
  }));
}

// A leaky relu whose slope is drawn for every element while training. `noise` holds the slopes.
struct Rrelu {
  double lower, upper;
  bool training;
};
Rrelu rrelu_call(const OpCall& c) {
  return {c.number("lower", 0.125), c.number("upper", 1.0 / 3), c.flag("training", false)};
}

Scalar leaky(Scalar x, Scalar value, double slope) { return select(x > 0.0, value, value * slope); }

SymbolicTensor slopes(Lowering& l, const SymbolicTensor& x, const Rrelu& r) {
  const SymbolicTensor draws = uniform(l, x.shape);
  return l.map(x.dtype, x.shape, [&](const Indices& i) {
    return select(l.read(x, i) <= 0.0, convert(l.read(draws, i), x.dtype) * (r.upper - r.lower) + r.lower, 1.0);
  });
}

enum class NoiseResult : uint8_t { none, written, returned };

void rrelu(OpCall& c, NoiseResult noise_result) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const Rrelu r = rrelu_call(c);
  if (!r.training) {
    c.add_result(l.map(x.dtype, x.shape,
                       [&](const Indices& i) { return leaky(l.read(x, i), l.read(x, i), (r.lower + r.upper) / 2); }));
    if (noise_result == NoiseResult::returned) c.add_result(l.copy(c.tensor("noise")));
    return;
  }
  const SymbolicTensor noise = slopes(l, x, r);
  c.add_result(l.map(x.dtype, x.shape, [&](const Indices& i) { return l.read(x, i) * l.read(noise, i); }));
  if (noise_result == NoiseResult::written) l.write(c.tensor("noise"), noise);
  if (noise_result == NoiseResult::returned) c.add_result(noise);
}

void rrelu_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output"), x = c.tensor("self");
  const Rrelu r = rrelu_call(c);
  const bool drawn = r.training && r.upper - r.lower > 1e-6;
  const SymbolicTensor noise = drawn ? c.tensor("noise") : x;
  require(grad.shape == x.shape && noise.shape == x.shape, "the gradient, the input and the noise have one shape");
  require(grad.dtype == x.dtype && noise.dtype == x.dtype, "the gradient, the input and the noise have one dtype");
  c.add_result(l.map(grad.dtype, grad.shape, [&](const Indices& i) {
    return drawn ? l.read(grad, i) * l.read(noise, i) : leaky(l.read(x, i), l.read(grad, i), (r.lower + r.upper) / 2);
  }));
}

}  // namespace

void register_noise(Registry& r) {
  r.add("native_dropout", "input, p, train", native_dropout);
  r.add("native_dropout_backward", "grad_output, mask, scale", native_dropout_backward);
  r.add("rrelu", "self, lower, upper, training", [](OpCall& c) { rrelu(c, NoiseResult::none); });
  r.add("rrelu_with_noise", "self, noise, lower, upper, training", [](OpCall& c) { rrelu(c, NoiseResult::written); });
  r.add("rrelu_with_noise_functional", "self, noise, lower, upper, training",
        [](OpCall& c) { rrelu(c, NoiseResult::returned); });
  r.add("rrelu_with_noise_backward", "grad_output, self, noise, lower, upper, training, self_is_result",
        rrelu_backward);
}

}  // namespace lightline::ops
