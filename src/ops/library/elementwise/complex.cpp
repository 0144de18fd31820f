// Complex numbers and their parts.
#include "ops/library/elementwise/elementwise.h"

namespace lightline::ops {
namespace {

SymbolicTensor part(Lowering& l, const SymbolicTensor& x, Function function) {
  return l.map(DType::f32, x.shape, [&](const Indices& i) { return l.call(function, l.read(x, i)); });
}

void define_real(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  c.add_result(x.dtype == DType::c64 ? part(c.lowering(), x, Function::real) : x);
}

void define_imag(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  require(x.dtype == DType::c64, "only complex tensors have an imaginary part");
  c.add_result(part(c.lowering(), x, Function::imag));
}

void define_view_as_real(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.dtype == DType::c64, "view_as_real takes a complex tensor");
  Shape shape = x.shape;
  shape.push_back(2);
  c.add_result(l.map(DType::f32, shape, [&](const Indices& i) {
    const Scalar value = l.read(x, Indices(i.begin(), i.end() - 1));
    return select(l.value(i.back()) == 0.0, l.call(Function::real, value), l.call(Function::imag, value));
  }));
}

void define_view_as_complex(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() > 0 && x.shape.back() == 2 && x.dtype == DType::f32,
          "view_as_complex takes an f32 tensor whose last dimension is 2");
  const SymbolicTensor re = l.select(x, -1, 0), im = l.select(x, -1, 1);
  c.add_result(l.map(DType::c64, re.shape,
                     [&](const Indices& i) { return l.call(Function::complex_, l.read(re, i), l.read(im, i)); }));
}

void define_conj(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  if (x.dtype != DType::c64) return c.add_result(x);
  unary(c, Promotion::same, [](Scalar v) { return call(Function::conj, v); });
}

void define_angle(OpCall& c) {
  const Operand x = c.operand("self");
  const DType type = floating_type(result_type({x}));
  c.add_result(c.elementwise({x}, type, type == DType::c64 ? DType::f32 : type, [](const std::vector<Scalar>& v) {
    if (v[0].type == DType::c64) return call(Function::atan2, call(Function::imag, v[0]), call(Function::real, v[0]));
    return select(call(Function::isnan, v[0]), v[0],
                  select(v[0] < 0.0, number(v[0], 3.14159265358979323846), number(v[0], 0.0)));
  }));
}

void make_complex(OpCall& c, std::string_view first, std::string_view second,
                  const std::function<Scalar(Scalar, Scalar)>& body) {
  const Operand a = c.operand(first), b = c.operand(second);
  require(result_type({a, b}) == DType::f32, "complex tensors are made of f32 parts");
  c.add_result(
      c.elementwise({a, b}, DType::f32, DType::c64, [&](const std::vector<Scalar>& v) { return body(v[0], v[1]); }));
}

}  // namespace

void register_complex(Registry& r) {
  r.add("real", "self", define_real);
  r.add("imag", "self", define_imag);
  r.add("view_as_real", "self", define_view_as_real, {"view_as_real_copy", "_view_as_real_physical"});
  r.add("view_as_complex", "self", define_view_as_complex, {"view_as_complex_copy"});
  r.add("conj", "self", define_conj, {"_conj", "conj_physical", "_conj_physical"});
  r.add("angle", "self", define_angle);
  r.add("complex", "real, imag", [](OpCall& c) {
    make_complex(c, "real", "imag", [](Scalar re, Scalar im) { return call(Function::complex_, re, im); });
  });
  r.add("polar", "abs, angle", [](OpCall& c) {
    make_complex(c, "abs", "angle", [](Scalar size, Scalar angle) {
      return call(Function::complex_, size * call(Function::cos, angle), size * call(Function::sin, angle));
    });
  });
}

}  // namespace lightline::ops
