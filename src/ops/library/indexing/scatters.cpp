// Writing at positions that a tensor holds: scatter, index_add and the like, and masks.
#include <fmt/format.h>

#include <limits>

#include "ops/library/indexing/indexing.h"

namespace lightline::ops {
namespace {

template <class Integer>
Literal bound_of(bool greatest) {
  const auto least = int64_t(std::numeric_limits<Integer>::min());
  // the least i64 has no literal
  return Literal::of(greatest ? int64_t(std::numeric_limits<Integer>::max())
                              : std::max(least, std::numeric_limits<int64_t>::min() + 1));
}

Literal bound(DType dtype, bool greatest) {
  switch (dtype) {
    case DType::i64: return bound_of<int64_t>(greatest);
    case DType::i32: return bound_of<int32_t>(greatest);
    case DType::i16: return bound_of<int16_t>(greatest);
    case DType::i8: return bound_of<int8_t>(greatest);
    case DType::u8: return bound_of<uint8_t>(greatest);
    case DType::boolean: return Literal::of_bool(greatest);
    default: return Literal::of((greatest ? 1 : -1) * std::numeric_limits<double>::infinity());
  }
}

struct Combination {
  Reducer reducer;
  Literal neutral;
  bool is_mean = false;
};

Combination combination(std::string_view how, DType dtype) {
  const bool boolean = dtype == DType::boolean;
  const auto number = [&](int64_t n) { return boolean ? Literal::of_bool(n != 0) : Literal::of(n); };
  if (how == "sum" || how == "add" || how == "mean")
    return {boolean ? Reducer::any : Reducer::sum, number(0), how == "mean"};
  if (how == "prod" || how == "multiply") return {boolean ? Reducer::all : Reducer::prod, number(1)};
  if (how == "amax") return {boolean ? Reducer::any : Reducer::max, bound(dtype, false)};
  if (how == "amin") return {boolean ? Reducer::all : Reducer::min, bound(dtype, true)};
  fail(fmt::format("there is no reduction '{}' for a scatter", how));
}

SymbolicTensor scattered(Lowering& l, Reducer reducer, const SymbolicTensor& base, const Update& update) {
  return l.scatter(reducer, base, update.domain, [&](const Indices& i) {
    return ScatterWrite{update.target(i), convert(update.value(i), base.dtype)};
  });
}

}  // namespace

Update update_along(Lowering& l, const SymbolicTensor& target, int64_t dim, const SymbolicTensor& index,
                    ElementAt value) {
  require(target.rank() == index.rank(), "the tensor and its index have different ranks");
  const auto at = size_t(wrap_dim(dim, target.rank()));
  for (size_t d = 0; d < index.shape.size(); ++d)
    require(d == at || index.shape[d] <= target.shape[d], "an index is larger than the tensor that it indexes");
  return {index.shape,
          [&l, index, at, extent = target.shape[at]](const Indices& i) {
            Indices place = i;
            place[at] = position(l, l.read(index, i), extent);
            return place;
          },
          std::move(value)};
}

Update update_slices(Lowering& l, const SymbolicTensor& target, int64_t dim, const SymbolicTensor& index,
                     ElementAt value, bool wraps) {
  require(index.rank() == 1, "the positions of slices are a vector");
  const auto at = size_t(wrap_dim(dim, target.rank()));
  Shape domain = target.shape;
  domain[at] = index.shape[0];
  return {domain,
          [&l, index, at, wraps, extent = target.shape[at]](const Indices& i) {
            Indices place = i;
            place[at] = (wraps ? wrapped_position : position)(l, l.read(index, {i[at]}), extent);
            return place;
          },
          std::move(value)};
}

SymbolicTensor set_at(Lowering& l, const SymbolicTensor& base, const Update& update) {
  return scattered(l, Reducer::set, base, update);
}

SymbolicTensor added_at(Lowering& l, const SymbolicTensor& base, const Update& update) {
  return scattered(l, base.dtype == DType::boolean ? Reducer::any : Reducer::sum, base, update);
}

SymbolicTensor reduced_at(Lowering& l, const SymbolicTensor& base, const Update& update, std::string_view how,
                          bool include_base) {
  const Combination combine = combination(how, base.dtype);
  const bool accumulates = combine.reducer == Reducer::sum || combine.reducer == Reducer::prod;
  const DType wide = accumulates ? compute_type(base.dtype) : base.dtype;
  SymbolicTensor total = l.cast(base, wide);
  if (!include_base)
    total = set_at(l, total, {update.domain, update.target, [&](const Indices&) {
                                return l.convert(l.literal(combine.neutral), wide);
                              }});
  total = scattered(l, combine.reducer, total, update);
  if (!combine.is_mean) return l.cast(total, base.dtype);
  const SymbolicTensor count = l.scatter(DType::i64, base.shape, Literal::of(int64_t(include_base)), Reducer::sum,
                                         update.domain, [&](const Indices& i) {
                                           return ScatterWrite{update.target(i), l.literal(Literal::of(int64_t(1)))};
                                         });
  return l.map(base.dtype, base.shape, [&](const Indices& i) {
    const Scalar sum = l.read(total, i), parts = convert(max(l.read(count, i), 1.0), wide);
    return is_integer(wide) ? call(Function::div, sum, parts) : sum / parts;
  });
}

namespace {

// ---- scatter ----

// The value that is scattered: a tensor as large as the index or larger, or a number.
ElementAt scattered_value(OpCall& c, const SymbolicTensor& x, const SymbolicTensor& index) {
  Lowering& l = c.lowering();
  if (const auto src = c.tensor_if("src")) {
    const SymbolicTensor source = as_vector(l, *src);
    require(source.rank() == index.rank(), "the index and the source of a scatter have different ranks");
    for (size_t d = 0; d < index.shape.size(); ++d)
      require(index.shape[d] <= source.shape[d], "the index of a scatter is larger than its source");
    return [&l, source](const Indices& i) { return l.read(source, i); };
  }
  return [&c, value = c.operand(c.has("value") ? "value" : "src"), dtype = x.dtype](const Indices&) {
    return c.read_as(value, {}, dtype);
  };
}

void give_scattered(OpCall& c, std::string_view how, bool include_base) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = as_vector(l, self), index = as_vector(l, c.tensor("index"));
  if (index.size() == 0) return c.add_result(l.copy(self));
  const Update update = update_along(l, x, c.integer("dim"), index, scattered_value(c, x, index));
  c.add_result(l.reshape(how.empty() ? set_at(l, x, update) : reduced_at(l, x, update, how, include_base), self.shape));
}

// ---- slices ----

// One slice of the source for every position.
Update source_slices(OpCall& c, const SymbolicTensor& x, const ElementAt& value, bool wraps = false) {
  Lowering& l = c.lowering();
  return update_slices(l, x, c.integer("dim"), as_vector(l, c.tensor("index")), value, wraps);
}

ElementAt read_source(OpCall& c, const SymbolicTensor& x) {
  Lowering& l = c.lowering();
  const SymbolicTensor source = as_vector(l, c.tensor("source"));
  require(source.rank() == x.rank(), "the source has another rank than the tensor that it goes to");
  return [&l, source](const Indices& i) { return l.read_broadcast(source, i); };
}

void define_index_add(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = as_vector(l, self);
  const ElementAt source = read_source(c, x);
  const Operand alpha = c.operand_or("alpha", 1);
  if (x.dtype == DType::boolean && !c.flag("alpha", true)) return c.add_result(l.copy(self));
  const bool plain = is_number(alpha, 1) || x.dtype == DType::boolean;
  const ElementAt value = [&](const Indices& i) {
    return plain ? source(i) : source(i) * c.read_as(alpha, {}, x.dtype);
  };
  c.add_result(l.reshape(added_at(l, x, source_slices(c, x, value)), self.shape));
}

void define_index_copy(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = as_vector(l, self);
  c.add_result(l.reshape(set_at(l, x, source_slices(c, x, read_source(c, x))), self.shape));
}

void define_index_fill(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = as_vector(l, self);
  const Operand value = c.operand("value");
  require(value.shape().empty(), "index_fill takes one value");
  c.add_result(l.reshape(set_at(l, x,
                                source_slices(
                                    c, x, [&](const Indices&) { return c.read_as(value, {}, x.dtype); }, true)),
                         self.shape));
}

void define_index_reduce(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = as_vector(l, self);
  c.add_result(l.reshape(
      reduced_at(l, x, source_slices(c, x, read_source(c, x)), c.text("reduce", ""), c.flag("include_self", true)),
      self.shape));
}

// ---- the flattened tensor ----

void define_put(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), flat = l.reshape(x, {x.size()}), index = c.tensor("index"),
                       source = l.reshape(c.tensor("source"), index.shape);
  const Update update{index.shape,
                      [&](const Indices& i) { return Indices{wrapped_position(l, l.read(index, i), x.size())}; },
                      [&](const Indices& i) { return l.read(source, i); }};
  c.add_result(l.reshape(c.flag("accumulate", false) ? added_at(l, flat, update) : set_at(l, flat, update), x.shape));
}

void define_as_strided_scatter(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), flat = l.reshape(x, {x.size()}), source = c.tensor("src");
  const Shape size = c.integers("size"), stride = c.integers("stride");
  require(size.size() == stride.size(), "as_strided_scatter needs one stride per size");
  const int64_t offset = c.integer("storage_offset", 0);
  __int128 last = offset;
  for (size_t d = 0; d < size.size(); ++d) {
    require(size[d] >= 0 && stride[d] >= 0, "as_strided_scatter has a negative size or stride");
    last += __int128(size[d] - 1) * stride[d];
  }
  require(product(size) == 0 || (offset >= 0 && last < x.size()), "as_strided_scatter leaves its storage");
  c.add_result(l.reshape(set_at(l, flat,
                                {size,
                                 [&](const Indices& i) {
                                   Subscript at = l.constant_index(offset);
                                   for (size_t d = 0; d < size.size(); ++d) at = at + i[d] * stride[d];
                                   return Indices{at};
                                 },
                                 [&](const Indices& i) { return l.read_broadcast(source, i); }}),
                         x.shape));
}

// ---- masks: the n-th true element and the n-th value belong together ----

void define_masked_scatter(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), given = c.tensor("mask"), source = c.tensor("source"),
                       flat = l.reshape(source, {source.size()});
  const Shape shape = broadcast(self.shape, given.shape);
  const SymbolicTensor x = l.expand(self, shape), mask = l.expand(given, shape), count = running_count(l, mask);
  c.add_result(l.map(x.dtype, shape, [&](const Indices& i) {
    const Scalar value = l.read(flat, {l.index(l.read(count, i) - 1.0)}, Literal::of(int64_t(0)));
    return select(convert(l.read(mask, i), DType::boolean), value, l.read(x, i));
  }));
}

// The place of a true element among the true ones, and outside of everything for a false one.
Subscript place_of_true(Lowering& l, const SymbolicTensor& mask, const SymbolicTensor& count, const Indices& i) {
  const Scalar place = l.read(count, i) - 1.0;
  return l.index(select(convert(l.read(mask, i), DType::boolean), place, -1.0));
}

void define_masked_scatter_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output"), mask = l.expand(c.tensor("mask"), grad.shape),
                       count = running_count(l, mask);
  const Shape sizes = c.integers("sizes");
  for (const int64_t size : sizes) require(size >= 0, "a size is negative");
  const SymbolicTensor flat = l.scatter(
      grad.dtype, {product(sizes)}, Literal::of(int64_t(0)), Reducer::set, grad.shape,
      [&](const Indices& i) {
        return ScatterWrite{{place_of_true(l, mask, count, i)}, l.read(grad, i)};
      },
      true);
  c.add_result(l.reshape(flat, sizes));
}

// The coordinates of the first `size` elements that are not zero.
void define_nonzero_static(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const int64_t size = c.integer("size");
  const SymbolicTensor mask = l.map(DType::boolean, x.shape,
                                    [&](const Indices& i) { return convert(l.read(x, i), DType::boolean); }),
                       count = running_count(l, mask);
  const SymbolicTensor start = l.map(DType::i64, {size, x.rank()}, [&](const Indices&) {
    return c.read_as(c.operand_or("fill_value", -1), {}, DType::i64);
  });
  SymbolicTensor result = start;
  for (int64_t d = 0; d < x.rank(); ++d)
    result = l.scatter(
        Reducer::set, result, x.shape,
        [&](const Indices& i) {
          return ScatterWrite{{place_of_true(l, mask, count, i), l.constant_index(d)}, value(i[size_t(d)])};
        },
        true);
  c.add_result(result);
}

}  // namespace

void register_scatters(Registry& r) {
  r.add("scatter", "self, dim, index, src", [](OpCall& c) { give_scattered(c, c.text("reduce", ""), true); });
  r.add("scatter_add", "self, dim, index, src", [](OpCall& c) { give_scattered(c, "sum", true); });
  r.add("scatter_reduce", "self, dim, index, src, reduce, include_self",
        [](OpCall& c) { give_scattered(c, c.text("reduce", ""), c.flag("include_self", true)); });
  r.add("index_add", "self, dim, index, source", define_index_add);
  r.add("index_copy", "self, dim, index, source", define_index_copy);
  r.add("index_fill", "self, dim, index, value", define_index_fill);
  r.add("index_reduce", "self, dim, index, source, reduce", define_index_reduce);
  r.add("put", "self, index, source, accumulate", define_put);
  r.add("as_strided_scatter", "self, src, size, stride, storage_offset", define_as_strided_scatter);
  r.add("masked_scatter", "self, mask, source", define_masked_scatter);
  r.add("masked_scatter_backward", "grad_output, mask, sizes", define_masked_scatter_backward);
  r.add("nonzero_static", "self, size, fill_value", define_nonzero_static);
}

}  // namespace lightline::ops
