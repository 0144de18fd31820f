// Running totals, recurrences and loops.
#include <algorithm>
#include <bit>

#include "demand/builder.h"
#include "loops/ir/affine.h"

namespace lightline::demand {

using loops::ArrayId;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;
using loops::Function;
using loops::Reducer;

namespace {

constexpr int64_t most_written_out = 1024;  // statements of a loop whose steps are taken one by one

std::optional<Reducer> reducer_of(Function function) {
  switch (function) {
    case Function::add: return Reducer::sum;
    case Function::mul: return Reducer::prod;
    case Function::max: return Reducer::max;
    case Function::min: return Reducer::min;
    case Function::logical_and: return Reducer::all;
    case Function::logical_or: return Reducer::any;
    default: return std::nullopt;
  }
}

}  // namespace

bool Builder::reads_array(ExprId id, ArrayId array) const {
  bool found = false;
  loops::for_each_expr(program_, id, [&](ExprId one) {
    const Expr& e = program_.exprs[one];
    found |= e.kind == ExprKind::read && e.args[0] == array;
  });
  return found;
}

// x[t] = x[t - 1] + e[t] is the sum of e[s] for s <= t, and so for every reducer.
bool Builder::running_total(const loops::Compute& node, const Space& space) {
  const Expr& e = program_.exprs[node.body];
  if (node.reducer != Reducer::none || e.kind != ExprKind::call) return false;
  const auto reducer = reducer_of(e.function);
  if (!reducer) return false;
  size_t own = 2;
  for (size_t i = 0; i < 2; ++i) {
    const Expr& side = program_.exprs[e.args[i]];
    if (side.kind == ExprKind::read && side.args[0] == node.result) own = i;
  }
  if (own == 2 || reads_array(e.args[1 - own], node.result)) return false;
  const Expr& last = program_.exprs[e.args[own]];
  size_t scanned = 0;
  for (size_t d = 0; d < node.loops.size(); ++d) {
    const auto form = loops::affine_of(program_, loops::subscripts_of(program_, last)[d]);
    const bool is_scan = program_.indices[node.loops[d]].kind == loops::IndexKind::scan;
    if (is_scan) scanned = d;
    if (!form || form->constant != (is_scan ? -1 : 0) || form->terms.size() != 1 ||
        form->terms[0] != std::pair<loops::IndexId, int64_t>(node.loops[d], 1))
      return false;
  }
  if (!last.has_fill) return false;
  const loops::IndexId index = node.loops[scanned];
  Space inner = space_of(std::span(&index, 1), node.loops);
  inner.values.emplace_back(index, Form::variable(0));  // the earlier step; the later one is the loop's own variable
  const index::AtomId later = index::AtomId(1 + counters_.size() + scanned);
  Cases body = evaluate(e.args[1 - own], inner);
  for (Case& one : body) one.where.cut({0, {{0, -1}, {later, 1}}}, atoms_);
  std::erase_if(body, [](const Case& one) { return one.where.empty; });
  Cases total = reduced(*reducer, std::move(body), inner, e.type);
  const Cases args[] = {std::move(total), {{space.whole(), Value::of(number_of(last.literal))}}};
  define(node.result, algebra_.apply(e.function, args, e.type, e.type));
  return true;
}

void Builder::recurrence(const loops::Compute& node, const Space& space) {
  Term term;
  term.kind = TermKind::carried;
  term.rank = uint32_t(space.box.size() - space.reduced);
  term.type = program_.exprs[node.body].type;
  term.width = program_.arrays[node.result].dtype;
  term.reads_data = true;
  term.array = uint32_t(form_.loops.size());
  const TermId id = terms_.add(std::move(term));
  Loop loop;
  loop.carried = {id};
  for (size_t d = 0; d < node.loops.size(); ++d)
    if (program_.indices[node.loops[d]].kind == loops::IndexKind::scan) {
      loop.coordinate = uint32_t(counters_.size() + d);
      loop.steps = program_.indices[node.loops[d]].extent;
    }
  loop.first = TermId(terms_.size());
  form_.loops.push_back(loop);
  const size_t at = form_.loops.size() - 1;
  Region whole;
  whole.box.assign(space.box.begin() + space.reduced, space.box.end());
  for (const Range& range : whole.box) whole.empty |= range.hi < range.lo;
  std::vector<Form> forms;
  for (size_t i = 0; i < whole.box.size(); ++i) forms.push_back(Form::variable(index::AtomId(i)));
  define(node.result, {{whole, Value::element(id, forms, program_.arrays[node.result].dtype)}});
  Cases body = evaluate(node.body, space);
  if (node.reducer != Reducer::none) body = reduced(node.reducer, std::move(body), space, node.accumulator);
  terms_.at(id).body = std::move(body);
  form_.loops[at].last = TermId(terms_.size());
}

// How often it runs is not known: an operator that is no loop nest, made of what it starts from.
void Builder::end_by_data(const loops::Repeat& node) {
  loops::Opaque opaque{node.results, "while", {}, {}};
  for (const auto& carry : node.carries) opaque.operands.push_back(carry.init);
  opaque.attributes.emplace_back("loop", int64_t(node.counter));  // no two are the same
  form_.ended_by_data.push_back(std::make_shared<const loops::Opaque>(std::move(opaque)));
  statement(*form_.ended_by_data.back());
}

void Builder::statement(const loops::Repeat& node) {
  if (node.condition != loops::none) return end_by_data(node);
  int64_t statements = 0;
  loops::for_each_statement(std::span(node.body), [&](const loops::Statement&) { ++statements; });
  const int64_t steps = program_.indices[node.counter].extent;
  const bool is_short = steps * statements <= most_written_out;
  // Where every carried array is a total, nothing is carried any more.
  const bool written_out = is_short && (borders_ || steps < 2);
  if (written_out || !loop(node, is_short)) unroll(node);
}

void Builder::unroll(const loops::Repeat& node) {
  const int64_t steps = program_.indices[node.counter].extent;
  const uint32_t depth = uint32_t(counters_.size());
  std::vector<Cases> carried;
  for (const auto& carry : node.carries) carried.push_back(cases_of(carry.init));
  // An array from outside all loops has no counters before its dimensions.
  const auto lifted = [&](Cases cases, uint32_t from) {
    if (from == depth) return cases;
    for (Case& one : cases) {
      std::vector<Form> images;
      const size_t rank = one.where.box.size() - from;
      for (uint32_t i = 0; i < from; ++i) images.push_back(Form::variable(i));
      for (size_t i = 0; i < rank; ++i) images.push_back(Form::variable(index::AtomId(depth + i)));
      Region region;
      for (uint32_t i = 0; i < depth; ++i) region.box.push_back({0, program_.indices[counters_[i]].extent - 1, 1});
      region.box.insert(region.box.end(), one.where.box.begin() + from, one.where.box.end());
      for (const Form& cut : one.where.cuts) region.cut(atoms_.compose(cut, images, region.box), atoms_);
      algebra_.box = region.box;
      one.value = algebra_.moved(one.value, images);
      one.where = std::move(region);
    }
    return cases;
  };
  for (size_t i = 0; i < carried.size(); ++i) carried[i] = lifted(carried[i], depth_[node.carries[i].init]);
  std::vector<Cases> stacked(node.stacked.size());
  const uint32_t group = group_;
  for (int64_t step = 0; step < steps; ++step) {
    fixed_[node.counter] = step;
    for (size_t i = 0; i < carried.size(); ++i) {
      form_.arrays[node.carries[i].inner] = carried[i];
      depth_[node.carries[i].inner] = depth;
      group_of_[node.carries[i].inner] = group;
      forget_view_of(node.carries[i].inner);
    }
    block_of(node.body, group);
    for (size_t i = 0; i < carried.size(); ++i) {
      carried[i] = lifted(cases_of(node.carries[i].next), depth_[node.carries[i].next]);
      refer_to(node.carries[i].next, carried[i], true);
    }
    for (size_t i = 0; i < stacked.size(); ++i)
      for (Case one : lifted(cases_of(node.stacked[i]), depth_[node.stacked[i]])) {
        // A dimension for the steps, before those of the array
        std::vector<Form> images;
        for (size_t v = 0; v < one.where.box.size(); ++v)
          images.push_back(Form::variable(index::AtomId(v < depth ? v : v + 1)));
        one.where.box.insert(one.where.box.begin() + depth, Range{step, step, 1});
        for (Form& cut : one.where.cuts) cut = atoms_.compose(cut, images, one.where.box);
        algebra_.box = one.where.box;
        one.value = algebra_.moved(one.value, images);
        stacked[i].push_back(std::move(one));
      }
  }
  fixed_.erase(node.counter);
  group_ = group;
  for (size_t i = 0; i < carried.size(); ++i) define(node.results[i], carried[i]);
  for (size_t i = 0; i < stacked.size(); ++i) define(node.results[carried.size() + i], stacked[i]);
}

}  // namespace lightline::demand
