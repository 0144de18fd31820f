// Speed-of-light bounds: how fast a program could run on a machine. docs/bounds.md is the contract.
//
// Room bound: times from work, bytes and a machine: the tiers.
// May use: base, loops/ir, demand, machine.
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
};

struct GroupBound {
  size_t group = 0;  // in Analysis::groups
  Cost cost;
};

struct Bounds {
  double unfused_ms = 0;    // every operator as its own perfect kernel, one after the other
  double fused_ms = 0;      // the whole program as one kernel with compulsory traffic
  double algebraic_ms = 0;  // after linear rewrites; never above fused
  double unfused_bytes = 0;
  double fused_bytes = 0;
  Cost whole;                      // of the fused tier
  Cost rewritten;                  // of the algebraic tier
  double intensity = 0;            // multiply-accumulates per byte of the fused tier
  double ridge = 0;                // the intensity at which the matrix units and the memory take equally long
  std::vector<GroupBound> groups;  // slowest first
};

Bounds bound(const demand::Analysis& analysis, const machine::Machine& machine, const Options& options = {});

}  // namespace lightline::bound
