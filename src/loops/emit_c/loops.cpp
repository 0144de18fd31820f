#include "loops/emit_c/loops.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::loops::c {
namespace {

constexpr int64_t chunk = 16384;           // elements of one long loop that a thread takes at a time
constexpr int64_t stack_limit = 64 << 10;  // of each thread's rows; the others lie in memory of its own
constexpr int64_t block_width = 32;        // of transposing loops
constexpr int64_t most_parts = 64;         // of a reduction to one element

int64_t pieces_of(int64_t extent, int64_t width) { return (extent + width - 1) / width; }

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

StepFunction emit_nest(SteppedProgram& stepped, const NestStep& step, const Stored& stored, const std::string& name) {
  return NestWriter(stepped, step, stored).run(name);
}

NestWriter::NestWriter(SteppedProgram& stepped, const NestStep& step, const Stored& stored)
    : stepped_(stepped), stored_(stored), tree_(build_tree(stepped, step, stored)), writer_(stepped.nodes) {}

StepFunction NestWriter::run(const std::string& name) {
  LL_CHECK(tree_.items.size() == 1);
  prepare();
  Item& item = tree_.items[0];
  if (item.nest) merge_loops(stepped_, tree_, *item.nest);
  root(item);
  std::string body = writer_.close();
  if (heap_used_ > 0) {
    replace_all(body, "SCRATCH_BYTES", std::to_string(heap_used_));
    body = fmt::format(
        "char* scratch = (char*)H->allocate(H->self, (size_t){} * LL_THREADS);\nif (!scratch) return "
        "2;\n{}H->release(H->self, scratch);\n",
        heap_used_, body);
  }
  return wrap_function(stepped_.program, name, writer_, written_, body);
}

// Says where every array is.
void NestWriter::prepare() {
  double work = 0;
  for (const Member& member : tree_.members) {
    work += member.folded.points * std::max(1.0, member.folded.cost / 4.0);
    if (member.body == none) continue;
    nodes().for_each(member.body, [&](const Node& node, NodeId) {
      if (node.kind == NodeKind::load)
        writer_.set_access(node.array, {array_name(node.array), stepped_.program.arrays[node.array].dtype});
    });
  }
  is_parallel_ = work > parallel_points;
  for (const Member& member : tree_.members) {
    const ArrayId id = member.folded.result;
    const DType dtype = array(member).dtype;
    if (stored_[id]) {
      written_.push_back(id);
      writer_.set_access(id, {array_name(id), dtype});
    } else if (member.host != none) {
      writer_.set_access(id, {.pointer = array_name(member.host), .element = compute_type(dtype), .is_local = true});
    } else if (member.elements > 1) {
      add_buffer(id, compute_type(dtype), member.elements);
      writer_.set_access(id, {.pointer = fmt::format("b{}", id), .element = compute_type(dtype), .is_local = true});
    }
  }
}

// Rows of the thread's own: on the stack while they are small.
void NestWriter::add_buffer(ArrayId id, DType type, int64_t elements) {
  const int64_t bytes = (elements * byte_size(type) + 63) / 64 * 64;
  if (stack_used_ + bytes <= stack_limit) {
    stack_used_ += bytes;
    buffers_ += fmt::format("{} b{}[{}] __attribute__((aligned(64)));\n", storage_type(type), id, elements);
  } else {
    buffers_ += fmt::format("{}* restrict b{} = ({}*)(scratch + (size_t)LL_THREAD * SCRATCH_BYTES + {});\n",
                            storage_type(type), id, storage_type(type), heap_used_);
    heap_used_ += bytes;
  }
}

bool NestWriter::is_free(const Nest& nest) const {
  return std::ranges::all_of(nest.members, [&](size_t id) {
    return !tree_.members[id].is_reduced_at(nest.level) && tree_.members[id].folded.scan != nest.var;
  });
}

bool NestWriter::is_innermost(const Nest& nest) const {
  return std::ranges::all_of(nest.items,
                             [&](const Item& item) { return !item.nest && !tree_.members[item.member].folded.tiled; });
}

// The loops directly inside one another from the outermost on, as far as they may run in any order.
std::vector<Nest*> NestWriter::free_loops(Item& item) {
  std::vector<Nest*> list;
  for (Item* at = &item; at->nest && is_free(*at->nest); at = &at->nest->items[0]) {
    list.push_back(at->nest.get());
    if (at->nest->items.size() != 1) break;
  }
  return list;
}

void NestWriter::root(Item& item) {
  std::vector<Nest*> outer = free_loops(item);
  Nest* inner = !outer.empty() && is_innermost(*outer.back()) ? outer.back() : nullptr;
  if (inner != nullptr) outer.pop_back();
  const Item* last = outer.empty() ? &item : outer.back()->items.size() == 1 ? &outer.back()->items[0] : nullptr;
  const Member* alone = last != nullptr && !last->nest ? &tree_.members[last->member] : nullptr;
  if (alone != nullptr && alone->folded.transposed != none) return transposed(*alone);

  std::vector<Digit> digits;
  int64_t outer_tasks = 1;
  for (const Nest* each : outer) {
    digits.push_back({each->var, nodes().extent(each->var)});
    outer_tasks *= digits.back().extent;
  }
  const auto note_scopes = [&] {
    for (const Nest* each : outer) scope_of_[each] = writer_.depth();
  };
  const auto piece = [](int64_t width, int64_t extent) {
    return std::pair(fmt::format("piece * {}", width),
                     fmt::format("ll_min_index({}, (piece + 1) * {})", extent, width));
  };
  if (alone != nullptr && alone->folded.tiled) {
    const int64_t extent = nodes().extent(alone->folded.loops.back()), width = tile_width(*alone, outer_tasks);
    const auto [from, to] = piece(width, extent);
    return tasks(digits, pieces_of(extent, width), [&] { note_scopes(), tile(*alone, from, to, width); });
  }
  if (inner != nullptr) {
    const int64_t extent = nodes().extent(inner->var);
    const bool cut = extent >= 2 * chunk;
    const auto [from, to] = cut ? piece(chunk, extent) : std::pair(std::string("0"), std::to_string(extent));
    return tasks(digits, cut ? pieces_of(extent, chunk) : 1, [&] { note_scopes(), row(*inner, from, to); });
  }
  if (!outer.empty()) {
    return tasks(digits, 1, [&] {
      note_scopes();
      for (Item& each : outer.back()->items) emit(each);
    });
  }
  if (item.nest && is_parallel_ && reduces_in_parts(*item.nest)) return partial_reductions(*item.nest);
  sequential([&] { emit(item); });
}

void NestWriter::sequential(const std::function<void()>& body) {
  writer_.open();
  body();
  const std::string text = writer_.close();
  writer_.line("{\n" + buffers_ + text + "}");
}

// A loop over tasks, shared by threads if there is enough to do: the outer loops, times the pieces of what is inside.
void NestWriter::tasks(const std::vector<Digit>& digits, int64_t pieces, const std::function<void()>& body) {
  int64_t count = pieces;
  for (const Digit& digit : digits) count *= digit.extent;
  writer_.open();
  for (const Digit& digit : digits) writer_.bring(digit.var);
  body();
  const std::string inside = writer_.close();
  std::string decode = pieces > 1 ? fmt::format("const int64_t piece = task % {}, whole = task / {};\n", pieces, pieces)
                                  : "const int64_t piece = 0, whole = task;\n";
  decode += "(void)piece;\n(void)whole;\n";
  int64_t below = 1;
  for (size_t i = digits.size(); i-- > 0;) {
    decode += fmt::format("const int64_t {} = whole / {}{};\n", var_name(digits[i].var), below,
                          i == 0 ? "" : fmt::format(" % {}", digits[i].extent));
    below *= digits[i].extent;
  }
  const bool threads = is_parallel_ && count > 1;
  std::string text = threads ? "#pragma omp parallel\n{\n" : "{\n";
  text += buffers_;
  if (threads) text += "#pragma omp for schedule(static)\n";
  text += loop_head("task", "0", std::to_string(count)) + decode + inside + "}\n";
  text += "}";
  writer_.line(text);
}

bool NestWriter::reduces_in_parts(const Nest& nest) const {
  return stepped_.nodes.extent(nest.var) >= most_parts && std::ranges::all_of(nest.members, [&](size_t id) {
           const Member& member = tree_.members[id];
           return member.is_reduced_at(0) &&
                  !reduction_clause(member.folded.reducer, member.folded.accumulator, "x").empty();
         });
}

// Reductions to single elements, in parts that threads share. The parts do not depend on the number of threads.
void NestWriter::partial_reductions(Nest& nest) {
  const int64_t extent = nodes().extent(nest.var);
  std::string totals, part, keep, combine;
  for (const size_t id : nest.members) {
    const Member& member = tree_.members[id];
    const std::string name = total_name(member);
    totals += fmt::format("{}\n{} {}_part[{}];\n", declaration(member), total_type(member), name, most_parts);
    part += declaration(member) + "\n";
    keep += fmt::format("{}_part[part] = {};\n", name, total_value(member));
    combine += fmt::format("{} = {};\n", name,
                           combine_text(member.folded.reducer, member.folded.accumulator, name, name + "_part[part]"));
  }
  writer_.open();
  writer_.line(part);
  loop(nest, fmt::format("{} * part / {}", extent, most_parts),
       fmt::format("{} * (part + 1) / {}", extent, most_parts));
  writer_.line(keep);
  const std::string body = writer_.close();
  const std::string head = loop_head("part", "0", std::to_string(most_parts));
  writer_.line(totals + "#pragma omp parallel\n{\n" + buffers_ + "#pragma omp for schedule(static)\n" + head + body +
               "}\n}\n" + head + combine + "}");
  for (const size_t id : nest.members) finish_reduction(tree_.members[id], "");
}

// A map whose reads run along another loop than its stores: blocks of both stay in the cache.
void NestWriter::transposed(const Member& member) {
  const VarId along = member.folded.transposed, row = member.folded.loops.back();
  const int64_t height = nodes().extent(along), width = nodes().extent(row);
  const int64_t across = pieces_of(width, block_width);
  std::vector<Digit> digits;
  for (const VarId var : member.folded.loops)
    if (var != along && var != row) digits.push_back({var, nodes().extent(var)});
  tasks(digits, pieces_of(height, block_width) * across, [&] {
    writer_.line(fmt::format("const int64_t block = piece / {} * {}, column = piece % {} * {};", across, block_width,
                             across, block_width));
    writer_.open();
    writer_.bring(along);
    write_row(nodes(), writer_,
              {.var = row,
               .from = "column",
               .to = fmt::format("ll_min_index({}, column + {})", width, block_width),
               .values = {member.body},
               .body = [&] { leaf(member); },
               .is_vector = !member.folded.scalar_only});
    const std::string body = writer_.close();
    writer_.line(loop_head(var_name(along), "block", fmt::format("ll_min_index({}, block + {})", height, block_width)) +
                 body + "}");
  });
}

void NestWriter::emit(Item& item) {
  const Member& member = tree_.members[item.member];
  if (item.nest)
    nest(*item.nest);
  else if (member.folded.tiled)
    tiled(member, tile_width(member, 1 << 20));
  else
    leaf(member);
}

void NestWriter::nest(Nest& nest) {
  std::vector<size_t> starting;
  for (const size_t id : nest.members) {
    const Member& member = tree_.members[id];
    if (!member.is_reduced_at(nest.level) || (nest.level > 0 && member.is_reduced_at(nest.level - 1))) continue;
    starting.push_back(id);
    writer_.line(declaration(member));
  }
  loop(nest, "0", std::to_string(nodes().extent(nest.var)));
  for (const size_t id : starting) finish_reduction(tree_.members[id], "");
}

void NestWriter::loop(Nest& nest, const std::string& from, const std::string& to) {
  if (is_innermost(nest)) return row(nest, from, to);
  writer_.open();
  writer_.bring(nest.var);
  scope_of_[&nest] = writer_.depth();
  for (Item& item : nest.items) emit(item);
  const std::string body = writer_.close();
  writer_.line(loop_head(var_name(nest.var), from, to) + body + "}");
}

}  // namespace lightline::loops::c
