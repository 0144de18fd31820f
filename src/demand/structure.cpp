#include "demand/structure.h"

#include <algorithm>

#include "demand/equal.h"
#include "loops/ir/affine.h"
#include "loops/ir/walk.h"

namespace lightline::demand {
namespace {

constexpr int max_formula_depth = 12;

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
    auto sum = e.function == Function::sub ? difference(*a, *b) : difference(*a, difference(HalfSpace{}, *b));
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

}  // namespace lightline::demand
