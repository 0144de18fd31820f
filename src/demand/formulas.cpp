// Formulas of indices that are no forms: their numbers, point by point within a budget.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/maths.h"
#include "demand/algebra.h"
#include "demand/numbers.h"

namespace lightline::demand {
namespace {

constexpr int64_t most_mask_points = 1 << 18;  // of one formula
constexpr size_t most_mask_runs = 2048;

// As the program would have it. Of sums that were joined only the result is rounded.
double rounded(double value, DType type) { return is_float(type) ? round_to(type, value) : value; }

}  // namespace

std::optional<int64_t> Algebra::evaluate(const Form& form, std::span<const int64_t> at) const {
  int64_t value = form.constant;
  for (const auto& [id, coefficient] : form.terms) {
    if (index::is_variable(id)) {
      value += coefficient * at[id];
      continue;
    }
    const index::Atom& atom = atoms_[id];
    if (atom.kind == index::Atom::Kind::data) return std::nullopt;
    const auto inner = evaluate(atom.of, at);
    if (!inner) return std::nullopt;
    value += coefficient *
             (atom.kind == index::Atom::Kind::quotient ? floor_div(*inner, atom.by) : floor_mod(*inner, atom.by));
  }
  return value;
}

std::optional<double> Algebra::evaluate(const Value& value, std::span<const int64_t> at) {
  if (value.is_number()) return value.number;
  if (value.is_position()) {
    const auto whole = evaluate(value.form, at);
    return whole ? std::optional(double(*whole) / double(value.denominator)) : std::nullopt;
  }
  std::vector<int64_t> inner;
  for (const Form& form : value.at) {
    const auto one = evaluate(form, at);
    if (!one) return std::nullopt;
    inner.push_back(*one);
  }
  return evaluate(value.term, inner);
}

std::optional<double> Algebra::evaluate_reduction(const Term& term, const std::vector<int64_t>& at) {
  using loops::Reducer;
  double total = 0;
  switch (term.reducer) {
    case Reducer::sum:
    case Reducer::any: total = 0; break;
    case Reducer::prod:
    case Reducer::all: total = 1; break;
    case Reducer::max: total = -INFINITY; break;
    case Reducer::min: total = INFINITY; break;
    default: return std::nullopt;
  }
  for (const Case& one : term.body) {
    std::vector<Range> points = one.where.box;
    for (size_t c = 0; c < at.size(); ++c) {
      const Range& range = points[term.reduced.size() + c];
      if (at[c] < range.lo || at[c] > range.hi || floor_mod(at[c] - range.lo, range.step) != 0) {
        points.clear();
        break;
      }
      points[term.reduced.size() + c] = {at[c], at[c], 1};
    }
    if (points.empty() && !one.where.box.empty()) continue;
    bool known = true;
    index::for_each_point(index::Piece{points, {}, false}, [&](const std::vector<int64_t>& point) {
      if (!known || --budget < 0) {
        known = false;
        return;
      }
      for (const Form& cut : one.where.cuts) {
        const auto value = evaluate(cut, point);
        if (!value) known = false;
        if (!value || *value < 0) return;
      }
      const auto value = evaluate(one.value, point);
      if (!value) {
        known = false;
        return;
      }
      switch (term.reducer) {
        case Reducer::sum: total += *value; break;
        case Reducer::prod: total *= *value; break;
        case Reducer::max: total = std::max(total, *value); break;
        case Reducer::min: total = std::min(total, *value); break;
        case Reducer::any: total = total != 0 || *value != 0; break;
        default: total = total != 0 && *value != 0;
      }
    });
    if (!known) return std::nullopt;
  }
  return total;
}

std::optional<double> Algebra::evaluate(TermId id, const std::vector<int64_t>& at) {
  if (--budget < 0) return std::nullopt;
  const Term& term = terms_[id];
  switch (term.kind) {
    case TermKind::input: {
      const Atoms::Table* table = atoms_.table(id);
      if (table == nullptr) return std::nullopt;
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) {
        if (at[d] < 0 || at[d] >= table->extents[d]) return std::nullopt;
        offset = offset * table->extents[d] + at[d];
      }
      return double(table->values[size_t(offset)]);
    }
    case TermKind::call: {
      std::vector<double> args;
      for (const Argument& arg : term.args) {
        const auto value = evaluate(arg.value, at);
        if (!value) return std::nullopt;
        args.push_back(*value);
      }
      const auto value = demand::evaluate(term.function, args, is_integer(term.type));
      return value ? std::optional(rounded(*value, term.type)) : std::nullopt;
    }
    case TermKind::sum:
    case TermKind::product: {
      double total = rounded(term.number, term.type);
      for (const Argument& arg : term.args) {
        const auto value = evaluate(arg.value, at);
        if (!value) return std::nullopt;
        total = term.kind == TermKind::sum ? total + rounded(arg.factor, term.type) * *value : total * *value;
      }
      return rounded(total, term.type);
    }
    case TermKind::reduce: return evaluate_reduction(term, at);
    case TermKind::array:
      for (const Case& one : term.body) {
        bool inside = true;
        for (size_t c = 0; c < at.size() && inside; ++c) {
          const Range& range = one.where.box[c];
          inside = at[c] >= range.lo && at[c] <= range.hi && floor_mod(at[c] - range.lo, range.step) == 0;
        }
        for (size_t i = 0; i < one.where.cuts.size() && inside; ++i) {
          const auto value = evaluate(one.where.cuts[i], at);
          if (!value) return std::nullopt;
          inside = *value >= 0;
        }
        if (inside) return evaluate(one.value, at);
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

bool Algebra::enumerate(const Value& formula, const Region& where, Cases& into) {
  std::set<index::AtomId> found;
  for (const Form& form : formula.at)
    atoms_.for_each_variable(form, [&](index::AtomId variable) { found.insert(variable); });
  const std::vector<index::AtomId> variables(found.begin(), found.end());
  double points = 1;
  for (const index::AtomId v : variables) points *= double(where.box[v].count());
  if (points > double(std::min(most_mask_points, budget))) {
    given_up.push_back("a mask that is a formula of more points than are tried");
    return true;
  }
  std::vector<int64_t> at(where.box.size(), 0);
  Cases runs;
  bool known = true;
  const auto from = [&](const auto& self, size_t depth, Region region) -> void {
    if (!known || runs.size() > most_mask_runs) return;
    if (depth == variables.size()) {
      const auto value = evaluate(formula, at);
      known = value.has_value();
      if (known) runs.push_back({std::move(region), Value::of(*value)});
      return;
    }
    const index::AtomId variable = variables[depth];
    const Range range = where.box[variable];
    const bool last = depth + 1 == variables.size();
    for (int64_t v = range.lo; v <= range.hi && known; v += range.step) {
      at[variable] = v;
      if (!last) {
        region.box[variable] = {v, v, 1};
        self(self, depth + 1, region);
        continue;
      }
      const auto value = evaluate(formula, at);
      known = value.has_value();
      if (!known) return;
      const bool joins = v > range.lo && !runs.empty() && range.step == 1 && runs.back().value.is_number(*value) &&
                         runs.back().where.box[variable].hi == v - 1;
      if (joins) {
        runs.back().where.box[variable].hi = v;
      } else {
        region.box[variable] = {v, v, 1};
        runs.push_back({region, Value::of(*value)});
      }
    }
  };
  from(from, 0, where);
  if (!known || runs.size() > most_mask_runs) {
    given_up.push_back("a mask that is a formula of no shape that is known");
    return true;
  }
  merge(runs);
  for (Case& one : runs) {
    Region tested = one.where;  // cuts may leave nothing of a run
    tested.cuts.clear();
    for (const Form& cut : one.where.cuts) tested.cut(cut, atoms_);
    if (!tested.empty) into.push_back({std::move(tested), one.value});
  }
  return true;
}

}  // namespace lightline::demand
