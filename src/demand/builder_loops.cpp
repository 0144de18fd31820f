// Running totals, recurrences and loops.
#include <algorithm>

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
constexpr int most_rounds = 4;

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
  inner.values[index] = Form::variable(0);  // the earlier step; the later one is the loop's own variable
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

void Builder::statement(const loops::Repeat& node) {
  int64_t statements = 0;
  loops::for_each_statement(std::span(node.body), [&](const loops::Statement&) { ++statements; });
  const int64_t steps = program_.indices[node.counter].extent;
  if (steps * statements <= most_written_out)
    unroll(node);
  else
    loop(node);
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
    for (size_t i = 0; i < carried.size(); ++i)
      carried[i] = lifted(cases_of(node.carries[i].next), depth_[node.carries[i].next]);
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

bool Builder::depends_on(const Value& value, const std::vector<TermId>& goals,
                         std::unordered_map<TermId, bool>& seen) const {
  if (!value.is_element()) return false;
  if (std::find(goals.begin(), goals.end(), value.term) != goals.end()) return true;
  const auto [at, added] = seen.try_emplace(value.term, false);
  if (!added) return at->second;
  const Term& term = terms_[value.term];
  bool found = false;
  for (const Argument& arg : term.args) found = found || depends_on(arg.value, goals, seen);
  for (const Case& one : term.body) found = found || depends_on(one.value, goals, seen);
  if (term.kind == TermKind::opaque)
    for (const Cases& operand : form_.opaque[term.array].operands)
      for (const Case& one : operand) found = found || depends_on(one.value, goals, seen);
  for (const Form& form : value.at) found = found || atoms_.has_data(form);
  return seen[value.term] = found;
}

// A loop that is not written out: the step is one more coordinate of what is made inside. What is carried is, at step
// 0, what the loop starts from, and after that an unknown of its own, unless it turns out to be a total or to stay.
void Builder::loop(const loops::Repeat& node) {
  const uint32_t depth = uint32_t(counters_.size());
  const int64_t steps = program_.indices[node.counter].extent;
  const index::AtomId step = depth;
  const uint32_t group = group_;
  struct Carry {
    TermId term = no_term;
    Cases inner;  // over outer counters, the step, the dimensions
    bool settled = false;
  };
  std::vector<Carry> carries(node.carries.size());
  Loop made;
  made.steps = steps;
  made.coordinate = depth;
  const auto with_step = [&](const Cases& cases, uint32_t from, Range range) {
    Cases result;
    for (const Case& one : cases) {
      std::vector<Form> images;
      for (size_t v = 0; v < one.where.box.size(); ++v)
        images.push_back(Form::variable(index::AtomId(v < from ? v : depth + 1 + v - from)));
      Region region;
      for (uint32_t i = 0; i < depth; ++i)
        region.box.push_back(i < from ? one.where.box[i] : Range{0, program_.indices[counters_[i]].extent - 1, 1});
      region.box.push_back(range);
      region.box.insert(region.box.end(), one.where.box.begin() + from, one.where.box.end());
      for (const Form& cut : one.where.cuts) region.cut(atoms_.compose(cut, images, region.box), atoms_);
      algebra_.box = region.box;
      if (!region.empty) result.push_back({region, algebra_.moved(one.value, images)});
    }
    return result;
  };
  // A case at the step before.
  const auto step_before = [&](const Case& one) -> std::optional<Case> {
    Case result = one;
    Range& range = result.where.box[step];
    range.lo += 1;
    range.hi = std::min(range.hi + 1, steps - 1);
    if (range.hi < range.lo) return std::nullopt;
    std::vector<Form> images;
    for (size_t v = 0; v < one.where.box.size(); ++v) images.push_back(Form::variable(index::AtomId(v)));
    images[step].constant = -1;
    std::vector<Form> cuts = std::exchange(result.where.cuts, {});
    for (const Form& cut : cuts) result.where.cut(atoms_.compose(cut, images, result.where.box), atoms_);
    algebra_.box = result.where.box;
    result.value = algebra_.moved(one.value, images);
    return result;
  };
  const TermId first = TermId(terms_.size());
  for (size_t i = 0; i < carries.size(); ++i) {
    const loops::Array& declared = program_.arrays[node.carries[i].inner];
    Term term;
    term.kind = TermKind::carried;
    term.rank = uint32_t(depth + 1 + declared.shape.size());
    term.type = compute_type(declared.dtype);
    term.width = declared.dtype;
    term.reads_data = true;
    term.array = uint32_t(form_.loops.size());
    carries[i].term = terms_.add(std::move(term));
    made.carried.push_back(carries[i].term);
    Cases inner = with_step(cases_of(node.carries[i].init), depth_[node.carries[i].init], {0, 0, 1});
    Region later;
    for (uint32_t c = 0; c < depth; ++c) later.box.push_back({0, program_.indices[counters_[c]].extent - 1, 1});
    later.box.push_back({1, steps - 1, 1});
    for (const int64_t extent : declared.shape) later.box.push_back({0, extent - 1, 1});
    for (const Range& range : later.box) later.empty |= range.hi < range.lo;
    std::vector<Form> forms;
    for (size_t v = 0; v < later.box.size(); ++v) forms.push_back(Form::variable(index::AtomId(v)));
    if (!later.empty) inner.push_back({later, Value::element(carries[i].term, forms, declared.dtype)});
    carries[i].inner = std::move(inner);
  }
  form_.loops.push_back(made);
  const size_t at = form_.loops.size() - 1;

  counters_.push_back(node.counter);
  const size_t spelled_before = form_.spelled.size();
  for (int round = 0; round < most_rounds; ++round) {
    form_.spelled.resize(spelled_before);
    for (size_t i = 0; i < carries.size(); ++i) {
      const ArrayId inner = node.carries[i].inner;
      form_.arrays[inner] = carries[i].inner;
      depth_[inner] = depth + 1;
      group_of_[inner] = group;
      forget_view_of(inner);
    }
    block_of(node.body, group);
    bool changed = false;
    for (size_t i = 0; i < carries.size(); ++i) {
      if (carries[i].settled) continue;
      const ArrayId next = node.carries[i].next;
      Cases cases =
          depth_[next] == depth + 1 ? cases_of(next) : with_step(cases_of(next), depth_[next], {0, steps - 1, 1});
      const std::vector<TermId> own{carries[i].term};
      std::unordered_map<TermId, bool> seen, seen_any;
      const auto start = [&] {
        return with_step(cases_of(node.carries[i].init), depth_[node.carries[i].init], {0, 0, 1});
      };
      const auto rest_of = [&](const Case& one) -> std::optional<Value> {
        // carried + rest, at the same place
        if (!one.value.is_element()) return std::nullopt;
        const Term& term = terms_[one.value.term];
        if (term.kind != TermKind::sum) return std::nullopt;
        std::vector<Argument> rest;
        int found = 0;
        algebra_.box = one.where.box;
        for (const Argument& arg : std::vector<Argument>(term.args)) {
          const Value value = algebra_.moved(arg.value, one.value.at);
          const bool is_own = value.is_element() && value.term == carries[i].term;
          bool same = is_own && arg.factor == 1;
          for (size_t v = 0; same && v < value.at.size(); ++v) same = value.at[v] == Form::variable(index::AtomId(v));
          if (is_own && !same) return std::nullopt;
          if (is_own)
            ++found;
          else if (depends_on(value, own, seen))
            return std::nullopt;
          else
            rest.push_back({value, arg.factor});
        }
        if (found != 1) return std::nullopt;
        return algebra_.sum(std::move(rest), terms_[one.value.term].number, terms_[carries[i].term].type);
      };
      // Unchanged: every later step gives what it was given.
      const bool stays = std::all_of(cases.begin(), cases.end(), [&](const Case& one) {
        if (one.where.box[step].lo == 0 && one.where.box[step].hi == 0) return true;
        if (!one.value.is_element() || one.value.term != carries[i].term) return false;
        for (size_t v = 0; v < one.value.at.size(); ++v)
          if (one.value.at[v] != Form::variable(index::AtomId(v))) return false;
        return true;
      });
      const bool from_outside = !stays && std::none_of(cases.begin(), cases.end(), [&](const Case& one) {
        bool varies = depends_on(one.value, made.carried, seen_any);
        varies |= one.where.box[step].count() < steps;
        const auto look = [&](const Form& form) {
          atoms_.for_each_variable(form, [&](index::AtomId v) { varies |= v == step; });
        };
        if (one.value.is_position()) look(one.value.form);
        for (const Form& form : one.value.at) look(form);
        for (const Form& cut : one.where.cuts) look(cut);
        return varies;
      });
      if (stays) {
        // What step 0 makes of the start is what there is from then on.
        Cases inner = start();
        Cases after;
        for (const Case& one : cases)
          if (one.where.box[step].lo == 0)
            if (auto before = step_before(one)) {
              before->where.box[step] = {1, steps - 1, 1};
              std::vector<Form> images;
              for (size_t v = 0; v < one.where.box.size(); ++v) images.push_back(Form::variable(index::AtomId(v)));
              images[step] = Form::of(0);
              before->value = algebra_.moved(one.value, images);
              after.push_back(std::move(*before));
            }
        inner.insert(inner.end(), after.begin(), after.end());
        algebra_.merge(inner);
        carries[i].inner = std::move(inner);
      } else if (from_outside) {
        Cases inner = start();
        for (const Case& one : cases)
          if (auto before = step_before(one)) inner.push_back(std::move(*before));
        carries[i].inner = std::move(inner);
      } else {
        Cases total;
        bool is_total = !cases.empty();
        for (const Case& one : cases) {
          if (one.where.box[step].hi == 0) continue;  // from the start: the same rest
          const auto rest = rest_of(one);
          is_total = is_total && rest && one.where.box[step].hi == steps - 1 && one.where.box[step].lo <= 1;
          if (!is_total) break;
          total.push_back({one.where, *rest});
        }
        if (!is_total || total.empty()) continue;
        // init + sum of rest[s] for s < t
        const Space space = space_of({}, {});
        (void)space;
        Cases sums = total_before(total, step, steps);
        Cases inner = start();
        Cases given = with_step(cases_of(node.carries[i].init), depth_[node.carries[i].init], {1, steps - 1, 1});
        const Cases args[] = {std::move(given), std::move(sums)};
        Cases later = algebra_.apply(Function::add, args, terms_[carries[i].term].type, terms_[carries[i].term].type);
        inner.insert(inner.end(), later.begin(), later.end());
        carries[i].inner = std::move(inner);
      }
      carries[i].settled = true;
      changed = true;
    }
    if (!changed) break;
  }
  // What is carried at a step is what the step before has made.
  for (size_t i = 0; i < carries.size(); ++i) {
    if (carries[i].settled) continue;
    const ArrayId next = node.carries[i].next;
    Cases cases =
        depth_[next] == depth + 1 ? cases_of(next) : with_step(cases_of(next), depth_[next], {0, steps - 1, 1});
    Cases body;
    for (const Case& one : cases)
      if (auto before = step_before(one)) body.push_back(std::move(*before));
    terms_.at(carries[i].term).body = std::move(body);
  }
  form_.loops[at].first = first;
  form_.loops[at].last = TermId(terms_.size());
  // Results: the carried arrays after the last step, then all steps of the stacked ones.
  std::vector<Cases> finals, stacks;
  for (const auto& carry : node.carries) {
    Cases cases = depth_[carry.next] == depth + 1
                      ? cases_of(carry.next)
                      : with_step(cases_of(carry.next), depth_[carry.next], {0, steps - 1, 1});
    Cases last;
    for (Case& one : cases) {
      if (one.where.box[step].hi < steps - 1) continue;
      std::vector<Form> images;
      for (size_t v = 0; v < one.where.box.size(); ++v)
        images.push_back(v == step ? Form::of(steps - 1) : Form::variable(index::AtomId(v < step ? v : v - 1)));
      Region region;
      region.box = one.where.box;
      region.box.erase(region.box.begin() + step);
      for (const Form& cut : one.where.cuts) region.cut(atoms_.compose(cut, images, region.box), atoms_);
      if (region.empty) continue;
      algebra_.box = region.box;
      last.push_back({region, algebra_.moved(one.value, images)});
    }
    finals.push_back(std::move(last));
  }
  for (const ArrayId stacked : node.stacked)
    stacks.push_back(depth_[stacked] == depth + 1 ? cases_of(stacked)
                                                  : with_step(cases_of(stacked), depth_[stacked], {0, steps - 1, 1}));
  counters_.pop_back();
  group_ = group;
  for (size_t i = 0; i < finals.size(); ++i) define(node.results[i], std::move(finals[i]));
  for (size_t i = 0; i < stacks.size(); ++i) define(node.results[finals.size() + i], std::move(stacks[i]));
}

// The sum over the steps before each one, of what is there from step 0 or 1 on. Cases are over outer counters, the
// step, dimensions.
Cases Builder::total_before(const Cases& rest, uint32_t step, int64_t steps) {
  Space space;
  space.reduced = 1;
  Cases body;
  for (const Case& one : rest) {
    std::vector<Form> images;
    for (size_t v = 0; v < one.where.box.size(); ++v) images.push_back(Form::variable(index::AtomId(v + 1)));
    images[step] = Form::variable(0);
    Region region;
    region.box.push_back({0, one.where.box[step].hi, 1});
    region.box.insert(region.box.end(), one.where.box.begin(), one.where.box.end());
    region.box[1 + step] = {1, steps - 1, 1};
    if (space.box.empty()) space.box = region.box;
    for (const Form& cut : one.where.cuts) region.cut(atoms_.compose(cut, images, region.box), atoms_);
    region.cut({-1, {{0, -1}, {index::AtomId(1 + step), 1}}}, atoms_);
    algebra_.box = region.box;
    if (!region.empty) body.push_back({region, algebra_.moved(one.value, images)});
  }
  for (size_t v = 0; v < space.box.size(); ++v)
    for (const Case& one : body) {
      space.box[v].lo = std::min(space.box[v].lo, one.where.box[v].lo);
      space.box[v].hi = std::max(space.box[v].hi, one.where.box[v].hi);
    }
  return reduced(Reducer::sum, std::move(body), space, DType::f32);
}

}  // namespace lightline::demand
