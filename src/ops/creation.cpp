// Creation: tensors that read nothing.
#include "ops/registry.h"

namespace lightline::ops {
namespace {

Tensor filled(OpCall& c, DType dtype, const Shape& shape, const Operand& value) {
  return c.lowering().map(dtype, shape, [&](const Indices& i) { return c.read_as(value, i, dtype); });
}

}  // namespace

void register_creation(Registry& r) {
  r.add("full", "size, fill_value, dtype", [](OpCall& c) {
    const Operand value = c.operand("fill_value");
    c.give(filled(c, c.dtype("dtype", result_type({value})), c.integers("size"), value));
  });
  r.add("zeros", "size, dtype", [](OpCall& c) { c.give(filled(c, c.dtype("dtype", DType::f32), c.integers("size"), {std::nullopt, int64_t(0)})); });
}

}  // namespace lightline::ops
