// Gradients of pools: every output's gradient goes back to the inputs of its window.
#include <fmt/format.h>

#include "ops/library/pooling/pooling.h"

namespace lightline::ops {
namespace {

// Each gradient goes to the one place its maximum came from.
void maximum_backward(OpCall& c, size_t spatial) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output"), x = c.tensor("self"), positions = c.tensor("indices");
  require(is_integer(positions.dtype), "positions are integers");
  require(grad.shape == positions.shape && grad.rank() == x.rank() && x.shape.size() > spatial,
          "the gradient and the positions have one shape");
  const size_t lead = x.shape.size() - spatial;
  Shape flat(x.shape.begin(), x.shape.begin() + std::ptrdiff_t(lead));
  flat.push_back(product(Shape(x.shape.begin() + std::ptrdiff_t(lead), x.shape.end())));
  const SymbolicTensor sum = l.scatter(compute_type(grad.dtype), flat, Literal::of(int64_t(0)), Reducer::sum,
                                       grad.shape, [&](const Indices& i) {
                                         Indices target(i.begin(), i.begin() + std::ptrdiff_t(lead));
                                         target.push_back(l.index(l.read(positions, i)));
                                         return ScatterWrite{target, l.read(grad, i)};
                                       });
  c.add_result(l.cast(l.reshape(sum, x.shape), grad.dtype));
}

// Each gradient is shared equally by its window.
void average_backward(OpCall& c, const SymbolicTensor& x, const Windows& w) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output");
  require(grad.shape == w.output(),
          fmt::format("the gradient is {} but the pool gives {}", to_string(grad.shape), to_string(w.output())));
  const DType wide = compute_type(grad.dtype);
  const WindowSize size(c, w);
  const SymbolicTensor share =
      l.map(wide, grad.shape, [&](const Indices& o) { return l.read(grad, o) / size.at(l, o, wide); });
  Shape domain = grad.shape;
  for (const int64_t taps : w.taps()) domain.push_back(taps);
  const SymbolicTensor sum = l.scatter(
      wide, x.shape, Literal::of(int64_t(0)), Reducer::sum, domain,
      [&](const Indices& i) {
        const Indices o(i.begin(), i.begin() + grad.rank()), r(i.begin() + grad.rank(), i.end());
        const auto counts = w.counts(o, r);
        return ScatterWrite{w.at(o, r), counts ? select(*counts, l.read(share, o), 0.0) : l.read(share, o)};
      },
      w.can_leave());
  c.add_result(l.cast(sum, grad.dtype));
}

Windows adaptive_like(OpCall& c, const SymbolicTensor& x, size_t spatial) {
  const Shape out = c.tensor("grad_output").shape;
  require(out.size() == x.shape.size() && out.size() > spatial, "the gradient has the rank of the input");
  return adaptive_windows(x, Shape(out.end() - std::ptrdiff_t(spatial), out.end()));
}

}  // namespace

void register_pooling_backward(Registry& r) {
  const std::string window = "grad_output, self, kernel_size, stride, padding, ";
  for (size_t n = 2; n <= 3; ++n) {
    const std::string d = fmt::format("{}d", n);
    r.add("max_pool" + d + "_with_indices_backward", window + "dilation, ceil_mode, indices",
          [n](OpCall& c) { maximum_backward(c, n); });
    r.add("adaptive_max_pool" + d + "_backward", "grad_output, self, indices",
          [n](OpCall& c) { maximum_backward(c, n); });
    r.add("fractional_max_pool" + d + "_backward", "grad_output, self, kernel_size, output_size, indices",
          [n](OpCall& c) { maximum_backward(c, n); });
    r.add("avg_pool" + d + "_backward", window + "ceil_mode, count_include_pad, divisor_override",
          [n](OpCall& c) { average_backward(c, c.tensor("self"), sliding_windows(c, c.tensor("self"), n)); });
    r.add("_adaptive_avg_pool" + d + "_backward", "grad_output, self",
          [n](OpCall& c) { average_backward(c, c.tensor("self"), adaptive_like(c, c.tensor("self"), n)); },
          {"adaptive_avg_pool" + d + "_backward"});
  }
}

}  // namespace lightline::ops
