// Program to canonical text: parse(print(p)) equals p for every well-formed p.
#pragma once

#include <string>

#include "loops/ir/program.h"

namespace lightline::loops {

std::string print(const Program& program);
std::string print(const Program& program, ExprId expr);

}  // namespace lightline::loops
