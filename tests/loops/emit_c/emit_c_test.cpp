// Emitted C against the interpreter: every statement kind, dtype, function and reducer, and shapes that take every path
// of the emitter (packed products, fused rows, tiles, threads). Many programs go through one compilation.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "loops/emit_c/emit_c.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/parse.h"
#include "loops/run/compile.h"
#include "support/seed.h"

namespace lightline::loops {
namespace {

struct Case {
  std::string name;
  std::string text;
  int64_t limit = 10;           // of random integers
  std::vector<Tensor> inputs;   // random if there are none
  Tolerance tolerance{-1, -1};  // the dtype's own if negative
};

std::vector<Tensor> random_inputs(const Program& program, int64_t limit) {
  std::vector<Tensor> inputs;
  uint64_t seed = testing_support::seed_of(1);
  for (const ArrayId id : program.inputs)
    inputs.push_back(random_tensor(program.arrays[id].dtype, program.arrays[id].shape, seed++, limit));
  return inputs;
}

void check(std::vector<Case> cases) {
  std::vector<Program> programs;
  for (const Case& each : cases) {
    auto program = parse_and_verify(each.text, each.name);
    ASSERT_TRUE(program.ok()) << to_string(program.error()) << "\n" << each.text;
    programs.push_back(std::move(*program));
  }
  std::vector<const Program*> list;
  for (const Program& program : programs) list.push_back(&program);
  auto compiled = compile(list);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(testing_support::seed_text() + "\n" + cases[i].name + "\n" +
                 (cases[i].text.size() < 2000 ? cases[i].text : ""));
    if (cases[i].inputs.empty()) cases[i].inputs = random_inputs(programs[i], cases[i].limit);
    const auto expected = interpret(programs[i], cases[i].inputs);
    const auto actual = compiled->run(i, cases[i].inputs);
    ASSERT_EQ(expected.ok(), actual.ok()) << to_string(expected.ok() ? actual.error() : expected.error());
    if (!expected.ok()) {
      EXPECT_EQ(to_string(actual.error()), to_string(expected.error()));
      continue;
    }
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t output = 0; output < actual->size(); ++output) {
      const Tensor& want = (*expected)[output];
      const Tolerance allowed = cases[i].tolerance.absolute < 0 ? tolerance(want.dtype()) : cases[i].tolerance;
      const Comparison result = compare((*actual)[output], want, allowed);
      EXPECT_TRUE(result.agree) << "output " << output << ": " << result.reason;
    }
  }
}

std::string program(const std::string& inputs, const std::string& outputs, const std::string& body) {
  return fmt::format("program p({}) -> ({}) {{\n{}\n}}", inputs, outputs, body);
}

Tensor values(DType dtype, const std::vector<double>& list) {
  Tensor tensor(dtype, {int64_t(list.size())});
  for (size_t i = 0; i < list.size(); ++i) tensor.set_f64(int64_t(i), list[i]);
  return tensor;
}

// ---- functions and types ----

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

// ---- reductions ----

TEST(EmitC, Reducers) {
  std::vector<Case> cases;
  for (const std::string type : {"f32", "f64", "bf16", "i64", "i32", "i8", "u8", "c64"}) {
    for (const std::string reducer : {"sum", "prod", "max", "min", "argmax", "argmin"}) {
      if (type == "c64" && reducer != "sum" && reducer != "prod") continue;
      const bool positions = reducer.starts_with("arg");
      const std::string result = positions ? "i64" : type;
      std::string body, outputs;
      const auto add = [&](const std::string& shape, const std::string& rest) {
        const std::string own = "r" + std::to_string(std::count(body.begin(), body.end(), '\n'));
        outputs += (outputs.empty() ? "" : ", ") + own;
        body += fmt::format("{}: {}[{}] = {}\n", own, result, shape, rest);
      };
      add("37", fmt::format("for i: {} k in 53: x[i, k]", reducer));     // rows
      add("53", fmt::format("for k: {} i in 37: x[i, k]", reducer));     // columns
      add("", fmt::format("{} i in 37, k in 53: x[i, k]", reducer));     // everything
      add("37", fmt::format("for i: {} k in 3: x[i, k + 5]", reducer));  // written out
      add("5, 7", fmt::format("for b, c: {} a in 37, k in 6: x[a, 6*c + k + b]", reducer));
      if (!positions) add("4", fmt::format("for i: {} k in 0: x[i, k]", reducer));
      add("4, 1", fmt::format("for i, j: {} k in 1: x[i, k + j]", reducer));
      Case each{reducer + " of " + type, program(fmt::format("x: {}[37, 53]", type), outputs, body), 10, {}, {-1, -1}};
      if (reducer == "prod" || type == "bf16") each.tolerance = {1e-2, 1e-2};
      cases.push_back(std::move(each));
    }
  }
  for (const std::string reducer : {"and", "or"})
    cases.push_back(
        {reducer,
         program(
             "x: bool[37, 53]", "a, b, c, d",
             fmt::format("a: bool[37] = for i: {0} k in 53: x[i, k] {1} (k != 7)\nb: bool[53] = for k: {0} i in 37: "
                         "x[i, k]\nc: bool[] = {0} i in 37, k in 53: x[i, k]\nd: bool[2] = for i: {0} k in 0: x[i, k]",
                         reducer, reducer == "and" ? "or" : "and"))});
  Tensor special = random_tensor(DType::f32, {40, 70}, testing_support::seed_of(3));
  for (const int64_t at : {5, 700, 701, 1500}) special.set_f64(at, std::numeric_limits<double>::quiet_NaN());
  std::vector<Tensor> with_nan;
  with_nan.push_back(std::move(special));
  cases.push_back({"NaN wins",
                   program("x: f32[40, 70]", "a, b, c, d, e, f",
                           "a: f32[40] = for i: max k in 70: x[i, k]\nb: f32[70] = for k: min i in 40: x[i, k]\nc: "
                           "i64[40] = for i: argmax k in 70: x[i, k]\nd: i64[70] = for k: argmin i in 40: x[i, k]\ne: "
                           "f32[] = max i in 40, k in 70: x[i, k]\nf: i64[] = argmin i in 40, k in 70: x[i, k]"),
                   10,
                   std::move(with_nan),
                   {0, 0}});
  cases.push_back(
      {"accumulators",
       program("x: f32[30, 40], y: bf16[30, 40], z: f64[30]", "a, b, c, d, e, f",
               "a: f32[30] = for i: sum[f64] k in 40: x[i, k]\nb: f64[30] = for i: sum[f64] k in 40: x[i, k]\nc: "
               "f32[30] = for i: sum[bf16] k in 40: x[i, k]\nd: bf16[40] = for k: sum[f16] i in 30: y[i, k]\ne: "
               "bf16[40] = for k: sum i in 30: y[i, k]\nf: f32[1] = for j: sum[bf16] k in 1: x[j, k]"),
       10,
       {},
       {1e-5, 1e-5}});
  cases.push_back(
      {"large sum",
       program("x: f32[700, 900]", "a, b, c, d",
               "a: f32[] = sum i in 700, k in 900: x[i, k] * x[i, k]\nb: f32[900] = for k: sum i in 700: x[i, k]\nc: "
               "f32[] = max i in 700, k in 900: x[i, k]\nd: f32[700] = for i: sum k in 900: x[i, k]"),
       10,
       {},
       {1e-3, 1e-4}});
  check(std::move(cases));
}

// ---- contractions ----

std::string matmul(int64_t m, int64_t n, int64_t k, const std::string& type, bool transpose_a, bool transpose_b) {
  const std::string a = transpose_a ? fmt::format("{}, {}", k, m) : fmt::format("{}, {}", m, k),
                    b = transpose_b ? fmt::format("{}, {}", n, k) : fmt::format("{}, {}", k, n);
  return program(fmt::format("a: {0}[{1}], b: {0}[{2}]", type, a, b), "c",
                 fmt::format("c: {}[{}, {}] = for i, j: sum k in {}: a[{}] * b[{}]", type, m, n, k,
                             transpose_a ? "k, i" : "i, k", transpose_b ? "j, k" : "k, j"));
}

TEST(EmitC, MatrixProducts) {
  std::vector<Case> cases;
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                   {1, 65, 300},
                                                                   {65, 1, 300},
                                                                   {7, 7, 7},
                                                                   {17, 17, 65},
                                                                   {65, 100, 17},
                                                                   {100, 65, 400},
                                                                   {4, 300, 33},
                                                                   {300, 9, 40},
                                                                   {33, 31, 1000},
                                                                   {350, 130, 50},
                                                                   {64, 640, 8}})
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        cases.push_back(
            {fmt::format("{} {} {} {} {}", m, n, k, a, b), matmul(m, n, k, "f32", a, b), 10, {}, {1e-4, 1e-4}});
  for (const std::string type : {"f64", "bf16", "f16", "f8e4m3", "i32", "i8", "c64"})
    cases.push_back({type, matmul(40, 50, 60, type, false, type == "f64"), 5});
  const std::string x = "x: f32[3, 40, 50]";
  cases.push_back({"batch", program(x + ", y: f32[3, 50, 20]", "z",
                                    "z: f32[3, 40, 20] = for b, i, j: sum k in 50: x[b, i, k] * y[b, k, j]")});
  cases.push_back({"batch inside", program(x + ", y: f32[3, 50, 20]", "z",
                                           "z: f32[40, 20, 3] = for i, j, b: sum k in 50: x[b, i, k] * y[b, k, j]")});
  cases.push_back({"rows of two loops", program(x + ", y: f32[50, 24]", "z",
                                                "z: f32[3, 40, 24] = for b, i, j: sum k in 50: x[b, i, k] * y[k, j]")});
  cases.push_back(
      {"three factors", program(x + ", y: f32[50, 24], s: f32[50]", "z",
                                "z: f32[3, 40, 24] = for b, i, j: sum k in 50: x[b, i, k] * s[k] * y[k, j]")});
  cases.push_back({"bias and activation",
                   program(x + ", y: f32[50, 24], b: f32[24]", "z, w",
                           "h: f32[3, 40, 24] = for b, i, j: sum k in 50: x[b, i, k] * y[k, j]\ng: f32[3, 40, 24] = "
                           "for b, i, j: h[b, i, j] + b[j]\nz: f32[3, 40, 24] = for b, i, j: gelu(g[b, i, j])\nw: "
                           "bf16[3, 40, 24] = for b, i, j: tanh(g[b, i, j]) * h[b, i, j]")});
  cases.push_back({"stored and followed", program(x + ", y: f32[50, 24]", "h, z",
                                                  "h: bf16[3, 40, 24] = for b, i, j: sum k in 50: x[b, i, k] * y[k, "
                                                  "j]\nz: f32[3, 40, 24] = for b, i, j: h[b, i, j] * 2")});
  cases.push_back(
      {"cheap factors", program("x: bf16[60, 50], q: i8[50, 70], s: f32[70]", "z",
                                "w: f32[50, 70] = for k, j: f32(q[k, j]) * s[j]\nr: f32[60, 50] = for i, k: max(x[i, "
                                "k], 0)\nz: f32[60, 70] = for i, j: sum k in 50: r[i, k] * w[k, j]")});
  cases.push_back(
      {"through views", program("x: f32[60, 100], y: f32[25, 4, 30]", "z",
                                "t: f32[100, 60] = view k, i: x[i, k]\nu: f32[100, 30] = view k, j: y[k div 4, k mod "
                                "4, j]\nz: f32[60, 30] = for i, j: sum k in 100: t[k, i] * u[k, j]")});
  cases.push_back({"gathered rows", program("x: f32[60, 50], y: f32[50, 30], n: i64[40]", "z",
                                            "z: f32[40, 30] = for i, j: sum k in 50: x[n[i] * 3 + 2, k] * y[k, j]")});
  cases.push_back({"f64 accumulator", program("x: f32[40, 50], y: f32[50, 30]", "z",
                                              "z: f64[40, 30] = for i, j: sum k in 50: f64(x[i, k]) * f64(y[k, j])")});
  cases.push_back({"sliced and masked",
                   program("x: f32[80, 90], y: f32[90, 70]", "z",
                           "z: f32[40, 70] = for i, j: sum k in 45: if(k <= i, x[2*i + 1, 2*k], 0) * y[89 - k, j]")});
  check(std::move(cases));
}

TEST(EmitC, Convolutions) {
  std::vector<Case> cases;
  struct Shape2d {
    int64_t n, c, k, h, w, r, stride, pad, dilation, groups;
  };
  for (const auto& [n, c, k, h, w, r, stride, pad, dilation, groups] :
       std::vector<Shape2d>{{2, 8, 16, 20, 23, 3, 1, 1, 1, 1},
                            {2, 8, 16, 20, 23, 3, 2, 1, 1, 1},
                            {1, 8, 12, 20, 40, 3, 1, 2, 2, 1},
                            {2, 8, 16, 14, 14, 1, 1, 0, 1, 1},
                            {2, 8, 16, 15, 15, 5, 3, 2, 1, 1},
                            {2, 8, 8, 12, 36, 3, 1, 1, 1, 8},
                            {2, 32, 64, 9, 9, 3, 1, 1, 1, 2},
                            {1, 3, 32, 33, 33, 7, 2, 3, 1, 1},
                            {3, 16, 40, 7, 7, 3, 1, 1, 1, 1}}) {
    const int64_t p = (h + 2 * pad - dilation * (r - 1) - 1) / stride + 1,
                  q = (w + 2 * pad - dilation * (r - 1) - 1) / stride + 1;
    const std::string at = fmt::format("{0}*p + {1}*r - {2}, {0}*q + {1}*s - {2} | 0", stride, dilation, pad);
    const std::string name =
        fmt::format("{} {} {} {} {} {} {} {} {} {}", n, c, k, h, w, r, stride, pad, dilation, groups);
    const std::string own = groups == 1 ? "c" : fmt::format("(k div {}) * {} + c", k / groups, c / groups);
    cases.push_back(
        {name,
         program(fmt::format("x: f32[{}, {}, {}, {}], w: f32[{}, {}, {}, {}], b: f32[{}]", n, c, h, w, k, c / groups, r,
                             r, k),
                 "y",
                 fmt::format(
                     "a: f32[{0}, {1}, {2}, {3}] = for n, k, p, q: sum c in {4}, r in {5}, s in {5}: x[n, {6}, {7}] * "
                     "w[k, c, r, s]\ny: f32[{0}, {1}, {2}, {3}] = for n, k, p, q: max(a[n, k, p, q] + b[k], 0)",
                     n, k, p, q, c / groups, r, own, at)),
         10,
         {},
         {1e-4, 1e-4}});
    if (groups == 1)
      cases.push_back(
          {name + " channels last",
           program(fmt::format("x: f32[{}, {}, {}, {}], w: f32[{}, {}, {}, {}]", n, h, w, c, r, r, c, k), "y",
                   fmt::format("y: f32[{0}, {2}, {3}, {1}] = for n, p, q, k: sum r in {5}, s in {5}, c in {4}: x[n, "
                               "{7}, {8} | 0] * w[r, s, c, k]",
                               n, k, p, q, c, r, "", fmt::format("{0}*p + {1}*r - {2}", stride, dilation, pad),
                               fmt::format("{0}*q + {1}*s - {2}, c", stride, dilation, pad))),
           10,
           {},
           {1e-4, 1e-4}});
  }
  // Groups as a loop of their own.
  cases.push_back({"groups", program("x: f32[2, 4, 8, 12, 12], w: f32[4, 16, 8, 3, 3]", "y",
                                     "y: f32[2, 4, 16, 12, 12] = for n, g, k, p, q: sum c in 8, r in 3, s in 3: x[n, "
                                     "g, c, p + r - 1, q + s - 1 | 0] * w[g, k, c, r, s]")});
  cases.push_back(
      {"pooling",
       program("x: f32[2, 6, 40, 41]", "y, z",
               "y: f32[2, 6, 20, 21] = for n, c, p, q: max r in 3, s in 3: x[n, c, 2*p + r - 1, 2*q + s - 1 | "
               "-inf]\nz: f32[2, 6, 13, 13] = for n, c, p, q: sum r in 3, s in 3: x[n, c, 3*p + r, 3*q + s] / 9")});
  cases.push_back(
      {"transposed",
       program("x: f32[2, 6, 10, 11], w: f32[6, 9, 3, 3]", "y",
               "y: f32[2, 9, 21, 23] = for n, k, p, q: sum c in 6, r in 3, s in 3: if((p + r) mod 2 == 0 and (q + s) "
               "mod 2 == 0, x[n, c, (p + r - 2) div 2, (q + s - 2) div 2 | 0], 0) * w[c, k, r, s]"),
       10,
       {},
       {1e-4, 1e-4}});
  check(std::move(cases));
}

// ---- loops that share ----

TEST(EmitC, FusedRows) {
  std::vector<Case> cases;
  for (const auto& [rows, width] :
       std::vector<std::pair<int64_t, int64_t>>{{5, 7}, {64, 100}, {300, 1025}, {3, 40000}}) {
    cases.push_back(
        {fmt::format("softmax {} {}", rows, width),
         program(fmt::format("x: f32[{}, {}]", rows, width), "y",
                 fmt::format(
                     "m: f32[{0}] = for i: max k in {1}: x[i, k]\ne: f32[{0}, {1}] = for i, k: exp(x[i, k] - m[i])\ns: "
                     "f32[{0}] = for i: sum k in {1}: e[i, k]\ny: f32[{0}, {1}] = for i, k: e[i, k] / s[i]",
                     rows, width))});
    cases.push_back(
        {fmt::format("layer norm {} {}", rows, width),
         program(fmt::format("x: bf16[{0}, {1}], g: f32[{1}], b: f32[{1}]", rows, width), "y, mean",
                 fmt::format("t: f32[{0}, 1] = for i, j: sum k in {1}: x[i, k]\nmean: f32[{0}, 1] = for i, j: t[i, j] "
                             "/ {1}\nd: f32[{0}, {1}] = for i, k: x[i, k] - mean[i, 0]\nv: f32[{0}, 1] = for i, j: sum "
                             "k in {1}: d[i, k] * d[i, k]\nr: f32[{0}, 1] = for i, j: rsqrt(v[i, j] / {1} + 1e-5)\ny: "
                             "bf16[{0}, {1}] = for i, k: d[i, k] * r[i, 0] * g[k] + b[k]",
                             rows, width))});
  }
  cases.push_back(
      {"attention", program("q: f32[2, 3, 33, 16], k: f32[2, 3, 40, 16], v: f32[2, 3, 40, 16]", "o",
                            R"(s: f32[2, 3, 33, 40] = for b, h, i, j: sum d in 16: q[b, h, i, d] * k[b, h, j, d]
    a: f32[2, 3, 33, 40] = for b, h, i, j: if(j <= i + 7, s[b, h, i, j] * 0.25, -inf)
    m: f32[2, 3, 33] = for b, h, i: max j in 40: a[b, h, i, j]
    e: f32[2, 3, 33, 40] = for b, h, i, j: exp(a[b, h, i, j] - m[b, h, i])
    t: f32[2, 3, 33] = for b, h, i: sum j in 40: e[b, h, i, j]
    p: f32[2, 3, 33, 40] = for b, h, i, j: e[b, h, i, j] / t[b, h, i]
    o: f32[2, 33, 3, 16] = for b, i, h, d: sum j in 40: p[b, h, i, j] * v[b, h, j, d])")});
  cases.push_back(
      {"a chain read twice",
       program("x: f32[100, 90]", "e, f",
               "a: f32[100, 90] = for i, j: x[i, j] + 1\nb: f32[100, 90] = for i, j: a[i, j] * a[i, j]\nc: f16[100, "
               "90] = for i, j: b[i, j] - a[i, j]\nd: f32[100, 90] = for i, j: c[i, j] + b[i, j]\ne: f32[100, 90] = "
               "for i, j: d[i, j] * c[i, j]\nf: f32[100] = for i: sum j in 90: e[i, j] * d[i, j]"),
       10,
       {},
       {1e-3, 1e-3}});
  cases.push_back({"a column beside its fill",
                   program("a: f32[3], c: f32[3]", "p",
                           "m: f32[3, 1, 1] = for i, j, k: a[i] * 2\nn: f32[3, 1, 1] = for i, j, k: c[i] * 2\nb: "
                           "f32[3, 1, 1] = for i, j, k: m[i, 0, 0] + n[i, 0, 0]\np: f32[3, 1, 2] = for i, j, k: b[i, "
                           "0, k - 1 | 0]")});
  cases.push_back(
      {"neighbours", program("x: f32[100, 90]", "b, c",
                             "a: f32[100, 90] = for i, j: exp(x[i, j])\nb: f32[100, 90] = for i, j: a[i, j] + a[i, j - "
                             "1 | 0] + a[i, 89 - j]\nc: f32[100, 90] = for i, j: b[i, j] + b[i + 1, j | 0]")});
  // A row may be kept in the place of its result only where nothing reads it later or elsewhere.
  const std::string rows =
      "a: f32[70, 6, 33] = for i, j, k: exp(x[i, j, k])\ns: f32[70] = for i: sum j in 6, k in 33: a[i, j, k]\n";
  const std::pair<const char*, const char*> readers[] = {
      {"y", "y: f32[70, 6, 33] = for i, j, k: a[i, j, k] / s[i]"},
      {"y", "y: f32[70, 33, 6] = for i, k, j: a[i, j, k] / s[i]"},
      {"y", "y: f32[70, 6, 33] = for i, j, k: a[i, j, 32 - k] / s[i]"},
      {"y", "y: f32[70, 6, 33] = for i, j, k: a[i, j, k] / s[i] + a[i, 5 - j, k]"},
      {"y", "y: f32[70, 6, 33, 4] = for i, j, k, l: a[i, j, k] / s[i]"},
      {"y", "y: bf16[70, 6, 33] = for i, j, k: a[i, j, k] / s[i]"},
      {"y, z",
       "y: f32[70, 6, 33] = for i, j, k: a[i, j, k] / s[i]\nz: f32[70] = for i: sum j in 6, k in 33: "
       "a[i, j, k] * y[i, j, k]"},
      {"y, z", "y: f32[70, 6, 33] = for i, j, k: a[i, j, k] / s[i]\nz: f32[70, 6, 33] = for i, j, k: a[i, j, k] * 2"},
      {"y, z",
       "z: f32[70, 6, 33] = for i, j, k: a[i, j, k - 1 | 0] * s[i]\ny: f32[70, 6, 33] = for i, j, k: "
       "a[i, j, k] / s[i]"},
      {"y",
       "b: f32[70, 6, 33] = for i, j, k: a[i, j, k] - s[i]\nt: f32[70] = for i: max j in 6, k in 33: "
       "b[i, j, k]\ny: f32[70, 6, 33] = for i, j, k: a[i, j, k] * t[i] + b[i, j, k]"},
  };
  for (const auto& [outputs, text] : readers)
    cases.push_back({text, program("x: f32[70, 6, 33]", outputs, rows + text)});
  cases.push_back(
      {"batch norm",
       program("x: f32[4, 6, 9, 10]", "y",
               "s: f32[6] = for c: sum n in 4, h in 9, w in 10: x[n, c, h, w]\nm: f32[6] = for c: s[c] / 360\nv: "
               "f32[6] = for c: sum n in 4, h in 9, w in 10: (x[n, c, h, w] - m[c]) * (x[n, c, h, w] - m[c])\ny: "
               "f32[4, 6, 9, 10] = for n, c, h, w: (x[n, c, h, w] - m[c]) * rsqrt(v[c] / 360 + 0.1)")});
  cases.push_back({"softmax over channels",
                   program("x: f32[3, 10, 20, 20]", "y",
                           "m: f32[3, 20, 20] = for n, h, w: max c in 10: x[n, c, h, w]\ne: f32[3, 10, 20, 20] = for "
                           "n, c, h, w: exp(x[n, c, h, w] - m[n, h, w])\ns: f32[3, 20, 20] = for n, h, w: sum c in 10: "
                           "e[n, c, h, w]\ny: f32[3, 10, 20, 20] = for n, c, h, w: e[n, c, h, w] / s[n, h, w]")});
  cases.push_back({"large rows and a transposition",
                   program("x: f32[2100, 1030]", "y, t",
                           "a: f32[2100, 1030] = for i, j: x[i, j] * 3 + 1\ny: f32[2100, 1030] = for i, j: a[i, j] + "
                           "x[i, j - 1 | 0]\nt: f32[1030, 2100] = for j, i: x[i, j]")});
  cases.push_back(
      {"views",
       program("x: f32[6, 8, 10]", "a, b, c, d",
               "v: f32[8, 60] = view j, i: x[i div 10, j, i mod 10]\nw: f32[480] = view i: v[i div 60, i mod 60]\na: "
               "f32[480] = for i: w[i] + 1\nb: f32[8, 60] = view j, i: w[60*j + i]\nc: f32[24, 20] = for i, j: w[20*i "
               "+ j] * 2\nr: f32[20, 24] = view i, j: c[23 - j, 19 - i]\nd: f32[20, 12] = for i, j: r[i, 2*j + 1]")});
  cases.push_back(
      {"gathers",
       program("t: f32[30, 20], n: i64[50], m: i32[50], u: u8[50]", "a, b, c, d",
               "a: f32[50, 20] = for i, j: t[n[i], j]\nb: f32[50] = for i: t[n[i], m[i] + 3]\nc: f32[50, 20] = for i, "
               "j: t[i64(u[i]) * 5 - 3, j | 7] + a[i, j]\nd: f32[50] = for i: t[n[i] - 1, i64(m[i] > 3) | -1]")});
  cases.push_back(
      {"indices as values", program("x: f32[40, 50]", "a, b",
                                    "a: f32[40, 50] = for i, j: if(j <= i, x[i, j], f32(i - j) / 7)\nb: i64[40, 50] = "
                                    "for i, j: (i * 50 + j) mod 7 + (i - 20) div 3 + min(i, j)")});
  check(std::move(cases));
}

TEST(EmitC, Scans) {
  std::vector<Case> cases;
  cases.push_back({"rows",
                   program("x: f32[40, 300]", "c", "c: f32[40, 300] = for b, scan t: c[b, t - 1 | 0] + x[b, t]"),
                   10,
                   {},
                   {1e-4, 1e-4}});
  cases.push_back(
      {"columns", program("x: f32[300, 40]", "c", "c: f32[300, 40] = for scan t, b: c[t - 1, b | 0] * 0.5 + x[t, b]")});
  cases.push_back({"middle", program("x: f64[6, 50, 7]", "c",
                                     "c: f64[6, 50, 7] = for a, scan t, b: max(c[a, t - 1, b | -inf], x[a, t, b])")});
  cases.push_back(
      {"two steps back", program("x: i64[30]", "c", "c: i64[30] = for scan t: c[t - 1 | 1] + c[t - 2 | 0] + x[t]")});
  cases.push_back(
      {"neighbours of the past",
       program("x: f32[30, 20]", "c",
               "c: f32[30, 20] = for scan t, b: (c[t - 1, b - 1 | 0] + c[t - 1, b + 1 | 1]) / 2 + x[t, b]")});
  cases.push_back(
      {"neighbours of the past inside",
       program("x: f32[20, 30]", "c",
               "c: f32[20, 30] = for b, scan t: (c[b - 1, t - 1 | 0] + c[b + 1, t - 1 | 1]) / 2 + x[b, t]")});
  cases.push_back({"with a reduction",
                   program("x: f32[30, 8], w: f32[8, 8]", "c",
                           "c: f32[30, 8] = for scan t, i: sum k in 8: tanh(c[t - 1, k | 0]) * w[k, i] + x[t, i]")});
  cases.push_back(
      {"narrow",
       program("x: bf16[40, 30]", "c, d",
               "c: bf16[40, 30] = for b, scan t: c[b, t - 1 | 0] + x[b, t]\nd: f32[40, 30] = for b, t: c[b, t] * 2")});
  cases.push_back({"followed", program("x: f32[40, 30]", "d",
                                       "a: f32[40, 30] = for b, t: exp(x[b, t])\nc: f32[40, 30] = for b, scan t: c[b, "
                                       "t - 1 | 0] + a[b, t]\nd: f32[40, 30] = for b, t: c[b, t] / c[b, 29]")});
  check(std::move(cases));
}

// ---- other statements ----

TEST(EmitC, Scatters) {
  std::vector<Case> cases;
  for (const std::string reducer : {"set", "sum", "prod", "max", "min"})
    for (const std::string type : {"f32", "bf16", "i32", "i64"})
      cases.push_back(
          {reducer + " of " + type,
           program(fmt::format("x: {0}[10, 6], g: {0}[40, 6], n: i64[40]", type), "a, b, c",
                   fmt::format("a: {0}[10, 6] = scatter {1} i in 40, j in 6 into x: [n[i], j] <- g[i, j]\nb: {0}[10, "
                               "6] = scatter {1} i in 40, j in 6 into 1: [n[i] - 3, 5 - j | drop] <- g[i, j]\nc: "
                               "{0}[12] = scatter {1} i in 40 into 2: [n[i] + 1] <- g[i, 0]",
                               type, reducer)),
           10,
           {},
           {1e-3, 1e-3}});
  for (const std::string reducer : {"set", "and", "or"})
    cases.push_back(
        {reducer + " of bool", program("x: bool[10], g: bool[40], n: i64[40]", "a, b",
                                       fmt::format("a: bool[10] = scatter {0} i in 40 into x: [n[i]] <- g[i]\nb: "
                                                   "bool[10] = scatter {0} i in 40 into false: [n[i]] <- not g[i]",
                                                   reducer))});
  cases.push_back({"large",
                   program("g: f32[4000, 64], n: i64[4000]", "a, b",
                           "a: f32[100, 64] = scatter sum i in 4000, j in 64 into 0: [n[i], j] <- g[i, j]\nb: "
                           "f32[4000, 10] = scatter max i in 4000, j in 64 into -inf: [i, n[i]] <- g[i, j]"),
                   10,
                   {},
                   {1e-3, 1e-3}});
  cases.push_back({"single", program("x: f32[3], n: i64[]", "a", "a: f32[3] = scatter set into x: [n[]] <- 5.0"), 3});
  check(std::move(cases));
}

TEST(EmitC, RepeatsAndOthers) {
  std::vector<Case> cases;
  cases.push_back({"recurrent",
                   program("pre: f32[20, 4, 32], h0: f32[4, 32], w: f32[32, 32]", "h, hs",
                           R"((h: f32[4, 32], hs: f32[20, 4, 32]) = repeat t in 20 carry (prev = h0) {
      rec: f32[4, 32] = for b, i: sum k in 32: prev[b, k] * w[k, i]
      next: f32[4, 32] = for b, i: tanh(pre[t, b, i] + rec[b, i] / 8)
      yield (next, stack next)
    })"),
                   10,
                   {},
                   {1e-4, 1e-4}});
  cases.push_back(
      {"exchange", program("a: f32[5], b: f32[5]", "c, d, s, t",
                           R"((c: f32[5], d: f32[5], s: f32[7, 5], t: f32[7, 5]) = repeat t in 7 carry (x = a, y = b) {
      z: f32[5] = for i: x[i] + f32(t)
      yield (y, x, stack z, stack y)
    })")});
  cases.push_back({"twice the same", program("a: f32[5]", "c, d",
                                             "(c: f32[5], d: f32[5]) = repeat t in 3 carry (x = a, y = a) {\nz: f32[5] "
                                             "= for i: x[i] + y[i]\nyield (z, z)\n}")});
  cases.push_back({"never", program("a: f32[5]", "c, s",
                                    "(c: f32[5], s: f32[0, 5]) = repeat t in 0 carry (x = a) {\nz: f32[5] = for i: "
                                    "x[i] + 1\nyield (z, stack z)\n}")});
  cases.push_back(
      {"nested", program("a: f32[5], k: f32[3]", "c, e", R"((c: f32[5], e: f32[3, 4, 5]) = repeat t in 3 carry (x = a) {
      u: f32[5] = for i: x[i] * k[t]
      (v: f32[5], w: f32[4, 5]) = repeat r in 4 carry (y = u) {
        z: f32[5] = for i: y[i] + f32(r) + u[i]
        yield (z, stack z)
      }
      m: f32[] = sum i in 5: v[i]
      o: f32[5] = for i: v[i] / (m[] * m[] + 1)
      yield (o, stack w)
    })")});
  cases.push_back({"constants",
                   program("x: f32[4]", "p, y, h, o",
                           "p: i64[4] = const [0, 2, 1, 3]\ny: f32[4] = for i: x[p[i]]\nh: bf16[3] = const [0.1, -inf, "
                           "300]\none: f32[4, 3] = const [1]\no: f32[4, 3] = for i, j: one[i, j] + x[i]"),
                   10,
                   {},
                   {0, 0}});
  cases.push_back({"opaque", program("x: f32[6, 20], s: f32[5, 5], r: f32[5, 2]", "v, n, u, a",
                                     "y: f32[6, 20] = for i, j: x[i, j] * 2\n(v: f32[6, 3], n: i64[6, 3]) = opaque "
                                     "topk(y, k = 3)\nm: f32[5, 5] = for i, j: s[i, j] + if(i == j, 9.0, 0.0)\nu: "
                                     "f32[5, 2] = opaque solve(m, r)\na: f32[6] = for i: sum k in 3: v[i, k]")});
  cases.push_back(
      {"outputs that are inputs", program("x: f32[4], y: i8[2, 3]", "x, z, y, z", "z: f32[4] = for i: x[i] + 1")});
  cases.push_back({"no elements", program("x: f32[0, 5], y: f32[3]", "a, b, c, d, e",
                                          "a: f32[0, 5] = for i, j: x[i, j] + 1\nb: f32[5] = for j: sum i in 0: x[i, "
                                          "j]\nc: f32[3] = for i: x[i, 0 | 2] + y[i]\nd: f32[0] = scatter sum i in 3 "
                                          "into 0: [i | drop] <- y[i]\ne: f32[5] = for j: max i in 0: x[i, j]")});
  cases.push_back({"unused",
                   program("x: f32[4], n: i64[2]", "y",
                           "z: f32[4] = for i: exp(x[i])\ny: f32[4] = for i: x[i] + 1\nw: f32[2] = for i: x[n[i]]"),
                   4});
  cases.push_back({"complex", program("x: c64[20, 30], y: c64[30, 10]", "z, m",
                                      "z: c64[20, 10] = for i, j: sum k in 30: x[i, k] * conj(y[k, j])\nm: f32[20, 10] "
                                      "= for i, j: abs(z[i, j]) + real(z[i, j]) * imag(z[i, j])")});
  check(std::move(cases));
}

// ---- errors and the driver ----

TEST(EmitC, OutOfRange) {
  std::vector<Case> cases;
  const auto one_bad = [](int64_t value) {
    std::vector<Tensor> list;
    list.push_back(random_tensor(DType::f32, {10, 4}, 1));
    list.push_back(random_tensor(DType::i64, {30}, 2, 10));
    list[1].set_i64(17, value);
    return list;
  };
  for (const int64_t value : {int64_t(10), int64_t(-1), INT64_MAX, INT64_MIN}) {
    const std::string inputs = "x: f32[10, 4], n: i64[30]";
    cases.push_back({"gather", program(inputs, "y", "y: f32[30, 4] = for i, j: x[n[i], j]"), 10, one_bad(value)});
    cases.push_back({"inlined", program(inputs, "z", "y: f32[30] = for i: x[n[i], 2]\nz: f32[30] = for i: y[i] + 1"),
                     10, one_bad(value)});
    cases.push_back({"sliced away", program(inputs, "z", "y: f32[30] = for i: x[n[i], 2]\nz: f32[5] = for i: y[i] + 1"),
                     10, one_bad(value)});
    cases.push_back({"unused", program(inputs, "z", "y: f32[30] = for i: x[n[i], 2]\nz: f32[10] = for i: x[i, 0]"), 10,
                     one_bad(value)});
    cases.push_back({"not chosen",
                     program(inputs, "z", "z: f32[30] = for i: if(n[i] < 10 and n[i] >= 0, x[n[i], 2], 0)"), 10,
                     one_bad(value)});
    cases.push_back({"filled", program(inputs, "z", "z: f32[30] = for i: x[n[i], 2 | 0]"), 10, one_bad(value)});
    cases.push_back(
        {"product",
         program(inputs + ", w: f32[4, 9]", "z", "z: f32[30, 9] = for i, j: sum k in 4: x[n[i], k] * w[k, j]"),
         10,
         {}});
    cases.push_back({"scatter",
                     program(inputs, "z", "z: f32[10, 4] = scatter sum i in 30, j in 4 into x: [n[i], j] <- 1"), 10,
                     one_bad(value)});
    cases.push_back({"scatter set", program(inputs, "z", "z: f32[10] = scatter set i in 30 into 0: [n[i]] <- f32(i)"),
                     10, one_bad(value)});
    cases.push_back({"dropped",
                     program(inputs, "z", "z: f32[10, 4] = scatter sum i in 30, j in 4 into x: [n[i], j | drop] <- 1"),
                     10, one_bad(value)});
    cases.push_back({"summed", program(inputs, "z", "z: f32[] = sum i in 30, j in 4: x[n[i], j]"), 10, one_bad(value)});
  }
  check(std::move(cases));
}

class EmitCDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("lightline-test-{}", getpid());
    std::filesystem::create_directories(folder_);
    program_ = *parse_and_verify("program p(x: f32[4]) -> (y) { y: f32[4] = for i: x[i] + 1 }");
    options_.cache_directory = (folder_ / "cache").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string library() const {
    for (const auto& entry : std::filesystem::directory_iterator(options_.cache_directory))
      if (entry.path().extension() == ".so") return entry.path();
    return "";
  }
  std::filesystem::path folder_;
  Program program_;
  CompileOptions options_;
};

TEST_F(EmitCDriver, KeepsWhatItCompiled) {
  const auto first = compile({&program_}, options_);
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  EXPECT_FALSE(first->from_cache());
  EXPECT_TRUE(compile({&program_}, options_)->from_cache());
  CompileOptions other = options_;
  other.optimization = 1;
  EXPECT_FALSE(compile({&program_}, other)->from_cache());
}

TEST_F(EmitCDriver, DistrustsForeignFiles) {
  ASSERT_TRUE(compile({&program_}, options_).ok());
  ASSERT_EQ(chmod(library().c_str(), 0777), 0);
  EXPECT_FALSE(compile({&program_}, options_)->from_cache());
  EXPECT_TRUE(compile({&program_}, options_)->from_cache());
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(library().c_str(), 12345, 12345), 0);
  EXPECT_FALSE(compile({&program_}, options_)->from_cache());
}

TEST_F(EmitCDriver, WorksWithoutACache) {
  std::ofstream(folder_ / "file") << "in the way";
  options_.cache_directory = (folder_ / "file" / "cache").string();
  const auto compiled = compile({&program_}, options_);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const auto inputs = random_inputs(program_, 10);
  EXPECT_TRUE(compare((*compiled->run(0, inputs))[0], (*interpret(program_, inputs))[0]).agree);
}

TEST_F(EmitCDriver, SaysThatThereIsNoCompiler) {
  options_.compiler = "no-such-compiler";
  const auto compiled = compile({&program_}, options_);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::unsupported);
  EXPECT_NE(compiled.error().hint.find("--backend interp"), std::string::npos);
}

TEST_F(EmitCDriver, ChecksTensors) {
  const auto compiled = compile({&program_}, options_);
  ASSERT_TRUE(compiled.ok());
  std::vector<Tensor> none_given, wrong_shape;
  wrong_shape.emplace_back(DType::f32, Shape{5});
  EXPECT_EQ(to_string(compiled->run(0, none_given).error()), to_string(interpret(program_, none_given).error()));
  EXPECT_EQ(to_string(compiled->run(0, wrong_shape).error()), to_string(interpret(program_, wrong_shape).error()));
}

// An output may take the storage of the input it replaces, and any other output that of any input.
TEST_F(EmitCDriver, RunsInPlace) {
  auto parsed = parse_and_verify(
      "program p(x: f32[4], n: i64[2], y: f32[4]) -> (a as x, b) {\n"
      "a: f32[4] = scatter sum i in 2 into x: [n[i]] <- 10\nb: f32[4] = for i: y[3 - i] + 1\n}");
  ASSERT_TRUE(parsed.ok()) << to_string(parsed.error());
  const auto compiled = compile({&*parsed}, options_);
  ASSERT_TRUE(compiled.ok());
  auto inputs = random_inputs(*parsed, 4);
  const auto expected = interpret(*parsed, inputs).value();
  ASSERT_TRUE(compiled->run_into(0, {&inputs[0], &inputs[1], &inputs[2]}, {&inputs[0], &inputs[2]}).ok());
  EXPECT_TRUE(compare(inputs[0], expected[0]).agree);
  EXPECT_TRUE(compare(inputs[2], expected[1]).agree);
}

}  // namespace
}  // namespace lightline::loops
