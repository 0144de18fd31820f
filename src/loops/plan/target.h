// What planning knows of a machine. Planners and emitters take every size from here; the names say the units.
//
// The figures are those of a CPU: a block is a task that one thread takes, lanes are those of its vectors. A GPU fills
// in the same structure with its own meaning of the words: `core_cache_bytes` is the shared memory of a block,
// `stack_bytes` what its threads hold in registers, `wanted_tasks` the blocks that fill its multiprocessors,
// `short_row_elements` the lanes of a warp, `cache_line_bytes` a sector of memory, and `ProductBlocking::registers` the
// fragments of its matrix units. What a CPU has no word for (threads of a block, warps, stages of a pipeline) comes
// beside these, with the planner that asks for it. Nothing here decides whether a schedule or a plan is right: `verify`
// asks no target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lightline::loops::plan {

// How a packed matrix product is blocked. Panels of `rows` rows and two vectors of columns lie packed, depth-major.
struct ProductBlocking {
  // The first whose instruction set the compiler has; the last has none.
  struct Registers {
    std::string_view instruction_set;
    int vector_bytes = 16;
    int rows = 4;
    bool operator==(const Registers&) const = default;
  };
  std::array<Registers, 4> registers{{{"avx512", 64, 8}, {"avx", 32, 6}, {"neon", 16, 8}, {"", 16, 4}}};

  int64_t column_panel_bytes = 24576;               // stays in the first cache; it sets the depth of a block
  int64_t most_packed_elements = int64_t(1) << 26;  // of a factor that is packed once; a power of two
  int64_t block_rows = 336, block_columns = 320;    // of a block whose factor is packed beside it
  int64_t block_rows_packed = 128, block_columns_packed = 128;  // while the other factor has been packed before
  int64_t tasks_per_thread = 4;                                 // blocks are halved until there are so many
  int64_t fewest_row_panels = 8;                                // that a halved block keeps
  double parallel_products = 1e6;                               // fewer are left to one thread; a power of ten

  // A sum of products smaller than this in any way is not packed.
  double fewest_rows = 4, fewest_columns = 8, fewest_depth = 8, fewest_products = 16384;
  size_t most_factors = 8;
  bool operator==(const ProductBlocking&) const = default;
};

struct Target {
  std::string_view name = "cpu";

  // ---- work, in simple operations ----
  int transcendental_work = 8;
  int conversion_work = 2;  // to and from a narrow float
  int gather_work = 2;      // a read at a position that is read itself

  // ---- what is computed where it is read ----
  int largest_folded_nodes = 256;        // of an expression
  int cheap_work = 2;                    // per point, may be done again for every point of the reader
  int64_t most_unrolled_points = 16;     // of a reduction that becomes one expression
  int64_t largest_unrolled_nodes = 192;  // that this expression may have

  // ---- what is one kernel ----
  size_t most_statements = 32;
  int most_work_per_point = 2000;        // of all statements of a kernel: more would not stay in registers
  int64_t core_cache_bytes = 512 << 10;  // rows between statements of a kernel stay in a core's own cache
  int64_t wanted_tasks = 16;             // that a shared outer loop leaves to threads,
  double little_work_points = 1 << 20;   // unless there is less to do than this
  int64_t fewest_points_inside = 8;      // one iteration of an inner loop that unlike statements share

  // ---- innermost loops ----
  int64_t short_row_elements = 8;  // does not fill a vector
  int short_row_penalty = 4;       // in the units of the three below
  int contiguous_read_gain = 2, repeated_read_gain = 1, scattered_read_gain = -3;
  int64_t shortest_totals_row = 4;                   // elements: reductions keep a row of totals if it is that long
  int64_t totals_row = 512, narrow_totals_row = 64;  // elements of such a row: usually, and where tasks are few
  int64_t totals_row_multiple = 16;
  int64_t far_stride_elements = 16;  // reads that far apart are transposed, in blocks
  int64_t shortest_transposed = 16;  // elements of both loops
  int64_t transposed_block = 32;     // elements of both loops
  int64_t shortest_split_row = 16;   // elements; shorter rows test their guards at every point
  size_t most_split_guards = 32;

  // ---- threads ----
  double parallel_points = 1e5;  // weighted by work: with less, threads do not pay
  double light_point_work = 4;   // a point of at most so much work weighs as one
  double parallel_fill_elements = 1e6;
  int64_t row_piece_elements = 16384;  // of one long loop, that a thread takes at a time,
  int64_t fewest_row_pieces = 2;       // if there are so many
  int64_t reduction_parts = 64;        // of a reduction to one element, whatever the number of threads
  int64_t scatter_pieces = 16, shortest_scatter_piece = 32;

  // ---- memory of a thread ----
  int64_t cache_line_bytes = 64;     // alignment of every buffer
  int64_t stack_bytes = 64 << 10;    // of a thread's rows; the others lie in memory of its own
  int64_t largest_total_bytes = 16;  // of an element of a row of totals: a value and its position

  ProductBlocking product;
};

// A core with vectors, its own cache and some threads: what emitted C is planned for.
const Target& generic_cpu();

}  // namespace lightline::loops::plan
