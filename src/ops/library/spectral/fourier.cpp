#include "ops/library/spectral/fourier.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace lightline::ops {
namespace {

double scale_of(Normalisation norm, const Shape& shape, const std::vector<int64_t>& dims, int64_t last_size) {
  if (norm == Normalisation::none) return 1;
  double count = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    count *= double(i + 1 == dims.size() && last_size > 0 ? last_size : shape[size_t(dims[i])]);
  return norm == Normalisation::by_count ? 1 / count : 1 / std::sqrt(count);
}

SymbolicTensor scaled(Lowering& l, const SymbolicTensor& x, double scale) {
  if (scale == 1) return x;
  return l.map(x.dtype, x.shape, [&](const Indices& i) {
    const Scalar value = l.read(x, i);
    if (x.dtype != DType::c64) return value * scale;
    return call(Function::complex_, call(Function::real, value) * scale, call(Function::imag, value) * scale);
  });
}

SymbolicTensor unscaled_transform(Lowering& l, SymbolicTensor x, const std::vector<int64_t>& dims, bool inverse) {
  for (const int64_t dim : dims)
    x = l.opaque("fft", {x}, {{"dim", dim}, {"inverse", inverse}}, {{DType::c64, x.shape}})[0];
  return x;
}

std::vector<int64_t> but_last(const std::vector<int64_t>& dims) { return {dims.begin(), dims.end() - 1}; }

// The transform of reals mirrors itself: element k is the conjugate of element size - k.
SymbolicTensor mirrored(Lowering& l, const SymbolicTensor& half, int64_t dim, int64_t size) {
  Shape shape = half.shape;
  shape[size_t(dim)] = size;
  return l.map(DType::c64, shape, [&](const Indices& i) {
    Indices other = i;
    const Subscript& k = i[size_t(dim)];
    other[size_t(dim)] = size - k;
    return select(value(k) <= double(size / 2), l.read(half, i, zero()),
                  call(Function::conj, l.read(half, other, zero())));
  });
}

SymbolicTensor conjugated(Lowering& l, const SymbolicTensor& x) {
  return l.map(DType::c64, x.shape, [&](const Indices& i) { return call(Function::conj, l.read(x, i)); });
}

}  // namespace

SymbolicTensor as_complex(Lowering& l, const SymbolicTensor& x) {
  require(x.dtype == DType::c64 || x.dtype == DType::f32 || category(x.dtype) <= Category::integer,
          fmt::format("the Fourier transform of {} is not complex numbers of two f32", name(x.dtype)));
  if (x.dtype == DType::c64) return x;
  return l.map(DType::c64, x.shape, [&](const Indices& i) {
    return call(Function::complex_, convert(l.read(x, i), DType::f32), l.convert(l.literal(zero()), DType::f32));
  });
}

SymbolicTensor resized(Lowering& l, const SymbolicTensor& x, int64_t dim, int64_t size) {
  require(size >= 1, "a transform has at least one element");
  const int64_t extent = x.shape[size_t(dim)];
  if (size <= extent) return l.slice(x, dim, 0, size);
  Shape shape = x.shape;
  shape[size_t(dim)] = size;
  return l.map(x.dtype, shape, [&](const Indices& i) { return l.read(x, i, zero()); });
}

SymbolicTensor complex_transform(Lowering& l, const SymbolicTensor& x, const std::vector<int64_t>& dims,
                                 Normalisation norm, bool inverse) {
  return scaled(l, unscaled_transform(l, x, dims, inverse), scale_of(norm, x.shape, dims, 0));
}

SymbolicTensor real_transform(Lowering& l, const SymbolicTensor& x, const std::vector<int64_t>& dims,
                              Normalisation norm, bool onesided) {
  require(!dims.empty(), "a transform of reals needs a dimension");
  SymbolicTensor result = unscaled_transform(l, as_complex(l, x), {dims.back()}, false);
  if (onesided) result = l.slice(result, dims.back(), 0, x.shape[size_t(dims.back())] / 2 + 1);
  return scaled(l, unscaled_transform(l, result, but_last(dims), false), scale_of(norm, x.shape, dims, 0));
}

SymbolicTensor transform_to_real(Lowering& l, const SymbolicTensor& x, const std::vector<int64_t>& dims,
                                 Normalisation norm, int64_t size) {
  require(!dims.empty() && size >= 1, "a transform to reals needs a dimension and a size");
  const double scale = scale_of(norm, x.shape, dims, size);
  const SymbolicTensor lines =
      mirrored(l, unscaled_transform(l, as_complex(l, x), but_last(dims), true), dims.back(), size);
  const SymbolicTensor full = unscaled_transform(l, lines, {dims.back()}, true);
  return l.map(DType::f32, full.shape, [&](const Indices& i) {
    const Scalar value = call(Function::real, l.read(full, i));
    return scale == 1 ? value : value * scale;
  });
}

namespace {

// ---- ATen's own forms ----

std::vector<int64_t> wrapped_dims(std::vector<int64_t> dims, int64_t rank) {
  std::vector<bool> seen(size_t(rank), false);
  for (int64_t& dim : dims) {
    dim = wrap_dim(dim, rank);
    require(rank > 0 && !seen[size_t(dim)], "a transform names a dimension twice");
    seen[size_t(dim)] = true;
  }
  return dims;
}

Normalisation numbered_norm(const OpCall& c) {
  const int64_t norm = c.integer("normalization");
  require(norm >= 0 && norm <= 2, "the normalisation of a transform is 0, 1 or 2");
  return Normalisation(norm);
}

void define_c2c(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  c.add_result(complex_transform(c.lowering(), as_complex(c.lowering(), x), wrapped_dims(c.integers("dim"), x.rank()),
                                 numbered_norm(c), !c.flag("forward", true)));
}

void define_r2c(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  c.add_result(real_transform(c.lowering(), x, wrapped_dims(c.integers("dim"), x.rank()), numbered_norm(c),
                              c.flag("onesided", true)));
}

void define_c2r(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  c.add_result(transform_to_real(c.lowering(), x, wrapped_dims(c.integers("dim"), x.rank()), numbered_norm(c),
                                 c.integer("last_dim_size")));
}

// ---- torch.fft ----

Normalisation named_norm(const OpCall& c, bool forward) {
  const std::string norm = c.text("norm", "backward");
  if (norm == "ortho") return Normalisation::by_root;
  require(norm == "backward" || norm == "forward", fmt::format("there is no norm '{}'", norm));
  return forward == (norm == "forward") ? Normalisation::by_count : Normalisation::none;
}

// Which dimensions are transformed, and to which sizes; 0 leaves a size as it is.
struct Extent {
  std::vector<int64_t> dims;
  std::vector<int64_t> sizes;
};

Extent extent_of(const OpCall& c, int64_t rank, const std::vector<int64_t>& default_dims) {
  Extent e;
  const bool one = c.has("n") || c.argument("s") == nullptr;
  std::vector<int64_t> sizes = c.has("n") ? c.integers("n") : one ? std::vector<int64_t>{} : c.integers("s", {});
  const bool has_dims = c.has("dim");
  e.dims = has_dims ? c.integers("dim") : default_dims;
  if (!has_dims && default_dims.empty()) {
    e.dims.resize(sizes.empty() ? size_t(rank) : sizes.size());
    std::iota(e.dims.begin(), e.dims.end(), rank - int64_t(e.dims.size()));
  }
  e.dims = wrapped_dims(e.dims, rank);
  require(sizes.empty() || sizes.size() == e.dims.size(), "a transform has as many sizes as dimensions");
  sizes.resize(e.dims.size(), 0);
  for (int64_t& size : sizes) size = size == -1 ? 0 : size;
  e.sizes = std::move(sizes);
  return e;
}

SymbolicTensor resized_to(Lowering& l, SymbolicTensor x, const Extent& e) {
  for (size_t i = 0; i < e.dims.size(); ++i)
    if (e.sizes[i] != 0) x = resized(l, x, e.dims[i], e.sizes[i]);
  return x;
}

using Dims = std::vector<int64_t>;

void define_fft(OpCall& c, const Dims& default_dims, bool inverse) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const Extent e = extent_of(c, x.rank(), default_dims);
  c.add_result(complex_transform(l, as_complex(l, resized_to(l, x, e)), e.dims, named_norm(c, !inverse), inverse));
}

// hfft and the like transform forwards to reals: the inverse of the conjugate.
void define_to_real(OpCall& c, const Dims& default_dims, bool conjugate) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  Extent e = extent_of(c, x.rank(), default_dims);
  require(!e.dims.empty(), "a transform to reals needs a dimension");
  const int64_t size = e.sizes.back() != 0 ? e.sizes.back() : 2 * (x.shape[size_t(e.dims.back())] - 1);
  require(size >= 1, "a transform has at least one element");
  e.sizes.back() = size / 2 + 1;
  SymbolicTensor half = as_complex(l, resized_to(l, x, e));
  if (conjugate) half = conjugated(l, half);
  c.add_result(transform_to_real(l, half, e.dims, named_norm(c, conjugate), size));
}

void define_from_real(OpCall& c, const Dims& default_dims, bool conjugate) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.dtype != DType::c64, "this transform takes real numbers");
  const Extent e = extent_of(c, x.rank(), default_dims);
  const SymbolicTensor half = real_transform(l, resized_to(l, x, e), e.dims, named_norm(c, !conjugate), true);
  c.add_result(conjugate ? conjugated(l, half) : half);
}

void define_shift(OpCall& c, bool inverse) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  Dims dims = c.integers("dim", {});
  if (!c.has("dim")) {
    dims.resize(x.shape.size());
    std::iota(dims.begin(), dims.end(), 0);
  }
  dims = wrapped_dims(dims, x.rank());
  c.add_result(l.map(x.dtype, x.shape, [&](const Indices& i) {
    Indices from = i;
    for (const int64_t dim : dims) {
      const int64_t extent = x.shape[size_t(dim)];
      if (extent > 0) from[size_t(dim)] = mod(i[size_t(dim)] + (inverse ? extent / 2 : (extent + 1) / 2), extent);
    }
    return l.read(x, from);
  }));
}

void define_frequencies(OpCall& c, bool only_half) {
  const int64_t n = c.integer("n");
  const double step = c.number("d", 1.0);
  const DType dtype = c.dtype("dtype", DType::f32);
  require(n > 0, "frequencies need at least one element");
  c.add_result(c.lowering().map(dtype, {only_half ? n / 2 + 1 : n}, [&](const Indices& i) {
    const Scalar k = value(i[0]), wrapped = only_half ? k : select(k >= double((n + 1) / 2), k - double(n), k);
    return convert(wrapped, dtype) * (1.0 / (double(n) * step));
  }));
}

}  // namespace

void register_fourier(Registry& r) {
  r.add("_fft_c2c", "self, dim, normalization, forward", define_c2c);
  r.add("_fft_r2c", "self, dim, normalization, onesided", define_r2c);
  r.add("_fft_c2r", "self, dim, normalization, last_dim_size", define_c2r);
  struct Rank {
    const char* suffix;
    const char* parameters;
    Dims dims;
  };
  const Rank ranks[] = {
      {"", "self, n, dim, norm", {-1}}, {"2", "self, s, dim, norm", {-2, -1}}, {"n", "self, s, dim, norm", {}}};
  for (const Rank& rank : ranks) {
    const auto add = [&](std::string_view name, const std::function<void(OpCall&, const Dims&)>& define) {
      r.add(fmt::format("fft_{}{}", name, rank.suffix), rank.parameters,
            [define, dims = rank.dims](OpCall& c) { define(c, dims); },
            {fmt::format("torch.fft.{}{}", name, rank.suffix)});
    };
    add("fft", [](OpCall& c, const Dims& dims) { define_fft(c, dims, false); });
    add("ifft", [](OpCall& c, const Dims& dims) { define_fft(c, dims, true); });
    add("rfft", [](OpCall& c, const Dims& dims) { define_from_real(c, dims, false); });
    add("ihfft", [](OpCall& c, const Dims& dims) { define_from_real(c, dims, true); });
    add("irfft", [](OpCall& c, const Dims& dims) { define_to_real(c, dims, false); });
    add("hfft", [](OpCall& c, const Dims& dims) { define_to_real(c, dims, true); });
  }
  r.add("fft_fftshift", "self, dim", [](OpCall& c) { define_shift(c, false); }, {"torch.fft.fftshift"});
  r.add("fft_ifftshift", "self, dim", [](OpCall& c) { define_shift(c, true); }, {"torch.fft.ifftshift"});
  r.add("fft_fftfreq", "n, d, dtype", [](OpCall& c) { define_frequencies(c, false); }, {"torch.fft.fftfreq"});
  r.add("fft_rfftfreq", "n, d, dtype", [](OpCall& c) { define_frequencies(c, true); }, {"torch.fft.rfftfreq"});
  register_short_time_transforms(r);
}

}  // namespace lightline::ops
