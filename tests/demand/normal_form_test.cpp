// Spellings of one thing are one value of the normal form, and different things are not.
#include "demand/normal_form.h"

#include <gtest/gtest.h>

#include "support/programs.h"

namespace lightline::demand {
namespace {

struct Spellings {
  const char* name;
  const char* statements;  // they define y and z, of 4 x 6
};

constexpr const char* inputs =
    "a: f32[4, 6], b: f32[6, 4], c: f32[4, 6], d: f32[4, 6], h: bf16[4, 6], x: f32[24], n: i64[4]";

// What two outputs are, element by element.
std::pair<Cases, Cases> outputs_of(const std::string& statements) {
  const loops::Program program =
      testing_support::program_of("program p(" + std::string(inputs) + ") -> (y, z) {\n" + statements + "\n}");
  if (program.outputs.size() != 2) return {};
  const NormalForm form = normal_form(program);
  return {form.arrays[program.outputs[0].array], form.arrays[program.outputs[1].array]};
}

// Precision is a fact beside the value: only who is the element, and where.
bool are_equal(const Cases& a, const Cases& b) {
  if (a.size() != b.size() || a.empty()) return false;
  return std::all_of(a.begin(), a.end(), [&](const Case& one) {
    return std::any_of(b.begin(), b.end(), [&](const Case& other) {
      return one.where == other.where && one.value.kind == other.value.kind && one.value.term == other.value.term &&
             one.value.number == other.value.number && one.value.form == other.value.form &&
             one.value.at == other.value.at;
    });
  });
}

const Spellings equal[] = {
    {"a transpose and back",
     "  t: f32[6, 4] = view i, j: a[j, i]\n  e: f32[6, 4] = for i, j: exp(t[i, j])\n"
     "  y: f32[4, 6] = for i, j: exp(a[i, j])\n  z: f32[4, 6] = for i, j: e[j, i]"},
    {"a reshape and back",
     "  r: f32[24] = view i: a[i div 6, i mod 6]\n  e: f32[24] = for i: exp(r[i])\n"
     "  y: f32[4, 6] = for i, j: exp(a[i, j])\n  z: f32[4, 6] = for i, j: e[6 * i + j]"},
    {"a flip twice",
     "  f: f32[4, 6] = for i, j: exp(a[3 - i, 5 - j])\n"
     "  y: f32[4, 6] = for i, j: exp(a[i, j])\n  z: f32[4, 6] = for i, j: f[3 - i, 5 - j]"},
    {"halves put together again",
     "  l: f32[4, 3] = view i, j: a[i, j]\n  r: f32[4, 3] = view i, j: a[i, j + 3]\n"
     "  y: f32[4, 6] = for i, j: a[i, j]\n  z: f32[4, 6] = for i, j: if(j < 3, l[i, j | 0], r[i, j - 3 | 0])"},
    {"sums in another order",
     "  s: f32[4, 6] = for i, j: d[i, j] + a[i, j]\n"
     "  y: f32[4, 6] = for i, j: a[i, j] + c[i, j] + d[i, j]\n  z: f32[4, 6] = for i, j: s[i, j] + c[i, j]"},
    {"products in another order",
     "  s: f32[4, 6] = for i, j: d[i, j] * a[i, j]\n"
     "  y: f32[4, 6] = for i, j: a[i, j] * c[i, j] * d[i, j]\n  z: f32[4, 6] = for i, j: c[i, j] * s[i, j]"},
    {"numbers that join",
     "  s: f32[4, 6] = for i, j: a[i, j] * 2\n"
     "  y: f32[4, 6] = for i, j: s[i, j] * 3 + 1 + 2\n  z: f32[4, 6] = for i, j: 3 + 6 * a[i, j]"},
    {"likes that are collected",
     "  y: f32[4, 6] = for i, j: 3 * a[i, j]\n  z: f32[4, 6] = for i, j: a[i, j] + a[i, j] + a[i, j]"},
    {"maxima in another order",
     "  y: f32[4, 6] = for i, j: max(a[i, j], c[i, j])\n  z: f32[4, 6] = for i, j: max(c[i, j], a[i, j])"},
    {"a cast on the way",
     "  w: f32[4, 6] = for i, j: f32(h[i, j])\n"
     "  y: f32[4, 6] = for i, j: exp(w[i, j])\n  z: f32[4, 6] = for i, j: exp(h[i, j])"},
    {"a condition that always holds",
     "  y: f32[4, 6] = for i, j: exp(a[i, j])\n  z: f32[4, 6] = for i, j: if(i + j <= 8, exp(a[i, j]), 0)"},
    {"a fill that is never read",
     "  y: f32[4, 6] = for i, j: exp(a[i, j])\n  z: f32[4, 6] = for i, j: exp(a[i, j | 7])"},
    {"a product and then a sum",
     "  m: f32[4, 6, 4] = for i, k, l: a[i, l] * b[k, l | 0]\n"
     "  y: f32[4, 6] = for i, j: sum k in 4: a[i, k] * b[j, k]\n  z: f32[4, 6] = for i, j: sum l in 4: m[i, j, l]"},
    {"factors exchanged in a contraction",
     "  y: f32[4, 6] = for i, j: sum k in 4: a[i, k] * b[j, k]\n"
     "  z: f32[4, 6] = for i, j: sum k in 4: b[j, k] * a[i, k]"},
    {"the transposed product of transposes",
     "  p: f32[6, 4] = for i, j: sum k in 4: b[i, k] * a[j, k]\n"
     "  y: f32[4, 6] = for i, j: sum k in 4: a[i, k] * b[j, k]\n  z: f32[4, 6] = for i, j: p[j, i]"},
    {"a running total and a masked sum",
     "  y: f32[4, 6] = for i, scan j: y[i, j - 1 | 0] + a[i, j]\n"
     "  z: f32[4, 6] = for i, j: sum k in 6: if(k <= j, a[i, k], 0)"},
    {"a running maximum and a masked one",
     "  y: f32[4, 6] = for i, scan j: max(y[i, j - 1 | -inf], a[i, j])\n"
     "  z: f32[4, 6] = for i, j: max k in 6: if(k <= j, a[i, k], -inf)"},
    {"a short loop and its steps",
     "  y: f32[4, 6] = repeat t in 3 carry (q = a) { m: f32[4, 6] = for i, j: tanh(q[i, j]) + c[i, j]\n yield (m) }\n"
     "  s: f32[4, 6] = for i, j: tanh(a[i, j]) + c[i, j]\n  r: f32[4, 6] = for i, j: tanh(s[i, j]) + c[i, j]\n"
     "  z: f32[4, 6] = for i, j: tanh(r[i, j]) + c[i, j]"},
    {"a copy by scatter",
     "  y: f32[4, 6] = for i, j: exp(a[i, j])\n"
     "  z: f32[4, 6] = scatter set i in 4, j in 6 into 0: [3 - i, j] <- exp(a[3 - i, j])"},
};

const Spellings different[] = {
    {"a difference and its opposite",
     "  y: f32[4, 6] = for i, j: a[i, j] - c[i, j]\n  z: f32[4, 6] = for i, j: c[i, j] - a[i, j]"},
    {"other elements of one array", "  y: f32[4, 6] = for i, j: exp(x[j])\n  z: f32[4, 6] = for i, j: exp(x[j + 1])"},
    {"a part that is another",
     "  y: f32[4, 6] = for i, j: exp(a[i, j])\n  z: f32[4, 6] = for i, j: if(j < 5, exp(a[i, j]), 0)"},
    {"a quotient the other way round",
     "  y: f32[4, 6] = for i, j: a[i, j] / c[i, j]\n  z: f32[4, 6] = for i, j: c[i, j] / a[i, j]"},
    {"functions that are alike", "  y: f32[4, 6] = for i, j: exp(a[i, j])\n  z: f32[4, 6] = for i, j: exp2(a[i, j])"},
    {"reducers that are alike",
     "  y: f32[4, 6] = for i, j: max k in 4: b[j, k]\n  z: f32[4, 6] = for i, j: min k in 4: b[j, k]"},
    {"sums over other rows",
     "  y: f32[4, 6] = for i, j: sum k in 3: a[k, j]\n  z: f32[4, 6] = for i, j: sum k in 3: a[k + 1, j]"},
    {"one step more of a loop",
     "  y: f32[4, 6] = repeat t in 3 carry (q = a) { m: f32[4, 6] = for i, j: tanh(q[i, j])\n yield (m) }\n"
     "  z: f32[4, 6] = repeat t in 4 carry (q = a) { m: f32[4, 6] = for i, j: tanh(q[i, j])\n yield (m) }"},
    {"rounding that changes the value",
     "  y: f32[4, 6] = for i, j: exp(a[i, j])\n  z: f32[4, 6] = for i, j: exp(floor(a[i, j]))"},
    {"rows that other data tell",
     "  y: f32[4, 6] = for i, j: exp(a[n[i], j])\n  z: f32[4, 6] = for i, j: exp(a[n[3 - i], j])"},
};

TEST(NormalForm, EqualSpellingsAreOneValue) {
  for (const Spellings& one : equal) {
    const auto [y, z] = outputs_of(one.statements);
    EXPECT_TRUE(are_equal(y, z)) << one.name;
  }
}

TEST(NormalForm, DifferentThingsAreDifferentValues) {
  for (const Spellings& one : different) {
    const auto [y, z] = outputs_of(one.statements);
    EXPECT_FALSE(y.empty() || z.empty()) << one.name;
    EXPECT_FALSE(are_equal(y, z)) << one.name;
  }
}

}  // namespace
}  // namespace lightline::demand
