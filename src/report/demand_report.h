// Where bounds gave up, and the demand of every term, as tables and JSON.
#pragma once

#include <string>
#include <vector>

#include "demand/analysis.h"
#include "report/json.h"

namespace lightline::report {

// A table, or a sentence that nothing was given up.
std::string given_up_text(const std::vector<demand::GivenUp>& list);
Json given_up_json(const std::vector<demand::GivenUp>& list);

// Terms with what they need and take, the most work first; at most `top` of them.
std::string terms_text(const loops::Program& program, const std::vector<demand::TermDemand>& terms, size_t top);
// All terms, in the order of the program.
Json terms_json(const loops::Program& program, const std::vector<demand::TermDemand>& terms);

}  // namespace lightline::report
