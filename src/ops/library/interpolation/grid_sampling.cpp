// Sampling at positions that a grid holds, in [-1, 1] along each axis of the input.
#include <fmt/format.h>

#include <cmath>

#include "ops/library/interpolation/interpolation.h"

namespace lightline::ops {
namespace {

enum class Mode : uint8_t { bilinear, nearest, bicubic };
enum class Padding : uint8_t { zeros, border, reflection };

struct Sampling {
  Mode mode = Mode::bilinear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

template <class Choice, size_t count>
Choice choice(const OpCall& c, std::string_view name, const std::string_view (&words)[count]) {
  const std::string text = c.text(name, "");
  if (text.empty()) {
    const int64_t number = c.integer(name, 0);
    require(number >= 0 && number < int64_t(count), fmt::format("'{}' is out of range", name));
    return Choice(number);
  }
  for (size_t i = 0; i < count; ++i)
    if (words[i] == text) return Choice(i);
  fail(fmt::format("there is no {} '{}'", name, text));
}

Sampling sampling_of(const OpCall& c) {
  static constexpr std::string_view modes[] = {"bilinear", "nearest", "bicubic"},
                                    paddings[] = {"zeros", "border", "reflection"};
  return {choice<Mode>(c, c.has("mode") ? "mode" : "interpolation_mode", modes),
          choice<Padding>(c, "padding_mode", paddings), c.flag("align_corners", false)};
}

// ---- positions ----

// A pixel position along an axis, and how it changes with the value of the grid.
struct Position {
  Scalar at;
  Scalar slope;
};

Position in_pixels(Scalar grid, int64_t size, bool align_corners) {
  const Scalar at = align_corners ? (grid + 1.0) / 2.0 * double(size - 1) : ((grid + 1.0) * double(size) - 1.0) / 2.0;
  return {at, number(at, double(align_corners ? size - 1 : size) / 2)};
}

Position at_border(const Position& p, int64_t size) {
  const double last = double(size - 1);
  return {min(max(p.at, 0.0), last), select(p.at <= 0.0 || p.at >= last, 0.0, p.slope)};
}

// Mirrored between two borders as often as it takes.
Position reflected(const Position& p, int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5, span = double(align_corners ? size - 1 : size);
  if (span == 0) return {p.at * 0.0, p.slope * 0.0};
  const Scalar away = p.at - low, distance = call(Function::abs, away);
  const Scalar turns = call(Function::floor, distance / span),
               rest = call(Function::fmod, distance, number(distance, span));
  const Scalar forth = call(Function::fmod, turns, number(turns, 2.0)) == 0.0;
  const Scalar slope = select(away < 0.0, -p.slope, p.slope);
  return {select(forth, rest + low, span - rest + low), select(forth, slope, -slope)};
}

Position padded(const Position& p, int64_t size, const Sampling& s) {
  switch (s.padding) {
    case Padding::zeros: return p;
    case Padding::border: return at_border(p, size);
    case Padding::reflection: return at_border(reflected(p, size, s.align_corners), size);
  }
  return p;
}

// ---- what one axis takes ----

// For every sample: the inputs it takes along one axis, their weights, and how the weights change with the position.
struct Taps {
  int64_t count = 1;
  SymbolicTensor places;                  // i64 [n, ..., taps]
  std::optional<SymbolicTensor> weights;  // none: 1
};

struct Grid {
  Lowering& l;
  SymbolicTensor grid;  // [n, ..., axes], the last axis of the input first
  Shape input;          // extents of the sampled axes
  Sampling sampling;
  DType wide;

  size_t axes() const { return input.size(); }
  Shape samples() const { return {grid.shape.begin(), grid.shape.end() - 1}; }
  Shape with_taps(int64_t taps) const {
    Shape shape = samples();
    shape.push_back(taps);
    return shape;
  }
  // The position of a sample; `i` may have more indices than the sample's.
  Position pixel(size_t axis, const Indices& i) const {
    Indices at(i.begin(), i.begin() + std::ptrdiff_t(grid.shape.size() - 1));
    at.push_back(l.constant_index(int64_t(axes() - 1 - axis)));
    return in_pixels(convert(l.read(grid, at), wide), input[axis], sampling.align_corners);
  }
  Position position(size_t axis, const Indices& i) const { return padded(pixel(axis, i), input[axis], sampling); }
};

Taps nearest_taps(const Grid& g, size_t axis) {
  return {1,
          g.l.map(DType::i64, g.with_taps(1),
                  [&](const Indices& i) { return convert(call(Function::round, g.position(axis, i).at), DType::i64); }),
          {}};
}

Taps linear_taps(const Grid& g, size_t axis) {
  Lowering& l = g.l;
  const SymbolicTensor places = l.map(DType::i64, g.with_taps(2), [&](const Indices& i) {
    return convert(call(Function::floor, g.position(axis, i).at), DType::i64) + value(i.back());
  });
  const SymbolicTensor weights = l.map(g.wide, g.with_taps(2), [&](const Indices& i) {
    const Scalar at = g.position(axis, i).at, after = at - call(Function::floor, at);
    return select(value(i.back()) == 0.0, 1.0 - after, after);
  });
  return {2, places, weights};
}

constexpr double cubic_parameter = -0.75;

// The distance from tap `k` of four to the sample.
Scalar cubic_offset(const Grid& g, size_t axis, const Indices& i) {
  const Scalar at = g.pixel(axis, i).at;
  return at - call(Function::floor, at) - convert(value(i.back() - 1), g.wide);
}

Taps cubic_taps(const Grid& g, size_t axis) {
  Lowering& l = g.l;
  const SymbolicTensor places = l.map(DType::i64, g.with_taps(4), [&](const Indices& i) {
    const Scalar at = call(Function::floor, g.pixel(axis, i).at) + convert(value(i.back() - 1), g.wide);
    return convert(padded({at, at}, g.input[axis], g.sampling).at, DType::i64);
  });
  const SymbolicTensor weights = l.map(g.wide, g.with_taps(4), [&](const Indices& i) {
    return cubic_weight(call(Function::abs, cubic_offset(g, axis, i)), cubic_parameter);
  });
  return {4, places, weights};
}

Taps taps_along(const Grid& g, size_t axis) {
  switch (g.sampling.mode) {
    case Mode::nearest: return nearest_taps(g, axis);
    case Mode::bilinear: return linear_taps(g, axis);
    case Mode::bicubic: return cubic_taps(g, axis);
  }
  return {};
}

std::vector<Taps> all_taps(const Grid& g) {
  std::vector<Taps> taps;
  for (size_t axis = 0; axis < g.axes(); ++axis) taps.push_back(taps_along(g, axis));
  return taps;
}

Shape tap_counts(const std::vector<Taps>& taps) {
  Shape counts;
  for (const Taps& axis : taps) counts.push_back(axis.count);
  return counts;
}

// ---- sampling ----

Grid grid_of(OpCall& c, const SymbolicTensor& x) {
  const SymbolicTensor grid = c.tensor("grid");
  require(x.rank() == 4 || x.rank() == 5, "grid sampling takes images or volumes");
  require(grid.rank() == x.rank() && grid.shape[0] == x.shape[0] && grid.shape.back() == x.rank() - 2,
          "the grid does not fit the input");
  const Grid g{c.lowering(), grid, {x.shape.begin() + 2, x.shape.end()}, sampling_of(c), compute_type(x.dtype)};
  require(g.sampling.mode != Mode::bicubic || x.rank() == 4, "bicubic sampling is for images");
  return g;
}

// Indices of a result [n, c, samples...] without the channel.
Indices sample_of(const Indices& i) {
  Indices sample = i;
  sample.erase(sample.begin() + 1);
  return sample;
}

Indices joined(Indices a, const Subscript& b) {
  a.push_back(b);
  return a;
}

// The coordinates in the input of one tap per axis; they may lie outside.
Indices input_at(Lowering& l, const std::vector<Taps>& taps, const Subscript& n, const Subscript& channel,
                 const Indices& sample, const Indices& chosen) {
  Indices at{n, channel};
  for (size_t a = 0; a < taps.size(); ++a) at.push_back(l.index(l.read(taps[a].places, joined(sample, chosen[a]))));
  return at;
}

Scalar weighted(Lowering& l, const std::vector<Taps>& taps, Scalar value, const Indices& sample,
                const Indices& chosen) {
  for (size_t a = 0; a < taps.size(); ++a)
    if (taps[a].weights) value = value * l.read(*taps[a].weights, joined(sample, chosen[a]));
  return value;
}

Shape sampled_shape(const SymbolicTensor& x, const Grid& g) {
  Shape shape = g.samples();
  shape.insert(shape.begin() + 1, x.shape[1]);
  return shape;
}

void define_grid_sampler(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const Grid g = grid_of(c, x);
  const std::vector<Taps> taps = all_taps(g);
  c.add_result(l.reduce(
      x.dtype, sampled_shape(x, g), Reducer::sum, tap_counts(taps), [&](const Indices& i, const Indices& chosen) {
        const Indices sample = sample_of(i);
        return weighted(l, taps, l.read(x, input_at(l, taps, i[0], i[1], sample, chosen), zero()), sample, chosen);
      }));
}

// ---- gradients ----

SymbolicTensor input_gradient(const Grid& g, const SymbolicTensor& x, const SymbolicTensor& grad,
                              const std::vector<Taps>& taps) {
  Lowering& l = g.l;
  Shape domain = grad.shape;
  for (const Taps& axis : taps) domain.push_back(axis.count);
  const SymbolicTensor sum = l.scatter(
      g.wide, x.shape, zero(), Reducer::sum, domain,
      [&](const Indices& i) {
        const Indices result(i.begin(), i.begin() + std::ptrdiff_t(grad.shape.size())),
            chosen(i.begin() + std::ptrdiff_t(grad.shape.size()), i.end());
        const Indices sample = sample_of(result);
        return ScatterWrite{input_at(l, taps, i[0], i[1], sample, chosen),
                            weighted(l, taps, l.read(grad, result), sample, chosen)};
      },
      true);
  return l.cast(sum, x.dtype);
}

Scalar cubic_slope(Scalar offset, double a) {
  const Scalar d = call(Function::abs, offset);
  const Scalar near = (3 * (a + 2) * d - 2 * (a + 3)) * d, far = (3 * a * d - 10 * a) * d + 8 * a;
  const Scalar slope = select(d <= 1.0, near, far);
  return select(offset < 0.0, -slope, slope);
}

// How the weights along an axis change with the position there.
SymbolicTensor weight_slopes(const Grid& g, size_t axis, int64_t taps) {
  Lowering& l = g.l;
  return l.map(g.wide, g.with_taps(taps), [&](const Indices& i) {
    if (g.sampling.mode == Mode::bicubic) return cubic_slope(cubic_offset(g, axis, i), cubic_parameter);
    return select(value(i.back()) == 0.0, l.convert(l.literal(Literal::of(-1.0)), g.wide),
                  l.convert(l.literal(Literal::of(1.0)), g.wide));
  });
}

SymbolicTensor axis_gradient(const Grid& g, const SymbolicTensor& x, const SymbolicTensor& grad, std::vector<Taps> taps,
                             size_t axis) {
  Lowering& l = g.l;
  taps[axis].weights = weight_slopes(g, axis, taps[axis].count);
  Shape extents = tap_counts(taps);
  extents.insert(extents.begin(), x.shape[1]);
  const SymbolicTensor sum =
      l.reduce(g.wide, g.samples(), Reducer::sum, extents, [&](const Indices& sample, const Indices& r) {
        const Indices chosen(r.begin() + 1, r.end());
        Indices result = sample;
        result.insert(result.begin() + 1, r[0]);
        const Scalar value =
            l.read(x, input_at(l, taps, sample[0], r[0], sample, chosen), zero()) * l.read(grad, result);
        return weighted(l, taps, value, sample, chosen);
      });
  return l.map(g.wide, sum.shape, [&](const Indices& i) {
    const Position p = g.sampling.mode == Mode::bicubic ? g.pixel(axis, i) : g.position(axis, i);
    return l.read(sum, i) * p.slope;
  });
}

SymbolicTensor grid_gradient(const Grid& g, const SymbolicTensor& x, const SymbolicTensor& grad,
                             const std::vector<Taps>& taps) {
  Lowering& l = g.l;
  const auto nothing = [&] { return l.convert(l.literal(zero()), g.grid.dtype); };
  if (g.sampling.mode == Mode::nearest)
    return l.map(g.grid.dtype, g.grid.shape, [&](const Indices&) { return nothing(); });
  std::vector<SymbolicTensor> parts;
  for (size_t axis = 0; axis < g.axes(); ++axis) parts.push_back(axis_gradient(g, x, grad, taps, axis));
  return l.map(g.grid.dtype, g.grid.shape, [&](const Indices& i) {
    const Indices sample(i.begin(), i.end() - 1);
    Scalar result = l.read(parts[0], sample);
    for (size_t axis = 1; axis < parts.size(); ++axis)
      result = select(value(i.back()) == double(parts.size() - 1 - axis), l.read(parts[axis], sample), result);
    return result;
  });
}

void define_grid_sampler_backward(OpCall& c) {
  const SymbolicTensor x = c.tensor("input"), grad = c.tensor("grad_output");
  const Grid g = grid_of(c, x);
  require(grad.shape == sampled_shape(x, g), "the gradient does not have the shape of the samples");
  const std::vector<int64_t> mask = c.integers("output_mask", {1, 1});
  require(mask.size() == 2, "output_mask has two entries");
  const std::vector<Taps> taps = all_taps(g);
  if (mask[0])
    c.add_result(input_gradient(g, x, grad, taps));
  else
    c.add_empty_result();
  if (mask[1])
    c.add_result(grid_gradient(g, x, grad, taps));
  else
    c.add_empty_result();
}

// ---- affine grids ----

// Coordinate `at` of `count` in [-1, 1]: from border to border, or through the centres of the pixels.
Scalar base_coordinate(const Subscript& at, int64_t count, bool align_corners, DType wide) {
  const Scalar place = convert(value(at), wide);
  if (count <= 1) return place * 0.0;
  const double step = wide == DType::f64 ? 2.0 / double(count - 1) : double(2.0F / float(count - 1));
  const Scalar even =
      select(value(at) < double(count / 2), place * step - 1.0, 1.0 - convert(value(count - 1 - at), wide) * step);
  return align_corners ? even : even * double(count - 1) / double(count);
}

struct AffineGrid {
  Shape size;  // of the images: [n, c, ...]
  bool align_corners;
  size_t axes() const { return size.size() - 2; }
  // [x, y, 1] or [x, y, z, 1] of a pixel: entry k counts axes from the last.
  Scalar entry(Lowering& l, const Indices& pixel, size_t k, DType wide) const {
    if (k == axes()) return l.convert(l.literal(Literal::of(1.0)), wide);
    const size_t axis = axes() - 1 - k;
    return base_coordinate(pixel[axis], size[2 + axis], align_corners, wide);
  }
};

AffineGrid affine_grid_of(const OpCall& c) {
  AffineGrid grid{c.integers("size"), c.flag("align_corners", false)};
  require(grid.size.size() == 4 || grid.size.size() == 5, "affine grids are for images or volumes");
  for (const int64_t extent : grid.size) require(extent >= 0, "an affine grid has a negative size");
  return grid;
}

void define_affine_grid(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor theta = c.tensor("theta");
  const AffineGrid grid = affine_grid_of(c);
  const auto axes = int64_t(grid.axes());
  require(theta.shape == Shape{grid.size[0], axes, axes + 1}, "theta does not fit the size of the grid");
  Shape shape{grid.size[0]};
  shape.insert(shape.end(), grid.size.begin() + 2, grid.size.end());
  shape.push_back(axes);
  const DType wide = compute_type(theta.dtype);
  c.add_result(l.map(theta.dtype, shape, [&](const Indices& i) {
    const Indices pixel(i.begin() + 1, i.end() - 1);
    Scalar sum = l.read(theta, {i[0], i.back(), l.constant_index(axes)});
    for (size_t k = 0; k < grid.axes(); ++k)
      sum = sum + l.read(theta, {i[0], i.back(), l.constant_index(int64_t(k))}) * grid.entry(l, pixel, k, wide);
    return sum;
  }));
}

void define_affine_grid_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad");
  const AffineGrid grid = affine_grid_of(c);
  const auto axes = int64_t(grid.axes());
  const Shape pixels(grid.size.begin() + 2, grid.size.end());
  const DType wide = compute_type(grad.dtype);
  c.add_result(l.reduce(grad.dtype, {grid.size[0], axes, axes + 1}, Reducer::sum, pixels,
                        [&](const Indices& i, const Indices& pixel) {
                          Scalar entry = grid.entry(l, pixel, 0, wide);
                          for (size_t k = 1; k <= grid.axes(); ++k)
                            entry = select(value(i[2]) == double(k), grid.entry(l, pixel, k, wide), entry);
                          Indices at{i[0]};
                          at.insert(at.end(), pixel.begin(), pixel.end());
                          return l.read(grad, joined(at, i[1])) * entry;
                        }));
}

}  // namespace

void register_grid_sampling(Registry& r) {
  const std::string settings = "interpolation_mode, padding_mode, align_corners";
  r.add("grid_sampler", "input, grid, " + settings, define_grid_sampler,
        {"grid_sampler_2d", "grid_sampler_3d", "_grid_sampler_2d_cpu_fallback"});
  r.add("grid_sample", "input, grid, mode, padding_mode, align_corners", define_grid_sampler);
  r.add("grid_sampler_2d_backward", "grad_output, input, grid, " + settings + ", output_mask",
        define_grid_sampler_backward, {"grid_sampler_3d_backward", "_grid_sampler_2d_cpu_fallback_backward"});
  r.add("affine_grid_generator", "theta, size, align_corners", define_affine_grid, {"affine_grid"});
  r.add("affine_grid_generator_backward", "grad, size, align_corners", define_affine_grid_backward);
}

}  // namespace lightline::ops
