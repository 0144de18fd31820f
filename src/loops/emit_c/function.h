// Steps as C functions. Each emitter gives the function's text and what its caller must pass.
#pragma once

#include <string>
#include <vector>

#include "loops/emit_c/writer.h"
#include "loops/plan/kernels.h"

namespace lightline::loops::c {

using namespace plan;

// `static int NAME(H, pointers to `arrays`, the values of `counters`)`; returns nonzero on failure.
struct StepFunction {
  std::string text;
  std::vector<ArrayId> arrays;
  std::vector<VarId> counters;
};

StepFunction emit_nest(SteppedProgram& stepped, const NestKernel& kernel, const Stored& stored,
                       const std::string& name);
StepFunction emit_product(SteppedProgram& stepped, const ProductKernel& kernel, const Stored& stored,
                          const std::string& name);
StepFunction emit_scatter(SteppedProgram& stepped, const ScatterStep& step, const ScatterKernel& kernel,
                          const std::string& name);

// ---- shared by the emitters ----
inline std::string array_name(ArrayId array) { return std::string(1, 'a').append(std::to_string(array)); }
// Puts parameters and the final check around a body. `written` arrays are not const.
StepFunction wrap_function(const Program& program, const std::string& name, const Writer& writer,
                           const std::vector<ArrayId>& written, const std::string& body);
// What a reducer starts from.
std::string empty_value(Reducer reducer, DType accumulator, DType result);
// The C type an accumulator is kept in.
std::string_view accumulator_type(DType accumulator);
// `total` combined with `value`.
std::string combine_text(Reducer reducer, DType accumulator, const std::string& total, const std::string& value);
// Whether a scalar total NAME goes with a flag NAME_nan: the greatest of the numbers, and whether one was not a number,
// are quicker to keep apart.
bool keeps_nan(Reducer reducer, DType accumulator);
// reduction(...) for a simd loop; empty if the reducer must run in order.
std::string reduction_clause(Reducer reducer, DType accumulator, const std::string& total);

}  // namespace lightline::loops::c
