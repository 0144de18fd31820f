// What the floor needs where data choose: only what is needed whichever way they do.
#include <algorithm>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

using loops::Function;
using loops::Reducer;

void Needs::find_settled_numbers() {
  if (tier_ != Tier::floor) return;
  std::vector<std::vector<const Cases*>> others(form_.terms.size());
  int rounds = 1;
  for (TermId id = 0; id < form_.terms.size(); ++id) {
    if (term(id).kind == TermKind::scatter) others[id].push_back(&form_.scatters[term(id).array].init);
    if (term(id).kind == TermKind::carried) rounds = 3;
  }
  settled_ = SettledNumbers(form_.terms, others, rounds);
}

// A truth of which more is needed for one answer than for the other.
bool Needs::is_one_sided(const Value& truth) const {
  if (!truth.is_element()) return false;
  const Term& made = term(truth.term);
  if (made.kind == TermKind::reduce) return made.reducer == Reducer::any || made.reducer == Reducer::all;
  if (made.kind != TermKind::call) return false;
  if (made.function == Function::logical_not) return is_one_sided(made.args[0].value);
  return made.function == Function::logical_and || made.function == Function::logical_or;
}

// What it takes to know that a truth is this one: all parts of an `or` that is false, but only some part of one that is
// true, and which one is not sure.
void Needs::need_truth(const Value& truth, bool answer, const Region& region) {
  if (!is_one_sided(truth)) return need(truth, region);
  const Term& made = term(truth.term);
  if (made.kind == TermKind::reduce) {
    if ((made.reducer == Reducer::all) != answer) return;
    for (const Case& one : made.body) {
      Region wider = region;
      uint64_t reduced = 0;
      const Value inner = enter(one, made, truth.at, wider, reduced);
      if (!wider.empty) need_truth(inner, answer, wider);
    }
    return;
  }
  if (made.function == Function::logical_not) answer = !answer;
  if (made.function != Function::logical_not && (made.function == Function::logical_and) != answer) return;
  for (const Argument& arg : made.args) {
    algebra_.box = region.box;
    need_truth(algebra_.moved(arg.value, truth.at), answer, region);
  }
}

// Each side is what one answer of the data makes necessary. What all sides need is needed; it is looked for in the
// terms that they reach first.
void Needs::need_whichever(TermId below, const std::vector<std::function<void()>>& sides) {
  constexpr int most_visits = 48, most_depth = 2;
  if (sides.size() == 1) return sides[0]();
  if (sides.empty() || choice_depth_ >= most_depth || choice_visits_ <= 0) return;
  ++choice_depth_;
  const bool was = std::exchange(counting_, false);
  std::map<TermId, std::vector<Region>> common;
  for (size_t i = 0; i < sides.size(); ++i) {
    std::vector<std::vector<Region>> own(needed_.size());
    std::swap(needed_, own);
    sides[i]();
    int visits = most_visits;
    for (TermId id = below; id-- > 0 && visits > 0;) {
      if (loop_at_[id + 1] != SIZE_MAX) break;
      if (needed_[id].empty()) continue;
      visit(id);
      --visits;
      --choice_visits_;
    }
    std::swap(needed_, own);
    std::map<TermId, std::vector<Region>> both;
    for (TermId id = 0; id < own.size(); ++id) {
      if (own[id].empty()) continue;
      if (i == 0)
        both[id] = std::move(own[id]);
      else if (const auto found = common.find(id); found != common.end())
        both[id] = common_regions(found->second, own[id]);
    }
    common = std::move(both);
  }
  counting_ = was;
  --choice_depth_;
  for (auto& [id, regions] : common)
    for (Region& region : regions) insert(needed_[id], std::move(region));
}

std::vector<Region> Needs::common_regions(const std::vector<Region>& a, const std::vector<Region>& b) const {
  std::vector<Region> result;
  for (const Region& one : a)
    for (const Region& other : b) {
      if (one == other) {
        insert(result, one);
        continue;
      }
      if (!one.samples.empty() || !other.samples.empty()) continue;
      Region both = index::intersection(one, other, atoms_);
      if (!both.empty) insert(result, std::move(both));
    }
  return result;
}

// A choice needs the truth, and what both sides need.
void Needs::need_choice(TermId id, const std::vector<Region>& regions) {
  const Value truth = term(id).args[0].value;
  const bool one_sided = is_one_sided(truth);
  if (!one_sided)
    for (const Region& region : regions) need(truth, region);
  if (!one_sided && !(term(id).args[1].value.is_element() && term(id).args[2].value.is_element())) return;
  std::vector<std::function<void()>> sides;
  for (const size_t side : {1, 2})
    sides.push_back([&, side] {
      const Value chosen = term(id).args[side].value;
      for (const Region& region : regions) {
        if (one_sided) need_truth(truth, side == 1, region);
        need(chosen, region);
      }
    });
  need_whichever(id, sides);
}

// A product of which data can choose a factor to be 0 needs no more than the proof of that. False if no factor can be.
bool Needs::need_unless_zero(TermId below, const std::vector<Multiplied>& factors, const std::vector<Region>& regions) {
  constexpr size_t most_ways = 3;
  std::vector<Value> zeros;
  for (const Multiplied& factor : factors)
    for (const Value& value : factor.zero_by)
      if (std::find(zeros.begin(), zeros.end(), value) == zeros.end()) zeros.push_back(value);
  if (zeros.empty()) return false;
  if (zeros.size() > most_ways) return true;
  if (zeros.size() == 1 && !is_one_sided(zeros[0])) {
    for (const Region& region : regions) need(zeros[0], region);
    return true;
  }
  std::vector<std::function<void()>> sides;
  for (const Value& zero : zeros)
    sides.push_back([&] {
      for (const Region& region : regions) need_truth(zero, false, region);
    });
  sides.push_back([&] {
    for (const Multiplied& factor : factors)
      for (const Value& value : factor.needs)
        for (const Region& region : regions) need_truth(value, true, region);
  });
  need_whichever(below, sides);
  return true;
}

Multiplied Needs::multiplied(const Value& value) const {
  Multiplied factor{{value}, {}};
  if (value.is_element() && settled_.of(value).has(0)) factor.zero_by.push_back(value);
  return factor;
}

bool Needs::may_be_zero(const Network& network, TermId owner) {
  std::vector<Multiplied> factors;
  for (const Factor& factor : network.factors)
    factors.push_back(factor.exponential ? Multiplied{factor.needs, factor.zero_by} : multiplied(factor.value));
  return need_unless_zero(owner, factors, {network.region});
}

// Of arguments one of which data can choose to be all that matters: infinite in a sum, the greatest in a maximum. False
// if none can be.
bool Needs::need_unless_decided(TermId id, const std::vector<Region>& regions) {
  const Term& made = term(id);
  std::vector<std::function<void()>> sides;
  for (size_t i = 0; i < made.args.size(); ++i) {
    const Argument& arg = made.args[i];
    bool decides = made.kind == TermKind::sum && settled_.drowns(made, arg);
    if (made.kind == TermKind::call && arg.value.is_element()) {
      const bool greatest = made.function == Function::max || made.function == Function::fmax;
      const bool lowest = made.function == Function::min || made.function == Function::fmin;
      decides = (greatest || lowest) && settled_.of(arg.value).has(greatest ? INFINITY : -INFINITY);
    }
    if (decides)
      sides.push_back([&, i] {
        const Value value = term(id).args[i].value;
        for (const Region& region : regions) need(value, region);
      });
  }
  if (sides.empty()) return false;
  need_whichever(id, sides);
  return true;
}

// One element that data choose to be so proves the result of a reduction, and which one is not sure.
bool Needs::is_decided_by_one(const Value& value, Reducer reducer) const {
  if (tier_ != Tier::floor || !value.is_element()) return false;
  const Settled settled = settled_.of(value);
  switch (reducer) {
    case Reducer::max:
    case Reducer::argmax: return settled.has(INFINITY);
    case Reducer::min:
    case Reducer::argmin: return settled.has(-INFINITY);
    case Reducer::prod: return settled.has(0);
    case Reducer::sum: return settled.has(INFINITY) || settled.has(-INFINITY);
    default: return false;
  }
}

}  // namespace lightline::demand
