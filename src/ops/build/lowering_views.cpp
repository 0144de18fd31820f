// Views of tensors: index arithmetic only.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "ops/build/lowering.h"

namespace lightline::ops {

using loops::none;

namespace {
constexpr int max_view_depth = 24;

// Subscripts of `from` for the row-major element that `coordinates` address in `to`. Dimensions are matched in
// groups of equal size, so that untouched dimensions stay untouched.
std::vector<Sum> reshaped(IndexAlgebra& algebra, const Shape& from, const Shape& to,
                          const std::vector<Sum>& coordinates) {
  std::vector<Sum> result(from.size());
  size_t a = 0, b = 0;
  while (a < from.size() || b < to.size()) {
    size_t a_end = a, b_end = b;
    int64_t a_size = 1, b_size = 1;
    if (a_end < from.size()) a_size *= from[a_end++];
    if (b_end < to.size()) b_size *= to[b_end++];
    while (a_size != b_size && (a_end < from.size() || b_end < to.size())) {
      if (a_size < b_size && a_end < from.size()) {
        a_size *= from[a_end++];
      } else if (b_end < to.size()) {
        b_size *= to[b_end++];
      } else {
        a_size *= from[a_end++];
      }
    }
    Sum flat;
    for (size_t i = b; i < b_end; ++i) flat = algebra.add(algebra.scale(flat, to[i]), coordinates[i]);
    int64_t stride = 1;
    for (size_t i = a_end; i-- > a;) {
      if (from[i] == 0 || stride == 0) break;  // no elements, nothing is ever read
      const Sum shifted = algebra.div(flat, stride);
      result[i] = i == a ? shifted : algebra.mod(shifted, from[i]);
      stride *= from[i];
    }
    a = a_end;
    b = b_end;
  }
  return result;
}

}  // namespace

std::vector<Sum> Lowering::through_view(uint32_t view_id, std::vector<Sum> coordinates, uint32_t root) {
  while (view_id != root) {
    const View& view = views_[view_id];
    if (view.rows.empty() && !(view.from.empty() && view.to.empty())) {
      coordinates = view.from.empty() ? std::vector<Sum>{} : reshaped(algebra_, view.from, view.to, coordinates);
    } else {
      std::vector<Sum> next;
      next.reserve(view.rows.size());
      for (const AffineRow& row : view.rows) {
        Sum sum = IndexAlgebra::constant(row.constant);
        for (const auto& [coordinate, coefficient] : row.terms)
          sum = algebra_.add_scaled(sum, coordinates[size_t(coordinate)], coefficient);
        next.push_back(std::move(sum));
      }
      coordinates = std::move(next);
    }
    view_id = view.parent;
  }
  return coordinates;
}

std::vector<Sum> Lowering::stored_coordinates(const SymbolicTensor& tensor, const Indices& index) {
  std::vector<Sum> coordinates;
  for (const Subscript& ix : index) coordinates.push_back(ix.sum);
  return through_view(tensor.view, std::move(coordinates), storages_[tensor.storage].root);
}

SymbolicTensor Lowering::add_view(const SymbolicTensor& base, Shape shape, std::vector<AffineRow> rows) {
  SymbolicTensor from = base;
  if (base.view != none && views_[base.view].depth >= max_view_depth) {
    // A very long chain gets a name, so that later reads need not walk all of it.
    storages_.push_back({array_of(base)});
    from = {uint32_t(storages_.size() - 1), none, base.dtype, base.shape, {}};
  }
  const int depth = from.view == none ? 1 : views_[from.view].depth + 1;
  views_.push_back({from.view, from.shape, shape, std::move(rows), depth});
  return {from.storage, uint32_t(views_.size() - 1), from.dtype, std::move(shape), {}};
}

namespace {

Shape viewed_strides(const SymbolicTensor& base, const Shape& shape, const std::vector<AffineRow>& rows) {
  const Shape from = base.strides.empty() ? row_major_strides(base.shape) : base.strides;
  Shape strides(shape.size(), 0);
  for (size_t i = 0; i < rows.size(); ++i)
    for (const auto& [coordinate, coefficient] : rows[i].terms) strides[size_t(coordinate)] += coefficient * from[i];
  return simplified_strides(shape, std::move(strides));
}

}  // namespace

SymbolicTensor Lowering::view(const SymbolicTensor& base, Shape shape, std::vector<AffineRow> rows) {
  require(rows.size() == base.shape.size(), "a view has one row per dimension of its base");
  if (base.shape.empty()) {
    // Every coordinate shows the one element: a reshape from nothing.
    if (shape.empty()) return base;
    SymbolicTensor result = add_view(base, std::move(shape), {});
    result.strides = simplified_strides(result.shape, Shape(result.shape.size(), 0));
    return result;
  }
  Shape strides = viewed_strides(base, shape, rows);
  SymbolicTensor result = add_view(base, std::move(shape), std::move(rows));
  result.strides = std::move(strides);
  return result;
}

SymbolicTensor Lowering::reshape(const SymbolicTensor& base, Shape shape) {
  if (base.shape == shape) return base;
  require(product(shape) == base.size(),
          fmt::format("a tensor of shape {} can not be reshaped to {}", to_string(base.shape), to_string(shape)));
  std::optional<Shape> strides = reshaped_strides(base.layout(), shape);
  SymbolicTensor result = add_view(strides ? base : snapshot(base), std::move(shape), {});
  if (strides) result.strides = *std::move(strides);
  return result;
}

SymbolicTensor Lowering::permute(const SymbolicTensor& base, const std::vector<int64_t>& order) {
  require(int64_t(order.size()) == base.rank(), "a permutation names every dimension once");
  Shape shape;
  std::vector<AffineRow> rows(order.size());
  std::vector<bool> seen(order.size(), false);
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t from = wrap_dim(order[i], base.rank());
    require(!seen[size_t(from)], "a permutation names every dimension once");
    seen[size_t(from)] = true;
    shape.push_back(base.shape[size_t(from)]);
    rows[size_t(from)] = {0, {{int(i), 1}}};
  }
  return view(base, std::move(shape), std::move(rows));
}

SymbolicTensor Lowering::transpose(const SymbolicTensor& base, int64_t a, int64_t b) {
  if (base.shape.empty()) return base;
  std::vector<int64_t> order(base.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[size_t(wrap_dim(a, base.rank()))], order[size_t(wrap_dim(b, base.rank()))]);
  return permute(base, order);
}

SymbolicTensor Lowering::slice(const SymbolicTensor& base, int64_t dim, int64_t start, int64_t length, int64_t step) {
  dim = wrap_dim(dim, base.rank());
  Shape shape = base.shape;
  shape[size_t(dim)] = length;
  std::vector<AffineRow> rows;
  for (int i = 0; i < int(base.rank()); ++i)
    rows.push_back(i == dim ? AffineRow{start, {{i, step}}} : AffineRow{0, {{i, 1}}});
  if (start == 0 && step == 1 && length == base.shape[size_t(dim)]) return base;
  return view(base, std::move(shape), std::move(rows));
}

SymbolicTensor Lowering::select(const SymbolicTensor& base, int64_t dim, int64_t index) {
  dim = wrap_dim(dim, base.rank());
  const int64_t extent = base.shape[size_t(dim)];
  if (index < 0) index += extent;
  require(index >= 0 && index < extent,
          fmt::format("index {} is outside dimension {} of {}", index, dim, to_string(base.shape)));
  Shape shape;
  std::vector<AffineRow> rows;
  for (int64_t i = 0; i < base.rank(); ++i) {
    if (i == dim) {
      rows.push_back({index, {}});
    } else {
      rows.push_back({0, {{int(shape.size()), 1}}});
      shape.push_back(base.shape[size_t(i)]);
    }
  }
  return view(base, std::move(shape), std::move(rows));
}

SymbolicTensor Lowering::select(const SymbolicTensor& base, int64_t dim, const Subscript& step) {
  dim = wrap_dim(dim, base.rank());
  Indices start(base.shape.size(), constant_index(0));
  start[size_t(dim)] = step;
  Shape shape = base.shape;
  shape[size_t(dim)] = 1;
  return squeeze(window(base, start, std::move(shape)), dim);
}

SymbolicTensor Lowering::window(const SymbolicTensor& base, const Indices& start, Shape shape) {
  loops::Compute compute;
  compute.is_view = true;
  const IndexAlgebra::Scope scope(algebra_);
  Indices index = new_indices(shape, loops::IndexKind::parallel, compute.loops);
  for (size_t i = 0; i < index.size(); ++i) index[i] = index[i] + start[i];
  compute.body = read_stored(base, index).id;
  return define(std::move(compute), {base.dtype, std::move(shape)});
}

SymbolicTensor Lowering::expand(const SymbolicTensor& base, Shape shape) {
  if (base.shape == shape) return base;
  require(shape.size() >= base.shape.size(),
          fmt::format("{} can not be expanded to {}", to_string(base.shape), to_string(shape)));
  const size_t skip = shape.size() - base.shape.size();
  std::vector<AffineRow> rows;
  for (size_t i = 0; i < base.shape.size(); ++i) {
    const int64_t from = base.shape[i], to = shape[skip + i];
    require(from == to || from == 1,
            fmt::format("{} can not be expanded to {}", to_string(base.shape), to_string(shape)));
    rows.push_back(from == to ? AffineRow{0, {{int(skip + i), 1}}} : AffineRow{});
  }
  return view(base, std::move(shape), std::move(rows));
}

SymbolicTensor Lowering::unsqueeze(const SymbolicTensor& base, int64_t dim) {
  dim = wrap_dim(dim, base.rank() + 1);
  Shape shape = base.shape;
  shape.insert(shape.begin() + dim, 1);
  return reshape(base, std::move(shape));
}

SymbolicTensor Lowering::squeeze(const SymbolicTensor& base, int64_t dim) {
  if (base.shape.empty()) return base;
  dim = wrap_dim(dim, base.rank());
  if (base.shape[size_t(dim)] != 1) return base;
  Shape shape = base.shape;
  shape.erase(shape.begin() + dim);
  return reshape(base, std::move(shape));
}

SymbolicTensor Lowering::whole(const SymbolicTensor& tensor) const {
  const Storage& storage = storages_[tensor.storage];
  const loops::Array& array = program_.arrays[storage.array];
  return {tensor.storage, storage.root, array.dtype, array.shape, {}};
}

int64_t Lowering::storage_offset(const SymbolicTensor& tensor) {
  const Shape& shape = program_.arrays[storages_[tensor.storage].array].shape;
  const IndexAlgebra::Scope scope(algebra_);
  const std::vector<Sum> first = stored_coordinates(tensor, Indices(tensor.shape.size()));
  int64_t offset = 0;
  for (size_t i = 0; i < first.size(); ++i) offset = offset * shape[i] + first[i].constant;
  return offset;
}

// ---- memory as PyTorch lays it out ----

SymbolicTensor Lowering::snapshot(const SymbolicTensor& tensor, Shape strides) {
  const Storage from = storages_[tensor.storage];
  storages_.push_back({from.array, strides, tensor.view, from.root});
  return {uint32_t(storages_.size() - 1), tensor.view, tensor.dtype, tensor.shape, std::move(strides)};
}

SymbolicTensor Lowering::laid_out(SymbolicTensor tensor, Shape strides) {
  tensor.strides = simplified_strides(tensor.shape, std::move(strides));
  if (Storage& storage = storages_[tensor.storage]; storage.own == tensor.view) storage.strides = tensor.strides;
  return tensor;
}

bool Lowering::in_same_array(const SymbolicTensor& a, const SymbolicTensor& b) const {
  return storages_[a.storage].array == storages_[b.storage].array;
}

bool Lowering::same_elements(const SymbolicTensor& a, const SymbolicTensor& b) const {
  return in_same_array(a, b) && storages_[a.storage].root == storages_[b.storage].root && a.view == b.view;
}

SymbolicTensor Lowering::memory(const SymbolicTensor& tensor) {
  const Storage& storage = storages_[tensor.storage];
  const Shape& shape = storage.own == none ? program_.arrays[storage.array].shape : views_[storage.own].to;
  SymbolicTensor all{tensor.storage, storage.own, tensor.dtype, shape, storage.strides};
  if (!all.strides.empty() && is_dense(all.layout())) {
    std::vector<int64_t> order(all.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](int64_t dim) { return std::pair(all.strides[size_t(dim)], all.shape[size_t(dim)]); });
    all = permute(all, order);
  }
  all.strides.clear();
  return reshape(all, {all.size()});
}

int64_t Lowering::memory_offset(const SymbolicTensor& tensor) {
  const Storage& storage = storages_[tensor.storage];
  const Shape& shape = storage.own == none ? program_.arrays[storage.array].shape : views_[storage.own].to;
  const IndexAlgebra::Scope scope(algebra_);
  const std::vector<Sum> first = through_view(tensor.view, std::vector<Sum>(tensor.shape.size()), storage.own);
  const Shape strides =
      is_dense({shape, storage.strides}) && !storage.strides.empty() ? storage.strides : row_major_strides(shape);
  int64_t offset = 0;
  for (size_t i = 0; i < first.size(); ++i) offset += first[i].constant * strides[i];
  return offset;
}

void Lowering::own_array(uint32_t storage, DType dtype) {
  const uint32_t own = storages_[storage].own;
  if (own == storages_[storage].root) return;
  const SymbolicTensor fresh = copy({storage, own, dtype, views_[own].to, {}});
  storages_[storage].array = storages_[fresh.storage].array;
  storages_[storage].root = own;
}

SymbolicTensor Lowering::cast(const SymbolicTensor& tensor, DType dtype) {
  if (tensor.dtype == dtype) return tensor;
  const SymbolicTensor result = map(dtype, tensor.shape, [&](const Indices& i) { return read(tensor, i); });
  return laid_out(result, elementwise_strides(tensor.shape, {tensor.layout()}));
}

SymbolicTensor Lowering::copy(const SymbolicTensor& tensor) {
  return map(tensor.dtype, tensor.shape, [&](const Indices& i) { return read(tensor, i); });
}

}  // namespace lightline::ops
