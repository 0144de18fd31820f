#include "demand/structure.h"

#include <algorithm>
#include <cmath>

#include "demand/equal.h"
#include "loops/ir/affine.h"
#include "loops/ir/walk.h"

namespace lightline::demand {

namespace {

const HalfSpace never{-1, {}};

bool has_empty_support(const Cuts& cuts) { return std::find(cuts.begin(), cuts.end(), never) != cuts.end(); }

HalfSpace minus(const HalfSpace& a, const HalfSpace& b, int64_t constant = 0) {
  HalfSpace result = a;
  result.constant += constant - b.constant;
  for (const auto& [v, c] : b.terms) {
    const auto found =
        std::find_if(result.terms.begin(), result.terms.end(), [v = v](const auto& t) { return t.first == v; });
    if (found == result.terms.end())
      result.terms.emplace_back(v, -c);
    else
      found->second -= c;
  }
  std::erase_if(result.terms, [](const auto& t) { return t.second == 0; });
  std::sort(result.terms.begin(), result.terms.end());
  return result;
}

// exp of this and of anything below is zero in every type, as masks by -1e4 or the least finite number mean it.
constexpr double vanishing = -1e4;
constexpr int max_formula_depth = 12;

std::optional<double> literal_value(const Expr& e) {
  if (e.kind != ExprKind::literal) return std::nullopt;
  return e.literal.kind == loops::Literal::Kind::floating ? e.literal.floating : double(e.literal.integer);
}

bool keeps_zero(Function f) {
  switch (f) {
    case Function::neg:
    case Function::abs:
    case Function::sign:
    case Function::floor:
    case Function::ceil:
    case Function::round:
    case Function::trunc:
    case Function::sqrt:
    case Function::cbrt:
    case Function::expm1:
    case Function::log1p:
    case Function::sin:
    case Function::tan:
    case Function::asin:
    case Function::atan:
    case Function::sinh:
    case Function::tanh:
    case Function::asinh:
    case Function::atanh:
    case Function::silu:
    case Function::erf:
    case Function::gelu:
    case Function::gelu_tanh:
    case Function::conj:
    case Function::real:
    case Function::imag: return true;
    default: return false;
  }
}

Cuts joined(Cuts a, const Cuts& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

DType narrower(DType a, DType b) {
  if (a == DType::boolean || b == DType::boolean) return a == DType::boolean ? b : a;
  return bits(b) < bits(a) ? b : a;
}
DType wider(DType a, DType b) {
  if (a == DType::boolean || b == DType::boolean) return a == DType::boolean ? b : a;
  return bits(b) > bits(a) ? b : a;
}

int Domain::variable_of(IndexId index) const {
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i] == index) return int(i);
  return -1;
}

Domain domain_of(const Compute& compute, const std::vector<IndexId>& counters) {
  Domain domain{compute.loops, compute.loops.size(), counters.size()};
  domain.variables.insert(domain.variables.end(), compute.reduced.begin(), compute.reduced.end());
  domain.variables.insert(domain.variables.end(), counters.begin(), counters.end());
  return domain;
}

Domain domain_of(const Scatter& scatter, const std::vector<IndexId>& counters) {
  Domain domain{scatter.domain, scatter.domain.size(), counters.size()};
  domain.variables.insert(domain.variables.end(), counters.begin(), counters.end());
  return domain;
}

// ---- the walk over the program ----

Structure::Structure(const loops::Program& program)
    : program_(program),
      support_{std::vector<Cuts>(program.arrays.size()), std::vector<Cuts>(program.arrays.size())},
      repeats_along_(program.arrays.size()),
      one_hot_(program.arrays.size()),
      varies_(program.arrays.size(), 0),
      precision_(program.arrays.size()),
      definition_(program.arrays.size(), nullptr),
      is_formula_(program.arrays.size(), false),
      first_equal_(equal_statements(program)),
      group_(program.arrays.size(), none),
      leaves_group_(program.arrays.size(), false),
      group_type_(program.groups.size()) {
  for (size_t i = 0; i < precision_.size(); ++i) precision_[i] = program.arrays[i].dtype;
  find_groups(program.statements, none);
  for (const loops::Output& output : program.outputs) leaves_group_[output.array] = true;
  for (size_t i = 0; i < leaves_group_.size(); ++i)
    if (leaves_group_[i]) limit_precision(group_[i], ArrayId(i));
  std::vector<IndexId> counters;
  visit(program.statements, counters);
}

void Structure::visit(const std::vector<Statement>& block, std::vector<IndexId>& counters) {
  for (const Statement& statement : block) {
    if (const auto* compute = std::get_if<Compute>(&statement.node)) {
      visit(*compute, counters);
    } else if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
      visit(*repeat, counters);
    } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
      VariableSet set = varies(scatter->body);
      const Domain domain = domain_of(*scatter, counters);
      VariableSet used = depends_on(scatter->body, domain);
      for (const ExprId subscript : scatter->target) {
        set |= varies(subscript);
        used |= depends_on(subscript, domain);
      }
      for (size_t c = 0; c < counters.size(); ++c)
        if (used & bit(domain.first_counter() + c)) set |= bit(c);
      if (scatter->init_array != none) set |= varies_[scatter->init_array];
      varies_[scatter->result] = set;
    } else if (const auto* opaque = std::get_if<loops::Opaque>(&statement.node)) {
      VariableSet set = 0;
      for (const ArrayId operand : opaque->operands) set |= varies_[operand];
      for (const ArrayId result : opaque->results) varies_[result] = set;
    }
  }
}

void Structure::find_groups(const std::vector<Statement>& block, uint32_t outer) {
  for (const Statement& statement : block) {
    const uint32_t group = outer != none ? outer : statement.group;
    for (const ArrayId result : loops::results_of(statement)) group_[result] = group;
    if (const auto* compute = std::get_if<Compute>(&statement.node)) {
      note_reads(compute->body, group);
    } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
      note_reads(scatter->body, group);
    } else if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
      for (const auto& carry : repeat->carries) group_[carry.inner] = group;
      for (const auto& carry : repeat->carries) limit_precision(group, carry.init);
      find_groups(repeat->body, group);
    } else if (const auto* opaque = std::get_if<loops::Opaque>(&statement.node)) {
      for (const ArrayId operand : opaque->operands)
        if (group_[operand] != group || group == none) leaves_group_[operand] = true;
    }
  }
}

void Structure::note_reads(ExprId id, uint32_t group) {
  loops::for_each_read(program_, id, [&](const Expr& read) {
    const ArrayId array = read.args[0];
    if (group != none && group_[array] == group) return;
    leaves_group_[array] = true;
    limit_precision(group, array);
  });
}

void Structure::limit_precision(uint32_t group, ArrayId array) {
  const DType dtype = program_.arrays[array].dtype;
  if (group == none || !is_float(dtype)) return;
  group_type_[group] = group_type_[group] ? wider(*group_type_[group], dtype) : dtype;
}

// What is carried changes with the repeat, and with whatever changes what it starts from or is made of.
void Structure::visit(const loops::Repeat& repeat, std::vector<IndexId>& counters) {
  const VariableSet own = bit(counters.size());
  for (const auto& carry : repeat.carries) varies_[carry.inner] = own | varies_[carry.init];
  counters.push_back(repeat.counter);
  visit(repeat.body, counters);
  bool grew = false;
  for (const auto& carry : repeat.carries) {
    const VariableSet more = varies_[carry.next] & ~varies_[carry.inner];
    varies_[carry.inner] |= more;
    grew |= more != 0;
  }
  if (grew && counters.size() <= 4) visit(repeat.body, counters);
  counters.pop_back();
  for (size_t i = 0; i < repeat.results.size(); ++i) {
    const bool carried = i < repeat.carries.size();
    const ArrayId from = carried ? repeat.carries[i].next : repeat.stacked[i - repeat.carries.size()];
    varies_[repeat.results[i]] = (varies_[from] | (carried ? varies_[repeat.carries[i].init] : 0)) & ~own;
  }
}

void Structure::visit(const Compute& compute, const std::vector<IndexId>& counters) {
  const Domain domain = domain_of(compute, counters);
  const ArrayId result = compute.result;
  const VariableSet used = depends_on(compute.body, domain);
  definition_[result] = &compute;
  varies_[result] = varies(compute.body);
  for (size_t c = 0; c < counters.size(); ++c)
    if (used & bit(domain.first_counter() + c)) varies_[result] |= bit(c);
  const bool scans = std::any_of(compute.loops.begin(), compute.loops.end(),
                                 [&](IndexId i) { return program_.indices[i].kind == loops::IndexKind::scan; });
  if (scans) return;
  repeats_along_[result].assign(domain.loops, false);
  for (size_t i = 0; i < domain.loops && i < 64; ++i) repeats_along_[result][i] = (used & bit(i)) == 0;
  const bool plain = compute.reducer == Reducer::none;
  if (const uint32_t group = group_[result]; group != none && group_type_[group] && !leaves_group_[result])
    precision_[result] = narrower(precision_[result], *group_type_[group]);
  if (plain) {
    precision_[result] = narrower(precision(compute.body), precision_[result]);
    is_formula_[result] = counters.empty() && !reads_data(compute.body);
    const VariableSet picked = one_hot_variables(compute.body, domain);
    if (picked != 0) {
      one_hot_[result].assign(domain.loops, false);
      for (size_t i = 0; i < domain.loops; ++i) one_hot_[result][i] = (picked & bit(i)) != 0;
    }
  }
  if (!plain && compute.reducer != Reducer::sum) return;
  for (const SkippedValue kind : {SkippedValue::zero, SkippedValue::negative_infinity}) {
    if (!plain && kind != SkippedValue::zero) continue;
    Cuts cuts = support(compute.body, kind, domain);
    // Cuts over the result's own dimensions hold for the array; where one of them fails, the value is skipped.
    std::erase_if(cuts, [&](const HalfSpace& cut) {
      return std::any_of(cut.terms.begin(), cut.terms.end(),
                         [&](const auto& t) { return size_t(t.first) >= domain.loops; });
    });
    support_[size_t(kind)][result] = std::move(cuts);
  }
}

// ---- what an expression depends on ----

VariableSet Structure::varies(ExprId id) const {
  const Expr& e = program_.exprs[id];
  VariableSet set = 0;
  if (e.kind == ExprKind::read) {
    set = varies_[e.args[0]];
    for (uint32_t i = 0; i < e.args[2]; ++i) set |= varies(loops::subscripts_of(program_, e)[i]);
    return set;
  }
  for (const ExprId operand : operands_of(e)) set |= varies(operand);
  return set;
}

bool Structure::reads_data(ExprId id) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::read) {
    if (!is_formula_[e.args[0]]) return true;
    for (uint32_t i = 0; i < e.args[2]; ++i)
      if (reads_data(loops::subscripts_of(program_, e)[i])) return true;
    return false;
  }
  return std::ranges::any_of(operands_of(e), [&](ExprId operand) { return reads_data(operand); });
}

const Compute* Structure::formula(const Expr& read) const {
  return is_formula_[read.args[0]] && !read.has_fill && depth_ < max_formula_depth ? definition_[read.args[0]]
                                                                                   : nullptr;
}

std::optional<HalfSpace> Structure::affine(ExprId id, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::cast && is_integer(e.target) && is_integer(program_.exprs[e.args[0]].type))
    return affine(e.args[0], domain);
  if (e.kind == ExprKind::read) {
    const Compute* made = formula(e);
    if (made == nullptr || !is_integer(program_.arrays[e.args[0]].dtype)) return std::nullopt;
    ++depth_;
    const auto own = affine(made->body, domain_of(*made, {}));
    --depth_;
    if (!own) return std::nullopt;
    const auto seen = through({*own}, e, domain);
    return seen.empty() ? std::nullopt : std::optional(seen[0]);
  }
  if (e.kind == ExprKind::call && (e.function == Function::add || e.function == Function::sub) && is_integer(e.type)) {
    const auto a = affine(e.args[0], domain), b = affine(e.args[1], domain);
    if (!a || !b) return std::nullopt;
    auto sum = e.function == Function::sub ? minus(*a, *b) : minus(*a, minus(HalfSpace{}, *b));
    return is_kept(sum.constant) ? std::optional(std::move(sum)) : std::nullopt;
  }
  const auto form = loops::affine_of(program_, id);
  if (!form) return std::nullopt;
  HalfSpace result{form->constant, {}};
  for (const auto& [index, coefficient] : form->terms) {
    const int v = domain.variable_of(index);
    int64_t reach = 0;
    if (v < 0 || !multiply(coefficient, std::max<int64_t>(1, program_.indices[index].extent), reach))
      return std::nullopt;
    result.terms.emplace_back(v, coefficient);
  }
  if (!is_kept(result.constant)) return std::nullopt;
  std::sort(result.terms.begin(), result.terms.end());
  return result;
}

VariableSet Structure::depends_on(ExprId id, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  VariableSet set = 0;
  switch (e.kind) {
    case ExprKind::literal: return 0;
    case ExprKind::index: {
      const int v = domain.variable_of(e.args[0]);
      return v >= 0 ? bit(size_t(v)) : 0;
    }
    case ExprKind::cast:
    case ExprKind::call:
      for (const ExprId operand : operands_of(e)) set |= depends_on(operand, domain);
      return set;
    case ExprKind::read:
      for (uint32_t i = 0; i < e.args[2]; ++i)
        if (e.has_fill || !repeats_along(e.args[0], i)) set |= depends_on(loops::subscripts_of(program_, e)[i], domain);
      return set;
  }
  return 0;
}

// Scaling, shifting by a number and converting add no information to a narrow value: a product with it may be taken
// in the narrow type first.
DType Structure::precision(ExprId id) const {
  const Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::read: return precision_[e.args[0]];
    case ExprKind::cast: return narrower(precision(e.args[0]), e.target);
    case ExprKind::call: break;
    default: return e.type;
  }
  const auto is_literal = [&](int i) { return program_.exprs[e.args[i]].kind == ExprKind::literal; };
  switch (e.function) {
    case Function::neg:
    case Function::abs: return precision(e.args[0]);
    case Function::mul:
      if (is_literal(0)) return precision(e.args[1]);
      if (is_literal(1)) return precision(e.args[0]);
      return narrower(precision(e.args[0]), precision(e.args[1]));
    case Function::divide: return precision(e.args[0]);
    case Function::add:
    case Function::sub:
      if (is_literal(0)) return precision(e.args[1]);
      if (is_literal(1)) return precision(e.args[0]);
      return wider(precision(e.args[0]), precision(e.args[1]));
    case Function::max:
    case Function::min:
      if (is_literal(1)) return precision(e.args[0]);
      return wider(precision(e.args[0]), precision(e.args[1]));
    case Function::select:
      if (is_literal(1)) return precision(e.args[2]);
      if (is_literal(2)) return precision(e.args[1]);
      return wider(precision(e.args[1]), precision(e.args[2]));
    default: return e.type;
  }
}

// ---- conditions ----

Cuts Structure::through(const Cuts& cuts, const Expr& read, const Domain& domain) const {
  Cuts seen;
  for (const HalfSpace& cut : cuts) {
    HalfSpace image{cut.constant, {}};
    bool known = true;
    for (const auto& [dimension, coefficient] : cut.terms) {
      const auto subscript = affine(loops::subscripts_of(program_, read)[dimension], domain);
      HalfSpace scaled = subscript.value_or(HalfSpace{});
      known = subscript && multiply(scaled.constant, -coefficient, scaled.constant);
      for (auto& term : scaled.terms) known = known && multiply(term.second, -coefficient, term.second);
      if (!known) break;
      image = minus(image, scaled);
      known = is_kept(image.constant);
    }
    if (known) seen.push_back(std::move(image));
  }
  return seen;
}

Cuts Structure::implied(ExprId id, bool truth, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::literal: return (e.literal.integer != 0) == truth ? Cuts{} : Cuts{never};
    case ExprKind::index: return {};
    case ExprKind::cast:  // a number as a condition
      if (program_.exprs[e.args[0]].type == DType::boolean) return implied(e.args[0], truth, domain);
      if (!truth) return implied_equal(e.args[0], 0, domain);
      return support(e.args[0], SkippedValue::zero, domain);
    case ExprKind::read:
      if (const Compute* made = formula(e)) {
        ++depth_;
        const auto own = implied(made->body, truth, domain_of(*made, {}));
        --depth_;
        return through(own, e, domain);
      }
      return {};
    case ExprKind::call: return implied_call(e, truth, domain);
  }
  return {};
}

Cuts Structure::implied_call(const Expr& e, bool truth, const Domain& domain) const {
  const auto both = [&] {
    auto cuts = implied(e.args[0], truth, domain);
    const auto more = implied(e.args[1], truth, domain);
    cuts.insert(cuts.end(), more.begin(), more.end());
    return cuts;
  };
  if (e.function == Function::logical_not) return implied(e.args[0], !truth, domain);
  if (e.function == Function::logical_and || e.function == Function::bitand_) {
    if (truth) return both();
    if (implied(e.args[0], true, domain).empty() && !reads_data(e.args[0]) && is_true(e.args[0]))
      return implied(e.args[1], false, domain);
    return is_true(e.args[1]) ? implied(e.args[0], false, domain) : Cuts{};
  }
  if (e.function == Function::logical_or || e.function == Function::bitor_) return truth ? Cuts{} : both();
  if (arity(e) != 2) return {};
  const bool equality = e.function == Function::eq || e.function == Function::ne;
  if (equality)
    for (const int side : {0, 1})
      if (const auto value = literal_value(program_.exprs[e.args[side]])) {
        const ExprId other = e.args[1 - side];
        if (truth == (e.function == Function::eq)) {
          if (auto cuts = implied_equal(other, *value, domain); !cuts.empty()) return cuts;
        } else if (*value == 0) {
          if (auto cuts = support(other, SkippedValue::zero, domain); !cuts.empty()) return cuts;
        }
      }
  if (!is_integer(program_.exprs[e.args[0]].type)) return {};
  const auto a = affine(e.args[0], domain), b = affine(e.args[1], domain);
  if (!a || !b) return {};
  switch (e.function) {
    case Function::le: return {truth ? minus(*b, *a) : minus(*a, *b, -1)};
    case Function::lt: return {truth ? minus(*b, *a, -1) : minus(*a, *b)};
    case Function::ge: return {truth ? minus(*a, *b) : minus(*b, *a, -1)};
    case Function::gt: return {truth ? minus(*a, *b, -1) : minus(*b, *a)};
    case Function::eq: return truth ? std::vector{minus(*a, *b), minus(*b, *a)} : Cuts{};
    case Function::ne: return truth ? Cuts{} : std::vector{minus(*a, *b), minus(*b, *a)};
    default: return {};
  }
}

// What must hold where the expression has this value, for masks made of numbers: if(j <= i, 1, 0), 1 - mask, ...
Cuts Structure::implied_equal(ExprId id, double value, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  const auto can_not_be = [](const Cuts& cuts) { return std::find(cuts.begin(), cuts.end(), never) != cuts.end(); };
  if (const auto literal = literal_value(e)) return *literal == value ? Cuts{} : Cuts{never};
  if (e.kind == ExprKind::read) {
    const Compute* made = formula(e);
    if (made == nullptr) return {};
    ++depth_;
    const auto own = implied_equal(made->body, value, domain_of(*made, {}));
    --depth_;
    return through(own, e, domain);
  }
  if (e.type == DType::boolean && e.kind == ExprKind::call && e.function != Function::select)
    return implied(id, value != 0, domain);
  if (e.kind == ExprKind::cast) {
    if (program_.exprs[e.args[0]].type == DType::boolean) return implied(e.args[0], value != 0, domain);
    return is_float(e.target) ? implied_equal(e.args[0], value, domain) : Cuts{};
  }
  if (e.kind != ExprKind::call) return {};
  const auto first = literal_value(program_.exprs[e.args[0]]);
  const auto second = arity(e) > 1 ? literal_value(program_.exprs[e.args[1]]) : std::nullopt;
  switch (e.function) {
    case Function::sub:
      if (first) return implied_equal(e.args[1], *first - value, domain);
      return second ? implied_equal(e.args[0], value + *second, domain) : Cuts{};
    case Function::add:
      if (first) return implied_equal(e.args[1], value - *first, domain);
      return second ? implied_equal(e.args[0], value - *second, domain) : Cuts{};
    case Function::mul:
      if (first && *first != 0) return implied_equal(e.args[1], value / *first, domain);
      return second && *second != 0 ? implied_equal(e.args[0], value / *second, domain) : Cuts{};
    case Function::neg: return implied_equal(e.args[0], -value, domain);
    case Function::select: {
      auto yes = implied_equal(e.args[1], value, domain), no = implied_equal(e.args[2], value, domain);
      if (can_not_be(yes) && can_not_be(no)) return {never};
      if (!can_not_be(yes) && !can_not_be(no)) return {};
      auto cuts = implied(e.args[0], can_not_be(no), domain);
      const auto& rest = can_not_be(no) ? yes : no;
      cuts.insert(cuts.end(), rest.begin(), rest.end());
      return cuts;
    }
    default: return {};
  }
}

bool Structure::is_true(ExprId id) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::literal) return e.literal.integer != 0;
  if (e.kind == ExprKind::cast) return is_true(e.args[0]);
  if (e.kind != ExprKind::read) return false;
  const Compute* made = formula(e);
  return made != nullptr && program_.exprs[made->body].kind == ExprKind::literal && is_true(made->body);
}

VariableSet Structure::one_hot_variables(ExprId id, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::cast) return one_hot_variables(e.args[0], domain);
  if (e.kind == ExprKind::read) {
    const auto& hot = one_hot_[e.args[0]];
    VariableSet set = 0;
    for (size_t d = 0; d < hot.size() && !e.has_fill; ++d) {
      if (!hot[d]) continue;
      // the one-hot dimension follows a variable that no other dimension follows
      const auto subscript = affine(loops::subscripts_of(program_, e)[d], domain);
      if (!subscript || subscript->terms.size() != 1) continue;
      const size_t v = size_t(subscript->terms[0].first);
      bool alone = true;
      for (size_t other = 0; other < hot.size(); ++other)
        if (other != d && (depends_on(loops::subscripts_of(program_, e)[other], domain) & bit(v))) alone = false;
      if (alone) set |= bit(v);
    }
    return set;
  }
  if (e.kind != ExprKind::call) return 0;
  if (e.function == Function::mul || e.function == Function::logical_and)
    return one_hot_variables(e.args[0], domain) | one_hot_variables(e.args[1], domain);
  if (e.function == Function::select) {
    const auto no = literal_value(program_.exprs[e.args[2]]);
    return no && *no == 0 ? one_hot_variables(e.args[0], domain) : 0;
  }
  if (e.function != Function::eq) return 0;
  VariableSet set = 0;
  for (const int side : {0, 1}) {
    const auto index = affine(e.args[side], domain);
    if (!index || index->terms.size() != 1) continue;
    const size_t v = size_t(index->terms[0].first);
    const bool by_data = reads_data(e.args[1 - side]);  // else it is a cut
    if (by_data && !(depends_on(e.args[1 - side], domain) & bit(v)) && v < domain.first_counter()) set |= bit(v);
  }
  return set;
}

// ---- zeros and -inf ----

Cuts Structure::support(ExprId id, SkippedValue kind, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::literal: {
      const auto value = literal_value(e);
      if (e.literal.kind == loops::Literal::Kind::boolean || !value) return {};
      return (kind == SkippedValue::zero ? *value == 0 : *value <= vanishing) ? Cuts{never} : Cuts{};
    }
    case ExprKind::index: return {};
    case ExprKind::cast:
      if (program_.exprs[e.args[0]].type == DType::boolean)
        return kind == SkippedValue::zero ? implied(e.args[0], true, domain) : Cuts{};
      if (e.target == DType::boolean || (kind != SkippedValue::zero && !is_float(e.target))) return {};
      return support(e.args[0], kind, domain);
    case ExprKind::read: return support_of_read(e, kind, domain);
    case ExprKind::call: return support_of_call(e, kind, domain);
  }
  return {};
}

Cuts Structure::support_of_read(const Expr& e, SkippedValue kind, const Domain& domain) const {
  Cuts cuts = through(support_[size_t(kind)][e.args[0]], e, domain);
  if (!e.has_fill) return cuts;
  // Outside the array the fill is read.
  const double fill = e.literal.kind == loops::Literal::Kind::floating ? e.literal.floating : double(e.literal.integer);
  if (kind == SkippedValue::zero ? fill != 0 : !(fill <= vanishing)) return {};
  const Shape& shape = program_.arrays[e.args[0]].shape;
  for (uint32_t i = 0; i < e.args[2]; ++i) {
    const auto subscript = affine(loops::subscripts_of(program_, e)[i], domain);
    if (!subscript) continue;
    cuts.push_back(*subscript);
    cuts.push_back(minus(HalfSpace{shape[i] - 1, {}}, *subscript));
  }
  return cuts;
}

Cuts Structure::support_of_select(const Expr& e, SkippedValue kind, const Domain& domain) const {
  const Cuts yes = support(e.args[1], kind, domain), no = support(e.args[2], kind, domain);
  const bool no_is = has_empty_support(no), yes_is = has_empty_support(yes);
  if (no_is && yes_is) return no;
  if (!no_is && !yes_is) return {};
  return joined(implied(e.args[0], no_is, domain), no_is ? yes : no);
}

Cuts Structure::support_of_call(const Expr& e, SkippedValue kind, const Domain& domain) const {
  const auto argument = [&](int i, SkippedValue of) { return support(e.args[i], of, domain); };
  const bool zero = kind == SkippedValue::zero;
  switch (e.function) {
    case Function::mul:
      if (zero) return joined(argument(0, kind), argument(1, kind));
      // a mask times a number so low that it stands for -inf: (1 - allowed) * -1e9
      for (const int side : {0, 1})
        if (const auto low = literal_value(program_.exprs[e.args[side]]); low && *low <= vanishing)
          return implied_equal(e.args[1 - side], 0, domain);
      for (const int side : {0, 1})  // scaled by a positive number
        if (const auto by = literal_value(program_.exprs[e.args[side]]); by && *by > 0) return argument(1 - side, kind);
      return {};
    case Function::divide: {
      const auto by = literal_value(program_.exprs[e.args[1]]);
      return zero || (by && *by > 0) ? argument(0, kind) : Cuts{};
    }
    case Function::add:
    case Function::sub: {
      if (!zero) return e.function == Function::add ? joined(argument(0, kind), argument(1, kind)) : argument(0, kind);
      const Cuts a = argument(0, kind), b = argument(1, kind);
      if (has_empty_support(b)) return a;
      if (has_empty_support(a)) return b;
      return a == b ? a : Cuts{};
    }
    case Function::exp:
    case Function::exp2:
    case Function::sigmoid: return zero ? argument(0, SkippedValue::negative_infinity) : Cuts{};
    case Function::max: {
      const auto bound = literal_value(program_.exprs[e.args[1]]);
      if (!zero || !bound || *bound != 0) return {};
      const Cuts cuts = argument(0, SkippedValue::zero);  // max(0, 0) and max(-inf, 0)
      return cuts.empty() ? argument(0, SkippedValue::negative_infinity) : cuts;
    }
    case Function::select: return support_of_select(e, kind, domain);
    default: return zero && keeps_zero(e.function) ? argument(0, kind) : Cuts{};
  }
}

}  // namespace lightline::demand
