// Batch and instance normalisation, with running statistics.
#include <fmt/format.h>

#include "ops/library/normalisation/normalisation.h"

namespace lightline::ops {
namespace {

struct BatchNorm {
  SymbolicTensor x;
  std::optional<SymbolicTensor> weight, bias, running_mean, running_var;
  bool training = false;
  double momentum = 0.1;
  double eps = 1e-5;
};

BatchNorm batch_norm_call(const OpCall& c, std::optional<bool> training) {
  BatchNorm b{c.tensor("input"), c.tensor_if("weight"), c.tensor_if("bias"), c.tensor_if("running_mean"),
              c.tensor_if("running_var")};
  b.training = training ? *training : c.flag("training", false);
  b.momentum =
      c.has("exponential_average_factor") ? c.number("exponential_average_factor", 0.1) : c.number("momentum", 0.1);
  b.eps = c.has("epsilon") ? c.number("epsilon", 1e-5) : c.number("eps", 1e-5);
  require(b.x.rank() >= 2, "batch norm needs a tensor of rank 2 or more");
  for (const auto* t : {&b.weight, &b.bias, &b.running_mean, &b.running_var})
    if (*t)
      require(is_float((*t)->dtype) && (*t)->size() == b.x.shape[1],
              fmt::format("an operand of batch norm has {} values of {} for {} channels", (*t)->size(),
                          name((*t)->dtype), b.x.shape[1]));
  require(b.training || (b.running_mean && b.running_var), "batch norm without training needs running statistics");
  return b;
}

// (1 - momentum) * running + momentum * fresh
SymbolicTensor updated(Lowering& l, const SymbolicTensor& running, const SymbolicTensor& fresh, double momentum) {
  const DType wide = compute_type(running.dtype);
  return l.map(running.dtype, running.shape, [&](const Indices& i) {
    return l.read(running, i) * (1 - momentum) + convert(l.read(fresh, i), wide) * momentum;
  });
}

// Statistics per channel: shape [C], in the compute type.
struct ChannelStatistics {
  SymbolicTensor mean;
  SymbolicTensor inverse;                           // 1 / standard deviation
  std::optional<SymbolicTensor> new_mean, new_var;  // of training with running statistics
};

ChannelStatistics channel_statistics(Lowering& l, const BatchNorm& b) {
  const Shape channels{b.x.shape[1]};
  if (!b.training) return {*b.running_mean, inverse_deviation(l, *b.running_var, 1, b.eps), {}, {}};
  const ReducedDims dims = all_but_channel(b.x.shape);
  const double count = double(dims.count());
  const Moments m = moments(l, b.x, dims);
  ChannelStatistics s{
      l.reshape(m.mean, channels), l.reshape(inverse_deviation(l, m.squares, count, b.eps), channels), {}, {}};
  if (b.running_mean) s.new_mean = updated(l, *b.running_mean, s.mean, b.momentum);
  if (!b.running_var) return s;
  const SymbolicTensor squares = l.reshape(m.squares, channels);
  const SymbolicTensor unbiased =
      l.map(squares.dtype, channels, [&](const Indices& i) { return l.read(squares, i) / (count - 1); });
  s.new_var = updated(l, *b.running_var, unbiased, b.momentum);
  return s;
}

SymbolicTensor apply(Lowering& l, const BatchNorm& b, const ChannelStatistics& s) {
  const auto channel = [&](const SymbolicTensor& t) { return per_channel(l, t, b.x.rank()); };
  const SymbolicTensor scale = scaled(l, s.inverse, b.weight);
  return normalised(l, b.x, b.x.dtype,
                    {channel(s.mean), channel(scale), {}, b.bias ? std::optional(channel(*b.bias)) : std::nullopt});
}

enum class RunningUpdate : uint8_t { in_place, returned };

struct BatchNormForm {
  std::optional<bool> training;  // fixed by the operator
  bool statistics = true;        // gives the mean and the inverse deviation too
  bool reserve = false;          // and a reserved buffer
  RunningUpdate update = RunningUpdate::in_place;
};

void give_reserve(OpCall& c) {
  const auto recorded = c.recorded(c.results.size());
  const DType dtype = recorded ? recorded->dtype : DType::u8;
  const Shape shape = recorded ? recorded->shape : Shape{0};
  c.add_result(c.lowering().map(dtype, shape, [&](const Indices&) {
    return c.lowering().convert(c.lowering().literal(Literal::of(int64_t(0))), dtype);
  }));
}

void batch_norm(OpCall& c, const BatchNormForm& form) {
  Lowering& l = c.lowering();
  const BatchNorm b = batch_norm_call(c, form.training);
  const ChannelStatistics s = channel_statistics(l, b);
  c.add_result(apply(l, b, s));
  if (form.statistics) {
    add_statistic(c, 1, s.mean, s.mean.shape);
    add_statistic(c, 2, s.inverse, s.inverse.shape);
  }
  if (form.reserve) give_reserve(c);
  if (form.update == RunningUpdate::returned) {
    require(b.running_mean && b.running_var, "running statistics that are returned must be given");
    c.add_result(s.new_mean ? *s.new_mean : l.copy(*b.running_mean));
    c.add_result(s.new_var ? *s.new_var : l.copy(*b.running_var));
    return;
  }
  if (s.new_mean) l.write(*b.running_mean, *s.new_mean);
  if (s.new_var) l.write(*b.running_var, *s.new_var);
}

// ---- instance norm ----

// The running statistics take the average over the batch of what each instance would give.
void update_from_instances(Lowering& l, const SymbolicTensor& running, const SymbolicTensor& statistic,
                           double momentum) {
  const SymbolicTensor by_instance = l.reshape(statistic, {statistic.shape[0], statistic.shape[1]});
  const SymbolicTensor average = mean_dims(l, statistic.dtype, reduced_dims(by_instance.shape, {0}), false,
                                           [&](const Indices& at) { return l.read(by_instance, at); });
  l.write(running, updated(l, running, average, momentum));
}

void instance_norm(OpCall& c) {
  Lowering& l = c.lowering();
  const bool own_statistics = c.flag("use_input_stats", true);
  BatchNorm b = batch_norm_call(c, own_statistics);
  if (!own_statistics) return c.add_result(apply(l, b, channel_statistics(l, b)));
  const ReducedDims dims = trailing_dims(b.x.shape, 2);
  const double count = double(dims.count());
  const Moments m = moments(l, b.x, dims);
  const SymbolicTensor inverse = inverse_deviation(l, m.squares, count, b.eps);
  const auto channel = [&](const std::optional<SymbolicTensor>& t) {
    return t ? std::optional(per_channel(l, *t, b.x.rank())) : std::nullopt;
  };
  c.add_result(normalised(l, b.x, b.x.dtype, {m.mean, scaled(l, inverse, channel(b.weight)), {}, channel(b.bias)}));
  if (b.running_mean) update_from_instances(l, *b.running_mean, m.mean, b.momentum);
  if (!b.running_var) return;
  const SymbolicTensor unbiased =
      l.map(m.squares.dtype, m.squares.shape, [&](const Indices& i) { return l.read(m.squares, i) / (count - 1); });
  update_from_instances(l, *b.running_var, unbiased, b.momentum);
}

// ---- the parts that synchronised batch norm calls ----

void batch_norm_stats(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const ReducedDims dims = all_but_channel(x.shape);
  const Moments m = moments(l, x, dims);
  add_statistic(c, 0, m.mean, {x.shape[1]});
  add_statistic(c, 1, inverse_deviation(l, m.squares, double(dims.count()), c.number("eps", 1e-5)), {x.shape[1]});
}

void batch_norm_elemt(OpCall& c) {
  Lowering& l = c.lowering();
  const BatchNorm b{c.tensor("input"), c.tensor_if("weight"), c.tensor_if("bias"), {}, {}};
  c.add_result(apply(l, b, {c.tensor("mean"), c.tensor("invstd"), {}, {}}));
}

void batch_norm_update_stats(OpCall& c) {
  Lowering& l = c.lowering();
  BatchNorm b = batch_norm_call(c, true);
  const ReducedDims dims = all_but_channel(b.x.shape);
  const double count = double(dims.count());
  const Moments m = moments(l, b.x, dims);
  const SymbolicTensor mean = l.reshape(m.mean, {b.x.shape[1]}), squares = l.reshape(m.squares, {b.x.shape[1]});
  const auto variance = [&](double divisor) {
    return l.map(squares.dtype, squares.shape, [&](const Indices& i) { return l.read(squares, i) / divisor; });
  };
  add_statistic(c, 0, mean, mean.shape);
  add_statistic(c, 1, variance(count), mean.shape);
  if (b.running_mean) l.write(*b.running_mean, updated(l, *b.running_mean, mean, b.momentum));
  if (b.running_var) l.write(*b.running_var, updated(l, *b.running_var, variance(count - 1), b.momentum));
}

}  // namespace

void register_batch_normalisation(Registry& r) {
  const auto add = [&](std::string name, std::string parameters, const BatchNormForm& form,
                       std::vector<std::string> aliases = {}) {
    r.add(
        std::move(name), std::move(parameters), [form](OpCall& c) { batch_norm(c, form); }, std::move(aliases));
  };
  const std::string operands = "input, weight, bias, running_mean, running_var, ";
  add("batch_norm", operands + "training, momentum, eps, cudnn_enabled", {.statistics = false});
  add("native_batch_norm", operands + "training, momentum, eps", {}, {"_native_batch_norm_legit", "miopen_batch_norm"});
  add("_native_batch_norm_legit.no_stats", "input, weight, bias, training, momentum, eps", {});
  add("_native_batch_norm_legit_functional", operands + "training, momentum, eps", {.update = RunningUpdate::returned});
  add("_native_batch_norm_legit_no_training", operands + "momentum, eps", {.training = false});
  add("_batch_norm_with_update", operands + "momentum, eps", {.training = true, .reserve = true});
  add("_batch_norm_with_update_functional", operands + "momentum, eps",
      {.training = true, .reserve = true, .update = RunningUpdate::returned});
  add("_batch_norm_no_update", operands + "momentum, eps", {.training = false, .reserve = true});
  add("cudnn_batch_norm", operands + "training, exponential_average_factor, epsilon", {.reserve = true});
  r.add("instance_norm", operands + "use_input_stats, momentum, eps, cudnn_enabled", instance_norm);
  r.add("batch_norm_stats", "input, eps", batch_norm_stats);
  r.add("batch_norm_elemt", "input, weight, bias, mean, invstd, eps", batch_norm_elemt);
  r.add("batch_norm_update_stats", "input, running_mean, running_var, momentum", batch_norm_update_stats);
}

}  // namespace lightline::ops
