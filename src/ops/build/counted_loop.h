// How many steps a loop takes whose condition compares a counter with a number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lightline::ops {

enum class CounterTest : uint8_t { less, less_equal, greater, greater_equal, not_equal };
// By its place among the names that a source has for them, in this order.
std::optional<CounterTest> counter_test(std::string_view name, const std::array<std::string_view, 5>& names);
CounterTest mirrored(CounterTest test);  // with its two sides exchanged

// How often `start, start + step, ...` compares so with `start + distance` before it first does not; nothing where that
// never happens, or only once the counter has wrapped around.
std::optional<int64_t> counted_steps(CounterTest test, int64_t distance, int64_t step);

}  // namespace lightline::ops
