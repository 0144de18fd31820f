// Losses that compare elements, or pairs and triples of vectors.
#include "ops/library/loss/loss.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace lightline::ops {

LossReduction loss_reduction(const OpCall& c) {
  const std::string text = c.text("reduction", "");
  const int64_t code = !text.empty() ? (text == "none"   ? 0
                                        : text == "mean" ? 1
                                        : text == "sum"  ? 2
                                                         : -1)
                                     : c.integer("reduction", 1);
  if (code < 0 || code > 2) fail(fmt::format("there is no reduction '{}'", text.empty() ? std::to_string(code) : text));
  return LossReduction(code);
}

SymbolicTensor reduced_loss(Lowering& l, DType dtype, const Shape& shape, LossReduction reduction,
                            const ElementAt& element) {
  switch (reduction) {
    case LossReduction::none: return l.map(dtype, shape, element);
    case LossReduction::sum: return reduce_dims(l, dtype, Reducer::sum, all_dims(shape), false, element);
    case LossReduction::mean: break;
  }
  return mean_dims(l, dtype, all_dims(shape), false, element);
}

namespace {

using PairLoss = std::function<Scalar(Scalar x, Scalar target)>;

// A loss of two tensors, element by element.
SymbolicTensor pair_loss(Lowering& l, const SymbolicTensor& x, const SymbolicTensor& target, LossReduction reduction,
                         const PairLoss& loss, bool of_integers) {
  const DType given = result_type({{x, {}}, {target, {}}}), type = of_integers ? given : floating_type(given),
              wide = compute_type(type);
  return reduced_loss(l, real_type(type), broadcast(x.shape, target.shape), reduction, [&](const Indices& at) {
    return loss(convert(l.read_broadcast(x, at), wide), convert(l.read_broadcast(target, at), wide));
  });
}
// Integers stay integers, or become f32 first.
void pair_loss(OpCall& c, std::string_view first, std::string_view second, const PairLoss& loss,
               bool of_integers = true) {
  c.add_result(pair_loss(c.lowering(), c.tensor(first), c.tensor(second), loss_reduction(c), loss, of_integers));
}

Scalar square(Scalar x) { return x * x; }
Scalar positive_part(Scalar x) { return max(x, 0.0); }

void smooth_l1(OpCall& c) {
  const double beta = c.number("beta", 1);
  pair_loss(c, "self", "target", [&](Scalar x, Scalar t) {
    const Scalar z = call(Function::abs, x - t);
    return beta == 0 ? z : select(z < beta, z * z * (0.5 / beta), z - 0.5 * beta);
  });
}

void huber(OpCall& c) {
  const double delta = c.number("delta", 1);
  pair_loss(c, "self", "target", [&](Scalar x, Scalar t) {
    const Scalar z = call(Function::abs, x - t);
    return select(z <= delta, z * z * 0.5, (z - 0.5 * delta) * delta);
  });
}

// A pair loss times an optional weight of its own shape.
void weighted_pair_loss(OpCall& c, const std::function<Scalar(Scalar x, Scalar target, const Indices& at)>& loss) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), target = c.tensor("target");
  const auto weight = c.tensor_if("weight");
  const DType type = x.dtype, wide = compute_type(type);
  const Shape shape = broadcast(x.shape, target.shape);
  if (weight) require_broadcasts(*weight, shape, "the weight");
  if (const auto positive = c.tensor_if("pos_weight")) require_broadcasts(*positive, shape, "the weight of positives");
  c.add_result(reduced_loss(l, type, shape, loss_reduction(c), [&](const Indices& at) {
    const Scalar value = loss(l.read_broadcast(x, at), convert(l.read_broadcast(target, at), wide), at);
    return weight ? value * convert(l.read_broadcast(*weight, at), wide) : value;
  }));
}

void binary_cross_entropy(OpCall& c) {
  weighted_pair_loss(c, [](Scalar x, Scalar t, const Indices&) {
    const Scalar yes = max(call(Function::log, x), -100.0), no = max(call(Function::log1p, -x), -100.0);
    return (t - 1.0) * no - t * yes;
  });
}

void binary_cross_entropy_with_logits(OpCall& c) {
  Lowering& l = c.lowering();
  const auto positive = c.tensor_if("pos_weight");
  weighted_pair_loss(c, [&](Scalar x, Scalar t, const Indices& at) {
    const Scalar miss = call(Function::softplus, -x);
    if (!positive) return (1.0 - t) * x + miss;
    return (1.0 - t) * x + ((convert(l.read_broadcast(*positive, at), x.type) - 1.0) * t + 1.0) * miss;
  });
}

void kl_div(OpCall& c) {
  Lowering& l = c.lowering();
  const bool log_target = c.flag("log_target", false);
  const auto loss = [&](Scalar x, Scalar t) {
    if (log_target) return call(Function::exp, t) * (t - x);
    return select(t == 0.0, 0.0, t * call(Function::log, t)) - t * x;
  };
  if (c.text("reduction", "") != "batchmean") return pair_loss(c, "self", "target", loss);
  const SymbolicTensor x = c.tensor("self"), sum = pair_loss(l, x, c.tensor("target"), LossReduction::sum, loss, true);
  require(x.rank() >= 1, "a mean over a batch needs a batch");
  c.add_result(l.map(sum.dtype, {}, [&](const Indices&) { return l.read(sum, {}) / double(x.shape[0]); }));
}

void poisson_nll(OpCall& c) {
  const bool log_input = c.flag("log_input", true), full = c.flag("full", false);
  const double eps = c.number("eps", 1e-8);
  pair_loss(
      c, "input", "target",
      [&](Scalar x, Scalar t) {
        const Scalar loss = log_input ? call(Function::exp, x) - t * x : x - t * call(Function::log, x + eps);
        if (!full) return loss;
        const Scalar stirling = t * call(Function::log, t) - t + call(Function::log, t * (2 * std::numbers::pi)) * 0.5;
        return loss + select(t <= 1.0, 0.0, stirling);
      },
      false);
}

void hinge_embedding(OpCall& c) {
  const double margin = c.number("margin", 1);
  pair_loss(c, "self", "target", [&](Scalar x, Scalar t) {
    return select(t != 1.0, positive_part(margin - x), 0.0) + select(t != -1.0, x, 0.0);
  });
}

void margin_ranking(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor a = c.tensor("input1"), b = c.tensor("input2"), target = c.tensor("target");
  const double margin = c.number("margin", 0);
  const DType type = floating_type(result_type({{a, {}}, {b, {}}, {target, {}}})), wide = compute_type(type);
  c.add_result(reduced_loss(
      l, type, broadcast(broadcast(a.shape, b.shape), target.shape), loss_reduction(c), [&](const Indices& at) {
        const auto read = [&](const SymbolicTensor& t) { return convert(l.read_broadcast(t, at), wide); };
        return positive_part(read(target) * (read(b) - read(a)) + margin);
      }));
}

// ---- of vectors ----

// |a - b + eps|_p along the last dimension.
SymbolicTensor pair_distance(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b, double p, double eps) {
  const Shape shape = broadcast(a.shape, b.shape);
  require(!shape.empty(), "a distance needs tensors of rank 1 or more");
  const DType wide = compute_type(floating_type(a.dtype));
  return vector_norm(l, real_type(wide), p, reduced_dims(shape, {-1}), false, [&](const Indices& at) {
    return convert(l.read_broadcast(a, at), wide) - convert(l.read_broadcast(b, at), wide) + eps;
  });
}

void triplet_margin(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor anchor = c.tensor("anchor"), positive = c.tensor("positive"), negative = c.tensor("negative");
  const double p = c.number("p", 2), eps = c.number("eps", 1e-6), margin = c.number("margin", 1);
  const bool swap = c.flag("swap", false);
  const SymbolicTensor near = pair_distance(l, anchor, positive, p, eps),
                       far = pair_distance(l, anchor, negative, p, eps);
  const SymbolicTensor other = swap ? pair_distance(l, positive, negative, p, eps) : far;
  c.add_result(reduced_loss(l, real_type(floating_type(anchor.dtype)), broadcast(near.shape, far.shape),
                            loss_reduction(c), [&](const Indices& at) {
                              const Scalar distance = swap ? min(l.read_broadcast(far, at), l.read_broadcast(other, at))
                                                           : l.read_broadcast(far, at);
                              return positive_part(l.read_broadcast(near, at) - distance + margin);
                            }));
}

void cosine_embedding(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor a = c.tensor("input1"), b = c.tensor("input2"), target = c.tensor("target");
  const DType type = floating_type(result_type({{a, {}}, {b, {}}})), wide = compute_type(type);
  const Shape shape = broadcast(a.shape, b.shape);
  require(!shape.empty(), "a cosine needs tensors of rank 1 or more");
  const ReducedDims dims = reduced_dims(shape, {target.shape.empty() ? 0 : 1});
  const auto dot = [&](const SymbolicTensor& u, const SymbolicTensor& v) {
    return reduce_dims(l, wide, Reducer::sum, dims, false, [&](const Indices& at) {
      return convert(l.read_broadcast(u, at), wide) * convert(l.read_broadcast(v, at), wide);
    });
  };
  const SymbolicTensor product = dot(a, b), length_a = dot(a, a), length_b = dot(b, b);
  const double margin = c.number("margin", 0), eps = 1e-12;
  c.add_result(reduced_loss(l, type, broadcast(product.shape, target.shape), loss_reduction(c), [&](const Indices& at) {
    const auto read = [&](const SymbolicTensor& t) { return l.read_broadcast(t, at); };
    const Scalar cosine = read(product) / call(Function::sqrt, (read(length_a) + eps) * (read(length_b) + eps));
    const Scalar sign = convert(read(target), wide);
    return select(sign == 1.0, 1.0 - cosine, select(sign == -1.0, positive_part(cosine - margin), 0.0));
  }));
}

}  // namespace

void register_loss(Registry& r) {
  r.add("mse_loss", "self, target, reduction",
        [](OpCall& c) { pair_loss(c, "self", "target", [](Scalar x, Scalar t) { return square(x - t); }); });
  r.add("l1_loss", "self, target, reduction", [](OpCall& c) {
    pair_loss(c, "self", "target", [](Scalar x, Scalar t) { return call(Function::abs, x - t); });
  });
  r.add("smooth_l1_loss", "self, target, reduction, beta", smooth_l1);
  r.add("huber_loss", "self, target, reduction, delta", huber);
  r.add("binary_cross_entropy", "self, target, weight, reduction", binary_cross_entropy);
  r.add("binary_cross_entropy_with_logits", "self, target, weight, pos_weight, reduction",
        binary_cross_entropy_with_logits);
  r.add("kl_div", "self, target, reduction, log_target", kl_div);
  r.add("poisson_nll_loss", "input, target, log_input, full, eps, reduction", poisson_nll);
  r.add("soft_margin_loss", "self, target, reduction", [](OpCall& c) {
    pair_loss(c, "self", "target",
              [](Scalar x, Scalar t) { return call(Function::log1p, call(Function::exp, -(t * x))); });
  });
  r.add("hinge_embedding_loss", "self, target, margin, reduction", hinge_embedding);
  r.add("margin_ranking_loss", "input1, input2, target, margin, reduction", margin_ranking);
  r.add("triplet_margin_loss", "anchor, positive, negative, margin, p, eps, swap, reduction", triplet_margin);
  r.add("cosine_embedding_loss", "input1, input2, target, margin, reduction", cosine_embedding);
  register_class_losses(r);
  register_loss_backward(r);
}

}  // namespace lightline::ops
