// Short-time Fourier transforms: windows over a signal, transformed one by one, and overlapping windows added up again.
#include <fmt/format.h>

#include "ops/library/spectral/fourier.h"

namespace lightline::ops {
namespace {

struct Frames {
  int64_t length = 0;  // of a frame, and of its transform
  int64_t hop = 0;
  int64_t window_length = 0;
  std::optional<SymbolicTensor> window;
};

Frames frames_of(const OpCall& c) {
  Frames f;
  f.length = c.integer("n_fft");
  f.hop = c.integer("hop_length", f.length / 4);
  f.window_length = c.integer("win_length", f.length);
  f.window = c.tensor_if("window");
  constexpr int64_t limit = int64_t(1) << 40;
  require(f.length > 0 && f.length < limit && f.hop > 0 && f.hop < limit && f.window_length > 0 &&
              f.window_length <= f.length,
          "frames have a length, a hop or a window that makes no sense");
  require(!f.window || f.window->shape == Shape{f.window_length}, "the window does not have win_length elements");
  require(!c.flag("align_to_window", false), "align_to_window is not supported");
  return f;
}

bool has_window(const Frames& f) { return f.window || f.window_length < f.length; }

// The window's value at a place of the frame: it lies in the middle, with zeros around.
Scalar window_at(Lowering& l, const Frames& f, const Subscript& place) {
  const Subscript inside = place - (f.length - f.window_length) / 2;
  if (f.window) return l.read(*f.window, {inside}, zero());
  const Scalar at = value(inside);
  const auto number_of = [&](double n) { return l.convert(l.literal(Literal::of(n)), DType::f32); };
  return select(at >= 0.0 && at < double(f.window_length), number_of(1), number_of(0));
}

// ---- forwards ----

SymbolicTensor padded_signal(OpCall& c, const SymbolicTensor& x, int64_t around) {
  Lowering& l = c.lowering();
  const std::string mode = c.text("pad_mode", "reflect");
  const int64_t extent = x.shape[1];
  require(mode != "reflect" || around < extent, "reflection needs a signal longer than the padding");
  require(mode == "reflect" || mode == "constant" || mode == "replicate" || mode == "circular",
          fmt::format("there is no padding '{}'", mode));
  return l.map(x.dtype, {x.shape[0], extent + 2 * around}, [&](const Indices& i) {
    const Subscript at = i[1] - around;
    if (mode == "constant") return l.read(x, {i[0], at}, zero());
    if (mode == "circular")
      return l.read(x, {i[0], mod(at + extent * (around / std::max<int64_t>(extent, 1) + 1), extent)});
    if (mode == "replicate") return l.read(x, {i[0], clamped_position(l, at, extent)});
    const Scalar place = call(Function::abs, value(at)), last = number(place, extent - 1);
    return l.read(x, {i[0], l.index(last - call(Function::abs, last - place), {0, extent - 1})});
  });
}

void define_stft(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self");
  require(self.rank() == 1 || self.rank() == 2, "stft takes one signal or a batch of them");
  const Frames f = frames_of(c);
  SymbolicTensor x = self.rank() == 1 ? l.unsqueeze(self, 0) : self;
  if (c.has("center") ? c.flag("center", true) : c.overload() == "center") x = padded_signal(c, x, f.length / 2);
  require(x.shape[1] >= f.length, "the signal is shorter than a frame");
  const int64_t count = (x.shape[1] - f.length) / f.hop + 1;
  const bool is_complex = x.dtype == DType::c64;
  const bool onesided = c.flag("onesided", !is_complex && !(f.window && f.window->dtype == DType::c64));
  SymbolicTensor frames = l.view(x, {x.shape[0], count, f.length}, {{0, {{0, 1}}}, {0, {{1, f.hop}, {2, 1}}}});
  if (has_window(f))
    frames = l.map(is_complex ? DType::c64 : x.dtype, frames.shape, [&](const Indices& i) {
      const Scalar value = l.read(frames, i);
      return value * convert(window_at(l, f, i[2]), value.type);
    });
  const Normalisation norm = c.flag("normalized", false) ? Normalisation::by_root : Normalisation::none;
  SymbolicTensor result =
      is_complex ? complex_transform(l, frames, {2}, norm, false) : real_transform(l, frames, {2}, norm, onesided);
  if (is_complex && onesided) result = l.slice(result, 2, 0, f.length / 2 + 1);
  result = l.transpose(result, 1, 2);
  if (self.rank() == 1) result = l.squeeze(result, 0);
  if (c.flag("return_complex", is_complex)) return c.add_result(l.copy(result));
  Shape parts = result.shape;
  parts.push_back(2);
  c.add_result(l.map(DType::f32, parts, [&](const Indices& i) {
    const Scalar value = l.read(result, Indices(i.begin(), i.end() - 1));
    return select(ops::value(i.back()) == 0.0, call(Function::real, value), call(Function::imag, value));
  }));
}

// ---- backwards ----

// The frames of a signal, [batch, frames, length], from their transforms.
SymbolicTensor inverse_frames(OpCall& c, const SymbolicTensor& spectra, const Frames& f) {
  Lowering& l = c.lowering();
  const Normalisation norm = c.flag("normalized", false) ? Normalisation::by_root : Normalisation::by_count;
  const bool onesided = c.flag("onesided", spectra.shape[1] != f.length);
  const SymbolicTensor lines = l.transpose(spectra, 1, 2);
  require(lines.shape[2] == (onesided ? f.length / 2 + 1 : f.length),
          "the spectra do not have the size of a frame's transform");
  if (onesided) return transform_to_real(l, lines, {2}, norm, f.length);
  if (c.flag("return_complex", false)) return complex_transform(l, lines, {2}, norm, true);
  // A real signal is made from the first half alone.
  return transform_to_real(l, l.slice(lines, 2, 0, f.length / 2 + 1), {2}, norm, f.length);
}

void define_istft(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self");
  require((self.rank() == 2 || self.rank() == 3) && self.dtype == DType::c64,
          "istft takes complex spectra of one signal or of a batch");
  const Frames f = frames_of(c);
  const SymbolicTensor frames = inverse_frames(c, self.rank() == 2 ? l.unsqueeze(self, 0) : self, f);
  const int64_t batch = frames.shape[0], count = frames.shape[1], whole = f.length + f.hop * (count - 1);
  require(count > 0, "istft needs a frame");
  const auto place = [&](const Subscript& frame, const Subscript& at) { return frame * f.hop + at; };
  const SymbolicTensor sum =
      l.scatter(frames.dtype, {batch, whole}, zero(), Reducer::sum, frames.shape, [&](const Indices& i) {
        const Scalar value = l.read(frames, i);
        return ScatterWrite{{i[0], place(i[1], i[2])},
                            has_window(f) ? value * convert(window_at(l, f, i[2]), value.type) : value};
      });
  const DType weight_type = f.window && f.window->dtype == DType::c64 ? DType::c64 : DType::f32;
  const SymbolicTensor envelope =
      l.scatter(weight_type, {whole}, zero(), Reducer::sum, {count, f.length}, [&](const Indices& i) {
        const Scalar window = has_window(f) ? convert(window_at(l, f, i[1]), weight_type)
                                            : l.convert(l.literal(Literal::of(1.0)), weight_type);
        return ScatterWrite{{place(i[0], i[1])}, window * window};
      });
  const bool centred = c.flag("center", true);
  const int64_t start = centred ? f.length / 2 : 0, end = c.has("length") ? start + c.integer("length")
                                                          : centred       ? whole - f.length / 2
                                                                          : whole;
  require(end > start, "istft gives no samples");
  const SymbolicTensor result = l.map(frames.dtype, {batch, end - start}, [&](const Indices& i) {
    const Subscript at = i[1] + start;
    const Scalar value = l.read(sum, {i[0], at}, zero()), weight = l.read(envelope, {at}, Literal::of(1.0));
    return value / convert(weight, value.type);
  });
  c.add_result(self.rank() == 2 ? l.squeeze(result, 0) : result);
}

}  // namespace

void register_short_time_transforms(Registry& r) {
  r.add("stft", "self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex", define_stft);
  r.add("stft.center",
        "self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex",
        define_stft);
  r.add("istft", "self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex",
        define_istft);
}

}  // namespace lightline::ops
