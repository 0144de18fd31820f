// The operators Lightline knows, as docs/operators.md and as JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace lightline::report {

// For each operator the dtypes its definition was proved for, from a conformance run (build/conformance.json).
using ProvedTypes = std::map<std::string, std::vector<std::string>>;
Result<ProvedTypes> parse_proved_types(const std::string& text, const std::string& file);

std::string operators_markdown(const ProvedTypes& proved);
std::string operators_json(const ProvedTypes& proved);  // schema lightline.operators

}  // namespace lightline::report
