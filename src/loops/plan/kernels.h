// Steps ready to be printed: every decision is taken and stands here as data. Emitters only write it down.
#pragma once

#include <variant>
#include <vector>

#include "loops/plan/layout.h"
#include "loops/plan/nest.h"

namespace lightline::loops::plan {

// Rows of a thread's own between the statements of a kernel.
struct Buffer {
  ArrayId array = none;
  DType type = DType::f32;
  int64_t elements = 0;
  bool on_stack = true;
  int64_t offset = 0;  // bytes into the thread's own memory, if it is not on the stack
};

enum class NestForm : uint8_t {
  loops,       // tasks are iterations of the outer loops; the rest runs inside
  rows,        // and pieces of the innermost loop
  tiles,       // and pieces of a row of totals
  transposed,  // and blocks of two loops
  parts,       // a reduction to single elements, in parts that are combined after
  in_order,    // no loop may be shared
};

// A task is one iteration of `outer` and one piece of the last loop; threads share tasks.
struct NestKernel {
  Tree tree;
  NestForm form = NestForm::in_order;
  std::vector<const Nest*> outer;  // outermost first
  Nest* inner = nullptr;           // the loop of `rows` and `parts`, or the last of `outer` of `loops`
  size_t alone = 0;                // the member of `tiles` and `transposed`
  std::vector<VarId> task_vars;    // decoded from the task's number, outermost first
  int64_t piece = 0;               // elements of a piece; 0 if the last loop is not cut
  int64_t pieces = 1;              // of `transposed`: of both loops together
  int64_t parts = 0;
  bool threads = false;
  std::vector<int64_t> totals_row;  // by member: elements of its row of totals at a time
  std::vector<Buffer> buffers;
  int64_t own_bytes = 0;  // of a thread, for buffers that are not on the stack
  int64_t tasks(const Nodes& nodes) const;
};

// A factor of a product, as it goes into panels. Its loops are counted by one number each, the variables outermost
// first.
struct PackedFactor {
  std::vector<VarId> lanes;  // rows or columns of the panel
  std::vector<VarId> depth;
  NodeId value = none;
  bool along_depth = false;  // a lane at a time, else all lanes of one depth
  std::vector<NodeId> guards;
};

// An array that a finished element goes to.
struct ProductTarget {
  ArrayId array = none;
  NodeId value = none;  // `none`: the sum itself
  NodeId position = none;
  bool is_read = false;  // by a later one
};

struct ProductKernel {
  DType type = DType::f32;
  std::vector<VarId> batch;
  int64_t batch_size = 1, rows_size = 1, columns_size = 1, depth_size = 1;
  PackedFactor a, b;
  std::vector<VarId> rows, columns;  // of finished blocks
  std::vector<NodeId> guards;        // of the row that stores them
  std::vector<ProductTarget> targets;
  bool threads = false;
};

struct ScatterKernel {
  std::vector<VarId> loops;  // outermost first
  enum class Share : uint8_t { none, outermost, pieces } share = Share::none;
  int64_t piece = 0, pieces = 1;  // of the innermost loop
  NodeId position = none;
  NodeId guard = none;
  NodeId value = none;
  bool is_vector = false;
  std::vector<NodeId> guards;  // of the row
  bool threads_fill = false;
};

using Kernel = std::variant<std::monostate, NestKernel, ProductKernel, ScatterKernel>;

// One for every step, those inside repeats after the repeat's own (which is empty, like that of an opaque step).
std::vector<Kernel> make_kernels(SteppedProgram& stepped, const Layout& layout);

// ---- parts of make_kernels ----
NestKernel plan_nest(SteppedProgram& stepped, const NestStep& step, const Stored& stored);
ProductKernel plan_product(SteppedProgram& stepped, const ContractionStep& step);
ScatterKernel plan_scatter(SteppedProgram& stepped, const ScatterStep& step);

// Guards of the values that hold exactly on an interval of the row: that interval runs without tests.
std::vector<NodeId> splitting_guards(const SteppedProgram& stepped, VarId var, std::span<const NodeId> values);
// Whether values may be combined in any order, so that lanes and threads can share them.
bool combines_in_any_order(Reducer reducer, DType accumulator);
// Whether a node still takes apart a variable that was merged from an outer one and one of extent `inner`.
bool takes_apart(const Nodes& nodes, NodeId root, VarId merged, int64_t inner);

inline int64_t pieces_of(int64_t extent, int64_t width) { return (extent + width - 1) / width; }

}  // namespace lightline::loops::plan
