// Common divisors of integers, and the parts of floating numbers.
#include "ops/library/elementwise/elementwise.h"

namespace lightline::ops {
namespace {

// As many divisions as neighbours in Fibonacci's sequence take.
int64_t most_divisions(DType dtype) { return bits(dtype) * 3 / 2; }

// Euclid's algorithm, every element as long as the longest takes.
SymbolicTensor common_divisor(OpCall& c, const Operand& a, const Operand& b, DType type) {
  Lowering& l = c.lowering();
  const SymbolicTensor first = c.elementwise({a, b}, type, type, [](const std::vector<Scalar>& v) { return v[0]; }),
                       second = c.elementwise({a, b}, type, type, [](const std::vector<Scalar>& v) { return v[1]; });
  const auto found =
      l.repeat(most_divisions(type), {first, second}, [&](const Subscript&, const std::vector<SymbolicTensor>& pair) {
        const auto at = [&](size_t k, const Indices& i) { return l.read(pair[k], i); };
        const SymbolicTensor divisor =
            l.map(type, first.shape, [&](const Indices& i) { return select(at(1, i) == 0.0, at(0, i), at(1, i)); });
        const SymbolicTensor rest = l.map(type, first.shape, [&](const Indices& i) {
          return select(at(1, i) == 0.0, at(1, i), call(Function::mod, at(0, i), at(1, i)));
        });
        return RepeatYield{{divisor, rest}, {}};
      });
  return l.map(type, first.shape, [&](const Indices& i) { return call(Function::abs, l.read(found[0], i)); });
}

void define_gcd(OpCall& c) {
  const Operand a = c.operand("self"), b = c.operand("other");
  const DType type = result_type({a, b});
  require(is_integer(type), "only integers have a common divisor");
  c.add_result(common_divisor(c, a, b, type));
}

void define_lcm(OpCall& c) {
  const Operand a = c.operand("self"), b = c.operand("other");
  const DType type = result_type({a, b});
  require(is_integer(type), "only integers have a common multiple");
  const SymbolicTensor divisor = common_divisor(c, a, b, type);
  c.add_result(c.elementwise({a, b, {divisor, {}}}, type, type, [](const std::vector<Scalar>& v) {
    return call(Function::abs, call(Function::div, v[0], v[2]) * v[1]);
  }));
}

// How the bits of a compute type are laid out.
struct Layout754 {
  int mantissa;  // bits
  int64_t bias, exponents;
};
Layout754 layout_of(DType type) { return type == DType::f64 ? Layout754{52, 1022, 0x7ff} : Layout754{23, 126, 0xff}; }

// x = mantissa * 2^exponent with 1/2 <= |mantissa| < 1. Denormal numbers are scaled up first.
struct Parts {
  Scalar mantissa, exponent;
};
Parts parts_of(const Scalar& x) {
  const Layout754 layout = layout_of(x.type);
  const double scale = 18446744073709551616.0;  // 2^64
  const bool wide = x.type == DType::f64;
  const Scalar least = number(x, wide ? 2.2250738585072014e-308 : 1.1754943508222875e-38);
  const Scalar tiny = call(Function::abs, x) < least;
  const Scalar pattern = call(Function::bits, select(tiny, x * scale, x));
  const auto integer = [&](int64_t value) { return number(pattern, value); };
  const Scalar biased =
      call(Function::bitand_, call(Function::ushr, pattern, integer(layout.mantissa)), integer(layout.exponents));
  const Scalar fraction =
      call(Function::bitor_, call(Function::bitand_, pattern, integer(~(layout.exponents << layout.mantissa))),
           integer(layout.bias << layout.mantissa));
  const Scalar plain = x == 0.0 || !call(Function::isfinite, x);
  const Scalar exponent = biased - integer(layout.bias) - select(tiny, integer(64), integer(0));
  return {select(plain, x, call(Function::from_bits, fraction)), select(plain, integer(0), exponent)};
}

void define_frexp(OpCall& c) {
  const Operand x = c.operand("self");
  const DType type = result_type({x});
  require(is_float(type), "frexp takes floats");
  c.add_result(c.elementwise({x}, type, type, [](const std::vector<Scalar>& v) { return parts_of(v[0]).mantissa; }));
  c.add_result(c.elementwise({x}, type, DType::i32, [](const std::vector<Scalar>& v) {
    return convert(parts_of(v[0]).exponent, DType::i32);
  }));
}

}  // namespace

void register_number_parts(Registry& r) {
  r.add("gcd", "self, other", define_gcd);
  r.add("lcm", "self, other", define_lcm);
  r.add("frexp", "self", define_frexp);
}

}  // namespace lightline::ops
