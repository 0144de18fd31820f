// The axes of resampling: positions and weights as PyTorch computes them.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "ops/library/interpolation/interpolation.h"

namespace lightline::ops {
namespace {

double in_precision(double value, DType wide) { return wide == DType::f64 ? value : double(float(value)); }

// Inputs per output.
double axis_scale(const AxisSize& s, bool align_corners, DType wide) {
  const auto ratio = [&](int64_t a, int64_t b) {
    return wide == DType::f64 ? double(a) / double(b) : double(float(a) / float(b));
  };
  if (align_corners) return s.out > 1 ? ratio(s.in - 1, s.out - 1) : 0;
  return s.factor && *s.factor > 0 ? in_precision(1.0 / *s.factor, wide) : ratio(s.in, s.out);
}

// Whether the sizes alone say how far apart the samples lie, and are small enough for exact arithmetic.
bool is_rational(const AxisSize& s, bool align_corners) {
  constexpr int64_t limit = int64_t(1) << 30;
  if (s.in >= limit || s.out >= limit) return false;
  return align_corners || !s.factor || *s.factor <= 0 ||
         std::abs(double(s.out) - double(s.in) * *s.factor) <= 1e-9 * double(s.out);
}

// ---- nearest ----

// floor of the position of output o, as PyTorch's f32 arithmetic has it.
int64_t nearest_input(const AxisSize& s, bool exact, double scale, int64_t o) {
  const float position = exact ? (float(o) + 0.5F) * float(scale) : float(o) * float(scale);
  return std::min(int64_t(std::floor(position)), s.in - 1);
}

Subscript nearest_ratio(const AxisSize& s, bool exact, const Subscript& o) {
  return exact ? div((o * 2 + 1) * s.in, 2 * s.out) : div(o * s.in, s.out);
}

// Exact division in place of f32 arithmetic, if they agree on every output.
bool agrees_with_ratio(const AxisSize& s, bool exact, double scale) {
  constexpr int64_t most_compared = 1 << 16;
  if (!is_rational(s, false) || s.out > most_compared) return false;
  for (int64_t o = 0; o < s.out; ++o) {
    const int64_t quotient = exact ? (2 * o + 1) * s.in / (2 * s.out) : o * s.in / s.out;
    if (nearest_input(s, exact, scale, o) != quotient) return false;
  }
  return true;
}

ResampledAxis nearest_axis(Lowering& l, const AxisSize& s, bool exact) {
  const double scale = axis_scale(s, false, DType::f32);
  ResampledAxis axis{.dim = s.dim, .in = s.in, .out = s.out};
  if (s.in == s.out && !exact) {
    axis.at = [](const Subscript& o, const Subscript&) { return o; };
  } else if (agrees_with_ratio(s, exact, scale)) {
    axis.at = [s, exact](const Subscript& o, const Subscript&) { return nearest_ratio(s, exact, o); };
  } else {
    axis.at = [&l, s, exact, scale](const Subscript& o, const Subscript&) {
      const Scalar at = convert(value(o), DType::f32);
      return clamped_position(l, call(Function::floor, (exact ? at + 0.5 : at) * scale), s.in);
    };
  }
  return axis;
}

// ---- linear and cubic ----

struct Source {
  AxisSize size;
  bool align_corners;
  bool cubic;  // positions before the first input stay there
  DType wide;
  double scale;

  Scalar position(const Subscript& o) const {
    const Scalar at = convert(value(o), wide);
    if (align_corners) return at * scale;
    const Scalar centred = (at + 0.5) * scale - 0.5;
    return cubic ? centred : max(centred, 0.0);
  }
  // The input at or before the position. Rounding may put it one further, where its weight is 0.
  Subscript below(Lowering& l, const Subscript& o) const {
    if (!is_rational(size, align_corners)) return l.index(convert(call(Function::floor, position(o)), DType::i64));
    Subscript at = l.constant_index(0);
    if (!align_corners)
      at = div((o * 2 + 1) * size.in - size.out, 2 * size.out);
    else if (size.out > 1)
      at = div(o * (size.in - 1), size.out - 1);
    return cubic ? at : clamped_position(l, at, size.in);
  }
  // How far the position is beyond it.
  Scalar fraction(Lowering& l, const Subscript& o) const {
    const Scalar beyond = position(o) - convert(value(below(l, o)), wide);
    return min(max(beyond, 0.0), 1.0);
  }
};

ResampledAxis linear_axis(Lowering& l, const AxisSize& s, bool align_corners, DType wide) {
  const Source source{s, align_corners, false, wide, axis_scale(s, align_corners, wide)};
  ResampledAxis axis{.dim = s.dim, .in = s.in, .out = s.out, .taps = 2};
  axis.at = [&l, source](const Subscript& o, const Subscript& tap) {
    return clamped_position(l, source.below(l, o) + tap, source.size.in);
  };
  axis.weights = l.map(wide, {s.out, 2}, [&](const Indices& i) {
    const Scalar after = source.fraction(l, i[0]);
    return select(value(i[1]) == 0.0, 1.0 - after, after);
  });
  return axis;
}

ResampledAxis cubic_axis(Lowering& l, const AxisSize& s, bool align_corners, DType wide) {
  const Source source{s, align_corners, true, wide, axis_scale(s, align_corners, wide)};
  ResampledAxis axis{.dim = s.dim, .in = s.in, .out = s.out, .taps = 4};
  axis.at = [&l, source](const Subscript& o, const Subscript& tap) {
    return clamped_position(l, source.below(l, o) + tap - 1, source.size.in);
  };
  axis.weights = l.map(wide, {s.out, 4}, [&](const Indices& i) {
    return cubic_weight(call(Function::abs, source.fraction(l, i[0]) - convert(value(i[1] - 1), wide)), -0.75);
  });
  return axis;
}

// ---- smoothed: a filter as wide as the inputs that one output stands for ----

double filter_width(Filter filter) {
  return filter == Filter::smooth_linear ? 2 : filter == Filter::smooth_cubic ? 4 : 6;
}

Scalar filter_weight(Filter filter, Scalar distance) {
  const Scalar d = call(Function::abs, distance);
  if (filter == Filter::smooth_linear) return max(1.0 - d, 0.0);
  if (filter == Filter::smooth_cubic) return select(d < 2.0, cubic_weight(d, -0.5), 0.0);
  const auto sinc = [](Scalar x) {
    return select(x == 0.0, 1.0, call(Function::sin, x * std::numbers::pi) / (x * std::numbers::pi));
  };
  return select(d < 3.0, sinc(d) * sinc(d / 3.0), 0.0);
}

ResampledAxis smooth_axis(Lowering& l, const AxisSize& s, Filter filter, bool align_corners, DType wide) {
  const double scale = axis_scale(s, align_corners, wide), widening = std::max(scale, 1.0);
  const double support = in_precision(filter_width(filter) * 0.5 * widening, wide);
  require(support < double(int64_t(1) << 40), "a resampling reaches too far");
  ResampledAxis axis{.dim = s.dim, .in = s.in, .out = s.out, .taps = int64_t(std::ceil(support)) * 2 + 1};
  const auto centre = [=](const Subscript& o) { return (convert(value(o), wide) + 0.5) * scale; };
  const auto first = [=](const Subscript& o) { return max(convert(centre(o) - support + 0.5, DType::i64), 0.0); };
  axis.at = [=, &l, in = s.in](const Subscript& o, const Subscript& tap) {
    return clamped_position(l, first(o) + value(tap), in);
  };
  const SymbolicTensor raw = l.map(wide, {s.out, axis.taps}, [&](const Indices& i) {
    const Scalar from = first(i[0]), input = from + value(i[1]);
    const Scalar end = min(convert(centre(i[0]) + support + 0.5, DType::i64), double(s.in));
    return select(input < end, filter_weight(filter, (convert(input, wide) - centre(i[0]) + 0.5) / widening), 0.0);
  });
  const SymbolicTensor total = reduce_dims(l, wide, Reducer::sum, trailing_dims(raw.shape, 1), false,
                                           [&](const Indices& at) { return l.read(raw, at); });
  axis.weights = l.map(wide, raw.shape, [&](const Indices& i) {
    const Scalar sum = l.read(total, {i[0]});
    return l.read(raw, i) / select(sum == 0.0, 1.0, sum);
  });
  return axis;
}

// ---- applying ----

Shape shape_of_taps(const std::vector<ResampledAxis>& axes) {
  Shape taps;
  for (const ResampledAxis& axis : axes) taps.push_back(axis.taps);
  return taps;
}

bool is_weighted(const std::vector<ResampledAxis>& axes) { return axes.front().weights.has_value(); }

Indices inputs_at(const std::vector<ResampledAxis>& axes, const Indices& outputs, const Indices& taps) {
  Indices at = outputs;
  for (size_t a = 0; a < axes.size(); ++a) at[axes[a].dim] = axes[a].at(outputs[axes[a].dim], taps[a]);
  return at;
}

Scalar weighted(Lowering& l, const std::vector<ResampledAxis>& axes, Scalar value, const Indices& outputs,
                const Indices& taps) {
  for (size_t a = 0; a < axes.size(); ++a)
    if (axes[a].weights) value = value * l.read(*axes[a].weights, {outputs[axes[a].dim], taps[a]});
  return value;
}

}  // namespace

Scalar cubic_weight(Scalar d, double a) {
  const Scalar near = ((a + 2) * d - (a + 3)) * d * d + 1.0, far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return select(d <= 1.0, near, far);
}

ResampledAxis resampled_axis(Lowering& l, const AxisSize& size, Filter filter, bool align_corners, DType wide) {
  require(size.in > 0 && size.out > 0, "a resampling needs input and output elements");
  switch (filter) {
    case Filter::nearest: return nearest_axis(l, size, false);
    case Filter::nearest_exact: return nearest_axis(l, size, true);
    case Filter::linear: return linear_axis(l, size, align_corners, wide);
    case Filter::cubic: return cubic_axis(l, size, align_corners, wide);
    default: return smooth_axis(l, size, filter, align_corners, wide);
  }
}

SymbolicTensor resampled(Lowering& l, DType dtype, const SymbolicTensor& x, const std::vector<ResampledAxis>& axes) {
  Shape shape = x.shape;
  for (const ResampledAxis& axis : axes) shape[axis.dim] = axis.out;
  const Indices no_taps(axes.size(), l.constant_index(0));
  if (!is_weighted(axes))
    return l.map(dtype, shape, [&](const Indices& o) { return l.read(x, inputs_at(axes, o, no_taps)); });
  const DType wide = axes.front().weights->dtype;
  const SymbolicTensor sum =
      l.reduce(is_integer(dtype) ? wide : dtype, shape, Reducer::sum, shape_of_taps(axes),
               [&](const Indices& o, const Indices& taps) {
                 return weighted(l, axes, convert(l.read(x, inputs_at(axes, o, taps)), wide), o, taps);
               });
  if (!is_integer(dtype)) return sum;
  return l.map(dtype, shape,
               [&](const Indices& o) { return min(max(call(Function::round, l.read(sum, o)), 0.0), 255.0); });
}

SymbolicTensor resampled_backward(Lowering& l, DType dtype, const SymbolicTensor& grad,
                                  const std::vector<ResampledAxis>& axes) {
  Shape shape = grad.shape, domain = grad.shape;
  for (const ResampledAxis& axis : axes) shape[axis.dim] = axis.in;
  if (is_weighted(axes))
    for (const ResampledAxis& axis : axes) domain.push_back(axis.taps);
  const DType wide = compute_type(grad.dtype);
  const SymbolicTensor sum = l.scatter(wide, shape, zero(), Reducer::sum, domain, [&](const Indices& i) {
    const Indices o(i.begin(), i.begin() + std::ptrdiff_t(grad.shape.size()));
    Indices taps(i.begin() + std::ptrdiff_t(grad.shape.size()), i.end());
    taps.resize(axes.size(), l.constant_index(0));
    return ScatterWrite{inputs_at(axes, o, taps), weighted(l, axes, l.read(grad, o), o, taps)};
  });
  return l.cast(sum, dtype);
}

}  // namespace lightline::ops
