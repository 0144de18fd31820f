// The work of single elements.
#include <algorithm>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

using loops::Function;

namespace {

// A compiler folds these into what reads them, or into what they read.
bool is_modifier(Function function) {
  switch (function) {
    case Function::neg:
    case Function::abs:
    case Function::logical_not:
    case Function::real:
    case Function::imag:
    case Function::conj:
    case Function::complex_:
    case Function::bits:
    case Function::from_bits:
    case Function::copysign:
    case Function::trunc:
    case Function::floor:
    case Function::ceil:
    case Function::round: return true;
    default: return false;
  }
}

// What it gives of a sum or a product can not be had from what it gives of the parts.
bool bends(Function function) {
  switch (function) {
    case Function::sigmoid:
    case Function::silu:
    case Function::softplus:
    case Function::tanh:
    case Function::erf:
    case Function::erfc:
    case Function::gelu:
    case Function::gelu_tanh: return true;
    default: return false;
  }
}

// Two of them, or more, in one slot.
bool is_packed(Function function) {
  switch (function) {
    case Function::min:
    case Function::max:
    case Function::fmin:
    case Function::fmax:
    case Function::logical_and:
    case Function::logical_or:
    case Function::bitand_:
    case Function::bitor_:
    case Function::bitxor_:
    case Function::bitnot: return true;
    default: return false;
  }
}

// Against a number: a modifier of what makes the value.
bool is_clamp(const Term& term) {
  const bool order = term.function == Function::min || term.function == Function::max ||
                     term.function == Function::fmin || term.function == Function::fmax;
  return order &&
         std::any_of(term.args.begin(), term.args.end(), [](const Argument& arg) { return arg.value.is_number(); });
}

// Bits that are moved or masked by a number that is known: a modifier too.
bool is_shift(const Term& term) {
  const bool moves = term.function == Function::bitand_ || term.function == Function::shl ||
                     term.function == Function::shr || term.function == Function::div ||
                     term.function == Function::mod || term.function == Function::remainder;
  return moves && is_integer(term.type) &&
         std::any_of(term.args.begin(), term.args.end(), [](const Argument& arg) { return arg.value.is_number(); });
}

bool is_comparison_of_data(const Term& made) {
  switch (made.function) {
    case Function::eq:
    case Function::ne:
    case Function::lt:
    case Function::le:
    case Function::gt:
    case Function::ge: return made.kind == TermKind::call;
    default: return false;
  }
}

// Different values of a type so small that a table holds a function of it.
double most_values(DType type) { return bits(type) <= 8 ? std::exp2(bits(type)) : INFINITY; }

// As precise as what it is made from.
bool is_choice(Function function) {
  switch (function) {
    case Function::min:
    case Function::max:
    case Function::fmin:
    case Function::fmax:
    case Function::select:
    case Function::neg:
    case Function::abs: return true;
    default: return false;
  }
}

}  // namespace

// Slots of 32 bits for one value: truths are packed, and so are small integers where nothing carries over.
double Needs::values_of_a_lane(DType type, bool packed) {
  if (type == DType::boolean) return 1.0 / 32;
  return packed && is_integer(type) && bits(type) < 32 ? bits(type) / 32.0 : 1;
}

// The type that a vector operation could run in: the widest of what it takes, if no more is wanted of it.
DType Needs::vector_type(TermId id) const {
  const Term& made = term(id);
  if (!is_float(made.type) || bits(made.type) > 32) return made.type;
  DType widest = DType::boolean;
  for (const Argument& arg : made.args)
    if (arg.value.is_element()) widest = wider(widest, arg.value.width);
  widest = wider(widest, wanted_width_[id]);
  return is_float(widest) && bits(widest) >= 16 ? widest : bits(widest) < 16 ? DType::f16 : made.type;
}

void Needs::count_uses() {
  const size_t size = form_.terms.size();
  uses_.assign(size, 0);
  std::vector<bool> reached(size, false);
  std::vector<TermId> pending;
  const auto forms = [&](const auto& self, const Form& form) -> void {
    for (const auto& [id, coefficient] : form.terms) {
      if (index::is_variable(id)) continue;
      const index::Atom& atom = atoms_[id];
      self(self, atom.of);
      for (const Form& inner : atom.at) self(self, inner);
      if (atom.kind != index::Atom::Kind::data || atom.source >= size) continue;
      uses_[atom.source] += 2;
      if (!reached[atom.source]) pending.push_back(atom.source);
    }
  };
  const auto use = [&](const Value& value) {
    for (const Form& form : value.at)
      if (atoms_.has_compound(form)) forms(forms, form);
    if (value.is_position()) forms(forms, value.form);
    if (!value.is_element()) return;
    ++uses_[value.term];
    if (!reached[value.term]) pending.push_back(value.term);
  };
  for (const loops::Output& output : form_.program->outputs)
    for (const Case& one : form_.arrays[output.array]) {
      use(one.value);
      if (one.value.is_element()) ++uses_[one.value.term];  // it is wanted by itself
    }
  while (!pending.empty()) {
    const TermId id = pending.back();
    pending.pop_back();
    if (reached[id]) continue;
    reached[id] = true;
    const Term& made = term(id);
    for (const Argument& arg : made.args) use(arg.value);
    for (const Case& one : made.body) use(one.value);
    if (made.kind == TermKind::stored) {
      uses_[made.array] += 2;
      if (!reached[made.array]) pending.push_back(made.array);
    }
    if (made.kind == TermKind::opaque)
      for (const Cases& operand : form_.opaque[made.array].operands)
        for (const Case& one : operand) {
          use(one.value);
          if (one.value.is_element()) ++uses_[one.value.term];
        }
    if (made.kind == TermKind::scatter) {
      for (const auto& list : form_.scatters[made.array].indices)
        for (const Value& value : list) use(value);
      for (const Case& one : form_.scatters[made.array].init) use(one.value);
    }
  }
  // What a sum has by way of another that is there anyway is used there, and that one here.
  std::set<std::pair<TermId, TermId>> by_way;
  for (TermId id = 0; id < size; ++id) {
    if (!reached[id]) continue;
    for (const Argument& arg : term(id).args) {
      if (!arg.value.is_element() || uses_[arg.value.term] <= 1) continue;
      const auto way = std::find_if(term(id).spelled.begin(), term(id).spelled.end(), [&](uint64_t inner) {
        if (!reached[inner]) return false;
        const auto& args = term(TermId(inner)).args;
        return std::any_of(args.begin(), args.end(), [&](const Argument& other) {
          return other.value.is_element() && other.value.term == arg.value.term;
        });
      });
      if (way == term(id).spelled.end()) continue;
      --uses_[arg.value.term];
      by_way.emplace(id, TermId(*way));
    }
  }
  uses_by_way_.assign(size, 0);
  for (const auto& [id, inner] : by_way) {
    if (term(id).kind != TermKind::sum || term(inner).kind != TermKind::sum) continue;
    ++uses_[inner];
    ++uses_by_way_[inner];
  }
  find_wanted_widths(reached);
}

// Of what is only added, multiplied or chosen from, no more is wanted than of the result.
void Needs::find_wanted_widths(const std::vector<bool>& reached) {
  wanted_width_.assign(form_.terms.size(), DType::boolean);
  std::vector<uint8_t> parts(form_.terms.size(), 0);  // of complex numbers: real, imaginary
  const auto want = [&](const Value& value, DType width, const Term* by = nullptr) {
    if (!value.is_element()) return;
    wanted_width_[value.term] = wider(wanted_width_[value.term], narrower(value.width, width));
    const bool real = by != nullptr && by->kind == TermKind::call && by->function == Function::real;
    const bool imaginary = by != nullptr && by->kind == TermKind::call && by->function == Function::imag;
    parts[value.term] |= real ? 1 : imaginary ? 2 : 3;
  };
  const auto passes_on = [&](const Term& made) {
    switch (made.kind) {
      case TermKind::sum:
      case TermKind::product:
      case TermKind::array: return true;
      case TermKind::reduce: return made.reducer != loops::Reducer::argmax && made.reducer != loops::Reducer::argmin;
      case TermKind::call: return is_choice(made.function);
      default: return false;
    }
  };
  for (const loops::Output& output : form_.program->outputs)
    for (const Case& one : form_.arrays[output.array]) want(one.value, form_.program->arrays[output.array].dtype);
  for (TermId id = 0; id < reached.size(); ++id) {
    const Term& made = term(id);
    if (!reached[id] || passes_on(made)) continue;
    for (const Argument& arg : made.args) want(arg.value, arg.value.width, &made);
    for (const Case& one : made.body) want(one.value, one.value.width);
    if (made.kind == TermKind::stored) wanted_width_[made.array] = wider(wanted_width_[made.array], made.width);
    if (made.kind == TermKind::opaque)
      for (const Cases& operand : form_.opaque[made.array].operands)
        for (const Case& one : operand) want(one.value, one.value.width);
    if (made.kind == TermKind::scatter)
      for (const Case& one : form_.scatters[made.array].init) want(one.value, one.value.width);
  }
  for (TermId id = TermId(reached.size()); id-- > 0;) {
    const Term& made = term(id);
    if (!reached[id] || !passes_on(made)) continue;
    for (const Argument& arg : made.args) want(arg.value, wanted_width_[id]);
    for (const Case& one : made.body) want(one.value, wanted_width_[id]);
  }
  only_part_wanted_.assign(parts.size(), false);
  for (size_t id = 0; id < parts.size(); ++id) only_part_wanted_[id] = parts[id] == 1 || parts[id] == 2;
}

// A function of one element, through as many steps as it is spelled in.
const Needs::Root& Needs::root_of(TermId id) {
  if (rooted_[id]) return roots_[id];
  rooted_[id] = true;
  const Term& made = term(id);
  Root root{id, {}, false, false, 0};
  const bool scalar = made.kind == TermKind::call || made.kind == TermKind::sum || made.kind == TermKind::product;
  if (scalar) {
    Root only;
    only.transcendental = made.kind == TermKind::call && loops::info(made.function).transcendental_ops > 0;
    only.bends = made.kind == TermKind::call && bends(made.function);
    only.steps = 1;
    bool one = true;
    for (const Argument& arg : made.args) {
      if (arg.value.is_number()) continue;
      one = one && arg.value.is_element();
      if (!one) break;
      const Root& inner = root_of(arg.value.term);
      algebra_.box.clear();
      std::vector<Form> at;
      at.reserve(inner.at.size());
      for (const Form& form : inner.at) at.push_back(atoms_.compose(form, arg.value.at, {}));
      one = only.term == no_term || (only.term == inner.term && only.at == at);
      only.term = inner.term;
      only.at = std::move(at);
      only.transcendental |= inner.transcendental;
      only.bends |= inner.bends;
      only.steps += inner.steps;
    }
    if (one && only.term != no_term) root = std::move(only);
  }
  if (root.term == id) root.at = own_variables(made.rank);
  return roots_[id] = std::move(root);
}

void Needs::count_call(TermId id) {
  const std::vector<Region>& regions = needed_[id];
  const Term& made = term(id);
  const Root& root = root_of(id);
  const bool free = made.function == Function::select && made.kind == TermKind::call && branch(made.args[0].value);
  if (counting_ && tier_ != Tier::floor && made.reads_data && !free) {
    const double elements = distinct(id, made.kind == TermKind::call ? regions : strict_[id]);
    Work& added_to = work_of(id);
    const loops::FunctionInfo& info = loops::info(made.function);
    if (root.term != id && root.steps > 1) {
      // A function of one variable costs one evaluation, however it is spelled.
      const double values = std::min(elements, most_values(term(root.term).width));
      if (root.transcendental) {
        Functions& functions = functions_[root.term];
        functions.evaluations += values;
        functions.elements = std::max(functions.elements, values);
        find_transcendentals(id, root.term, functions);
        if (functions.owner == no_term) functions.owner = id;
      } else if (!is_free(id, root.term)) {
        added_to.vector_ops[made.type] += values;
      }
    } else if (info.transcendental_ops > 0) {
      double evaluations = elements;
      if (made.args.size() == 1 && made.args[0].value.is_element()) {
        const DType width = made.args[0].value.width;
        evaluations = std::min(evaluations, most_values(width));
        // exp(a[i] + b[j]) is a product
        const Term& inner = term(made.args[0].value.term);
        if ((made.function == Function::exp || made.function == Function::exp2) && inner.kind == TermKind::sum) {
          double apart = 0;
          for (const Argument& arg : inner.args) {
            double own = 0;
            std::vector<Region> all;
            const Value part = algebra_.moved(arg.value, made.args[0].value.at);
            for (const Region& region : regions)
              for (Region& mapped :
                   index::image(region, part.is_position() ? std::vector<Form>{part.form} : part.at, atoms_))
                all.push_back(std::move(mapped));
            if (!all.empty()) own = count(all);
            apart += own;
          }
          evaluations = std::min(evaluations, apart);
        }
      }
      if (root.term != id) {
        Functions& functions = functions_[root.term];
        functions.evaluations += evaluations;
        functions.elements = std::max(functions.elements, evaluations);
        functions.spelled.insert(id);
        if (functions.owner == no_term) functions.owner = id;
      } else {
        added_to.transcendental_ops += evaluations;
      }
    } else if (!is_modifier(made.function) && !is_clamp(made) && !is_shift(made)) {
      added_to.vector_ops[vector_type(id)] += std::min(elements, compared_elements(id)) *
                                              (is_packed(made.function) ? 0.5 : 1) *
                                              values_of_a_lane(made.type, is_packed(made.function));
    }
  }
  if (root.term != id && root.steps > 1) {
    // What is in between is not computed for this.
    for (const Region& region : regions) need(Value::element(root.term, root.at, term(root.term).width), region);
    return;
  }
  if (tier_ == Tier::floor && made.function == Function::select) return need_choice(id, regions);
  if (tier_ == Tier::floor && need_unless_decided(id, regions)) return;
  for (const Region& region : regions)
    if (made.function != Function::select || !need_chosen(id, region)) need_arguments(id, region);
}

void Needs::need_arguments(TermId id, const Region& region) {
  const Term& made = term(id);
  std::optional<Way> way;
  if (made.function == Function::select) way = branch(made.args[0].value);
  for (size_t i = 0; i < made.args.size(); ++i) {
    if (way && i > 0 && (*way == Way::neither || i == (*way == Way::first ? 2u : 1u))) continue;
    if (tier_ == Tier::floor && (made.function == Function::logical_and || made.function == Function::logical_or))
      continue;
    need(made.args[i].value, region);
  }
}

// Sorting tells how all elements of one side compare with all of another: no more operations than both have elements.
double Needs::compared_elements(TermId id) {
  const Term& made = term(id);
  if (!is_comparison_of_data(made)) return INFINITY;
  double sides = 0;
  for (const Argument& arg : made.args) {
    if (!arg.value.is_element() || !algebra_.reads_data(arg.value)) continue;
    std::vector<Region> all;
    for (const Region& region : needed_[id])
      for (Region& mapped : index::image(region, arg.value.at, atoms_)) all.push_back(std::move(mapped));
    if (!all.empty()) sides += count(all);
  }
  return sides > 0 ? sides : INFINITY;
}

// Only modifiers lie between a term and what it is a function of.
bool Needs::is_free(TermId id, TermId root) const {
  if (id == root) return true;
  const Term& made = term(id);
  const bool modifier = made.kind == TermKind::call ? is_modifier(made.function) || is_clamp(made) || is_shift(made)
                                                    : made.kind == TermKind::product && made.args.size() == 1;
  return modifier && std::all_of(made.args.begin(), made.args.end(), [&](const Argument& arg) {
           return !arg.value.is_element() || is_free(arg.value.term, root);
         });
}

void Needs::find_transcendentals(TermId id, TermId root, Functions& functions) const {
  if (id == root || !functions.seen.insert(id).second) return;
  const Term& made = term(id);
  if (made.kind == TermKind::call && loops::info(made.function).transcendental_ops > 0) functions.spelled.insert(id);
  for (const Argument& arg : made.args)
    if (arg.value.is_element()) find_transcendentals(arg.value.term, root, functions);
}

// Powers of one value are one function, and so are exponentials of its multiples.
Needs::Family Needs::family_of(TermId id) const {
  const Term& made = term(id);
  const bool power = made.function == Function::sqrt || made.function == Function::rsqrt ||
                     (made.function == Function::pow && made.args[1].value.is_number());
  const bool exponential = made.function == Function::exp || made.function == Function::exp2;
  if (!power && !exponential) return {id, {}, Function::add};
  Value base = made.args[0].value;
  while (base.is_element() && term(base.term).kind == TermKind::product && term(base.term).args.size() == 1 &&
         term(base.term).args[0].value.is_element()) {
    Value inner = term(base.term).args[0].value;
    for (Form& form : inner.at) form = atoms_.compose(form, base.at, {});
    base = std::move(inner);
  }
  if (!base.is_element()) return {id, {}, Function::add};
  return {base.term, base.at, power ? Function::pow : Function::exp};
}

// Several functions of one variable: one evaluation each, or as many as they are spelled with.
void Needs::settle_functions() {
  for (const auto& [root, functions] : functions_) {
    std::set<Family> families;
    for (const TermId id : functions.spelled) families.insert(family_of(id));
    work_of(functions.owner).transcendental_ops +=
        std::min(functions.evaluations, double(families.size()) * functions.elements);
  }
}

std::optional<Needs::Way> Needs::branch(const Value& truth) {
  if (tier_ != Tier::fused || !truth.is_element() || !algebra_.reads_data(truth)) return std::nullopt;
  if (!std::all_of(truth.at.begin(), truth.at.end(), [](const Form& form) { return form.is_constant(); }))
    return std::nullopt;
  TermId id = truth.term;
  bool turned = false;
  while (term(id).kind == TermKind::call && term(id).function == Function::logical_not &&
         term(id).args[0].value.is_element()) {
    id = term(id).args[0].value.term;
    turned = !turned;
  }
  branches.insert(id);
  const auto found = taken_.find(id);
  if (found == taken_.end()) return std::nullopt;
  if (found->second == Way::neither || !turned) return found->second;
  return found->second == Way::first ? Way::second : Way::first;
}

bool Needs::is_mixed(const Value& value) const {
  if (!value.is_element()) return false;
  const Term& made = term(value.term);
  return made.may_repeat || (made.kind == TermKind::array && made.reads_data && !made.all_different);
}

// Of several factors that data tell, none has all the coordinates.
bool Needs::is_outer_product(const Term& product) const {
  uint64_t all = 0;
  for (const Argument& arg : product.args)
    if (algebra_.reads_data(arg.value)) all |= variables_of(arg.value);
  return std::none_of(product.args.begin(), product.args.end(),
                      [&](const Argument& arg) { return (variables_of(arg.value) & all) == all; });
}

}  // namespace lightline::demand
