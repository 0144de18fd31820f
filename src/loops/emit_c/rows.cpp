// Innermost loops and what one point does: stores and accumulators.
#include <fmt/format.h>

#include <algorithm>

#include "loops/emit_c/loops.h"

namespace lightline::loops::c {
void NestWriter::row(const Nest& nest, const std::string& from, const std::string& to) {
  Row whole{.var = nest.var, .from = from, .to = to, .guards = nest.guards, .is_vector = nest.is_vector};
  for (const Item& item : nest.items) {
    const Member& member = tree_.members[item.member];
    if (member.folded.reducer != Reducer::none && !member.folded.is_empty)
      whole.clauses += reduction_clause(member.folded.reducer, member.folded.accumulator, total_name(member));
  }
  whole.body = [this, &nest] {
    scope_of_[&nest] = writer_.depth();
    for (const Item& item : nest.items) leaf(tree_.members[item.member]);
  };
  write_row(nodes(), writer_, whole);
}

// ---- reductions that keep a row of totals ----

void NestWriter::tiled(const Member& member, int64_t width) {
  const int64_t extent = nodes().extent(member.folded.loops.back());
  if (width == extent) return tile(member, "0", std::to_string(extent), width);
  const std::string start = writer_.fresh("w");
  writer_.open();
  tile(member, start, fmt::format("ll_min_index({}, {} + {})", extent, start, width), width);
  const std::string body = writer_.close();
  writer_.line(
      fmt::format("for (int64_t {} = 0; {} < {}; {} += {}) {{\n{}}}", start, start, extent, start, width, body));
}

void NestWriter::tile(const Member& member, const std::string& from, const std::string& to, int64_t width) {
  const VarId var = member.folded.loops.back();
  const std::string name = total_name(member), first = writer_.fresh("from"), last = writer_.fresh("to");
  const std::string place = fmt::format("[{} - {}]", var_name(var), first);
  const std::string aligned = fmt::format("__attribute__((aligned({})))", stepped_.target.cache_line_bytes);
  writer_.line(fmt::format("const int64_t {} = {}, {} = {};", first, from, last, to));
  if (is_position(member)) {
    writer_.line(fmt::format("{} {}[{}] {}; int64_t {}_at[{}] {};", total_type(member), name, width, aligned, name,
                             width, aligned));
    writer_.line(
        fmt::format("for (int64_t i = 0; i < {} - {}; ++i) {{ {}[i] = 0; {}_at[i] = -1; }}", last, first, name, name));
  } else {
    writer_.line(fmt::format("{} {}[{}] {};", total_type(member), name, width, aligned));
    writer_.line(fmt::format("for (int64_t i = 0; i < {} - {}; ++i) {}[i] = {};", last, first, name, empty(member)));
  }
  for (const VarId reduced : member.folded.reduced) {
    writer_.open();
    writer_.bring(reduced);
  }
  write_row(nodes(), writer_,
            {.var = var,
             .from = first,
             .to = last,
             .guards = member.guards,
             .body = [&] { update(member, place); },
             .is_vector = member.is_vector});
  for (size_t i = member.folded.reduced.size(); i-- > 0;) {
    const VarId reduced = member.folded.reduced[i];
    const std::string body = writer_.close();
    writer_.line(loop_head(var_name(reduced), "0", std::to_string(nodes().extent(reduced))) + body + "}");
  }
  write_row(nodes(), writer_,
            {.var = var,
             .from = first,
             .to = last,
             .body = [&] { finish_reduction(member, place); },
             .is_vector = member.is_vector});
}

// ---- one point ----

void NestWriter::leaf(const Member& member) {
  if (member.folded.is_empty) return store(member, empty(member));
  if (member.folded.reducer != Reducer::none) return update(member, "");
  store(member, writer_.value(member.body));
}

void NestWriter::store(const Member& member, const std::string& value) {
  const ArrayId id = member.folded.result;
  const DType dtype = array(member).dtype;
  const bool rounds = compute_type(dtype) != dtype && (member.is_read || !stored_[id]);
  const std::string own = writer_.fresh("x");
  writer_.line(fmt::format("const {} {} = {};", value_type(dtype), own,
                           rounds ? cast_text(compute_type(dtype), dtype, value) : value));
  if (!stored_[id] && member.elements == 1) return writer_.set_access(id, {own, dtype, true, writer_.depth()});
  const std::string place = stored_[id]           ? array_name(id)
                            : member.host != none ? array_name(member.host)
                                                  : fmt::format("b{}", id);
  writer_.line(
      fmt::format("{}[{}] = {};", place, writer_.index(member.store), stored_[id] ? to_storage(dtype, own) : own));
  const size_t level = member.shared == 0 ? 0 : scope_of_.at(member.path[member.shared - 1]);
  if (stored_[id])
    writer_.set_access(id, {place, dtype, false, level});
  else
    writer_.set_access(id, {.pointer = place, .element = compute_type(dtype), .level = level, .is_local = true});
  writer_.define(nodes().load_at(id, member.store, none, {}), own);
}

std::string NestWriter::declaration(const Member& member) const {
  const std::string name = total_name(member);
  if (is_position(member)) return fmt::format("{} {} = 0; int64_t {}_at = -1;", total_type(member), name, name);
  return fmt::format(
      "{} {} = {};{}", total_type(member), name, empty(member),
      keeps_nan(member.folded.reducer, member.folded.accumulator) ? fmt::format(" int {}_nan = 0;", name) : "");
}

std::string NestWriter::total_value(const Member& member) const {
  const std::string name = total_name(member);
  return keeps_nan(member.folded.reducer, member.folded.accumulator)
             ? fmt::format("({}_nan ? __builtin_nan(\"\") : {})", name, name)
             : name;
}

// The place of a point in the reduced domain, row-major.
NodeId NestWriter::flat_position(const Member& member) {
  NodeId position = nodes().integer(0);
  for (const VarId var : member.folded.reduced)
    position = nodes().add(nodes().scale(position, nodes().extent(var)), nodes().var(var));
  return position;
}

void NestWriter::update(const Member& member, const std::string& place) {
  const std::string name = total_name(member), total = name + place;
  const std::string value = writer_.value(member.body);
  if (place.empty() && keeps_nan(member.folded.reducer, member.folded.accumulator))
    return writer_.line(fmt::format("{} = {} {} {} ? {} : {};\n{}_nan |= {} != {};", name, value,
                                    member.folded.reducer == Reducer::max ? ">" : "<", name, value, name, name, value,
                                    value));
  if (!is_position(member))
    return writer_.line(
        fmt::format("{} = {};", total, combine_text(member.folded.reducer, member.folded.accumulator, total, value)));
  const std::string at = fmt::format("{}_at{}", name, place);
  const std::string beats = fmt::format("{} {} {}", value, member.folded.reducer == Reducer::argmax ? ">" : "<", total);
  const std::string wins =
      fmt::format("({} < 0) | (({} == {}) & (({} != {}) | ({})))", at, total, total, value, value, beats);
  const std::string yes = writer_.fresh("wins");
  writer_.line(fmt::format("const _Bool {} = {};\n{} = {} ? {} : {};\n{} = {} ? {} : {};", yes, wins, total, yes, value,
                           total, at, yes, writer_.index(flat_position(member)), at));
}

void NestWriter::finish_reduction(const Member& member, const std::string& place) {
  const DType dtype = array(member).dtype,
              reduced = is_position(member) ? DType::i64 : compute_type(member.folded.accumulator);
  const std::string total = is_position(member) ? total_name(member) + "_at" + place
                            : place.empty()     ? total_value(member)
                                                : total_name(member) + place;
  store(member, reduced == compute_type(dtype) ? total : cast_text(reduced, dtype, total));
}

}  // namespace lightline::loops::c
