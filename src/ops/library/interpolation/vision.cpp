// Operators of torchvision: boxes, regions of images, convolutions that choose where they read.
#include <fmt/format.h>

#include "ops/build/registry.h"
#include "ops/library/convolution/convolution.h"
#include "ops/library/interpolation/interpolation.h"
#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

// ---- deformable convolution ----

struct Deformed {
  SymbolicTensor x, weight, offset;
  std::optional<SymbolicTensor> mask;
  int64_t stride[2], padding[2], dilation[2];
  int64_t groups, offset_groups;
  int64_t taps() const { return weight.shape[2] * weight.shape[3]; }
};

Deformed deformed_of(OpCall& c) {
  Deformed d{c.tensor("input"), c.tensor("weight"), c.tensor("offset"), {}, {}, {}, {}, 0, 0};
  if (c.flag("use_mask", true)) d.mask = c.tensor("mask");
  const std::string_view axes[] = {"h", "w"};
  for (size_t a = 0; a < 2; ++a) {
    d.stride[a] = c.integer(fmt::format("stride_{}", axes[a]));
    d.padding[a] = c.integer(fmt::format("pad_{}", axes[a]));
    d.dilation[a] = c.integer(fmt::format("dilation_{}", axes[a]));
    constexpr int64_t limit = int64_t(1) << 31;
    require(d.stride[a] > 0 && d.stride[a] < limit && d.padding[a] >= 0 && d.padding[a] < limit && d.dilation[a] > 0 &&
                d.dilation[a] < limit,
            "a stride, padding or dilation makes no sense");
  }
  d.groups = c.integer("groups");
  d.offset_groups = c.integer("offset_groups");
  require(d.x.rank() == 4 && d.weight.rank() == 4 && d.offset.rank() == 4, "a deformable convolution takes images");
  const int64_t channels = d.x.shape[1];
  require(d.groups > 0 && d.offset_groups > 0 && channels % d.groups == 0 && channels % d.offset_groups == 0 &&
              d.weight.shape[1] == channels / d.groups,
          "the channels do not fall into these groups");
  require(d.offset.shape[1] == 2 * d.offset_groups * d.taps(), "the offsets do not fit the kernel");
  if (d.mask)
    require(d.mask->shape == Shape({d.offset.shape[0], d.offset.shape[1] / 2, d.offset.shape[2], d.offset.shape[3]}),
            "the mask does not fit the offsets");
  return d;
}

// Where a tap reads along one axis: [n, offset group, r, s, p, q].
SymbolicTensor deformed_positions(Lowering& l, const Deformed& d, int64_t axis) {
  const Shape shape{d.x.shape[0],      d.offset_groups,   d.weight.shape[2],
                    d.weight.shape[3], d.offset.shape[2], d.offset.shape[3]};
  const DType wide = compute_type(d.x.dtype);
  return l.map(wide, shape, [&](const Indices& i) {
    const Subscript tap = i[2] * d.weight.shape[3] + i[3], which = i[1] * (2 * d.taps()) + tap * 2 + axis;
    const Subscript &out = i[size_t(4 + axis)], &step = i[size_t(2 + axis)];
    const Subscript fixed = out * d.stride[axis] + step * d.dilation[axis] - d.padding[axis];
    return convert(value(fixed), wide) + convert(l.read(d.offset, {i[0], which, i[4], i[5]}), wide);
  });
}

void define_deform_conv2d(OpCall& c) {
  Lowering& l = c.lowering();
  const Deformed d = deformed_of(c);
  const DType wide = compute_type(d.x.dtype);
  const SymbolicTensor y = deformed_positions(l, d, 0), x = deformed_positions(l, d, 1);
  const int64_t channels = d.x.shape[1], per_group = channels / d.offset_groups;
  Shape shape = y.shape;
  shape[1] = channels;
  const SymbolicTensor sampled = l.map(d.x.dtype, shape, [&](const Indices& i) {
    Indices at = i;
    at[1] = div(i[1], per_group);
    const Scalar row = l.read(y, at), column = l.read(x, at);
    const Scalar above = call(Function::floor, row), left = call(Function::floor, column);
    const Scalar down = row - above, right = column - left;
    const auto corner = [&](double dy, double dx) {
      return l.read(
          d.x, {i[0], i[1], l.index(convert(above + dy, DType::i64)), l.index(convert(left + dx, DType::i64))}, zero());
    };
    const Scalar sum = (1.0 - down) * ((1.0 - right) * corner(0, 0) + right * corner(0, 1)) +
                       down * ((1.0 - right) * corner(1, 0) + right * corner(1, 1));
    if (!d.mask) return sum;
    const Subscript which = at[1] * d.taps() + i[2] * d.weight.shape[3] + i[3];
    return sum * convert(l.read(*d.mask, {i[0], which, i[4], i[5]}), wide);
  });
  const ConvolutionGeometry pointwise{{1, 1}, {1, 1}, {0, 0}, {0, 0}, d.groups};
  const SymbolicTensor columns = l.reshape(sampled, {shape[0], channels * d.taps(), shape[4], shape[5]});
  const SymbolicTensor rows = l.reshape(d.weight, {d.weight.shape[0], d.weight.shape[1] * d.taps(), 1, 1});
  const SymbolicTensor product = to_narrow(l, d.x.dtype, pointwise, columns, rows, {shape[4], shape[5]});
  const SymbolicTensor bias = c.tensor("bias");
  c.add_result(
      l.map(d.x.dtype, product.shape, [&](const Indices& i) { return l.read(product, i) + l.read(bias, {i[1]}); }));
}

// ---- regions of interest ----

struct Regions {
  SymbolicTensor rois;  // [regions, 5]: image, left, top, right, bottom
  double scale;
  int64_t samples;  // per bin and axis
  bool aligned;
  DType wide;
};

struct RegionTaps {
  SymbolicTensor places;   // i64 [regions, bins, samples, 2]
  SymbolicTensor weights;  // likewise
};

// The position of a sample along one axis (0: rows, 1: columns).
Scalar region_position(Lowering& l, const Regions& r, int64_t axis, int64_t bins, const Indices& i) {
  const auto edge = [&](int64_t column) {
    const Scalar at = convert(l.read(r.rois, {i[0], l.constant_index(column)}), r.wide) * r.scale;
    return r.aligned ? at - 0.5 : at;
  };
  const Scalar start = edge(2 - axis);
  Scalar length = edge(4 - axis) - start;
  if (!r.aligned) length = max(length, 1.0);
  const Scalar bin = length / double(bins);
  return start + convert(value(i[1]), r.wide) * bin + (convert(value(i[2]), r.wide) + 0.5) * bin / double(r.samples);
}

RegionTaps region_taps(Lowering& l, const Regions& r, int64_t axis, int64_t bins, int64_t extent) {
  const Shape shape{r.rois.shape[0], bins, r.samples, 2};
  const double last = double(extent - 1);
  const auto inside = [&](const Scalar& at) { return min(max(at, 0.0), last); };
  const SymbolicTensor places = l.map(DType::i64, shape, [&](const Indices& i) {
    const Scalar first = call(Function::floor, inside(region_position(l, r, axis, bins, i)));
    return convert(min(first + convert(value(i[3]), r.wide), last), DType::i64);
  });
  const SymbolicTensor weights = l.map(r.wide, shape, [&](const Indices& i) {
    const Scalar at = region_position(l, r, axis, bins, i), kept = inside(at),
                 after = kept - call(Function::floor, kept);
    const Scalar share = select(value(i[3]) == 0.0, 1.0 - after, after);
    return select(at < -1.0 || at > double(extent), 0.0, share);
  });
  return {places, weights};
}

void define_roi_align(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input"), rois = c.tensor("rois");
  require(x.rank() == 4 && rois.rank() == 2 && rois.shape[1] == 5, "regions are rows of five numbers, of images");
  const int64_t height = c.integer("pooled_height"), width = c.integer("pooled_width"),
                samples = c.integer("sampling_ratio", -1);
  require(height > 0 && width > 0 && samples < (1 << 20), "the sizes of the pooled regions are absurd");
  if (samples <= 0)
    return add_opaque_results(c, "roi_align", {x, rois});  // the number of samples in a bin depends on data
  const Regions regions{rois, c.number("spatial_scale", 1), samples, c.flag("aligned", false), compute_type(x.dtype)};
  const RegionTaps rows = region_taps(l, regions, 0, height, x.shape[2]),
                   columns = region_taps(l, regions, 1, width, x.shape[3]);
  const double count = double(samples) * double(samples);
  c.add_result(l.reduce(
      x.dtype, {rois.shape[0], x.shape[1], height, width}, Reducer::sum, {samples, 2, samples, 2},
      [&](const Indices& i, const Indices& r) {
        const Indices row{i[0], i[2], r[0], r[1]}, column{i[0], i[3], r[2], r[3]};
        const Subscript image = l.index(convert(l.read(rois, {i[0], l.constant_index(0)}), DType::i64));
        const Scalar pixel =
            l.read(x, {image, i[1], l.index(l.read(rows.places, row)), l.index(l.read(columns.places, column))});
        return l.read(rows.weights, row) * l.read(columns.weights, column) * pixel / count;
      }));
}

}  // namespace

void register_vision(Registry& r) {
  r.family = "torchvision";
  r.add("torchvision.deform_conv2d",
        "input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, "
        "offset_groups, use_mask",
        define_deform_conv2d, {"torchvision.deform_conv2d.default"});
  r.add("torchvision.roi_align", "input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned",
        define_roi_align, {"torchvision.roi_align.default"});
  r.add("torchvision.nms", "dets, scores, iou_threshold",
        [](OpCall& c) {
          add_opaque_results(c, "nms", {c.tensor("dets"), c.tensor("scores")});
        },
        {"torchvision.nms.default"})
      .opaque = true;
}

}  // namespace lightline::ops
