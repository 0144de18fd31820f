// Amounts for people: 1.047 T, 69.21 MB.
#pragma once

#include <string>
#include <string_view>

namespace lightline::report {

// Four digits with a prefix before the unit. A unit that starts with a space stands apart from the prefix.
std::string amount(double value, std::string_view unit);
// The same of a bare number, such as 1.5 M or 12.
std::string amount(double value);

}  // namespace lightline::report
