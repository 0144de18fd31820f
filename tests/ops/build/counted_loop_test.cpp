#include "ops/build/counted_loop.h"

#include <gtest/gtest.h>

#include <limits>

namespace lightline::ops {
namespace {

constexpr CounterTest all_tests[] = {CounterTest::less, CounterTest::less_equal, CounterTest::greater,
                                     CounterTest::greater_equal, CounterTest::not_equal};

bool holds(CounterTest test, int64_t counter, int64_t limit) {
  switch (test) {
    case CounterTest::less: return counter < limit;
    case CounterTest::less_equal: return counter <= limit;
    case CounterTest::greater: return counter > limit;
    case CounterTest::greater_equal: return counter >= limit;
    case CounterTest::not_equal: return counter != limit;
  }
  return false;
}

TEST(CountedLoop, AgreesWithRunningTheLoop) {
  for (const CounterTest test : all_tests)
    for (int64_t distance = -12; distance <= 12; ++distance)
      for (int64_t step = -5; step <= 5; ++step) {
        std::optional<int64_t> expected;
        int64_t counter = 0;
        for (int64_t steps = 0; steps < 100 && !expected; ++steps, counter += step)
          if (!holds(test, counter, distance)) expected = steps;
        if (test == CounterTest::not_equal && step == 0) expected.reset();  // no counter at all
        EXPECT_EQ(counted_steps(test, distance, step), expected)
            << "test " << int(test) << " distance " << distance << " step " << step;
        EXPECT_EQ(holds(mirrored(test), distance, counter), holds(test, counter, distance));
      }
}

TEST(CountedLoop, DistancesMayBeExtreme) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(counted_steps(CounterTest::less, greatest, 1), greatest);
  EXPECT_EQ(counted_steps(CounterTest::less_equal, greatest, 1), std::nullopt);
  EXPECT_EQ(counted_steps(CounterTest::less_equal, greatest, 2), int64_t(1) << 62);
  EXPECT_EQ(counted_steps(CounterTest::greater, least, least), 1);
  EXPECT_EQ(counted_steps(CounterTest::greater, least, -1), std::nullopt);
  EXPECT_EQ(counted_steps(CounterTest::not_equal, least, -2), int64_t(1) << 62);
}

TEST(CountedLoop, TestsByName) {
  EXPECT_EQ(counter_test("ge", {"lt", "le", "gt", "ge", "ne"}), CounterTest::greater_equal);
  EXPECT_EQ(counter_test("eq", {"lt", "le", "gt", "ge", "ne"}), std::nullopt);
}

}  // namespace
}  // namespace lightline::ops
