// Maximum and average pools, sliding and adaptive.
#include "ops/library/pooling/pooling.h"

#include <fmt/format.h>

#include <limits>

namespace lightline::ops {

Shape Windows::output() const {
  Shape shape = lead;
  for (const WindowDim& d : dims) shape.push_back(d.out);
  return shape;
}

Shape Windows::taps() const {
  Shape shape;
  for (const WindowDim& d : dims) shape.push_back(d.taps);
  return shape;
}

Indices Windows::at(const Indices& output, const Indices& taps) const {
  Indices result(output.begin(), output.begin() + std::ptrdiff_t(lead.size()));
  for (size_t i = 0; i < dims.size(); ++i) result.push_back(dims[i].at(output[lead.size() + i], taps[i]));
  return result;
}

std::optional<Scalar> Windows::counts(const Indices& output, const Indices& taps) const {
  std::optional<Scalar> result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].uneven) continue;
    const Subscript& o = output[lead.size() + i];
    const Scalar inside = value(dims[i].at(o, taps[i])) < value(dims[i].end(o));
    result = result ? *result && inside : inside;
  }
  return result;
}

bool Windows::can_leave() const {
  for (const WindowDim& d : dims)
    if (d.uneven || d.padding > 0 || (d.out - 1) * d.stride + (d.taps - 1) * d.dilation >= d.in) return true;
  return false;
}

namespace {

constexpr int64_t largest_setting = int64_t(1) << 31;

void require_setting(int64_t value, int64_t least, std::string_view what) {
  if (value < least || value > largest_setting) fail(fmt::format("the pool's {} is {}", what, value));
}

Windows windows_over(const SymbolicTensor& x, size_t spatial) {
  require(x.shape.size() == spatial + 1 || x.shape.size() == spatial + 2,
          fmt::format("a pool over {} dimensions needs a tensor of rank {} or {}, not {}", spatial, spatial + 1,
                      spatial + 2, x.rank()));
  Windows w{{x.shape.begin(), x.shape.end() - std::ptrdiff_t(spatial)}, {}};
  for (size_t i = w.lead.size(); i < x.shape.size(); ++i) w.dims.push_back({.in = x.shape[i]});
  return w;
}

int64_t pooled_extent(const WindowDim& d, bool ceil_mode) {
  const int64_t room = d.in + 2 * d.padding - d.dilation * (d.taps - 1) - 1;
  require(room >= 0, "a pool's window is larger than its input");
  int64_t extent = (room + (ceil_mode ? d.stride - 1 : 0)) / d.stride + 1;
  // the last window starts inside the input or its left padding
  if (ceil_mode && (extent - 1) * d.stride >= d.in + d.padding) --extent;
  return extent;
}

}  // namespace

Windows sliding_windows(const OpCall& c, const SymbolicTensor& x, size_t spatial) {
  Windows w = windows_over(x, spatial);
  const auto kernel = c.integers("kernel_size", spatial, 1), padding = c.integers("padding", spatial, 0),
             dilation = c.integers("dilation", spatial, 1);
  const bool has_stride = c.has("stride") && !c.integers("stride").empty();
  const auto stride = has_stride ? c.integers("stride", spatial, 1) : kernel;
  for (size_t i = 0; i < spatial; ++i) {
    WindowDim& d = w.dims[i];
    d.taps = kernel[i], d.stride = stride[i], d.padding = padding[i], d.dilation = dilation[i];
    require_setting(d.taps, 1, "kernel size");
    require_setting(d.stride, 1, "stride");
    require_setting(d.dilation, 1, "dilation");
    require_setting(d.padding, 0, "padding");
    require(d.padding <= ((d.taps - 1) * d.dilation + 1) / 2, "a pool's padding is at most half of its window");
    d.out = pooled_extent(d, c.flag("ceil_mode", false));
  }
  return w;
}

Windows adaptive_windows(const SymbolicTensor& x, const Shape& output) {
  Windows w = windows_over(x, output.size());
  for (size_t i = 0; i < output.size(); ++i) {
    WindowDim& d = w.dims[i];
    d.out = output[i];
    int64_t reach = 0;
    require(d.out >= 0 && d.in > 0, "an adaptive pool needs input elements and no negative output size");
    if (__builtin_mul_overflow(d.in, d.out + 1, &reach))
      fail("an adaptive pool's sizes are too large", ErrorCode::limit);
    d.uneven = d.out > 0 && d.in % d.out != 0;
    d.taps = d.stride = d.out == 0 ? 1 : d.in / d.out;
    if (!d.uneven) continue;
    // in / out = whole + rest / out: a window reaches into one more element, and into two if it can cross a border
    const int64_t rest = d.in % d.out;
    d.taps += d.out % rest == 0 ? 1 : 2;
  }
  return w;
}

// ---- averages ----

WindowSize::WindowSize(const OpCall& c, const Windows& w)
    : windows_(w), padding_counts_(c.flag("count_include_pad", true)) {
  if (!c.has("divisor_override")) return;
  override_ = c.integer("divisor_override");
  require(override_ != 0, "an average pool's divisor is zero");
}

int64_t WindowSize::extent_if_constant(const WindowDim& d) const {
  const bool varies =
      d.uneven || (d.padding > 0 && !padding_counts_) || (d.out - 1) * d.stride + d.taps > d.in + 2 * d.padding;
  return varies ? 0 : d.taps;
}

Scalar WindowSize::at(Lowering& l, const Indices& output, DType wide) const {
  const auto whole = [&](int64_t number) { return l.convert(l.literal(Literal::of(number)), wide); };
  if (override_ != 0) return whole(override_);
  int64_t constant = 1;
  std::optional<Scalar> varying;
  for (size_t i = 0; i < windows_.dims.size(); ++i) {
    const WindowDim& d = windows_.dims[i];
    if (const int64_t extent = extent_if_constant(d)) {
      constant = product(Shape{constant, extent});
      continue;
    }
    const Subscript begin = d.begin(output[windows_.lead.size() + i]);
    const Scalar last = value(begin + d.taps);
    Scalar extent = last;
    if (d.uneven)
      extent = value(d.end(output[windows_.lead.size() + i]) - begin);
    else if (padding_counts_)
      extent = min(last, double(d.in + d.padding)) - value(begin);
    else
      extent = min(last, double(d.in)) - max(value(begin), 0.0);
    varying = varying ? *varying * extent : extent;
  }
  if (!varying) return whole(constant);
  return convert(constant == 1 ? *varying : *varying * double(constant), wide);
}

SymbolicTensor average(OpCall& c, const SymbolicTensor& x, const Windows& w) {
  Lowering& l = c.lowering();
  require(category(x.dtype) != Category::boolean, "an average pool needs numbers");
  const DType wide = compute_type(x.dtype);
  const SymbolicTensor sum =
      l.reduce(wide, w.output(), Reducer::sum, w.taps(), [&](const Indices& o, const Indices& r) {
        const Scalar value = l.read(x, w.at(o, r), Literal::of(int64_t(0)));
        const auto counts = w.counts(o, r);
        return counts ? select(*counts, value, 0.0) : value;
      });
  const WindowSize size(c, w);
  return l.map(x.dtype, sum.shape, [&](const Indices& o) {
    const Scalar total = l.read(sum, o), divisor = size.at(l, o, wide);
    if (!is_integer(wide)) return total / divisor;
    return select(total < 0.0, -call(Function::div, -total, divisor),
                  call(Function::div, total, divisor));  // toward zero
  });
}

// ---- maxima ----

namespace {

Literal lowest(DType dtype) {
  if (!is_integer(dtype)) return Literal::of(-std::numeric_limits<double>::infinity());
  const int64_t least = integer_limits(dtype).least;
  return Literal::of(dtype == DType::i64 ? least + 1 : least);
}

Scalar candidate(Lowering& l, const SymbolicTensor& x, const Windows& w, const Indices& o, const Indices& r) {
  const Scalar value = l.read(x, w.at(o, r), lowest(x.dtype));
  const auto counts = w.counts(o, r);
  return counts ? select(*counts, value, l.literal(lowest(x.dtype))) : value;
}

SymbolicTensor maxima(Lowering& l, const SymbolicTensor& x, const Windows& w) {
  require(category(x.dtype) == Category::integer || category(x.dtype) == Category::floating,
          "a maximum pool needs ordered numbers");
  return l.reduce(x.dtype, w.output(), Reducer::max, w.taps(),
                  [&](const Indices& o, const Indices& r) { return candidate(l, x, w, o, r); });
}

// Where the maxima lie, as row-major positions in the plane of pooled dimensions.
SymbolicTensor maximum_positions(Lowering& l, const SymbolicTensor& x, const Windows& w) {
  const SymbolicTensor tap = l.reduce(DType::i64, w.output(), Reducer::argmax, w.taps(),
                                      [&](const Indices& o, const Indices& r) { return candidate(l, x, w, o, r); });
  return l.map(DType::i64, tap.shape, [&](const Indices& o) {
    const Scalar chosen = l.read(tap, o);
    std::optional<Scalar> flat;
    int64_t inner = product(w.taps());
    for (size_t i = 0; i < w.dims.size(); ++i) {
      const WindowDim& d = w.dims[i];
      inner /= d.taps;
      const Scalar begin = value(d.begin(o[w.lead.size() + i]));
      Scalar own = inner == 1 ? chosen : call(Function::div, chosen, number(chosen, inner));
      if (i > 0) own = call(Function::mod, own, number(own, d.taps));
      Scalar place = d.taps == 1 ? begin : begin + (d.dilation == 1 ? own : own * double(d.dilation));
      // A window of -inf only yields its first tap; the first one inside the input is meant.
      if (d.padding > 0) place = select(place < 0.0, call(Function::mod, begin, number(begin, d.dilation)), place);
      flat = flat ? *flat * double(d.in) + place : place;
    }
    return *flat;
  });
}

void give_maxima(OpCall& c, const SymbolicTensor& x, const Windows& w, bool with_positions) {
  c.add_result(maxima(c.lowering(), x, w));
  if (with_positions) c.add_result(maximum_positions(c.lowering(), x, w));
}

Shape output_size(const OpCall& c, const SymbolicTensor& x, size_t spatial) {
  std::vector<int64_t> size = c.integers("output_size", spatial, -1);
  require(x.shape.size() >= spatial, "a pool's input has too few dimensions");
  for (size_t i = 0; i < spatial; ++i)
    if (size[i] == -1) size[i] = x.shape[x.shape.size() - spatial + i];  // None keeps the extent
  return size;
}

// Puts values back where a maximum pool found them.
void unpool(OpCall& c, size_t spatial) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), positions = c.tensor("indices");
  require(is_integer(positions.dtype), "positions are integers");
  require(x.shape == positions.shape && x.shape.size() > spatial, "values and positions have one shape");
  const Shape lead(x.shape.begin(), x.shape.end() - std::ptrdiff_t(spatial)),
      size = c.integers("output_size", spatial, 1);
  Shape flat = lead, shape = lead;
  flat.push_back(product(size));
  shape.insert(shape.end(), size.begin(), size.end());
  const SymbolicTensor result =
      l.scatter(x.dtype, flat, Literal::of(int64_t(0)), Reducer::set, x.shape, [&](const Indices& i) {
        Indices target(i.begin(), i.begin() + std::ptrdiff_t(lead.size()));
        target.push_back(l.index(l.read(positions, i)));
        return ScatterWrite{target, l.read(x, i)};
      });
  c.add_result(l.reshape(result, shape));
}

}  // namespace

void register_pooling(Registry& r) {
  const std::string window = "self, kernel_size, stride, padding, ";
  for (size_t n = 1; n <= 3; ++n) {
    const std::string d = fmt::format("{}d", n);
    r.add("max_pool" + d, window + "dilation, ceil_mode, return_indices",
          [n](OpCall& c) {
            give_maxima(c, c.tensor("self"), sliding_windows(c, c.tensor("self"), n), c.flag("return_indices", false));
          },
          {fmt::format("torch.nn.functional._max_pool{}d", n)});
    r.add("max_pool" + d + "_with_indices", window + "dilation, ceil_mode",
          [n](OpCall& c) { give_maxima(c, c.tensor("self"), sliding_windows(c, c.tensor("self"), n), true); });
    r.add("avg_pool" + d, window + "ceil_mode, count_include_pad, divisor_override",
          [n](OpCall& c) { c.add_result(average(c, c.tensor("self"), sliding_windows(c, c.tensor("self"), n))); });
    r.add("adaptive_avg_pool" + d, "self, output_size",
          [n](OpCall& c) {
            const SymbolicTensor x = c.tensor("self");
            c.add_result(average(c, x, adaptive_windows(x, output_size(c, x, n))));
          },
          {"_adaptive_avg_pool" + d});
    r.add("adaptive_max_pool" + d, "self, output_size",
          [n](OpCall& c) {
            const SymbolicTensor x = c.tensor("self");
            give_maxima(c, x, adaptive_windows(x, output_size(c, x, n)), true);
          },
          {"adaptive_max_pool" + d + "_with_indices"});
  }
  r.add("max_unpool2d", "self, indices, output_size", [](OpCall& c) { unpool(c, 2); });
  r.add("max_unpool3d", "self, indices, output_size, stride, padding", [](OpCall& c) { unpool(c, 3); });
  for (const char* name : {"fractional_max_pool2d", "fractional_max_pool3d"})
    r.add(name, "self, kernel_size, output_size, random_samples", [name = std::string(name)](OpCall& c) {
       add_opaque_results(c, name, {c.tensor("self"), c.tensor("random_samples")});
     }).opaque = true;
  register_pooling_backward(r);
}

}  // namespace lightline::ops
