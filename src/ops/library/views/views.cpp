// Views: other ways to index the same storage. They cost nothing.
#include "ops/library/views/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/build/registry.h"

namespace lightline::ops {

Shape completed(Shape shape, int64_t count) {
  int64_t known = 1;
  const auto hole = std::find(shape.begin(), shape.end(), -1);
  for (const int64_t& extent : shape) {
    if (&extent == &*hole && hole != shape.end()) continue;
    require(extent >= 0, "a shape has more than one unknown size, or a negative one");
    if (__builtin_mul_overflow(known, extent, &known)) fail("the shape has too many elements", ErrorCode::limit);
  }
  if (hole == shape.end()) return shape;
  require(known != 0 && count % known == 0,
          fmt::format("{} elements do not fill the shape {}", count, to_string(shape)));
  *hole = count / known;
  return shape;
}

SliceBounds slice_bounds(OpCall& c, int64_t extent) {
  const auto bound = [&](std::string_view name, int64_t fallback) {
    int64_t at = c.integer(name, fallback);
    if (at < 0) at += extent;
    return std::clamp<int64_t>(at, 0, extent);
  };
  const int64_t step = c.integer("step", 1);
  require(step > 0, "a slice has a step below 1");
  const int64_t start = bound("start", 0), end = bound("end", extent);
  return {start, end > start ? (end - start - 1) / step + 1 : 0, step};
}

SymbolicTensor diagonal(Lowering& l, const SymbolicTensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  require(x.rank() >= 2, "a diagonal needs two dimensions");
  dim1 = wrap_dim(dim1, x.rank());
  dim2 = wrap_dim(dim2, x.rank());
  require(dim1 != dim2, "a diagonal needs two different dimensions");
  const int64_t rows = x.shape[size_t(dim1)], columns = x.shape[size_t(dim2)];
  require(offset > -(int64_t(1) << 56) && offset < (int64_t(1) << 56), "the diagonal's offset is absurd");
  const int64_t length =
      std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  Shape shape;
  std::vector<AffineRow> coordinates(x.shape.size());
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == dim1 || d == dim2) continue;
    coordinates[size_t(d)] = {0, {{int(shape.size()), 1}}};
    shape.push_back(x.shape[size_t(d)]);
  }
  coordinates[size_t(dim1)] = {std::max<int64_t>(0, -offset), {{int(shape.size()), 1}}};
  coordinates[size_t(dim2)] = {std::max<int64_t>(0, offset), {{int(shape.size()), 1}}};
  shape.push_back(length);
  return l.view(x, std::move(shape), std::move(coordinates));
}

SymbolicTensor flipped(Lowering& l, const SymbolicTensor& x, int64_t dim) {
  if (x.rank() == 0) return x;
  dim = wrap_dim(dim, x.rank());
  const int64_t extent = x.shape[size_t(dim)];
  return extent <= 1 ? x : l.slice(x, dim, extent - 1, extent, -1);
}

SymbolicTensor at_least(Lowering& l, const SymbolicTensor& x, int64_t rank) {
  if (x.rank() >= rank) return x;
  Shape shape = x.shape;
  if (shape.empty()) return l.reshape(x, Shape(size_t(rank), 1));
  if (rank >= 2 && shape.size() == 1) shape.insert(shape.begin(), 1);
  if (rank == 3 && shape.size() == 2) shape.push_back(1);
  return l.reshape(x, std::move(shape));
}

SymbolicTensor strided(OpCall& c, const SymbolicTensor& x) {
  Lowering& l = c.lowering();
  const Shape size = c.integers("size"), stride = c.integers("stride");
  require(size.size() == stride.size(), "as_strided needs one stride per size");
  const SymbolicTensor flat = l.memory(x);
  AffineRow row{c.has("storage_offset") ? c.integer("storage_offset") : l.memory_offset(x), {}};
  __int128 last = row.constant;
  bool empty = false;
  for (size_t i = 0; i < size.size(); ++i) {
    require(size[i] >= 0 && stride[i] >= 0, "as_strided has a negative size or stride");
    row.terms.emplace_back(int(i), stride[i]);
    empty |= size[i] == 0;
    last += __int128(size[i] - 1) * stride[i];
  }
  require(empty || (row.constant >= 0 && last < flat.shape[0]), "as_strided leaves its storage");
  SymbolicTensor result = l.view(flat, size, {row});
  result.strides = simplified_strides(size, stride);
  return result;
}

SymbolicTensor contiguous(OpCall& c, const SymbolicTensor& x) {
  Lowering& l = c.lowering();
  if (x.size() > l.whole(x).size()) return l.copy(x);  // repeats elements
  Shape strides = c.memory_format(x.shape).value_or(Shape{});
  if (const auto recorded = c.recorded_strides(0)) strides = simplified_strides(x.shape, *recorded);
  return strides == x.strides ? x : l.snapshot(x, std::move(strides));
}

namespace {

Shape reversed_order(int64_t rank) {
  Shape order(static_cast<size_t>(rank));
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

void define_expand(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  Shape shape = c.integers("size");
  require(shape.size() >= x.shape.size(), "expand has fewer dimensions than the tensor");
  const size_t skip = shape.size() - x.shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && i >= skip) shape[i] = x.shape[i - skip];
    require(shape[i] >= 0, "a size of expand is negative");
  }
  c.add_result(c.lowering().expand(x, std::move(shape)));
}

void define_squeeze(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  std::vector<bool> drop(x.shape.size(), !c.has("dim"));
  if (c.has("dim"))
    for (const int64_t dim : c.integers("dim"))
      if (x.rank() > 0) drop[size_t(wrap_dim(dim, x.rank()))] = true;
  Shape shape;
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (!drop[i] || x.shape[i] != 1) shape.push_back(x.shape[i]);
  c.add_result(c.lowering().reshape(x, std::move(shape)));
}

void define_flatten(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  if (x.rank() == 0) return c.add_result(c.lowering().reshape(x, {1}));
  const int64_t first = wrap_dim(c.integer("start_dim", 0), x.rank()),
                last = wrap_dim(c.integer("end_dim", -1), x.rank());
  require(first <= last, "flatten ends before it starts");
  Shape shape(x.shape.begin(), x.shape.begin() + first);
  shape.push_back(product(std::span(x.shape).subspan(size_t(first), size_t(last - first + 1))));
  shape.insert(shape.end(), x.shape.begin() + last + 1, x.shape.end());
  c.add_result(c.lowering().reshape(x, std::move(shape)));
}

void define_unflatten(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() > 0, "unflatten needs a dimension");
  const int64_t dim = wrap_dim(c.integer("dim"), x.rank());
  const Shape sizes = completed(c.integers("sizes"), x.shape[size_t(dim)]);
  Shape shape(x.shape.begin(), x.shape.begin() + dim);
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.insert(shape.end(), x.shape.begin() + dim + 1, x.shape.end());
  c.add_result(c.lowering().reshape(x, std::move(shape)));
}

void define_slice(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() > 0, "a scalar can not be sliced");
  const int64_t dim = wrap_dim(c.integer("dim", 0), x.rank());
  const SliceBounds bounds = slice_bounds(c, x.shape[size_t(dim)]);
  c.add_result(c.lowering().slice(x, dim, bounds.start, bounds.length, bounds.step));
}

// Where the position is only known at run time, the slice is a gather.
SymbolicTensor moving_slice(OpCall& c, const SymbolicTensor& x, int64_t dim, const SymbolicTensor& start,
                            int64_t length) {
  Lowering& l = c.lowering();
  Shape shape = x.shape;
  shape[size_t(dim)] = length;
  const int64_t extent = x.shape[size_t(dim)];
  return l.map(x.dtype, shape, [&](const Indices& i) {
    const Scalar at = convert(l.read_broadcast(l.reshape(start, {}), i), DType::i64);
    Indices from = i;
    from[size_t(dim)] = l.index(select(at < 0.0, at + double(extent), at), {0, extent}) + i[size_t(dim)];
    return l.read(x, from);
  });
}

void define_narrow(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() > 0, "a scalar can not be narrowed");
  const int64_t dim = wrap_dim(c.integer("dim"), x.rank()), extent = x.shape[size_t(dim)];
  const int64_t length = c.integer("length");
  if (const auto start = c.tensor_if("start")) return c.add_result(moving_slice(c, x, dim, *start, length));
  int64_t start = c.integer("start");
  if (start < 0) start += extent;
  require(start >= 0 && length >= 0 && start <= extent && length <= extent - start, "narrow leaves the tensor");
  c.add_result(c.lowering().slice(x, dim, start, length));
}

void define_select(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() > 0, "a scalar has nothing to select from");
  const int64_t dim = wrap_dim(c.integer("dim", 0), x.rank());
  if (const auto index = c.tensor_if("index")) {
    Shape shape = x.shape;
    shape.erase(shape.begin() + dim);
    return c.add_result(l.reshape(moving_slice(c, x, dim, *index, 1), std::move(shape)));
  }
  c.add_result(l.select(x, dim, c.integer("index")));
}

void define_unfold(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const int64_t size = c.integer("size"), step = c.integer("step");
  if (x.rank() == 0) return c.add_result(c.lowering().reshape(x, {1}));
  const int64_t dim = wrap_dim(c.integer("dimension"), x.rank()), extent = x.shape[size_t(dim)];
  require(size >= 0 && size <= extent && step > 0, "unfold has a window larger than the dimension, or a step below 1");
  Shape shape = x.shape;
  shape[size_t(dim)] = (extent - size) / step + 1;
  shape.push_back(size);
  std::vector<AffineRow> rows;
  for (int d = 0; d < int(x.rank()); ++d)
    rows.push_back(d == dim ? AffineRow{0, {{d, step}, {int(x.rank()), 1}}} : AffineRow{0, {{d, 1}}});
  c.add_result(c.lowering().view(x, std::move(shape), std::move(rows)));
}

void define_movedim(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const std::vector<int64_t> source = c.integers("source"), destination = c.integers("destination");
  require(source.size() == destination.size(), "movedim needs as many destinations as sources");
  std::vector<int64_t> order(x.shape.size(), -1);
  std::vector<bool> moved(x.shape.size(), false);
  for (size_t i = 0; i < source.size(); ++i) {
    const auto from = size_t(wrap_dim(source[i], x.rank())), to = size_t(wrap_dim(destination[i], x.rank()));
    if (x.rank() == 0) return c.add_result(x);
    require(!moved[from] && order[to] == -1, "movedim names a dimension twice");
    moved[from] = true;
    order[to] = int64_t(from);
  }
  int64_t next = 0;
  for (int64_t& from : order) {
    if (from != -1) continue;
    while (moved[size_t(next)]) ++next;
    from = next++;
  }
  c.add_result(c.lowering().permute(x, order));
}

void define_broadcast_tensors(OpCall& c) {
  const std::vector<SymbolicTensor> tensors = c.tensors("tensors");
  Shape shape;
  for (const SymbolicTensor& tensor : tensors) shape = broadcast(shape, tensor.shape);
  for (const SymbolicTensor& tensor : tensors) c.add_result(c.lowering().expand(tensor, shape));
}

void define_meshgrid(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> tensors = c.tensors("tensors");
  const bool swapped = c.text("indexing", "ij") == "xy" && tensors.size() >= 2;
  Shape shape;
  for (const SymbolicTensor& tensor : tensors) shape.push_back(tensor.size());
  if (swapped) std::swap(shape[0], shape[1]);
  for (size_t k = 0; k < tensors.size(); ++k) {
    const size_t place = swapped && k < 2 ? 1 - k : k;
    Shape own(tensors.size(), 1);
    own[place] = shape[place];
    c.add_result(l.expand(l.reshape(tensors[k], std::move(own)), shape));
  }
}

void register_reshapes(Registry& r) {
  const auto reshape = [](OpCall& c, const char* name) {
    const SymbolicTensor x = c.tensor("self");
    c.add_result(c.lowering().reshape(x, completed(c.integers(name), x.size())));
  };
  r.add("view", "self, size", [=](OpCall& c) { reshape(c, "size"); },
        {"_unsafe_view", "view_copy", "_reshape_alias", "_reshape_alias_copy", "_reshape_copy", "_view_copy"});
  r.add("reshape", "self, shape", [=](OpCall& c) { reshape(c, "shape"); });
  const auto like = [](OpCall& c) { c.add_result(c.lowering().reshape(c.tensor("self"), c.tensor("other").shape)); };
  r.add("view_as", "self, other", like, {"reshape_as"});
  r.add("flatten", "self, start_dim, end_dim", define_flatten);
  r.add("unflatten", "self, dim, sizes", define_unflatten);
  r.add("ravel", "self", [](OpCall& c) {
    const SymbolicTensor x = c.tensor("self");
    c.add_result(c.lowering().reshape(x.strides.empty() ? x : c.lowering().snapshot(x), {x.size()}));
  });
  r.add("squeeze", "self, dim", define_squeeze, {"squeeze_copy"});
  r.add("unsqueeze", "self, dim",
        [](OpCall& c) { c.add_result(c.lowering().unsqueeze(c.tensor("self"), c.integer("dim"))); },
        {"unsqueeze_copy"});
  for (int64_t rank = 1; rank <= 3; ++rank) {
    const auto one = [rank](OpCall& c) {
      if (c.tensor_if("self")) return c.add_result(at_least(c.lowering(), c.tensor("self"), rank));
      for (const SymbolicTensor& x : c.tensors("tensors")) c.add_result(at_least(c.lowering(), x, rank));
    };
    r.add(fmt::format("atleast_{}d", rank), "self", one);
  }
}

void register_permutations(Registry& r) {
  r.add("permute", "self, dims",
        [](OpCall& c) { c.add_result(c.lowering().permute(c.tensor("self"), c.integers("dims"))); }, {"permute_copy"});
  r.add("transpose", "self, dim0, dim1",
        [](OpCall& c) { c.add_result(c.lowering().transpose(c.tensor("self"), c.integer("dim0"), c.integer("dim1"))); },
        {"transpose_copy", "swapdims"});
  r.add("swapaxes", "self, axis0, axis1", [](OpCall& c) {
    c.add_result(c.lowering().transpose(c.tensor("self"), c.integer("axis0"), c.integer("axis1")));
  });
  r.add("t", "self",
        [](OpCall& c) {
          const SymbolicTensor x = c.tensor("self");
          require(x.rank() <= 2, "t() takes a matrix");
          c.add_result(x.rank() < 2 ? x : c.lowering().transpose(x, 0, 1));
        },
        {"t_copy"});
  r.add("numpy_T", "self", [](OpCall& c) {
    c.add_result(c.lowering().permute(c.tensor("self"), reversed_order(c.tensor("self").rank())));
  });
  r.add("mT", "self", [](OpCall& c) {
    require(c.tensor("self").rank() >= 2, "mT takes matrices");
    c.add_result(c.lowering().transpose(c.tensor("self"), -2, -1));
  });
  r.add("adjoint", "self",
        [](OpCall& c) {
          Lowering& l = c.lowering();
          require(c.tensor("self").rank() >= 2, "an adjoint is of a matrix");
          const SymbolicTensor turned = l.transpose(c.tensor("self"), -2, -1);
          c.add_result(turned.dtype != DType::c64 ? turned : l.map(turned.dtype, turned.shape, [&](const Indices& i) {
            return call(Function::conj, l.read(turned, i));
          }));
        },
        {"mH", "matrix_H"});
  r.add("movedim", "self, source, destination", define_movedim, {"moveaxis"});
}

}  // namespace

void register_views(Registry& r) {
  register_reshapes(r);
  register_permutations(r);
  r.add("expand", "self, size, implicit", define_expand, {"broadcast_to", "expand_copy"});
  r.add("expand_as", "self, other",
        [](OpCall& c) { c.add_result(c.lowering().expand(c.tensor("self"), c.tensor("other").shape)); });
  r.add("broadcast_tensors", "tensors", define_broadcast_tensors).returns_list = true;
  r.add("meshgrid", "tensors, indexing", define_meshgrid).returns_list = true;
  r.add("slice", "self, dim, start, end, step", define_slice, {"slice_copy"});
  r.add("select", "self, dim, index", define_select, {"select_copy"});
  r.add("narrow", "self, dim, start, length", define_narrow, {"narrow_copy"});
  r.add("diagonal", "self, offset, dim1, dim2",
        [](OpCall& c) {
          c.add_result(diagonal(c.lowering(), c.tensor("self"), c.integer("offset", 0), c.integer("dim1", 0),
                                c.integer("dim2", 1)));
        },
        {"diagonal_copy"});
  r.add("linalg_diagonal", "A, offset, dim1, dim2", [](OpCall& c) {
    c.add_result(
        diagonal(c.lowering(), c.tensor("A"), c.integer("offset", 0), c.integer("dim1", -2), c.integer("dim2", -1)));
  });
  r.add("unfold", "self, dimension, size, step", define_unfold, {"unfold_copy"});
  r.add("as_strided", "self, size, stride, storage_offset",
        [](OpCall& c) { c.add_result(strided(c, c.tensor("self"))); }, {"as_strided_copy"});
  r.add("contiguous", "self, memory_format", [](OpCall& c) { c.add_result(contiguous(c, c.tensor("self"))); });
  r.add("detach", "self", [](OpCall& c) { c.add_result(c.tensor("self")); },
        {"alias", "lift", "lift_fresh", "positive", "detach_", "view_of", "resolve_conj", "resolve_neg",
         "requires_grad_", "data"});
}

}  // namespace lightline::ops
