// Windows that slide over the last dimensions of a tensor, for pools and their gradients.
#pragma once

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {

// One dimension of a window: output o and tap r meet the input at begin(o) + r * dilation.
struct WindowDim {
  int64_t in = 0;
  int64_t out = 0;
  int64_t taps = 0;  // the most that any output has
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  bool uneven =
      false;  // adaptive, and the sizes do not divide: output o covers floor(o * in / out) to ceil((o + 1) * in / out)

  Subscript begin(const Subscript& o) const { return uneven ? div(o * in, out) : o * stride - padding; }
  Subscript end(const Subscript& o) const { return div(o * in + (in + out - 1), out); }  // of uneven windows
  Subscript at(const Subscript& o, const Subscript& tap) const { return begin(o) + tap * dilation; }
};

struct Windows {
  Shape lead;  // extents before the window's dimensions
  std::vector<WindowDim> dims;

  Shape output() const;
  Shape taps() const;
  Indices at(const Indices& output, const Indices& taps) const;
  // Which taps of an uneven window count; none: all do.
  std::optional<Scalar> counts(const Indices& output, const Indices& taps) const;
  bool can_leave() const;  // the input, for some output and tap
};

// From kernel_size, stride, padding, dilation and ceil_mode.
Windows sliding_windows(const OpCall& c, const SymbolicTensor& x, size_t spatial);
Windows adaptive_windows(const SymbolicTensor& x, const Shape& output);

// What the sum over a window is divided by to be its average, as a float or an integer of type `wide`.
class WindowSize {
 public:
  WindowSize(const OpCall& c, const Windows& w);
  Scalar at(Lowering& l, const Indices& output, DType wide) const;

 private:
  int64_t extent_if_constant(const WindowDim& d) const;  // 0: it varies
  const Windows& windows_;
  bool padding_counts_;
  int64_t override_ = 0;
};

// The average of every window.
SymbolicTensor average(OpCall& c, const SymbolicTensor& x, const Windows& w);

void register_pooling_backward(Registry& r);

}  // namespace lightline::ops
