// Changes of dtype, and copies.
#include <cctype>

#include "ops/build/registry.h"

namespace lightline::ops {
namespace {

// Complex numbers keep their real part.
SymbolicTensor converted(Lowering& l, const SymbolicTensor& x, DType dtype) {
  if (x.dtype != DType::c64 || dtype == DType::c64 || dtype == DType::boolean) return l.cast(x, dtype);
  return l.map(dtype, x.shape, [&](const Indices& i) { return l.call(Function::real, l.read(x, i)); });
}

// A copy with the elements in the same order in memory, if no other is asked for.
SymbolicTensor cloned(OpCall& c, const SymbolicTensor& x) {
  const auto asked = c.memory_format(x.shape);
  return c.lowering().laid_out(c.lowering().copy(x), asked ? *asked : elementwise_strides(x.shape, {x.layout()}));
}

void define_to(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  DType dtype = c.dtype("dtype", x.dtype);
  if (const auto other = c.tensor_if("other")) dtype = other->dtype;
  if (dtype == x.dtype && c.flag("copy", false)) return c.add_result(cloned(c, x));
  const SymbolicTensor result = converted(c.lowering(), x, dtype);
  const auto asked = c.memory_format(x.shape);
  c.add_result(!asked || result.strides == *asked ? result : c.lowering().snapshot(result, *asked));
}

void define_to_copy(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const DType dtype = c.dtype("dtype", x.dtype);
  c.add_result(dtype == x.dtype ? cloned(c, x) : converted(c.lowering(), x, dtype));
}

Definition to(DType dtype) {
  return [dtype](OpCall& c) { c.add_result(converted(c.lowering(), c.tensor("self"), dtype)); };
}

// src, broadcast and converted to what it replaces.
void define_copy(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const SymbolicTensor source = c.tensor("src");
  c.add_result(converted(l, source.shape == x.shape ? source : l.expand(source, x.shape), x.dtype));
}

void define_bitcast(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const DType dtype = c.dtype("dtype", x.dtype);
  if (dtype == x.dtype) return c.add_result(x);
  Shape shape = x.shape;
  const int from = bits(x.dtype), to_bits = bits(dtype);
  if (from != to_bits) {
    require(!shape.empty() && shape.back() * from % to_bits == 0,
            "the last dimension does not fit the new element size");
    shape.back() = shape.back() * from / to_bits;
  }
  c.add_result(c.lowering().opaque("bitcast", {x}, {}, {{dtype, shape}})[0]);
}

}  // namespace

void register_conversion(Registry& r) {
  r.add("to", "self, dtype", define_to, {"type_as"});
  r.add("_to_copy", "self, dtype", define_to_copy, {"convert_element_type"});
  const std::pair<const char*, DType> methods[] = {
      {"float", DType::f32}, {"double", DType::f64},   {"half", DType::f16},  {"bfloat16", DType::bf16},
      {"long", DType::i64},  {"int", DType::i32},      {"short", DType::i16}, {"char", DType::i8},
      {"byte", DType::u8},   {"bool", DType::boolean}, {"cfloat", DType::c64}};
  for (const auto& [name, dtype] : methods) {
    std::string cast = std::string("_cast_") + name;
    cast[6] = char(std::toupper(cast[6]));
    r.add(name, "self", to(dtype), {cast});
  }
  r.add("clone", "self, memory_format", [](OpCall& c) { c.add_result(cloned(c, c.tensor("self"))); },
        {"lift_fresh_copy", "alias_copy", "detach_copy"});
  r.add("copy", "self, src, non_blocking", define_copy);
  r.add("view.dtype", "self, dtype", define_bitcast, {"view_copy.dtype", "view_dtype"});
}

}  // namespace lightline::ops
