#include "einsum/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "einsum/structure.h"

namespace lightline::einsum {

using loops::ArrayId;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;
using loops::Function;
using loops::IndexId;
using loops::none;
using loops::Reducer;

void Work::add(const Work& other) {
  for (const auto& [dtype, count] : other.macs) macs[dtype] += count;
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

constexpr int64_t max_enumerated = 1 << 16;

// A statement in its place: which operator it belongs to, and the repeats around it.
struct Place {
  const loops::Statement* statement;
  std::vector<IndexId> counters;
  size_t operation;
};

class Analyzer {
 public:
  explicit Analyzer(const loops::Program& program)
      : program_(program),
        structure_(program),
        demanded_(program.arrays.size()),
        maker_(program.arrays.size(), none),
        is_input_(program.arrays.size(), false),
        view_of_(program.arrays.size(), none) {
    for (const ArrayId input : program.inputs) is_input_[input] = true;
  }

  Analysis run() {
    std::vector<IndexId> counters;
    place(program_.statements, counters, none);
    demand_outputs();
    for (size_t i = places_.size(); i-- > 0;) visit(places_[i]);
    collect();
    return std::move(out_);
  }

 private:
  const Shape& shape(ArrayId id) const { return program_.arrays[id].shape; }
  static double bytes_of(DType dtype, double elements) { return elements * bits(dtype) / 8.0; }

  // ---- operators ----
  void place(const std::vector<loops::Statement>& block, std::vector<IndexId>& counters, size_t outer) {
    for (const loops::Statement& statement : block) {
      size_t operation = outer;
      if (operation == none) operation = operation_of(statement);
      if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
        places_.push_back({&statement, counters, operation});  // visited after its body: gives the body its demand
        counters.push_back(repeat->counter);
        const size_t first = places_.size();
        place(repeat->body, counters, operation);
        counters.pop_back();
        // The repeat itself must be seen before its body when walking backwards.
        std::rotate(places_.begin() + int64_t(first) - 1, places_.begin() + int64_t(first), places_.end());
      } else {
        places_.push_back({&statement, counters, operation});
      }
      for (const ArrayId result : loops::results_of(statement)) maker_[result] = uint32_t(operation);
      if (const auto* compute = std::get_if<loops::Compute>(&statement.node); compute && compute->is_view)
        view_of_[compute->result] = program_.exprs[compute->body].args[0];
    }
  }
  size_t operation_of(const loops::Statement& statement) {
    if (statement.group != none) {
      const auto [found, fresh] = by_group_.emplace(statement.group, operations_.size());
      if (fresh)
        operations_.push_back(
            {program_.groups[statement.group].empty() ? "output" : program_.groups[statement.group], {}, 0, 0, false});
      return found->second;
    }
    operations_.push_back({program_.arrays[loops::results_of(statement)[0]].name, {}, 0, 0, false});
    return operations_.size() - 1;
  }

  // ---- demand ----
  void demand_outputs() {
    for (const loops::Output& output : program_.outputs) {
      ArrayId storage = output.array;
      while (view_of_[storage] != none) storage = view_of_[storage];
      if (is_input_[storage]) continue;  // an input, or a view of one, is returned as it is
      if (output.replaces != none) in_place_.emplace(output.array, output.replaces);
      demanded_[output.array].add(Piece::whole(shape(output.array)));
      returned_.insert(output.array);
    }
  }
  void want(size_t reader, ArrayId array, Piece piece) {
    if (piece.bounds_empty()) return;
    if (in_view_)
      used_outside_.insert(array);  // a view costs nothing itself, but what it shows must exist
    else
      read_by_[{reader, array}].add(piece);
    demanded_[array].add(std::move(piece));
  }

  void visit(const Place& where) {
    std::visit([&](const auto& node) { visit(node, where); }, where.statement->node);
  }

  void visit(const loops::Constant&, const Place&) {}

  void visit(const loops::Opaque& node, const Place& where) {
    bool needed = false;
    for (const ArrayId result : node.results) needed |= !demanded_[result].empty();
    if (!needed) return;
    operations_[where.operation].opaque = true;
    ++opaque_[node.name];
    for (const ArrayId operand : node.operands) want(where.operation, operand, Piece::whole(shape(operand)));
  }

  void visit(const loops::Repeat& node, const Place& where) {
    const int64_t steps = program_.indices[node.counter].extent;
    if (steps == 0) {
      for (size_t i = 0; i < node.carries.size(); ++i)
        if (!demanded_[node.results[i]].empty())
          want(where.operation, node.carries[i].init, Piece::whole(shape(node.carries[i].init)));
      return;
    }
    bool needed = false;
    for (const ArrayId result : node.results) needed |= !demanded_[result].empty();
    if (!needed) return;
    // Everything carried may matter for what is wanted; the body then drops what it does not read.
    for (const loops::Repeat::Carry& carry : node.carries) {
      demanded_[carry.next].add(Piece::whole(shape(carry.next)));
      want(where.operation, carry.init, Piece::whole(shape(carry.init)));
    }
    for (size_t i = 0; i < node.stacked.size(); ++i)
      if (!demanded_[node.results[node.carries.size() + i]].empty())
        demanded_[node.stacked[i]].add(Piece::whole(shape(node.stacked[i])));
  }

  void visit(const loops::Scatter& node, const Place& where) {
    if (demanded_[node.result].empty()) return;
    Domain domain{node.domain, node.domain.size()};
    domain.variables.insert(domain.variables.end(), where.counters.begin(), where.counters.end());
    Piece whole = whole_of(domain);
    cut_to_wanted(node, domain, whole);
    if (whole.bounds_empty()) return want_copied(node, 0, where);
    count_scatter(node, domain, whole, where);
    for (const ExprId subscript : node.target) demand_reads(subscript, domain, whole, where);
    demand_reads(node.body, domain, whole, where);
    want_copied(node, count(project(whole, first_variables(node.domain.size()))), where);
  }

  // Only writes that land in a demanded element count.
  void cut_to_wanted(const loops::Scatter& node, const Domain& domain, Piece& points) const {
    const Region& wanted = demanded_[node.result];
    const Shape& extents = shape(node.result);
    for (size_t d = 0; d < node.target.size(); ++d) {
      const auto subscript = structure_.affine(node.target[d], domain);
      if (!subscript) continue;
      Range range{0, extents[d] - 1, 1};
      if (wanted.pieces().size() == 1) range = wanted.pieces()[0].box[d];
      HalfSpace above{range.hi - subscript->constant, subscript->terms},
          below{subscript->constant - range.lo, subscript->terms};
      for (auto& term : above.terms) term.second = -term.second;
      points.cut(std::move(below));
      points.cut(std::move(above));
    }
    if (node.reducer != Reducer::sum) return;
    if (const auto zero = structure_.outside(node.body, domain); zero && zero->kind == Outside::Kind::zero)
      for (const HalfSpace& cut : zero->cuts) points.cut(cut);
  }

  // A scattered sum of products is a contraction, such as a strided transposed convolution.
  void count_scatter(const loops::Scatter& node, const Domain& domain, const Piece& points, const Place& where) {
    Work& work = operations_[where.operation].work;
    const Piece own = where.counters.empty() ? points : project(points, first_variables(node.domain.size()));
    const double writes = where.counters.empty() || !varies(node.body) ? count(own) : count(points);
    std::vector<ExprId> parts;
    factors(node.body, parts);
    DType dtype = DType::f64;
    int reading = 0;
    for (const ExprId part : parts)
      if (const Expr* read = first_read(part)) {
        const DType operand = program_.arrays[read->args[0]].dtype;
        if (reading++ == 0 || bits(operand) < bits(dtype)) dtype = operand;
      }
    if (node.reducer == Reducer::sum && reading >= 2 && is_float_or_integer(program_.exprs[node.body].type)) {
      work.macs[dtype] += writes;
      for (const ExprId part : parts) count_expression(part, domain, points, where, &work);
      return;
    }
    if (node.reducer != Reducer::set) work.vector_ops[compute_type(program_.arrays[node.result].dtype)] += writes;
    count_expression(node.body, domain, points, where, &work);
  }

  // The copy of the initial array reads what is not overwritten: at the least, all but as many elements as there are writes.
  void want_copied(const loops::Scatter& node, double writes, const Place& where) {
    if (node.init_array == none || in_place_target(node) == node.init_array) return;
    Piece copied = Piece::whole(shape(node.init_array));
    if (node.reducer == Reducer::set && !copied.box.empty()) {
      double row = 1;
      for (size_t i = 1; i < copied.box.size(); ++i) row *= double(copied.box[i].count());
      copied.box[0].hi -= int64_t(row > 0 ? (writes + row - 1) / row : 0);
    }
    want(where.operation, node.init_array, std::move(copied));
  }
  ArrayId in_place_target(const loops::Scatter& node) const {
    const auto found = in_place_.find(node.result);
    return found == in_place_.end() ? none : found->second;
  }

  void visit(const loops::Compute& node, const Place& where) {
    const Domain domain = domain_of(node, where.counters);
    const Region wanted = demanded_[node.result];
    for (const Piece& piece : wanted.pieces()) {
      Piece points = piece;
      for (size_t v = domain.loops; v < domain.variables.size(); ++v)
        points.box.push_back({0, program_.indices[domain.variables[v]].extent - 1, 1});
      if (points.bounds_empty()) continue;
      // Where the value of a sum is zero by structure, nothing needs to be computed or read.
      if (node.reducer == Reducer::sum || node.reducer == Reducer::none)
        if (const auto zero = structure_.outside(node.body, domain); zero && zero->kind == Outside::Kind::zero)
          for (const HalfSpace& cut : zero->cuts) points.cut(cut);
      if (points.bounds_empty()) continue;
      if (!node.is_view) count_statement(node, domain, points, where);
      in_view_ = node.is_view;
      demand_reads(node.body, domain, points, where, node.result);
      in_view_ = false;
    }
  }

  // ---- arithmetic ----
  static std::vector<int> first_variables(size_t count) {
    std::vector<int> list(count);
    for (size_t i = 0; i < count; ++i) list[i] = int(i);
    return list;
  }
  Piece whole_of(const Domain& domain) const {
    Piece piece;
    for (const IndexId index : domain.variables) piece.box.push_back({0, program_.indices[index].extent - 1, 1});
    return piece;
  }
  // Points over which a value takes different values: the variables it depends on, and the repeats it varies with.
  double distinct_points(uint64_t used, bool varies, const Domain& domain, const Piece& points, const Place& where) {
    const size_t counters = domain.variables.size() - where.counters.size();
    std::vector<int> kept;
    for (size_t v = 0; v < domain.variables.size(); ++v)
      if ((v < 64 && (used >> v & 1)) || (varies && v >= counters)) kept.push_back(int(v));
    if (kept.size() == domain.variables.size()) return count(points);
    return count(project(points, kept));
  }
  bool varies(ExprId id) const {
    const Expr& e = program_.exprs[id];
    if (e.kind == ExprKind::read && structure_.varies_with_repeat(e.args[0])) return true;
    const int arity = e.kind == ExprKind::cast ? 1 : e.kind == ExprKind::call ? loops::info(e.function).arity : 0;
    for (int i = 0; i < arity; ++i)
      if (varies(e.args[i])) return true;
    return false;
  }

  // The factors of a product, through casts.
  void factors(ExprId id, std::vector<ExprId>& list) const {
    const Expr& e = program_.exprs[id];
    if (e.kind == ExprKind::call && e.function == Function::mul) {
      factors(e.args[0], list);
      factors(e.args[1], list);
    } else {
      list.push_back(id);
    }
  }
  const Expr* first_read(ExprId id) const {
    const Expr& e = program_.exprs[id];
    if (e.kind == ExprKind::read) return &e;
    const int arity = e.kind == ExprKind::cast ? 1 : e.kind == ExprKind::call ? loops::info(e.function).arity : 0;
    for (int i = 0; i < arity; ++i)
      if (const Expr* read = first_read(e.args[i])) return read;
    return nullptr;
  }

  void count_statement(const loops::Compute& node, const Domain& domain, const Piece& points, const Place& where) {
    Work& work = operations_[where.operation].work;
    const uint64_t used = structure_.depends_on(node.body, domain);
    const bool changing = varies(node.body);
    std::vector<ExprId> parts;
    factors(node.body, parts);
    std::vector<ExprId> reading;
    for (const ExprId part : parts)
      if (first_read(part) != nullptr) reading.push_back(part);
    const bool contraction =
        node.reducer == Reducer::sum && reading.size() >= 2 && is_float_or_integer(program_.exprs[node.body].type);
    if (contraction) {
      DType dtype = program_.arrays[first_read(reading[0])->args[0]].dtype;
      for (const ExprId part : reading) {
        const DType own = program_.arrays[first_read(part)->args[0]].dtype;
        if (bits(own) < bits(dtype)) dtype = own;
      }
      // A product of n factors takes n - 1 multiplications, one of them joined with the addition.
      work.macs[dtype] += distinct_points(used, changing, domain, points, where);
      for (const ExprId part : parts) count_expression(part, domain, points, where, &work);
      return;
    }
    count_expression(node.body, domain, points, where, &work);
    if (node.reducer != Reducer::none) {
      // n values take n - 1 steps to combine
      const double values = distinct_points(used, changing, domain, points, where);
      const double results = distinct_points(used & ((uint64_t(1) << std::min<size_t>(domain.loops, 63)) - 1), changing,
                                             domain, points, where);
      work.vector_ops[compute_type(program_.exprs[node.body].type)] += std::max(0.0, values - results);
    }
  }
  static bool is_float_or_integer(DType dtype) { return is_float(dtype) || is_integer(dtype) || dtype == DType::c64; }

  // One operation per scalar function, over the points where its value differs and is needed.
  void count_expression(ExprId id, const Domain& domain, const Piece& points, const Place& where, Work* into) {
    Work& work = *into;
    const Expr& e = program_.exprs[id];
    if (e.kind == ExprKind::read) return;  // subscript arithmetic is free
    if (e.kind == ExprKind::cast) return count_expression(e.args[0], domain, points, where, into);
    if (e.kind != ExprKind::call) return;
    if (first_read(id) == nullptr) return;  // made of indices and literals: known before the program runs
    const double n = distinct_points(structure_.depends_on(id, domain), varies(id), domain, points, where);
    const loops::FunctionInfo& function = loops::info(e.function);
    const bool logical = function.signature == loops::Signature::choice;
    if (function.transcendental_ops > 0) work.transcendental_ops += n * function.transcendental_ops;
    if (function.vector_ops > 0) work.vector_ops[argument_type(e)] += n * function.vector_ops;
    if (!logical) {
      for (int i = 0; i < function.arity; ++i) count_expression(e.args[i], domain, points, where, into);
      return;
    }
    count_expression(e.args[0], domain, points, where, into);
    if (is_branch(e, domain)) return;
    count_expression(e.args[1], domain, cut_by(points, structure_.condition(e.args[0], domain)), where, into);
    count_expression(e.args[2], domain, cut_by(points, structure_.negated(e.args[0], domain)), where, into);
  }
  // One computed condition for all elements: a branch, of which only one side runs. Which one is not known, so
  // neither counts.
  bool is_branch(const Expr& select, const Domain& domain) {
    if (structure_.depends_on(select.args[0], domain) != 0 || first_read(select.args[0]) == nullptr) return false;
    branches_ = true;
    return true;
  }
  DType argument_type(const Expr& e) const {
    const Expr& last = program_.exprs[e.args[loops::info(e.function).arity - 1]];
    // narrow floats may be computed in their own packed type
    if (const Expr* read = last.kind == ExprKind::read ? &last : nullptr;
        read && compute_type(program_.arrays[read->args[0]].dtype) == last.type)
      return program_.arrays[read->args[0]].dtype;
    return last.type;
  }
  static Piece cut_by(Piece points, const std::optional<std::vector<HalfSpace>>& cuts) {
    if (cuts)
      for (const HalfSpace& cut : *cuts) points.cut(cut);
    return points;
  }

  // ---- reads ----
  void demand_reads(ExprId id, const Domain& domain, const Piece& points, const Place& where, ArrayId own = none) {
    if (points.bounds_empty()) return;
    const Expr& e = program_.exprs[id];
    switch (e.kind) {
      case ExprKind::literal:
      case ExprKind::index: return;
      case ExprKind::cast: return demand_reads(e.args[0], domain, points, where, own);
      case ExprKind::call:
        if (e.function == Function::select) {
          demand_reads(e.args[0], domain, points, where, own);
          if (is_branch(e, domain)) return;
          demand_reads(e.args[1], domain, cut_by(points, structure_.condition(e.args[0], domain)), where, own);
          demand_reads(e.args[2], domain, cut_by(points, structure_.negated(e.args[0], domain)), where, own);
          return;
        }
        for (int i = 0; i < loops::info(e.function).arity; ++i) demand_reads(e.args[i], domain, points, where, own);
        return;
      case ExprKind::read: break;
    }
    for (uint32_t i = 0; i < e.args[2]; ++i)
      demand_reads(loops::subscripts_of(program_, e)[i], domain, points, where, own);
    if (e.args[0] == own) return;  // a scan's own past
    want(where.operation, e.args[0], image(e, domain, points));
  }

  // The elements that a read touches, or fewer.
  Piece image(const Expr& e, const Domain& domain, Piece points) {
    const Shape& extents = shape(e.args[0]);
    std::vector<std::optional<HalfSpace>> subscripts;
    for (uint32_t i = 0; i < e.args[2]; ++i) {
      subscripts.push_back(structure_.affine(loops::subscripts_of(program_, e)[i], domain));
      if (!e.has_fill || !subscripts.back()) continue;
      HalfSpace above{extents[i] - 1 - subscripts.back()->constant, subscripts.back()->terms};
      for (auto& term : above.terms) term.second = -term.second;
      points.cut(*subscripts.back());
      points.cut(std::move(above));
    }
    Piece result;
    if (points.bounds_empty()) {
      result = Piece::whole(extents);
      if (result.box.empty()) return result;
      result.box[0].hi = -1;
      return result;
    }
    // Dimensions that follow one variable of their own, with step 1, keep the cuts between them.
    std::vector<int> uses(domain.variables.size(), 0);
    for (const auto& subscript : subscripts)
      if (subscript)
        for (const auto& term : subscript->terms) ++uses[size_t(term.first)];
    std::vector<int> plain_variables, plain_dimensions;
    for (size_t d = 0; d < subscripts.size(); ++d)
      if (subscripts[d] && subscripts[d]->terms.size() == 1 && subscripts[d]->terms[0].second == 1 &&
          uses[size_t(subscripts[d]->terms[0].first)] == 1) {
        plain_dimensions.push_back(int(d));
        plain_variables.push_back(subscripts[d]->terms[0].first);
      }
    const Piece plain = project(points, plain_variables);
    result.box.resize(extents.size());
    for (size_t i = 0; i < plain_dimensions.size(); ++i) {
      const int64_t shift = subscripts[size_t(plain_dimensions[i])]->constant;
      result.box[size_t(plain_dimensions[i])] = {plain.box[i].lo + shift, plain.box[i].hi + shift, plain.box[i].step};
    }
    for (HalfSpace cut : plain.cuts) {
      for (auto& term : cut.terms) {
        const int d = plain_dimensions[size_t(term.first)];
        cut.constant -= term.second * subscripts[size_t(d)]->constant;
        term.first = d;
      }
      std::sort(cut.terms.begin(), cut.terms.end());
      result.cuts.push_back(std::move(cut));
    }
    std::vector<bool> taken(domain.variables.size(), false);
    for (const int v : plain_variables) taken[size_t(v)] = true;
    for (size_t d = 0; d < subscripts.size(); ++d)
      if (std::find(plain_dimensions.begin(), plain_dimensions.end(), int(d)) == plain_dimensions.end())
        result.box[d] = values_of(loops::subscripts_of(program_, e)[d], subscripts[d], extents[d], points, taken);
    return result;
  }

  // The values of one subscript whose variables no other dimension has taken yet; one value if it depends on data.
  Range values_of(ExprId, const std::optional<HalfSpace>& subscript, int64_t extent, const Piece& points,
                  std::vector<bool>& taken) {
    const Range one{0, extent > 0 ? 0 : -1, 1};
    if (!subscript) return one;
    if (subscript->terms.empty()) return {subscript->constant, subscript->constant, 1};
    std::vector<int> variables;
    for (const auto& [v, c] : subscript->terms) {
      if (taken[size_t(v)]) return fixed_value(*subscript, points);
      variables.push_back(v);
    }
    for (const int v : variables) taken[size_t(v)] = true;
    const Piece own = project(points, variables);
    if (own.bounds_empty()) return {0, -1, 1};
    if (variables.size() == 1) {
      const int64_t c = subscript->terms[0].second;
      const Range r = own.box[0];
      const int64_t a = c * r.lo + subscript->constant, b = c * r.hi + subscript->constant;
      return {std::min(a, b), std::max(a, b), r.count() == 1 ? 1 : std::abs(c) * r.step};
    }
    return contiguous_values(*subscript, own, extent);
  }
  static Range fixed_value(const HalfSpace& subscript, const Piece& points) {
    int64_t value = subscript.constant;
    for (const auto& [v, c] : subscript.terms) value += c * points.box[size_t(v)].lo;
    return {value, value, 1};
  }
  // Sums such as 2p + r: the longest run of neighbouring values.
  static Range contiguous_values(const HalfSpace& subscript, const Piece& own, int64_t extent) {
    double points = 1;
    for (const Range& range : own.box) points *= double(range.count());
    if (points > max_enumerated * 16.0 || extent > (int64_t(1) << 24)) {
      // Sorted by coefficient, each range fills the gaps of the next: then the values are neighbours.
      std::vector<std::pair<int64_t, int64_t>> terms;  // |coefficient|, count
      int64_t low = subscript.constant;
      for (size_t i = 0; i < own.box.size(); ++i) {
        const int64_t c = subscript.terms[i].second * own.box[i].step;
        low += subscript.terms[i].second * (c > 0 ? own.box[i].lo : own.box[i].hi);
        terms.emplace_back(std::abs(c), own.box[i].count());
      }
      std::sort(terms.begin(), terms.end());
      int64_t reach = 0;
      for (const auto& [c, n] : terms) {
        if (c > reach + 1 || !own.cuts.empty()) break;
        reach += c * (n - 1);
      }
      return {low, low + reach, 1};
    }
    std::vector<bool> seen(size_t(std::max<int64_t>(extent, 0)), false);
    std::vector<int64_t> at;
    for (const Range& range : own.box) at.push_back(range.lo);
    for (bool more = true; more;) {
      const bool allowed = std::all_of(own.cuts.begin(), own.cuts.end(), [&](const HalfSpace& cut) {
        int64_t value = cut.constant;
        for (const auto& [v, c] : cut.terms) value += c * at[size_t(v)];
        return value >= 0;
      });
      int64_t value = subscript.constant;
      for (size_t i = 0; i < at.size(); ++i) value += subscript.terms[i].second * at[i];
      if (allowed && value >= 0 && value < extent) seen[size_t(value)] = true;
      more = false;
      for (size_t i = at.size(); i-- > 0;) {
        at[i] += own.box[i].step;
        if (at[i] <= own.box[i].hi) {
          more = true;
          break;
        }
        at[i] = own.box[i].lo;
      }
    }
    Range best{0, -1, 1};
    for (int64_t from = 0; from < extent;) {
      if (!seen[size_t(from)]) {
        ++from;
        continue;
      }
      int64_t to = from;
      while (to + 1 < extent && seen[size_t(to + 1)]) ++to;
      if (to - from + 1 > best.count()) best = {from, to, 1};
      from = to + 1;
    }
    return best;
  }

  // ---- totals ----
  void collect() {
    for (const ArrayId input : program_.inputs)
      out_.input_bytes += bytes_of(program_.arrays[input].dtype, demanded_[input].points());
    out_.output_bytes = output_bytes();
    for (auto& [key, region] : read_by_) {
      const auto [reader, array] = key;
      const bool inside = maker_[array] != none && maker_[array] == reader;
      if (!inside) operations_[reader].operand_bytes += bytes_of(program_.arrays[array].dtype, region.points());
      if (!inside && maker_[array] != none) used_outside_.insert(array);
    }
    for (const ArrayId array : returned_) used_outside_.insert(array);
    for (const ArrayId array : used_outside_) {
      if (maker_[array] == none || view_of_[array] != none) continue;
      if (in_place_.contains(array))
        operations_[maker_[array]].result_bytes += in_place_bytes(array);
      else
        operations_[maker_[array]].result_bytes += bytes_of(program_.arrays[array].dtype, demanded_[array].points());
    }
    for (Operation& operation : operations_) {
      const bool idle = operation.work.macs.empty() && operation.work.vector_ops.empty() &&
                        operation.work.transcendental_ops == 0 && operation.operand_bytes + operation.result_bytes == 0;
      if (idle) continue;
      out_.work.add(operation.work);
      out_.operations.push_back(std::move(operation));
    }
    out_.opaque = opaque_;
    if (branches_) out_.assumptions.push_back("a branch is chosen by data; neither side is counted");
  }

  // Storage that is returned, each element once; a view of an input writes nothing.
  double output_bytes() {
    std::map<ArrayId, Region> written;
    double in_place = 0;
    for (const ArrayId array : returned_) {
      if (in_place_.contains(array)) {
        in_place += in_place_bytes(array);
        continue;
      }
      Piece piece = Piece::whole(shape(array));
      ArrayId storage = array;
      while (view_of_[storage] != none) {
        const loops::Compute* view = view_statement(storage);
        const Domain domain = domain_of(*view, {});
        piece = image(program_.exprs[view->body], domain, piece);
        storage = view_of_[storage];
      }
      if (!is_input_[storage]) written[storage].add(std::move(piece));
    }
    double total = in_place;
    for (const auto& [array, region] : written) total += bytes_of(program_.arrays[array].dtype, region.points());
    return total;
  }
  const loops::Compute* view_statement(ArrayId array) const {
    for (const Place& where : places_)
      if (const auto* compute = std::get_if<loops::Compute>(&where.statement->node);
          compute && compute->result == array)
        return compute;
    return nullptr;
  }
  // An update in place writes the places it scatters to; anything else is written whole.
  double in_place_bytes(ArrayId array) {
    for (const Place& where : places_) {
      const auto* scatter = std::get_if<loops::Scatter>(&where.statement->node);
      if (scatter == nullptr || scatter->result != array || scatter->init_array != in_place_[array]) continue;
      Domain domain{scatter->domain, scatter->domain.size()};
      Expr target;
      target.kind = ExprKind::read;
      const Shape& extents = shape(array);
      Piece points = whole_of(domain);
      Piece touched;
      std::vector<bool> taken(domain.variables.size(), false);
      for (size_t d = 0; d < extents.size(); ++d) {
        const auto subscript = structure_.affine(scatter->target[d], domain);
        touched.box.push_back(values_of(scatter->target[d], subscript, extents[d], points, taken));
      }
      return bytes_of(program_.arrays[array].dtype, points.bounds_empty() ? 0 : count(touched));
    }
    return bytes_of(program_.arrays[array].dtype, demanded_[array].points());
  }

  const loops::Program& program_;
  Structure structure_;
  std::vector<Region> demanded_;
  std::vector<uint32_t> maker_;  // the operation that makes an array; none for inputs
  std::vector<bool> is_input_;
  std::vector<ArrayId> view_of_;
  std::vector<Place> places_;
  std::vector<Operation> operations_;
  std::unordered_map<uint32_t, size_t> by_group_;
  std::map<std::pair<size_t, ArrayId>, Region> read_by_;
  std::map<ArrayId, ArrayId> in_place_;
  std::set<ArrayId> returned_;
  std::set<ArrayId> used_outside_;
  std::map<std::string, int64_t> opaque_;
  bool in_view_ = false;
  bool branches_ = false;
  Analysis out_;
};

}  // namespace

Analysis analyze(const loops::Program& program) { return Analyzer(program).run(); }

}  // namespace lightline::einsum
