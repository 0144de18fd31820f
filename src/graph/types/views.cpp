// The same elements under other indices.
#include <fmt/format.h>

#include <algorithm>

#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

// -1 stands for what is left.
Types reshaped_to(const TensorType& from, Shape to) {
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == -1) {
      expect(!open, "more than one size is -1");
      open = i;
    } else {
      known *= to[i];
    }
  }
  const int64_t count = element_count_of(from.shape);
  if (open) {
    expect(known != 0 && count % known == 0, "the sizes do not divide the number of elements");
    to[*open] = count / known;
  }
  if (element_count_of(to) != count)
    refuse(fmt::format("{} has not as many elements as {}", to_string(to), to_string(from.shape)));
  return {{from.dtype, std::move(to)}};
}

Types reshaped(const TypeCall& call) {
  const char* parameter = call.argument("shape") ? "shape" : "size";
  return reshaped_to(call.tensor("self"), call.integers(parameter));
}

Types converted(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const TensorType* other = call.tensor_if("other");
  type.dtype = call.dtype().value_or(other ? other->dtype : type.dtype);
  return {type};
}

Types viewed_dtype(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const DType to = call.dtype().value_or(type.dtype);
  const int before = byte_size(type.dtype), after = byte_size(to);
  if (before != after) {
    expect(!type.shape.empty(), "a single number keeps its width");
    type.shape.back() = type.shape.back() * before / after;
  }
  return {{to, type.shape}};
}

Types expanded(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  Shape to = call.integers("size");
  expect(to.size() >= from.shape.size(), "expand takes at least as many sizes as there are dimensions");
  const size_t shift = to.size() - from.shape.size();
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == -1 && i >= shift) to[i] = from.shape[i - shift];
    expect(to[i] >= 0, "a new dimension needs a size");
    if (i >= shift && from.shape[i - shift] != 1 && from.shape[i - shift] != to[i])
      refuse(fmt::format("{} can not be expanded to {}", to_string(from.shape), to_string(to)));
  }
  return {{from.dtype, std::move(to)}};
}

Types permuted(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  const std::vector<int64_t> dims = call.integers("dims");
  expect(dims.size() == from.shape.size(), "permute takes every dimension once");
  Shape to;
  for (const int64_t dim : dims) to.push_back(from.shape[size_t(wrapped(dim, from.shape.size()))]);
  return {{from.dtype, std::move(to)}};
}

Types swapped_dims(TensorType type, int64_t a, int64_t b) {
  if (!type.shape.empty())
    std::swap(type.shape[size_t(wrapped(a, type.shape.size()))], type.shape[size_t(wrapped(b, type.shape.size()))]);
  return {std::move(type)};
}

Types transposed(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  if (call.op().name == "t") return from.shape.size() < 2 ? Types{from} : swapped_dims(from, 0, 1);
  if (call.op().name == "swapaxes") return swapped_dims(from, call.integer("axis0"), call.integer("axis1"));
  return swapped_dims(from, call.integer("dim0"), call.integer("dim1"));
}

Types last_swapped(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  expect(from.shape.size() >= 2, "a matrix has two dimensions");
  return swapped_dims(from, -2, -1);
}

Types reversed(const TypeCall& call) {
  TensorType type = call.tensor("self");
  std::ranges::reverse(type.shape);
  return {type};
}

Types moved(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  const size_t rank = from.shape.size();
  const std::vector<int64_t> source = call.integers("source"), target = call.integers("destination");
  expect(source.size() == target.size(), "movedim takes as many places as dimensions");
  Shape to(rank, -1);
  std::vector<bool> taken(rank, false);
  for (size_t i = 0; i < source.size(); ++i) {
    const size_t dim = size_t(wrapped(source[i], rank));
    to[size_t(wrapped(target[i], rank))] = from.shape[dim];
    taken[dim] = true;
  }
  size_t next = 0;
  for (int64_t& extent : to) {
    if (extent != -1) continue;
    while (taken[next]) ++next;
    extent = from.shape[next++];
  }
  return {{from.dtype, std::move(to)}};
}

Types flattened(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  if (from.shape.empty()) return {{from.dtype, {1}}};
  const size_t rank = from.shape.size();
  const size_t first = size_t(wrapped(call.integer("start_dim", 0), rank)),
               last = size_t(wrapped(call.integer("end_dim", -1), rank));
  expect(first <= last, "flatten begins behind its end");
  Shape to(from.shape.begin(), from.shape.begin() + int64_t(first));
  int64_t joined = 1;
  for (size_t i = first; i <= last; ++i) joined *= from.shape[i];
  to.push_back(joined);
  to.insert(to.end(), from.shape.begin() + int64_t(last) + 1, from.shape.end());
  return {{from.dtype, std::move(to)}};
}

Types unflattened(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  const size_t dim = size_t(wrapped(call.integer("dim"), from.shape.size()));
  const Shape parts = reshaped_to({from.dtype, {from.shape[dim]}}, call.integers("sizes"))[0].shape;
  Shape to(from.shape.begin(), from.shape.begin() + int64_t(dim));
  to.insert(to.end(), parts.begin(), parts.end());
  to.insert(to.end(), from.shape.begin() + int64_t(dim) + 1, from.shape.end());
  return {{from.dtype, std::move(to)}};
}

Types squeezed(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  const bool all = !call.has("dim");
  const std::vector<int64_t> dims = call.integers("dim");
  if (!all && dims.empty()) return {from};
  const std::vector<bool> chosen = chosen_dims(dims, from.shape.size());
  Shape to;
  for (size_t i = 0; i < from.shape.size(); ++i)
    if (!chosen[i] || from.shape[i] != 1) to.push_back(from.shape[i]);
  return {{from.dtype, std::move(to)}};
}

Types unsqueezed(const TypeCall& call) {
  TensorType type = call.tensor("self");
  type.shape.insert(type.shape.begin() + wrapped(call.integer("dim"), type.shape.size() + 1), 1);
  return {type};
}

Types selected(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const int64_t dim = wrapped(call.integer("dim"), type.shape.size());
  expect(!type.shape.empty(), "a single number has no dimension to select from");
  type.shape.erase(type.shape.begin() + dim);
  return {type};
}

Types sliced(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const size_t dim = size_t(wrapped(call.integer("dim", 0), type.shape.size()));
  expect(!type.shape.empty(), "a single number can not be sliced");
  const int64_t extent = type.shape[dim], step = call.integer("step", 1);
  expect(step > 0, "the step of a slice is positive");
  const auto place = [&](const char* name, int64_t fallback) {
    const int64_t at = call.integer(name, fallback);
    return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent);
  };
  const int64_t start = place("start", 0), end = std::max(start, place("end", extent));
  type.shape[dim] = (end - start + step - 1) / step;
  return {type};
}

Types narrowed(const TypeCall& call) {
  TensorType type = call.tensor("self");
  type.shape[size_t(wrapped(call.integer("dim"), type.shape.size()))] = call.integer("length");
  return {type};
}

Types diagonal(const TypeCall& call) {
  const TensorType& from = call.first();
  const bool last = call.op().name == "linalg_diagonal";
  const size_t rank = from.shape.size();
  const size_t a = size_t(wrapped(call.integer("dim1", last ? -2 : 0), rank)),
               b = size_t(wrapped(call.integer("dim2", last ? -1 : 1), rank));
  const int64_t offset = call.integer("offset", 0);
  Shape to;
  for (size_t i = 0; i < rank; ++i)
    if (i != a && i != b) to.push_back(from.shape[i]);
  const int64_t rows = from.shape[a] + std::min<int64_t>(offset, 0),
                columns = from.shape[b] - std::max<int64_t>(offset, 0);
  to.push_back(std::max<int64_t>(std::min(rows, columns), 0));
  return {{from.dtype, std::move(to)}};
}

Types unfolded(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const int64_t size = call.integer("size"), step = call.integer("step");
  expect(step > 0, "the step of unfold is positive");
  if (type.shape.empty()) return {{type.dtype, {size}}};
  int64_t& extent = type.shape[size_t(wrapped(call.integer("dimension"), type.shape.size()))];
  expect(size <= extent, "the window of unfold is larger than the dimension");
  extent = (extent - size) / step + 1;
  type.shape.push_back(size);
  return {type};
}

Types as_strided(const TypeCall& call) { return {{call.tensor("self").dtype, call.integers("size")}}; }

Types at_least(const TypeCall& call) {
  Types types = call.tensors("tensors");
  if (types.empty()) types.push_back(call.tensor("self"));
  const size_t wanted = size_t(call.op().name[call.op().name.find('_', 3) + 1] - '0');
  for (TensorType& type : types) {
    Shape& shape = type.shape;
    if (wanted == 3 && shape.size() == 2) shape.push_back(1);
    if (wanted == 3 && shape.size() == 1) shape = {1, shape[0], 1};
    while (shape.size() < wanted) shape.insert(shape.begin(), 1);
  }
  return types;
}

Types broadcast_all(const TypeCall& call) {
  Types types = call.tensors("tensors");
  Shape shape;
  for (const TensorType& type : types) shape = joined_shape(shape, type.shape);
  for (TensorType& type : types) type.shape = shape;
  return types;
}

// ---- several parts ----

Types parts_along(const TensorType& from, size_t dim, const std::vector<int64_t>& extents) {
  Types types;
  for (const int64_t extent : extents) {
    types.push_back(from);
    types.back().shape[dim] = extent;
  }
  return types;
}

std::vector<int64_t> pieces(int64_t extent, int64_t size) {
  std::vector<int64_t> list;
  for (int64_t left = extent; left > 0; left -= size) list.push_back(std::min(left, size));
  if (list.empty()) list.push_back(0);
  return list;
}

// Parts that differ by one at most, the larger first.
std::vector<int64_t> sections_of(int64_t extent, int64_t count) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(extent / count + (i < extent % count ? 1 : 0));
  return list;
}

std::vector<int64_t> between(int64_t extent, const std::vector<int64_t>& places) {
  std::vector<int64_t> list;
  int64_t start = 0;
  const auto part = [&](int64_t end) {
    list.push_back(std::max<int64_t>(end - start, 0));
    start = end;
  };
  for (const int64_t place : places) part(std::clamp<int64_t>(place < 0 ? place + extent : place, 0, extent));
  part(extent);
  return list;
}

Types parts(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  const std::string_view name = call.op().name;
  expect(!from.shape.empty(), "a single number has no parts");
  const bool first = name == "vsplit" || (name == "hsplit" && from.shape.size() == 1);
  const size_t dim = name == "dsplit" ? 2
                     : name == "hsplit" || name == "vsplit"
                         ? size_t(!first)
                         : size_t(wrapped(call.integer("dim", 0), from.shape.size()));
  expect(dim < from.shape.size(), "there are too few dimensions to split");
  const int64_t extent = from.shape[dim];
  if (name == "unbind") {
    TensorType one = from;
    one.shape.erase(one.shape.begin() + int64_t(dim));
    return Types(size_t(extent), one);
  }
  if (name == "chunk") {
    const int64_t chunks = call.integer("chunks");
    expect(chunks > 0, "there is at least one chunk");
    return parts_along(from, dim, pieces(extent, std::max<int64_t>((extent + chunks - 1) / chunks, 1)));
  }
  if (call.has("split_sizes")) return parts_along(from, dim, call.integers("split_sizes"));
  if (call.has("split_size")) {
    const std::vector<int64_t> sizes = call.integers("split_size");
    const bool one = std::holds_alternative<int64_t>(*call.argument("split_size"));
    return parts_along(from, dim, one ? pieces(extent, std::max<int64_t>(sizes[0], 1)) : sizes);
  }
  if (call.has("indices")) return parts_along(from, dim, between(extent, call.integers("indices")));
  const int64_t count = call.integer("sections");
  expect(count > 0, "there is at least one section");
  return parts_along(from, dim, sections_of(extent, count));
}

Types meshgrid(const TypeCall& call) {
  const Types axes = call.tensors("tensors");
  Shape shape;
  for (const TensorType& axis : axes) shape.push_back(element_count_of(axis.shape));
  if (call.text("indexing", "ij") == "xy" && shape.size() >= 2) std::swap(shape[0], shape[1]);
  Types types;
  for (const TensorType& axis : axes) types.push_back({axis.dtype, shape});
  return types;
}

}  // namespace

void add_view_rules(TypeRules& rules) {
  rules.insert({{"reshaped", reshaped},
                {"viewed_dtype", viewed_dtype},
                {"converted", converted},
                {"expanded", expanded},
                {"permuted", permuted},
                {"transposed", transposed},
                {"last_swapped", last_swapped},
                {"reversed", reversed},
                {"moved", moved},
                {"flattened", flattened},
                {"unflattened", unflattened},
                {"squeezed", squeezed},
                {"unsqueezed", unsqueezed},
                {"selected", selected},
                {"sliced", sliced},
                {"narrowed", narrowed},
                {"diagonal", diagonal},
                {"unfolded", unfolded},
                {"as_strided", as_strided},
                {"at_least", at_least},
                {"broadcast_all", broadcast_all},
                {"parts", parts},
                {"meshgrid", meshgrid}});
}

}  // namespace lightline::graph
