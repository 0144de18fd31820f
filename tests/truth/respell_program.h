// Respellings that need the program's structure: names, the order of operands, statements inlined and outlined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lightline::truth {

// What can be done to a program of any shape.
const std::vector<std::string>& program_rules();
// `rule` is one of them; nothing if it has no place in the program.
std::optional<std::string> respelled_program(const std::string& text, const std::string& rule, uint64_t seed);

}  // namespace lightline::truth
