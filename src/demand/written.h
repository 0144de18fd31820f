// The products that a program spells, as a counter of floating-point operations sees them, and why fewer are needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lightline::demand {

class Needs;
struct NormalForm;

// Why a product that is written is not needed.
enum class Reason : uint8_t {
  not_used,       // no output needs its result
  padding,        // a factor is read outside of its array
  zeros,          // a factor is zero by a mask or by construction
  computed_once,  // repetition, equal terms, symmetric halves
  cheaper_order,  // a chain of products takes fewer in another order, or taken apart
  picked,         // a one-hot factor picks an element: no product
  branch,         // it is on the dearer side of a branch
  given_up,       // it could not be followed, and counts nothing
  not_followed,   // it is not needed, as far as that could be followed
  unwritten,      // needed, but no operator of products spells it: a negative difference
};
std::string_view name(Reason reason);         // as in JSON
std::string_view description(Reason reason);  // in words

struct Difference {
  Reason reason = Reason::not_used;
  std::string group;  // of the products; empty for the program as a whole
  double macs = 0;
  double of = 0;  // what the group spells
};

struct Written {
  double macs = 0;
  double needed = 0;                    // of the fused tier
  std::vector<Difference> differences;  // macs less all of them is needed
};

// `apart` and `unfused`: operator by operator; `together` and `fused`: as one, with both sides of branches.
Written written(NormalForm& apart, const Needs& unfused, const NormalForm& together, const Needs& fused, double needed);

}  // namespace lightline::demand
