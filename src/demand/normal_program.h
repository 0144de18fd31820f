// The normal form as a program of the loop language: one statement for every term that outputs need, so that it prints,
// runs, and can be referred to.
#pragma once

#include <string>
#include <vector>

#include "demand/normal_form.h"
#include "loops/ir/program.h"

namespace lightline::demand {

// What a statement of the program stands for.
enum class Origin : uint8_t {
  term,     // a term, at all coordinates that are needed
  result,   // an array of the original, made of terms
  view,     // a view that is returned
  start,    // what an array that a loop carries holds before it has a value
  spelled,  // a statement of the original as it stands: not everything that it is made of is known
};
std::string_view name(Origin origin);

struct StatementFact {
  Origin origin = Origin::term;
  TermId term = no_term;
  loops::StatementId statement = loops::none;  // of the original: that made it first
  DType width = DType::f32;                    // the narrowest type that holds its values
  bool reads_data = true;                      // depends on what is not known before the program runs
};

struct NormalProgram {
  loops::Program program;            // verified; inputs and outputs are those of the original
  std::vector<StatementFact> facts;  // by statement, those inside of repeats too
};

// It gives what the original gives, but for the rounding of casts, which are facts, and of sums in another order. With
// known values, for those values alone.
NormalProgram as_program(NormalForm& form);

// With the facts as comments.
std::string to_text(const NormalProgram& normal, const loops::Program& original);

}  // namespace lightline::demand
