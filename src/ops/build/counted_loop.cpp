#include "ops/build/counted_loop.h"

#include <algorithm>

namespace lightline::ops {

std::optional<CounterTest> counter_test(std::string_view name, const std::array<std::string_view, 5>& names) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt : std::optional(CounterTest(found - names.begin()));
}

CounterTest mirrored(CounterTest test) {
  switch (test) {
    case CounterTest::less: return CounterTest::greater;
    case CounterTest::less_equal: return CounterTest::greater_equal;
    case CounterTest::greater: return CounterTest::less;
    case CounterTest::greater_equal: return CounterTest::less_equal;
    case CounterTest::not_equal: break;
  }
  return test;
}

std::optional<int64_t> counted_steps(CounterTest test, int64_t distance, int64_t step) {
  const bool downwards = test == CounterTest::greater || test == CounterTest::greater_equal ||
                         (test == CounterTest::not_equal && step < 0);
  const __int128 way = downwards ? -__int128(distance) : distance, stride = downwards ? -__int128(step) : step;
  __int128 steps = 0;
  if (test == CounterTest::not_equal) {
    if (stride == 0 || way < 0 || way % stride != 0) return std::nullopt;
    steps = way / stride;
  } else {
    const bool inclusive = test == CounterTest::less_equal || test == CounterTest::greater_equal;
    const __int128 room = way + (inclusive ? 1 : 0);
    if (room <= 0) return 0;
    if (stride <= 0) return std::nullopt;
    steps = (room + stride - 1) / stride;
  }
  return steps > INT64_MAX ? std::nullopt : std::optional(int64_t(steps));
}

}  // namespace lightline::ops
