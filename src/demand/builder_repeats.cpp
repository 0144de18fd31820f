// Loops that are not written out, and totals over their steps.
#include <algorithm>
#include <bit>

#include "demand/builder.h"
#include "demand/linear_loops.h"

namespace lightline::demand {

using loops::ArrayId;
using loops::Function;
using loops::Reducer;

namespace {

constexpr int most_rounds = 8;

}  // namespace

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

// The step is one more coordinate of what is made inside, before the dimensions of arrays. What is carried is, at step
// 0, what the loop starts from, and after that an unknown of its own, unless it turns out to stay, to come from outside
// or to be a total.
struct Builder::LoopForm {
  struct Carry {
    ArrayId init, inner, next;
    TermId term = no_term;
    Cases cases;  // over outer counters, the step, the dimensions
    bool settled = false;
  };

  Builder& builder;
  const loops::Repeat& node;
  const uint32_t depth = uint32_t(builder.counters_.size());
  const uint32_t step = depth;  // the variable
  const int64_t steps = builder.program_.indices[node.counter].extent;
  const uint32_t group = builder.group_;
  const size_t spelled = builder.form_.spelled.size();  // before the loop
  std::vector<Carry> carries = {};
  std::vector<TermId> carried = {};  // terms

  Range counter(uint32_t i) const { return {0, builder.program_.indices[builder.counters_[i]].extent - 1, 1}; }

  // Cases over counters and dimensions, with the step between them.
  Cases with_step(const Cases& cases, uint32_t from, Range range) const {
    Cases result;
    for (const Case& one : cases) {
      std::vector<Form> images;
      for (size_t v = 0; v < one.where.box.size(); ++v)
        images.push_back(Form::variable(index::AtomId(v < from ? v : depth + 1 + v - from)));
      Region region;
      for (uint32_t i = 0; i < depth; ++i) region.box.push_back(i < from ? one.where.box[i] : counter(i));
      region.box.push_back(range);
      region.box.insert(region.box.end(), one.where.box.begin() + from, one.where.box.end());
      for (const Form& cut : one.where.cuts)
        region.cut(builder.atoms_.compose(cut, images, region.box), builder.atoms_);
      builder.algebra_.box = region.box;
      if (!region.empty) result.push_back({region, builder.algebra_.moved(one.value, images)});
    }
    return result;
  }

  Cases start(const Carry& carry, Range range) const {
    return with_step(builder.cases_of(carry.init), builder.depth_[carry.init], range);
  }

  Cases made(ArrayId array) const {
    const Cases& cases = builder.cases_of(array);
    return builder.depth_[array] == depth + 1 ? cases : with_step(cases, builder.depth_[array], {0, steps - 1, 1});
  }

  // What is there from `first` on, and nobody knows.
  Cases unknown(const Carry& carry, int64_t first) const {
    Region later;
    for (uint32_t i = 0; i < depth; ++i) later.box.push_back(counter(i));
    later.box.push_back({first, steps - 1, 1});
    const loops::Array& declared = builder.program_.arrays[carry.inner];
    for (const int64_t extent : declared.shape) later.box.push_back({0, extent - 1, 1});
    for (const Range& range : later.box)
      if (range.hi < range.lo) return {};
    return {{later, Value::element(carry.term, own_variables(later.box.size()), declared.dtype)}};
  }

  void add_carry(const loops::Repeat::Carry& given) {
    const loops::Array& declared = builder.program_.arrays[given.inner];
    Term term;
    term.kind = TermKind::carried;
    term.rank = uint32_t(depth + 1 + declared.shape.size());
    term.type = compute_type(declared.dtype);
    term.width = declared.dtype;
    term.reads_data = true;
    term.array = uint32_t(builder.form_.loops.size());
    carries.push_back({given.init, given.inner, given.next, builder.terms_.add(std::move(term))});
    carried.push_back(carries.back().term);
  }

  // What the body makes of the carried arrays; `with_start` says whether step 0 sees what they start from.
  void evaluate_body(bool with_start) {
    for (const Carry& carry : carries) {
      Cases cases = carry.cases;
      if (!carry.settled) {
        cases = with_start ? start(carry, {0, 0, 1}) : Cases();
        for (Case& one : unknown(carry, with_start ? 1 : 0)) cases.push_back(std::move(one));
      }
      builder.form_.arrays[carry.inner] = std::move(cases);
      builder.depth_[carry.inner] = depth + 1;
      builder.group_of_[carry.inner] = group;
      builder.forget_view_of(carry.inner);
    }
    builder.form_.spelled.resize(spelled);
    builder.block_of(node.body, group);
  }

  bool is_carried_at(const Value& value, const Carry& carry) const {
    return value.is_element() && value.term == carry.term && value.at == own_variables(value.at.size());
  }

  // A case at the step before.
  std::optional<Case> step_before(const Case& one) const {
    Case result = one;
    Range& range = result.where.box[step];
    range.lo += 1;
    range.hi = std::min(range.hi + 1, steps - 1);
    if (range.hi < range.lo) return std::nullopt;
    std::vector<Form> images = own_variables(one.where.box.size());
    images[step].constant = -1;
    std::vector<Form> cuts = std::exchange(result.where.cuts, {});
    for (const Form& cut : cuts)
      result.where.cut(builder.atoms_.compose(cut, images, result.where.box), builder.atoms_);
    builder.algebra_.box = result.where.box;
    result.value = builder.algebra_.moved(one.value, images);
    return result;
  }

  // Every later step gives what it was given: what step 0 makes of the start is what there is from then on.
  bool stays(Carry& carry) const {
    const Cases cases = made(carry.next);
    const bool same = std::all_of(cases.begin(), cases.end(), [&](const Case& one) {
      const Range& range = one.where.box[step];
      return (range.lo == 0 && range.hi == 0) || is_carried_at(one.value, carry);
    });
    if (!same) return false;
    Cases settled = start(carry, {0, 0, 1});
    for (const Case& one : cases) {
      auto before = one.where.box[step].lo == 0 ? step_before(one) : std::nullopt;
      if (!before) continue;
      before->where.box[step] = {1, steps - 1, 1};
      std::vector<Form> images = own_variables(one.where.box.size());
      images[step] = Form::of(0);
      before->value = builder.algebra_.moved(one.value, images);
      settled.push_back(std::move(*before));
    }
    builder.algebra_.merge(settled);
    carry.cases = std::move(settled);
    return true;
  }

  // The same at every step, whatever is carried.
  bool comes_from_outside(Carry& carry) const {
    const Cases cases = made(carry.next);
    std::unordered_map<TermId, bool> seen;
    const bool varies = std::any_of(cases.begin(), cases.end(), [&](const Case& one) {
      bool found = builder.depends_on(one.value, carried, seen) || one.where.box[step].count() < steps;
      const auto look = [&](const Form& form) {
        builder.atoms_.for_each_variable(form, [&](index::AtomId v) { found |= v == step; });
      };
      if (one.value.is_position()) look(one.value.form);
      for (const Form& form : one.value.at) look(form);
      for (const Form& cut : one.where.cuts) look(cut);
      return found;
    });
    if (varies) return false;
    Cases settled = start(carry, {0, 0, 1});
    for (const Case& one : cases)
      if (auto before = step_before(one)) settled.push_back(std::move(*before));
    carry.cases = std::move(settled);
    return true;
  }

  // What it starts from, and the sum of what is added at every step before, as far as they have not decayed.
  bool is_total(Carry& carry, const std::vector<TermId>& settled_now) const {
    std::unordered_map<TermId, bool> seen, stale;
    Cases total;
    std::optional<Value> decay;
    for (const Case& one : made(carry.next)) {
      const Range& range = one.where.box[step];
      // What was settled in this round is not yet seen in what this one is made of.
      if (range.lo > 0 || range.hi < steps - 1 || builder.depends_on(one.value, settled_now, stale)) return false;
      const auto added = builder.addition(one, carry.term, seen);
      if (!added || (decay && !(*decay == added->decay))) return false;
      decay = added->decay;
      total.push_back({one.where, added->rest});
    }
    if (total.empty()) return false;
    Cases given = start(carry, {1, steps, 1});
    const bool from_zero =
        std::all_of(given.begin(), given.end(), [](const Case& one) { return one.value.is_number(0); });
    const auto scale = builder.decay_since(*decay, step, total[0].where.box, from_zero ? 1 : 0);
    if (!scale) return false;
    const DType type = builder.terms_[carry.term].type;
    for (Case& one : given) one.value = builder.decayed(one.value, *scale, step, Form::of(-1), one.where.box, type);
    const Cases args[] = {std::move(given), builder.total_before(total, *scale, step, steps, type)};
    const Cases later = builder.algebra_.apply(Function::add, args, type, type);
    Cases settled = start(carry, {0, 0, 1});
    for (Case one : later) {
      one.where.box[step].hi = std::min(one.where.box[step].hi, steps - 1);
      if (one.where.box[step].lo <= one.where.box[step].hi) settled.push_back(std::move(one));
    }
    carry.cases = std::move(settled);
    builder.totals_[carry.next] = builder.one_step_on(later, step);
    return true;
  }

  bool is_settled() const {
    return std::all_of(carries.begin(), carries.end(), [](const Carry& carry) { return carry.settled; });
  }

  bool settle(bool totals) {
    evaluate_body(!totals);
    std::vector<TermId> settled_now;
    for (Carry& carry : carries) {
      if (carry.settled) continue;
      carry.settled = totals ? is_total(carry, settled_now) : stays(carry) || comes_from_outside(carry);
      if (carry.settled) settled_now.push_back(carry.term);
    }
    return !settled_now.empty();
  }

  // After the last step.
  Cases last(const Carry& carry) const {
    Cases result;
    for (const Case& one : made(carry.next)) {
      if (one.where.box[step].hi < steps - 1) continue;
      std::vector<Form> images;
      for (size_t v = 0; v < one.where.box.size(); ++v)
        images.push_back(v == step ? Form::of(steps - 1) : Form::variable(index::AtomId(v < step ? v : v - 1)));
      Region region;
      region.box = one.where.box;
      region.box.erase(region.box.begin() + step);
      for (const Form& cut : one.where.cuts)
        region.cut(builder.atoms_.compose(cut, images, region.box), builder.atoms_);
      if (region.empty) continue;
      builder.algebra_.box = region.box;
      result.push_back({region, builder.algebra_.moved(one.value, images)});
    }
    return result;
  }

  bool run(bool only_totals) {
    const TermId first = TermId(builder.terms_.size());
    for (const auto& carry : node.carries) add_carry(carry);
    const size_t at = builder.form_.loops.size();
    builder.form_.loops.push_back({steps, depth, carried, 0, 0});
    builder.counters_.push_back(node.counter);
    for (int round = 0; round < most_rounds && !is_settled(); ++round)
      if (!settle(false) && !settle(true)) break;
    builder.form_.spelled.resize(spelled);
    evaluate_body(true);
    // What is carried at a step is what the step before has made.
    for (const Carry& carry : carries) {
      if (carry.settled) continue;
      Cases body;
      for (const Case& one : made(carry.next))
        if (auto before = step_before(one)) body.push_back(std::move(*before));
      builder.terms_.at(carry.term).body = std::move(body);
    }
    builder.form_.loops[at].first = first;
    builder.form_.loops[at].last = TermId(builder.terms_.size());
    const bool done = !only_totals || is_settled() || is_linear(builder.form_, builder.form_.loops[at]);
    if (!done) builder.form_.spelled.resize(spelled);
    std::vector<Cases> results;
    for (const Carry& carry : carries) results.push_back(done ? last(carry) : Cases());
    for (const ArrayId stacked : node.stacked) results.push_back(done ? made(stacked) : Cases());
    for (const Carry& carry : carries) builder.totals_.erase(carry.next);
    builder.counters_.pop_back();
    builder.group_ = group;
    for (size_t i = 0; i < results.size() && done; ++i) builder.define(node.results[i], std::move(results[i]));
    return done;
  }
};

bool Builder::loop(const loops::Repeat& node, bool only_totals) { return LoopForm{*this, node}.run(only_totals); }

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
// worth it only if whole rows decay alike. `box` is that of the carried array, with the step. The product of no steps,
// before the first that matters, is 1.
std::optional<Value> Builder::decay_since(const Value& decay, uint32_t step, const std::vector<Range>& box,
                                          int64_t first) {
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
  if (product.size() != 1) return std::nullopt;
  Value value = product[0].value;
  if (first == 0 || !value.is_element() || terms_[value.term].body.size() != 1) return value;
  Term later = terms_[value.term];
  if (later.reduced.empty() || later.reduced[0].hi < first) return value;
  later.reduced[0].lo = later.body[0].where.box[0].lo = first;
  value.term = terms_.intern(std::move(later));
  return value;
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
