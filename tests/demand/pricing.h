// Work and bytes of loop text, for tests that hold them against numbers worked out by hand.
#pragma once

#include <cmath>
#include <string>

#include "demand/analysis.h"
#include "support/programs.h"

namespace lightline::testing_support {

inline demand::Analysis analysis_of(const std::string& text) { return demand::analyze(program_of(text)); }

// Of the fused tier.
inline double macs(const std::string& text) { return analysis_of(text).fused.work.total_macs(); }
inline double vector_ops(const std::string& text) { return analysis_of(text).fused.work.total_vector_ops(); }
inline double transcendentals(const std::string& text) { return analysis_of(text).fused.work.transcendental_ops; }
inline double elements(const std::string& text) { return analysis_of(text).fused.bytes() / 4; }

// Of the floor.
inline double floor_macs(const std::string& text) { return analysis_of(text).floor.work.total_macs(); }
inline double floor_elements(const std::string& text) { return analysis_of(text).floor.bytes() / 4; }

// Different rows that so many random indices touch.
inline double random_rows(double rows, double indices) { return rows * (1 - std::pow(1 - 1 / rows, indices)); }

}  // namespace lightline::testing_support
