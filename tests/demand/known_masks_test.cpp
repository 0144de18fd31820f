// Masks and weights whose numbers are known before the program runs: what they are zero at, or hide, does not count.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

constexpr int64_t size = 512, depth = 16;

struct Mask {
  const char* name;
  std::function<bool(int64_t, int64_t)> see;
  bool loses = false;  // some products, and says so
};

const Mask masks[] = {
    {"documents of different lengths",
     [](int64_t i, int64_t j) {
       const auto document = [](int64_t at) { return at < 100 ? 0 : at < 160 ? 1 : at < 400 ? 2 : 3; };
       return document(i) == document(j) && j <= i;
     }},
    {"a window and sinks", [](int64_t i, int64_t j) { return j <= i && (i - j < 64 || j < 4); }},
    {"a prefix", [](int64_t i, int64_t j) { return j <= i || j < 100; }},
    {"every 32nd", [](int64_t i, int64_t j) { return j <= i && (i - j) % 32 == 0; }},
    {"a neighbourhood in rows of 32",
     [](int64_t i, int64_t j) {
       const auto near = [](int64_t a, int64_t b, int64_t extent) {
         const int64_t first = std::clamp<int64_t>(a - 2, 0, extent - 5);
         return first <= b && b < first + 5;
       };
       return near(i / 32, j / 32, 16) && near(i % 32, j % 32, 32);
     },
     true},
    {"keys that are padded", [](int64_t, int64_t j) { return j < 384; }},
    {"queries that are padded", [](int64_t i, int64_t) { return i < 384; }},
    {"a steep line", [](int64_t i, int64_t j) { return j <= 3 * i && j < 300; }},
};

double points(const Mask& mask) {
  double count = 0;
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j) count += mask.see(i, j);
  return count;
}

Tensor filled(DType type, const std::function<double(int64_t, int64_t)>& number) {
  Tensor tensor(type, {size, size});
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j) tensor.set_f64(i * size + j, number(i, j));
  return tensor;
}

// Of both tiers.
std::pair<Analysis, Work> analysed(const std::string& text, const Tensor& known) {
  const loops::Program program = testing_support::program_of(text);
  Analysis analysis = analyze(program, {{program.inputs[0], &known}});
  Work work = analysis.fused.work;
  return {std::move(analysis), std::move(work)};
}

std::string attention(const std::string& type, const std::string& score) {
  return "program p(m: " + type + R"([512, 512], q: f32[512, 16], k: f32[512, 16], v: f32[512, 16]) -> (y) {
    s: f32[512, 512] = for i, j: sum d in 16: q[i, d] * k[j, d]
    t: f32[512, 512] = for i, j: )" +
         score + R"(
    g: f32[512] = for i: max j in 512: t[i, j]
    e: f32[512, 512] = for i, j: exp(t[i, j] - g[i])
    z: f32[512] = for i: sum j in 512: e[i, j]
    y: f32[512, 16] = for i, d: sum j in 512: e[i, j] / z[i] * v[j, d]
  })";
}

class KnownMasks : public testing::TestWithParam<Mask> {};

TEST_P(KnownMasks, CountWhereTheyLetThrough) {
  const Mask& mask = GetParam();
  const double products = 2 * depth * points(mask);
  const auto hidden = [&](double low) {
    return filled(DType::f32, [&, low](int64_t i, int64_t j) { return mask.see(i, j) ? 0 : low; });
  };
  const auto truth = [&](DType type) {
    return filled(type, [&](int64_t i, int64_t j) { return double(mask.see(i, j)); });
  };
  const auto expect = [&](const std::string& text, const Tensor& known) {
    const auto [analysis, work] = analysed(text, known);
    EXPECT_LE(work.total_macs(), products) << text;
    if (mask.loses)
      EXPECT_FALSE(analysis.given_up.empty()) << text;
    else
      EXPECT_EQ(work.total_macs(), products) << text;
  };
  for (const double low : {-double(INFINITY), -1e9}) expect(attention("f32", "s[i, j] + m[i, j]"), hidden(low));
  expect(attention("bool", "if(m[i, j], s[i, j], -inf)"), truth(DType::boolean));
  expect(attention("f32", "s[i, j] + (1 - m[i, j]) * -1e9"), truth(DType::f32));
}

INSTANTIATE_TEST_SUITE_P(All, KnownMasks, testing::ValuesIn(masks), [](const auto& one) {
  std::string name = one.param.name;
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
});

// Numbers of indices that are zero somewhere, as factors and hidden in sums.
TEST(KnownMasks, FormulasAreZeroWhereTheyAre) {
  const std::pair<const char*, double> cases[] = {
      {"f32(j mod 2) * x[i, j]", 0.5},     {"f32(1 - j div 12) * x[i, j]", 0.75}, {"f32(j mod 4) * x[i, j]", 0.75},
      {"f32(i mod 2) * x[i, j]", 0.5},     {"x[i, j] * f32((i + j) mod 2)", 0.5}, {"f32(j div 4 - 1) * x[i, j]", 0.75},
      {"f32(i - j) * x[i, j]", 15.0 / 16},
  };
  for (const auto& [body, share] : cases) {
    const loops::Program program = testing_support::program_of(std::string(R"(
program p(x: f32[16, 16], w: f32[16, 8]) -> (y) {
  a: f32[16, 16] = for i, j: )") + body + R"(
  y: f32[16, 8] = for i, j: sum k in 16: a[i, k] * w[k, j]
})");
    const Analysis analysis = analyze(program);
    EXPECT_EQ(analysis.fused.work.total_macs(), share * 16 * 16 * 8) << body;
    EXPECT_EQ(analysis.floor.work.total_macs(), share * 16 * 16 * 8) << body;
  }
  const loops::Program hidden = testing_support::program_of(R"(
program p(s: f32[16, 16], v: f32[16, 8]) -> (y) {
  a: f32[16, 16] = for i, j: exp(s[i, j] + f32(j div 12) * -1e9)
  y: f32[16, 8] = for i, j: sum k in 16: a[i, k] * v[k, j]
})");
  EXPECT_EQ(analyze(hidden).fused.work.total_macs(), 12 * 16 * 8);
}

// A tenth of the numbers, in no order
TEST(KnownMasks, ZerosWithoutAShapeAreLeftOut) {
  std::mt19937 random(1);
  std::vector<bool> left(size * size);
  double count = 0;
  for (int64_t i = 0; i < size * size; ++i) count += left[size_t(i)] = random() % 10 == 0;
  const auto number = [&](double one) {
    return [&, one](int64_t i, int64_t j) {
      return left[size_t(i * size + j)] ? one == 0 ? 1 + double(i + j) / 2000 : one : 0;
    };
  };
  const Tensor truths = filled(DType::boolean, number(1)), ones = filled(DType::f32, number(1)),
               numbers = filled(DType::f32, number(0));
  const std::tuple<const Tensor*, std::string, bool> cases[] = {
      {&numbers, "m[k, j]", true},
      {&numbers, "w[k, j] * m[k, j]", true},
      {&ones, "w[k, j] * m[k, j]", true},
      {&ones, "w[k, j] * (1 - m[k, j])", false},
      {&ones, "w[k, j] * max(m[k, j], 0.0)", false},
      {&truths, "if(m[k, j], w[k, j], 0)", true},
      {&truths, "if(m[k, j], 0, w[k, j])", false},
  };
  for (const auto& [known, weight, counts] : cases) {
    const std::string type = known == &truths ? "bool" : "f32";
    const std::string text = "program p(m: " + type + R"([512, 512], w: f32[512, 512], x: f32[64, 512]) -> (y) {
      f: f32[512, 512] = for k, j: )" +
                             weight + R"(
      y: f32[64, 512] = for i, j: sum k in 512: x[i, k] * f[k, j]
    })";
    const auto [analysis, work] = analysed(text, *known);
    EXPECT_LE(work.total_macs(), 64 * count) << weight;
    EXPECT_LE(analysis.floor.work.total_macs(), 64 * count) << weight;
    if (counts) {
      EXPECT_GE(work.total_macs(), 64 * count - 1) << weight;
    }
    // Which bytes of w are read is not counted, and that is said.
    const bool leaves_bytes = weight.find('w') != std::string::npos;
    EXPECT_EQ(analysis.given_up.empty(), counts && !leaves_bytes) << weight;
  }
}

}  // namespace
}  // namespace lightline::demand
