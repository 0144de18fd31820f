#include "graph/promotion.h"

#include <algorithm>

namespace lightline::graph {

Category category(DType dtype) {
  if (dtype == DType::boolean) return Category::boolean;
  if (is_integer(dtype)) return Category::integer;
  return dtype == DType::c64 ? Category::complex : Category::floating;
}

DType floating_type(DType dtype) { return category(dtype) >= Category::floating ? dtype : DType::f32; }

DType default_dtype(Category category) {
  switch (category) {
    case Category::boolean: return DType::boolean;
    case Category::integer: return DType::i64;
    case Category::floating: return DType::f32;
    case Category::complex: return DType::c64;
  }
  return DType::f32;
}

DType wider(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (is_integer(a)) {
    // u8 with a signed type of the same width needs one wider
    if (bits(a) == bits(b)) return DType::i16;
    return bits(a) > bits(b) ? a : b;
  }
  if (bits(a) == bits(b) && bits(a) == 16) return DType::f32;  // f16 with bf16
  return bits(a) >= bits(b) ? a : b;
}

DType promoted(std::span<const TypedOperand> operands) {
  std::optional<DType> dimensioned, zero;
  std::optional<Category> number;
  for (const TypedOperand& operand : operands) {
    if (operand.tensor) {
      std::optional<DType>& slot = operand.tensor->shape.empty() ? zero : dimensioned;
      slot = slot ? wider(*slot, operand.tensor->dtype) : operand.tensor->dtype;
    } else {
      number = number ? std::max(*number, operand.number) : operand.number;
    }
  }
  std::optional<DType> result = dimensioned;
  if (zero && (!result || category(*zero) > category(*result)))
    result = result && category(*zero) == Category::complex ? DType::c64 : *zero;
  if (number && (!result || *number > category(*result))) result = default_dtype(*number);
  return result.value_or(DType::f32);
}

}  // namespace lightline::graph
