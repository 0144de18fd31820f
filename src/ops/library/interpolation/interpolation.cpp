// Interpolation: upsample operators, their gradients, and interpolate.
#include "ops/library/interpolation/interpolation.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/library/pooling/pooling.h"

namespace lightline::ops {
namespace {

bool is_smooth(Filter filter) { return filter >= Filter::smooth_linear; }

int64_t scaled_size(int64_t in, double factor) {
  const double size = double(in) * factor;
  require(size >= 0 && size < 0x1p40, "a scale factor makes no sense");
  return int64_t(size);
}

// The scale factors of the default overloads, one by one, or of `vec` as a list.
std::vector<std::optional<double>> factors_of(const OpCall& c, size_t spatial) {
  static constexpr const char* names[3] = {"scales_d", "scales_h", "scales_w"};
  std::vector<std::optional<double>> factors(spatial);
  if (c.has("scale_factors")) {
    const std::vector<double> list = c.numbers("scale_factors", {});
    require(list.size() == spatial, "there is one scale factor per dimension");
    for (size_t i = 0; i < spatial; ++i) factors[i] = list[i];
    return factors;
  }
  for (size_t i = 0; i < spatial; ++i) {
    const char* name = spatial == 1 ? "scales" : names[3 - spatial + i];
    if (c.has(name)) factors[i] = c.number(name, 0);
  }
  return factors;
}

std::vector<AxisSize> axis_sizes(const OpCall& c, const Shape& input, size_t spatial) {
  require(input.size() == spatial + 2, fmt::format("interpolation over {} dimensions takes a tensor of rank {}, not {}",
                                                   spatial, spatial + 2, input.size()));
  const auto factors = factors_of(c, spatial);
  const std::vector<int64_t> output =
      c.has("output_size") ? c.integers("output_size", spatial, 0) : std::vector<int64_t>{};
  std::vector<AxisSize> sizes;
  for (size_t i = 0; i < spatial; ++i) {
    AxisSize size{i + 2, input[i + 2], 0, factors[i]};
    require(!output.empty() || factors[i], "interpolation needs a size or a factor");
    size.out = output.empty() ? scaled_size(size.in, *factors[i]) : output[i];
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<ResampledAxis> axes_of(Lowering& l, const std::vector<AxisSize>& sizes, Filter filter, bool align_corners,
                                   DType wide) {
  std::vector<ResampledAxis> axes;
  for (const AxisSize& size : sizes) axes.push_back(resampled_axis(l, size, filter, align_corners, wide));
  return axes;
}

DType weight_type(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

SymbolicTensor interpolated(Lowering& l, const SymbolicTensor& x, const std::vector<AxisSize>& sizes, Filter filter,
                            bool align_corners) {
  const DType wide = weight_type(x.dtype);
  const auto axes = axes_of(l, sizes, filter, align_corners, wide);
  if (!is_smooth(filter)) return resampled(l, x.dtype, x, axes);
  // wide filters go one dimension at a time
  SymbolicTensor result = x;
  for (size_t a = axes.size(); a-- > 0;) result = resampled(l, a == 0 ? x.dtype : wide, result, {axes[a]});
  return result;
}

void define_upsample(OpCall& c, Filter filter, size_t spatial) {
  const SymbolicTensor x = c.tensor(c.has("self") ? "self" : "input");
  c.add_result(interpolated(c.lowering(), x, axis_sizes(c, x.shape, spatial), filter, c.flag("align_corners", false)));
}

void define_upsample_backward(OpCall& c, Filter filter, size_t spatial) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output");
  const auto sizes = axis_sizes(c, c.integers("input_size"), spatial);
  require(grad.shape.size() == spatial + 2, "the gradient of an interpolation has the rank of its result");
  for (const AxisSize& size : sizes)
    require(grad.shape[size.dim] == size.out, "the gradient of an interpolation does not have its output size");
  const auto axes = axes_of(l, sizes, filter, c.flag("align_corners", false), weight_type(grad.dtype));
  if (!is_smooth(filter)) return c.add_result(resampled_backward(l, grad.dtype, grad, axes));
  SymbolicTensor result = grad;
  for (size_t a = 0; a < axes.size(); ++a)
    result = resampled_backward(l, a + 1 == axes.size() ? grad.dtype : compute_type(grad.dtype), result, {axes[a]});
  c.add_result(result);
}

// ---- torch.nn.functional.interpolate ----

std::vector<AxisSize> requested_sizes(const OpCall& c, const SymbolicTensor& x) {
  require(x.rank() >= 3 && x.rank() <= 5, "interpolate takes one to three dimensions after batch and channels");
  const size_t spatial = x.shape.size() - 2;
  require(c.has("size") || c.has("scale_factor"), "interpolation needs a size or a factor");
  const std::vector<int64_t> size = c.has("size") ? c.integers("size", spatial, 1) : std::vector<int64_t>{};
  std::vector<double> factors = c.numbers("scale_factor", {});
  if (factors.size() == 1) factors.resize(spatial, factors[0]);
  require(!size.empty() || factors.size() == spatial, "there is one scale factor per dimension");
  std::vector<AxisSize> sizes;
  for (size_t i = 0; i < spatial; ++i) {
    AxisSize axis{i + 2, x.shape[i + 2], size.empty() ? scaled_size(x.shape[i + 2], factors[i]) : size[i], {}};
    if (size.empty() && !c.flag("recompute_scale_factor", false)) axis.factor = factors[i];
    sizes.push_back(axis);
  }
  return sizes;
}

void define_interpolate(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const auto sizes = requested_sizes(c, x);
  const std::string mode = c.text("mode", "nearest");
  const bool antialias = c.flag("antialias", false);
  if (mode == "area") {
    Shape output;
    for (const AxisSize& size : sizes) output.push_back(size.out);
    return c.add_result(average(c, x, adaptive_windows(x, output)));
  }
  const std::pair<std::string_view, Filter> filters[] = {
      {"nearest", Filter::nearest},       {"nearest-exact", Filter::nearest_exact},
      {"linear", Filter::linear},         {"bilinear", antialias ? Filter::smooth_linear : Filter::linear},
      {"trilinear", Filter::linear},      {"bicubic", antialias ? Filter::smooth_cubic : Filter::cubic},
      {"lanczos", Filter::smooth_lanczos}};
  for (const auto& [name, filter] : filters)
    if (name == mode) return c.add_result(interpolated(l, x, sizes, filter, c.flag("align_corners", false)));
  fail(fmt::format("there is no interpolation '{}'", mode));
}

struct Named {
  const char* name;
  Filter filter;
  size_t spatial;
};
constexpr Named operators[] = {
    {"upsample_nearest1d", Filter::nearest, 1},
    {"upsample_nearest2d", Filter::nearest, 2},
    {"upsample_nearest3d", Filter::nearest, 3},
    {"_upsample_nearest_exact1d", Filter::nearest_exact, 1},
    {"_upsample_nearest_exact2d", Filter::nearest_exact, 2},
    {"_upsample_nearest_exact3d", Filter::nearest_exact, 3},
    {"upsample_linear1d", Filter::linear, 1},
    {"upsample_bilinear2d", Filter::linear, 2},
    {"upsample_trilinear3d", Filter::linear, 3},
    {"upsample_bicubic2d", Filter::cubic, 2},
    {"_upsample_bilinear2d_aa", Filter::smooth_linear, 2},
    {"_upsample_bicubic2d_aa", Filter::smooth_cubic, 2},
    {"_upsample_lanczos2d_aa", Filter::smooth_lanczos, 2},
};

std::string scale_names(size_t spatial) {
  return spatial == 1 ? "scales" : spatial == 2 ? "scales_h, scales_w" : "scales_d, scales_h, scales_w";
}

}  // namespace

void register_interpolation(Registry& r) {
  for (const Named& op : operators) {
    const bool is_nearest = op.filter <= Filter::nearest_exact;
    const std::string rest = (is_nearest ? "" : "align_corners, ") + scale_names(op.spatial);
    r.add(op.name, "self, output_size, " + rest, [op](OpCall& c) { define_upsample(c, op.filter, op.spatial); });
    r.add(fmt::format("{}.vec", op.name),
          is_nearest ? "input, output_size, scale_factors" : "input, output_size, align_corners, scale_factors",
          [op](OpCall& c) { define_upsample(c, op.filter, op.spatial); });
    r.add(fmt::format("{}_backward", op.name), "grad_output, output_size, input_size, " + rest,
          [op](OpCall& c) { define_upsample_backward(c, op.filter, op.spatial); });
  }
  r.add("interpolate", "input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias",
        define_interpolate, {"torch.nn.functional.upsample"});
  register_grid_sampling(r);
  register_folding(r);
  register_vision(r);
}

}  // namespace lightline::ops
