// x[...] as Python writes it: integers, slices, None and ... are views; tensors and lists pick elements.
#include <fmt/format.h>

#include <algorithm>

#include "ops/python/lowering.h"

namespace lightline::ops {
namespace {

using graph::Argument;

bool is_mask(const SymbolicTensor& tensor) { return tensor.dtype == DType::boolean || tensor.dtype == DType::u8; }

// How many dimensions of the tensor an element of the index takes.
int64_t consumed(const PyValue& index) {
  if (index.is_none() || index.kind == PyValue::Kind::ellipsis) return 0;
  if (index.is_tensor() && is_mask(*index.tensor)) return index.tensor->rank();
  return 1;
}

constexpr std::string_view unknown_count = "how many elements a mask selects only the data tell; all are taken";

}  // namespace

PyValue PythonLowering::element_of(const PyValue& sequence, const PyValue& index) {
  const std::vector<PyValue> items = sequence.elements();
  const int64_t count = int64_t(items.size());
  if (index.kind == PyValue::Kind::slice) {
    const int64_t step = index.items[2].integer().value_or(1);
    require(step > 0, "a slice of a tuple has a step below 1");
    const auto bound = [&](const PyValue& value, int64_t fallback) {
      int64_t at = value.integer().value_or(fallback);
      if (at < 0) at += count;
      return std::clamp<int64_t>(at, 0, count);
    };
    std::vector<PyValue> part;
    for (int64_t i = bound(index.items[0], 0); i < bound(index.items[1], count); i += std::min(step, count))
      part.push_back(items[size_t(i)]);
    return PyValue::sequence(std::move(part));
  }
  auto place = index.integer();
  if (!place && index.is_tensor())
    if (const auto known = known_scalar(*index.tensor)) place = PyValue::of(*known).integer();
  if (!place) fail("a tuple is indexed by something other than an integer", ErrorCode::unsupported);
  const int64_t at = *place < 0 ? *place + count : *place;
  if (at < 0 || at >= count) fail(fmt::format("element {} of a tuple of {}", *place, count), ErrorCode::range);
  return items[size_t(at)];
}

SymbolicTensor PythonLowering::sliced(const SymbolicTensor& base, int64_t dim, const PyValue& slice) {
  const int64_t extent = base.shape[size_t(dim)];
  const auto bound = [&](const PyValue& value, int64_t fallback) {
    std::optional<int64_t> at = value.integer();
    if (value.is_none()) return fallback;
    if (value.is_tensor())
      if (const auto known = known_scalar(*value.tensor)) at = PyValue::of(*known).integer();
    if (!at) fail("a slice has a bound that only the data tell", ErrorCode::unsupported);
    if (*at < 0) *at += extent;
    return std::clamp<int64_t>(*at, 0, extent);
  };
  const int64_t step = slice.items[2].is_none() ? 1 : slice.items[2].integer().value_or(0);
  require(step > 0, "a slice has a step below 1");
  const int64_t start = bound(slice.items[0], 0), stop = bound(slice.items[1], extent);
  if (start == 0 && stop == extent && step == 1) return base;
  return lowering_.slice(base, dim, start, stop > start ? (stop - start - 1) / step + 1 : 0, step);
}

PythonLowering::BasicIndex PythonLowering::basic_index(const SymbolicTensor& base, const PyValue& index) {
  const std::vector<PyValue> parts =
      index.kind == PyValue::Kind::sequence && !index.list ? index.items : std::vector<PyValue>{index};
  int64_t taken = 0, ellipses = 0;
  for (const PyValue& part : parts) {
    taken += consumed(part);
    ellipses += part.kind == PyValue::Kind::ellipsis;
  }
  require(ellipses <= 1, "an index has more than one ellipsis");
  require(taken <= base.rank(), fmt::format("{} indices for a tensor of rank {}", taken, base.rank()));
  BasicIndex result{base, {}};
  int64_t dim = 0;
  for (const PyValue& part : parts) {
    const auto integer = part.integer();
    if (part.kind == PyValue::Kind::ellipsis) {
      dim += base.rank() - taken;
    } else if (part.is_none()) {
      result.view = lowering_.unsqueeze(result.view, dim++);
    } else if (part.kind == PyValue::Kind::slice) {
      result.view = sliced(result.view, dim, part);
      ++dim;
    } else if (integer && !std::holds_alternative<bool>(part.constant)) {
      result.view = lowering_.select(result.view, dim, *integer);
    } else if (part.is_tensor() || part.is_sequence()) {
      const SymbolicTensor picked = part.is_tensor() ? *part.tensor : as_tensor(part);
      result.advanced.resize(size_t(dim));
      result.advanced.push_back(picked);
      dim += is_mask(picked) ? picked.rank() : 1;
    } else {
      fail("an index is neither an integer, a slice, None, ... nor a tensor", ErrorCode::unsupported);
    }
  }
  return result;
}

PyValue PythonLowering::index_list(const std::vector<std::optional<SymbolicTensor>>& advanced) {
  std::vector<PyValue> items;
  for (const auto& tensor : advanced) items.push_back(tensor ? PyValue::of(*tensor) : PyValue());
  return PyValue::sequence(std::move(items));
}

// One mask over some dimensions: as many elements as it could select.
SymbolicTensor PythonLowering::selected_by_mask(const BasicIndex& index) {
  size_t masks = 0, place = 0;
  for (size_t d = 0; d < index.advanced.size(); ++d) {
    if (!index.advanced[d]) continue;
    ++masks;
    place = d;
  }
  if (masks != 1) fail("a mask is combined with other tensors in one index", ErrorCode::unsupported);
  const SymbolicTensor& mask = *index.advanced[place];
  const Shape& from = index.view.shape;
  require(std::equal(mask.shape.begin(), mask.shape.end(), from.begin() + std::ptrdiff_t(place)),
          "a mask does not fit the tensor that it indexes");
  if (const auto positions = known_positions(mask)) {
    std::vector<PyValue> indices(place);
    indices.insert(indices.end(), positions->begin(), positions->end());
    return apply_one("index", {{"self", PyValue::of(index.view)}, {"indices", PyValue::sequence(std::move(indices))}});
  }
  Shape shape(from.begin(), from.begin() + std::ptrdiff_t(place));
  shape.push_back(mask.size());
  shape.insert(shape.end(), from.begin() + std::ptrdiff_t(place + mask.shape.size()), from.end());
  assume(std::string(unknown_count));
  return lowering_.opaque("index_by_mask", {index.view, mask}, {}, {{index.view.dtype, shape}})[0];
}

std::optional<PyValue> PythonLowering::get_item(const PyCall& call) {
  const PyValue *object = call.at(0), *index = call.at(1);
  require(object && index, "an index needs an object");
  if (object->is_sequence()) return element_of(*object, *index);
  if (!object->is_tensor()) fail("something other than a tensor or a tuple is indexed", ErrorCode::unsupported);
  count_("getitem");
  require(object->levels.empty(), "indexing under vmap is not supported");
  BasicIndex basic = basic_index(*object->tensor, *index);
  if (basic.advanced.empty()) {
    return PyValue::of(std::move(basic.view));
  }
  const auto present = [](const auto& tensor) { return tensor && is_mask(*tensor); };
  if (std::ranges::any_of(basic.advanced, present)) return PyValue::of(selected_by_mask(basic));
  if (std::ranges::any_of(basic.advanced, [](const auto& t) { return t && !is_integer(t->dtype); }))
    fail("an index is neither a mask nor a tensor of integers", ErrorCode::type);
  return PyValue::of(
      apply_one("index", {{"self", PyValue::of(std::move(basic.view))}, {"indices", index_list(basic.advanced)}}));
}

std::optional<PyValue> PythonLowering::set_item(const PyCall& call) {
  const PyValue *object = call.at(0), *index = call.at(1), *value = call.at(2);
  require(object && index && value, "an assignment needs an object, an index and a value");
  if (!object->is_tensor()) fail("an element of something other than a tensor is assigned", ErrorCode::unsupported);
  count_("setitem");
  const BasicIndex basic = basic_index(*object->tensor, *index);
  SymbolicTensor source = as_tensor(*value, object->tensor->dtype);
  if (!basic.advanced.empty()) {
    apply_one("index_put_", {{"self", PyValue::of(basic.view)},
                             {"indices", index_list(basic.advanced)},
                             {"values", PyValue::of(std::move(source))}});
    return PyValue();
  }
  while (source.rank() > basic.view.rank() && source.shape[0] == 1) source = lowering_.squeeze(source, 0);
  lowering_.write(basic.view, source);
  return PyValue();
}

}  // namespace lightline::ops
