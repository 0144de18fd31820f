// The words of schedules and plans, in the order of their enumerations.
#pragma once

#include <array>
#include <string_view>

namespace lightline::loops::plan {

inline constexpr std::array<std::string_view, 4> level_words{"registers", "local", "cache", "memory"};
inline constexpr std::array<std::string_view, 4> axis_words{"blocks", "warps", "threads", "lanes"};
inline constexpr std::array<std::string_view, 4> part_words{"whole", "pack", "partial", "combine"};
inline constexpr std::array<std::string_view, 5> site_words{"thread", "lanes", "warp", "block", "blocks"};

}  // namespace lightline::loops::plan
