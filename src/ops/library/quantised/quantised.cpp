// Quantisation as arithmetic: to integers and back, with parameters per tensor, channel, token or group.
#include <fmt/format.h>

#include <cmath>

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

// Which scale and zero point belong to an element.
struct Parameters {
  std::function<Scalar(const Indices&)> scale, zero;  // zero is empty where there is none
};

Parameters per_tensor(OpCall& c, DType compute) {
  const auto plain = [&c, compute](std::string_view name) {
    Operand operand = c.operand(name);
    if (operand.tensor) operand.tensor = c.lowering().reshape(*operand.tensor, {});
    return [&c, operand, compute](const Indices&) { return c.read_as(operand, {}, compute); };
  };
  return {plain("scale"), plain("zero_point")};
}

// Parameters that are read where `place` says. A zero point of another type is converted.
Parameters by_place(OpCall& c, const SymbolicTensor& scales, const std::optional<SymbolicTensor>& zeros, DType compute,
                    const std::function<Indices(const Indices&)>& place) {
  Lowering& l = c.lowering();
  Parameters parameters{
      [&l, scales, compute, place](const Indices& i) { return convert(l.read(scales, place(i)), compute); }, {}};
  if (zeros)
    parameters.zero = [&l, zeros = *zeros, compute, place](const Indices& i) {
      return convert(l.read(zeros, place(i)), compute);
    };
  return parameters;
}

std::optional<SymbolicTensor> shaped(Lowering& l, const std::optional<SymbolicTensor>& tensor, const Shape& shape) {
  return tensor ? std::optional(l.reshape(*tensor, shape)) : std::nullopt;
}

Parameters per_channel(OpCall& c, const SymbolicTensor& x, std::string_view scales, std::string_view zeros,
                       DType compute) {
  Lowering& l = c.lowering();
  require(!x.shape.empty(), "a scalar has no channels");
  const auto axis = size_t(wrap_dim(c.integer("axis"), x.rank()));
  const Shape channels{x.shape[axis]};
  return by_place(c, l.reshape(c.tensor(scales), channels), shaped(l, c.tensor_if(zeros), channels), compute,
                  [axis](const Indices& i) { return Indices{i[axis]}; });
}

Parameters per_token(OpCall& c, const SymbolicTensor& x, DType compute) {
  Lowering& l = c.lowering();
  require(!x.shape.empty(), "a scalar has no tokens");
  const Shape tokens(x.shape.begin(), x.shape.end() - 1);
  return by_place(c, l.reshape(c.tensor("scales"), tokens), shaped(l, c.tensor_if("zero_points"), tokens), compute,
                  [](const Indices& i) { return Indices(i.begin(), i.end() - 1); });
}

// Groups of consecutive elements of a row.
Parameters per_group(OpCall& c, const SymbolicTensor& x, DType compute) {
  Lowering& l = c.lowering();
  require(x.rank() == 2, "quantisation by groups needs a matrix");
  const SymbolicTensor scales = c.tensor("scales");
  int64_t size = c.integer("group_size", 128);
  if (size > x.shape[1] && !scales.shape.empty() && scales.shape.back() == 1) size = x.shape[1];
  if (size <= 0 || x.shape[1] % size != 0)
    fail(fmt::format("rows of {} do not divide into groups of {}", x.shape[1], size));
  const Shape groups{x.shape[0], x.shape[1] / size};
  return by_place(c, l.reshape(scales, groups), shaped(l, c.tensor_if("zero_points"), groups), compute,
                  [size](const Indices& i) {
                    return Indices{i[0], div(i[1], size)};
                  });
}

Scalar clamped(OpCall& c, Scalar x) {
  const auto limit = [&](std::string_view name) {
    Operand operand = c.operand(name);
    if (operand.tensor) operand.tensor = c.lowering().reshape(*operand.tensor, {});
    return c.read_as(operand, {}, x.type);
  };
  return min(max(x, limit("quant_min")), limit("quant_max"));
}

// The compute type: the wider of the two floats.
DType joint_type(const SymbolicTensor& x, const SymbolicTensor& scales) {
  const DType type = category(x.dtype) == Category::floating ? result_type({{x, {}}, {scales, {}}}) : scales.dtype;
  return compute_type(type);
}

void quantise(OpCall& c, const SymbolicTensor& x, DType compute, const Parameters& parameters,
              bool zero_before_rounding) {
  Lowering& l = c.lowering();
  c.add_result(l.map(c.dtype("dtype", DType::i8), x.shape, [&](const Indices& i) {
    const Scalar scaled = convert(l.read(x, i), compute) * (1.0 / parameters.scale(i));
    const auto round = [](Scalar v) { return call(Function::round, v); };
    return clamped(c, zero_before_rounding ? round(scaled + parameters.zero(i)) : round(scaled) + parameters.zero(i));
  }));
}

void dequantise(OpCall& c, const SymbolicTensor& x, DType compute, const Parameters& parameters, DType dtype) {
  Lowering& l = c.lowering();
  c.add_result(l.map(dtype, x.shape, [&](const Indices& i) {
    const Scalar value = convert(l.read(x, i), compute);
    return (parameters.zero ? value - parameters.zero(i) : value) * parameters.scale(i);
  }));
}

void quantise_per_tensor(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const Parameters wide = per_tensor(c, DType::f64), narrow = per_tensor(c, DType::f32);
  // the reciprocal is taken in f64, as of a Python number
  c.add_result(l.map(c.dtype("dtype", DType::i8), x.shape, [&](const Indices& i) {
    const Scalar reciprocal = convert(1.0 / convert(wide.scale(i), DType::f64), DType::f32);
    return clamped(c, call(Function::round, convert(l.read(x, i), DType::f32) * reciprocal) + narrow.zero(i));
  }));
}

void quantise_tensor_of(OpCall& c, Parameters (*parameters)(OpCall&, const SymbolicTensor&, DType),
                        bool zero_before_rounding) {
  const SymbolicTensor x = c.tensor("input");
  const DType compute = joint_type(x, c.tensor("scales"));
  quantise(c, x, compute, parameters(c, x, compute), zero_before_rounding);
}

void dequantise_tensor_of(OpCall& c, Parameters (*parameters)(OpCall&, const SymbolicTensor&, DType)) {
  const SymbolicTensor x = c.tensor("input");
  const DType compute = joint_type(x, c.tensor("scales"));
  dequantise(c, x, compute, parameters(c, x, compute), c.dtype("output_dtype", c.dtype("out_dtype", DType::f32)));
}

Parameters channel_parameters(OpCall& c, const SymbolicTensor& x, DType compute) {
  return per_channel(c, x, "scales", "zero_points", compute);
}

// ---- fake quantisation: to integers and back at once, and where the value was inside the range ----

struct FakeQuantised {
  SymbolicTensor values, inside;
};

// Scales are single precision, whatever the tensor is. A zero point that is a float is added before rounding.
FakeQuantised fake_quantise(OpCall& c, bool with_mask) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const bool by_channel = c.has("axis"), float_zero = by_channel && is_float(c.tensor("zero_point").dtype);
  const Parameters parameters =
      by_channel ? per_channel(c, x, "scale", "zero_point", DType::f32) : per_tensor(c, DType::f32);
  const DType compute = compute_type(x.dtype);
  const auto scale = [&](const Indices& i) { return l.rounded(parameters.scale(i), DType::f32); };
  const auto zero = [&](const Indices& i) { return convert(parameters.zero(i), compute); };
  const auto level = [&](const Indices& i) {
    const Scalar scaled = l.read(x, i) * convert(1.0 / scale(i), compute);
    return float_zero ? call(Function::round, scaled + zero(i)) : call(Function::round, scaled) + zero(i);
  };
  FakeQuantised result;
  result.values = l.map(x.dtype, x.shape, [&](const Indices& i) {
    return convert(clamped(c, level(i)) - zero(i), DType::f32) * scale(i);
  });
  if (!with_mask) return result;
  result.inside = l.map(DType::boolean, x.shape, [&](const Indices& i) {
    const Scalar n = level(i);
    return n >= double(c.integer("quant_min")) && n <= double(c.integer("quant_max"));
  });
  return result;
}

void fake_quantise_values(OpCall& c) { c.add_result(fake_quantise(c, false).values); }

void fake_quantise_with_mask(OpCall& c) {
  const FakeQuantised result = fake_quantise(c, true);
  c.add_result(result.values);
  c.add_result(result.inside);
}

void fake_quantise_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad"), mask = c.tensor("mask");
  require(grad.shape == mask.shape, "the mask does not fit the gradient");
  c.add_result(l.map(grad.dtype, grad.shape,
                     [&](const Indices& i) { return l.read(grad, i) * convert(l.read(mask, i), grad.dtype); }));
}

// ---- choosing parameters ----

struct Extremes {
  SymbolicTensor low, high;  // widened to hold 0
};

Extremes extremes(Lowering& l, const SymbolicTensor& x, const ReducedDims& dims) {
  const auto element = [&](const Indices& at) { return l.read(x, at); };
  const auto limited = [&](Reducer reducer) {
    const SymbolicTensor extreme = reduce_dims(l, compute_type(x.dtype), reducer, dims, true, element);
    return l.map(extreme.dtype, extreme.shape, [&](const Indices& i) {
      return reducer == Reducer::min ? min(l.read(extreme, i), 0.0) : max(l.read(extreme, i), 0.0);
    });
  };
  return {limited(Reducer::min), limited(Reducer::max)};
}

void choose_per_tensor(OpCall& c, bool symmetric) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  require(x.size() > 0, "quantisation parameters of no elements are not defined");
  const SymbolicTensor flat = l.reshape(x, {x.size()});
  const Extremes range = extremes(l, flat, all_dims(flat.shape));
  const double low = double(c.integer("quant_min")), high = double(c.integer("quant_max")), eps = c.number("eps", 0);
  require(high > low, "quant_min must be smaller than quant_max");
  const SymbolicTensor scale = l.map(DType::f64, {1}, [&](const Indices& i) {
    const Scalar lowest = l.read(range.low, i), highest = l.read(range.high, i);
    const Scalar step = symmetric ? max(-lowest, highest) / ((high - low) / 2) : (highest - lowest) / (high - low);
    return max(l.rounded(step, x.dtype), float(eps));
  });
  c.add_result(scale);
  c.add_result(l.map(DType::i64, {1}, [&](const Indices& i) {
    if (symmetric) return l.literal(Literal::of(int64_t(c.dtype("dtype", DType::i8) == DType::u8 ? 128 : 0)));
    const Scalar steps = call(Function::round, l.read(range.low, i) / convert(l.read(scale, i), range.low.dtype));
    return convert(min(max(low - steps, low), high), DType::i64);
  }));
}

void choose_per_token(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const ReducedDims dims = reduced_dims(x.shape, {-1});
  const DType dtype = x.dtype == DType::f16 ? DType::f32 : x.dtype;
  const SymbolicTensor largest = reduce_dims(l, compute_type(dtype), Reducer::max, dims, true,
                                             [&](const Indices& at) { return call(Function::abs, l.read(x, at)); });
  const auto scale = c.recorded(0), zero = c.recorded(1);
  c.add_result(l.map(scale ? scale->dtype : dtype, largest.shape,
                     [&](const Indices& i) { return l.rounded(max(l.read(largest, i), 1e-5) / 127.0, dtype); }));
  c.add_result(l.map(zero ? zero->dtype : dtype, largest.shape,
                     [&](const Indices&) { return l.literal(Literal::of(int64_t(0))); }));
}

void choose_per_token_asymmetric(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const Extremes range = extremes(l, x, reduced_dims(x.shape, {-1}));
  constexpr double low = -128, high = 127, eps = 0x1p-23;
  const SymbolicTensor scale = l.map(range.low.dtype, range.low.shape, [&](const Indices& i) {
    return max(l.rounded((l.read(range.high, i) - l.read(range.low, i)) / (high - low), x.dtype), eps);
  });
  c.add_result(l.cast(scale, DType::f64));
  c.add_result(l.map(DType::i64, scale.shape, [&](const Indices& i) {
    const Scalar step = l.read(scale, i), from = l.read(range.low, i) / step, to = l.read(range.high, i) / step;
    const Scalar zero = select((low + from) + (high + to) > 0.0, low - from, high - to);
    return convert(call(Function::round, min(max(zero, low), high)), DType::i64);
  }));
}

}  // namespace

void register_quantised(Registry& r) {
  r.add("quantize_per_tensor", "input, scale, zero_point, quant_min, quant_max, dtype", quantise_per_tensor);
  r.add("dequantize_per_tensor", "input, scale, zero_point, quant_min, quant_max, dtype, out_dtype", [](OpCall& c) {
    const DType dtype = c.dtype("out_dtype", DType::f32);
    dequantise(c, c.tensor("input"), compute_type(dtype), per_tensor(c, compute_type(dtype)), dtype);
  });
  r.add("quantize_per_channel", "input, scales, zero_points, axis, quant_min, quant_max, dtype",
        [](OpCall& c) { quantise_tensor_of(c, channel_parameters, false); });
  r.add("dequantize_per_channel", "input, scales, zero_points, axis, quant_min, quant_max, dtype, out_dtype",
        [](OpCall& c) { dequantise_tensor_of(c, channel_parameters); });
  r.add("quantize_per_token", "input, scales, zero_points, quant_min, quant_max, dtype",
        [](OpCall& c) { quantise_tensor_of(c, per_token, true); });
  r.add("dequantize_per_token", "input, scales, zero_points, quant_min, quant_max, dtype, output_dtype",
        [](OpCall& c) { dequantise_tensor_of(c, per_token); });
  r.add("quantize_per_channel_group", "input, scales, zero_points, quant_min, quant_max, dtype, group_size",
        [](OpCall& c) { quantise_tensor_of(c, per_group, true); });
  r.add("dequantize_per_channel_group",
        "input, scales, zero_points, quant_min, quant_max, dtype, group_size, output_dtype",
        [](OpCall& c) { dequantise_tensor_of(c, per_group); });
  r.add("choose_qparams", "input, quant_min, quant_max, eps, dtype", [](OpCall& c) { choose_per_tensor(c, false); });
  r.add("choose_qparams_symmetric", "input, quant_min, quant_max, eps, dtype",
        [](OpCall& c) { choose_per_tensor(c, true); });
  r.add("choose_qparams_per_token", "input, dtype", choose_per_token);
  r.add("choose_qparams_per_token_asymmetric", "input, dtype", choose_per_token_asymmetric,
        {"_choose_qparams_per_token_asymmetric_impl"});
  r.add("fake_quantize_per_tensor_affine", "self, scale, zero_point, quant_min, quant_max", fake_quantise_values);
  r.add("fake_quantize_per_channel_affine", "self, scale, zero_point, axis, quant_min, quant_max",
        fake_quantise_values);
  r.add("fake_quantize_per_tensor_affine_cachemask", "self, scale, zero_point, quant_min, quant_max",
        fake_quantise_with_mask);
  r.add("fake_quantize_per_channel_affine_cachemask", "self, scale, zero_point, axis, quant_min, quant_max",
        fake_quantise_with_mask);
  r.add("fake_quantize_per_tensor_affine_cachemask_backward", "grad, mask", fake_quantise_backward,
        {"fake_quantize_per_channel_affine_cachemask_backward"});
}

}  // namespace lightline::ops
