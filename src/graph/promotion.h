// Which dtype PyTorch computes in where tensors and numbers of several dtypes meet.
#pragma once

#include <optional>
#include <span>

#include "base/dtype.h"
#include "base/tensor.h"

namespace lightline::graph {

enum class Category : uint8_t { boolean, integer, floating, complex };
Category category(DType dtype);

// Integers and bool become f32.
DType floating_type(DType dtype);
// The narrowest that holds both.
DType wider(DType a, DType b);
// That of a plain number: i64, f32, ...
DType default_dtype(Category category);

// A tensor, or a number of which only the category counts.
struct TypedOperand {
  std::optional<TensorType> tensor;
  Category number = Category::floating;
};

// Tensors with dimensions decide, then scalar tensors, then plain numbers, each only if of a higher category.
DType promoted(std::span<const TypedOperand> operands);

}  // namespace lightline::graph
