// Counts of one array against several numbers, as in a histogram: they spell one algorithm among better ones, as counts
// against the elements of another array do (see need_search).
#include <algorithm>
#include <map>

#include "demand/needs.h"

namespace lightline::demand {

// What is compared with numbers in a truth, and the elements that are such numbers: those that lie at one place. False
// if there is anything else.
bool Needs::find_sides(const Value& truth, std::vector<Value>& sides, std::vector<Value>& numbers) {
  using F = loops::Function;
  constexpr size_t most_sides = 16;
  if (!truth.is_element() || sides.size() > most_sides) return false;
  const Term& made = term(truth.term);
  if (made.kind != TermKind::call) return false;
  std::vector<Value> args;
  for (const Argument& arg : made.args) args.push_back(algebra_.moved(arg.value, truth.at));
  const F function = made.function;
  if (function == F::logical_and || function == F::logical_or || function == F::logical_not)
    return std::all_of(args.begin(), args.end(), [&](const Value& arg) { return find_sides(arg, sides, numbers); });
  if (function != F::lt && function != F::le && function != F::gt && function != F::ge) return false;
  const auto lies_at_one_place = [](const Value& value) {
    if (value.is_position()) return value.form.is_constant();
    return std::all_of(value.at.begin(), value.at.end(), [](const Form& form) { return form.is_constant(); });
  };
  const bool first = lies_at_one_place(args[0]);
  if (first == lies_at_one_place(args[1])) return false;
  const Value &number = args[first ? 0 : 1], &side = args[first ? 1 : 0];
  if (!side.is_element() || !algebra_.reads_data(side)) return false;
  if (number.is_element()) numbers.push_back(number);
  if (std::find(sides.begin(), sides.end(), side) == sides.end()) sides.push_back(side);
  return true;
}

// Of one array, over the same points, and nothing else.
void Needs::find_counts() {
  struct Counted {
    Value side;
    Region where;
    std::vector<TermId> counts;
  };
  std::map<TermId, std::vector<Counted>> by_term;
  for (TermId id = 0; id < form_.terms.size(); ++id) {
    const Term& made = term(id);
    if (uses_[id] == 0 || made.kind != TermKind::reduce || made.reducer != loops::Reducer::sum) continue;
    if (made.body.size() != 1) continue;
    const Case& one = made.body[0];
    std::vector<Value> sides, numbers;
    algebra_.box = one.where.box;
    if (!find_sides(one.value, sides, numbers) || sides.size() != 1) continue;
    std::vector<Counted>& list = by_term[sides[0].term];
    const auto known = std::find_if(list.begin(), list.end(), [&](const Counted& other) {
      return other.side == sides[0] && other.where == one.where;
    });
    if (known == list.end())
      list.push_back({sides[0], one.where, {id}});
    else
      known->counts.push_back(id);
  }
  for (const auto& [source, list] : by_term)
    for (const Counted& one : list)
      if (one.counts.size() > 1) counts_.insert(one.counts.begin(), one.counts.end());
}

// Only what they compare is needed.
bool Needs::need_counted(const Value& truth, const Region& region, TermId owner) {
  if (tier_ == Tier::floor || !counts_.contains(owner)) return false;
  std::vector<Value> sides, numbers;
  algebra_.box = region.box;
  if (!find_sides(truth, sides, numbers)) return false;
  for (const auto* list : {&sides, &numbers})
    for (const Value& one : *list) need(one, region);
  return true;
}

}  // namespace lightline::demand
