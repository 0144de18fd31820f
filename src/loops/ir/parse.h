// Text to Program. The result is well-formed as text and names; `verify` decides whether it means something.
#pragma once

#include <string_view>

#include "base/error.h"
#include "loops/ir/program.h"

namespace lightline::loops {

// `file` names the text in errors.
Result<Program> parse(std::string_view text, std::string_view file = "");

// parse, then verify.
Result<Program> parse_and_verify(std::string_view text, std::string_view file = "");

// Reads, parses and verifies a .lir file (also .xz, .zst).
Result<Program> load(const std::string& path);

}  // namespace lightline::loops
