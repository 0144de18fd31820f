// Where PyTorch would place a tensor's elements in memory. Loops do not care; whether reshape() is a view or a copy does.
// Strides count elements, one per dimension; an empty list is row-major order.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor.h"

namespace lightline::graph {

struct Layout {
  Shape shape;
  Shape strides;  // empty: row-major
};

Shape row_major_strides(const Shape& shape);
// The same layout with an empty list where it is row-major.
Shape simplified_strides(const Shape& shape, Shape strides);
// No two elements in one place, and no gaps.
bool is_dense(const Layout& layout);
// The strides of the row-major reshape as a view; none if only a copy has that shape.
std::optional<Shape> reshaped_strides(const Layout& from, const Shape& to);
// Of a fresh result of an elementwise operator: the order in memory that its operands have.
Shape elementwise_strides(const Shape& shape, const std::vector<Layout>& operands);
// Row-major over the dimensions that follow the channels, which come last in memory.
Shape channels_last_strides(const Shape& shape);

}  // namespace lightline::graph
