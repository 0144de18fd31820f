// Comparisons, logic, bits, tests and choices.
#include <limits>

#include "ops/library/elementwise/elementwise.h"

namespace lightline::ops {
namespace {

// PyTorch compares in the promoted dtype, so a number beside a 16-bit tensor is rounded to 16 bits first.
Scalar comparable(Scalar value, const Operand& operand, DType type) {
  const bool narrow = compute_type(type) != type;
  return narrow && (!operand.tensor || operand.tensor->dtype != type) ? value.lowering->rounded(value, type) : value;
}

Definition comparison(Function function) {
  return [function](OpCall& c) {
    const std::vector<Operand> operands = {c.operand("self"), c.operand("other")};
    const DType type = result_type(operands);
    elementwise_of(c, operands, Promotion::test, [&](const std::vector<Scalar>& v) {
      return call(function, comparable(v[0], operands[0], type), comparable(v[1], operands[1], type));
    });
  };
}

// Each operand becomes bool by itself.
void logical(OpCall& c, Scalar (*body)(Scalar, Scalar)) {
  const std::vector<Operand> operands = {c.operand("self"), c.operand("other")};
  c.add_result(c.elementwise(operands, DType::boolean, DType::boolean,
                             [&](const std::vector<Scalar>& v) { return body(v[0], v[1]); }));
}

Definition bits(Function function) {
  return
      [function](OpCall& c) { binary(c, Promotion::same, [&](Scalar a, Scalar b) { return call(function, a, b); }); };
}

void define_bitwise_not(OpCall& c) {
  unary(c, Promotion::same, [](Scalar x) { return x.type == DType::boolean ? !x : call(Function::bitnot, x); });
}

// Tests of one value; integers and bool are always finite.
Definition test(Scalar (*of_float)(Scalar), bool of_integer) {
  return [=](OpCall& c) {
    unary(c, Promotion::test, [&](Scalar x) {
      if (is_integer(x.type) || x.type == DType::boolean) return x.lowering->literal(Literal::of_bool(of_integer));
      if (x.type != DType::c64) return of_float(x);
      const Scalar re = of_float(call(Function::real, x)), im = of_float(call(Function::imag, x));
      return of_integer ? re && im : re || im;
    });
  };
}

Scalar is_nan(Scalar x) { return call(Function::isnan, x); }
Scalar is_infinite(Scalar x) { return call(Function::isinf, x); }
Scalar is_finite(Scalar x) { return call(Function::isfinite, x); }
Scalar is_positive_infinity(Scalar x) { return is_infinite(x) && x > 0.0; }
Scalar is_negative_infinity(Scalar x) { return is_infinite(x) && x < 0.0; }

void define_signbit(OpCall& c) {
  unary(c, Promotion::test, [](Scalar x) {
    if (x.type == DType::boolean) return x.lowering->literal(Literal::of_bool(false));
    return is_integer(x.type) ? x < 0.0 : call(Function::signbit, x);
  });
}

void define_where(OpCall& c) {
  const Operand condition = c.operand("condition"), yes = c.operand("self"), no = c.operand("other");
  const DType type = result_type({yes, no});
  Shape shape = broadcast(condition.shape(), broadcast(yes.shape(), no.shape()));
  c.add_result(c.lowering().map(type, std::move(shape), [&](const Indices& i) {
    return select(c.read_as(condition, i, DType::boolean), c.read_as(yes, i, type), c.read_as(no, i, type));
  }));
}

void define_masked_fill(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const Operand mask = c.operand("mask"), value = c.operand("value");
  c.add_result(c.lowering().map(x.dtype, broadcast(x.shape, mask.shape()), [&](const Indices& i) {
    return select(c.read_as(mask, i, DType::boolean), c.read_as(value, i, x.dtype), c.lowering().read_broadcast(x, i));
  }));
}

double greatest_finite(DType dtype) {
  switch (dtype) {
    case DType::f64: return std::numeric_limits<double>::max();
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.fep127;
    case DType::f8e4m3: return 448;
    case DType::f8e5m2: return 57344;
    case DType::f4e2m1: return 6;
    default: return std::numeric_limits<float>::max();
  }
}

void define_nan_to_num(OpCall& c) {
  const DType type = result_type({c.operand("self")});
  const double greatest = greatest_finite(type);
  const double nan = c.number("nan", 0), high = c.number("posinf", greatest), low = c.number("neginf", -greatest);
  unary(c, Promotion::same, [&](Scalar x) {
    if (is_integer(x.type) || x.type == DType::boolean) return x;
    const auto part = [&](Scalar v) {
      return select(is_nan(v), nan, select(is_positive_infinity(v), high, select(is_negative_infinity(v), low, v)));
    };
    return x.type == DType::c64 ? call(Function::complex_, part(call(Function::real, x)), part(call(Function::imag, x)))
                                : part(x);
  });
}

void define_isclose(OpCall& c) {
  const double relative = c.number("rtol", 1e-5), absolute = c.number("atol", 1e-8);
  const bool equal_nan = c.flag("equal_nan", false);
  binary(c, Promotion::test, [&](Scalar a, Scalar b) {
    Scalar close = a == b;
    if (a.type == DType::boolean || (relative == 0 && absolute == 0)) return close;
    if (is_float(a.type) && equal_nan) close = close || (is_nan(a) && is_nan(b));
    const DType type = floating_type(a.type);
    const Scalar apart = call(Function::abs, convert(a, type) - convert(b, type));
    return close || (is_finite(apart) && apart <= call(Function::abs, relative * convert(b, type)) + absolute);
  });
}

void define_heaviside(OpCall& c) {
  binary(
      c, Promotion::same,
      [](Scalar x, Scalar values) {
        if (x.type == DType::boolean) return x || values;
        return select(x == 0.0, values, select(x > 0.0, number(values, 1.0), number(values, 0.0)));
      },
      "self", "values");
}

}  // namespace

void register_logic(Registry& r) {
  const auto both = [&](const char* name, const Definition& define, std::vector<std::string> aliases) {
    r.add(name, "self, other", define, std::move(aliases));
  };
  both("eq", comparison(Function::eq), {"__eq__"});
  both("ne", comparison(Function::ne), {"not_equal", "__ne__"});
  both("lt", comparison(Function::lt), {"less", "__lt__"});
  both("le", comparison(Function::le), {"less_equal", "__le__"});
  both("gt", comparison(Function::gt), {"greater", "__gt__"});
  both("ge", comparison(Function::ge), {"greater_equal", "__ge__"});
  both("logical_and", [](OpCall& c) { logical(c, [](Scalar a, Scalar b) { return a && b; }); }, {});
  both("logical_or", [](OpCall& c) { logical(c, [](Scalar a, Scalar b) { return a || b; }); }, {});
  both("logical_xor", [](OpCall& c) { logical(c, logical_xor); }, {});
  r.add("logical_not", "self", [](OpCall& c) {
    c.add_result(c.elementwise({c.operand("self")}, DType::boolean, DType::boolean,
                               [](const std::vector<Scalar>& v) { return !v[0]; }));
  });
  both("bitwise_and", bits(Function::bitand_), {"__and__", "__iand__", "__rand__"});
  both("bitwise_or", bits(Function::bitor_), {"__or__", "__ior__", "__ror__"});
  both("bitwise_xor", bits(Function::bitxor_), {"__xor__", "__ixor__", "__rxor__"});
  both("bitwise_left_shift", bits(Function::shl), {"__lshift__"});
  both("bitwise_right_shift", bits(Function::shr), {"__rshift__"});
  r.add("bitwise_not", "self", define_bitwise_not, {"__invert__"});
  r.add("isnan", "self", test(is_nan, false));
  r.add("isinf", "self", test(is_infinite, false));
  r.add("isposinf", "self", test(is_positive_infinity, false));
  r.add("isneginf", "self", test(is_negative_infinity, false));
  r.add("isfinite", "self", test(is_finite, true));
  r.add("isreal", "self", [](OpCall& c) {
    unary(c, Promotion::test, [](Scalar x) {
      return x.type == DType::c64 ? call(Function::imag, x) == 0.0 : x.lowering->literal(Literal::of_bool(true));
    });
  });
  r.add("signbit", "self", define_signbit);
  r.add("where", "condition, self, other", define_where);
  r.add("masked_fill", "self, mask, value", define_masked_fill);
  r.add("nan_to_num", "self, nan, posinf, neginf", define_nan_to_num);
  r.add("isclose", "self, other, rtol, atol, equal_nan", define_isclose);
  r.add("heaviside", "self, values", define_heaviside);
}

}  // namespace lightline::ops
