#include "demand/linear.h"

#include <algorithm>

#include "loops/ir/walk.h"

namespace lightline::demand {

namespace {

constexpr size_t max_terms = 6;
constexpr size_t max_factors = 6;
constexpr size_t max_absorbed = 12;
constexpr double worth_it = 0.9;  // a rewrite must save a tenth

double size_of(const Work& work) { return work.total_macs() + work.total_vector_ops(); }

void subtract(Work& from, const Work& what) {
  for (const auto& [dtype, count] : what.macs) from.macs[dtype] = std::max(0.0, from.macs[dtype] - count);
  for (const auto& [dtype, count] : what.transformed_macs)
    from.transformed_macs[dtype] = std::max(0.0, from.transformed_macs[dtype] - count);
  for (const auto& [dtype, count] : what.vector_ops)
    from.vector_ops[dtype] = std::max(0.0, from.vector_ops[dtype] - count);
}

}  // namespace

LinearRewrites::LinearRewrites(const loops::Program& program, const Structure& structure)
    : program_(program), structure_(structure), uses_(program.arrays.size(), 0) {
  count_uses(program.statements);
  for (const loops::Output& output : program.outputs) ++uses_[structure.first_equal(output.array)];
}

void LinearRewrites::count_uses(const std::vector<Statement>& block) {
  for (const Statement& statement : block) {
    if (const auto* compute = std::get_if<Compute>(&statement.node)) {
      count_uses(compute->body);
    } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
      count_uses(scatter->body);
      for (const ExprId subscript : scatter->target) count_uses(subscript);
      if (scatter->init_array != none) uses_[structure_.first_equal(scatter->init_array)] += 2;
    } else if (const auto* opaque = std::get_if<loops::Opaque>(&statement.node)) {
      for (const ArrayId operand : opaque->operands) uses_[structure_.first_equal(operand)] += 2;
    } else if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
      count_uses(repeat->body);
      for (const auto& carry : repeat->carries)
        for (const ArrayId array : {carry.init, carry.next}) uses_[structure_.first_equal(array)] += 2;
      for (const ArrayId array : repeat->stacked) uses_[structure_.first_equal(array)] += 2;
    }
  }
}

void LinearRewrites::count_uses(ExprId id) {
  loops::for_each_expr(program_, id, [&](ExprId part) {
    const Expr& e = program_.exprs[part];
    if (e.kind == ExprKind::read) ++uses_[structure_.first_equal(e.args[0])];
  });
}

void LinearRewrites::note(const Compute& compute, const NeededPoints& needed, const Work& work) {
  if (needed.domain.counters > 0 || (compute.reducer != Reducer::none && compute.reducer != Reducer::sum)) return;
  const auto [found, fresh] = index_.try_emplace(compute.result, noted_.size());
  if (fresh)
    noted_.push_back({&compute, needed.domain, needed.points, work});
  else
    noted_[found->second].once = false;
}

Work LinearRewrites::total(const Work& as_written) {
  Work total = as_written;
  taken_.assign(noted_.size(), false);
  for (size_t i = 0; i < noted_.size(); ++i)  // the last statement of the program was noted first
    if (!taken_[i] && noted_[i].once) rewrite(noted_[i], total);
  return total;
}

void LinearRewrites::rewrite(const Noted& root, Work& total) {
  Merged merged{root.points, root.domain.loops, {}};
  Frame frame{&root.domain, {}};
  for (size_t v = 0; v < root.domain.variables.size(); ++v) frame.images.push_back({0, {{int(v), 1}}});
  const auto terms = expand(root.compute->body, frame, merged);
  if (!terms || merged.absorbed.empty()) return;
  Work written = root.work;
  for (const ArrayId array : merged.absorbed)
    if (const auto found = index_.find(array); found != index_.end()) written.add(noted_[found->second].work);
  if (written.macs.empty()) return;
  VariableSet kept = 0;
  for (size_t v = 0; v < merged.loops; ++v) kept |= bit(v);
  double points = 0, most = -1;
  DType dtype = written.macs.begin()->first;
  for (const Term& term : *terms) {
    std::vector<Factor> factors;
    std::vector<DType> types;
    for (const Leaf& own : term) {
      factors.push_back(own.factor);
      types.push_back(own.precision);
    }
    const double cost = cheapest_order(factors, kept, merged.points);
    points += cost;
    if (cost > most) {
      most = cost;
      dtype = product_type(types);
    }
  }
  if (points > worth_it * size_of(written)) return;
  for (const ArrayId array : merged.absorbed)
    if (const auto found = index_.find(array); found != index_.end()) taken_[found->second] = true;
  subtract(total, written);
  if (points > 0) {
    total.macs[dtype] += points;
    total.transformed_macs[dtype] += points;
  }
}

// ---- sums of products ----

bool LinearRewrites::can_absorb(const Expr& read) const {
  const ArrayId array = structure_.first_equal(read.args[0]);
  const Compute* made = structure_.definition(array);
  if (made == nullptr || read.has_fill || uses_[array] != 1 || !is_float(program_.arrays[array].dtype)) return false;
  if (made->reducer != Reducer::none && made->reducer != Reducer::sum) return false;
  for (const IndexId index : made->loops)
    if (program_.indices[index].kind == loops::IndexKind::scan) return false;
  const auto found = index_.find(array);
  return made->is_view || (found != index_.end() && noted_[found->second].once && !taken_[found->second]);
}

std::optional<std::vector<LinearRewrites::Term>> LinearRewrites::expand(ExprId id, const Frame& frame, Merged& merged) {
  const Expr& e = program_.exprs[id];
  const auto alone = [&] { return std::vector<Term>{{leaf(id, frame, merged)}}; };
  const auto is_number = [&](int i) { return !structure_.reads_data(e.args[i]); };
  if (e.kind == ExprKind::cast && is_float(e.target)) return expand(e.args[0], frame, merged);
  if (e.kind == ExprKind::read && can_absorb(e)) return absorb(e, frame, merged);
  if (e.kind != ExprKind::call || !is_float(e.type)) return alone();
  switch (e.function) {
    case Function::neg: return expand(e.args[0], frame, merged);
    case Function::add:
    case Function::sub: {
      if (is_number(1)) return expand(e.args[0], frame, merged);
      if (is_number(0)) return expand(e.args[1], frame, merged);
      auto terms = expand(e.args[0], frame, merged);
      const auto more = terms ? expand(e.args[1], frame, merged) : std::nullopt;
      if (!more || terms->size() + more->size() > max_terms) return std::nullopt;
      terms->insert(terms->end(), more->begin(), more->end());
      return terms;
    }
    case Function::divide: {
      auto terms = expand(e.args[0], frame, merged);
      if (!terms || is_number(1)) return terms;
      for (Term& term : *terms) term.push_back(leaf(e.args[1], frame, merged));
      return terms->front().size() > max_factors ? std::nullopt : terms;
    }
    case Function::mul: {
      if (is_number(0)) return expand(e.args[1], frame, merged);
      if (is_number(1)) return expand(e.args[0], frame, merged);
      const auto a = expand(e.args[0], frame, merged);
      const auto b = a ? expand(e.args[1], frame, merged) : std::nullopt;
      if (!b || a->size() * b->size() > max_terms) return std::nullopt;
      std::vector<Term> terms;
      for (const Term& left : *a)
        for (const Term& right : *b) {
          terms.push_back(left);
          terms.back().insert(terms.back().end(), right.begin(), right.end());
          if (terms.back().size() > max_factors) return std::nullopt;
        }
      return terms;
    }
    default: return alone();
  }
}

std::optional<std::vector<LinearRewrites::Term>> LinearRewrites::absorb(const Expr& read, const Frame& frame,
                                                                        Merged& merged) {
  const ArrayId array = structure_.first_equal(read.args[0]);
  const Compute& made = *structure_.definition(array);
  if (merged.absorbed.size() >= max_absorbed) return std::nullopt;
  const auto found = index_.find(array);
  domains_.push_back(std::make_unique<Domain>(domain_of(made, {})));
  Frame inner{domains_.back().get(), {}};
  for (uint32_t d = 0; d < read.args[2]; ++d) {
    const auto form = structure_.affine(loops::subscripts_of(program_, read)[d], *frame.domain);
    if (!form) return std::nullopt;
    inner.images.push_back(seen_from(*form, frame));
  }
  for (size_t i = 0; i < made.reduced.size(); ++i) {
    if (merged.points.box.size() >= 60) return std::nullopt;
    inner.images.push_back({0, {{int(merged.points.box.size()), 1}}});
    merged.points.box.push_back(found == index_.end() ? Range{0, program_.indices[made.reduced[i]].extent - 1, 1}
                                                      : noted_[found->second].points.box[made.loops.size() + i]);
  }
  merged.absorbed.push_back(array);
  return expand(made.body, inner, merged);
}

LinearRewrites::Leaf LinearRewrites::leaf(ExprId id, const Frame& frame, const Merged& merged) const {
  Leaf result{{}, structure_.precision(id)};
  const VariableSet own = structure_.depends_on(id, *frame.domain);
  for (size_t v = 0; v < frame.images.size(); ++v)
    if (own & bit(v))
      for (const auto& term : frame.images[v].terms) result.factor.variables |= bit(size_t(term.first));
  VariableSet alone = 0, windows = 0;
  mark_reads(id, frame, merged, alone, windows);
  result.factor.windows = windows & ~alone & result.factor.variables;
  return result;
}

void LinearRewrites::mark_reads(ExprId id, const Frame& frame, const Merged& merged, VariableSet& alone,
                                VariableSet& windows) const {
  loops::for_each_read(program_, id, [&](const Expr& read) {
    for (uint32_t d = 0; d < read.args[2]; ++d) {
      const ExprId subscript = loops::subscripts_of(program_, read)[d];
      const auto form = structure_.affine(subscript, *frame.domain);
      const HalfSpace image = form ? seen_from(*form, frame) : HalfSpace{};
      std::vector<Range> ranges;
      for (const auto& term : image.terms) ranges.push_back(merged.points.box[size_t(term.first)]);
      if (form && overlaps(image, ranges)) {
        for (const auto& term : image.terms)
          if (size_t(term.first) >= merged.loops) windows |= bit(size_t(term.first));
        continue;
      }
      const VariableSet used = structure_.depends_on(subscript, *frame.domain);
      for (size_t v = 0; v < frame.images.size(); ++v)
        if (used & bit(v))
          for (const auto& term : frame.images[v].terms) alone |= bit(size_t(term.first));
    }
  });
}

HalfSpace LinearRewrites::seen_from(const HalfSpace& form, const Frame& frame) {
  HalfSpace image{form.constant, {}};
  for (const auto& [v, c] : form.terms)
    for (const auto& [w, k] : frame.images[size_t(v)].terms) {
      int64_t scaled = 0;
      if (!multiply(c, k, scaled)) scaled = greatest_kept;  // only which variables there are matters then
      const auto known =
          std::find_if(image.terms.begin(), image.terms.end(), [w = w](auto& t) { return t.first == w; });
      if (known == image.terms.end())
        image.terms.emplace_back(w, scaled);
      else
        known->second += scaled;
    }
  return image;
}

}  // namespace lightline::demand
