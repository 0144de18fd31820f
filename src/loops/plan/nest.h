// The loop tree of a step: which computes share which loops, and where their results live meanwhile.
#pragma once

#include <memory>
#include <vector>

#include "loops/plan/steps.h"

namespace lightline::loops::plan {

struct Nest;

// A loop, or a compute all of whose shared loops are open.
struct Item {
  std::unique_ptr<Nest> nest;
  size_t member = 0;
};

struct Nest {
  VarId var = none;
  std::vector<Item> items;
  std::vector<size_t> members;  // of the items, at all depths
  size_t level = 0;             // loops around this one, of the members' sequences
  size_t merged = 1;            // loops that it was made of
  bool is_row = false;          // innermost
  bool is_vector = false;       // a row whose points run side by side
  std::vector<NodeId> guards;   // of a row: where they all hold, it runs without tests
};

// A compute in the tree, in the variables of the tree's loops.
struct Member {
  FoldedCompute folded;
  std::vector<VarId> sequence;    // the loops it runs in, outermost first; its own rows and tiles not included
  std::vector<const Nest*> path;  // the same as nests
  size_t shared = 0;              // nests it shares with all its readers
  bool is_read = false;           // by another member
  NodeId body = none;             // with flat loads
  NodeId store = none;            // where its element goes
  std::vector<int64_t> strides;   // of the result where it lives
  int64_t elements = 1;           // it has there
  ArrayId host = none;            // the stored array in whose place it lives until that is computed
  size_t turn = 0;                // its place in the order of execution
  bool is_vector = false;         // tiled or transposed: how its last loop runs
  std::vector<NodeId> guards;     // the same
  size_t first_reduced() const { return folded.tiled ? sequence.size() : folded.loops.size(); }
  bool is_reduced_at(size_t level) const { return level >= first_reduced(); }
};

// A member in the order of execution, before loops were merged.
struct TreeRow {
  size_t member = 0;
  uint32_t shared = 0;  // loops that it shares with the one before
  size_t kept = 0;      // loops around its result until all its readers are done
};

struct Tree {
  std::vector<Member> members;
  std::vector<Item> items;
  std::vector<TreeRow> rows;
};

// Builds the tree, decides what each result needs to keep, and rewrites the computes for it.
Tree build_tree(SteppedProgram& stepped, const NestStep& step, const Stored& stored);

// Merges a loop with the only loop inside it where every address allows it.
void merge_loops(SteppedProgram& stepped, Tree& tree, Nest& nest);

}  // namespace lightline::loops::plan
