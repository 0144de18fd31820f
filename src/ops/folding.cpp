// Windows of images as columns and back, and regions of images.
#include <fmt/format.h>

#include "ops/interpolation.h"
#include "ops/pooling.h"

namespace lightline::ops {
namespace {

Literal zero() { return Literal::of(int64_t(0)); }

// Two dimensions of windows over an image of `size`.
std::vector<WindowDim> windows_over(const OpCall& c, const Shape& size) {
  const auto kernel = c.integers("kernel_size", 2, 1), dilation = c.integers("dilation", 2, 1),
             padding = c.integers("padding", 2, 0), stride = c.integers("stride", 2, 1);
  std::vector<WindowDim> dims;
  for (size_t d = 0; d < 2; ++d) {
    constexpr int64_t limit = int64_t(1) << 31;
    const auto sensible = [&](int64_t setting, int64_t least) { return setting >= least && setting < limit; };
    require(sensible(kernel[d], 1) && sensible(dilation[d], 1) && sensible(stride[d], 1) && sensible(padding[d], 0) &&
                sensible(size[d], 0),
            "windows have a kernel, stride or dilation below 1, a negative padding, or absurd sizes");
    const int64_t room = size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    require(room >= 0, "a window is larger than the image");
    dims.push_back({.in = size[d],
                    .out = room / stride[d] + 1,
                    .taps = kernel[d],
                    .stride = stride[d],
                    .padding = padding[d],
                    .dilation = dilation[d]});
  }
  return dims;
}

// Images without a batch count as a batch of one.
Tensor batched(Lowering& l, const Tensor& x, int64_t rank) {
  require(x.rank() == rank || x.rank() == rank - 1,
          fmt::format("folding takes tensors of rank {} or {}", rank - 1, rank));
  return x.rank() == rank ? x : l.unsqueeze(x, 0);
}

void define_im2col(OpCall& c) {
  Lowering& l = c.lowering();
  const Tensor self = c.tensor("self"), x = batched(l, self, 4);
  const auto dims = windows_over(c, {x.shape[2], x.shape[3]});
  const WindowDim &rows = dims[0], &columns = dims[1];
  const Tensor taps =
      l.map(x.dtype, {x.shape[0], x.shape[1], rows.taps, columns.taps, rows.out, columns.out}, [&](const Indices& i) {
        return l.read(x, {i[0], i[1], rows.at(i[4], i[2]), columns.at(i[5], i[3])}, zero());
      });
  Shape shape{x.shape[0], product(Shape{x.shape[1], rows.taps, columns.taps}), product(Shape{rows.out, columns.out})};
  if (self.rank() == 3) shape.erase(shape.begin());
  c.give(l.reshape(taps, shape));
}

void define_col2im(OpCall& c) {
  Lowering& l = c.lowering();
  const Tensor self = c.tensor("self"), x = batched(l, self, 3);
  const Shape size = c.integers("output_size", 2, 0);
  const auto dims = windows_over(c, size);
  const WindowDim &rows = dims[0], &columns = dims[1];
  const int64_t taps = product(Shape{rows.taps, columns.taps});
  require(x.shape[1] % taps == 0 && x.shape[2] == product(Shape{rows.out, columns.out}),
          "the columns do not fill the image");
  const int64_t channels = x.shape[1] / taps;
  const Tensor windows = l.reshape(x, {x.shape[0], channels, rows.taps, columns.taps, rows.out, columns.out});
  const Tensor sum = l.scatter(
      compute_type(x.dtype), {x.shape[0], channels, size[0], size[1]},
      x.dtype == DType::boolean ? Literal::of_bool(false) : zero(),
      x.dtype == DType::boolean ? Reducer::any : Reducer::sum, windows.shape,
      [&](const Indices& i) {
        return ScatterWrite{{i[0], i[1], rows.at(i[4], i[2]), columns.at(i[5], i[3])}, l.read(windows, i)};
      },
      rows.padding > 0 || columns.padding > 0);
  const Tensor image = l.cast(sum, x.dtype);
  c.give(self.rank() == 2 ? l.squeeze(image, 0) : image);
}

// ---- regions ----

// One axis of regions of interest: sample s of output p of region k, in pixels of the image.
struct RegionAxis {
  Lowering& l;
  Tensor regions;  // [k, 5]: image, x1, y1, x2, y2
  int64_t first;   // column of the near border; the far one is two further
  double scale;
  bool aligned;
  int64_t size, out, samples;

  Ex position(const Ix& k, const Ix& p, const Ix& s) const {
    const double offset = aligned ? 0.5 : 0;
    const Ex near = l.read(regions, {k, l.constant_index(first)}) * scale - offset,
             far = l.read(regions, {k, l.constant_index(first + 2)}) * scale - offset;
    const Ex length = aligned ? far - near : max(far - near, 1.0);
    const Ex bin = length / double(out);
    return near + convert(value(p), near.type) * bin + (convert(value(s), near.type) + 0.5) * bin / double(samples);
  }
  // Two inputs beside each sample and their weights; nothing counts beyond the border.
  Ix at(const Ix& k, const Ix& p, const Ix& s, const Ix& tap) const {
    return clamped_position(l, value(l.index(convert(clamped(position(k, p, s)), DType::i64)) + tap), size);
  }
  Ex weight(const Ix& k, const Ix& p, const Ix& s, const Ix& tap) const {
    const Ex at = position(k, p, s), inside = clamped(at), after = inside - call(Function::floor, inside);
    return select(at < -1.0 || at > double(size), 0.0, select(value(tap) == 0.0, 1.0 - after, after));
  }
  Ex clamped(Ex at) const { return min(max(at, 0.0), double(size - 1)); }
};

void define_roi_align(OpCall& c) {
  Lowering& l = c.lowering();
  const Tensor x = c.tensor("input"), regions = c.tensor("rois");
  const int64_t height = c.integer("pooled_height"), width = c.integer("pooled_width"),
                samples = c.integer("sampling_ratio", -1);
  if (samples <= 0) return give_opaque(c, "roi_align", {x, regions});  // as many samples as a region is large
  require(
      x.rank() == 4 && regions.rank() == 2 && regions.shape[1] == 5 && height > 0 && width > 0 && samples < (1 << 20),
      "roi_align takes images, regions of five numbers, and sizes");
  const double scale = c.number("spatial_scale", 1);
  const bool aligned = c.flag("aligned", false);
  const RegionAxis rows{l, regions, 2, scale, aligned, x.shape[2], height, samples},
      columns{l, regions, 1, scale, aligned, x.shape[3], width, samples};
  c.give(l.reduce(
      x.dtype, {regions.shape[0], x.shape[1], height, width}, Reducer::sum, {samples, samples, 2, 2},
      [&](const Indices& i, const Indices& r) {
        const Ix image = position(l, l.read(regions, {i[0], l.constant_index(0)}), x.shape[0]);
        const Ex value = l.read(x, {image, i[1], rows.at(i[0], i[2], r[0], r[2]), columns.at(i[0], i[3], r[1], r[3])});
        return value * rows.weight(i[0], i[2], r[0], r[2]) * columns.weight(i[0], i[3], r[1], r[3]) /
               double(samples * samples);
      }));
}

}  // namespace

void register_folding(Registry& r) {
  r.add("im2col", "self, kernel_size, dilation, padding, stride", define_im2col, {"torch.nn.functional.unfold"});
  r.add("col2im", "self, output_size, kernel_size, dilation, padding, stride", define_col2im,
        {"torch.nn.functional.fold"});
  r.add("torchvision.roi_align.default",
        "input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned", define_roi_align);
  r.add("torchvision.nms.default", "dets, scores, iou_threshold", [](OpCall& c) {
    give_opaque(c, "nms", {c.tensor("dets"), c.tensor("scores")});
  });
}

}  // namespace lightline::ops
