// Losses of classification: scores against labels or probabilities.
#include <fmt/format.h>

#include <cmath>

#include "ops/library/loss/loss.h"
#include "ops/library/softmax/softmax.h"

namespace lightline::ops {

Labels labels_of(const OpCall& c) {
  Labels s{c.tensor("self"), c.tensor("target"), c.tensor_if("weight"), c.integer("ignore_index", -100), 0};
  require(s.scores.rank() >= 1, "scores have a dimension of classes");
  s.class_dim = s.scores.rank() >= 2 ? 1 : 0;
  Shape expected = s.scores.shape;
  expected.erase(expected.begin() + std::ptrdiff_t(s.class_dim));
  if (s.labels.shape == Shape{1} && expected.empty()) expected = {1};  // one label for a vector of scores
  require(s.labels.shape == expected,
          fmt::format("the labels are {} but the scores are {}", to_string(s.labels.shape), to_string(s.scores.shape)));
  require(is_integer(s.labels.dtype), "labels are integers");
  if (s.weight)
    require(s.weight->shape == Shape{s.classes()},
            fmt::format("there are {} weights for {} classes", s.weight->size(), s.classes()));
  return s;
}

Scalar Labels::counts(Lowering& l, const Indices& at) const {
  const Scalar label = l.read(labels, at);
  return label != number(label, ignore);
}

Subscript Labels::label(Lowering& l, const Indices& at) const {
  const Scalar own = convert(l.read(labels, at), DType::i64);
  // An ignored label may be no class at all.
  return l.index(select(own == number(own, ignore), 0.0, own), {0, std::max<int64_t>(classes() - 1, 0)});
}

Indices Labels::scores_at(const Indices& at, const Subscript& label) const {
  if (scores.rank() == 1) return {label};
  Indices result = at;
  result.insert(result.begin() + 1, label);
  return result;
}

Scalar Labels::label_weight(Lowering& l, const Indices& at) const {
  const DType wide = compute_type(scores.dtype);
  const Scalar counted = counts(l, at);
  return weight ? select(counted, convert(l.read(*weight, {label(l, at)}), wide), 0.0) : convert(counted, wide);
}

namespace {

SymbolicTensor total_weight(Lowering& l, const Labels& s, DType dtype) {
  return reduce_dims(l, dtype, Reducer::sum, all_dims(s.labels.shape), false,
                     [&](const Indices& at) { return s.label_weight(l, at); });
}

// The losses as they are, their sum, or their sum over the weight of all labels.
SymbolicTensor by_weight(Lowering& l, DType dtype, const Shape& shape, LossReduction reduction,
                         const SymbolicTensor& weight, const ElementAt& element) {
  if (reduction != LossReduction::mean) return reduced_loss(l, dtype, shape, reduction, element);
  const SymbolicTensor sum = reduced_loss(l, compute_type(dtype), shape, LossReduction::sum, element);
  return l.map(dtype, {}, [&](const Indices&) { return l.read(sum, {}) / l.read(weight, {}); });
}

// ---- negative log-likelihood ----

void nll_loss(OpCall& c, bool with_total) {
  Lowering& l = c.lowering();
  const Labels s = labels_of(c);
  const LossReduction reduction = loss_reduction(c);
  const DType type = s.scores.dtype, wide = compute_type(type);
  // PyTorch leaves the total at 0 where every sample keeps its own loss.
  const bool batch_kept = reduction == LossReduction::none && s.scores.rank() > 1;
  SymbolicTensor total;
  if (reduction == LossReduction::mean || (with_total && !batch_kept)) total = total_weight(l, s, wide);
  const auto loss = [&](const Indices& at) {
    const Scalar score = l.read(s.scores, s.scores_at(at, s.label(l, at)));
    return select(s.counts(l, at), -(s.weight ? score * s.label_weight(l, at) : score), 0.0);
  };
  const Shape shape = s.scores.rank() == 1 && reduction == LossReduction::none ? Shape{} : s.labels.shape;
  const SymbolicTensor result = by_weight(l, type, s.labels.shape, reduction, total, loss);
  c.add_result(reduction == LossReduction::none ? l.reshape(result, shape) : result);
  if (!with_total) return;
  if (batch_kept)
    return c.add_result(
        l.map(type, {}, [&](const Indices&) { return l.convert(l.literal(Literal::of(int64_t(0))), type); }));
  c.add_result(l.cast(total, type));
}

// ---- cross entropy ----

struct CrossEntropy {
  SoftmaxDim softmax;
  LogSum sum;
  std::optional<SymbolicTensor> weight;
  double smoothing = 0;
  size_t class_dim = 0;
  DType wide;

  // log softmax(x)
  Scalar log_probability(Lowering& l, const Indices& at) const {
    return l.read(softmax.x, at) - l.read_broadcast(sum.shift, at) - l.read_broadcast(sum.log_sum, at);
  }
  Scalar weighted(Lowering& l, Scalar value, const Indices& at) const {
    return weight ? value * convert(l.read(*weight, {at[class_dim]}), wide) : value;
  }
};

CrossEntropy cross_entropy_of(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() >= 1, "scores have a dimension of classes");
  const size_t class_dim = x.rank() >= 2 ? 1 : 0;
  const SoftmaxDim softmax = softmax_dim(l, x, int64_t(class_dim));
  const auto weight = c.tensor_if("weight");
  if (weight)
    require(weight->shape == Shape{x.shape[class_dim]},
            fmt::format("there are {} weights for {} classes", weight->size(), x.shape[class_dim]));
  return {softmax, log_sum_exp(l, softmax), weight, c.number("label_smoothing", 0), class_dim, compute_type(x.dtype)};
}

void cross_entropy_of_labels(OpCall& c) {
  Lowering& l = c.lowering();
  const Labels s = labels_of(c);
  const CrossEntropy e = cross_entropy_of(c);
  const LossReduction reduction = loss_reduction(c);
  const SymbolicTensor total = reduction == LossReduction::mean ? total_weight(l, s, e.wide) : SymbolicTensor{};
  SymbolicTensor smooth;
  if (e.smoothing > 0)
    smooth = reduce_dims(l, e.wide, Reducer::sum, e.softmax.dims, false,
                         [&](const Indices& at) { return e.weighted(l, e.log_probability(l, at), at); });
  const SymbolicTensor result = by_weight(l, s.scores.dtype, s.labels.shape, reduction, total, [&](const Indices& at) {
    const Scalar score = e.log_probability(l, s.scores_at(at, s.label(l, at)));
    Scalar loss = s.weight ? score * s.label_weight(l, at) : score;
    if (e.smoothing > 0)
      loss = loss * (1 - e.smoothing) +
             l.read(smooth, s.scores.rank() == 1 ? Indices{} : at) * (e.smoothing / double(s.classes()));
    return select(s.counts(l, at), -loss, 0.0);
  });
  c.add_result(reduction == LossReduction::none && s.scores.rank() == 1 ? l.reshape(result, {}) : result);
}

void cross_entropy_of_probabilities(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor target = c.tensor("target");
  require(is_float(target.dtype), "probabilities are floats");
  const CrossEntropy e = cross_entropy_of(c);
  const double classes = double(e.softmax.x.shape[e.class_dim]);
  const SymbolicTensor losses = reduce_dims(l, e.wide, Reducer::sum, e.softmax.dims, false, [&](const Indices& at) {
    Scalar share = convert(l.read(target, at), e.wide);
    if (e.smoothing > 0) share = share * (1 - e.smoothing) + e.smoothing / classes;
    return e.weighted(l, e.log_probability(l, at) * share, at);
  });
  c.add_result(reduced_loss(l, e.softmax.x.dtype, losses.shape, loss_reduction(c),
                            [&](const Indices& at) { return -l.read(losses, at); }));
}

void cross_entropy(OpCall& c) {
  if (c.tensor("self").shape == c.tensor("target").shape && is_float(c.tensor("target").dtype))
    cross_entropy_of_probabilities(c);
  else
    cross_entropy_of_labels(c);
}

// ---- margins ----

// Scores as [N, C] and labels as [N, ...], also where there is one sample only.
struct Samples {
  SymbolicTensor scores;
  SymbolicTensor labels;
  bool single = false;
};
Samples samples(OpCall& c) {
  Lowering& l = c.lowering();
  Samples s{c.tensor("self"), c.tensor("target")};
  s.single = s.scores.rank() <= 1;
  require(s.scores.rank() <= 2, "margin losses take samples by classes");
  require(is_integer(s.labels.dtype), "labels are integers");
  if (s.single) s.scores = l.reshape(s.scores, {1, s.scores.size()});
  return s;
}

void multi_margin(OpCall& c) {
  Lowering& l = c.lowering();
  const Samples s = samples(c);
  const SymbolicTensor labels = l.reshape(s.labels, {s.scores.shape[0]});
  const auto weight = c.tensor_if("weight");
  const double margin = c.number("margin", 1);
  const int64_t p = c.integer("p", 1), classes = s.scores.shape[1];
  require(p == 1 || p == 2, "the power of a margin loss is 1 or 2");
  const DType wide = compute_type(s.scores.dtype);
  const auto label = [&](const Subscript& n) {
    return l.index(l.read(labels, {n}), {0, std::max<int64_t>(classes - 1, 0)});
  };
  const SymbolicTensor sums =
      l.reduce(wide, {s.scores.shape[0]}, Reducer::sum, {classes}, [&](const Indices& i, const Indices& k) {
        const Scalar excess = max(l.read(s.scores, {i[0], k[0]}) - l.read(s.scores, {i[0], label(i[0])}) + margin, 0.0);
        const Scalar own = convert(l.read(labels, i), DType::i64) == value(k[0]);
        return select(own, 0.0, p == 1 ? excess : excess * excess);
      });
  const SymbolicTensor result = reduced_loss(l, s.scores.dtype, sums.shape, loss_reduction(c), [&](const Indices& i) {
    const Scalar average = l.read(sums, i) / double(classes);
    return weight ? average * convert(l.read(*weight, {label(i[0])}), wide) : average;
  });
  c.add_result(loss_reduction(c) == LossReduction::none && s.single && s.labels.shape.empty() ? l.reshape(result, {})
                                                                                              : result);
}

void multilabel_margin(OpCall& c, bool with_targets) {
  Lowering& l = c.lowering();
  const Samples s = samples(c);
  require(s.labels.size() == s.scores.size(), "a multilabel margin loss has as many labels as scores");
  const SymbolicTensor labels = l.reshape(s.labels, s.scores.shape);
  const int64_t batch = s.scores.shape[0], classes = s.scores.shape[1];
  const DType type = s.scores.dtype, wide = compute_type(type);
  const auto label = [&](const Indices& at) { return convert(l.read(labels, at), DType::i64); };
  // Labels count up to the first negative one.
  const SymbolicTensor counts =
      l.scan(DType::boolean, labels.shape, 1, [&](const Indices& at, const Lowering::Self& self) {
        return self(1, Literal::of_bool(true)) && label(at) >= 0.0;
      });
  const SymbolicTensor is_target = l.scatter(
      type, labels.shape, Literal::of(int64_t(0)), Reducer::set, labels.shape,
      [&](const Indices& at) {
        const Scalar place = select(l.read(counts, at), label(at), -1.0);
        return ScatterWrite{{at[0], l.index(place)}, l.convert(l.literal(Literal::of(int64_t(1))), type)};
      },
      true);
  const SymbolicTensor sums =
      l.reduce(wide, {batch}, Reducer::sum, {classes, classes}, [&](const Indices& n, const Indices& r) {
        const Indices at{n[0], r[0]}, other{n[0], r[1]};
        const Scalar counted = l.read(counts, at);
        const Subscript own = l.index(select(counted, label(at), 0.0), {0, std::max<int64_t>(classes - 1, 0)});
        const Scalar excess = max(l.read(s.scores, other) - l.read(s.scores, {n[0], own}) + 1.0, 0.0);
        return select(counted && l.read(is_target, other) == 0.0, excess, 0.0);
      });
  const SymbolicTensor result = reduced_loss(l, type, sums.shape, loss_reduction(c),
                                             [&](const Indices& i) { return l.read(sums, i) / double(classes); });
  c.add_result(loss_reduction(c) == LossReduction::none && s.single ? l.reshape(result, {}) : result);
  if (with_targets) c.add_result(l.reshape(is_target, s.labels.shape));
}

}  // namespace

void register_class_losses(Registry& r) {
  r.add("nll_loss", "self, target, weight, reduction, ignore_index", [](OpCall& c) { nll_loss(c, false); },
        {"nll_loss2d", "nll_loss_nd"});
  r.add("nll_loss_forward", "self, target, weight, reduction, ignore_index", [](OpCall& c) { nll_loss(c, true); },
        {"nll_loss2d_forward"});
  r.add("cross_entropy_loss", "self, target, weight, reduction, ignore_index, label_smoothing", cross_entropy,
        {"cross_entropy"});
  r.add("multi_margin_loss", "self, target, p, margin, weight, reduction", multi_margin);
  r.add("multilabel_margin_loss", "self, target, reduction", [](OpCall& c) { multilabel_margin(c, false); });
  r.add("multilabel_margin_loss_forward", "self, target, reduction", [](OpCall& c) { multilabel_margin(c, true); });
  r.add("ctc_loss", "log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity",
        [](OpCall& c) {
          add_opaque_results(c, "ctc_loss", {c.tensor("log_probs"), c.tensor("targets")});
        },
        {"_ctc_loss", "_cudnn_ctc_loss"})
      .opaque = true;
}

}  // namespace lightline::ops
