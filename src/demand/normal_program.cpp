#include "demand/normal_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/internal_error.h"
#include "demand/normal_writer.h"
#include "loops/ir/print.h"
#include "loops/ir/verify.h"

namespace lightline::demand {

using loops::ArrayId;

namespace {

// What of the original must stay as it is spelled, and which arrays are made of terms.
class Selection {
 public:
  Selection(const loops::Program& program, NormalLayout& layout) : program_(program), layout_(layout) {
    for (size_t i = 0; i < program.statements.size(); ++i)
      for (const ArrayId result : loops::results_of(program.statements[i])) maker_[result] = i;
    for (const loops::Output& output : program.outputs) take_view(output.array);
    for (const loops::Output& output : program.outputs) take(output.array);
    while (!open_.empty()) {
      const size_t statement = open_.back();
      open_.pop_back();
      for (const ArrayId array : loops::arrays_read_by(program, program.statements[statement])) take(array);
    }
  }
  const std::set<size_t>& spelled() const { return spelled_; }
  const std::vector<ArrayId>& wanted() const { return wanted_; }

 private:
  // A view that is returned stays one, of an array that is in memory.
  void take_view(ArrayId array) {
    const auto maker = maker_.find(array);
    if (maker == maker_.end()) return;
    const auto* made = std::get_if<loops::Compute>(&program_.statements[maker->second].node);
    if (made == nullptr || !made->is_view || !taken_.insert(array).second) return;
    spelled_.insert(maker->second);
    open_.push_back(maker->second);
    take_view(program_.exprs[made->body].args[0]);
  }
  void take(ArrayId array) {
    const auto maker = maker_.find(array);  // inputs and what is inside of repeats have none
    if (maker == maker_.end() || !taken_.insert(array).second) return;
    if (!layout_.is_spelled(array)) {
      wanted_.push_back(array);
    } else if (spelled_.insert(maker->second).second) {
      // All that it makes is made so.
      for (const ArrayId result : loops::results_of(program_.statements[maker->second])) {
        taken_.insert(result);
        std::erase(wanted_, result);
      }
      open_.push_back(maker->second);
    }
  }

  const loops::Program& program_;
  NormalLayout& layout_;
  std::unordered_map<ArrayId, size_t> maker_;
  std::set<ArrayId> taken_;
  std::set<size_t> spelled_;
  std::vector<size_t> open_;
  std::vector<ArrayId> wanted_;
};

// The term that an array is, element by element, if it needs no array beside it.
TermId whole_term(const NormalForm& form, const NormalLayout& layout, ArrayId array, const std::set<TermId>& taken) {
  const loops::Array& declared = form.program->arrays[array];
  const Cases& cases = form.arrays[array];
  if (cases.size() != 1 || !cases[0].value.is_element() || !cases[0].where.cuts.empty()) return no_term;
  const Value& value = cases[0].value;
  const Term& term = form.terms[value.term];
  if (taken.contains(value.term) || value.at.size() != declared.shape.size()) return no_term;
  if (term.kind == TermKind::input || term.kind == TermKind::unknown || layout.is_inlined(value.term) ||
      layout.stepped(value.term) != nullptr)
    return no_term;
  const bool own_array = term.kind == TermKind::opaque || term.kind == TermKind::scatter;
  const DType type = own_array ? term.width : result_type(term);
  if (type != declared.dtype && (own_array || layout.uses(value.term) != 1 || compute_type(declared.dtype) != type))
    return no_term;
  for (size_t d = 0; d < declared.shape.size(); ++d) {
    const Range& range = layout.hull(value.term)[d];
    if (value.at[d] != Form::variable(index::AtomId(d)) || range.lo != 0 || range.hi != declared.shape[d] - 1)
      return no_term;
  }
  return value.term;
}

}  // namespace

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::term: return "term";
    case Origin::result: return "result";
    case Origin::view: return "view";
    case Origin::start: return "start";
    case Origin::spelled: return "as spelled";
  }
  return "";
}

NormalProgram as_program(NormalForm& form) {
  NormalLayout layout(form);
  const Selection selection(*form.program, layout);
  for (const ArrayId array : selection.wanted()) layout.want(array);
  layout.run();
  NormalWriter writer(form, layout);
  for (const ArrayId array : selection.wanted()) writer.reserve(array);
  for (const size_t statement : selection.spelled())
    loops::for_each_statement(std::span(&form.program->statements[statement], 1), [&](const loops::Statement& one) {
      for (const ArrayId array : loops::results_of(one)) writer.reserve(array);
      if (const auto* repeat = std::get_if<loops::Repeat>(&one.node))
        for (const auto& carry : repeat->carries) writer.reserve(carry.inner);
    });
  std::set<TermId> taken;
  std::vector<ArrayId> left;
  for (const ArrayId array : selection.wanted()) {
    const TermId id = whole_term(form, layout, array, taken);
    if (id == no_term) {
      left.push_back(array);
      continue;
    }
    taken.insert(id);
    writer.write_as(id, array);
  }
  for (const TermId id : layout.order()) writer.write(id);
  for (const ArrayId array : left) writer.write(array, form.arrays[array]);
  for (const size_t statement : selection.spelled()) writer.keep(form.program->statements[statement]);
  return writer.take();
}

std::string to_text(const NormalProgram& normal, const loops::Program& original) {
  loops::Program program = normal.program;
  program.comments.clear();
  const auto made_by = loops::statements_by_id(original);
  uint32_t line = 0;
  size_t next = 0;
  const auto block = [&](const auto& self, const std::vector<loops::Statement>& statements) -> void {
    uint32_t group = loops::none;
    for (const loops::Statement& statement : statements) {
      if (statement.group != group) ++line;
      group = statement.group;
      const StatementFact& fact = normal.facts[next++];
      std::string text(name(fact.origin));
      if (fact.term != no_term) text += fmt::format(" {}", fact.term);
      if (fact.statement < made_by.size()) {
        const auto results = loops::results_of(*made_by[fact.statement]);
        if (!results.empty()) text += fmt::format(" of {}", original.arrays[results[0]].name);
      }
      text += fmt::format(", {}{}", name(fact.width), fact.reads_data ? "" : ", known");
      program.comments.push_back({++line, true, std::move(text)});
      if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
        self(self, repeat->body);
        line += 2;  // yield, and the end
      }
    }
  };
  block(block, normal.program.statements);
  return loops::print(program);
}

// ---- the writer's statements ----

NormalWriter::NormalWriter(NormalForm& form, const NormalLayout& layout)
    : form_(form), layout_(layout), terms_(form.terms), algebra_(form.terms) {
  out_.program = *form.program;
  out_.program.statements.clear();
  out_.program.comments.clear();
  block_ = &out_.program.statements;
  for (const ArrayId input : out_.program.inputs) names_.insert(out_.program.arrays[input].name);
  statements_ = loops::statements_by_id(*form.program);
}

NormalProgram NormalWriter::take() {
  if (const Status status = loops::verify(out_.program); !status.ok())
    throw InternalError(
        fmt::format("the normal form does not verify: {}\n{}", to_string(status.error()), loops::print(out_.program)));
  loops::for_each_statement(std::span<const loops::Statement>(out_.program.statements), [&](const loops::Statement& s) {
    out_.facts.push_back(facts_.at(loops::results_of(s)[0]));
  });
  return std::move(out_);
}

std::string NormalWriter::fresh_name(loops::StatementId statement) {
  std::string base = "t";
  if (statement < statements_.size()) {
    const auto results = loops::results_of(*statements_[statement]);
    if (!results.empty()) base = form_.program->arrays[results[0]].name;
  }
  std::string name = base;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

loops::IndexId NormalWriter::new_index(size_t number, bool reduced, int64_t extent) {
  const std::string_view letters = reduced ? "rsuvwxyz" : "ijklmnopq";
  return out_.program.add_index(
      number < letters.size() ? std::string(1, letters[number]) : fmt::format("{}_{}", letters[0], number), extent,
      reduced ? loops::IndexKind::reduce : loops::IndexKind::parallel);
}

NormalWriter::Scope NormalWriter::scope_of(std::span<const Range> reduced, std::span<const Range> free) {
  Scope scope;
  for (const Range& range : reduced) {
    scope.indices.push_back(new_index(scope.indices.size(), true, range.count()));
    scope.ranges.push_back(range);
  }
  for (const Range& range : free) {
    scope.indices.push_back(new_index(scope.indices.size() - reduced.size(), false, range.count()));
    scope.ranges.push_back(range);
  }
  scope.known = scope.ranges;
  return scope;
}

ArrayId NormalWriter::new_array(TermId id, DType type, const std::vector<Range>& hull) {
  Place place;
  Shape shape;
  for (uint32_t c = 0; c < hull.size(); ++c) {
    place.coordinates.push_back(c);
    place.first.push_back(hull[c].lo);
    shape.push_back(hull[c].count());
  }
  const auto as = written_as_.find(id);
  place.array = as != written_as_.end()
                    ? as->second
                    : out_.program.add_array(fresh_name(terms_[id].statement), type, std::move(shape));
  const ArrayId array = place.array;
  places_[id] = std::move(place);
  return array;
}

StatementFact NormalWriter::fact_of(TermId id, Origin origin) const {
  const Term& term = terms_[id];
  return {origin, id, term.statement, term.width, term.reads_data};
}

void NormalWriter::add(loops::Statement statement, const StatementFact& fact) {
  if (fact.statement < statements_.size()) statement.group = statements_[fact.statement]->group;
  statement.position = loops::none;
  facts_[loops::results_of(statement)[0]] = fact;
  block_->push_back(std::move(statement));
}

void NormalWriter::keep(const loops::Statement& statement) {
  const auto* made = std::get_if<loops::Compute>(&statement.node);
  const bool view = made != nullptr && made->is_view;
  StatementFact fact{view ? Origin::view : Origin::spelled, no_term, loops::none, DType::f32, true};
  const auto note = [&](const loops::Statement& one) {
    const auto at = std::find(statements_.begin(), statements_.end(), &one);
    fact.statement = loops::StatementId(at - statements_.begin());
    fact.width = form_.program->arrays[loops::results_of(one)[0]].dtype;
    facts_[loops::results_of(one)[0]] = fact;
  };
  loops::for_each_statement(std::span(&statement, 1), note);
  block_->push_back(statement);
}

void NormalWriter::write(ArrayId array, const Cases& cases) {
  const loops::Array declared = out_.program.arrays[array];
  std::vector<Range> box;
  for (const int64_t extent : declared.shape) box.push_back({0, extent - 1, 1});
  Scope scope = scope_of({}, box);
  loops::Compute node;
  node.result = array;
  node.loops = scope.indices;
  node.body = choice(cases, scope, std::nullopt, compute_type(declared.dtype));
  StatementFact fact{Origin::result, no_term, loops::none, declared.dtype, false};
  for (loops::StatementId id = 0; id < statements_.size(); ++id) {
    const auto results = loops::results_of(*statements_[id]);
    if (std::find(results.begin(), results.end(), array) == results.end()) continue;
    fact.statement = id;
  }
  for (const Case& one : cases) fact.reads_data = fact.reads_data || algebra_.reads_data(one.value);
  add({node}, fact);
}

}  // namespace lightline::demand
