// Forms, values and regions as expressions.
#include <algorithm>
#include <cmath>

#include "base/maths.h"
#include "demand/normal_writer.h"
#include "loops/ir/verify.h"

namespace lightline::demand {

using loops::ExprId;
using loops::Function;
using loops::Literal;

namespace {

// A range of the cases that splits them, none of them in two: the greatest value of the first part.
struct Split {
  size_t variable = 0;
  int64_t last = 0;
  size_t larger = 0;  // cases of the larger part
};

std::optional<Split> split_of(const std::vector<const Case*>& cases, std::span<const Range> ranges) {
  std::optional<Split> best;
  for (size_t v = 0; v < ranges.size(); ++v) {
    std::vector<Range> along;
    for (const Case* one : cases) along.push_back(one->where.box[v]);
    std::sort(along.begin(), along.end());
    int64_t reach = INT64_MIN;
    for (size_t i = 0; i < along.size(); ++i) {
      if (i > 0 && along[i].lo > reach) {
        const Split split{v, reach, std::max(i, along.size() - i)};
        if (!best || split.larger < best->larger) best = split;
      }
      reach = std::max(reach, along[i].hi);
    }
  }
  return best;
}

}  // namespace

// ---- forms ----

NormalWriter::Linear NormalWriter::linear(const Form& form, const Scope& scope) {
  Linear result{form.constant, {}};
  for (const auto& [id, coefficient] : form.terms) {
    if (index::is_variable(id)) {
      const Range& range = scope.ranges[id];
      result.constant += coefficient * range.lo;
      if (range.count() > 1 || scope.indices[id] != loops::none)
        result.parts.emplace_back(out_.program.index(scope.indices[id]), coefficient * range.step);
      continue;
    }
    const index::Atom atom = terms_.atoms()[id];
    ExprId part;
    if (atom.kind == index::Atom::Kind::data) {
      part = converted(element(atom.source, atom.at, scope), result_type(terms_[atom.source]), DType::i64);
      if (terms_.atoms().is_from_back(atom)) part = from_back(part, atom.extent);
    } else {
      const Function function = atom.kind == index::Atom::Kind::quotient ? Function::div : Function::mod;
      part = out_.program.call(function, written(linear(atom.of, scope)), out_.program.literal(Literal::of(atom.by)));
    }
    result.parts.emplace_back(part, coefficient);
  }
  return result;
}

// A number below 0 counts from the back of an extent.
ExprId NormalWriter::from_back(ExprId number, int64_t extent) {
  loops::Program& program = out_.program;
  const ExprId negative = program.call(Function::lt, number, program.literal(Literal::of(int64_t{0})));
  const ExprId moved = program.call(Function::add, number, program.literal(Literal::of(extent)));
  return program.call(Function::select, negative, moved, number);
}

void NormalWriter::add_to(ExprId& sum, ExprId part, bool negative) {
  if (sum == loops::none)
    sum = negative ? out_.program.call(Function::neg, part) : part;
  else
    sum = out_.program.call(negative ? Function::sub : Function::add, sum, part);
}

ExprId NormalWriter::written(const Linear& form) {
  loops::Program& program = out_.program;
  ExprId result = loops::none;
  const auto join = [&](ExprId part, bool negative) { add_to(result, part, negative); };
  const auto put = [&](bool negative) {
    for (const auto& [part, coefficient] : form.parts) {
      if ((coefficient < 0) != negative) continue;
      const int64_t size = std::abs(coefficient);
      join(size == 1 ? part : program.call(Function::mul, program.literal(Literal::of(size)), part), negative);
    }
  };
  const bool any_positive =
      std::any_of(form.parts.begin(), form.parts.end(), [](const auto& part) { return part.second > 0; });
  put(false);
  if (form.parts.empty() || (!any_positive && form.constant != 0))
    join(program.literal(Literal::of(form.constant)), false);
  put(true);
  if (any_positive && form.constant != 0)
    join(program.literal(Literal::of(std::abs(form.constant))), form.constant < 0);
  return result;
}

ExprId NormalWriter::at_most(const Linear& form, bool equal) {
  Linear left, right;
  for (const auto& [part, coefficient] : form.parts) {
    if (coefficient > 0)
      right.parts.emplace_back(part, coefficient);
    else
      left.parts.emplace_back(part, -coefficient);
  }
  if (right.parts.empty() || (form.constant > 0 && !left.parts.empty()))
    right.constant = form.constant;
  else
    left.constant = -form.constant;
  if (left.parts.empty()) return out_.program.call(equal ? Function::eq : Function::ge, written(right), written(left));
  return out_.program.call(equal ? Function::eq : Function::le, written(left), written(right));
}

// ---- values ----

ExprId NormalWriter::literal(double number, DType type) {
  if (type == DType::boolean) return out_.program.literal(Literal::of_bool(number != 0));
  if (!is_integer(type)) return out_.program.literal(Literal::of(number));
  if (std::abs(number) <= 0x1p53) return out_.program.literal(Literal::of(wrap_to(type, int64_t(number))));
  const IntegerLimits limits = integer_limits(type);
  return out_.program.literal(Literal::of(number > 0 ? limits.greatest : limits.least));
}

ExprId NormalWriter::converted(ExprId value, DType from, DType to) {
  if (from == to) return value;
  return out_.program.cast(to, value);
}

Value NormalWriter::moved(const Value& value, std::span<const Form> at, const Scope& scope) {
  algebra_.box = scope.known;
  return algebra_.moved(value, at);
}

ExprId NormalWriter::value(const Value& value, DType type, const Scope& scope) {
  loops::Program& program = out_.program;
  if (value.is_number()) return literal(value.number, type);
  if (value.is_position()) {
    const ExprId whole = converted(written(linear(value.form, scope)), DType::i64, type);
    if (value.denominator == 1) return whole;
    return program.call(Function::divide, whole, program.literal(Literal::of(double(value.denominator))));
  }
  const Term& term = terms_[value.term];
  if (term.kind == TermKind::unknown) return converted(element(value.term, {}, scope), DType::f32, type);
  DType own = result_type(term);
  ExprId result =
      layout_.is_inlined(value.term) ? formula(value.term, value.at, scope) : element(value.term, value.at, scope);
  // A cast that was seen on the way
  const bool alike = (is_float(own) && is_float(value.width) && is_float(type)) ||
                     (is_integer(own) && is_integer(value.width) && is_integer(type));
  if (alike && bits(value.width) < bits(term.width) && bits(value.width) < bits(own)) {
    result = program.cast(value.width, result);
    own = compute_type(value.width);
  }
  return converted(result, own, type);
}

ExprId NormalWriter::element(TermId id, std::span<const Form> at, const Scope& scope) {
  const Place& place = places_.at(id);
  const loops::Array& array = out_.program.arrays[place.array];
  const DType dtype = array.dtype;
  const Shape shape = array.shape;
  std::vector<ExprId> subscripts;
  bool leaves = false;
  for (size_t d = 0; d < place.coordinates.size(); ++d) {
    Linear form = linear(at[place.coordinates[d]], scope);
    form.constant -= place.first[d];
    subscripts.push_back(written(form));
    const loops::Interval interval = loops::interval_of(out_.program, subscripts.back());
    if (interval.data_dependent) {
      const Range range = terms_.atoms().range(at[place.coordinates[d]], scope.ranges);
      leaves |= range.lo < place.first[d] || range.hi >= place.first[d] + shape[d];
    } else {
      leaves |= interval.low < 0 || interval.high >= shape[d];
    }
  }
  std::optional<Literal> fill;
  if (leaves) fill = dtype == DType::boolean ? Literal::of_bool(false) : Literal::of(int64_t(0));
  return out_.program.read(place.array, subscripts, fill);
}

ExprId NormalWriter::formula(TermId id, std::span<const Form> at, const Scope& scope) {
  const Term term = terms_[id];
  if (term.kind == TermKind::sum) return sum(term, at, scope);
  if (term.kind == TermKind::product) return product(term, at, scope);
  ExprId args[3] = {loops::none, loops::none, loops::none};
  for (size_t i = 0; i < term.args.size(); ++i) {
    const bool condition = term.function == Function::select && i == 0;
    const Value arg = moved(term.args[i].value, at, scope);
    args[i] = value(arg, condition ? DType::boolean : term.type, scope);
    if (arg.is_number() && term.type == DType::c64 && term.args.size() == 1)  // a literal alone is none
      args[i] = out_.program.cast(DType::c64, args[i]);
  }
  return out_.program.call(term.function, args[0], args[1], args[2]);
}

ExprId NormalWriter::sum(const Term& term, std::span<const Form> at, const Scope& scope) {
  loops::Program& program = out_.program;
  ExprId result = loops::none;
  const auto join = [&](ExprId part, bool negative) { add_to(result, part, negative); };
  for (const bool negative : {false, true}) {
    for (const Argument& arg : term.args) {
      if ((arg.factor < 0) != negative) continue;
      const ExprId part = value(moved(arg.value, at, scope), term.type, scope);
      const double size = std::abs(arg.factor);
      join(size == 1 ? part : program.call(Function::mul, literal(size, term.type), part), negative);
    }
    // Between them, so that it can be what others are taken from
    if (!negative && term.number != 0) {
      if (result == loops::none)
        result = literal(term.number, term.type);
      else
        join(literal(std::abs(term.number), term.type), term.number < 0);
    }
  }
  return result == loops::none ? literal(term.number, term.type) : result;
}

// Truths choose between the rest and nothing, so that what they leave out may be infinite.
ExprId NormalWriter::product(const Term& term, std::span<const Form> at, const Scope& scope) {
  loops::Program& program = out_.program;
  std::vector<ExprId> truths;
  ExprId result = loops::none;
  for (const Argument& arg : term.args) {
    const Value factor = moved(arg.value, at, scope);
    const bool truth = factor.is_element() && terms_[factor.term].kind != TermKind::unknown &&
                       result_type(terms_[factor.term]) == DType::boolean;
    const ExprId part = value(factor, truth ? DType::boolean : term.type, scope);
    if (truth)
      truths.push_back(part);
    else
      result = result == loops::none ? part : program.call(Function::mul, result, part);
  }
  if (term.type == DType::boolean && result == loops::none && term.number == 1) {
    result = truths.back();
    truths.pop_back();
  } else if (result == loops::none) {
    result = literal(term.number, term.type);
  } else if (term.number == -1) {
    result = program.call(Function::neg, result);
  } else if (term.number != 1) {
    result = program.call(Function::mul, literal(term.number, term.type), result);
  }
  for (size_t i = truths.size(); i-- > 0;)
    result = program.call(Function::select, truths[i], result, literal(0, term.type));
  return result;
}

// ---- cases ----

std::optional<ExprId> NormalWriter::condition(const Region& where, const Scope& scope) {
  loops::Program& program = out_.program;
  std::optional<ExprId> result;
  const auto join = [&](ExprId part) { result = result ? program.call(Function::logical_and, *result, part) : part; };
  for (size_t v = 0; v < scope.ranges.size(); ++v) {
    const Range &own = where.box[v], &all = scope.known[v];
    if (own == index::anything) continue;
    const auto variable = [&](int64_t constant, int64_t factor) {
      return linear({constant, {{index::AtomId(v), factor}}}, scope);
    };
    const bool above = own.lo > all.lo, below = own.hi < all.hi;
    if (own.lo == own.hi && (above || below)) {
      join(at_most(variable(-own.lo, 1), true));
      continue;
    }
    if (above) join(at_most(variable(-own.lo, 1), false));
    if (below) join(at_most(variable(own.hi, -1), false));
    if (own.step > 1 && (own.step != all.step || floor_mod(own.lo - all.lo, own.step) != 0)) {
      const ExprId rest =
          program.call(Function::mod, written(variable(-own.lo, 1)), program.literal(Literal::of(own.step)));
      join(program.call(Function::eq, rest, program.literal(Literal::of(int64_t(0)))));
    }
  }
  std::vector<Form> cuts = where.cuts;
  std::erase_if(cuts, [&](const Form& cut) { return terms_.atoms().range(cut, scope.known).lo >= 0; });
  for (size_t i = 0; i < cuts.size(); ++i) {
    const auto opposite = std::find(cuts.begin(), cuts.end(), terms_.atoms().scaled(cuts[i], -1));
    if (size_t(opposite - cuts.begin()) < i) continue;
    join(at_most(linear(cuts[i], scope), opposite != cuts.end()));
  }
  return result;
}

ExprId NormalWriter::choice(const CaseList& cases, const Scope& scope, const Choose& choose,
                            std::optional<double> otherwise, DType type) {
  loops::Program& program = out_.program;
  if (cases.empty()) return literal(otherwise.value_or(0), type);
  if (cases.size() > 3)
    if (const auto split = split_of(cases, scope.ranges)) {
      Scope low = scope, high = scope;
      low.known[split->variable].hi = std::min(low.known[split->variable].hi, split->last);
      high.known[split->variable] = clipped(high.known[split->variable], split->last + 1, index::greatest_kept);
      CaseList first, second;
      for (const Case* one : cases) (one->where.box[split->variable].hi <= split->last ? first : second).push_back(one);
      const ExprId test = at_most(linear({split->last, {{index::AtomId(split->variable), -1}}}, scope), false);
      const ExprId left = choice(first, low, choose, otherwise, type);
      return program.call(Function::select, test, left, choice(second, high, choose, otherwise, type));
    }
  const bool last = cases.size() == 1 && !otherwise;
  const auto test = last ? std::nullopt : condition(cases[0]->where, scope);
  const ExprId own = choose(*cases[0], scope);
  if (!test) return own;
  const ExprId rest = choice(CaseList(cases.begin() + 1, cases.end()), scope, choose, otherwise, type);
  return program.call(Function::select, *test, own, rest);
}

ExprId NormalWriter::choice(const Cases& cases, const Scope& scope, std::optional<double> otherwise, DType type) {
  CaseList list;
  for (const Case& one : cases)
    if (layout_.is_live(one)) list.push_back(&one);
  const Choose choose = [&](const Case& one, const Scope& inside) { return value(one.value, type, inside); };
  return choice(list, scope, choose, otherwise, type);
}

}  // namespace lightline::demand
