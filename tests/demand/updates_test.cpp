// Scatters by formulas of indices, updates in place, gathers and scatters to places that data tell.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::macs;
using testing_support::program_of;
using testing_support::random_rows;
using testing_support::vector_ops;

// ---- scatters by formula ----

TEST(Scatters, RowsThatStayZeroMultiplyNothing) {
  EXPECT_EQ(macs("program p(a: f32[4, 8], b: f32[8, 8]) -> (y) {\n"
                 "  z: f32[16, 8] = scatter set i in 4, j in 8 into 0: [i, j] <- a[i, j]\n"
                 "  y: f32[16, 8] = for i, j: sum k in 8: z[i, k] * b[k, j]\n}"),
            4 * 8 * 8);
}

TEST(Scatters, BlocksOnADiagonal) {
  EXPECT_EQ(macs("program p(a: f32[4, 4], b: f32[4, 4], x: f32[8, 8]) -> (y) {\n"
                 "  z: f32[8, 8] = scatter set i in 4, j in 4 into 0: [i, j] <- a[i, j]\n"
                 "  w: f32[8, 8] = scatter set i in 4, j in 4 into z: [i + 4, j + 4] <- b[i, j]\n"
                 "  y: f32[8, 8] = for i, j: sum k in 8: w[i, k] * x[k, j]\n}"),
            2 * 4 * 4 * 8);
}

TEST(Scatters, StuffedZerosMultiplyNothing) {
  // Every second of the 14 * 3 taps falls on a zero.
  EXPECT_EQ(macs("program p(x: f32[8], w: f32[3]) -> (y) {\n"
                 "  z: f32[16] = scatter set i in 8 into 0: [2 * i] <- x[i]\n"
                 "  y: f32[14] = for p: sum r in 3: z[p + r] * w[r]\n}"),
            21);
}

TEST(Scatters, SumsAreSums) {
  EXPECT_EQ(vector_ops("program p(x: f32[16]) -> (y) { y: f32[8] = scatter sum i in 16 into 0: [i div 2] <- x[i] }"),
            8);
  EXPECT_EQ(
      vector_ops("program p(b: f32[16], x: f32[4]) -> (y) { y: f32[16] = scatter sum i in 4 into b: [3 * i] <- x[i] }"),
      4);
}

TEST(Scatters, TheLastWriteWins) {
  EXPECT_EQ(elements("program p(x: f32[8]) -> (y) { y: f32[1] = scatter set i in 8 into 0: [0] <- x[i] }"), 1 + 1);
}

TEST(Scatters, WhatIsDroppedIsNotRead) {
  EXPECT_EQ(elements("program p(x: f32[16]) -> (y) { y: f32[8] = scatter set i in 16 into 0: [i - 4 | drop] <- x[i] }"),
            8 + 8);
}

TEST(Scatters, WhatIsReplacedIsNotRead) {
  EXPECT_EQ(elements("program p(c: f32[10, 6], k: f32[6]) -> (y) {\n"
                     "  y: f32[10, 6] = scatter set d in 6 into c: [7, d] <- k[d]\n}"),
            9 * 6 + 6 + 10 * 6);
}

// ---- updates in place ----

struct Update {
  const char* name;
  const char* statement;  // defines y, that takes the storage of c; k and pos are other inputs
  double read_bytes, written_bytes;
};

const Update updates[] = {
    {"nothing", "for t, d: c[t, d]", 0, 0},
    {"all", "for t, d: c[t, d] + 1", 240, 240},
    {"a row", "scatter set d in 6 into c: [7, d] <- k[d]", 24, 24},
    {"a row, by a choice", "for t, d: if(t == 7, k[d], c[t, d])", 24, 24},
    {"a row of numbers", "for t, d: if(t == 7, 3, c[t, d])", 0, 24},
    {"a row that is added to", "scatter sum d in 6 into c: [7, d] <- k[d]", 48, 24},
    {"a diagonal", "scatter set i in 6 into c: [i, i] <- 0", 0, 24},
    {"above a diagonal", "for t, d: if(d <= t, c[t, d], 0)", 0, 4 * 15},
    {"a shift", "for t, d: if(t == 9, k[d], c[t + 1, d | 0])", 240, 240},
    {"a row that data tell", "scatter set d in 6 into c: [pos[], d] <- k[d]", 8 + 24, 24},
};

TEST(Updates, WhatChangesIsWritten) {
  for (const Update& update : updates) {
    const Analysis a = analysis_of("program p(c: f32[10, 6], k: f32[6], pos: i64[]) -> (y as c) {\n  y: f32[10, 6] = " +
                                   std::string(update.statement) + "\n}");
    EXPECT_EQ(a.fused.input_bytes, update.read_bytes) << update.name;
    EXPECT_EQ(a.fused.output_bytes, update.written_bytes) << update.name;
    EXPECT_LE(a.floor.input_bytes, update.read_bytes) << update.name;
    EXPECT_LE(a.floor.output_bytes, update.written_bytes) << update.name;
  }
}

TEST(Updates, OneAfterTheOther) {
  EXPECT_EQ(elements("program p(c: f32[10, 6], k: f32[2, 6]) -> (y as c) {\n"
                     "  a: f32[10, 6] = scatter set d in 6 into c: [7, d] <- k[0, d]\n"
                     "  y: f32[10, 6] = scatter set d in 6 into a: [2, d] <- k[1, d]\n}"),
            2 * 6 + 2 * 6);
}

TEST(Updates, WhatElseReadsTheNewArrayReadsAllOfIt) {
  const std::string text =
      "program p(c: f32[10, 6], k: f32[6], pos: i64[]) -> (y as c, s) {\n"
      "  y: f32[10, 6] = scatter set d in 6 into c: [PLACE, d] <- k[d]\n"
      "  s: f32[6] = for d: sum t in 10: y[t, d]\n}";
  for (const auto& [place, position_bytes] : {std::pair("7", 0), std::pair("pos[]", 8)}) {
    std::string placed = text;
    placed.replace(placed.find("PLACE"), 5, place);
    const Analysis a = analysis_of(placed);
    EXPECT_EQ(a.fused.input_bytes, 4 * (9 * 6 + 6) + position_bytes) << place;
    EXPECT_EQ(a.fused.output_bytes, 4 * (6 + 6)) << place;
  }
}

// ---- gathers ----

struct Gather {
  const char* name;
  const char* text;
  double input_bytes, floor_input_bytes;
};

TEST(Gathers, GeneralPositionAndTheKindestIndices) {
  const Gather gathers[] = {
      {"rows", "program p(t: f32[50, 8], i: i64[100]) -> (y) { y: f32[100, 8] = for b, d: t[i[b], d] }",
       800 + 32 * random_rows(50, 100), 800 + 32},
      {"columns", "program p(t: f32[50, 8], i: i64[3]) -> (y) { y: f32[50, 3] = for r, c: t[r, i[c]] }",
       24 + 200 * random_rows(8, 3), 24 + 200},
      {"one row", "program p(t: f32[50, 8], i: i64[]) -> (y) { y: f32[8] = for d: t[i[], d] }", 8 + 32, 8 + 32},
      {"two tables",
       "program p(t: f32[50, 8], u: f32[50, 8], i: i64[20]) -> (y) {\n"
       "  y: f32[20, 8] = for b, d: t[i[b], d] + u[i[b], d]\n}",
       160 + 2 * 32 * random_rows(50, 20), 160 + 2 * 32},
      {"a table that is read anyway",
       "program p(t: f32[50, 8], i: i64[20]) -> (y, s) {\n"
       "  y: f32[20, 8] = for b, d: t[i[b], d]\n"
       "  s: f32[8] = for d: sum r in 50: t[r, d]\n}",
       160 + 32 * 50, 160 + 32 * 50},
      {"a place that is computed",
       "program p(t: f32[50, 8], s: f32[4, 50]) -> (y) {\n"
       "  i: i64[4] = for b: argmax k in 50: s[b, k]\n"
       "  y: f32[4, 8] = for b, d: t[i[b], d]\n}",
       800 + 32 * random_rows(50, 4), 800 + 32},
  };
  for (const Gather& gather : gathers) {
    const Analysis a = analysis_of(gather.text);
    EXPECT_NEAR(a.fused.input_bytes, gather.input_bytes, 1e-6) << gather.name;
    EXPECT_EQ(a.floor.input_bytes, gather.floor_input_bytes) << gather.name;
    EXPECT_FALSE(a.assumptions.empty()) << gather.name;
  }
}

TEST(Gathers, OfAnIntermediateComputeTheRowsThatAreRead) {
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 16], w: f32[16, 4], i: i64[8]) -> (y) {\n"
      "  h: f32[1000, 4] = for r, c: sum k in 16: x[r, k] * w[k, c]\n"
      "  y: f32[8, 4] = for b, c: h[i[b], c]\n}");
  EXPECT_NEAR(a.fused.work.total_macs(), 16 * 4 * random_rows(1000, 8), 1e-6);
  EXPECT_NEAR(a.fused.input_bytes, 64 + 256 + 64 * random_rows(1000, 8), 1e-6);
  EXPECT_EQ(a.floor.work.total_macs(), 16 * 4);
}

TEST(Gathers, FunctionsOfRowsHaveNoMoreValuesThanThereAreRows) {
  const std::string text =
      "program p(t: f32[10, 16], w: f32[16, 4], i: i64[100]) -> (y) {\n"
      "  e: f32[100, 16] = for b, k: t[i[b], k]\n"
      "  h: f32[100, 4] = for b, c: sum k in 16: e[b, k] * w[k, c]\n"
      "  y: f32[100, 4] = for b, c: tanh(h[b, c])\n}";
  const Analysis a = analysis_of(text);
  EXPECT_NEAR(a.fused.work.total_macs(), 16 * 4 * random_rows(10, 100), 1e-6);
  EXPECT_NEAR(a.fused.work.transcendental_ops, 4 * random_rows(10, 100), 1e-6);
  EXPECT_EQ(a.fused.output_bytes, 4 * 100 * 4);
}

TEST(Gathers, KnownIndicesAreTheirRows) {
  const loops::Program program = program_of(
      "program p(x: f32[1000, 16], w: f32[16, 4], i: i64[8]) -> (y) {\n"
      "  h: f32[1000, 4] = for r, c: sum k in 16: x[r, k] * w[k, c]\n"
      "  y: f32[8, 4] = for b, c: h[i[b], c]\n}");
  Tensor indices(DType::i64, {8});
  for (int b = 0; b < 8; ++b) indices.set_i64(b, b / 2 * 100);
  const Analysis a = analyze(program, {{program.inputs[2], &indices}});
  for (const Demand& demand : {a.fused, a.floor}) EXPECT_EQ(demand.work.total_macs(), 16 * 4 * 4);
}

TEST(Gathers, OneHotRowsAreOne) {
  for (const char* hot : {"if(i[b] == r, 1, 0)", "f32(r == i[b])"}) {
    const Analysis a =
        analysis_of("program p(t: f32[50, 8], i: i64[20]) -> (y) {\n  h: f32[20, 50] = for b, r: " + std::string(hot) +
                    "\n  y: f32[20, 8] = for b, d: sum r in 50: h[b, r] * t[r, d]\n}");
    EXPECT_EQ(a.fused.work.total_macs(), 0) << hot;
    EXPECT_NEAR(a.fused.input_bytes, 160 + 32 * random_rows(50, 20), 1e-6) << hot;
  }
}

// ---- scatters to places that data tell ----

TEST(ScattersByData, AllUpdatesAreAdded) {
  const Analysis a = analysis_of(
      "program p(u: f32[20, 8], i: i64[20]) -> (y) {\n"
      "  y: f32[50, 8] = scatter sum b in 20, d in 8 into 0: [i[b], d] <- u[b, d]\n}");
  EXPECT_EQ(a.fused.input_bytes, 4 * 20 * 8 + 160);
  EXPECT_EQ(a.floor.input_bytes, 4 * 20 * 8 + 160);
  EXPECT_EQ(a.fused.output_bytes, 4 * 50 * 8);
  EXPECT_LE(a.fused.work.total_vector_ops(), 20 * 8);
}

TEST(ScattersByData, AHistogramCountsItsValues) {
  EXPECT_EQ(vector_ops("program p(i: i64[100]) -> (y) { y: i64[10] = scatter sum b in 100 into 0: [i[b]] <- 1 }"), 100);
}

}  // namespace
}  // namespace lightline::demand
