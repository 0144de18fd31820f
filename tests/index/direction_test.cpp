// What may be too small and what may be too large do not mix.
#include "index/direction.h"

#include <gtest/gtest.h>

#include <concepts>

#include "index/region.h"

namespace lightline::index {
namespace {

template <class A, class B>
concept can_subtract = requires(A a, B b) { a - b; };
template <class A, class B>
concept can_divide = requires(A a, B b) { a / b; };

static_assert(can_subtract<AtLeast, AtMost> && can_subtract<AtMost, AtLeast> && can_divide<AtLeast, AtMost>);
static_assert(!can_subtract<AtLeast, AtLeast> && !can_subtract<AtMost, AtMost> && !can_divide<AtLeast, AtLeast>);
static_assert(std::convertible_to<AtLeast, double> && !std::convertible_to<AtMost, double>);
static_assert(!std::convertible_to<double, AtLeast> && !std::convertible_to<double, AtMost>);
static_assert(!std::convertible_to<AtLeast, AtMost> && !std::convertible_to<AtMost, AtLeast>);

TEST(Direction, ExactCountsAreTheSameFromBothSides) {
  Atoms atoms;
  Region triangle = Region::whole(std::vector<int64_t>{8, 8});
  triangle.cut({0, {{0, 1}, {1, -1}}}, atoms);
  const std::vector<Region> list{triangle};
  EXPECT_EQ(count(list, atoms), 36);
  EXPECT_EQ(count_at_most(list, atoms).number(), 36);
  EXPECT_EQ(atoms.losses(), Losses{});
}

// Overlapping sets that can not be split: some points are left out of one count and counted twice in the other.
TEST(Direction, CountsThatAreNotExactEncloseTheTruth) {
  Atoms atoms;
  std::vector<Region> list;
  for (const auto& [a, b] : {std::pair<int64_t, int64_t>{2, 3}, {3, 2}, {5, 7}}) {
    Region region = Region::whole(std::vector<int64_t>{16, 16});
    region.cut({40, {{0, -a}, {1, -b}}}, atoms);
    region.cut({-8, {{0, b}, {1, a}}}, atoms);
    list.push_back(region);
  }
  double truth = 0;
  for (int64_t x = 0; x < 16; ++x)
    for (int64_t y = 0; y < 16; ++y) {
      const auto inside = [&](int64_t a, int64_t b) { return 40 - a * x - b * y >= 0 && b * x + a * y - 8 >= 0; };
      truth += inside(2, 3) || inside(3, 2) || inside(5, 7);
    }
  EXPECT_LE(count(list, atoms), truth);
  EXPECT_GE(count_at_most(list, atoms).number(), truth);
  EXPECT_GT(atoms.losses()[size_t(Loss::overlap)], 0u);
}

// 2 p + 3 r reaches every number but 1 and the last but one: the longest row of them is taken, and that is said.
TEST(Direction, ImagesSayWhatTheyLeaveOut) {
  Atoms atoms;
  const Region box = Region::whole(std::vector<int64_t>{8, 8});
  const std::vector<Form> sums{{0, {{0, 2}, {1, 3}}}};
  const auto mapped = image(box, sums, atoms);
  EXPECT_LT(count(mapped, atoms), 34);
  EXPECT_EQ(atoms.losses()[size_t(Loss::sums)], 1u);
  const std::vector<Form> whole{{0, {{0, 8}, {1, 1}}}};
  EXPECT_EQ(count(image(box, whole, atoms), atoms), 64);
  EXPECT_EQ(atoms.losses()[size_t(Loss::sums)], 1u);
}

}  // namespace
}  // namespace lightline::index
