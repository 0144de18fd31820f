// Windows of images as columns and back.
#include <fmt/format.h>

#include "ops/library/interpolation/interpolation.h"
#include "ops/library/pooling/pooling.h"

namespace lightline::ops {
namespace {

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
SymbolicTensor batched(Lowering& l, const SymbolicTensor& x, int64_t rank) {
  require(x.rank() == rank || x.rank() == rank - 1,
          fmt::format("folding takes tensors of rank {} or {}", rank - 1, rank));
  return x.rank() == rank ? x : l.unsqueeze(x, 0);
}

void define_im2col(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = batched(l, self, 4);
  const auto dims = windows_over(c, {x.shape[2], x.shape[3]});
  const WindowDim &rows = dims[0], &columns = dims[1];
  const SymbolicTensor taps =
      l.map(x.dtype, {x.shape[0], x.shape[1], rows.taps, columns.taps, rows.out, columns.out}, [&](const Indices& i) {
        return l.read(x, {i[0], i[1], rows.at(i[4], i[2]), columns.at(i[5], i[3])}, zero());
      });
  Shape shape{x.shape[0], product(Shape{x.shape[1], rows.taps, columns.taps}), product(Shape{rows.out, columns.out})};
  if (self.rank() == 3) shape.erase(shape.begin());
  c.add_result(l.reshape(taps, shape));
}

void define_col2im(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = batched(l, self, 3);
  const Shape size = c.integers("output_size", 2, 0);
  const auto dims = windows_over(c, size);
  const WindowDim &rows = dims[0], &columns = dims[1];
  const int64_t taps = product(Shape{rows.taps, columns.taps});
  require(x.shape[1] % taps == 0 && x.shape[2] == product(Shape{rows.out, columns.out}),
          "the columns do not fill the image");
  const int64_t channels = x.shape[1] / taps;
  const SymbolicTensor windows = l.reshape(x, {x.shape[0], channels, rows.taps, columns.taps, rows.out, columns.out});
  const SymbolicTensor sum = l.scatter(
      compute_type(x.dtype), {x.shape[0], channels, size[0], size[1]},
      x.dtype == DType::boolean ? Literal::of_bool(false) : zero(),
      x.dtype == DType::boolean ? Reducer::any : Reducer::sum, windows.shape,
      [&](const Indices& i) {
        return ScatterWrite{{i[0], i[1], rows.at(i[4], i[2]), columns.at(i[5], i[3])}, l.read(windows, i)};
      },
      rows.padding > 0 || columns.padding > 0);
  const SymbolicTensor image = l.cast(sum, x.dtype);
  c.add_result(self.rank() == 2 ? l.squeeze(image, 0) : image);
}

// ---- regions ----

}  // namespace

void register_folding(Registry& r) {
  r.add("im2col", "self, kernel_size, dilation, padding, stride", define_im2col, {"torch.nn.functional.unfold"});
  r.add("col2im", "self, output_size, kernel_size, dilation, padding, stride", define_col2im,
        {"torch.nn.functional.fold"});
}

}  // namespace lightline::ops
