// Random tensors and dropout. Draws are opaque; what is made of them is not.
#include <cmath>
#include <numbers>

#include "ops/build/registry.h"
#include "ops/library/random/dropout.h"

namespace lightline::ops {
namespace {

SymbolicTensor draws(OpCall& c, const std::string& distribution, DType dtype, const Shape& shape) {
  for (const int64_t extent : shape) require(extent >= 0, "a size is negative");
  const bool direct = dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  const auto seed = int64_t(c.lowering().program().arrays.size());
  const SymbolicTensor drawn = c.lowering().opaque("random", {}, {{"seed", seed}, {"distribution", distribution}},
                                                   {{direct ? dtype : DType::f32, shape}})[0];
  return c.lowering().cast(drawn, dtype);
}

// rand and randn; like another tensor, or of a size.
Definition drawn(const char* distribution, bool like) {
  return [=](OpCall& c) {
    if (!like) return c.add_result(draws(c, distribution, c.dtype("dtype", DType::f32), c.integers("size")));
    const SymbolicTensor x = c.tensor("self");
    c.add_result(draws(c, distribution, c.dtype("dtype", x.dtype), x.shape));
  };
}

// Integers in [low, high).
SymbolicTensor integers(OpCall& c, DType dtype, const Shape& shape, double low, double high) {
  require(high > low, "the range to draw from is empty");
  const SymbolicTensor unit = draws(c, "uniform", DType::f64, shape);
  return c.lowering().map(dtype, shape, [&](const Indices& i) {
    return convert(call(Function::floor, c.lowering().read(unit, i) * (high - low)) + low,
                   is_float(dtype) ? dtype : DType::i64);
  });
}

void define_randint(OpCall& c) {
  c.add_result(integers(c, c.dtype("dtype", DType::i64), c.integers("size"), c.number("low", 0), c.number("high", 1)));
}

void define_randint_like(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  c.add_result(integers(c, c.dtype("dtype", x.dtype), x.shape, c.number("low", 0), c.number("high", 1)));
}

void define_randperm(OpCall& c) {
  const int64_t n = c.integer("n");
  const SymbolicTensor unit = draws(c, "uniform", DType::f32, {n});
  const auto sorted = c.lowering().opaque("sort", {unit}, {{"dim", int64_t(0)}, {"descending", false}},
                                          {{DType::f32, {n}}, {DType::i64, {n}}});
  c.add_result(c.lowering().cast(sorted[1], c.dtype("dtype", DType::i64)));
}

// A draw of the same shape as `self`, shaped by `body`.
void shaped(OpCall& c, const char* distribution, const std::function<Scalar(Scalar)>& body) {
  const SymbolicTensor x = c.tensor("self");
  const SymbolicTensor unit = draws(c, distribution, DType::f32, x.shape);
  c.add_result(c.lowering().map(x.dtype, x.shape, [&](const Indices& i) {
    const Scalar value = body(c.lowering().read(unit, i));
    return is_integer(x.dtype) ? convert(value, DType::i64) : value;
  }));
}

void define_normal(OpCall& c) {
  if (c.has("self")) return shaped(c, "normal", [&](Scalar z) { return z * c.number("std", 1) + c.number("mean", 0); });
  const Operand mean = c.operand_or("mean", 0), deviation = c.operand_or("std", 1);
  const bool sized = c.has("size");
  const Shape shape = sized ? Shape(c.integers("size")) : broadcast(mean.shape(), deviation.shape());
  const DType dtype = c.dtype("dtype", sized ? DType::f32 : floating_type(result_type({mean, deviation})));
  const SymbolicTensor unit = draws(c, "normal", dtype, shape);
  c.add_result(c.lowering().map(dtype, shape, [&](const Indices& i) {
    return c.lowering().read(unit, i) * c.read_as(deviation, i, dtype) + c.read_as(mean, i, dtype);
  }));
}

void define_bernoulli(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const Operand p = c.has("p") ? c.operand("p") : Operand{x, {}};
  const SymbolicTensor unit = draws(c, "uniform", DType::f32, x.shape);
  c.add_result(c.lowering().map(x.dtype, x.shape, [&](const Indices& i) {
    return convert(c.lowering().read(unit, i) < c.read_as(p, i, DType::f32), x.dtype);
  }));
}

void define_multinomial(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() >= 1, "multinomial needs a row of weights");
  Shape shape = x.shape;
  shape.back() = c.integer("num_samples");
  c.add_result(c.lowering().opaque("multinomial", {x}, {{"replacement", c.flag("replacement", false)}},
                                   {{DType::i64, shape}})[0]);
}

// Whole rows of channels (dropout1d to 3d) are kept or dropped together.
void define_dropout(OpCall& c, bool by_channel) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const double p = c.number("p", 0.5);
  if (!c.flag("train", c.flag("training", false)) || p == 0) return c.add_result(x);
  if (!by_channel) return c.add_result(drop_out(l, x, p));
  require(x.rank() >= 2, "dropout by channel needs two dimensions or more");
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  const SymbolicTensor unit = draws(c, "uniform", DType::f32, shape);
  const double factor = p < 1 ? 1 / (1 - p) : 0;
  c.add_result(l.map(x.dtype, x.shape, [&](const Indices& i) {
    return select(l.read_broadcast(unit, i) >= p, l.read(x, i) * factor, 0.0);
  }));
}

// Keeps mean and variance of activations scaled by selu.
void define_alpha_dropout(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const double p = c.number("p", 0.5);
  if (!c.flag("train", false) || p == 0) return c.add_result(x);
  const double alpha = 1.7580993408473766, a = p < 1 ? 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p)) : 0;
  const SymbolicTensor unit = draws(c, "uniform", DType::f32, x.shape);
  c.add_result(l.map(x.dtype, x.shape, [&](const Indices& i) {
    return select(l.read(unit, i) >= p, l.read(x, i) * a, -alpha * a) + alpha * a * p;
  }));
}

}  // namespace

void register_random(Registry& r) {
  r.add("rand", "size, dtype", drawn("uniform", false));
  r.add("randn", "size, dtype", drawn("normal", false));
  r.add("rand_like", "self, dtype", drawn("uniform", true));
  r.add("randn_like", "self, dtype", drawn("normal", true));
  r.add("randint", "high, size, dtype", define_randint);
  r.add("randint.low", "low, high, size, dtype", define_randint);
  r.add("randint_like", "self, high, dtype", define_randint_like);
  r.add("randint_like.low_dtype", "self, low, high, dtype", define_randint_like);
  r.add("randperm", "n, dtype", define_randperm);
  r.add("uniform", "self, from, to", [](OpCall& c) {
    shaped(c, "uniform", [&](Scalar u) { return u * (c.number("to", 1) - c.number("from", 0)) + c.number("from", 0); });
  });
  r.add("exponential", "self, lambd", [](OpCall& c) {
    shaped(c, "uniform", [&](Scalar u) { return call(Function::log1p, -u) * (-1 / c.number("lambd", 1)); });
  });
  r.add("cauchy", "self, median, sigma", [](OpCall& c) {
    shaped(c, "uniform", [&](Scalar u) {
      return call(Function::tan, (u - 0.5) * std::numbers::pi) * c.number("sigma", 1) + c.number("median", 0);
    });
  });
  r.add("log_normal", "self, mean, std", [](OpCall& c) {
    shaped(c, "normal", [&](Scalar n) { return call(Function::exp, n * c.number("std", 2) + c.number("mean", 1)); });
  });
  r.add("geometric", "self, p", [](OpCall& c) {
    const double p = c.number("p", 0.5);
    require(p > 0 && p < 1, "'p' is not between 0 and 1");
    shaped(c, "uniform", [&](Scalar u) {
      return call(Function::ceil, max(call(Function::log1p, -u) / std::log1p(-p), number(u, 1.0)));
    });
  });
  r.add("random", "self, from, to", [](OpCall& c) {
    const SymbolicTensor x = c.tensor("self");
    c.add_result(integers(c, x.dtype, x.shape, c.number("from", 0), c.number("to", 0x1p24)));
  });
  r.add("normal", "mean, std, size, dtype", define_normal, {"normal_functional"});
  r.add("bernoulli", "self, p", define_bernoulli);
  r.add("multinomial", "self, num_samples, replacement", define_multinomial).opaque = true;
  r.add("dropout", "input, p, train", [](OpCall& c) { define_dropout(c, false); });
  r.add("feature_dropout", "input, p, train", [](OpCall& c) { define_dropout(c, true); },
        {"dropout1d", "dropout2d", "dropout3d"});
  r.add("alpha_dropout", "input, p, train", define_alpha_dropout, {"feature_alpha_dropout"});
}

}  // namespace lightline::ops
