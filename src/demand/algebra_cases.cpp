// Lists of cases: which of them meet.
#include <algorithm>
#include <numeric>
#include <optional>

#include "demand/algebra.h"

namespace lightline::demand {
namespace {

constexpr size_t most_cases = 1024;

// A range that splits the cases, none of them in two.
struct Sorted {
  size_t dimension = 0;
  std::vector<size_t> order;
};

std::optional<Sorted> sorted_along(const Cases& cases) {
  const size_t rank = cases[0].where.box.size();
  for (size_t d = 0; d < rank; ++d) {
    Sorted sorted{d, std::vector<size_t>(cases.size())};
    std::iota(sorted.order.begin(), sorted.order.end(), size_t(0));
    std::sort(sorted.order.begin(), sorted.order.end(),
              [&](size_t a, size_t b) { return cases[a].where.box[d].lo < cases[b].where.box[d].lo; });
    bool apart = true;
    for (size_t i = 0; i + 1 < cases.size() && apart; ++i)
      apart = cases[sorted.order[i]].where.box[d].hi < cases[sorted.order[i + 1]].where.box[d].lo;
    if (apart) return sorted;
  }
  return std::nullopt;
}

// Finds the cases whose boxes a region may meet, in their order.
class Neighbours {
 public:
  explicit Neighbours(const Cases& cases) : cases_(cases) {
    if (cases.size() < least_sorted) return;
    // Along the dimension that tells most of them apart
    size_t most = 0;
    for (size_t d = 0; d < cases[0].where.box.size(); ++d) {
      std::vector<size_t> order(cases.size());
      std::iota(order.begin(), order.end(), size_t(0));
      std::sort(order.begin(), order.end(),
                [&](size_t a, size_t b) { return cases[a].where.box[d].lo < cases[b].where.box[d].lo; });
      size_t starts = 1;
      for (size_t i = 1; i < order.size(); ++i)
        starts += cases[order[i]].where.box[d].lo != cases[order[i - 1]].where.box[d].lo;
      if (starts <= most) continue;
      most = starts;
      dimension_ = d;
      order_ = std::move(order);
    }
    for (const size_t i : order_) reach_.push_back(std::max(end_of(i), reach_.empty() ? INT64_MIN : reach_.back()));
  }

  template <class Visit>
  void for_each(const Region& where, const Visit& visit) const {
    if (order_.empty()) {
      for (const Case& one : cases_) visit(one);
      return;
    }
    const Range& range = where.box[dimension_];
    std::vector<size_t> met;
    const auto first = std::lower_bound(reach_.begin(), reach_.end(), range.lo) - reach_.begin();
    for (size_t i = size_t(first); i < order_.size() && start_of(order_[i]) <= range.hi; ++i)
      if (!are_apart(cases_[order_[i]].where, where)) met.push_back(order_[i]);
    std::sort(met.begin(), met.end());
    for (const size_t i : met) visit(cases_[i]);
  }

 private:
  static constexpr size_t least_sorted = 16;
  int64_t start_of(size_t i) const { return cases_[i].where.box[dimension_].lo; }
  int64_t end_of(size_t i) const { return cases_[i].where.box[dimension_].hi; }
  static bool are_apart(const Region& a, const Region& b) {
    for (size_t d = 0; d < a.box.size(); ++d)
      if (a.box[d].hi < b.box[d].lo || b.box[d].hi < a.box[d].lo) return true;
    return false;
  }

  const Cases& cases_;
  size_t dimension_ = 0;
  std::vector<size_t> order_;   // by start; empty if there are few
  std::vector<int64_t> reach_;  // how far any of those so far goes
};

}  // namespace

void Algebra::for_each_choice(std::span<const Cases* const> lists,
                              const std::function<void(const Region&, std::span<const Value* const>)>& visit) {
  std::vector<const Value*> values(lists.size());
  size_t left = most_cases * 4;
  std::vector<Neighbours> neighbours;
  const auto from = [&](const auto& self, size_t depth, const Region& where) -> void {
    if (where.empty || left == 0) return;
    if (depth == lists.size()) {
      if (--left == 0) given_up.push_back("an expression in more parts than are told apart");
      visit(where, values);
      return;
    }
    const auto take = [&](const Case& one) {
      if (!may_meet()) return;
      values[depth] = &one.value;
      if (depth == 0 || &one.where == &where || one.where == where)
        self(self, depth + 1, one.where);
      else if (const Region both = index::intersection(where, one.where, atoms_);
               !both.empty && (both.cuts.size() < 2 || !index::has_no_points(both, atoms_)))
        self(self, depth + 1, both);
    };
    if (depth > 0) return neighbours[depth].for_each(where, take);
    for (const Case& one : *lists[0]) take(one);
  };
  if (std::any_of(lists.begin(), lists.end(), [](const Cases* cases) { return cases->empty(); })) return;
  // Two long lists: only neighbours meet.
  if (lists.size() == 2 && lists[0]->size() > 16 && lists[1]->size() > 16) {
    if (const auto sorted = sorted_along(*lists[1])) {
      const size_t d = sorted->dimension;
      const Cases& others = *lists[1];
      for (const Case& one : *lists[0]) {
        values[0] = &one.value;
        auto at = std::partition_point(sorted->order.begin(), sorted->order.end(),
                                       [&](size_t i) { return others[i].where.box[d].hi < one.where.box[d].lo; });
        for (; at != sorted->order.end() && others[*at].where.box[d].lo <= one.where.box[d].hi; ++at) {
          if (!may_meet()) return;
          const Region where = index::intersection(one.where, others[*at].where, atoms_);
          if (where.empty) continue;
          values[1] = &others[*at].value;
          visit(where, values);
        }
      }
      return;
    }
  }
  neighbours.reserve(lists.size());
  for (const Cases* cases : lists) neighbours.emplace_back(*cases);
  from(from, 0, Region{});
}

// Within the budget for the whole program.
bool Algebra::may_meet() {
  if (choices > 0 && --choices == 0) given_up.push_back("more parts in all than are told apart");
  return choices > 0;
}

// Whether a number or a formula of indices may hide what it is added to, or what it multiplies.
bool Algebra::may_hide(const Case& one, bool added) {
  if (one.value.is_number())
    return added ? std::abs(one.value.number) >= -as_good_as_minus_infinity : one.value.number == 0;
  if (added || reads_data(one.value)) return true;
  if (one.value.is_position()) {
    const Range values = atoms_.range(one.value.form, one.where.box);
    return values.lo <= 0 && values.hi >= 0;
  }
  return may_be_zero(one.value, one.where.box);
}

// Of a formula of indices, wherever it may be read in a box; if that are few places.
bool Algebra::may_be_zero(const Value& formula, std::span<const Range> ranges) {
  constexpr double most_points = 4096;
  index::Piece places;
  double points = 1;
  std::vector<bool> matters(ranges.size(), false);
  for (const Form& form : formula.at) atoms_.for_each_variable(form, [&](index::AtomId v) { matters[v] = true; });
  for (size_t v = 0; v < ranges.size(); ++v) {
    places.box.push_back(matters[v] ? ranges[v] : Range{ranges[v].lo, ranges[v].lo, 1});
    points *= double(places.box.back().count());
  }
  if (points > most_points) return true;
  bool zero = false;
  index::for_each_point(places, [&](const std::vector<int64_t>& at) {
    const auto number = zero ? std::nullopt : evaluate(formula, at);
    zero = zero || !number || *number == 0;
  });
  return zero;
}

// Numbers that change from region to region, as one element of a formula: what is added to something, or what multiplies
// it. Nothing if they are few, or if some of them could hide the rest. Where equal numbers may meet equal elements, what
// could hide the rest stays apart, and what is made of the others is only read.
std::optional<Cases> Algebra::as_formula(const Cases& numbers, DType type, bool added, bool may_repeat) {
  constexpr size_t most_apart = 4;
  if (numbers.size() <= most_apart || !is_float(type)) return std::nullopt;
  Region whole;
  whole.box = numbers[0].where.box;
  std::vector<bool> matters(whole.box.size(), false);
  Cases made;  // of the formula
  Cases apart;
  for (const Case& one : numbers) {
    const bool hides = may_hide(one, added);
    if (hides && !may_repeat) return std::nullopt;
    (hides ? apart : made).push_back(one);
    if (hides) continue;
    const auto mark = [&](const Form& form) {
      atoms_.for_each_variable(form, [&](index::AtomId v) { matters[v] = true; });
    };
    mark(one.value.form);
    for (const Form& form : one.value.at) mark(form);
    if (!one.where.samples.empty() || one.where.box.size() != whole.box.size()) return std::nullopt;
    for (size_t v = 0; v < whole.box.size(); ++v) {
      const Range& own = one.where.box[v];
      matters[v] = matters[v] || own != whole.box[v];
      whole.box[v] = {std::min(own.lo, whole.box[v].lo), std::max(own.hi, whole.box[v].hi), 1};
    }
    for (const Form& cut : one.where.cuts) {
      if (atoms_.has_data(cut)) return std::nullopt;
      atoms_.for_each_variable(cut, [&](index::AtomId v) { matters[v] = true; });
    }
  }
  double points = 0;  // cases are disjoint
  for (const Case& one : made) points += double(index::count(one.where, atoms_));
  if (made.size() <= most_apart || (!may_repeat && points < double(index::count(whole, atoms_)))) return std::nullopt;
  Term term;
  term.kind = TermKind::array;
  term.type = term.width = type;
  std::vector<Form> at, images(whole.box.size());
  for (size_t v = 0; v < whole.box.size(); ++v) {
    if (!matters[v]) continue;
    images[v] = Form::variable(index::AtomId(at.size()));
    at.push_back(Form::variable(index::AtomId(v)));
  }
  term.rank = uint32_t(at.size());
  for (const Case& one : made) {
    Case own{{}, one.value};
    own.value.form = atoms_.compose(own.value.form, images, {});
    for (Form& form : own.value.at) form = atoms_.compose(form, images, {});
    for (size_t v = 0; v < whole.box.size(); ++v)
      if (matters[v]) own.where.box.push_back(one.where.box[v]);
    for (const Form& cut : one.where.cuts) own.where.cuts.push_back(atoms_.compose(cut, images, {}));
    std::sort(own.where.cuts.begin(), own.where.cuts.end());
    term.body.push_back(std::move(own));
  }
  if (!may_repeat) return Cases{{whole, Value::element(terms_.intern(std::move(term)), std::move(at), type)}};
  term.may_repeat = true;
  const Value element = Value::element(terms_.add(std::move(term)), std::move(at), type);
  for (Case& one : made) one.value = element;
  merge(made);
  made.insert(made.end(), apart.begin(), apart.end());
  return made;
}

// Elements that are different wherever the formula may be: nothing is repeated that the formula's numbers would show.
bool Algebra::are_told_apart(const Cases& data, const Value& formula) const {
  return std::all_of(data.begin(), data.end(), [&](const Case& one) {
    return one.value.is_element() && reads_data(one.value) &&
           std::all_of(formula.at.begin(), formula.at.end(), [&](const Form& form) {
             return std::any_of(one.value.at.begin(), one.value.at.end(),
                                [&](const Form& own) { return plain_variable(own) == plain_variable(form); });
           });
  });
}

Cases Algebra::apply(loops::Function function, std::span<const Cases> args, DType type, DType result) {
  Cases into;
  std::vector<const Cases*> lists;
  lists.reserve(args.size());
  bool whole = true;
  for (const Cases& list : args) lists.push_back(&list);
  std::optional<Cases> formula;
  const bool added = function == loops::Function::add || function == loops::Function::sub;
  if (added || function == loops::Function::mul || function == loops::Function::divide)
    for (size_t i = function == loops::Function::divide ? 1 : 0; i < 2 && !formula; ++i) {
      const bool data =
          std::any_of(args[1 - i].begin(), args[1 - i].end(), [&](const Case& one) { return reads_data(one.value); });
      if (data) formula = as_formula(args[i], type, added);
      if (formula && !added && !are_told_apart(args[1 - i], (*formula)[0].value)) formula.reset();
      if (formula) lists[i] = &*formula;
    }
  const size_t reasons = given_up.size();
  const auto apply_to = [&] {
    into.clear();
    whole = true;
    for_each_choice(lists, [&](const Region& where, std::span<const Value* const> values) {
      if (into.size() < most_cases)
        call(function, values, type, result, where, into);
      else
        whole = false;
    });
  };
  apply_to();
  for (size_t i = 0; i < 2 && !whole && function == loops::Function::mul; ++i) {
    formula = as_formula(args[i], type, false, true);
    if (!formula) continue;
    lists[i] = &*formula;
    apply_to();
    given_up.resize(reasons);
    given_up.emplace_back("products with known numbers of more shapes than are told apart");
    break;
  }
  if (!whole) given_up.push_back("an expression in more parts than are told apart");
  if (into.size() > 1) merge(into);
  return into;
}

}  // namespace lightline::demand
