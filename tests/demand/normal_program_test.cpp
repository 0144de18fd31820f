// The normal form as a program: it verifies and prints, gives what the original gives, and costs what it costs.
#include "demand/normal_program.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/exported_model.h"
#include "demand/meaning.h"
#include "frontend/load/load.h"
#include "ops/lower/lower.h"
#include "support/programs.h"
#include "support/seed.h"
#include "truth/fuzz.h"

namespace lightline::demand {
namespace {

using testing_support::program_of;

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> programs_in(const std::string& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(LIGHTLINE_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".lir") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// What differs by more than a hundredth in the fused tier; empty if nothing does.
std::string difference_of_cost(const loops::Program& program, const NormalProgram& normal, const KnownValues& known) {
  const Demand before = analyze(program, known).fused, after = analyze(normal.program, known).fused;
  std::string text;
  const auto see = [&](const char* what, double a, double b) {
    if (std::abs(a - b) > 0.01 * std::max(a, b)) text += fmt::format(" {} {} was {}", what, b, a);
  };
  see("input bytes", before.input_bytes, after.input_bytes);
  see("output bytes", before.output_bytes, after.output_bytes);
  see("products", before.work.total_macs(), after.work.total_macs());
  see("vector operations", before.work.total_vector_ops(), after.work.total_vector_ops());
  see("transcendentals", before.work.transcendental_ops, after.work.transcendental_ops);
  return text;
}

struct Checked {
  NormalProgram normal;
  bool is_spelled = false;  // a part of it
};

enum class Cost : uint8_t { same, any };

// The same meaning and the same cost.
Checked expect_same(const std::string& text, const std::string& name = "test", Cost cost = Cost::same) {
  SCOPED_TRACE(name);
  const loops::Program program = program_of(text);
  testing::Normalised normalised = testing::normalised(program);
  EXPECT_EQ(normalised.fault, "") << text;
  if (!normalised.fault.empty()) return {};
  const auto inputs = truth::random_inputs(program, 7, 2);
  const std::string written = to_text(normalised.normal, program);
  EXPECT_EQ(testing::difference_of_meaning(program, normalised.normal, inputs), "") << text << written;
  if (cost == Cost::same) {
    EXPECT_EQ(difference_of_cost(program, normalised.normal, {}), "") << text << written;
  }
  Checked checked{std::move(normalised.normal)};
  for (const StatementFact& fact : checked.normal.facts) checked.is_spelled |= fact.origin == Origin::spelled;
  return checked;
}

std::string written(const std::string& text) {
  const loops::Program program = program_of(text);
  NormalForm form = normal_form(program);
  return loops::print(as_program(form).program);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(NormalProgram, OfEveryExample) {
  for (const auto& path : programs_in("examples/loops")) {
    const Checked checked = expect_same(file_text(path), path.filename());
    EXPECT_FALSE(checked.is_spelled) << path;
  }
}

TEST(NormalProgram, OfEveryProgramThatWasFoundByEnumeration) {
  for (const auto& path : programs_in("tests/truth/found")) expect_same(file_text(path), path.filename(), Cost::any);
}

// Random programs of every construct. What the two cost may differ where a cut of a region is not exact: rarely.
TEST(NormalProgram, OfRandomPrograms) {
  constexpr uint64_t programs = 2000;
  const uint64_t first = testing_support::seed_of(31'000'000);
  SCOPED_TRACE(testing_support::seed_text());
  uint64_t compared = 0, costs_differ = 0, spelled = 0;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    const auto subject = truth::subject_of(truth::Generator(seed).run(), seed);
    ASSERT_TRUE(subject.ok()) << to_string(subject.error());
    KnownValues known;
    for (size_t i = 0; i < subject->inputs.size(); ++i)
      if (subject->known.contains(subject->program.inputs[i])) known[subject->program.inputs[i]] = &subject->inputs[i];
    const testing::Normalised normalised = testing::normalised(subject->program, known);
    ASSERT_EQ(normalised.fault, "") << loops::print(subject->program);
    EXPECT_EQ(testing::difference_of_meaning(subject->program, normalised.normal, subject->inputs), "")
        << loops::print(subject->program) << to_text(normalised.normal, subject->program);
    ++compared;
    costs_differ += !difference_of_cost(subject->program, normalised.normal, known).empty();
    spelled += std::any_of(normalised.normal.facts.begin(), normalised.normal.facts.end(),
                           [](const StatementFact& fact) { return fact.origin == Origin::spelled; });
  }
  EXPECT_EQ(compared, programs);
  EXPECT_LE(costs_differ * 100, programs);
  EXPECT_LE(spelled * 20, programs);
}

TEST(NormalProgram, StatementsOfOneTermAreOne) {
  // A product in two statements, with a scale between them
  const std::string text = written(R"(program p(a: f32[8, 16], b: f32[16, 4]) -> (y) {
    wide: f32[8, 4, 16] = for i, j, k: a[i, k] * b[k, j]
    scaled: f32[8, 4, 16] = for i, j, k: wide[i, j, k] / 8
    y: f32[8, 4] = for i, j: sum k in 16: scaled[i, j, k]
  })");
  EXPECT_TRUE(has(text, "y_1: f32[8, 4] = for i, j: sum r in 16: a[i, r] * b[r, j]\n")) << text;
  EXPECT_TRUE(has(text, "y: f32[8, 4] = for i, j: 0.125 * y_1[i, j]\n")) << text;
  EXPECT_FALSE(has(text, "wide")) << text;
}

TEST(NormalProgram, CasesAreConditions) {
  const std::string text = written(R"(program p(x: f32[6, 6], y: f32[6, 6]) -> (z) {
    z: f32[6, 6] = for i, j: if(j <= i, x[i, j], y[i, j])
  })");
  EXPECT_TRUE(has(text, "z: f32[6, 6] = for i, j: if(j <= i, x[i, j], y[i, j])\n") ||
              has(text, "z: f32[6, 6] = for i, j: if(i + 1 <= j, y[i, j], x[i, j])\n"))
      << text;
}

// A loop too long to be written out stays one, and what it does in every step alike is done before it.
TEST(NormalProgram, LongLoopsAreRepeats) {
  const std::string text = R"(program p(x: f32[600, 3, 4], w: f32[4, 4], u: f32[4, 4], h0: f32[3, 4]) -> (hs, h, ys) {
    (h: f32[3, 4], hs: f32[600, 3, 4], ys: f32[600, 3, 4]) = repeat t in 600 carry (last = h0) {
      input: f32[3, 4] = for b, i: sum k in 4: x[t, b, k] * w[k, i]
      state: f32[3, 4] = for b, i: sum k in 4: last[b, k] * u[k, i]
      next: f32[3, 4] = for b, i: tanh(input[b, i] + state[b, i])
      seen: f32[3, 4] = for b, i: next[b, i] * next[b, i]
      yield (next, stack next, stack seen)
    }
  })";
  const Checked checked = expect_same(text);
  EXPECT_FALSE(checked.is_spelled);
  const std::string normal = loops::print(checked.normal.program);
  EXPECT_TRUE(has(normal, "repeat step in 600")) << normal;
  EXPECT_TRUE(has(normal, "input: f32[600, 3, 4] = for i, j, k: sum r in 4: x[i, j, r] * w[r, k]\n")) << normal;
}

TEST(NormalProgram, ALoopOfTwoStates) {
  expect_same(R"(program p(x: f32[700, 5], a0: f32[5], b0: f32[5]) -> (a, b, bs) {
    (a: f32[5], b: f32[5], bs: f32[700, 5]) = repeat t in 700 carry (last_a = a0, last_b = b0) {
      next_a: f32[5] = for i: tanh(last_a[i] + last_b[(i + 1) mod 5] + x[t, i])
      next_b: f32[5] = for i: last_a[4 - i] * 0.5
      yield (next_a, next_b, stack last_b)
    }
  })");
}

TEST(NormalProgram, ScansThatAreNoTotals) {
  const Checked checked = expect_same(R"(program p(x: f32[4, 9], a: f32[4]) -> (y) {
    h: f32[4, 9] = for b, scan t: tanh(h[b, t - 1 | 0] * a[b] - h[b, t - 2 | 1]) + x[b, t]
    y: f32[9, 4] = for t, b: h[b, 8 - t] * 2
  })");
  EXPECT_FALSE(checked.is_spelled);
}

TEST(NormalProgram, OpaqueOperatorsScattersAndTables) {
  expect_same(R"(program p(x: f32[6, 9], at: i64[5], g: f32[5, 4]) -> (v, y, z) {
    double: f32[6, 9] = for i, j: 2 * x[i, j]
    (v: f32[6, 3], places: i64[6, 3]) = opaque topk(double, k = 3, dim = 1, largest = true)
    order: i64[6] = const [3, 1, 5, 0, 2, 4]
    picked: f32[6, 3] = for i, j: x[order[i], places[i, j]]
    y: f32[6, 4] = scatter sum i in 5, j in 4 into 0: [at[i], j] <- g[i, j] * 3
    z: f32[6, 4] = for i, j: y[i, j] + picked[i, min(j, 2)]
  })");
}

// A case that the ranges of a reduction show to be empty takes no part in it.
TEST(NormalProgram, CasesThatRangesDecide) {
  const std::string text = written(R"(program p(x: f32[6, 4], w: f32[7, 3]) -> (y) {
    y: f32[6, 3] = for i, j: sum k in 4: if(k >= 3, x[i, k - 3 | 0], 0) * if(k mod 2 == 0, w[k, j], 0)
  })");
  EXPECT_TRUE(has(text, "y: f32[6, 3] = for i, j: 0.0\n")) << text;
}

// Several elements that a scatter sends to one place are added there, also where they are elements of one term.
TEST(NormalProgram, ElementsThatMeetInOnePlace) {
  const Checked checked = expect_same(R"(program p(x: f32[7, 8]) -> (y) {
    y: f32[4, 5] = scatter sum k in 7, l in 8 into 0: [3 - abs(3 - abs(k - 3)), 4 - abs(4 - abs(l - 2))] <- x[k, l]
  })",
                                      "test", Cost::any);
  EXPECT_FALSE(checked.is_spelled);
}

// Places that are computed in f32 are those of f32: 3 * 1.6666666 is 5.
TEST(NormalProgram, PlacesAreRoundedAsTheProgramSays) {
  expect_same(R"(program p(x: f32[2, 6]) -> (y) {
    first: i64[3] = for i: max(i64((f32(i) + 0.5) * 1.6666666269302368 - 1.6666666269302368 + 0.5), 0)
    w: f32[3, 4] = for i, j: if(first[i] + j < min(i64((f32(i) + 0.5) * 1.6666666269302368 + 2.1666666269302368), 6), 1, 0)
    y: f32[2, 3] = for b, i: sum r in 4: w[i, r] * x[b, min(first[i] + r, 5)]
  })");
}

// Places that are no formula of positions are numbers of a table.
TEST(NormalProgram, PlacesOfATable) {
  const Checked checked = expect_same(R"(program p(x: f32[2, 4]) -> (y) {
    y: f32[2, 5] = for b, i: x[b, max(min(i64(floor(f32(i) * 0.7692307829856873)), 3), 0)]
  })");
  EXPECT_FALSE(checked.is_spelled);
}

// An elimination that picks its rows has elements of which data tell what they are: it ends soon, and says so.
TEST(NormalProgram, EliminationsEndSoon) {
  const std::string text = R"(program p(a: f32[6, 6]) -> (y) {
    y: f32[6, 6] = repeat step in 6 carry (last = a) {
      at: i64[] = argmax r in 6: if(r < step, -1, abs(last[r, step]))
      turned: f32[6, 6] = for j, k: last[if(j == step, at[], if(j == at[], step, j)), k]
      scale: f32[6] = for j: if(j > step, turned[j, step] / turned[step, step], 0)
      next: f32[6, 6] = for j, k: if(j > step and k >= step, turned[j, k] - scale[j] * turned[step, k], turned[j, k])
      yield (next)
    }
  })";
  const Checked checked = expect_same(text);
  EXPECT_TRUE(checked.is_spelled);
  const loops::Program program = program_of(text);
  EXPECT_FALSE(analyze(program).given_up.empty());
}

// Positions count in the order of the statement, whatever order the body reads in.
TEST(NormalProgram, PositionsOfSeveralIndices) {
  const Checked checked = expect_same(R"(program p(x: f32[4, 5, 3]) -> (y, z) {
    y: i64[4] = for i: argmax s in 3, r in 5: x[i, r, s]
    z: i64[4] = for i: argmin r in 5, s in 3: if(r >= 2, x[i, r, s], inf)
  })");
  EXPECT_FALSE(checked.is_spelled);
}

// What is not known is kept as it is spelled, and so is all that is made of it.
TEST(NormalProgram, WhatIsNotKnownStaysAsSpelled) {
  const std::string text = R"(program p(x: f32[5, 4], u: f32[8, 4], w: f32[4, 3]) -> (y, other) {
    other: f32[5, 4] = for i, j: exp(x[i, j])
    written: f32[5, 4] = scatter set i in 8, j in 4 into other: [i div 2, j] <- 2 * u[i, j]
    y: f32[5, 3] = for i, j: sum k in 4: written[i, k] * w[k, j]
  })";
  const Checked checked = expect_same(text);
  EXPECT_TRUE(checked.is_spelled);
  ASSERT_EQ(checked.normal.facts.size(), 3u);
  EXPECT_EQ(checked.normal.facts[0].origin, Origin::result);
  EXPECT_EQ(checked.normal.facts[1].origin, Origin::spelled);
  EXPECT_EQ(checked.normal.facts[2].origin, Origin::spelled);
  EXPECT_EQ(checked.normal.facts[1].statement, 1u);
}

TEST(NormalProgram, FactsNameTermsStatementsAndWidths) {
  const loops::Program program = program_of(R"(program p(x: bf16[8, 4], w: bf16[4, 4]) -> (y) {
    h: bf16[8, 4] = for i, j: sum k in 4: x[i, k] * w[k, j]
    m: bf16[8] = for i: max k in 4: h[i, k]
    y: bf16[8, 4] = for i, j: h[i, j] - m[i]
  })");
  NormalForm form = normal_form(program);
  const NormalProgram normal = as_program(form);
  ASSERT_EQ(normal.facts.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(normal.facts[i].statement, i);
    EXPECT_TRUE(normal.facts[i].reads_data);
  }
  EXPECT_EQ(normal.facts[0].origin, Origin::term);
  EXPECT_EQ(form.terms[normal.facts[0].term].kind, TermKind::reduce);
  EXPECT_EQ(normal.facts[0].width, DType::f32);
  EXPECT_EQ(normal.facts[1].width, DType::bf16);  // the greatest of numbers that are rounded
  EXPECT_EQ(normal.facts[2].origin, Origin::result);
}

// A residual stream that every layer reads twice does not double: nodes grow with statements.
TEST(NormalProgram, AsLargeAsTheProgram) {
  for (const int nodes : {500, 5000}) {
    const auto graph =
        frontend::parse_graph(bench::exported_transformer(nodes), frontend::ExportForm::training, "model");
    ASSERT_TRUE(graph.ok());
    const auto lowered = ops::lower(*graph);
    ASSERT_TRUE(lowered.ok());
    const size_t statements = loops::statements_by_id(lowered->program).size();
    NormalForm form = normal_form(lowered->program);
    EXPECT_GE(statements, size_t(nodes) / 2);
    EXPECT_LE(form.terms.size(), 4 * statements);
    EXPECT_LE(as_program(form).facts.size(), statements);
  }
}

}  // namespace
}  // namespace lightline::demand
