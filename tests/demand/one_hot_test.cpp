// Experts and other rows that data pick, in every spelling: one product of each token with the rows that it picks.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::floor_macs;
using testing_support::macs;
using testing_support::random_rows;

std::string experts(const std::string& gate) {
  return "program p(x: f32[64, 16], w: f32[8, 16, 32], e: i64[64], d: i64[64], a: f32[64], b: f32[64]) -> (y) {\n"
         "  h: f32[64, 8, 32] = for t, g, j: sum k in 16: x[t, k] * w[g, k, j]\n"
         "  y: f32[64, 32] = for t, j: sum g in 8: (" +
         gate + ") * h[t, g, j]\n}";
}

constexpr double one_each = 64 * 16 * 32;

TEST(OneHot, EverySpellingPicksOneExpert) {
  for (const char* gate : {"f32(e[t] == g)", "1 - f32(e[t] != g)", "f32(not (e[t] != g))", "if(e[t] != g, 0, 1)",
                           "f32(e[t] <= g and e[t] > g - 1)", "f32(g <= e[t] and g + 1 > e[t])",
                           "max(0, 1 - abs(f32(e[t]) - f32(g)))", "f32(e[t] - g == 0)", "f32(abs(e[t] - g) < 1)"}) {
    EXPECT_EQ(macs(experts(gate)), one_each) << gate;
    EXPECT_EQ(floor_macs(experts(gate)), 0) << gate;  // it may pick none
  }
}

TEST(OneHot, OtherTruthsPickAll) {
  for (const char* gate : {"f32(e[t] != g)", "f32(e[t] <= g and e[t] > g - 2)", "1 - f32(e[t] == g)"})
    EXPECT_GE(macs(experts(gate)), 8 * one_each) << gate;
}

TEST(OneHot, TwoOfThemPickTwoExperts) {
  for (const char* gate : {"if(e[t] == g, a[t], 0) + if(d[t] == g, b[t], 0)", "f32(e[t] == g or d[t] == g)"}) {
    EXPECT_GE(macs(experts(gate)), one_each) << gate;  // both may be the same
    EXPECT_LE(macs(experts(gate)), 2 * one_each + 64 * 32) << gate;
  }
}

TEST(OneHot, ExpertsThatAreAddedInTurnShareTheRows) {
  std::string text = "program p(x: f32[64, 16], w: f32[4, 16, 32], e: i64[64]) -> (y) {\n", sum;
  for (const char* g : {"0", "1", "2", "3"}) {
    text += std::string("  h") + g + ": f32[64, 32] = for t, j: sum k in 16: x[t, k] * w[" + g + ", k, j]\n";
    sum += std::string(sum.empty() ? "" : " + ") + "f32(e[t] == " + g + ") * h" + g + "[t, j]";
  }
  text += "  y: f32[64, 32] = for t, j: " + sum + "\n}";
  EXPECT_EQ(macs(text), one_each);
  EXPECT_EQ(floor_macs(text), 0);
}

TEST(OneHot, ARoutersSecondChoiceIsAnotherExpert) {
  std::string text =
                  "program p(x: f32[64, 16], w: f32[4, 16, 32], s: f32[64, 4]) -> (y) {\n"
                  "  (v: f32[64, 2], e: i64[64, 2]) = opaque topk(s, k = 2, dim = 1)\n",
              sum;
  for (const char* g : {"0", "1", "2", "3"}) {
    text += std::string("  h") + g + ": f32[64, 32] = for t, j: sum k in 16: x[t, k] * w[" + g + ", k, j]\n";
    for (const char* choice : {"0", "1"})
      sum += std::string(sum.empty() ? "" : " + ") + "if(e[t, " + choice + "] == " + g + ", v[t, " + choice + "] * h" +
             g + "[t, j], 0)";
  }
  text += "  y: f32[64, 32] = for t, j: " + sum + "\n}";
  EXPECT_EQ(macs(text), 2 * one_each);
}

TEST(OneHot, GatesOfSeveralChoicesGiveEachExpertItsShare) {
  for (const char* gate : {"sum k in 2: if(e[t, k] == G, v[t, k], 0)", "f32(or k in 2: e[t, k] == G)"}) {
    std::string text =
                    "program p(x: f32[64, 16], w: f32[4, 16, 32], s: f32[64, 4]) -> (y) {\n"
                    "  (v: f32[64, 2], e: i64[64, 2]) = opaque topk(s, k = 2, dim = 1)\n",
                sum;
    for (const char* g : {"0", "1", "2", "3"}) {
      std::string own = gate;
      own.replace(own.find('G'), 1, g);
      const bool truth = own.starts_with("f32(");
      if (truth) own = own.substr(4, own.size() - 5);
      text += std::string("  g") + g + (truth ? ": bool[64]" : ": f32[64]") + " = for t: " + own + "\n";
      text += std::string("  h") + g + ": f32[64, 32] = for t, j: sum k in 16: x[t, k] * w[" + g + ", k, j]\n";
      sum += std::string(sum.empty() ? "" : " + ") + (truth ? "f32(g" : "(g") + g + "[t]) * tanh(h" + g + "[t, j])";
    }
    text += "  y: f32[64, 32] = for t, j: " + sum + "\n}";
    EXPECT_GE(macs(text), 2 * one_each) << gate;
    EXPECT_LE(macs(text), 2 * one_each + 4 * 64) << gate;  // the gates
  }
}

TEST(OneHot, TablesThatTheProgramCarriesTellTheirPlaces) {
  // Rows 2, 3 and 0 of five: exponentials of three columns, the others are 1
  EXPECT_EQ(testing_support::transcendentals("program p(x: f32[2, 3]) -> (y) {\n"
                                             "  at: i64[3] = const [2, 3, 0]\n"
                                             "  one: f32[3, 5] = for i, j: if(at[i] == j, 1, 0)\n"
                                             "  z: f32[2, 5] = for i, j: sum k in 3: x[i, k] * one[k, j]\n"
                                             "  y: f32[2, 5] = for i, j: exp(z[i, j])\n}"),
            2 * 3);
}

// Two of eight experts, by rows that are added: as many as two draws touch.
TEST(OneHot, RowsThatAreAddedPickSeveral) {
  const std::string experts = R"(program p(x: f32[256, 64], a: i64[256, PICKS], w: f32[8, 64, 64]) -> (y) {
    g: f32[256, 8] = for t, e: sum k in PICKS: f32(e == a[t, k])
    h: f32[8, 256, 64] = for e, t, j: sum k in 64: x[t, k] * w[e, k, j]
    u: f32[8, 256, 64] = for e, t, j: max(h[e, t, j], 0)
    y: f32[256, 64] = for t, j: sum e in 8: g[t, e] * u[e, t, j]
  })";
  const auto of = [&](const std::string& picks) {
    std::string text = experts;
    for (size_t at; (at = text.find("PICKS")) != std::string::npos;) text.replace(at, 5, picks);
    return macs(text);
  };
  EXPECT_NEAR(of("2"), 64 * 64 * 256 * random_rows(8, 2), 1);
  EXPECT_EQ(of("16"), 8 * 64 * 64 * 256 + 8 * 64 * 256);  // counted first
}

// Two of eight experts in one array, behind a ReLU, by gates of a router's choice in any spelling: each row meets two.
TEST(OneHot, GatesPickFromExpertsInOneArray) {
  for (const std::string gate : {
           "  g: f32[256, 8] = for t, e: sum k in 2: if(e == c[t, k], v[t, k], 0)\n",
           "  z: f32[256, 8] = for t, e: 0\n"
           "  g: f32[256, 8] = scatter set t in 256, k in 2 into z: [t, c[t, k]] <- v[t, k]\n",
           "  z: f32[256, 8] = for t, e: -inf\n"
           "  u: f32[256, 8] = scatter set t in 256, k in 2 into z: [t, c[t, k]] <- v[t, k]\n"
           "  g: f32[256, 8] = for t, e: exp(u[t, e] - r[t])\n",
           "  z: f32[256, 8] = for t, e: -inf\n"
           "  u: f32[256, 8] = scatter set t in 256, k in 2 into z: [t, c[t, k]] <- v[t, k]\n"
           "  g: f32[256, 8] = for t, e: sigmoid(u[t, e])\n",
           "  z: f32[256, 8] = for t, e: 0\n"
           "  m: f32[256, 8] = scatter set t in 256, k in 2 into z: [t, c[t, k]] <- 1.0\n"
           "  g: f32[256, 8] = for t, e: exp(if(m[t, e] == 0, -inf, s[t, e]) - r[t])\n",
       }) {
    const auto text = [&](const std::string& before, const std::string& after) {
      return "program p(x: f32[256, 16], w: f32[8, 16, 32], s: f32[256, 8], r: f32[256]) -> (y) {\n"
             "  (v: f32[256, 2], c: i64[256, 2]) = opaque topk(s, k = 2, dim = 1)\n" +
             gate + "  h: f32[256, 8, 32] = for t, e, j: sum k in 16: x[t, k] * " + before +
             "w[e, k, j]\n"
             "  u_1: f32[256, 8, 32] = for t, e, j: max(h[t, e, j], 0)\n"
             "  y: f32[256, 32] = for t, j: sum e in 8: " +
             after + "u_1[t, e, j]\n}";
    };
    const double products = 2 * 256 * 16 * 32, sums = 2 * 256 * 32;
    EXPECT_NEAR(macs(text("", "g[t, e] * ")), products + sums, 1e-3) << gate;
    if (gate.find("scatter") != std::string::npos) {
      EXPECT_NEAR(macs(text("g[t, e] * ", "")), products, 1e-3) << gate;  // a ReLU of zero is zero
    }
  }
}

// The second product of all experts at once, over experts and hidden units in one index
TEST(OneHot, GatesPickByDigits) {
  EXPECT_NEAR(macs("program p(x: f32[256, 16], w: f32[8, 16, 32], d: f32[256, 16], s: f32[256, 8]) -> (y) {\n"
                   "  (v: f32[256, 2], c: i64[256, 2]) = opaque topk(s, k = 2, dim = 1)\n"
                   "  z: f32[256, 8] = for t, e: 0\n"
                   "  g: f32[256, 8] = scatter set t in 256, k in 2 into z: [t, c[t, k]] <- v[t, k]\n"
                   "  h: f32[256, 8, 32] = for t, e, j: sum k in 16: x[t, k] * w[e, k, j]\n"
                   "  u: f32[256, 8, 32] = for t, e, j: max(h[t, e, j], 0)\n"
                   "  y: f32[256, 16] = for t, o: sum f in 256: d[f, o] * g[t, f div 32] * u[t, f div 32, f mod 32]\n"
                   "}"),
              2 * 256 * (16 * 32 + 32 * 16), 1);
}

// y = where(c == e, y + v * expert, y), expert by expert and choice by choice
TEST(OneHot, ExpertsThatAreAddedWhereTheyAreChosenShareTheRows) {
  std::string text =
      "program p(x: f32[64, 16], w: f32[4, 16, 32], s: f32[64, 4]) -> (y) {\n"
      "  (v: f32[64, 2], c: i64[64, 2]) = opaque topk(s, k = 2, dim = 1)\n"
      "  y_00: f32[64, 32] = for t, j: 0\n";
  std::string last = "y_00";
  for (const char* e : {"0", "1", "2", "3"}) {
    text += std::string("  h") + e + ": f32[64, 32] = for t, j: sum k in 16: x[t, k] * w[" + e + ", k, j]\n";
    for (const char* k : {"0", "1"}) {
      const std::string next = e == std::string("3") && k == std::string("1") ? "y" : std::string("y_") + e + k + "_";
      text += "  " + next + ": f32[64, 32] = for t, j: if(c[t, " + k + "] == " + e + ", " + last + "[t, j] + v[t, " +
              k + "] * tanh(h" + e + "[t, j]), " + last + "[t, j])\n";
      last = next;
    }
  }
  EXPECT_EQ(macs(text + "}"), 2 * one_each);
}

// y = where(e == g, expert, y), expert by expert, in other words, and with indices of all kinds
TEST(OneHot, ExpertsThatTakeThePlaceOfAnotherShareTheRows) {
  const std::string numbers[] = {
      "e: i64[64] = for t: argmax g in 4: s[t, g]",
      "e: i64[64] = for t: argmin g in 4: s[t, g] * s[t, g]",
      "e: i64[64] = for t: i64(floor(4 / (1 + exp(s[t, 0]))))",
      "(v: f32[64, 4], e_all: i64[64, 4]) = opaque sort(s, dim = 1)\n  e: i64[64] = view t: e_all[t, 3]",
  };
  const std::string choices[] = {
      "if(e[t] == G, tanh(hG[t, j]), LAST[t, j])",
      "if(e[t] != G, LAST[t, j], tanh(hG[t, j]))",
      "if(e[t] == G, 0, LAST[t, j]) + f32(e[t] == G) * tanh(hG[t, j])",
      "(1 - f32(e[t] == G)) * LAST[t, j] + f32(e[t] == G) * tanh(hG[t, j])",
  };
  for (const std::string& number : numbers)
    for (const std::string& choice : choices) {
      std::string text = "program p(x: f32[64, 16], w: f32[4, 16, 32], s: f32[64, 4]) -> (y3) {\n  " + number +
                         "\n  y: f32[64, 32] = for t, j: 0\n";
      std::string last = "y";
      for (const char* g : {"0", "1", "2", "3"}) {
        const std::string next = std::string("y") + g;
        std::string step = "  NEXT: f32[64, 32] = for t, j: " + choice + "\n";
        for (const auto& [word, by] : {std::pair<std::string, std::string>{"NEXT", next}, {"LAST", last}, {"G", g}})
          for (size_t at = step.find(word); at != std::string::npos; at = step.find(word))
            step.replace(at, word.size(), by);
        text += std::string("  h") + g + ": f32[64, 32] = for t, j: sum k in 16: x[t, k] * w[" + g + ", k, j]\n" + step;
        last = next;
      }
      EXPECT_EQ(macs(text + "}"), one_each) << number << ", " << choice;
    }
}

// Rows of a table t by the expert e and the place p[s] in it, times a gate: each row of x meets one row of every expert.
TEST(OneHot, PlacesAreDigitsOfOneIndex) {
  const std::string start = "program p(g: f32[32, 4], p: i64[32], t: f32[4, 8, 16]) -> (y) {\n";
  const std::string two = "  y: f32[32, 16] = for s, m: sum e in 4, c in 8: g[s, e] * f32(c == p[s]) * t[e, c, m]\n}";
  const std::string one =
      "  y: f32[32, 16] = for s, m: sum r in 32: g[s, r div 8] * f32(r mod 8 == p[s]) * t[r div 8, r mod 8, m]\n}";
  const std::string other =
      "  y: f32[32, 16] = for s, m: sum r in 32: g[s, r mod 4] * f32(r div 4 == p[s]) * t[r mod 4, r div 4, m]\n}";
  for (const std::string& body : {two, one, other}) EXPECT_EQ(macs(start + body), 32 * 4 * 16) << body;
}

TEST(OneHot, BothDigitsOfAPlacePickARow) {
  const std::string picks =
      "program p(a: i64[32], b: i64[32], g: f32[32], t: f32[64, 16]) -> (y) {\n"
      "  y: f32[32, 16] = for s, m: sum r in 64: GATE f32(r div 8 == a[s]) * f32(r mod 8 == b[s]) * t[r, m]\n}";
  const auto of = [&](const std::string& gate) {
    std::string text = picks;
    return text.replace(text.find("GATE"), 4, gate);
  };
  EXPECT_EQ(macs(of("")), 0);
  EXPECT_EQ(macs(of("g[s] *")), 32 * 16);
  // Rows that 32 draws of 64 touch, three vectors, and the results
  EXPECT_NEAR(testing_support::elements(of("g[s] *")), 16 * random_rows(64, 32) + 32 * (2 + 2 + 1) + 32 * 16, 1);
}

TEST(OneHot, FlattenedRowsOfAllExpertsAreRead) {
  const std::string text =
      "program p(p: i64[32], g: f32[32, 4], t: f32[32, 16]) -> (y) {\n"
      "  y: f32[32, 16] = for s, m: sum r in 32: g[s, r div 8] * f32(r mod 8 == p[s]) * t[r, m]\n}";
  EXPECT_EQ(macs(text), 32 * 4 * 16);
  EXPECT_NEAR(testing_support::elements(text), 4 * 16 * random_rows(8, 32) + 32 * 2 + 32 * 4 + 32 * 16, 1);
}

// A row of x goes to one place of each expert whose gate is not 0.
TEST(OneHot, AChoiceThatIsComparedWithZeroIsATruth) {
  const auto of = [](const std::string& truth) {
    return "program p(g: f32[32, 4], p: i64[32], x: f32[32, 16]) -> (y) {\n  d: bool[32, 4, 8] = for s, e, c: " +
           truth + "\n  y: f32[4, 8, 16] = for e, c, m: sum s in 32: f32(d[s, e, c]) * x[s, m]\n}";
  };
  for (const char* truth : {"g[s, e] != 0 and c == p[s]", "g[s, e] * f32(c == p[s]) != 0",
                            "g[s, e] * f32(c == p[s]) > 0", "0 < if(c == p[s], g[s, e], 0)",
                            "not (2 * g[s, e] * f32(c == p[s]) <= 0)", "abs(g[s, e] * f32(c == p[s])) > 0"})
    EXPECT_EQ(macs(of(truth)), 32 * 4 * 16) << truth;
  for (const char* truth : {"2 * f32(c == p[s]) > 1", "f32(c == p[s]) * 3 != 0"})
    EXPECT_EQ(macs(of(truth)), 0) << truth;
  // Not a pick: all but one place
  EXPECT_GE(macs(of("g[s, e] * f32(c == p[s]) == 0")), 32 * 4 * 8 * 16);
}

TEST(OneHot, ChoicesThatAreAddedAreAnyOfThem) {
  const auto of = [](const std::string& truth) {
    return "program p(g: f32[32], h: f32[32], p: i64[32], q: i64[32], x: f32[32, 16]) -> (y) {\n"
           "  d: bool[32, 8] = for s, c: " +
           truth + "\n  y: f32[8, 16] = for c, m: sum s in 32: f32(d[s, c]) * x[s, m]\n}";
  };
  EXPECT_EQ(macs(of("f32(c == p[s]) + f32(c == q[s]) != 0")), 0);
  EXPECT_EQ(macs(of("exp(g[s]) * f32(c == p[s]) + exp(h[s]) * f32(c == q[s]) > 0")), 2 * 32 * 16);
  // They may cancel
  EXPECT_GE(macs(of("g[s] * f32(c == p[s]) + h[s] * f32(c == q[s]) != 0")), 8 * 32 * 16);
}

// Two choices of each row, as a router gives them, combined with their gates.
TEST(OneHot, GatedRowsThatAreAddedPickSeveral) {
  const std::string start =
      "program p(g: f32[32, 2], e: i64[32, 2], p: i64[32, 2], t: f32[4, 8, 16]) -> (y) {\n"
      "  c: f32[32, 4, 8] = for s, a, b: sum k in 2: g[s, k] * f32(a == e[s, k]) * f32(b == p[s, k])\n"
      "  y: f32[32, 16] = for s, m: ";
  for (const char* sum : {"sum a in 4, b in 8: c[s, a, b] * t[a, b, m]\n}",
                          "sum r in 32: c[s, r div 8, r mod 8] * t[r div 8, r mod 8, m]\n}"})
    EXPECT_EQ(macs(start + sum), 32 * 2 * 16) << sum;
}

// Rows that are sent to places of experts meet the weights there, each place once.
TEST(OneHot, RowsAreSentBeforeTheyMeetWeights) {
  const auto work =
      testing_support::analysis_of(R"(program p(i: i64[32], p: i64[32], x: f32[32, 16], w: f32[4, 16, 64]) -> (y) {
    d: f32[4, 8, 16] = for e, c, m: sum s in 32: f32(e == i[s]) * f32(c == p[s]) * x[s, m]
    h: f32[4, 8, 64] = for e, c, j: sum m in 16: d[e, c, m] * w[e, m, j]
    y: f32[32, 64] = for s, j: sum e in 4, c in 8: f32(e == i[s]) * f32(c == p[s]) * tanh(h[e, c, j])
  })")
          .fused.work;
  EXPECT_NEAR(work.macs.at(DType::f32), random_rows(32, 32) * 16 * 64, 1);
}

}  // namespace
}  // namespace lightline::demand
