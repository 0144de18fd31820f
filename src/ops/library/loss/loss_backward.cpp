// Gradients of losses. The gradient of a reduced loss is one number, which broadcasts.
#include <fmt/format.h>

#include "ops/library/loss/loss.h"

namespace lightline::ops {
namespace {

using PairGradient = std::function<Scalar(Scalar x, Scalar target)>;

// grad_output * d(x, target), over the number of elements for a mean.
void pair_backward(OpCall& c, const PairGradient& derivative) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output"), x = c.tensor("self"), target = c.tensor("target");
  const auto weight = c.tensor_if("weight");
  const Shape shape = broadcast(broadcast(x.shape, target.shape), grad.shape);
  if (weight) require_broadcasts(*weight, shape, "the weight");
  const DType type = result_type({{x, {}}, {target, {}}, {grad, {}}}), wide = compute_type(type);
  const double share = loss_reduction(c) == LossReduction::mean ? 1 / double(product(shape)) : 1;
  const auto read = [&](const SymbolicTensor& t, const Indices& at) { return convert(l.read_broadcast(t, at), wide); };
  // what multiplies every element is scaled once
  const bool one_grad = grad.size() == 1 && share != 1;
  const SymbolicTensor scaled =
      one_grad ? l.map(wide, grad.shape, [&](const Indices& i) { return l.read(grad, i) * share; }) : grad;
  c.add_result(l.map(type, shape, [&](const Indices& at) {
    Scalar value = derivative(read(x, at), read(target, at)) * read(scaled, at);
    if (weight) value = value * read(*weight, at);
    return share != 1 && !one_grad ? value * share : value;
  }));
}

Scalar clamped(Scalar x, double bound) { return min(max(x, -bound), bound); }

void smooth_l1_backward(OpCall& c) {
  const double beta = c.number("beta", 1);
  pair_backward(
      c, [&](Scalar x, Scalar t) { return beta == 0 ? call(Function::sign, x - t) : clamped((x - t) / beta, 1); });
}

void huber_backward(OpCall& c) {
  const double delta = c.number("delta", 1);
  pair_backward(c, [&](Scalar x, Scalar t) { return clamped(x - t, delta); });
}

Scalar soft_margin_derivative(Scalar x, Scalar t) { return -(t * call(Function::sigmoid, -(t * x))); }

// The gradient reaches the score of the label only.
void nll_loss_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const Labels s = labels_of(c);
  const SymbolicTensor grad = c.tensor("grad_output");
  const LossReduction reduction = loss_reduction(c);
  const DType type = s.scores.dtype, wide = compute_type(type);
  const auto total = c.tensor_if("total_weight");
  const bool one_grad = reduction != LossReduction::none;
  const bool fits = one_grad || s.scores.rank() == 1 ? grad.size() == 1 : grad.shape == s.labels.shape;
  require(fits && (!total || total->size() == 1),
          fmt::format("the gradient is {} for labels of shape {}", to_string(grad.shape), to_string(s.labels.shape)));
  const auto gradient = [&](const Indices& at) {
    const Scalar own =
        convert(one_grad || s.scores.rank() == 1 ? l.read(l.reshape(grad, {}), {}) : l.read(grad, at), wide);
    return reduction == LossReduction::mean && total ? own / convert(l.read(l.reshape(*total, {}), {}), wide) : own;
  };
  SymbolicTensor unit;
  if (one_grad) unit = l.map(wide, {}, gradient);
  c.add_result(l.scatter(
      type, s.scores.shape, Literal::of(int64_t(0)), Reducer::set, s.labels.shape,
      [&](const Indices& at) {
        const Scalar label = convert(l.read(s.labels, at), DType::i64);
        const Subscript place = l.index(select(s.counts(l, at), label, -1.0));
        const Scalar value = one_grad ? l.read(unit, {}) : gradient(at);
        return ScatterWrite{s.scores_at(at, place), -(s.weight ? value * s.label_weight(l, at) : value)};
      },
      true));
}

}  // namespace

void register_loss_backward(Registry& r) {
  const std::string operands = "grad_output, self, target, ";
  r.add("mse_loss_backward", operands + "reduction",
        [](OpCall& c) { pair_backward(c, [](Scalar x, Scalar t) { return (x - t) * 2.0; }); });
  r.add("l1_loss_backward", operands + "reduction",
        [](OpCall& c) { pair_backward(c, [](Scalar x, Scalar t) { return call(Function::sign, x - t); }); });
  r.add("smooth_l1_loss_backward", operands + "reduction, beta", smooth_l1_backward);
  r.add("huber_loss_backward", operands + "reduction, delta", huber_backward);
  r.add("soft_margin_loss_backward", operands + "reduction",
        [](OpCall& c) { pair_backward(c, soft_margin_derivative); });
  r.add("binary_cross_entropy_backward", operands + "weight, reduction",
        [](OpCall& c) { pair_backward(c, [](Scalar x, Scalar t) { return (x - t) / max((1.0 - x) * x, 1e-12); }); });
  r.add("nll_loss_backward", operands + "weight, reduction, ignore_index, total_weight", nll_loss_backward,
        {"nll_loss2d_backward"});
}

}  // namespace lightline::ops
