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
constexpr int most_rounds = 6;

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
// Says whether it made the results; with `only_totals` it does so if nothing unknown is left.
bool Builder::loop(const loops::Repeat& node, bool only_totals) {
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
  for (int round = 0; round < most_rounds; ++round) {
    for (size_t i = 0; i < carries.size(); ++i) {
      const ArrayId inner = node.carries[i].inner;
      form_.arrays[inner] = carries[i].inner;
      depth_[inner] = depth + 1;
      group_of_[inner] = group;
      forget_view_of(inner);
    }
    block_of(node.body, group);
    std::vector<TermId> settled_now;
    for (const bool totals : {false, true})
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
        const auto addition_of = [&](const Case& one) { return addition(one, carries[i].term, seen); };
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
          if (!totals) continue;
          // What was settled in this round is not yet seen in what this one is made of.
          const bool stale = std::any_of(cases.begin(), cases.end(), [&](const Case& one) {
            std::unordered_map<TermId, bool> met;
            return depends_on(one.value, settled_now, met);
          });
          if (stale) continue;
          Cases total;
          bool is_total = !cases.empty();
          std::optional<Value> decay;
          for (const Case& one : cases) {
            if (one.where.box[step].hi == 0) continue;  // from the start: the same rest
            const auto added = addition_of(one);
            is_total = is_total && added && one.where.box[step].hi == steps - 1 && one.where.box[step].lo <= 1 &&
                       (!decay || *decay == added->decay);
            if (!is_total) break;
            decay = added->decay;
            total.push_back({one.where, added->rest});
          }
          if (!is_total || total.empty()) continue;
          // What it starts from, and the sum of rest[s] for s < t, as far as they have not decayed
          const DType type = terms_[carries[i].term].type;
          Cases given = with_step(cases_of(node.carries[i].init), depth_[node.carries[i].init], {1, steps, 1});
          const auto scale = decay_since(*decay, step, total[0].where.box);
          if (!scale) continue;
          for (Case& one : given) one.value = decayed(one.value, *scale, step, Form::of(-1), one.where.box, type);
          const Cases args[] = {std::move(given), total_before(total, *scale, step, steps, type)};
          Cases later = algebra_.apply(Function::add, args, type, type);
          Cases inner = start();
          for (const Case& one : later) {
            Case before = one;
            before.where.box[step].hi = std::min(before.where.box[step].hi, steps - 1);
            if (before.where.box[step].lo <= before.where.box[step].hi) inner.push_back(std::move(before));
          }
          totals_[next] = one_step_on(later, step);
          carries[i].inner = std::move(inner);
        }
        carries[i].settled = true;
        settled_now.push_back(carries[i].term);
      }
    if (settled_now.empty()) break;
  }
  if (only_totals && std::any_of(carries.begin(), carries.end(), [](const Carry& carry) { return !carry.settled; })) {
    for (const auto& carry : node.carries) totals_.erase(carry.next);
    counters_.pop_back();
    group_ = group;
    return false;
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
  for (const auto& carry : node.carries) totals_.erase(carry.next);
  counters_.pop_back();
  group_ = group;
  for (size_t i = 0; i < finals.size(); ++i) define(node.results[i], std::move(finals[i]));
  for (size_t i = 0; i < stacks.size(); ++i) define(node.results[finals.size() + i], std::move(stacks[i]));
  return true;
}

// carried[t + 1] = decay * carried[t] + rest, at the same place.
std::optional<Builder::Addition> Builder::addition(const Case& one, TermId carried,
                                                   std::unordered_map<TermId, bool>& seen) {
  if (!one.value.is_element() || terms_[one.value.term].kind != TermKind::sum) return std::nullopt;
  const Term made = terms_[one.value.term];
  const std::vector<TermId> own{carried};
  const auto is_carried = [&](const Value& value) {
    if (!value.is_element() || value.term != carried) return false;
    for (size_t v = 0; v < value.at.size(); ++v)
      if (value.at[v] != Form::variable(index::AtomId(v))) return false;
    return true;
  };
  std::vector<Argument> rest;
  std::optional<Value> decay;
  algebra_.box = one.where.box;
  for (const Argument& arg : made.args) {
    const Value value = algebra_.moved(arg.value, one.value.at);
    if (!depends_on(value, own, seen)) {
      rest.push_back({value, arg.factor});
      continue;
    }
    if (decay) return std::nullopt;
    std::vector<Value> factors;
    if (!is_carried(value)) {
      const Term product = terms_[value.term];
      if (product.kind != TermKind::product) return std::nullopt;
      int found = 0;
      for (const Argument& inner : product.args) {
        const Value factor = algebra_.moved(inner.value, value.at);
        if (is_carried(factor))
          ++found;
        else if (depends_on(factor, own, seen))
          return std::nullopt;
        else
          factors.push_back(factor);
      }
      if (found != 1) return std::nullopt;
      decay = algebra_.product(std::move(factors), product.number * arg.factor, made.type);
    } else {
      decay = Value::of(arg.factor);
    }
  }
  if (!decay) return std::nullopt;
  return Addition{*decay, algebra_.sum(std::move(rest), made.number, made.type)};
}

// What decays by the same at every step is a power; by data of every step, a quotient of running products, which is
// worth it only if whole rows decay alike. `box` is that of the carried array, with the step.
std::optional<Value> Builder::decay_since(const Value& decay, uint32_t step, const std::vector<Range>& box) {
  if (decay.is_number() || decay.is_position()) return decay;
  uint64_t variables = 0;
  for (const Form& form : decay.at)
    atoms_.for_each_variable(form, [&](index::AtomId v) { variables |= v < 64 ? uint64_t(1) << v : 0; });
  if ((variables >> step & 1) == 0) return decay;
  const bool whole_rows = std::popcount(variables) < int(box.size());
  if (!whole_rows) return std::nullopt;
  // The product of decay[r] for r <= t
  Space space;
  space.reduced = 1;
  Region region;
  region.box.push_back(box[step]);
  region.box.insert(region.box.end(), box.begin(), box.end());
  region.box[0].lo = region.box[1 + step].lo = 0;
  space.box = region.box;
  std::vector<Form> images;
  for (size_t v = 0; v < box.size(); ++v) images.push_back(Form::variable(index::AtomId(v + 1)));
  images[step] = Form::variable(0);
  region.cut({0, {{0, -1}, {index::AtomId(1 + step), 1}}}, atoms_);
  algebra_.box = region.box;
  const Cases product = reduced(Reducer::prod, {{region, algebra_.moved(decay, images)}}, space, DType::f32);
  return product.size() == 1 ? std::optional(product[0].value) : std::nullopt;
}

// A value that was added at step `since`, at the step that the coordinate says.
Value Builder::decayed(const Value& value, const Value& scale, uint32_t step, const Form& since,
                       const std::vector<Range>& box, DType type) {
  if (scale.is_number(1) || value.is_number(0)) return value;
  std::vector<Form> images;
  for (size_t v = 0; v < box.size(); ++v) images.push_back(Form::variable(index::AtomId(v)));
  const Form before = atoms_.sum(Form::variable(step), Form::of(-1));
  bool running = false;  // a running product
  for (const Form& form : scale.at) running |= form.coefficient(step) != 0;
  Region where;
  where.box = box;
  Cases into;
  if (!running) {
    const Value exponent = Value::position(atoms_.sum(before, since, -1));
    const Value* args[] = {&scale, &exponent};
    algebra_.call(Function::pow, args, type, type, where, into);
    return algebra_.product({value, into.at(0).value}, 1, type);
  }
  images[step] = before;
  const Value now = algebra_.moved(scale, images);
  if (since.is_constant()) return algebra_.product({value, now}, 1, type);  // from the start
  images[step] = since;
  const Value then = algebra_.moved(scale, images), one = Value::of(1);
  const Value* args[] = {&one, &then};
  algebra_.call(Function::divide, args, type, type, where, into);
  return algebra_.product({value, now, into.at(0).value}, 1, type);
}

// What is there after each step, of what is there before it.
Cases Builder::one_step_on(const Cases& cases, uint32_t step) {
  Cases result = cases;
  for (Case& one : result) {
    std::vector<Form> images;
    for (size_t v = 0; v < one.where.box.size(); ++v) images.push_back(Form::variable(index::AtomId(v)));
    images[step].constant = 1;
    one.where.box[step].lo -= 1;
    one.where.box[step].hi -= 1;
    std::vector<Form> cuts = std::exchange(one.where.cuts, {});
    for (const Form& cut : cuts) one.where.cut(atoms_.compose(cut, images, one.where.box), atoms_);
    algebra_.box = one.where.box;
    one.value = algebra_.moved(one.value, images);
  }
  return result;
}

// The sum over the steps before each one, up to the end, of what is there from step 0 or 1 on. Cases are over outer
// counters, the step, dimensions.
Cases Builder::total_before(const Cases& rest, const Value& scale, uint32_t step, int64_t steps, DType type) {
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
    region.box[1 + step] = {1, steps, 1};
    if (space.box.empty()) space.box = region.box;
    for (const Form& cut : one.where.cuts) region.cut(atoms_.compose(cut, images, region.box), atoms_);
    region.cut({-1, {{0, -1}, {index::AtomId(1 + step), 1}}}, atoms_);
    algebra_.box = region.box;
    if (region.empty) continue;
    const Value added = algebra_.moved(one.value, images);
    images[step] = Form::variable(index::AtomId(1 + step));
    const Value later = algebra_.moved(scale, images);
    body.push_back({region, decayed(added, later, 1 + step, Form::variable(0), region.box, type)});
  }
  for (size_t v = 0; v < space.box.size(); ++v)
    for (const Case& one : body) {
      space.box[v].lo = std::min(space.box[v].lo, one.where.box[v].lo);
      space.box[v].hi = std::max(space.box[v].hi, one.where.box[v].hi);
    }
  return reduced(Reducer::sum, std::move(body), space, type);
}

}  // namespace lightline::demand
