// What options take, told once: for the command line, which has texts, and for options in JSON, which has values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "api/analyze.h"
#include "api/run.h"

namespace lightline::api {

struct Text {};  // anything but nothing
struct Choice {
  std::string_view values;  // "a|b|c"
};
struct Number {
  double least;
  double greatest;
};
struct Count {
  uint64_t least;
  uint64_t greatest;
};

namespace rules {
inline constexpr Text any_text;
inline constexpr Choice math{"strict|tf32|fast16"};
inline constexpr Choice ceilings{"nominal|measured"};
inline constexpr Choice algorithms{"standard|any"};
inline constexpr Choice backend{"interp|c"};
inline constexpr Choice validate_form{"training|core|both"};
inline constexpr Choice validate_backend{"interp|c|both"};
inline constexpr Number measured{1e-9, 1e12};
inline constexpr Number scale{1e-4, 1};
inline constexpr Count top{0, 1000000};
inline constexpr Count seed{0, uint64_t(1) << 53};  // what JSON holds exactly
inline constexpr Count threads{0, 4096};
inline constexpr Count workload{0, 1000000};
}  // namespace rules

// Why a value is not taken; empty if it is.
std::string complaint(Text rule, std::string_view value);
std::string complaint(Choice rule, std::string_view value);
std::string complaint(Number rule, double value);
std::string complaint(Count rule, uint64_t value);

// The same for the text of a value, which becomes the plain decimal text of that value.
std::string take_text(Text rule, std::string& text);
std::string take_text(Choice rule, std::string& text);
std::string take_text(Number rule, std::string& text);
std::string take_text(Count rule, std::string& text);

// The options of an analysis that are words.
struct AnalyzeWords {
  std::string math = "tf32";
  std::string ceilings = "nominal";
  std::string algorithms = "standard";
};
AnalyzeOptions with_words(AnalyzeOptions options, const AnalyzeWords& words);
Backend backend_of(const std::string& word);

}  // namespace lightline::api
