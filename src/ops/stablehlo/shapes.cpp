// StableHLO: constants, and operators that only move elements.
#include <fmt/format.h>

#include <algorithm>

#include "base/maths.h"
#include "ops/build/registry.h"
#include "ops/library/rearranging/rearranging.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;

// ---- constants ----

void know_literal(Lowering& l, const SymbolicTensor& tensor, Literal literal) {
  Formula formula;
  formula.constant = literal;
  const DType dtype = tensor.dtype;
  formula.value = [&l, dtype, literal](const Indices&) {
    return literal_of(l, dtype, literal.kind == Literal::Kind::floating ? literal.floating : double(literal.integer),
                      literal.integer);
  };
  if (is_integer(dtype))
    formula.index = [&l, literal](const Indices&) -> std::optional<Subscript> {
      return l.constant_index(literal.integer);
    };
  l.know(tensor, std::move(formula));
}

SymbolicTensor complex_constant(Lowering& l, const Shape& shape, const std::vector<double>& parts) {
  const auto part = [&](size_t first) {
    std::vector<Literal> literals;
    for (size_t i = first; i < parts.size(); i += 2) literals.push_back(Literal::of(parts[i]));
    return l.constant(DType::f32, shape, std::move(literals));
  };
  const SymbolicTensor re = part(0), im = part(1);
  return l.map(DType::c64, shape,
               [&](const Indices& i) { return l.call(Function::complex_, l.read(re, i), l.read(im, i)); });
}

void define_constant(OpCall& c) {
  Lowering& l = c.lowering();
  const DType dtype = c.dtype("dtype", DType::f32);
  const Shape shape = c.integers("shape");
  const graph::Argument* value = c.argument("value");
  const auto* reals = value ? std::get_if<std::vector<double>>(value) : nullptr;
  const auto* integers = value ? std::get_if<std::vector<int64_t>>(value) : nullptr;
  if (dtype == DType::c64 && reals && !reals->empty()) return c.add_result(complex_constant(l, shape, *reals));
  std::vector<Literal> literals;
  if (reals)
    for (const double real : *reals) literals.push_back(Literal::of(real));
  if (integers)
    for (const int64_t integer : *integers)
      literals.push_back(dtype == DType::boolean ? Literal::of_bool(integer != 0) : Literal::of(integer));
  if (literals.size() != 1) return c.add_result(l.constant(dtype, shape, std::move(literals)));
  const SymbolicTensor result = l.constant(dtype, shape, {literals[0]});
  know_literal(l, result, literals[0]);
  c.add_result(result);
}

// Bits of the elements of the first operand or of the result.
int width_of(const OpCall& c, const char* name, DType dtype) {
  return dtype == DType::boolean ? 1 : int(c.integer(name, bits(dtype)));
}

void define_iota(OpCall& c) {
  Lowering& l = c.lowering();
  const TensorType type = result_type_of(c);
  const int64_t dim = c.integer("iota_dimension");
  require(dim >= 0 && dim < int64_t(type.shape.size()), "the iota runs along a dimension that is not there");
  const int width = width_of(c, "result_width", type.dtype);
  const auto place = [dim, width, dtype = type.dtype](const Indices& i) {
    const Scalar number = convert(value(i[size_t(dim)]), dtype);
    return is_integer(dtype) ? wrapped(number, dtype, width) : number;
  };
  const SymbolicTensor result = l.map(type.dtype, type.shape, place);
  const int64_t extent = type.shape[size_t(dim)];
  const bool fits = is_integer(type.dtype) && (width >= 32 || extent <= int64_t(1) << (width - 1));
  Formula formula;
  formula.iota = dim;
  if (fits) formula.index = [dim](const Indices& i) -> std::optional<Subscript> { return i[size_t(dim)]; };
  formula.value = place;
  if (fits || is_float(type.dtype)) l.know(result, std::move(formula));
  c.add_result(result);
}

void define_dimension_size(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = first_operand(c);
  const int64_t extent = x.shape[size_t(wrap_dim(c.integer("dimension"), x.rank()))];
  const SymbolicTensor result = l.constant(DType::i32, {}, {Literal::of(extent)});
  know_literal(l, result, Literal::of(extent));
  c.add_result(result);
}

// ---- views ----

void define_broadcast_in_dim(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = first_operand(c);
  const Shape shape = result_type_of(c).shape;
  const std::vector<int64_t> dims = c.integers("broadcast_dimensions", std::vector<int64_t>{});
  require(int64_t(dims.size()) == x.rank(),
          "a broadcast names one dimension of its result per dimension of its operand");
  std::vector<AffineRow> rows;
  for (size_t i = 0; i < dims.size(); ++i) {
    require(dims[i] >= 0 && dims[i] < int64_t(shape.size()), "a broadcast names a dimension that is not there");
    const int64_t extent = shape[size_t(dims[i])];
    require(x.shape[i] == extent || x.shape[i] == 1, "a broadcast does not fit the shape of its result");
    rows.push_back(x.shape[i] == extent ? AffineRow{0, {{int(dims[i]), 1}}} : AffineRow{});
  }
  if (x.shape == shape) {  // the same dimensions in the same places
    bool same = true;
    for (size_t i = 0; i < dims.size(); ++i) same &= dims[i] == int64_t(i);
    if (same) return c.add_result(x);
  }
  c.add_result(l.view(x, shape, std::move(rows)));
}

void define_broadcast(OpCall& c) { c.add_result(c.lowering().expand(first_operand(c), result_type_of(c).shape)); }
void define_reshape(OpCall& c) { c.add_result(c.lowering().reshape(first_operand(c), result_type_of(c).shape)); }
void define_transpose(OpCall& c) {
  c.add_result(c.lowering().permute(first_operand(c), c.integers("permutation", std::vector<int64_t>{})));
}

void define_slice(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor x = first_operand(c);
  const auto starts = c.integers("start_indices", std::vector<int64_t>{}),
             limits = c.integers("limit_indices", std::vector<int64_t>{});
  const auto strides = c.integers("strides", std::vector<int64_t>(starts.size(), 1));
  require(starts.size() == x.shape.size() && limits.size() == x.shape.size() && strides.size() == x.shape.size(),
          "a slice says its bounds for every dimension");
  for (size_t d = 0; d < starts.size(); ++d) {
    require(starts[d] >= 0 && starts[d] <= limits[d] && limits[d] <= x.shape[d] && strides[d] > 0,
            "a slice leaves its tensor");
    const int64_t length = ceil_div(limits[d] - starts[d], strides[d]);
    x = l.slice(x, int64_t(d), starts[d], length, strides[d]);
  }
  c.add_result(x);
}

void define_reverse(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor x = first_operand(c);
  for (const int64_t dim : c.integers("dimensions", std::vector<int64_t>{})) {
    const int64_t extent = x.shape[size_t(wrap_dim(dim, x.rank()))];
    if (extent > 1) x = l.slice(x, dim, extent - 1, extent, -1);
  }
  c.add_result(x);
}

// ---- copies ----

void define_concatenate(OpCall& c) {
  std::vector<SymbolicTensor> parts = operands(c);
  require(!parts.empty(), "there is nothing to join");
  c.add_result(parts.size() == 1 ? parts[0] : joined(c.lowering(), std::move(parts), c.integer("dimension", 0)));
}

// Negative padding cuts; what is left has positive padding only.
SymbolicTensor without_cuts(Lowering& l, SymbolicTensor x, std::vector<int64_t>& low, std::vector<int64_t>& high,
                            const std::vector<int64_t>& interior) {
  for (size_t d = 0; d < low.size(); ++d) {
    const int64_t step = interior[d] + 1;
    const int64_t before = low[d] < 0 ? ceil_div(-low[d], step) : 0;  // elements that go
    const int64_t after = high[d] < 0 ? ceil_div(-high[d], step) : 0;
    const int64_t kept = x.shape[d] - before - after;
    if (kept <= 0 || (before == 0 && after == 0)) continue;
    x = l.slice(x, int64_t(d), before, kept);
    low[d] += before * step;
    high[d] += after * step;
  }
  return x;
}

void define_pad(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> all = operands(c);
  require(all.size() == 2, "a pad takes a tensor and a value");
  auto low = c.integers("edge_padding_low"), high = c.integers("edge_padding_high");
  const auto interior = c.integers("interior_padding");
  const Shape shape = result_type_of(c).shape;
  const size_t rank = all[0].shape.size();
  require(low.size() == rank && high.size() == rank && interior.size() == rank && shape.size() == rank,
          "a pad says its amounts for every dimension");
  for (size_t d = 0; d < rank; ++d) {
    require(interior[d] >= 0 && interior[d] < (int64_t(1) << 31), "a pad has an absurd amount");
    require(is_modest(low[d], int64_t(1) << 40) && is_modest(high[d], int64_t(1) << 40), "a pad has an absurd amount");
  }
  const SymbolicTensor x = without_cuts(l, all[0], low, high, interior);
  const SymbolicTensor& filling = all[1];
  const auto literal = known_literal(l, filling);
  bool plain = true;
  for (const int64_t amount : interior) plain &= amount == 0;
  c.add_result(l.map(x.dtype, shape, [&](const Indices& i) {
    Indices at;
    std::optional<Scalar> inside;
    const auto also = [&](const Scalar& condition) { inside = inside ? *inside && condition : condition; };
    for (size_t d = 0; d < rank; ++d) {
      const Subscript place = i[d] - low[d];
      const int64_t step = interior[d] + 1;
      at.push_back(step == 1 ? place : div(place, step));
      if (step > 1) also(value(mod(place, step)) == 0.0);
      if (!literal) {
        const Interval range = l.algebra().range(place.sum);
        if (range.low < 0) also(value(place) >= 0.0);
        if (range.high > (x.shape[d] - 1) * step) also(value(place) <= double((x.shape[d] - 1) * step));
      }
    }
    if (plain && literal) return l.read(x, at, *literal);
    const Scalar element = l.read(x, at, literal ? *literal : Literal::of(int64_t(0)));
    return inside ? select(*inside, element, convert(l.read(filling, {}), x.dtype)) : element;
  }));
}

// ---- bits ----

Scalar amount(const Scalar& like, int64_t value) {
  return {like.lowering, like.lowering->literal(Literal::of(value)).id, like.type, true};
}

// One element becomes several narrower ones along a new last dimension, the low bits first, or the reverse.
void define_bitcast(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = first_operand(c);
  const TensorType type = result_type_of(c);
  const int from = width_of(c, "width", x.dtype), to = width_of(c, "result_width", type.dtype);
  if (from == to) {
    const ScalarOperator& op = *scalar_operator("stablehlo.bitcast_convert.same_width");
    const ScalarCall scalar = scalar_of(l, c.graph(), c.node());
    require(x.shape == type.shape, "a bitcast changes the shape of its tensor");
    if (x.dtype == type.dtype) return c.add_result(x);
    return c.add_result(
        l.map(type.dtype, type.shape, [&](const Indices& i) { return apply(op, scalar, {l.read(x, i)}); }));
  }
  Shape longer = from > to ? x.shape : type.shape;
  longer.push_back(std::max(from, to) / std::min(from, to));
  require(longer == (from > to ? type.shape : x.shape), "a bitcast changes the size of its tensor");
  c.add_result(l.map(type.dtype, type.shape, [&](const Indices& i) {
    if (from > to) {
      const Scalar raw = bits_of_value(l.read(x, {i.begin(), i.end() - 1}), x.dtype);
      const Scalar by = convert(value(i.back() * to), raw.type);
      const Scalar part = value_of_bits(call(Function::ushr, raw, by), type.dtype);
      return is_integer(type.dtype) ? wrapped(part, type.dtype, to) : part;
    }
    std::optional<Scalar> whole;
    for (int64_t k = 0; k < to / from; ++k) {
      Indices at = i;
      at.push_back(l.constant_index(k));
      const Scalar part = zero_extended(bits_of_value(l.read(x, at), x.dtype), x.dtype, from);
      const Scalar placed = k == 0 ? part : call(Function::shl, part, amount(part, k * from));
      whole = whole ? call(Function::bitor_, *whole, placed) : placed;
    }
    return value_of_bits(*whole, type.dtype);
  }));
}

}  // namespace

void register_stablehlo_shapes(Registry& r) {
  r.add("stablehlo.constant", "", define_constant);
  r.add("stablehlo.iota", "", define_iota);
  r.add("stablehlo.get_dimension_size", "operand", define_dimension_size);
  r.add("stablehlo.broadcast_in_dim", "operand", define_broadcast_in_dim, {"stablehlo.dynamic_broadcast_in_dim"});
  r.add("stablehlo.broadcast", "operand", define_broadcast);
  r.add("stablehlo.reshape", "operand", define_reshape, {"stablehlo.dynamic_reshape"});
  r.add("stablehlo.transpose", "operand", define_transpose);
  r.add("stablehlo.slice", "operand", define_slice);
  r.add("stablehlo.reverse", "operand", define_reverse);
  r.add("stablehlo.concatenate", "inputs", define_concatenate);
  r.add("stablehlo.pad", "operand, padding_value", define_pad);
  r.add("stablehlo.bitcast_convert", "operand", define_bitcast);
}

}  // namespace lightline::ops
