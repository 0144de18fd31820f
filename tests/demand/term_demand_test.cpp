// Demand as data: what is needed of every term, what it reads, and its work.
#include "demand/term_demand.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

struct Data {
  loops::Program program;
  Analysis analysis;
  explicit Data(const std::string& text)
      : program(testing_support::program_of(text)), analysis(analyze(program, {}, true)) {}
  const TermDemand* find(const std::string& kind, const std::string& array) const {
    const auto found = std::find_if(analysis.terms.begin(), analysis.terms.end(), [&](const TermDemand& term) {
      return term.kind == kind && std::any_of(term.arrays.begin(), term.arrays.end(),
                                              [&](loops::ArrayId id) { return program.arrays[id].name == array; });
    });
    return found == analysis.terms.end() ? nullptr : &*found;
  }
  // All work and all inputs are there, once.
  void expect_whole() const {
    Work work;
    double bytes = 0;
    for (const TermDemand& term : analysis.terms) {
      work.add(term.work);
      if (term.kind == "input") bytes += term.elements * bits(term.width) / 8.0;
    }
    EXPECT_EQ(work.macs, analysis.fused.work.macs);
    EXPECT_EQ(work.total_vector_ops(), analysis.fused.work.total_vector_ops());
    EXPECT_EQ(work.transcendental_ops, analysis.fused.work.transcendental_ops);
    EXPECT_EQ(bytes, analysis.fused.input_bytes);
  }
};

TEST(TermDemand, AMatrixProductReadsItsFactors) {
  const Data data(
      "program p(a: f32[8, 16], b: f16[16, 32]) -> (c) { c: f32[5, 32] = for i, j: sum k in 16: a[i, k] * b[k, j] }");
  data.expect_whole();
  const TermDemand *a = data.find("input", "a"), *b = data.find("input", "b"), *c = data.find("reduce", "c");
  ASSERT_TRUE(a != nullptr && b != nullptr && c != nullptr);
  EXPECT_EQ(a->elements, 5 * 16);
  EXPECT_EQ(b->elements, 16 * 32);
  EXPECT_EQ(c->elements, 5 * 32);
  EXPECT_EQ(c->statement, 0u);
  ASSERT_EQ(c->work.macs.size(), 1u);
  EXPECT_EQ(c->work.macs.begin()->first, Operands(DType::f16, DType::f32));
  EXPECT_EQ(c->work.total_macs(), 5 * 16 * 32);
  ASSERT_EQ(c->reads.size(), 2u);
  for (const TermDemand::Read& read : c->reads) EXPECT_EQ(read.elements, read.term == a->term ? 80 : 512);
  ASSERT_EQ(c->where.size(), 1u);
  EXPECT_EQ(c->where[0].box.size(), 2u);
}

TEST(TermDemand, ArraysThatAreTheSameShareATerm) {
  const Data data(
      "program p(x: f32[16, 8], w: f32[8, 4]) -> (c, d) {\n"
      "  c: f32[16, 4] = for i, j: sum k in 8: x[i, k] * w[k, j]\n"
      "  d: f32[4, 16] = for j, i: sum k in 8: w[k, j] * x[i, k]\n}");
  data.expect_whole();
  ASSERT_NE(data.find("reduce", "c"), nullptr);
  EXPECT_EQ(data.find("reduce", "c"), data.find("reduce", "d"));
}

TEST(TermDemand, ChainsAndFunctions) {
  const Data data(
      "program p(a: f32[64, 64], b: f32[64, 64], c: f32[64]) -> (y) {\n"
      "  h: f32[64, 64] = for i, j: sum k in 64: a[i, k] * b[k, j]\n"
      "  s: f32[64] = for i: sum j in 64: h[i, j] * c[j]\n"
      "  y: f32[64] = for i: exp(s[i])\n}");
  data.expect_whole();
  const TermDemand* s = data.find("reduce", "s");
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->reads.size(), 3u);  // a, b and c: the chain is one
  EXPECT_EQ(s->counts_for.size(), 1u);
}

TEST(TermDemand, NothingUnlessAsked) {
  EXPECT_TRUE(
      testing_support::analysis_of("program p(a: f32[8]) -> (c) { c: f32[8] = for i: exp(a[i]) }").terms.empty());
}

}  // namespace
}  // namespace lightline::demand
