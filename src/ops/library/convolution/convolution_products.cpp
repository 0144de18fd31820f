#include <fmt/format.h>

#include <algorithm>

#include "ops/library/convolution/convolution.h"

namespace lightline::ops {
namespace {

// A box whose indices of extent 1 are left out of the loops.
class Box {
 public:
  size_t add(int64_t extent) {
    place_.push_back(extent == 1 ? -1 : int64_t(extents_.size()));
    if (extent != 1) extents_.push_back(extent);
    return place_.size() - 1;
  }
  const Shape& extents() const { return extents_; }
  Subscript at(Lowering& l, const Indices& index, size_t which) const {
    return place_[which] < 0 ? l.constant_index(0) : index[size_t(place_[which])];
  }

 private:
  std::vector<int64_t> place_;
  Shape extents_;
};

Shape spatial(const SymbolicTensor& tensor) { return {tensor.shape.begin() + 2, tensor.shape.end()}; }

// Where the tap `r` of the narrow position `p` lies.
Subscript tap(const ConvolutionGeometry& g, size_t d, const Subscript& p, const Subscript& r) {
  return p * g.stride[d] + r * g.dilation[d] - g.low[d];
}

// Output channels as one dimension, or as groups and channels of a group where both run.
struct ChannelLoops {
  bool split;
  int64_t groups, per_group;
  ChannelLoops(int64_t group_count, int64_t channels)
      : split(group_count > 1 && channels > group_count),
        groups(group_count),
        per_group(group_count == 0 ? 0 : channels / group_count) {}
  size_t count() const { return split ? 2 : 1; }
  Shape extents() const { return split ? Shape{groups, per_group} : Shape{groups * per_group}; }
  Subscript group(Lowering& l, const Indices& i, size_t at) const {
    return split || groups > 1 ? i[at] : l.constant_index(0);
  }
  Subscript within(Lowering& l, const Indices& i, size_t at) const {
    return split ? i[at + 1] : groups > 1 ? l.constant_index(0) : i[at];
  }
};

SymbolicTensor joined_channels(Lowering& l, const SymbolicTensor& tensor, const ChannelLoops& channels, size_t at) {
  if (!channels.split) return tensor;
  Shape shape = tensor.shape;
  shape[at] = channels.groups * channels.per_group;
  shape.erase(shape.begin() + int64_t(at) + 1);
  return l.reshape(tensor, std::move(shape));
}

// A transposed convolution with a stride falls apart into phases: the wide position m * stride + phase meets the
// taps phase, phase + stride, ... only. With as many taps in every phase this is a sum of the same size everywhere.
bool has_even_phases(const ConvolutionGeometry& g, const Shape& kernel) {
  for (size_t d = 0; d < g.dims(); ++d)
    if (g.stride[d] != 1 && (g.dilation[d] != 1 || kernel[d] % g.stride[d] != 0 || kernel[d] == 0)) return false;
  return true;
}

struct Phases {
  int64_t first = 0;  // of the steps of `stride` that are needed
  int64_t steps = 0;
  int64_t taps = 0;
};

Phases phases_of(const ConvolutionGeometry& g, size_t d, int64_t extent, int64_t kernel) {
  if (g.stride[d] == 1) return {0, extent, kernel};
  const int64_t first = g.low[d] / g.stride[d];
  const int64_t end = (g.low[d] + extent + g.stride[d] - 1) / g.stride[d];
  return {first, extent == 0 ? 0 : end - first, kernel / g.stride[d]};
}

SymbolicTensor to_wide_by_phases(Lowering& l, DType dtype, const ConvolutionGeometry& g, const SymbolicTensor& narrow,
                                 const SymbolicTensor& weight, const Shape& wide_spatial) {
  const int64_t out_per_group = narrow.shape[1] / g.groups, in_per_group = weight.shape[1];
  const ChannelLoops channels(g.groups, g.groups * in_per_group);
  Box box;
  box.add(out_per_group);
  Shape shape{narrow.shape[0]};
  for (const int64_t extent : channels.extents()) shape.push_back(extent);
  std::vector<Phases> phases;
  std::vector<size_t> loop_of;
  for (size_t d = 0; d < g.dims(); ++d) {
    phases.push_back(phases_of(g, d, wide_spatial[d], weight.shape[2 + d]));
    box.add(phases[d].taps);
    loop_of.push_back(shape.size());
    shape.push_back(phases[d].steps);
    if (g.stride[d] != 1) shape.push_back(g.stride[d]);
  }
  SymbolicTensor sum = l.reduce(dtype, shape, Reducer::sum, box.extents(), [&](const Indices& i, const Indices& r) {
    const Subscript group = channels.group(l, i, 1), out = group * out_per_group + box.at(l, r, 0);
    Indices at_narrow{i[0], out}, at_weight{out, channels.within(l, i, 1)};
    for (size_t d = 0; d < g.dims(); ++d) {
      const Subscript tap_step = box.at(l, r, 1 + d);
      const Subscript& step = i[loop_of[d]];
      const bool strided = g.stride[d] != 1;
      at_narrow.push_back(strided ? step + phases[d].first - tap_step : step + g.low[d] - tap_step * g.dilation[d]);
      at_weight.push_back(strided ? i[loop_of[d] + 1] + tap_step * g.stride[d] : tap_step);
    }
    return convert(l.read(narrow, at_narrow, Literal::of(int64_t(0))), dtype) *
           convert(l.read(weight, at_weight), dtype);
  });
  sum = joined_channels(l, sum, channels, 1);
  for (size_t d = 0; d < g.dims(); ++d) {
    if (g.stride[d] == 1) continue;
    Shape merged = sum.shape;
    merged[2 + d] *= g.stride[d];
    merged.erase(merged.begin() + int64_t(3 + d));
    sum = l.slice(l.reshape(sum, merged), int64_t(2 + d), g.low[d] - phases[d].first * g.stride[d], wide_spatial[d]);
  }
  return sum;
}

// Every product is made once and added where it belongs, so that no work is spent on taps that a stride leaves out.
SymbolicTensor to_wide_by_scatter(Lowering& l, DType dtype, const ConvolutionGeometry& g, const SymbolicTensor& narrow,
                                  const SymbolicTensor& weight, const Shape& wide_spatial) {
  const int64_t out_per_group = narrow.shape[1] / g.groups, in_per_group = weight.shape[1];
  Box box;
  for (const int64_t extent : {narrow.shape[0], g.groups, out_per_group, in_per_group}) box.add(extent);
  for (size_t d = 0; d < g.dims(); ++d) box.add(weight.shape[2 + d]);
  for (size_t d = 0; d < g.dims(); ++d) box.add(narrow.shape[2 + d]);
  Shape shape{narrow.shape[0], g.groups * in_per_group};
  shape.insert(shape.end(), wide_spatial.begin(), wide_spatial.end());
  const DType compute = compute_type(dtype);
  const SymbolicTensor sum = l.scatter(
      compute, shape, Literal::of(int64_t(0)), Reducer::sum, box.extents(),
      [&](const Indices& i) {
        const Subscript n = box.at(l, i, 0), group = box.at(l, i, 1), out = group * out_per_group + box.at(l, i, 2),
                        in = box.at(l, i, 3);
        Indices at_narrow{n, out}, at_weight{out, in}, target{n, group * in_per_group + in};
        for (size_t d = 0; d < g.dims(); ++d) {
          const Subscript r = box.at(l, i, 4 + d), p = box.at(l, i, 4 + g.dims() + d);
          at_weight.push_back(r);
          at_narrow.push_back(p);
          target.push_back(tap(g, d, p, r));
        }
        return ScatterWrite{std::move(target),
                            convert(l.read(narrow, at_narrow), compute) * convert(l.read(weight, at_weight), compute)};
      },
      true);
  return l.cast(sum, dtype);
}

}  // namespace

void check_geometry(const ConvolutionGeometry& g, const Shape& weight) {
  constexpr int64_t most = int64_t(1) << 31;
  require(weight.size() == g.dims() + 2, "the weight of a convolution has two dimensions more than the window");
  require(g.groups > 0, "a convolution needs at least one group");
  for (size_t d = 0; d < g.dims(); ++d) {
    if (g.stride[d] <= 0 || g.dilation[d] <= 0)
      fail(fmt::format("stride {} and dilation {} of a convolution must be positive", g.stride[d], g.dilation[d]));
    if (g.low[d] < 0 || g.high[d] < 0) fail("the padding of a convolution is negative");
    require(g.stride[d] < most && g.dilation[d] < most && g.low[d] < most && g.high[d] < most && weight[2 + d] < most,
            "a number of the convolution is absurdly large");
  }
}

Shape narrow_extents(const ConvolutionGeometry& g, const Shape& wide, const Shape& weight) {
  Shape extents;
  for (size_t d = 0; d < g.dims(); ++d) {
    const int64_t room = wide[2 + d] + g.low[d] + g.high[d] - g.dilation[d] * (weight[2 + d] - 1) - 1;
    if (room < 0)
      fail(fmt::format("a kernel of {} with dilation {} is larger than the padded input of {}", weight[2 + d],
                       g.dilation[d], wide[2 + d] + g.low[d] + g.high[d]));
    extents.push_back(room / g.stride[d] + 1);
  }
  return extents;
}

SymbolicTensor to_narrow(Lowering& l, DType dtype, const ConvolutionGeometry& g, const SymbolicTensor& wide,
                         const SymbolicTensor& weight, const Shape& narrow_spatial) {
  const int64_t out = weight.shape[0], in_per_group = weight.shape[1];
  const ChannelLoops channels(g.groups, out);
  Box box;
  box.add(in_per_group);
  for (size_t d = 0; d < g.dims(); ++d) box.add(weight.shape[2 + d]);
  Shape shape{wide.shape[0]};
  for (const int64_t extent : channels.extents()) shape.push_back(extent);
  const size_t first = shape.size();
  shape.insert(shape.end(), narrow_spatial.begin(), narrow_spatial.end());
  const SymbolicTensor sum =
      l.reduce(dtype, shape, Reducer::sum, box.extents(), [&](const Indices& i, const Indices& r) {
        const Subscript group = channels.group(l, i, 1), c = box.at(l, r, 0);
        Indices at_wide{i[0], group * in_per_group + c},
            at_weight{group * channels.per_group + channels.within(l, i, 1), c};
        for (size_t d = 0; d < g.dims(); ++d) {
          at_weight.push_back(box.at(l, r, 1 + d));
          at_wide.push_back(tap(g, d, i[first + d], at_weight.back()));
        }
        return convert(l.read(wide, at_wide, Literal::of(int64_t(0))), dtype) *
               convert(l.read(weight, at_weight), dtype);
      });
  return joined_channels(l, sum, channels, 1);
}

SymbolicTensor to_wide(Lowering& l, DType dtype, const ConvolutionGeometry& g, const SymbolicTensor& narrow,
                       const SymbolicTensor& weight, const Shape& wide_spatial) {
  const bool even = has_even_phases(g, {weight.shape.begin() + 2, weight.shape.end()});
  return (even ? to_wide_by_phases : to_wide_by_scatter)(l, dtype, g, narrow, weight, wide_spatial);
}

SymbolicTensor to_weight(Lowering& l, DType dtype, const ConvolutionGeometry& g, const SymbolicTensor& narrow,
                         const SymbolicTensor& wide, const Shape& weight) {
  const int64_t in_per_group = weight[1];
  const ChannelLoops channels(g.groups, weight[0]);
  Box box;
  box.add(narrow.shape[0]);
  for (const int64_t extent : spatial(narrow)) box.add(extent);
  Shape shape = channels.extents();
  shape.insert(shape.end(), weight.begin() + 1, weight.end());
  const size_t first = channels.count();
  const SymbolicTensor sum =
      l.reduce(dtype, shape, Reducer::sum, box.extents(), [&](const Indices& i, const Indices& r) {
        const Subscript group = channels.group(l, i, 0), n = box.at(l, r, 0);
        Indices at_narrow{n, group * channels.per_group + channels.within(l, i, 0)},
            at_wide{n, group * in_per_group + i[first]};
        for (size_t d = 0; d < g.dims(); ++d) {
          at_narrow.push_back(box.at(l, r, 1 + d));
          at_wide.push_back(tap(g, d, at_narrow.back(), i[first + 1 + d]));
        }
        return convert(l.read(narrow, at_narrow), dtype) *
               convert(l.read(wide, at_wide, Literal::of(int64_t(0))), dtype);
      });
  return joined_channels(l, sum, channels, 0);
}

}  // namespace lightline::ops
