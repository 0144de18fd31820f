#include "demand/linear_loops.h"

#include <algorithm>
#include <map>

namespace lightline::demand {

namespace {

// How a value of a loop's body depends on what the loop carries, and on the step. The order matters: a value is of the
// highest kind of what it is made of.
enum class Dependence : uint8_t {
  none,    // the same at every step
  step,    // on the step alone
  linear,  // on what is carried, in the same way at every step
  other,
};

class Linearity {
 public:
  Linearity(const NormalForm& form, const Loop& loop) : form_(form), loop_(loop), atoms_(form.terms.atoms()) {}

  // The carried arrays after a step are the same linear function of those before it.
  bool holds() {
    bool any = false;
    for (const TermId id : loop_.carried) {
      const Term& made = form_.terms[id];
      for (const Case& one : made.body) {
        if (one.where.box[loop_.coordinate].hi <= 1) continue;  // made of what it starts from
        any = true;
        if (has(one.where.cuts, bit(loop_.coordinate)) || of(one.value, bit(loop_.coordinate)) != Dependence::linear)
          return false;
      }
    }
    return any && multiplies_;  // what is only added to is a total
  }

 private:
  static uint64_t bit(uint32_t variable) { return variable < 64 ? uint64_t(1) << variable : 0; }
  bool has(const Form& form, uint64_t variables) const {
    bool found = false;
    atoms_.for_each_variable(form, [&](index::AtomId v) { found |= (bit(v) & variables) != 0; });
    return found || atoms_.has_data(form);
  }
  bool has(const std::vector<Form>& forms, uint64_t variables) const {
    return std::any_of(forms.begin(), forms.end(), [&](const Form& form) { return has(form, variables); });
  }

  // Neighbours reach further with every step: doing two at once is no cheaper.
  bool is_in_place(const Value& value) const {
    for (uint32_t c = 0; c < value.at.size(); ++c) {
      const Form& form = value.at[c];
      if (c != loop_.coordinate && (form.constant != 0 || form.terms.size() != 1 || form.terms[0].second != 1 ||
                                    !index::is_variable(form.terms[0].first)))
        return false;
    }
    return true;
  }

  // `steps`: the variables that tell the step.
  Dependence of(const Value& value, uint64_t steps) {
    if (value.is_number()) return Dependence::none;
    if (value.is_position()) return has(value.form, steps) ? Dependence::step : Dependence::none;
    uint64_t inner = 0;
    for (uint32_t c = 0; c < value.at.size(); ++c) inner |= has(value.at[c], steps) ? bit(c) : 0;
    if (std::find(loop_.carried.begin(), loop_.carried.end(), value.term) != loop_.carried.end())
      return inner == bit(loop_.coordinate) && is_in_place(value) ? Dependence::linear : Dependence::other;
    if (value.term < loop_.first || value.term >= loop_.last) return inner == 0 ? Dependence::none : Dependence::step;
    const auto [at, added] = seen_.try_emplace({value.term, inner}, Dependence::other);
    return added ? (seen_[{value.term, inner}] = of_term(form_.terms[value.term], inner)) : at->second;
  }

  Dependence of_term(const Term& made, uint64_t steps) {
    Dependence highest = Dependence::none;
    int linear = 0;
    bool by_step = false;
    const auto add = [&](Dependence one) {
      highest = std::max(highest, one);
      linear += one == Dependence::linear;
      by_step |= one == Dependence::step;
    };
    for (const Argument& arg : made.args) add(of(arg.value, steps));
    for (const Case& one : made.body) {
      if (has(one.where.cuts, steps << made.reduced.size())) return Dependence::other;
      add(of(one.value, steps << made.reduced.size()));
    }
    if (highest < Dependence::linear) return has_more(made) ? Dependence::other : highest;
    if (highest == Dependence::other || by_step) return Dependence::other;
    switch (made.kind) {
      case TermKind::sum:
      case TermKind::array: return Dependence::linear;
      case TermKind::product: multiplies_ = true; return linear == 1 ? Dependence::linear : Dependence::other;
      case TermKind::reduce: return made.reducer == loops::Reducer::sum ? Dependence::linear : Dependence::other;
      default: return Dependence::other;
    }
  }
  static bool has_more(const Term& made) {
    return made.kind == TermKind::scatter || made.kind == TermKind::opaque || made.kind == TermKind::carried ||
           made.kind == TermKind::stored;
  }

  const NormalForm& form_;
  const Loop& loop_;
  const Atoms& atoms_;
  std::map<std::pair<TermId, uint64_t>, Dependence> seen_;
  bool multiplies_ = false;
};

}  // namespace

bool is_linear(const NormalForm& form, const Loop& loop) { return Linearity(form, loop).holds(); }

}  // namespace lightline::demand
