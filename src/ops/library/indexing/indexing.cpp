// Indexing by tensors: gathers, and index_put as their inverse.
#include "ops/library/indexing/indexing.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::ops {

SymbolicTensor as_vector(Lowering& l, const SymbolicTensor& x) { return x.shape.empty() ? l.reshape(x, {1}) : x; }

namespace {
Interval inside(int64_t extent) { return {0, std::max<int64_t>(extent - 1, 0)}; }
}  // namespace

Subscript position(Lowering& l, Scalar index, int64_t extent) {
  return l.index(convert(index, DType::i64), inside(extent));
}

Subscript wrapped_position(Lowering& l, Scalar index, int64_t extent) {
  const Scalar at = convert(index, DType::i64);
  return l.index(select(at < 0.0, at + number(at, extent), at), inside(extent));
}

Subscript clamped_position(Lowering& l, Scalar index, int64_t extent) {
  const Scalar at = convert(index, DType::i64);
  return l.index(max(min(at, number(at, extent - 1)), number(at, int64_t(0))), inside(extent));
}

Subscript clamped_position(Lowering& l, const Subscript& index, int64_t extent) {
  const Interval range = l.algebra().range(index.sum);
  if (range.low >= 0 && range.high < extent) return index;
  Scalar at = value(index);
  if (range.high >= extent) at = min(at, number(at, extent - 1));
  if (range.low < 0) at = max(at, number(at, int64_t(0)));
  return l.index(at, inside(extent));
}

SymbolicTensor running_count(Lowering& l, const SymbolicTensor& mask) {
  const SymbolicTensor flat = l.reshape(mask, {mask.size()});
  const SymbolicTensor count = l.scan(DType::i64, flat.shape, 0, [&](const Indices& i, const Lowering::Self& before) {
    return before(1, Literal::of(int64_t(0))) + convert(convert(l.read(flat, i), DType::boolean), DType::i64);
  });
  return l.reshape(count, mask.shape);
}

namespace {

bool is_mask(const SymbolicTensor& index) { return index.dtype == DType::boolean || index.dtype == DType::u8; }

// A tensor indexed by tensors in some dimensions. Their common shape stands in the place of these dimensions if they
// are adjacent, and in front of all others if not.
struct TensorIndex {
  SymbolicTensor base;
  std::vector<std::optional<SymbolicTensor>> at;  // one per dimension of the base
  Shape common;
  size_t place = 0;  // of the common shape

  Shape shape() const {
    Shape result;
    for (size_t d = 0; d < at.size(); ++d)
      if (!at[d]) result.push_back(base.shape[d]);
    result.insert(result.begin() + std::ptrdiff_t(place), common.begin(), common.end());
    return result;
  }

  // `locate` turns a value of an index tensor into a subscript.
  using Locate = std::function<Subscript(Scalar index, int64_t extent)>;
  Indices coordinates(Lowering& l, const Indices& i, const Locate& locate) const {
    const Indices own(i.begin() + std::ptrdiff_t(place), i.begin() + std::ptrdiff_t(place + common.size()));
    Indices result;
    size_t plain = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d])
        result.push_back(locate(l.read_broadcast(*at[d], own), base.shape[d]));
      else
        result.push_back(i[plain < place ? plain++ : common.size() + plain++]);
    }
    return result;
  }
  Indices coordinates(Lowering& l, const Indices& i) const {
    return coordinates(l, i, [&](Scalar index, int64_t extent) { return wrapped_position(l, index, extent); });
  }
};

TensorIndex tensor_index(const SymbolicTensor& base, std::vector<std::optional<SymbolicTensor>> indices) {
  require(indices.size() <= base.shape.size(),
          fmt::format("{} indices for a tensor of rank {}", indices.size(), base.rank()));
  indices.resize(base.shape.size());
  TensorIndex result{base, std::move(indices), {}, 0};
  size_t first = result.at.size(), last = 0, count = 0;
  for (size_t d = 0; d < result.at.size(); ++d) {
    if (!result.at[d]) continue;
    require(is_integer(result.at[d]->dtype), "an index is neither a mask nor a tensor of integers");
    result.common = broadcast(result.common, result.at[d]->shape);
    first = std::min(first, d);
    last = d;
    ++count;
  }
  result.place = count > 0 && last - first + 1 == count ? first : 0;
  return result;
}

std::vector<SymbolicTensor> present(const std::vector<std::optional<SymbolicTensor>>& list) {
  std::vector<SymbolicTensor> result;
  for (const auto& tensor : list)
    if (tensor) result.push_back(*tensor);
  return result;
}

bool any_mask(const std::vector<std::optional<SymbolicTensor>>& indices) {
  return std::ranges::any_of(indices, [](const auto& index) { return index && is_mask(*index); });
}

// ---- reading ----

void define_index(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const auto indices = c.optional_tensors("indices");
  if (any_mask(indices)) {
    std::vector<SymbolicTensor> operands = present(indices);
    operands.insert(operands.begin(), x);
    return add_opaque_results(c, "index_by_mask", operands);
  }
  const TensorIndex index = tensor_index(x, indices);
  c.add_result(l.map(x.dtype, index.shape(), [&](const Indices& i) { return l.read(x, index.coordinates(l, i)); }));
}

// Where the mask is false the index means nothing.
TensorIndex::Locate locate_masked(Lowering& l) {
  return [&l](Scalar index, int64_t extent) {
    const Scalar at = convert(index, DType::i64);
    return clamped_position(l, select(at < 0.0, at + number(at, extent), at), extent);
  };
}

void define_masked_index(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), mask = c.tensor("mask");
  const TensorIndex index = tensor_index(x, c.optional_tensors("indices"));
  const bool nothing = x.size() == 0;
  c.add_result(l.map(x.dtype, broadcast(index.shape(), mask.shape), [&](const Indices& i) {
    const Scalar fill = c.read_as(c.operand("fill"), {}, x.dtype);
    return nothing ? fill
                   : select(l.read_broadcast(mask, i), l.read(x, index.coordinates(l, i, locate_masked(l))), fill);
  }));
}

void define_masked_index_put_accumulate(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), mask = c.tensor("mask"), values = c.tensor("values");
  const TensorIndex index = tensor_index(x, c.optional_tensors("indices"));
  if (x.size() == 0) return c.add_result(l.copy(x));
  c.add_result(added_at(
      l, x,
      {index.shape(), [&](const Indices& i) { return index.coordinates(l, i, locate_masked(l)); },
       [&](const Indices& i) { return select(l.read_broadcast(mask, i), l.read_broadcast(values, i), 0.0); }}));
}

// ---- writing ----

// Leading extents of 1 beyond the rank that a value may have.
SymbolicTensor trimmed(Lowering& l, SymbolicTensor values, size_t rank) {
  while (values.shape.size() > rank && values.shape[0] == 1) values = l.squeeze(values, 0);
  return values;
}

// A mask over the dimensions from `first` on. A value that is the same for all of them is a choice; otherwise the n-th
// true element takes the n-th value.
SymbolicTensor put_under_mask(OpCall& c, const SymbolicTensor& x, const SymbolicTensor& mask, size_t first,
                              bool accumulate) {
  Lowering& l = c.lowering();
  const size_t after = first + mask.shape.size();
  require(after <= x.shape.size() &&
              std::equal(mask.shape.begin(), mask.shape.end(), x.shape.begin() + std::ptrdiff_t(first)),
          "a mask does not fit the tensor that it indexes");
  Shape shape(x.shape.begin(), x.shape.begin() + std::ptrdiff_t(first));
  shape.push_back(1);
  shape.insert(shape.end(), x.shape.begin() + std::ptrdiff_t(after), x.shape.end());
  SymbolicTensor values = trimmed(l, c.tensor("values"), shape.size());
  const size_t from_end = shape.size() - first;
  const bool one_by_one = values.shape.size() >= from_end && values.shape[values.shape.size() - from_end] != 1;
  if (one_by_one) shape[first] = values.shape[values.shape.size() - from_end];
  values = l.expand(values, shape);
  const SymbolicTensor count = one_by_one ? running_count(l, mask) : mask;
  return l.map(x.dtype, x.shape, [&](const Indices& i) {
    const Indices own(i.begin() + std::ptrdiff_t(first), i.begin() + std::ptrdiff_t(after));
    Indices from(i.begin(), i.begin() + std::ptrdiff_t(first));
    from.push_back(one_by_one ? l.index(l.read(count, own) - 1.0) : l.constant_index(0));
    from.insert(from.end(), i.begin() + std::ptrdiff_t(after), i.end());
    const Scalar old = l.read(x, i), value = convert(l.read(values, from, Literal::of(int64_t(0))), x.dtype);
    const Scalar changed = !accumulate ? value : x.dtype == DType::boolean ? old || value : old + value;
    return select(convert(l.read(mask, own), DType::boolean), changed, old);
  });
}

void define_index_put(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const auto indices = c.optional_tensors("indices");
  const bool accumulate = c.flag("accumulate", false);
  if (any_mask(indices)) {
    const auto mask = std::ranges::find_if(indices, [](const auto& index) { return index.has_value(); });
    if (present(indices).size() == 1)
      return c.add_result(put_under_mask(c, x, **mask, size_t(mask - indices.begin()), accumulate));
    std::vector<SymbolicTensor> operands = present(indices);
    operands.insert(operands.begin(), {x, c.tensor("values")});
    return c.add_result(
        l.opaque("index_put_by_masks", operands, {{"accumulate", accumulate}}, {{x.dtype, x.shape}})[0]);
  }
  const TensorIndex index = tensor_index(x, indices);
  const SymbolicTensor values = trimmed(l, c.tensor("values"), index.shape().size());
  require(broadcast(index.shape(), values.shape) == index.shape(),
          fmt::format("values of shape {} do not fit the indexed shape {}", to_string(values.shape),
                      to_string(index.shape())));
  const Update update{index.shape(), [&](const Indices& i) { return index.coordinates(l, i); },
                      [&](const Indices& i) { return l.read_broadcast(values, i); }};
  c.add_result(accumulate ? added_at(l, x, update) : set_at(l, x, update));
}

// ---- along one dimension ----

Indices with(Indices at, size_t dim, const Subscript& place) {
  at[dim] = place;
  return at;
}

void define_index_select(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = as_vector(l, self), index = as_vector(l, c.tensor("index"));
  require(index.rank() == 1, "index_select takes a vector of positions");
  const auto dim = size_t(wrap_dim(c.integer("dim"), x.rank()));
  Shape shape = x.shape;
  shape[dim] = index.shape[0];
  const SymbolicTensor result = l.map(x.dtype, shape, [&](const Indices& i) {
    return l.read(x, with(i, dim, position(l, l.read(index, {i[dim]}), x.shape[dim])));
  });
  c.add_result(self.shape.empty() ? l.reshape(result, {}) : result);
}

SymbolicTensor gathered(Lowering& l, const SymbolicTensor& x, const SymbolicTensor& index, size_t dim,
                        bool wraps = false) {
  require(x.rank() == index.rank(), "the tensor and its index have different ranks");
  for (size_t d = 0; d < x.shape.size(); ++d)
    require(d == dim || index.shape[d] <= x.shape[d], "an index is larger than the tensor that it indexes");
  return l.map(x.dtype, index.shape, [&](const Indices& i) {
    return l.read(x, with(i, dim, (wraps ? wrapped_position : position)(l, l.read(index, i), x.shape[dim])));
  });
}

void define_gather(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = as_vector(l, c.tensor("self")), index = c.tensor("index");
  const auto dim = size_t(wrap_dim(c.integer("dim"), x.rank()));
  if (index.size() == 0 && index.rank() != x.rank())
    return c.add_result(l.map(x.dtype, index.shape, [&](const Indices&) {
      return c.read_as({std::nullopt, int64_t(0)}, {}, x.dtype);
    }));
  c.add_result(l.reshape(gathered(l, x, as_vector(l, index), dim), index.shape));
}

void define_take_along_dim(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor x = c.tensor("self"), index = c.tensor("indices");
  if (!c.has("dim"))
    return c.add_result(gathered(l, l.reshape(x, {x.size()}), l.reshape(index, {index.size()}), 0, true));
  require(x.rank() == index.rank(), "the tensor and its index have different ranks");
  const auto dim = size_t(wrap_dim(c.integer("dim"), x.rank()));
  if (x.shape.empty()) return c.add_result(l.copy(x));
  Shape others = x.shape, wanted = index.shape;
  others[dim] = wanted[dim] = 1;
  Shape from = broadcast(others, wanted), to = from;
  from[dim] = x.shape[dim];
  to[dim] = index.shape[dim];
  c.add_result(gathered(l, l.expand(x, from), l.expand(index, to), dim, true));
}

void define_take(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), flat = l.reshape(x, {x.size()}), index = c.tensor("index");
  c.add_result(l.map(x.dtype, index.shape, [&](const Indices& i) {
    return l.read(flat, {wrapped_position(l, l.read(index, i), x.size())});
  }));
}

}  // namespace

void register_indexing(Registry& r) {
  r.add("index", "self, indices", define_index, {"_unsafe_index"});
  r.add("index_put", "self, indices, values, accumulate", define_index_put, {"_unsafe_index_put", "_index_put_impl"});
  r.add("_unsafe_masked_index", "self, mask, indices, fill", define_masked_index);
  r.add("_unsafe_masked_index_put_accumulate", "self, mask, indices, values", define_masked_index_put_accumulate);
  r.add("index_select", "self, dim, index", define_index_select);
  r.add("gather", "self, dim, index, sparse_grad", define_gather);
  r.add("take_along_dim", "self, indices, dim", define_take_along_dim);
  r.add("take", "self, index", define_take);
  register_scatters(r);
  register_embeddings(r);
  register_counting(r);
}

}  // namespace lightline::ops
