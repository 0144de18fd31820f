// Speed-of-light bounds: how fast a program could run on a machine. docs/bounds.md is the contract.
//
// Room bound: times from work, bytes and a machine: the tiers.
// May use: base, index, loops/ir, demand, machine.
#pragma once

#include <string>
#include <vector>

#include "demand/analysis.h"
#include "machine/machine.h"

namespace lightline::bound {

struct Options {
  machine::MathMode math = machine::MathMode::tf32;
  bool any_algorithm = false;  // convolutions may use transform-domain algorithms
  bool warm = false;           // inputs and results may sit on chip: up to its capacity is taken off the traffic
};

// What one kernel needs: the slowest of its units and its memory.
struct Cost {
  double ms = 0;
  std::string binding;  // "memory", "matrix f16", "vector", "transcendental"; "nothing" if there is nothing to do
  double matrix_ms = 0;
  double vector_ms = 0;
  double transcendental_ms = 0;
  double memory_ms = 0;
  double bytes = 0;
};

struct GroupBound {
  size_t group = 0;  // in Analysis::groups
  Cost cost;
};

struct Bounds {
  Cost floor;             // against every implementation, on the data that suit it best
  Cost fused;             // against those that compute every term: one kernel with compulsory traffic
  double unfused_ms = 0;  // every operator as its own perfect kernel, one after the other
  double unfused_bytes = 0;
  double intensity = 0;            // multiply-accumulates per byte of the fused tier
  double ridge = 0;                // the intensity at which the matrix units and the memory take equally long
  std::vector<GroupBound> groups;  // slowest first
};

Bounds bound(const demand::Analysis& analysis, const machine::Machine& machine, const Options& options = {});

}  // namespace lightline::bound
