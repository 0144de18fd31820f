#include "demand/work.h"

#include <algorithm>

#include "base/maths.h"
#include "loops/ir/walk.h"

namespace lightline::demand {

void Work::add(const Work& other) {
  for (const auto& [dtype, count] : other.macs) macs[dtype] += count;
  for (const auto& [dtype, count] : other.transformed_macs) transformed_macs[dtype] += count;
  for (const auto& [dtype, count] : other.vector_ops) vector_ops[dtype] += count;
  transcendental_ops += other.transcendental_ops;
}

double Work::total_macs() const {
  double sum = 0;
  for (const auto& [dtype, count] : macs) sum += count;
  return sum;
}

double Work::total_vector_ops() const {
  double sum = 0;
  for (const auto& [dtype, count] : vector_ops) sum += count;
  return sum;
}

namespace {

bool multiplies(DType dtype) { return is_float(dtype) || is_integer(dtype) || dtype == DType::c64; }

VariableSet first_bits(size_t count) { return count >= 64 ? ~VariableSet(0) : bit(count) - 1; }

// What a value depends on besides conditions on positions, which are cuts.
VariableSet depends_by_data(const loops::Program& program, const Structure& structure, ExprId id,
                            const Domain& domain) {
  const Expr& e = program.exprs[id];
  if (e.kind == ExprKind::cast) return depends_by_data(program, structure, e.args[0], domain);
  if (e.kind != ExprKind::call || e.function != Function::select || structure.reads_data(e.args[0]))
    return structure.depends_on(id, domain);
  return depends_by_data(program, structure, e.args[1], domain) |
         depends_by_data(program, structure, e.args[2], domain);
}

// Variables that a read has only inside a sum with another one.
void windows_of(const loops::Program& program, const Structure& structure, ExprId id, const Domain& domain,
                Factor& into, VariableSet& alone) {
  loops::for_each_read(program, id, [&](const Expr& read) {
    for (uint32_t i = 0; i < read.args[2]; ++i) {
      const auto form = structure.affine(loops::subscripts_of(program, read)[i], domain);
      std::vector<Range> ranges;
      if (form)
        for (const auto& term : form->terms)
          ranges.push_back({0, program.indices[domain.variables[size_t(term.first)]].extent - 1, 1});
      if (!form || !overlaps(*form, ranges)) {
        alone |= structure.depends_on(loops::subscripts_of(program, read)[i], domain);
        continue;
      }
      for (const auto& term : form->terms)
        if (size_t(term.first) >= domain.loops) into.windows |= bit(size_t(term.first));
    }
  });
}

}  // namespace

bool overlaps(const HalfSpace& form, const std::vector<Range>& ranges) {
  std::vector<std::pair<int64_t, int64_t>> terms;  // |coefficient|, count
  for (size_t i = 0; i < form.terms.size(); ++i)
    if (ranges[i].count() > 1) terms.emplace_back(std::abs(form.terms[i].second * ranges[i].step), ranges[i].count());
  std::sort(terms.begin(), terms.end());
  int64_t reach = 0;
  for (const auto& [c, n] : terms) {
    if (c <= reach) return true;
    reach += c * (n - 1);
  }
  return false;
}

Piece cut_by(Piece points, const std::vector<HalfSpace>& cuts) {
  for (const HalfSpace& cut : cuts) points.cut(cut);
  return points;
}

bool is_branch(const Structure& structure, const Expr& select, const Domain& domain) {
  return structure.depends_on(select.args[0], domain) == 0 && structure.reads_data(select.args[0]);
}

// ---- how often ----

// Points over which a value differs: those of the variables it depends on, and of the repeats that change it.
double WorkCounter::distinct(VariableSet used, VariableSet varies, const NeededPoints& needed) const {
  const size_t first = needed.domain.first_counter(), size = needed.domain.variables.size();
  std::vector<int> kept;
  for (size_t v = 0; v < size; ++v) {
    const bool differs = (used & bit(v)) || (v >= first && (varies & bit(v - first)));
    if (differs) kept.push_back(int(v));
    if (!differs && v >= first && (needed.counted_elsewhere & bit(v - first))) return 0;
  }
  return kept.size() == size ? count(needed.points) : count(project(needed.points, kept));
}

double WorkCounter::distinct(ExprId expr, const NeededPoints& needed) const {
  return distinct(structure_.depends_on(expr, needed.domain), structure_.varies(expr), needed);
}

// ---- contractions ----

void WorkCounter::factors(ExprId id, std::vector<ExprId>& list) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::call && e.function == Function::mul) {
    factors(e.args[0], list);
    factors(e.args[1], list);
  } else {
    list.push_back(id);
  }
}

bool WorkCounter::is_contraction(const Compute& compute) const {
  if (compute.reducer != Reducer::sum || !multiplies(program_.exprs[compute.body].type)) return false;
  std::vector<ExprId> parts;
  factors(compute.body, parts);
  return std::count_if(parts.begin(), parts.end(), [&](ExprId part) { return structure_.reads_data(part); }) >= 2;
}

void WorkCounter::contraction(ExprId body, const NeededPoints& needed, Work& work) const {
  std::vector<ExprId> parts;
  factors(body, parts);
  std::erase_if(parts, [&](ExprId part) { return !structure_.reads_data(part); });
  std::vector<DType> types;
  std::vector<Factor> list;
  const Domain& domain = needed.domain;
  for (const ExprId part : parts) {
    types.push_back(structure_.precision(part));
    Factor factor{structure_.depends_on(part, domain), 0};
    VariableSet alone = 0;
    windows_of(program_, structure_, part, domain, factor, alone);
    factor.windows &= ~alone & factor.variables;
    // Repeats that change the factor are variables of it too.
    for (size_t c = 0; c < domain.counters; ++c)
      if (structure_.varies(part) & bit(c)) factor.variables |= bit(domain.first_counter() + c);
    list.push_back(factor);
  }
  VariableSet kept = first_bits(domain.loops), all = 0;
  for (const Factor& factor : list) all |= factor.variables;
  for (size_t c = 0; c < domain.counters; ++c) {
    const size_t v = domain.first_counter() + c;
    if (!(all & bit(v)) && (needed.counted_elsewhere & bit(c))) return;
    kept |= bit(v);
  }
  const DType dtype = product_type(types);
  const double macs = cheapest_order(list, kept, needed.points);
  if (macs <= 0) return;
  work.macs[dtype] += macs;
  // Transforms leave one product per element of a window's step: at the limit, a window of R taps with step s costs s.
  double saved = 1;
  for (const ExprId part : parts) {
    const Expr& e = program_.exprs[part];
    if (e.kind != ExprKind::read) continue;
    double here = 1;
    for (uint32_t i = 0; i < e.args[2]; ++i) {
      const auto form = structure_.affine(loops::subscripts_of(program_, e)[i], domain);
      if (!form || form->terms.size() != 2) continue;
      for (const int side : {0, 1}) {
        const auto [outer, stride] = form->terms[size_t(side)];
        const int tap = form->terms[size_t(1 - side)].first;
        if (size_t(outer) >= domain.loops || size_t(tap) < domain.loops || size_t(tap) >= domain.first_counter())
          continue;
        const double taps = double(needed.points.box[size_t(tap)].count());
        here *= std::max(1.0, taps / double(std::max<int64_t>(1, std::abs(stride))));
      }
    }
    saved = std::max(saved, here);
  }
  work.transformed_macs[dtype] += macs / saved;
}

// ---- other statements ----

// n values take n - 1 steps to combine. Sums over overlapping windows may share their parts, so that every element
// takes part at least once and every result takes at least one step.
void WorkCounter::reduction(const Compute& compute, const NeededPoints& needed, Work& work) const {
  const VariableSet used = structure_.depends_on(compute.body, needed.domain), varies = structure_.varies(compute.body);
  const double values = distinct(used, varies, needed);
  const double results = distinct(used & first_bits(needed.domain.loops), varies, needed);
  double steps = std::max(0.0, values - results);
  Factor factor{used, 0};
  VariableSet alone = 0;
  windows_of(program_, structure_, compute.body, needed.domain, factor, alone);
  const VariableSet shared = factor.windows & ~alone;
  VariableSet drop = shared;
  const VariableSet by_data = depends_by_data(program_, structure_, compute.body, needed.domain);
  for (const HalfSpace& cut : needed.points.cuts) {  // prefixes of one sum, such as x[j] over j <= i
    VariableSet own = 0;
    for (const auto& term : cut.terms) own |= bit(size_t(term.first));
    if ((own & by_data & first_bits(needed.domain.loops)) == 0) drop |= own & used;
  }
  if (drop != 0) steps = std::min(steps, distinct((used & ~drop) | first_bits(needed.domain.loops), varies, needed));
  if (steps > 0) work.vector_ops[compute_type(program_.exprs[compute.body].type)] += steps;
}

Work WorkCounter::of(const Compute& compute, const NeededPoints& needed) {
  Work work;
  numbers_.clear();
  counted_.clear();
  if (!is_contraction(compute)) {
    expression(compute.body, needed, work);
    if (compute.reducer != Reducer::none) reduction(compute, needed, work);
    return work;
  }
  contraction(compute.body, needed, work);
  std::vector<ExprId> parts;
  factors(compute.body, parts);
  for (const ExprId part : parts) expression(part, needed, work);
  return work;
}

// A scattered sum of products is a contraction, such as a strided transposed convolution.
Work WorkCounter::of(const Scatter& scatter, const NeededPoints& needed) {
  Work work;
  numbers_.clear();
  counted_.clear();
  std::vector<ExprId> parts, reading;
  factors(scatter.body, parts);
  for (const ExprId part : parts)
    if (structure_.reads_data(part)) reading.push_back(part);
  VariableSet used = structure_.depends_on(scatter.body, needed.domain), varies = structure_.varies(scatter.body);
  for (const ExprId subscript : scatter.target) {
    used |= structure_.depends_on(subscript, needed.domain);
    varies |= structure_.varies(subscript);
  }
  const double writes = distinct(used, varies, needed);
  if (scatter.reducer == Reducer::sum && reading.size() >= 2 && multiplies(program_.exprs[scatter.body].type)) {
    std::vector<DType> types;
    for (const ExprId part : reading) types.push_back(structure_.precision(part));
    if (writes > 0) {
      work.macs[product_type(types)] += writes;
      work.transformed_macs[product_type(types)] += writes / window_taps(scatter, needed);
    }
    for (const ExprId part : parts) expression(part, needed, work);
    return work;
  }
  if (scatter.reducer != Reducer::set && writes > 0)
    work.vector_ops[compute_type(program_.arrays[scatter.result].dtype)] += writes;
  expression(scatter.body, needed, work);
  return work;
}

// Taps of the windows that a scatter writes through, such as 2p + r.
double WorkCounter::window_taps(const Scatter& scatter, const NeededPoints& needed) const {
  double taps = 1;
  for (const ExprId subscript : scatter.target)
    if (const auto form = structure_.affine(subscript, needed.domain); form && form->terms.size() == 2) {
      double least = 0;
      for (const auto& term : form->terms) {
        const double extent = double(needed.points.box[size_t(term.first)].count());
        least = least == 0 ? extent : std::min(least, extent);
      }
      taps *= std::max(1.0, least);
    }
  return taps;
}

// ---- scalar expressions ----

uint64_t WorkCounter::number_of(ExprId id) {
  if (const auto found = numbers_.find(id); found != numbers_.end()) return found->second;
  const Expr& e = program_.exprs[id];
  uint64_t h = mixed(uint64_t(e.kind) << 8 | uint64_t(e.type), uint64_t(e.function) << 8 | uint64_t(e.target));
  switch (e.kind) {
    case ExprKind::literal:
      h = mixed(mixed(h, uint64_t(e.literal.integer)), std::hash<double>()(e.literal.floating));
      break;
    case ExprKind::index: h = mixed(h, e.args[0]); break;
    case ExprKind::read:
      h = mixed(mixed(h, structure_.first_equal(e.args[0])), e.has_fill ? std::hash<double>()(e.literal.floating) : 1);
      for (uint32_t i = 0; i < e.args[2]; ++i) h = mixed(h, number_of(loops::subscripts_of(program_, e)[i]));
      break;
    default:
      for (const ExprId operand : operands_of(e)) h = mixed(h, number_of(operand));
  }
  return numbers_[id] = h;
}

// One operation per scalar function, over the points where its value differs and is needed; equal ones once.
void WorkCounter::expression(ExprId id, const NeededPoints& needed, Work& work) {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::cast) return expression(e.args[0], needed, work);
  if (e.kind != ExprKind::call) return;  // subscript arithmetic is free
  if (!structure_.reads_data(id)) return;
  if (!counted_.insert(number_of(id)).second) return;
  const loops::FunctionInfo& function = loops::info(e.function);
  const Expr& last = program_.exprs[e.args[function.arity - 1]];
  const bool small_power = e.function == Function::pow && last.kind == ExprKind::literal;
  const int transcendental = small_power ? 0 : function.transcendental_ops;
  const bool by_position = e.function == Function::select && !structure_.reads_data(e.args[0]);
  const int vector = small_power ? 1 : by_position || folds_into_operand(e) ? 0 : function.vector_ops;
  if (transcendental + vector > 0) {
    const double n = distinct(id, needed);
    if (n > 0 && transcendental > 0) work.transcendental_ops += n * transcendental;
    if (n > 0 && vector > 0) work.vector_ops[argument_type(e)] += n * vector;
  }
  if (e.function != Function::select) {
    for (const ExprId operand : operands_of(e)) expression(operand, needed, work);
    return;
  }
  expression(e.args[0], needed, work);
  if (is_branch(structure_, e, needed.domain)) return;
  for (const bool truth : {true, false}) {
    const Piece side = cut_by(needed.points, structure_.implied(e.args[0], truth, needed.domain));
    expression(e.args[truth ? 1 : 2], {needed.domain, side, needed.counted_elsewhere}, work);
  }
}

// 1: multiplied by a literal, 2: a literal added, 0: neither. Through casts and arrays made by such a statement.
int WorkCounter::literal_chain(ExprId id, int depth) const {
  const Expr& e = program_.exprs[id];
  if (depth > 4) return 0;
  if (e.kind == ExprKind::cast) return literal_chain(e.args[0], depth + 1);
  if (e.kind == ExprKind::read) {
    const Compute* made = structure_.definition(e.args[0]);
    return made != nullptr && made->reducer == Reducer::none ? literal_chain(made->body, depth + 1) : 0;
  }
  if (e.kind != ExprKind::call || arity(e) != 2) return 0;
  const bool literal = program_.exprs[e.args[1]].kind == ExprKind::literal ||
                       (program_.exprs[e.args[0]].kind == ExprKind::literal && e.function != Function::divide);
  if (!literal) return 0;
  if (e.function == Function::mul || e.function == Function::divide) return 1;
  return e.function == Function::add || e.function == Function::sub ? 2 : 0;
}

// A number joins the number of the operation before: x * 2 * 3 is one product.
bool WorkCounter::folds_into_operand(const Expr& e) const {
  if (e.function == Function::neg || e.function == Function::abs) return true;  // modifiers of an operand
  const ExprId id = ExprId(&e - program_.exprs.data());
  const int own = literal_chain(id, 0);
  if (own == 0) return false;
  const ExprId operand = program_.exprs[e.args[1]].kind == ExprKind::literal ? e.args[0] : e.args[1];
  return literal_chain(operand, 0) == own;
}

// Narrow floats may be computed in their own packed type.
DType WorkCounter::argument_type(const Expr& e) const {
  DType type = DType::f64;
  bool any = false;
  for (const ExprId operand : operands_of(e).subspan(e.function == Function::select ? 1 : 0)) {
    const Expr& argument = program_.exprs[operand];
    if (argument.kind == ExprKind::literal) continue;
    DType own = argument.type;
    if (argument.kind == ExprKind::read && compute_type(program_.arrays[argument.args[0]].dtype) == argument.type)
      own = program_.arrays[argument.args[0]].dtype;
    type = any ? narrower(type, own) : own;
    any = true;
  }
  return any ? type : e.type;
}

}  // namespace lightline::demand
