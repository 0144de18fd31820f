// Gradients of activation functions, as autograd calls them.
#include <cmath>
#include <numbers>

#include "ops/library/elementwise/activations.h"
#include "ops/library/elementwise/elementwise.h"

namespace lightline::ops {
namespace {

// gradient * slope(x), in the promoted dtype.
void backward(OpCall& c, const BinaryBody& body, std::string_view of = "self",
              std::string_view gradient = "grad_output") {
  binary(c, Promotion::same, body, gradient, of);
}

Scalar zero_if(Scalar condition, Scalar gradient) { return select(condition, 0.0, gradient); }

Scalar gelu_slope(Scalar x) {
  const Scalar density = call(Function::exp, x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  const Scalar share = 0.5 * (call(Function::erf, x * (1 / std::numbers::sqrt2)) + 1.0);
  return share + x * density;
}

Scalar gelu_tanh_slope(Scalar x) {
  const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kappa = 0.044715;
  const Scalar inner = call(Function::tanh, beta * (x + kappa * (x * x * x)));
  const Scalar left = 0.5 * (1.0 + inner);
  const Scalar slope_of_inner = (1.0 - inner * inner) * (beta * (1.0 + (3 * kappa) * (x * x)));
  return left + 0.5 * x * slope_of_inner;
}

Scalar mish_slope(Scalar x) {
  const Scalar inner = call(Function::tanh, call(Function::softplus, x));
  return inner + x * sigmoid_of(x) * (1.0 - inner * inner);
}

Scalar silu_slope(Scalar x) {
  const Scalar gate = sigmoid_of(x);
  return gate * (1.0 + x * (1.0 - gate));
}

void define_elu_backward(OpCall& c) {
  const double alpha = c.number("alpha", 1), scale = c.number("scale", 1), input_scale = c.number("input_scale", 1);
  const bool is_result = c.flag("is_result", false);
  backward(
      c,
      [&](Scalar g, Scalar x) {
        const Scalar below = is_result ? g * input_scale * (x + alpha * scale)
                                       : g * (input_scale * alpha * scale) * call(Function::exp, x * input_scale);
        return select(x <= 0.0, below, g * scale);
      },
      "self_or_result");
}

void define_glu_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), gradient = c.tensor("grad_output");
  const int64_t dim = wrap_dim(c.integer("dim", -1), x.rank());
  require(x.rank() > 0 && x.shape[size_t(dim)] % 2 == 0, "glu halves a dimension of even size");
  const int64_t half = x.shape[size_t(dim)] / 2;
  const SymbolicTensor value = l.slice(x, dim, 0, half), gate = l.slice(x, dim, half, half);
  require(gradient.shape == value.shape, "the gradient does not have the shape of glu's result");
  c.add_result(l.map(x.dtype, x.shape, [&](const Indices& i) {
    Indices at = i;
    at[size_t(dim)] = mod(i[size_t(dim)], std::max<int64_t>(half, 1));
    const Scalar g = l.read(gradient, at), s = sigmoid_of(l.read(gate, at));
    return select(l.value(i[size_t(dim)]) < double(half), g * s, g * l.read(value, at) * s * (1.0 - s));
  }));
}

void define_prelu_backward(OpCall& c) {
  const std::vector<Operand> operands = {c.operand("grad_output"), c.operand("self"), c.operand("weight")};
  elementwise_of(c, operands, Promotion::same,
                 [](const std::vector<Scalar>& v) { return select(v[1] > 0.0, v[0], v[2] * v[0]); });
  elementwise_of(c, {operands[0], operands[1]}, Promotion::same,
                 [](const std::vector<Scalar>& v) { return select(v[1] > 0.0, 0.0, v[1] * v[0]); });
}

void define_logit_backward(OpCall& c) {
  const bool bounded = c.has("eps");
  const DType dtype = c.tensor("self").dtype;
  const double low = round_to(dtype, c.number("eps", 0)), high = round_to(dtype, 1 - low);
  backward(c, [&](Scalar g, Scalar x) {
    const Scalar slope = g / (x * (1.0 - x));
    if (bounded) return select(x < low || x > high, 0.0, slope);
    return select(x < 0.0 || x > 1.0, std::nan(""), slope);
  });
}

}  // namespace

void register_activations_backward(Registry& r) {
  const auto scaled = [&](const char* name, const char* of, Scalar (*slope)(Scalar)) {
    r.add(name, std::string("grad_output, ") + of, [=](OpCall& c) {
      backward(
          c, [&](Scalar g, Scalar x) { return g * slope(x); }, of);
    });
  };
  scaled("sigmoid_backward", "output", [](Scalar y) { return y * (1.0 - y); });
  scaled("tanh_backward", "output", [](Scalar y) { return 1.0 - y * y; });
  scaled("silu_backward", "self", silu_slope);
  scaled("mish_backward", "self", mish_slope);
  r.add("log_sigmoid_backward", "grad_output, self, buffer",
        [](OpCall& c) { backward(c, [](Scalar g, Scalar x) { return g * sigmoid_of(-x); }); });
  r.add("gelu_backward", "grad_output, self, approximate", [](OpCall& c) {
    const bool tanh = c.text("approximate", "none") == "tanh";
    backward(c, [&](Scalar g, Scalar x) { return g * (tanh ? gelu_tanh_slope(x) : gelu_slope(x)); });
  });
  r.add("threshold_backward", "grad_output, self, threshold",
        [](OpCall& c) { backward(c, [&](Scalar g, Scalar x) { return zero_if(x <= c.number("threshold", 0), g); }); });
  r.add("leaky_relu_backward", "grad_output, self, negative_slope, self_is_result", [](OpCall& c) {
    backward(c, [&](Scalar g, Scalar x) { return select(x > 0.0, g, g * c.number("negative_slope", 0.01)); });
  });
  r.add("hardtanh_backward", "grad_output, self, min_val, max_val", [](OpCall& c) {
    backward(
        c, [&](Scalar g, Scalar x) { return zero_if(x <= c.number("min_val", -1) || x >= c.number("max_val", 1), g); });
  });
  r.add("hardsigmoid_backward", "grad_output, self", [](OpCall& c) {
    backward(c, [](Scalar g, Scalar x) { return select(x > -3.0 && x < 3.0, g * (1.0 / 6), 0.0); });
  });
  r.add("hardswish_backward", "grad_output, self", [](OpCall& c) {
    backward(c, [](Scalar g, Scalar x) { return select(x <= -3.0, 0.0, select(x < 3.0, g * (x / 3.0 + 0.5), g)); });
  });
  r.add("softplus_backward", "grad_output, self, beta, threshold", [](OpCall& c) {
    const double beta = c.number("beta", 1), threshold = c.number("threshold", 20);
    backward(c, [&](Scalar g, Scalar x) { return select(x * beta > threshold, g, g * sigmoid_of(x * beta)); });
  });
  const auto shrink = [&](const char* name, const char* gradient) {
    r.add(name, std::string(gradient) + ", self, lambd", [gradient](OpCall& c) {
      const double lambd = shrink_width(c);
      backward(
          c, [&](Scalar g, Scalar x) { return zero_if(x >= -lambd && x <= lambd, g); }, "self", gradient);
    });
  };
  shrink("hardshrink_backward", "grad_out");
  shrink("softshrink_backward", "grad_output");
  r.add("elu_backward", "grad_output, alpha, scale, input_scale, is_result, self_or_result", define_elu_backward);
  r.add("glu_backward", "grad_output, self, dim", define_glu_backward);
  r.add("_prelu_kernel_backward", "grad_output, self, weight", define_prelu_backward);
  r.add("logit_backward", "grad_output, self, eps", define_logit_backward);
}

}  // namespace lightline::ops
