#include "loops/emit_c/loops.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::loops::c {

StepFunction emit_nest(SteppedProgram& stepped, const NestKernel& kernel, const Stored& stored,
                       const std::string& name) {
  return NestWriter(stepped, kernel, stored).run(name);
}

NestWriter::NestWriter(SteppedProgram& stepped, const NestKernel& kernel, const Stored& stored)
    : stepped_(stepped), kernel_(kernel), tree_(kernel.tree), stored_(stored), writer_(stepped.nodes) {}

StepFunction NestWriter::run(const std::string& name) {
  prepare();
  root();
  std::string body = writer_.close();
  if (kernel_.own_bytes > 0)
    body = fmt::format(
        "char* scratch = (char*)H->allocate(H->self, (size_t){} * LL_THREADS);\nif (!scratch) return "
        "2;\n{}H->release(H->self, scratch);\n",
        kernel_.own_bytes, body);
  return wrap_function(stepped_.program, name, writer_, written_, body);
}

// Says where every array is.
void NestWriter::prepare() {
  for (const Member& member : tree_.members) {
    if (member.body == none) continue;
    nodes().for_each(member.body, [&](const Node& node, NodeId) {
      if (node.kind == NodeKind::load)
        writer_.set_access(node.array, {array_name(node.array), stepped_.program.arrays[node.array].dtype});
    });
  }
  for (const Member& member : tree_.members) {
    const ArrayId id = member.folded.result;
    const DType dtype = array(member).dtype;
    if (stored_[id]) {
      written_.push_back(id);
      writer_.set_access(id, {array_name(id), dtype});
    } else if (member.host != none) {
      writer_.set_access(id, {.pointer = array_name(member.host), .element = compute_type(dtype), .is_local = true});
    }
  }
  for (const Buffer& buffer : kernel_.buffers) declare(buffer);
}

void NestWriter::declare(const Buffer& buffer) {
  const std::string_view type = storage_type(buffer.type);
  if (buffer.on_stack)
    buffers_ += fmt::format("{} b{}[{}] __attribute__((aligned({})));\n", type, buffer.array, buffer.elements,
                            stepped_.target.cache_line_bytes);
  else
    buffers_ += fmt::format("{}* restrict b{} = ({}*)(scratch + (size_t)LL_THREAD * {} + {});\n", type, buffer.array,
                            type, kernel_.own_bytes, buffer.offset);
  writer_.set_access(buffer.array,
                     {.pointer = fmt::format("b{}", buffer.array), .element = buffer.type, .is_local = true});
}

void NestWriter::root() {
  const auto note_scopes = [&] {
    for (const Nest* each : kernel_.outer) scope_of_[each] = writer_.depth();
  };
  const Member& alone = tree_.members[kernel_.alone];
  switch (kernel_.form) {
    case NestForm::transposed: return transposed(alone);
    case NestForm::tiles: {
      const auto [from, to] = piece(nodes().extent(alone.folded.loops.back()));
      return tasks([&] { note_scopes(), tile(alone, from, to, kernel_.piece); });
    }
    case NestForm::rows: {
      const auto [from, to] = piece(nodes().extent(kernel_.inner->var));
      return tasks([&] { note_scopes(), row(*kernel_.inner, from, to); });
    }
    case NestForm::loops:
      return tasks([&] {
        note_scopes();
        for (const Item& each : kernel_.inner->items) emit(each);
      });
    case NestForm::parts: return partial_reductions();
    case NestForm::in_order: return sequential([&] { emit(tree_.items[0]); });
  }
}

// Where a task's piece of the last loop starts and ends.
std::pair<std::string, std::string> NestWriter::piece(int64_t extent) const {
  if (kernel_.piece == 0) return {"0", std::to_string(extent)};
  return {fmt::format("piece * {}", kernel_.piece),
          fmt::format("ll_min_index({}, (piece + 1) * {})", extent, kernel_.piece)};
}

void NestWriter::sequential(const std::function<void()>& body) {
  writer_.open();
  body();
  const std::string text = writer_.close();
  writer_.line("{\n" + buffers_ + text + "}");
}

// A loop over tasks: the outer loops, times the pieces of what is inside.
void NestWriter::tasks(const std::function<void()>& body) {
  const std::vector<VarId>& vars = kernel_.task_vars;
  const int64_t pieces = kernel_.pieces;
  writer_.open();
  for (const VarId var : vars) writer_.bring(var);
  body();
  const std::string inside = writer_.close();
  std::string decode = pieces > 1 ? fmt::format("const int64_t piece = task % {}, whole = task / {};\n", pieces, pieces)
                                  : "const int64_t piece = 0, whole = task;\n";
  decode += "(void)piece;\n(void)whole;\n";
  int64_t below = 1;
  for (size_t i = vars.size(); i-- > 0;) {
    decode += fmt::format("const int64_t {} = whole / {}{};\n", var_name(vars[i]), below,
                          i == 0 ? "" : fmt::format(" % {}", nodes().extent(vars[i])));
    below *= nodes().extent(vars[i]);
  }
  std::string text = kernel_.threads ? "#pragma omp parallel num_threads(LL_THREADS)\n{\n" : "{\n";
  text += buffers_;
  if (kernel_.threads) text += "#pragma omp for schedule(static)\n";
  text += loop_head("task", "0", std::to_string(kernel_.tasks(nodes()))) + decode + inside + "}\n";
  text += "}";
  writer_.line(text);
}

// Reductions to single elements, in parts that threads share. The parts do not depend on the number of threads.
void NestWriter::partial_reductions() {
  const Nest& nest = *kernel_.inner;
  const int64_t extent = nodes().extent(nest.var), parts = kernel_.parts;
  std::string totals, part, keep, combine;
  for (const size_t id : nest.members) {
    const Member& member = tree_.members[id];
    const std::string name = total_name(member);
    totals += fmt::format("{}\n{} {}_part[{}];\n", declaration(member), total_type(member), name, parts);
    part += declaration(member) + "\n";
    keep += fmt::format("{}_part[part] = {};\n", name, total_value(member));
    combine += fmt::format("{} = {};\n", name,
                           combine_text(member.folded.reducer, member.folded.accumulator, name, name + "_part[part]"));
  }
  writer_.open();
  writer_.line(part);
  loop(nest, fmt::format("{} * part / {}", extent, parts), fmt::format("{} * (part + 1) / {}", extent, parts));
  writer_.line(keep);
  const std::string body = writer_.close();
  const std::string head = loop_head("part", "0", std::to_string(parts));
  writer_.line(totals + "#pragma omp parallel num_threads(LL_THREADS)\n{\n" + buffers_ +
               "#pragma omp for schedule(static)\n" + head + body + "}\n}\n" + head + combine + "}");
  for (const size_t id : nest.members) finish_reduction(tree_.members[id], "");
}

// A map whose reads run along another loop than its stores: blocks of both stay in the cache.
void NestWriter::transposed(const Member& member) {
  const VarId along = member.folded.transposed, row = member.folded.loops.back();
  const int64_t height = nodes().extent(along), width = nodes().extent(row), block = kernel_.piece;
  const int64_t across = pieces_of(width, block);
  tasks([&] {
    writer_.line(
        fmt::format("const int64_t block = piece / {} * {}, column = piece % {} * {};", across, block, across, block));
    writer_.open();
    writer_.bring(along);
    write_row(nodes(), writer_,
              {.var = row,
               .from = "column",
               .to = fmt::format("ll_min_index({}, column + {})", width, block),
               .guards = member.guards,
               .body = [&] { leaf(member); },
               .is_vector = member.is_vector});
    const std::string body = writer_.close();
    writer_.line(loop_head(var_name(along), "block", fmt::format("ll_min_index({}, block + {})", height, block)) +
                 body + "}");
  });
}

void NestWriter::emit(const Item& item) {
  const Member& member = tree_.members[item.member];
  if (item.nest)
    nest(*item.nest);
  else if (member.folded.tiled)
    tiled(member, kernel_.totals_row[item.member]);
  else
    leaf(member);
}

void NestWriter::nest(const Nest& nest) {
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

void NestWriter::loop(const Nest& nest, const std::string& from, const std::string& to) {
  if (nest.is_row) return row(nest, from, to);
  writer_.open();
  writer_.bring(nest.var);
  scope_of_[&nest] = writer_.depth();
  for (const Item& item : nest.items) emit(item);
  const std::string body = writer_.close();
  writer_.line(loop_head(var_name(nest.var), from, to) + body + "}");
}

}  // namespace lightline::loops::c
