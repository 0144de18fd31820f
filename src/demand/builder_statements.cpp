#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "demand/builder.h"
#include "demand/known_values.h"
#include "demand/products.h"

namespace lightline::demand {

using loops::ArrayId;

namespace {

constexpr int64_t most_known = int64_t(1) << 22;  // elements of an array of indices that are looked at
constexpr size_t most_shapes = 1024;
constexpr size_t few_shapes = 8;

// Mostly different numbers in no order, such as those of a permutation: better looked up than told apart.
bool is_mixed_up(const Cases& cases) {
  std::set<int64_t> numbers;
  double elements = 0;
  for (const Case& one : cases) {
    double own = 1;
    for (const Range& range : one.where.box) own *= double(range.count());
    elements += own;
    if (own > 1) continue;
    if (one.value.is_number()) numbers.insert(int64_t(one.value.number));
    if (one.value.is_position() && one.value.form.is_constant()) numbers.insert(one.value.form.constant);
  }
  return cases.size() > few_shapes && 2 * double(numbers.size()) > elements;
}

}  // namespace

void Builder::block(const std::vector<loops::Statement>& statements) {
  for (const loops::Statement& one : statements) {
    const loops::StatementId id = ids_.at(&one);
    terms_.set_statement(id);
    group_ = one.group == loops::none ? uint32_t(program_.groups.size()) + id : one.group;
    if (borders_) terms_.set_salt(group_);
    for (const ArrayId result : loops::results_of(one)) group_of_[result] = group_;
    visit(one, id);
  }
}

void Builder::block_of(const std::vector<loops::Statement>& statements, uint32_t group) {
  for (const loops::Statement& one : statements) {
    terms_.set_statement(ids_.at(&one));
    group_ = group;
    if (borders_) terms_.set_salt(group_);
    for (const ArrayId result : loops::results_of(one)) group_of_[result] = group;
    visit(one, ids_.at(&one));
  }
}

void Builder::visit(const loops::Statement& one, uint32_t id) {
  const size_t given_up = algebra_.given_up.size();
  assumes_ = false;
  std::visit([&](const auto& node) { statement(node); }, one.node);
  bool complete = !assumes_ && algebra_.given_up.size() == given_up;
  for (const ArrayId operand : loops::arrays_read_by(program_, one)) complete = complete && form_.complete[operand];
  if (!complete)
    for (const ArrayId result : loops::results_of(one)) form_.complete[result] = false;
  note_what_was_given_up(id);
}

void Builder::note_what_was_given_up(uint32_t statement) {
  for (; reasons_noted_ < algebra_.given_up.size(); ++reasons_noted_)
    ++form_.given_up[{statement, algebra_.given_up[reasons_noted_]}];
  note_losses(losses_noted_, atoms_.losses(), statement, form_.drops);
  losses_noted_ = atoms_.losses();
}

// The numbers of an array as a formula, as shapes, or as runs. None if they are none of these.
Cases Builder::seen_in(const loops::Array& declared, const std::function<double(int64_t)>& number_at) {
  if (declared.dtype == DType::c64) return {};
  Cases cases = structure_of(declared.shape, number_at, atoms_);
  algebra_.merge(cases);
  // Few numbers say where they are zero, or hide something; a formula says which place an index tells.
  const bool few = !cases.empty() && cases.size() <= few_shapes && !is_integer(declared.dtype);
  if (!few && declared.dtype != DType::boolean)
    if (const auto form = formula_of(declared.shape, number_at, atoms_))
      return {{Region::whole(declared.shape), Value::position(*form)}};
  if (cases.size() > few_shapes || cases.empty()) {
    Cases apart = distances_of(declared.shape, number_at);
    if (!apart.empty() && (cases.empty() || apart.size() < cases.size())) cases = std::move(apart);
  }
  if (cases.size() > most_shapes) cases.clear();
  if (cases.empty()) cases = runs_of(declared.shape, number_at);
  if (is_integer(declared.dtype) && is_mixed_up(cases)) cases.clear();
  return cases;
}

// An array whose numbers are known. Where they have no shape at all, zeros are known by their number.
Cases Builder::known_array(const loops::Array& declared, const std::function<double(int64_t)>& number_at,
                           const Value& element) {
  Cases cases = seen_in(declared, number_at);
  if (!cases.empty() || declared.dtype == DType::c64) return cases;
  if (is_float(declared.dtype)) {
    cases = kinds_of(declared.shape, number_at, atoms_);
    for (Case& one : cases)
      one.value = one.value.is_number(double(Kind::zero))     ? Value::of(0)
                  : one.value.is_number(double(Kind::hidden)) ? Value::of(-INFINITY)
                                                              : element;
    algebra_.merge(cases);
    if (cases.size() == 1 && cases[0].value.is_element()) return {};
    if (!cases.empty() && cases.size() <= most_shapes) return cases;
    cases = hidden_in_blocks(declared.shape, number_at, element);
    algebra_.merge(cases);
    if (cases.size() > 1 || (cases.size() == 1 && cases[0].value.is_number())) {
      algebra_.given_up.emplace_back(no_shape);
      return cases;
    }
  }
  const Zeros zeros = zeros_of(declared.shape, number_at);
  if (zeros.count == 0) return {};
  terms_.at(element.term).zeros = double(zeros.count);
  terms_.at(element.term).zero_lines = zeros.lines;
  return {};
}

// Small arrays of formulas that nothing but indices tell are numbers.
void Builder::fold(const loops::Array& declared, Cases& cases) {
  constexpr int64_t most_folded = 1 << 16;
  const bool formulas = std::any_of(cases.begin(), cases.end(), [](const Case& one) { return one.value.is_element(); });
  if (!formulas || !counters_.empty() || declared.shape.empty() || declared.dtype == DType::c64) return;
  int64_t size = 1;
  for (const int64_t extent : declared.shape) {
    if (extent <= 0 || size > most_folded / extent) return;
    size *= extent;
  }
  for (const Case& one : cases)
    if (algebra_.reads_data(one.value) || algebra_.is_nothing(one.value)) return;
  std::vector<double> numbers(size_t(size), NAN);
  std::vector<bool> found(size_t(size), false);
  std::set<std::pair<TermId, std::vector<int64_t>>> elements;  // different ones of formulas
  for (const Case& one : cases) {
    bool known = true;
    index::for_each_point(index::Piece{one.where.box, {}}, [&](const std::vector<int64_t>& at) {
      known = known && algebra_.budget > 0;
      for (const Form& cut : one.where.cuts) {
        const auto inside = known ? algebra_.evaluate(cut, at) : std::nullopt;
        known = known && inside;
        if (!known || *inside < 0) return;
      }
      const auto value = known ? algebra_.evaluate(one.value, at) : std::nullopt;
      known = known && value;
      if (!known) return;
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset = offset * declared.shape[d] + at[d];
      numbers[size_t(offset)] = *value;
      found[size_t(offset)] = true;
      std::vector<int64_t> places;
      for (const Form& form : one.value.at) places.push_back(algebra_.evaluate(form, at).value_or(offset));
      elements.emplace(one.value.term, std::move(places));
    });
    if (!known) return;
  }
  if (std::find(found.begin(), found.end(), false) != found.end()) return;
  // Elements of formulas that differ by more than their signs, none of them zero or one, say more than their numbers:
  // taken apart, each would be a scale by itself, and sums of products with them would be no contractions.
  std::set<double> sizes;
  for (const double number : numbers) sizes.insert(std::abs(number));
  if (is_float(declared.dtype) && sizes.size() == elements.size() && !sizes.contains(0) && !sizes.contains(1)) return;
  Cases seen = seen_in(declared, [&](int64_t i) { return numbers[size_t(i)]; });
  if (!seen.empty()) {
    cases = std::move(seen);
  } else if (is_integer(declared.dtype)) {
    cases = {
        {Region::whole(declared.shape), table_of(declared, [&](int64_t i) { return int64_t(numbers[size_t(i)]); })}};
  }
}

// Numbers that are looked up.
Value Builder::table_of(const loops::Array& declared, const std::function<int64_t(int64_t)>& number_at) {
  Term term;
  term.kind = TermKind::input;
  term.array = ArrayId(&declared - program_.arrays.data());
  term.rank = uint32_t(declared.shape.size());
  term.type = compute_type(declared.dtype);
  term.width = declared.dtype;
  const TermId id = terms_.intern(std::move(term));
  Atoms::Table table{declared.shape, {}};
  int64_t size = 1;
  for (const int64_t extent : declared.shape) size *= extent;
  for (int64_t i = 0; i < size; ++i) table.values.push_back(number_at(i));
  atoms_.know(id, std::move(table));
  return Value::element(id, own_variables(declared.shape.size()), declared.dtype);
}

void Builder::define(ArrayId array, Cases cases) {
  forget_view_of(array);
  if (const auto total = totals_.find(array); total != totals_.end()) cases = total->second;
  fold(program_.arrays[array], cases);
  algebra_.merge(cases);
  Algebra::narrow(cases, program_.arrays[array].dtype);
  refer_to(array, cases);
  form_.arrays[array] = std::move(cases);
  depth_[array] = uint32_t(counters_.size());
}

void Builder::forget_view_of(ArrayId array) { seen_from_outside_.erase(array); }

// An array of another group is in memory: what it is made of is not seen.
const Cases& Builder::cases_of(ArrayId array) {
  if (!borders_ || group_of_[array] == group_) return form_.arrays[array];
  const auto [at, added] = seen_from_outside_[array].try_emplace(group_);
  if (!added) return at->second;
  Cases cases = form_.arrays[array];
  for (Case& one : cases) {
    if (!algebra_.reads_data(one.value)) continue;
    if (!one.value.is_element()) continue;
    // A view is no memory of its own: what it is of lies somewhere else.
    while (is_view_[array] && terms_[one.value.term].kind == TermKind::stored)
      one.value.term = terms_[one.value.term].array;
    const Term& made = terms_[one.value.term];
    Term stored;
    stored.kind = TermKind::stored;
    stored.rank = made.rank;
    stored.array = one.value.term;
    stored.type = made.type;
    stored.width = narrower(one.value.width, program_.arrays[array].dtype);
    stored.number = bits(stored.width);
    stored.reads_data = true;
    const index::Atoms::Order* order = atoms_.order(one.value.term);
    const bool is_free = atoms_.is_free(one.value.term);
    one.value.term = terms_.intern(std::move(stored));
    if (is_free) atoms_.know_free(one.value.term);
    if (order != nullptr) atoms_.know(one.value.term, index::Atoms::Order(*order));
  }
  return at->second = std::move(cases);
}

void Builder::define_input(ArrayId array, const Tensor* known) {
  const loops::Array& declared = program_.arrays[array];
  Term term;
  term.kind = TermKind::input;
  term.array = array;
  term.rank = uint32_t(declared.shape.size());
  term.type = compute_type(declared.dtype);
  term.width = declared.dtype;
  term.reads_data = true;
  const TermId id = terms_.intern(std::move(term));
  Region whole = Region::whole(declared.shape);
  if (whole.empty) return define(array, {});
  const Value element = Value::element(id, own_variables(declared.shape.size()), declared.dtype);
  if (known != nullptr) {
    const auto number_at = [&](int64_t i) {
      return is_integer(declared.dtype) ? double(known->get_i64(i)) : known->get_f64(i);
    };
    Cases cases = known_array(declared, number_at, element);
    if (!cases.empty()) return define(array, std::move(cases));
  }
  if (known == nullptr) atoms_.know_free(id);
  if (known != nullptr && (is_integer(declared.dtype) || declared.dtype == DType::boolean) &&
      known->size() <= most_known) {
    Atoms::Table table{declared.shape, {}};
    for (int64_t i = 0; i < known->size(); ++i) table.values.push_back(known->get_i64(i));
    atoms_.know(id, std::move(table));
    terms_.at(id).reads_data = false;
  }
  for (int64_t i = 0; known != nullptr && is_float(declared.dtype) && i < known->size(); ++i)
    terms_.at(id).infinite |= !std::isfinite(known->get_f64(i));
  define(array, {{std::move(whole), element}});
}

void Builder::statement(const loops::Constant& node) {
  const loops::Array& declared = program_.arrays[node.result];
  // Those inside of a loop are the same in every step.
  std::vector<int64_t> extents;
  for (const loops::IndexId counter : counters_) extents.push_back(program_.indices[counter].extent);
  const size_t before = extents.size();
  extents.insert(extents.end(), declared.shape.begin(), declared.shape.end());
  Region whole = Region::whole(extents);
  if (whole.empty) return define(node.result, {});
  if (is_uninitialised()) return define(node.result, {{whole, algebra_.nothing()}});
  if (node.values.size() == 1) return define(node.result, {{whole, Value::of(number_of(node.values[0]))}});
  const auto number_at = [&](int64_t i) { return number_of(node.values[size_t(i)]); };
  Term term;
  term.kind = TermKind::input;
  term.array = node.result;
  term.rank = uint32_t(declared.shape.size());
  term.type = compute_type(declared.dtype);
  term.width = declared.dtype;
  const TermId id = terms_.intern(std::move(term));
  Cases cases =
      known_array(declared, number_at, Value::element(id, own_variables(declared.shape.size()), declared.dtype));
  if (!cases.empty()) {
    const std::vector<Form> images = own_variables(declared.shape.size(), before);
    const std::vector<Range> natural(whole.box.begin() + int64_t(before), whole.box.end());
    for (Case& one : cases) {
      one.where = index::pull_back(one.where, natural, images, whole, atoms_);
      algebra_.box = one.where.box;
      one.value = algebra_.moved(one.value, images);
    }
    return define(node.result, std::move(cases));
  }
  if (declared.dtype != DType::c64 && !is_float(declared.dtype)) {
    Atoms::Table table{declared.shape, {}};
    for (const loops::Literal& literal : node.values) table.values.push_back(literal.integer);
    atoms_.know(id, std::move(table));
  } else {
    terms_.at(id).reads_data = true;
    for (const loops::Literal& literal : node.values) terms_.at(id).infinite |= !std::isfinite(number_of(literal));
  }
  define(node.result, {{whole, Value::element(id, own_variables(declared.shape.size(), before), declared.dtype)}});
}

bool Builder::is_uninitialised() const {
  if (group_ >= program_.groups.size()) return false;
  const std::string& name = program_.groups[group_];
  return name.find(".empty") != std::string::npos || name.find(".new_empty") != std::string::npos;
}

void Builder::statement(const loops::Compute& node) {
  is_view_[node.result] = node.is_view;
  const Space space = space_of(node.reduced, node.loops, node.result);
  if (is_uninitialised() && node.reducer == loops::Reducer::none && !space.whole().empty)
    return define(node.result, {{space.whole(), algebra_.nothing()}});
  if (std::any_of(space.box.begin() + space.reduced, space.box.end(), [](const Range& r) { return r.hi < r.lo; }))
    return define(node.result, {});
  const DType type = node.reducer == loops::Reducer::none ? program_.exprs[node.body].type : node.accumulator;
  const auto scanned = std::find_if(node.loops.begin(), node.loops.end(), [&](loops::IndexId index) {
    return program_.indices[index].kind == loops::IndexKind::scan;
  });
  if (scanned != node.loops.end() && reads_array(node.body, node.result)) {
    if (!running_total(node, space)) recurrence(node, space);
    return;
  }
  Cases body = evaluate(node.body, space);
  if (node.reducer == loops::Reducer::none) return define(node.result, std::move(body));
  std::optional<Spelled> products;
  if (written_products(program_, node) > 0) products = spelled(body, space);
  body = reduced(node.reducer, std::move(body), space, type);
  define(node.result, std::move(body));
  if (!products) return;
  products->result = form_.arrays[node.result];
  form_.spelled.push_back(std::move(*products));
}

Spelled Builder::spelled(const Cases& body, const Space& space) const {
  Spelled products;
  products.statement = terms_.statement();
  products.group = group_;
  products.reduced = space.reduced;
  products.box = space.box;
  for (const Case& one : body) (one.value.is_number(0) ? products.zeros : products.factors).push_back(one.where);
  return products;
}

// Of what is sorted every place is told once.
void Builder::know_order(const loops::Opaque& node, const OpaqueCall& call) {
  if (node.name != "sort" && node.name != "topk") return;
  const Shape& shape = program_.arrays[node.operands[0]].shape;
  int64_t along = -1;
  for (const auto& [key, value] : node.attributes)
    if (const auto* dim = std::get_if<int64_t>(&value); dim != nullptr && key == "dim") along = *dim;
  if (along < 0) along += int64_t(shape.size());
  if (along < 0 || along >= int64_t(shape.size())) return;
  atoms_.know(call.results[1], index::Atoms::Order{uint32_t(counters_.size()) + uint32_t(along), shape[size_t(along)]});
}

void Builder::statement(const loops::Opaque& node) {
  std::string text = node.name;
  uint64_t hash = 0;
  OpaqueCall call;
  call.node = &node;
  for (const ArrayId operand : node.operands) {
    call.operands.push_back(cases_of(operand));
    for (const Case& one : call.operands.back())
      hash = hash * 0x9e3779b97f4a7c15u + index::hash_of(one.where) * 31 + hash_of(one.value);
    text += fmt::format(" {} {}", hash, to_string(program_.arrays[operand].shape));
  }
  for (const auto& [key, value] : node.attributes) {
    text += " " + key + "=";
    std::visit(
        [&](const auto& v) {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::vector<int64_t>>)
            for (const int64_t x : v) text += fmt::format("{},", x);
          else
            text += fmt::format("{}", v);
        },
        value);
  }
  const size_t depth = counters_.size();
  if (depth > 0) text += fmt::format(" #{}", form_.opaque.size());  // steps differ
  const auto [at, added] = opaque_by_text_.try_emplace(text, form_.opaque.size());
  const bool random = node.name == "random" && node.operands.empty();
  if (added || random) {
    for (const ArrayId result : node.results) {
      Term term;
      term.kind = TermKind::opaque;
      term.array = uint32_t(form_.opaque.size());
      term.rank = uint32_t(depth + program_.arrays[result].shape.size());
      term.type = compute_type(program_.arrays[result].dtype);
      term.width = program_.arrays[result].dtype;
      term.reads_data = true;
      call.results.push_back(terms_.add(std::move(term)));
    }
    know_order(node, call);
    form_.opaque.push_back(std::move(call));
  }
  const OpaqueCall& first = form_.opaque[added || random ? form_.opaque.size() - 1 : at->second];
  for (size_t i = 0; i < node.results.size(); ++i) {
    const ArrayId result = node.results[i];
    Region whole;
    for (const loops::IndexId counter : counters_) whole.box.push_back({0, program_.indices[counter].extent - 1, 1});
    for (const int64_t extent : program_.arrays[result].shape) whole.box.push_back({0, extent - 1, 1});
    for (const Range& range : whole.box) whole.empty |= range.hi < range.lo;
    if (whole.empty) {
      define(result, {});
      continue;
    }
    const size_t rank = whole.box.size();
    define(result,
           {{std::move(whole), Value::element(first.results[i], own_variables(rank), program_.arrays[result].dtype)}});
  }
}

}  // namespace lightline::demand
