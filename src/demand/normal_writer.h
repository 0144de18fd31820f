// Values, regions and terms as expressions and statements of the loop language.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "demand/normal_layout.h"
#include "demand/normal_program.h"

namespace lightline::demand {

class NormalWriter {
 public:
  NormalWriter(NormalForm& form, const NormalLayout& layout);
  void reserve(loops::ArrayId array) { names_.insert(out_.program.arrays[array].name); }  // it keeps its name
  // An array of the original takes the place of a term, where it is just that.
  void write_as(TermId id, loops::ArrayId array) { written_as_[id] = array; }
  void write(TermId id);                                 // and those that are made with it
  void write(loops::ArrayId array, const Cases& cases);  // an array of the original
  void keep(const loops::Statement& statement);          // as it is spelled
  NormalProgram take();

 private:
  using ExprId = loops::ExprId;

  // ---- the variables of an expression: multiples of indices, shifted ----
  struct Scope {
    std::vector<loops::IndexId> indices;
    std::vector<Range> ranges;
    std::vector<Range> known;  // the ranges where the expression at hand is wanted
  };
  Scope scope_of(std::span<const Range> reduced, std::span<const Range> free);
  loops::IndexId new_index(size_t number, bool reduced, int64_t extent);

  // ---- expressions: normal_expressions.cpp ----
  struct Linear {
    int64_t constant = 0;
    std::vector<std::pair<ExprId, int64_t>> parts;
  };
  Linear linear(const Form& form, const Scope& scope);
  ExprId written(const Linear& form);
  ExprId from_back(ExprId number, int64_t extent);
  void add_to(ExprId& sum, ExprId part, bool negative);
  ExprId at_most(const Linear& form, bool equal);  // 0 <= form, or 0 == form
  ExprId literal(double number, DType type);
  ExprId converted(ExprId value, DType from, DType to);
  ExprId value(const Value& value, DType type, const Scope& scope);
  ExprId element(TermId id, std::span<const Form> at, const Scope& scope);  // of an array
  ExprId formula(TermId id, std::span<const Form> at, const Scope& scope);  // of a map, in place
  ExprId sum(const Term& term, std::span<const Form> at, const Scope& scope);
  ExprId product(const Term& term, std::span<const Form> at, const Scope& scope);
  Value moved(const Value& value, std::span<const Form> at, const Scope& scope);

  // ---- cases ----
  using CaseList = std::vector<const Case*>;
  using Choose = std::function<ExprId(const Case&, const Scope&)>;  // what is said of one case
  std::optional<ExprId> condition(const Region& where, const Scope& scope);
  // `otherwise` is what holds where no case does; without it that does not matter.
  ExprId choice(const CaseList& cases, const Scope& scope, const Choose& choose, std::optional<double> otherwise,
                DType type);
  ExprId choice(const Cases& cases, const Scope& scope, std::optional<double> otherwise, DType type);

  // ---- statements ----
  // Where a term lies: its coordinates in the order of the dimensions, and where each starts.
  struct Place {
    loops::ArrayId array = loops::none;
    std::vector<uint32_t> coordinates;
    std::vector<int64_t> first;
  };
  std::string fresh_name(loops::StatementId statement);
  loops::ArrayId new_array(TermId id, DType type, const std::vector<Range>& hull);
  void add(loops::Statement statement, const StatementFact& fact);
  StatementFact fact_of(TermId id, Origin origin) const;
  void write_input(TermId id);
  void write_nothing(TermId id);
  void write_map(TermId id);
  void write_reduction(TermId id);
  void write_opaque(TermId id);
  void write_scatter(TermId id);
  void write_scan(const NormalLayout::Stepped& loop);
  void write_repeat(const NormalLayout::Stepped& loop);
  loops::Compute reduction(TermId id, loops::ArrayId array, const Scope& scope);
  loops::Compute step(TermId id, loops::ArrayId array, loops::IndexId counter, NormalLayout::Step step);
  loops::ArrayId operand(loops::ArrayId array, const Cases& cases, TermId of);
  std::optional<double> neutral(const Term& term) const;
  std::vector<Cases> layers(const Cases& cases, const Scope& scope);

  NormalForm& form_;
  const NormalLayout& layout_;
  Terms& terms_;
  Algebra algebra_;
  NormalProgram out_;
  std::vector<loops::Statement>* block_;  // that statements are added to
  std::unordered_map<TermId, loops::ArrayId> written_as_;
  std::unordered_map<TermId, Place> places_;
  std::unordered_map<loops::ArrayId, StatementFact> facts_;  // by result
  std::unordered_set<std::string> names_;
  std::vector<const loops::Statement*> statements_;  // of the original
};

}  // namespace lightline::demand
