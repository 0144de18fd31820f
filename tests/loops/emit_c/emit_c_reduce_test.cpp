#include "loops/emit_c/emit_c_testing.h"

namespace lightline::loops {
namespace {

using namespace emit_testing;

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

// A sum of one point needs no total, however large its body.
TEST(EmitC, LargeSumOfOnePoint) {
  std::string body = "x[i, 0]";
  for (int j = 1; j < 120; ++j) body += fmt::format(" + x[i, {}] * {}.5", j, j);
  std::vector<Case> cases;
  cases.push_back(
      {"sum of one point", program("x: f32[8, 120]", "y", fmt::format("y: f32[8] = for i: sum k in 1: {}", body))});
  check(std::move(cases));
}

}  // namespace
}  // namespace lightline::loops
