#include "index/piece.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "support/seed.h"

namespace lightline::index {
namespace {

// Counts by walking over every point of the box.
double brute_force(const Piece& piece) {
  double total = 0;
  std::vector<int64_t> at(piece.box.size());
  const std::function<void(size_t)> walk = [&](size_t d) {
    if (d == piece.box.size()) {
      for (const HalfSpace& cut : piece.cuts) {
        int64_t value = cut.constant;
        for (const auto& [v, c] : cut.terms) value += c * at[size_t(v)];
        if (value < 0) return;
      }
      total += 1;
      return;
    }
    for (int64_t v = piece.box[d].lo; v <= piece.box[d].hi; v += piece.box[d].step) {
      at[d] = v;
      walk(d + 1);
    }
  };
  walk(0);
  return total;
}

TEST(Piece, CountsATriangle) {
  Piece piece = Piece::whole({256, 256});
  piece.cut({0, {{0, 1}, {1, -1}}});  // j <= i
  EXPECT_EQ(count(piece), 256 * 257 / 2);
}

TEST(Piece, ALargeTriangleIsExact) {
  Piece piece = Piece::whole({100000, 100000});
  piece.cut({0, {{0, 1}, {1, -1}}});
  EXPECT_EQ(count(piece), 100000.0 * 100001 / 2);
}

TEST(Piece, CutsOnOneVariableShrinkTheBox) {
  Piece piece = Piece::whole({10});
  piece.cut({-3, {{0, 2}}});  // 2 i >= 3
  EXPECT_TRUE(piece.is_box());
  EXPECT_EQ(count(piece), 8);
}

TEST(Piece, RandomPiecesAgreeWithBruteForce) {
  SCOPED_TRACE(testing_support::seed_text());
  std::mt19937 random(uint32_t(testing_support::seed_of(7)));
  for (int round = 0; round < 500; ++round) {
    Piece piece;
    const int rank = 1 + int(random() % 3);
    for (int d = 0; d < rank; ++d) {
      const auto lo = int64_t(random() % 5);
      piece.box.push_back({lo, lo + int64_t(random() % 7), 1 + int64_t(random() % 2)});
      piece.box.back().hi = piece.box.back().lo +
                            (piece.box.back().hi - piece.box.back().lo) / piece.box.back().step * piece.box.back().step;
    }
    Piece plain = piece;  // its cuts stay what they are
    for (unsigned cuts = random() % 3; cuts > 0; --cuts) {
      HalfSpace cut{int64_t(random() % 9) - 4, {}};
      for (int d = 0; d < rank; ++d)
        if (const int64_t c = int64_t(random() % 5) - 2; c != 0) cut.terms.emplace_back(d, c);
      piece.cut(cut);
      plain.cuts.push_back(cut);
    }
    EXPECT_EQ(count(piece), brute_force(plain)) << round;
  }
}

// A projection must be a subset of the true one, and equal to it for unit coefficients.
TEST(Piece, ProjectionsAreNeverTooLarge) {
  SCOPED_TRACE(testing_support::seed_text());
  std::mt19937 random(uint32_t(testing_support::seed_of(11)));
  for (int round = 0; round < 300; ++round) {
    Piece piece = Piece::whole({6, 6, 6}), plain = piece;
    bool unit = true;
    for (unsigned cuts = 1 + random() % 2; cuts > 0; --cuts) {
      HalfSpace cut{int64_t(random() % 9) - 4, {}};
      for (int d = 0; d < 3; ++d)
        if (const int64_t c = int64_t(random() % 5) - 2; c != 0) {
          cut.terms.emplace_back(d, c);
          unit &= c == 1 || c == -1;
        }
      piece.cut(cut);
      plain.cuts.push_back(cut);
    }
    std::vector<bool> seen(36, false);
    Piece line = plain;
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = 0; j < 6; ++j) {
        line.box[0] = {i, i, 1};
        line.box[1] = {j, j, 1};
        seen[size_t(i * 6 + j)] = brute_force(line) > 0;
      }
    const double truth = double(std::count(seen.begin(), seen.end(), true));
    const double found = count(project(piece, {0, 1}));
    EXPECT_LE(found, truth) << round;
    if (unit) {
      EXPECT_EQ(found, truth) << round;
    }
  }
}

TEST(PointSet, OverlappingBoxesCountOnce) {
  PointSet region;
  region.add({{{0, 9, 1}, {0, 9, 1}}, {}});
  region.add({{{5, 14, 1}, {5, 14, 1}}, {}});
  region.add({{{0, 3, 1}, {0, 3, 1}}, {}});
  Counting counting;
  EXPECT_EQ(region.points(counting), 175);
  EXPECT_TRUE(counting.exact);
}

// A triangle has a line for each value of its first variable; who may not walk them counts a box inside.
TEST(Counting, WalksNoMoreLinesThanItMay) {
  Piece triangle{{{0, 99, 1}, {0, 99, 1}}, {}};
  triangle.cut({0, {{0, 1}, {1, -1}}});
  Counting enough{150};
  EXPECT_EQ(count(triangle, enough), 5050);
  EXPECT_TRUE(enough.exact);
  EXPECT_EQ(enough.lines, 50);
  const double fewer = count(triangle, enough);
  EXPECT_FALSE(enough.exact);
  EXPECT_EQ(enough.lines, 50);
  EXPECT_GT(fewer, 0);
  EXPECT_LE(fewer, 2500);  // the largest box inside
}

}  // namespace
}  // namespace lightline::index
