// Fourier transforms: sizes that are given or halved, and which side is complex.
#include <algorithm>

#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

// The dimensions that are transformed, in order, and the sizes that were asked for.
struct Transform {
  std::vector<size_t> dims;
  std::vector<int64_t> sizes;  // -1: as it is
};

Transform transform_of(const TypeCall& call, const Shape& shape) {
  const std::string_view name = call.op().name;
  Transform t;
  std::vector<int64_t> dims = call.integers("dim");
  if (call.argument("n")) {
    t.dims = {size_t(wrapped(dims.empty() ? -1 : dims[0], shape.size()))};
    t.sizes = {call.integer("n", -1)};
    return t;
  }
  std::vector<int64_t> sizes = call.integers("s");
  if (dims.empty() && name.ends_with('2')) dims = {-2, -1};
  if (dims.empty()) {
    const size_t count = sizes.empty() ? shape.size() : sizes.size();
    for (size_t i = 0; i < count; ++i) dims.push_back(int64_t(shape.size() - count + i));
  }
  if (sizes.empty()) sizes.assign(dims.size(), -1);
  expect(sizes.size() == dims.size(), "there are not as many sizes as dimensions");
  for (const int64_t dim : dims) t.dims.push_back(size_t(wrapped(dim, shape.size())));
  t.sizes = std::move(sizes);
  return t;
}

// fft_rfft2 is real to complex, fft_irfftn and fft_hfft complex to real, fft_ihfft real to complex.
Types fourier(const TypeCall& call) {
  const TensorType& self = call.tensor("self");
  Shape shape = self.shape;
  const std::string_view name = call.op().name;
  if (name == "_fft_c2c") return {{DType::c64, shape}};
  const Transform t = transform_of(call, shape);
  expect(!t.dims.empty(), "a Fourier transform is along a dimension");
  const size_t last = t.dims.back();
  if (name == "_fft_r2c") {
    if (call.flag("onesided")) shape[last] = shape[last] / 2 + 1;
    return {{DType::c64, shape}};
  }
  if (name == "_fft_c2r") {
    shape[last] = call.integer("last_dim_size");
    return {{DType::f32, shape}};
  }
  for (size_t i = 0; i < t.dims.size(); ++i)
    if (t.sizes[i] != -1) shape[t.dims[i]] = t.sizes[i];
  const bool to_half = name.starts_with("fft_rfft") || name.starts_with("fft_ihfft");
  const bool to_real = name.starts_with("fft_irfft") || name.starts_with("fft_hfft");
  if (to_half) shape[last] = shape[last] / 2 + 1;
  if (to_real && t.sizes.back() == -1) shape[last] = 2 * (shape[last] - 1);
  return {{to_real ? DType::f32 : DType::c64, shape}};
}

Types frequencies(const TypeCall& call) {
  const int64_t n = call.integer("n");
  return {{call.dtype().value_or(DType::f32), {call.op().name == "fft_rfftfreq" ? n / 2 + 1 : n}}};
}

Types stft(const TypeCall& call) {
  const TensorType& self = call.tensor("self");
  const int64_t length = call.integer("n_fft"), step = call.integer("hop_length", length / 4);
  const bool center = call.argument("center") ? call.flag("center", true) : false;
  const int64_t samples = self.shape.back() + (center ? length / 2 * 2 : 0);
  const bool onesided = call.flag("onesided", self.dtype != DType::c64);
  Shape shape(self.shape.begin(), self.shape.end() - 1);
  shape.push_back(onesided ? length / 2 + 1 : length);
  shape.push_back((samples - length) / step + 1);
  if (call.has("return_complex") && !call.flag("return_complex")) {
    shape.push_back(2);
    return {{DType::f32, shape}};
  }
  return {{DType::c64, shape}};
}

Types istft(const TypeCall& call) {
  const TensorType& self = call.tensor("self");
  const int64_t length = call.integer("n_fft"), step = call.integer("hop_length", length / 4);
  Shape shape(self.shape.begin(), self.shape.end() - 2);
  const int64_t samples = length + step * (self.shape.back() - 1);
  shape.push_back(call.integer("length", samples - (call.flag("center", true) ? length / 2 * 2 : 0)));
  return {{call.flag("return_complex") ? DType::c64 : DType::f32, shape}};
}

}  // namespace

void add_spectral_rules(TypeRules& rules) {
  rules.insert({{"fourier", fourier}, {"frequencies", frequencies}, {"stft", stft}, {"istft", istft}});
}

}  // namespace lightline::graph
