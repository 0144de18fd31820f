#include "demand/builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/maths.h"

namespace lightline::demand {

using loops::ArrayId;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;
using loops::IndexId;

namespace {

// Without the copies of an initializer list.
Cases only_case(Region where, Value value) {
  Cases cases;
  cases.push_back({std::move(where), std::move(value)});
  return cases;
}

}  // namespace

NormalForm normal_form(const loops::Program& program, const KnownValues& known, bool borders) {
  NormalForm form;
  form.program = &program;
  Builder(form, program, known, borders).run();
  return form;
}

void Builder::run() {
  form_.arrays.resize(program_.arrays.size());
  form_.complete.assign(program_.arrays.size(), true);
  depth_.resize(program_.arrays.size());
  is_view_.assign(program_.arrays.size(), false);
  group_of_.assign(program_.arrays.size(), loops::none);
  ids_ = loops::statement_ids(program_);
  hulls_ = hulls_of(program_);
  for (const ArrayId input : program_.inputs) {
    const auto found = known_.find(input);
    define_input(input, found == known_.end() ? nullptr : found->second);
  }
  block(program_.statements);
  form_.groups = group_of_;
}

Builder::Space Builder::space_of(std::span<const IndexId> reduced, std::span<const IndexId> own, ArrayId made) {
  Space space;
  space.reduced = uint32_t(reduced.size());
  const size_t size = reduced.size() + counters_.size() + own.size();
  space.values.reserve(size + fixed_.size());
  space.box.reserve(size);
  const auto add = [&](IndexId index) {
    space.values.emplace_back(index, Form::variable(index::AtomId(space.box.size())));
    space.box.push_back({0, program_.indices[index].extent - 1, 1});
  };
  for (const IndexId index : reduced) add(index);
  counter_forms_.clear();
  for (const IndexId index : counters_) {
    counter_forms_.push_back(Form::variable(index::AtomId(space.box.size())));
    add(index);
  }
  for (size_t d = 0; d < own.size(); ++d) {
    add(own[d]);
    if (made != loops::none) space.box.back() = hulls_[made].ranges[d];
  }
  for (const auto& [index, value] : fixed_) space.values.emplace_back(index, Form::of(value));
  return space;
}

std::vector<Range> Builder::natural(ArrayId array) const {
  std::vector<Range> box;
  box.reserve(depth_[array] + hulls_[array].ranges.size());
  for (uint32_t i = 0; i < depth_[array]; ++i) box.push_back({0, program_.indices[counters_[i]].extent - 1, 1});
  box.insert(box.end(), hulls_[array].ranges.begin(), hulls_[array].ranges.end());
  return box;
}

Cases Builder::evaluate(ExprId id, const Space& space) {
  const Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::literal: {
      const double number = number_of(e.literal);
      return only_case(space.whole(), Value::of(number));
    }
    case ExprKind::index: return only_case(space.whole(), Value::position(space.at(e.args[0])));
    case ExprKind::read: return read(e, space);
    case ExprKind::cast: return algebra_.cast(evaluate(e.args[0], space), program_.exprs[e.args[0]].type, e.target);
    case ExprKind::call: break;
  }
  std::vector<Cases> args;
  args.reserve(size_t(loops::arity(e)));
  for (const ExprId operand : loops::operands_of(e)) args.push_back(evaluate(operand, space));
  const size_t typed = e.function == loops::Function::select ? 1 : 0;
  return algebra_.apply(e.function, args, program_.exprs[e.args[typed]].type, e.type);
}

// Of a number from the front or the back, `if(e < 0, e + extent, e)`, the number: it tells places as well.
Value Builder::from_front(const Value& value, int64_t extent, std::span<const Range> box) {
  if (!value.is_element() || terms_[value.term].kind != TermKind::call) return value;
  const Term choice = terms_[value.term];
  if (choice.function != loops::Function::select || !choice.args[1].value.is_element()) return value;
  algebra_.box.assign(box.begin(), box.end());
  const auto part = [&](const Value& of, const std::vector<Form>& at) { return algebra_.moved(of, at); };
  const Value number = part(choice.args[2].value, value.at), back = part(choice.args[1].value, value.at);
  const Value test = part(choice.args[0].value, value.at);
  if (!number.is_element() || !back.is_element() || !test.is_element()) return value;
  const Term from_back = terms_[back.term], negative = terms_[test.term];
  const bool moves = from_back.kind == TermKind::sum && from_back.number == double(extent) &&
                     from_back.args.size() == 1 && from_back.args[0].factor == 1 &&
                     part(from_back.args[0].value, back.at) == number;
  const bool asks = negative.kind == TermKind::call && negative.args.size() == 2 &&
                    ((negative.function == loops::Function::le && negative.args[1].value.is_number(-1)) ||
                     (negative.function == loops::Function::lt && negative.args[1].value.is_number(0))) &&
                    part(negative.args[0].value, test.at) == number;
  return moves && asks ? number : value;
}

Form Builder::subscript(const Value& given, int64_t extent, std::span<const Range> box) {
  const Value value = from_front(given, extent, box);
  if (value.is_element() && !(value == given)) atoms_.know_from_back(value.term, extent);
  if (value.is_number()) return Form::of(int64_t(value.number));
  if (value.is_position()) return value.form;
  if (!algebra_.reads_data(value)) {
    if (auto table = numbers_of(value, extent, box)) return *table;
  } else if (auto form = formula_of_order(value, box)) {
    return *form;
  }
  return atoms_.data(value.term, value.at, extent);
}

// Arithmetic on a place that an order tells is a formula of it.
std::optional<Form> Builder::formula_of_order(const Value& value, std::span<const Range> box) {
  if (value.is_position()) return value.denominator == 1 ? std::optional(value.form) : std::nullopt;
  if (value.is_number()) {
    const bool whole = value.number == std::floor(value.number) && index::is_kept(int64_t(value.number));
    return whole ? std::optional(Form::of(int64_t(value.number))) : std::nullopt;
  }
  if (const index::Atoms::Order* order = atoms_.order(value.term))
    return atoms_.data(value.term, value.at, order->extent);
  const Term made = terms_[value.term];
  if (!is_integer(made.type) || bits(made.type) < 32 || !algebra_.reads_data(value)) return std::nullopt;
  algebra_.box.assign(box.begin(), box.end());
  const auto part = [&](size_t i) { return formula_of_order(algebra_.moved(made.args[i].value, value.at), box); };
  if (made.kind == TermKind::call && (made.function == loops::Function::div || made.function == loops::Function::mod)) {
    const Value& by = made.args[1].value;
    const auto of =
        by.is_number() && by.number >= 1 && by.number <= double(index::greatest_kept) ? part(0) : std::nullopt;
    if (!of) return std::nullopt;
    return made.function == loops::Function::div ? atoms_.quotient(*of, int64_t(by.number), box)
                                                 : atoms_.remainder(*of, int64_t(by.number), box);
  }
  if (made.number != std::floor(made.number)) return std::nullopt;
  if (made.kind == TermKind::product && made.args.size() == 1) {
    const auto of = part(0);
    return of ? std::optional(atoms_.scaled(*of, int64_t(made.number))) : std::nullopt;
  }
  if (made.kind != TermKind::sum) return std::nullopt;
  Form total = Form::of(int64_t(made.number));
  for (size_t i = 0; i < made.args.size(); ++i) {
    const auto own = made.args[i].factor == std::floor(made.args[i].factor) ? part(i) : std::nullopt;
    if (!own) return std::nullopt;
    atoms_.add(total, *own, int64_t(made.args[i].factor));
  }
  return total;
}

// A formula that is read at few places, by the numbers that it has there: a table over its variables.
std::optional<Form> Builder::numbers_of(const Value& value, int64_t extent, std::span<const Range> box) {
  constexpr int64_t most_numbers = 4096;
  std::vector<Form> variables;
  for (const Form& form : value.at)
    atoms_.for_each_variable(form, [&](index::AtomId v) {
      if (std::find(variables.begin(), variables.end(), Form::variable(v)) == variables.end())
        variables.push_back(Form::variable(v));
    });
  Term term;
  term.kind = TermKind::array;
  term.type = DType::i64;
  term.width = value.width;
  term.rank = uint32_t(variables.size());
  Atoms::Table table;
  std::vector<Form> images(box.size());
  Region whole;
  int64_t size = 1;
  for (size_t c = 0; c < variables.size(); ++c) {
    const index::AtomId v = variables[c].terms[0].first;
    if (box[v].lo < 0 || box[v].hi >= most_numbers) return std::nullopt;
    images[v] = Form::variable(index::AtomId(c));
    whole.box.push_back({0, box[v].hi, 1});
    table.extents.push_back(box[v].hi + 1);
    size *= box[v].hi + 1;
    if (size > most_numbers) return std::nullopt;
  }
  algebra_.box = whole.box;
  term.body = {{whole, algebra_.moved(value, images)}};
  bool all = true;
  index::for_each_point(index::Piece{whole.box, {}}, [&](const std::vector<int64_t>& at) {
    const auto number = all ? algebra_.evaluate(term.body[0].value, at) : std::nullopt;
    all = all && number && *number == std::floor(*number) && std::abs(*number) < 1e15;
    table.values.push_back(all ? int64_t(*number) : 0);
  });
  if (!all) return std::nullopt;
  const TermId id = terms_.intern(std::move(term));
  atoms_.know(id, std::move(table));
  return atoms_.data(id, std::move(variables), extent);
}

Cases Builder::read(const Expr& e, const Space& space) {
  const ArrayId array = e.args[0];
  const Shape& shape = program_.arrays[array].shape;
  const ExprId* subscripts = loops::subscripts_of(program_, e);
  Cases into;
  // Subscripts are mostly single forms.
  std::vector<Form> forms;
  forms.reserve(e.args[2]);
  std::vector<Cases> lists(e.args[2]);  // of those that are no indices
  bool plain = true;
  for (uint32_t i = 0; i < e.args[2]; ++i) {
    const Expr& sub = program_.exprs[subscripts[i]];
    if (sub.kind == ExprKind::index) {
      forms.push_back(space.at(sub.args[0]));
      continue;
    }
    lists[i] = evaluate(subscripts[i], space);
    const Cases& cases = lists[i];
    if (cases.size() == 1 && cases[0].where.cuts.empty() && cases[0].where.box == space.box)
      forms.push_back(subscript(cases[0].value, shape[i], space.box));
    else
      plain = false;
  }
  const Expr* fill = e.has_fill ? &e : nullptr;
  if (plain) {
    read_at(array, forms, fill, space.whole(), into);
  } else {
    std::vector<const Cases*> pointers;
    for (uint32_t i = 0; i < e.args[2]; ++i) {
      if (program_.exprs[subscripts[i]].kind == ExprKind::index)
        lists[i] = {{space.whole(), Value::position(space.at(program_.exprs[subscripts[i]].args[0]))}};
      pointers.push_back(&lists[i]);
    }
    algebra_.for_each_choice(pointers, [&](const Region& where, std::span<const Value* const> values) {
      std::vector<Form> at;
      for (size_t i = 0; i < values.size(); ++i) at.push_back(subscript(*values[i], shape[i], where.box));
      read_at(array, at, fill, where, into);
    });
  }
  if (into.size() > 1) algebra_.merge(into);
  return into;
}

void Builder::read_at(ArrayId array, std::span<const Form> subscripts, const Expr* fill, const Region& where,
                      Cases& into) {
  const Shape& shape = program_.arrays[array].shape;
  Region inside = where;
  if (fill != nullptr) {
    // Places that data tell are taken to be inside.
    for (const Form& form : subscripts) assumes_ = assumes_ || atoms_.has_data(form);
    const double number = number_of(fill->literal);
    for (size_t d = 0; d < shape.size(); ++d) {
      for (const Form& condition : {subscripts[d], atoms_.sum(Form::of(shape[d] - 1), subscripts[d], -1)}) {
        if (inside.empty || atoms_.range(condition, inside.box).lo >= 0) continue;
        Region outside = inside;
        outside.cut(atoms_.sum(Form::of(-1), condition, -1), atoms_);
        if (!outside.empty) into.push_back({std::move(outside), Value::of(number)});
        inside.cut(condition, atoms_);
      }
    }
  }
  if (inside.empty) return;
  const Cases& cases = cases_of(array);
  std::vector<Form> images;
  images.reserve(depth_[array] + subscripts.size());
  images.assign(counter_forms_.begin(), counter_forms_.begin() + depth_[array]);
  images.insert(images.end(), subscripts.begin(), subscripts.end());
  algebra_.box = inside.box;
  if (auto element = element_by_data(array, cases, images)) {
    into.push_back({std::move(inside), std::move(*element)});
    return;
  }
  const std::vector<Range> box = natural(array);
  for (const Case& one : cases) {
    const bool whole = one.where.cuts.empty() && one.where.box == box;
    Region region = !whole                  ? index::pull_back(one.where, box, images, inside, atoms_)
                    : &one == &cases.back() ? std::exchange(inside, {})
                                            : inside;
    if (region.empty) continue;
    algebra_.box = region.box;
    Value value = in_its_way(algebra_.moved(one.value, images), region);
    into.push_back({std::move(region), std::move(value)});
  }
}

}  // namespace lightline::demand
