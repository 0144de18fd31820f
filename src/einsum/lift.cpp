#include "einsum/lift.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/ir/affine.h"
#include "loops/ir/walk.h"

namespace lightline::einsum {

using namespace loops;

std::string_view name(StatementClass statement_class) {
  static constexpr std::string_view names[] = {"contraction", "convolution", "reduction", "elementwise",
                                               "copy",        "gather",      "scan",      "scatter",
                                               "repeat",      "constant",    "opaque"};
  return names[size_t(statement_class)];
}

namespace {

bool reads_array(const Program& program, ExprId id) {
  bool found = false;
  for_each_read(program, id, [&](const Expr&) { found = true; });
  return found;
}

// Factors of a product that read something.
int reading_factors(const Program& program, ExprId id) {
  const Expr& e = program.exprs[id];
  if (e.kind == ExprKind::cast) return reading_factors(program, e.args[0]);
  if (e.kind == ExprKind::call && e.function == Function::mul)
    return reading_factors(program, e.args[0]) + reading_factors(program, e.args[1]);
  return reads_array(program, id) ? 1 : 0;
}

}  // namespace

Lifting::Lifting(const Program& program) : program_(program), statements_(statements_by_id(program)) {
  for (const Array& array : program.arrays) {
    first_dimension_.push_back(dimensions_);
    dimensions_ += array.shape.size();
  }
  parent_.resize(dimensions_ + program.indices.size());
  for (size_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
  letter_.assign(parent_.size(), -1);
  unify(program.statements);
}

size_t Lifting::root(size_t node) const {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

void Lifting::join(size_t a, size_t b) {
  a = root(a);
  b = root(b);
  if (a != b) parent_[std::max(a, b)] = std::min(a, b);
}

// A rank runs through every dimension that one plain index walks in full.
void Lifting::unify(const std::vector<Statement>& block) {
  for (const Statement& statement : block) {
    if (const auto* compute = std::get_if<Compute>(&statement.node)) {
      for (size_t d = 0; d < compute->loops.size(); ++d) join(dimension(compute->result, d), rank(compute->loops[d]));
      unify(compute->body);
    } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
      unify(scatter->body);
    } else if (const auto* repeat = std::get_if<Repeat>(&statement.node)) {
      for (size_t i = 0; i < repeat->carries.size(); ++i)
        for (size_t d = 0; d < program_.arrays[repeat->results[i]].shape.size(); ++d)
          for (const ArrayId array : {repeat->carries[i].inner, repeat->carries[i].init, repeat->carries[i].next})
            join(dimension(repeat->results[i], d), dimension(array, d));
      unify(repeat->body);
      for (size_t i = 0; i < repeat->stacked.size(); ++i) {
        const ArrayId whole = repeat->results[repeat->carries.size() + i];
        join(dimension(whole, 0), rank(repeat->counter));
        for (size_t d = 0; d < program_.arrays[repeat->stacked[i]].shape.size(); ++d)
          join(dimension(whole, d + 1), dimension(repeat->stacked[i], d));
      }
    }
  }
}

void Lifting::unify(ExprId id) {
  for_each_read(program_, id, [&](const Expr& read) {
    for (uint32_t d = 0; d < read.args[2]; ++d) {
      const auto form = affine_of(program_, subscripts_of(program_, read)[d]);
      if (form && form->constant == 0 && form->terms.size() == 1 && form->terms[0].second == 1 &&
          program_.indices[form->terms[0].first].extent == program_.arrays[read.args[0]].shape[d])
        join(dimension(read.args[0], d), rank(form->terms[0].first));
    }
  });
}

std::string Lifting::letter(size_t node) {
  int& own = letter_[root(node)];
  if (own < 0) own = letters_++;
  std::string text(1, char('A' + own % 26));
  if (own >= 26) text += std::to_string(own / 26);
  return text;
}

// Two indices of one statement that walk the same rank get a prime: the rows and columns of self-attention.
std::string Lifting::index_letter(IndexId index) {
  const std::string own = letter(rank(index));
  auto known = std::find_if(in_statement_.begin(), in_statement_.end(), [&](const auto& e) { return e.first == own; });
  if (known == in_statement_.end()) known = in_statement_.insert(known, {own, {}});
  const auto place = std::find(known->second.begin(), known->second.end(), index);
  const size_t primes = size_t(place - known->second.begin());
  if (place == known->second.end()) known->second.push_back(index);
  return own + std::string(primes, '\'');
}

std::string Lifting::subscript(ExprId id) {
  const auto form = affine_of(program_, id);
  if (!form) {
    const Expr& e = program_.exprs[id];
    const bool quotient = e.kind == ExprKind::call && (e.function == Function::div || e.function == Function::mod);
    if (!quotient || reads_array(program_, id)) return "(*)";
    const std::string inner = subscript(e.args[0]), by = subscript(e.args[1]);
    return fmt::format("({}{}{})", inner, e.function == Function::div ? "/" : "%", by);
  }
  if (form->constant == 0 && form->terms.size() == 1 && form->terms[0].second == 1)
    return index_letter(form->terms[0].first);
  if (form->terms.empty()) return std::to_string(form->constant);
  std::string text;
  for (const auto& [index, c] : form->terms) {
    if (c < 0)
      text += "-";
    else if (!text.empty())
      text += "+";
    if (c != 1 && c != -1) text += std::to_string(std::abs(c));
    text += index_letter(index);
  }
  if (form->constant != 0) text += fmt::format("{:+}", form->constant);
  return "(" + text + ")";
}

std::string Lifting::operand(const Expr& read) {
  std::string text;
  for (uint32_t d = 0; d < read.args[2]; ++d) text += subscript(subscripts_of(program_, read)[d]);
  return text;
}

std::string Lifting::result(ArrayId array) {
  std::string text;
  for (size_t d = 0; d < program_.arrays[array].shape.size(); ++d) text += letter(dimension(array, d));
  return text;
}

std::vector<const Expr*> Lifting::reads(ExprId id) const {
  std::vector<const Expr*> list;
  for_each_read(program_, id, [&](const Expr& read) { list.push_back(&read); });
  return list;
}

StatementClass Lifting::class_of(const Compute& compute, const std::vector<const Expr*>& operands) const {
  bool window = false, by_data = false;
  for (const Expr* read : operands)
    for (uint32_t d = 0; d < read->args[2]; ++d) {
      const ExprId subscript = subscripts_of(program_, *read)[d];
      const auto form = affine_of(program_, subscript);
      by_data |= !form && reads_array(program_, subscript);
      if (!form || form->terms.size() < 2) continue;
      bool outer = false, inner = false;
      for (const auto& [index, c] : form->terms)
        (program_.indices[index].kind == IndexKind::reduce ? inner : outer) = true;
      window |= outer && inner;
    }
  if (compute.reducer == Reducer::sum && reading_factors(program_, compute.body) >= 2)
    return window ? StatementClass::convolution : StatementClass::contraction;
  if (compute.reducer != Reducer::none) return StatementClass::reduction;
  for (const IndexId index : compute.loops)
    if (program_.indices[index].kind == IndexKind::scan) return StatementClass::scan;
  if (by_data) return StatementClass::gather;
  if (operands.empty()) return StatementClass::constant;
  const Expr* body = &program_.exprs[compute.body];
  while (body->kind == ExprKind::cast) body = &program_.exprs[body->args[0]];
  return body->kind == ExprKind::read ? StatementClass::copy : StatementClass::elementwise;
}

Einsum Lifting::of(const Statement& statement) {
  Einsum einsum;
  in_statement_.clear();
  const auto equation = [&](const std::vector<const Expr*>& operands) {
    std::string text;
    std::vector<std::string> seen;
    for (const Expr* read : operands) {
      const std::string own = operand(*read);
      const std::string key = fmt::format("{}[{}]", read->args[0], own);  // one operand read twice is one operand
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      text += (text.empty() ? "" : ",") + own;
    }
    return text + "->";
  };
  if (const auto* compute = std::get_if<Compute>(&statement.node)) {
    const std::vector<const Expr*> operands = reads(compute->body);
    einsum.statement_class = class_of(*compute, operands);
    einsum.equation = equation(operands);
    for (const IndexId index : compute->loops) einsum.equation += index_letter(index);
  } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
    const std::vector<const Expr*> operands = reads(scatter->body);
    const bool product = scatter->reducer == Reducer::sum && reading_factors(program_, scatter->body) >= 2;
    einsum.statement_class = product ? StatementClass::convolution : StatementClass::scatter;
    einsum.equation = equation(operands);
    for (const ExprId target : scatter->target) einsum.equation += subscript(target);
  } else if (const auto* opaque = std::get_if<Opaque>(&statement.node)) {
    einsum.statement_class = StatementClass::opaque;
    std::string text;
    for (const ArrayId array : opaque->operands) text += (text.empty() ? "" : ",") + result(array);
    text += "->";
    for (size_t i = 0; i < opaque->results.size(); ++i) text += (i == 0 ? "" : ",") + result(opaque->results[i]);
    einsum.equation = text;
  } else if (const auto* repeat = std::get_if<Repeat>(&statement.node)) {
    einsum.statement_class = StatementClass::repeat;
    StatementClass best = StatementClass::opaque;
    for (const Statement& inner : repeat->body) {
      const Einsum own = of(inner);
      if (einsum.equation.empty() || own.statement_class < best) {
        best = own.statement_class;
        einsum.equation = own.equation;
      }
    }
  } else if (const auto* constant = std::get_if<Constant>(&statement.node)) {
    einsum.statement_class = StatementClass::constant;
    einsum.equation = "->" + result(constant->result);
  }
  return einsum;
}

double Lifting::points(const Statement& statement) const {
  if (const auto* compute = std::get_if<Compute>(&statement.node))
    return compute->is_view ? -1 : point_count(program_, compute->loops) * point_count(program_, compute->reduced);
  if (const auto* scatter = std::get_if<Scatter>(&statement.node)) return point_count(program_, scatter->domain);
  return 0;
}

Einsum Lifting::of(const demand::GroupDemand& group) {
  const Statement* largest = nullptr;
  for (const StatementId id : group.statements)
    if (largest == nullptr || points(*statements_[id]) > points(*largest)) largest = statements_[id];
  for (const StatementId id : group.statements)
    if (std::holds_alternative<Repeat>(statements_[id]->node) || std::holds_alternative<Opaque>(statements_[id]->node))
      largest = statements_[id];
  return largest == nullptr ? Einsum{} : of(*largest);
}

}  // namespace lightline::einsum
