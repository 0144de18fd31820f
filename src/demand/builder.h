// Makes the normal form, statement by statement.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "demand/hulls.h"
#include "demand/normal_form.h"

namespace lightline::demand {

inline double number_of(const loops::Literal& literal) {
  return literal.kind == loops::Literal::Kind::floating ? literal.floating : double(literal.integer);
}

class Builder {
 public:
  Builder(NormalForm& form, const loops::Program& program, const KnownValues& known, bool borders)
      : form_(form),
        program_(program),
        known_(known),
        borders_(borders),
        terms_(form.terms),
        atoms_(form.terms.atoms()),
        algebra_(form.terms) {}
  void run();

 private:
  // ---- the variables of a statement: reduced ones, then counters of loops around it, then its own loops ----
  struct Space {
    std::vector<Range> box;
    std::vector<std::pair<loops::IndexId, Form>> values;  // of few indices, each the last one given
    uint32_t reduced = 0;
    const Form& at(loops::IndexId index) const {
      const auto found = std::find_if(values.rbegin(), values.rend(), [&](const auto& v) { return v.first == index; });
      LL_CHECK(found != values.rend());
      return found->second;
    }
    Region whole() const {
      Region region;
      region.box = box;
      for (const Range& range : box) region.empty |= range.hi < range.lo;
      return region;
    }
  };
  // Of the loops of an array that is made, only as far as it is read.
  Space space_of(std::span<const loops::IndexId> reduced, std::span<const loops::IndexId> loops,
                 loops::ArrayId made = loops::none);
  std::vector<Range> natural(loops::ArrayId array) const;  // of its dimensions, after the counters before them

  // ---- expressions ----
  Cases evaluate(loops::ExprId id, const Space& space);
  Cases read(const loops::Expr& e, const Space& space);
  // What an array is at subscripts; `fill` outside, where it has one.
  void read_at(loops::ArrayId array, std::span<const Form> subscripts, const loops::Expr* fill, const Region& where,
               Cases& into);
  Value from_front(const Value& value, int64_t extent, std::span<const Range> box);
  Form subscript(const Value& value, int64_t extent, std::span<const Range> box);
  std::optional<Form> formula_of_order(const Value& value, std::span<const Range> box);
  std::optional<Form> numbers_of(const Value& value, int64_t extent, std::span<const Range> box);
  const Cases& cases_of(loops::ArrayId array);

  // ---- statements ----
  void block(const std::vector<loops::Statement>& statements);
  void block_of(const std::vector<loops::Statement>& statements, uint32_t group);  // all of one group
  void statement(const loops::Compute& node);
  Spelled spelled(const Cases& body, const Space& space) const;
  void statement(const loops::Scatter& node);
  void statement(const loops::Constant& node);
  void statement(const loops::Opaque& node);
  void know_order(const loops::Opaque& node, const OpaqueCall& call);
  void statement(const loops::Repeat& node);
  void end_by_data(const loops::Repeat& node);
  void note_what_was_given_up(uint32_t statement);
  // The statement, and whether anything was given up on the way.
  void visit(const loops::Statement& statement, uint32_t id);
  void define(loops::ArrayId array, Cases cases);
  std::optional<Value> element_by_data(loops::ArrayId array, const Cases& given, std::span<const Form> places);
  void take_place_apart(Cases& cases, std::vector<Range>& box, std::vector<Form>& at, size_t d);
  void refer_to(loops::ArrayId array, Cases& cases, bool in_loop = false);
  bool is_by_turns(const Cases& cases) const;
  Value in_its_way(Value value, const Region& region);
  void forget_view_of(loops::ArrayId array);  // it has new values
  bool is_uninitialised() const;              // the statement at hand only takes memory
  Cases seen_in(const loops::Array& declared, const std::function<double(int64_t)>& number_at);
  Cases known_array(const loops::Array& declared, const std::function<double(int64_t)>& number_at,
                    const Value& element);
  void fold(const loops::Array& declared, Cases& cases);
  Value table_of(const loops::Array& declared, const std::function<int64_t(int64_t)>& number_at);
  void define_input(loops::ArrayId array, const Tensor* known);

  // ---- reductions ----
  Cases reduced(loops::Reducer reducer, Cases body, const Space& space, DType type);
  uint32_t first_variable(const Value& value) const;
  void at_its_point(Case& one, uint32_t reduced);
  Value reduced_cell(loops::Reducer reducer, std::vector<Case> body, uint32_t reduced, const Region& cell, DType type);
  std::optional<Value> with_what_leaves(loops::Reducer reducer, const std::vector<Case>& body, uint32_t reduced,
                                        const Region& cell, DType type);
  Value reduction_term(loops::Reducer reducer, std::vector<Case> body, uint32_t reduced, DType type);
  std::optional<Form> every_so_often(const Case& one, uint32_t reduced, const Region& cell);
  std::optional<Value> closed_form(loops::Reducer reducer, const std::vector<Case>& body, uint32_t reduced,
                                   const Region& cell, DType type);

  // ---- running totals, loops ----
  bool running_total(const loops::Compute& node, const Space& space);
  void recurrence(const loops::Compute& node, const Space& space);
  void unroll(const loops::Repeat& node);
  // Says whether it made the results; with `only_totals` it does so if nothing unknown is left.
  struct LoopForm;
  bool loop(const loops::Repeat& node, bool only_totals);
  struct Addition {
    Value decay, rest;
  };
  std::optional<Addition> addition(const Case& one, TermId carried, std::unordered_map<TermId, bool>& seen);
  std::optional<Value> decay_since(const Value& decay, uint32_t step, const std::vector<index::Range>& box,
                                   int64_t first);
  Value decayed(const Value& value, const Value& scale, uint32_t step, const Form& since, const std::vector<Range>& box,
                DType type);
  Cases one_step_on(const Cases& cases, uint32_t step);
  Cases total_before(const Cases& rest, const Value& scale, uint32_t step, int64_t steps, DType type);
  bool reads_array(loops::ExprId id, loops::ArrayId array) const;
  bool depends_on(const Value& value, const std::vector<TermId>& terms, std::unordered_map<TermId, bool>& seen) const;

  // ---- reduced variables, scatters ----
  bool scatter_by_formula(const loops::Scatter& node, const Space& space, const std::vector<Cases>& targets);
  void cut_in_cell(Region& region, const Form& form, uint32_t reduced_count) const;
  void keep_cuts_of_reduced(Region& region, uint32_t reduced_count);
  void straighten(std::vector<Case>& body, uint32_t reduced);
  bool solve_equations(Case& one, uint32_t reduced_count);
  bool solve_multiple(Case& one, const Form& equation, uint32_t reduced_count);
  void take_digits_apart(std::vector<Case>& body, uint32_t reduced_count);
  void solve_digits(Case& one, uint32_t reduced_count);
  void replace_variable(Case& one, uint32_t variable, const Form& by, const Form& cut, const Form& opposite);
  Cases places_that_are_known(const loops::Scatter& node, const Space& space, const std::vector<Cases>& targets,
                              const Value& element);
  bool turns_an_order(const Term& scatter, const ScatterParts& parts) const;
  void scatter_by_data(const loops::Scatter& node, const Space& space, const std::vector<Cases>& targets);

  NormalForm& form_;
  const loops::Program& program_;
  const KnownValues& known_;
  const bool borders_;
  Terms& terms_;
  Atoms& atoms_;
  Algebra algebra_;
  std::vector<loops::IndexId> counters_;               // of the loops around, that are not written out
  std::vector<Form> counter_forms_;                    // in the space of the statement at hand
  std::unordered_map<loops::IndexId, int64_t> fixed_;  // counters of loops that are written out
  bool assumes_ = false;                               // something of data, in the statement at hand
  std::vector<Range> domain_;                          // of the reduction at hand
  std::vector<Hull> hulls_;                            // by array: how far it is read
  std::vector<uint32_t> depth_;                        // by array: counters before its dimensions
  std::vector<bool> is_view_;                          // by array
  std::unordered_map<const loops::Statement*, loops::StatementId> ids_;
  std::map<std::string, size_t> opaque_by_text_;
  size_t reasons_noted_ = 0;  // of those that the algebra gave up for
  index::Losses losses_noted_{};
  uint32_t group_ = loops::none;
  std::vector<uint32_t> group_of_;                    // by array
  std::unordered_map<loops::ArrayId, Cases> totals_;  // of the loop at hand: arrays that turned out to be totals
  std::unordered_map<loops::ArrayId, std::map<uint32_t, Cases>> seen_from_outside_;
};

}  // namespace lightline::demand
