#include "graph/strides.h"

#include <algorithm>
#include <numeric>

namespace lightline::graph {
namespace {

Shape strides_in_order(const Shape& shape, const std::vector<size_t>& innermost_first) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (const size_t dim : innermost_first) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(shape[dim], 1);
  }
  return strides;
}

Shape full_strides(const Layout& layout) {
  return layout.strides.empty() ? row_major_strides(layout.shape) : layout.strides;
}

// Aligned at the right with a result of `shape`; 0 where the operand repeats.
Shape broadcast_strides(const Layout& operand, const Shape& shape) {
  const Shape own = full_strides(operand);
  Shape strides(shape.size(), 0);
  const size_t skip = shape.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i)
    if (operand.shape[i] == shape[skip + i]) strides[skip + i] = own[i];
  return strides;
}

// Above 0 if dimension `a` lies outside of `b` in memory, below if inside, 0 if the operands do not tell.
int compare_dimensions(const Shape& shape, const std::vector<Shape>& operands, size_t a, size_t b) {
  for (const Shape& strides : operands) {
    if (strides[a] == 0 || strides[b] == 0) continue;
    if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

}  // namespace

Shape row_major_strides(const Shape& shape) {
  std::vector<size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return strides_in_order(shape, order);
}

Shape simplified_strides(const Shape& shape, Shape strides) {
  if (strides.empty() || std::ranges::find(shape, 0) != shape.end()) return {};
  const Shape plain = row_major_strides(shape);
  for (size_t i = 0; i < strides.size(); ++i)
    if (shape[i] != 1 && strides[i] != plain[i]) return strides;
  return {};
}

bool is_dense(const Layout& layout) {
  if (layout.strides.empty()) return true;
  std::vector<size_t> order;
  for (size_t i = 0; i < layout.shape.size(); ++i)
    if (layout.shape[i] != 1) order.push_back(i);
  std::ranges::sort(order, {}, [&](size_t i) { return layout.strides[i]; });
  int64_t expected = 1;
  for (const size_t dim : order) {
    if (layout.strides[dim] != expected) return false;
    expected *= layout.shape[dim];
  }
  return true;
}

// As PyTorch's computeStride: dimensions that lie in memory as one are a chunk, and each chunk is cut anew.
std::optional<Shape> reshaped_strides(const Layout& from, const Shape& to) {
  if (from.strides.empty() || from.shape.empty()) return Shape{};
  if (std::ranges::find(from.shape, 0) != from.shape.end()) return Shape{};
  Shape strides(to.size());
  size_t next = to.size();
  int64_t base = from.strides.back(), old_count = 1, new_count = 1;
  for (size_t dim = from.shape.size(); dim-- > 0;) {
    old_count *= from.shape[dim];
    const bool joined = dim > 0 && (from.shape[dim - 1] == 1 || from.strides[dim - 1] == old_count * base);
    if (joined) continue;
    while (next > 0 && (new_count < old_count || to[next - 1] == 1)) {
      --next;
      strides[next] = new_count * base;
      new_count *= to[next];
    }
    if (new_count != old_count) return std::nullopt;
    if (dim > 0) base = from.strides[dim - 1];
    old_count = new_count = 1;
  }
  if (next > 0) return std::nullopt;
  return simplified_strides(to, std::move(strides));
}

// As PyTorch's TensorIterator: an insertion sort, because the comparison is not transitive.
Shape elementwise_strides(const Shape& shape, const std::vector<Layout>& operands) {
  if (std::ranges::all_of(operands, [](const Layout& operand) { return operand.strides.empty(); })) return {};
  if (shape.size() < 2) return {};
  std::vector<Shape> strides;
  strides.reserve(operands.size());
  for (const Layout& operand : operands) strides.push_back(broadcast_strides(operand, shape));
  std::vector<size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t i = 1; i < order.size(); ++i) {
    size_t place = i;
    for (size_t before = i; before-- > 0;) {
      const int comparison = compare_dimensions(shape, strides, order[before], order[place]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[before], order[place]);
      place = before;
    }
  }
  return simplified_strides(shape, strides_in_order(shape, order));
}

Shape channels_last_strides(const Shape& shape) {
  if (shape.size() < 3) return {};
  std::vector<size_t> order = {1};
  for (size_t dim = shape.size(); dim-- > 2;) order.push_back(dim);
  order.push_back(0);
  return simplified_strides(shape, strides_in_order(shape, order));
}

}  // namespace lightline::graph
