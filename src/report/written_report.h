// The products that a program spells beside those that it needs, with the reasons of the difference.
#pragma once

#include <string>

#include "demand/written.h"
#include "report/json.h"

namespace lightline::report {

// One sentence with a newline; nothing if all that is written is needed.
std::string written_text(const demand::Written& written);
// `macs`, `needed` and `reasons`, largest first.
Json written_json(const demand::Written& written);

}  // namespace lightline::report
