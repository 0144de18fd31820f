// What a program demands, as data: of every term of its normal form how many elements, what they read, and the work
// that they take. docs/demand.md says what each field means.
#pragma once

#include <string>
#include <vector>

#include "demand/work.h"
#include "index/region.h"
#include "loops/ir/program.h"

namespace lightline::demand {

class Needs;
struct NormalForm;

struct TermDemand {
  // What is needed of another term.
  struct Read {
    uint32_t term = 0;
    double elements = 0;  // different ones
  };
  uint32_t term = 0;
  std::string kind;                    // input, call, sum, product, reduce, ...
  uint32_t statement = loops::none;    // that made it first
  std::string group;                   // of that statement
  loops::ArrayId input = loops::none;  // input: whose elements they are
  std::vector<loops::ArrayId> arrays;  // those that hold elements of it: several share it
  DType width = DType::f32;            // the narrowest type that holds it
  uint32_t rank = 0;                   // coordinates
  double elements = 0;                 // that are needed, in general position
  std::vector<index::Region> where;    // of its coordinates
  std::vector<std::string> where_text;
  std::string formula;  // for people
  std::vector<Read> reads;
  Work work;                         // counted for it; what terms share is counted for the first
  std::vector<uint32_t> counts_for;  // terms whose products are among these: equal ones, or parts of a chain
};

// Those that are needed, in the order of the program.
std::vector<TermDemand> term_demands(NormalForm& form, const Needs& fused);

}  // namespace lightline::demand
