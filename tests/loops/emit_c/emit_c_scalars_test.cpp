#include <bit>
#include <cmath>
#include <limits>

#include "loops/emit_c/emit_c_testing.h"

namespace lightline::loops {
namespace {

using namespace emit_testing;

// Every function of every type it takes, on special and ordinary values.
TEST(EmitC, Functions) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> special = {0,   -0.0, 1,    -1, 0.5, -0.5, 1.5, -1.5, 2.5,  3,   -3,   7.25, -7.25, 0.1,  -0.1,
                                 0.9, -0.9, 1e-3, 20, -20, 40,   -40, 1e4,  -1e4, inf, -inf, nan,  1e-30, 100.5};
  std::vector<double> a, b, angles;
  for (const double x : special)
    for (const double y : special) a.push_back(x), b.push_back(y);
  std::vector<double> c, d;
  for (int x : {0, 1, -1, 2, -2, 3, 5, -5, 7, 8, 31, 63, 64, 100, -100, 127, -128})
    for (int y : {0, 1, -1, 2, -2, 3, 5, -5, 7, 8, 31, 63, 64, 100, -100, 127, -128}) c.push_back(x), d.push_back(y);
  std::vector<Case> cases;
  const auto add = [&](const std::string& type, Function function) {
    const FunctionInfo& f = info(function);
    const bool is_real = type[0] == 'f', is_complex = type == "c64", is_bool = type == "bool",
               is_whole = !is_real && !is_complex && !is_bool;
    const auto takes = [&] {
      switch (f.signature) {
        case Signature::numeric: return !is_bool;
        case Signature::fractional: return is_real || is_complex;
        case Signature::floating:
        case Signature::test: return is_real;
        case Signature::real:
        case Signature::power: return is_real || is_whole;
        case Signature::magnitude: return !is_bool;
        case Signature::integer: return is_whole;
        case Signature::bitwise: return is_whole || is_bool;
        case Signature::equality:
        case Signature::choice: return true;
        case Signature::ordering: return !is_complex;
        case Signature::logic: return is_bool;
        case Signature::make_complex: return type == "f32";
        case Signature::complex_part:
        case Signature::conjugate: return is_complex;
        case Signature::to_bits: return is_real;
        case Signature::from_bits: return type == "i32" || type == "i64";
      }
      return false;
    };
    if (!takes()) return;
    std::string result = type;
    if (f.signature == Signature::equality || f.signature == Signature::ordering || f.signature == Signature::logic ||
        f.signature == Signature::test)
      result = "bool";
    if (f.signature == Signature::make_complex) result = "c64";
    if (f.signature == Signature::complex_part || (is_complex && f.signature == Signature::magnitude)) result = "f32";
    if (f.signature == Signature::to_bits) result = type == "f64" ? "i64" : "i32";
    if (f.signature == Signature::from_bits) result = type == "i64" ? "f64" : "f32";
    const bool is_infix =
        !std::isalpha(f.text[0]) || f.text == "and" || f.text == "or" || f.text == "div" || f.text == "mod";
    std::string value = is_infix       ? fmt::format("x[i] {} y[i]", f.text)
                        : f.arity == 1 ? fmt::format("{}(x[i])", f.text)
                                       : fmt::format("{}(x[i], y[i])", f.text);
    if (function == Function::neg) value = "-x[i]";
    if (function == Function::logical_not) value = "not x[i]";
    if (function == Function::select) value = "if(x[i] == y[i], x[i], y[i])";
    Case each;
    each.name = fmt::format("{} of {}", f.text, type);
    const DType dtype = *dtype_from_name(type);
    if (is_real) {
      each.inputs.push_back(values(dtype, a)), each.inputs.push_back(values(dtype, b));
    } else if (is_whole) {
      each.inputs.push_back(values(dtype, c)), each.inputs.push_back(values(dtype, d));
    } else {
      each.inputs.push_back(random_tensor(dtype, {500}, testing_support::seed_of(1))),
          each.inputs.push_back(random_tensor(dtype, {500}, testing_support::seed_of(2)));
    }
    const int64_t n = each.inputs[0].size();
    each.text = program(fmt::format("x: {}[{}], y: {}[{}]", type, n, type, n), "z",
                        fmt::format("z: {}[{}] = for i: {}", result, n, value));
    if (is_real && type != "f64" && f.transcendental_ops > 0) each.tolerance = {2e-5, 2e-5};
    if (type == "f64" && f.transcendental_ops > 0) each.tolerance = {1e-13, 1e-11};
    cases.push_back(std::move(each));
  };
  for (const std::string type : {"f32", "f64", "i64", "i32", "i16", "i8", "u8", "bool", "c64"}) {
#define LL_FUNCTION(id, text, arity, signature, vector_ops, transcendental_ops) add(type, Function::id);
#include "loops/ir/functions.def"
#undef LL_FUNCTION
  }
  check(std::move(cases));
}

// Every code of the narrow floats, and f32 and f64 rounded to them: bit for bit.
TEST(EmitC, NarrowFloats) {
  std::vector<Case> cases;
  for (const std::string type : {"f16", "bf16", "f8e4m3", "f8e5m2", "f4e2m1"}) {
    const DType dtype = *dtype_from_name(type);
    const int64_t codes = int64_t(1) << bits(dtype), n = 40000;
    Tensor all(dtype, {codes}), x(DType::f32, {n}), y(DType::f64, {n});
    for (int64_t i = 0; i < codes; ++i)
      byte_size(dtype) == 2 ? void(all.as<uint16_t>()[size_t(i)] = uint16_t(i))
                            : void(all.as<uint8_t>()[size_t(i)] = uint8_t(i));
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t u = splitmix64(testing_support::seed_of(uint64_t(i)));
      const float near = all.get_f64(int64_t(u >> 40) % codes);
      // Random bits, or halfway between neighbours, or a little off.
      x.as<float>()[size_t(i)] = i % 2 ? std::bit_cast<float>(uint32_t(u)) : float(near * (1 + 0.0625 * double(i % 9)));
      y.as<double>()[size_t(i)] = i % 2 ? std::ldexp(double(u) / 0x1p64, int(u % 50) - 25)
                                        : double(near) * (1 + std::ldexp(double(i % 5) - 2, -30 - int(i % 20)));
    }
    Case each;
    each.name = type;
    each.text = program(
        fmt::format("a: {0}[{1}], x: f32[{2}], y: f64[{2}]", type, codes, n), "b, u, v, w, s",
        fmt::format("b: f32[{1}] = for i: a[i]\nu: {0}[{2}] = for i: x[i]\nv: f32[{2}] = for i: {0}(x[i]) * 1\nw: "
                    "{0}[{2}] = for i: {0}(y[i])\nt: {0}[{2}] = for i: x[i] + 1\ns: f32[{2}] = for i: t[i] + t[i] * 2",
                    type, codes, n));
    each.inputs.push_back(std::move(all)), each.inputs.push_back(std::move(x)), each.inputs.push_back(std::move(y));
    each.tolerance = {0, 0};
    cases.push_back(std::move(each));
  }
  check(std::move(cases));
}

TEST(EmitC, Casts) {
  std::vector<Case> cases;
  const std::vector<std::string> types = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "f4e2m1",
                                          "i64", "i32", "i16", "i8",   "u8",     "bool",   "c64"};
  for (const std::string& from : types) {
    std::string body, outputs;
    for (const std::string& to : types) {
      outputs += (outputs.empty() ? "" : ", ") + std::string("to_") + to;
      body += fmt::format("to_{0}: {0}[100] = for i: {0}({1})\n", to,
                          is_float(*dtype_from_name(from)) ? "x[i] * 300" : "x[i]");
    }
    cases.push_back({from, program(fmt::format("x: {}[100]", from), outputs, body), 1 << 20, {}, {0, 0}});
  }
  check(std::move(cases));
}

}  // namespace
}  // namespace lightline::loops
