// The operations of one way to run a graph.
#pragma once

#include <span>

#include "truth/plan.h"

namespace lightline::truth {

struct Work {
  double products = 0;       // products (of data by data or by a constant) that feed sums, one for each sum
  double lone_products = 0;  // other products of data
  double additions = 0;      // terms of sums that are no products
  double slots = 0;          // issue slots, everything on vector units
  double other_slots = 0;    // issue slots if products that feed sums of floats run on matrix units
  double half_macs = 0;      // those products, one for each sum they feed: of 16-bit values and narrower
  double macs = 0;           // ... and of wider ones
  double short_macs = 0;     // products of short sums, which vector units take
  double short_slots = 0;    // issue slots of those
  double transcendentals = 0;
  double plain = 0;                  // operations beside products that run on matrix units, one by one
  double plain_transcendentals = 0;  // functions, one by one
  bool timed = true;                 // f32 and narrower throughout: the rates of the test machine say how long it takes
  bool operator==(const Work&) const = default;
  double milliseconds() const;  // on that machine, without memory
};

// How sums and extrema over overlapping sets are taken.
enum class Overlap : uint8_t {
  none,      // each on its own
  plain,     // running and sliding where no products are summed
  products,  // also where products are: those are then vector operations
  chains,    // each from another that it contains or nearly so
};

Work work_of(const ScalarGraph& graph, const Plan& plan, std::span<const NodeId> roots, Overlap overlap);

}  // namespace lightline::truth
