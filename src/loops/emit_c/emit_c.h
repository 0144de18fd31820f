// Program to one C function: tiled, vectorisable loops with fused elementwise chains and packed contractions.
//
// Room loops/emit_c: prints what was planned as C. Decides nothing.
// May use: base, loops/ir, loops/plan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "loops/ir/program.h"
#include "loops/plan/schedule.h"

namespace lightline::loops {

namespace plan {
struct PlannedProgram;  // loops/plan/planned.h
}

// A complete C translation unit. Each program becomes `int NAME(const struct ll_host*, const void* const* inputs,
// void* const* outputs)`; NAME is `symbol` for one program, `symbol_0`, `symbol_1`, ... for several. `int
// symbol_threads(int wanted)` starts threads, for hosts that say how many
// loops may share.
Result<std::string> emit_c(const Program& program, std::string_view symbol = "lightline_main");
Result<std::string> emit_c(const std::vector<const Program*>& programs, std::string_view symbol = "lightline_main");
// As schedules say, where they are not null; an error if one does not verify, or asks for what this emitter can not do.
Result<std::string> emit_c(const Program& program, const plan::Schedule& schedule,
                           std::string_view symbol = "lightline_main");
Result<std::string> emit_c(const std::vector<const Program*>& programs,
                           const std::vector<const plan::Schedule*>& schedules, std::string_view symbol);
// What has been planned, for one target.
std::string emit_c(std::vector<plan::PlannedProgram> planned, std::string_view symbol);

}  // namespace lightline::loops
