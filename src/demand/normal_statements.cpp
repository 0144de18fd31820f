// Terms as statements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/internal_error.h"
#include "demand/normal_writer.h"

namespace lightline::demand {

using loops::ArrayId;
using loops::ExprId;
using loops::Literal;
using loops::Reducer;

namespace {

std::vector<Form> identity(size_t count, size_t first = 0) {
  std::vector<Form> forms;
  for (size_t i = 0; i < count; ++i) forms.push_back(Form::variable(index::AtomId(first + i)));
  return forms;
}

loops::Function joining(Reducer reducer) {
  switch (reducer) {
    case Reducer::prod: return loops::Function::mul;
    case Reducer::max: return loops::Function::max;
    case Reducer::min: return loops::Function::min;
    case Reducer::any: return loops::Function::logical_or;
    case Reducer::all: return loops::Function::logical_and;
    default: return loops::Function::add;
  }
}

}  // namespace

void NormalWriter::write(TermId id) {
  if (const NormalLayout::Stepped* loop = layout_.stepped(id))
    return loop->scans ? write_scan(*loop) : write_repeat(*loop);
  switch (terms_[id].kind) {
    case TermKind::input: return write_input(id);
    case TermKind::unknown: return write_nothing(id);
    case TermKind::call:
    case TermKind::sum:
    case TermKind::product: return layout_.is_inlined(id) ? void() : write_map(id);
    case TermKind::array: return write_map(id);
    case TermKind::reduce: return write_reduction(id);
    case TermKind::opaque: return write_opaque(id);
    case TermKind::scatter: return write_scatter(id);
    case TermKind::stored:
    case TermKind::carried: break;
  }
  throw InternalError(fmt::format("term {} can not be written", id));
}

void NormalWriter::write_input(TermId id) {
  const Term& term = terms_[id];
  const loops::Program& program = *form_.program;
  const loops::Array& declared = program.arrays[term.array];
  Place place{term.array, {}, std::vector<int64_t>(term.rank, 0)};
  for (uint32_t c = 0; c < term.rank; ++c) place.coordinates.push_back(c);
  if (std::find(program.inputs.begin(), program.inputs.end(), term.array) == program.inputs.end()) {
    loops::Constant node;
    for (const loops::Statement* statement : statements_)
      if (const auto* made = std::get_if<loops::Constant>(&statement->node);
          made != nullptr && made->result == term.array)
        node = *made;
    const Atoms::Table* table = terms_.atoms().table(id);
    if (node.values.empty() && table != nullptr)
      for (const int64_t number : table->values)
        node.values.push_back(declared.dtype == DType::boolean ? Literal::of_bool(number != 0) : Literal::of(number));
    place.array = node.result = out_.program.add_array(fresh_name(term.statement), declared.dtype, declared.shape);
    add({node}, fact_of(id, Origin::term));
  }
  places_[id] = std::move(place);
}

// Memory that nobody has written; its group says so.
void NormalWriter::write_nothing(TermId id) {
  loops::Constant node;
  node.result = new_array(id, DType::f32, {});
  node.values.push_back(Literal::of(0.0));
  add({node}, fact_of(id, Origin::term));
}

void NormalWriter::write_map(TermId id) {
  const std::vector<Range>& hull = layout_.hull(id);
  const Scope scope = scope_of({}, hull);
  loops::Compute node;
  const Term term = terms_[id];
  node.body = term.kind == TermKind::array ? choice(term.body, scope, 0.0, term.type)
                                           : formula(id, identity(hull.size()), scope);
  node.loops = scope.indices;
  node.result = new_array(id, result_type(terms_[id]), hull);
  add({node}, fact_of(id, Origin::term));
}

std::optional<double> NormalWriter::neutral(const Term& term) const {
  switch (term.reducer) {
    case Reducer::sum:
    case Reducer::any: return 0;
    case Reducer::prod:
    case Reducer::all: return 1;
    case Reducer::max:
    case Reducer::argmax: return is_integer(term.width) ? double(integer_limits(term.width).least) : -INFINITY;
    case Reducer::min:
    case Reducer::argmin: return is_integer(term.width) ? double(integer_limits(term.width).greatest) : INFINITY;
    default: return std::nullopt;
  }
}

loops::Compute NormalWriter::reduction(TermId id, ArrayId array, const Scope& scope) {
  const Term& term = terms_[id];
  const size_t count = term.reduced.size();
  loops::Compute node;
  node.result = array;
  node.reducer = count == 0 ? Reducer::none : term.reducer;
  node.reduced.assign(scope.indices.begin(), scope.indices.begin() + int64_t(count));
  node.loops.assign(scope.indices.begin() + int64_t(count), scope.indices.end());
  if (is_float(term.type) && compute_type(term.type) != term.type) {
    node.has_accumulator = true;
    node.accumulator = term.type;
  }
  const bool picks = term.reducer == Reducer::argmax || term.reducer == Reducer::argmin;
  if (count == 0 && picks) {
    node.body = literal(0, DType::i64);
    return node;
  }
  for (const Cases& layer : layers(term.body, scope)) {
    const ExprId part = choice(layer, scope, neutral(term), compute_type(term.type));
    node.body = node.body == loops::none ? part : out_.program.call(joining(term.reducer), node.body, part);
  }
  return node;
}

// The cases of a reduction may share points, where a scatter sends several elements to one place: lists of disjoint
// ones, that are combined.
std::vector<Cases> NormalWriter::layers(const Cases& cases, const Scope& scope) {
  std::vector<Cases> found;
  const auto inside = [&](Region region) {
    for (size_t v = 0; v < region.box.size(); ++v)
      if (region.box[v] == index::anything) region.box[v] = scope.ranges[v];
    return region;
  };
  const auto are_disjoint = [&](const Case& a, const Case& b) {
    const Region both = index::intersection(inside(a.where), inside(b.where), terms_.atoms());
    return both.empty || index::has_no_points(both, terms_.atoms());
  };
  for (const Case& one : cases) {
    auto layer = found.begin();
    while (layer != found.end() &&
           !std::all_of(layer->begin(), layer->end(), [&](const Case& other) { return are_disjoint(one, other); }))
      ++layer;
    if (layer == found.end()) layer = found.emplace(found.end());
    layer->push_back(one);
  }
  return found.empty() ? std::vector<Cases>{{}} : found;
}

void NormalWriter::write_reduction(TermId id) {
  const std::vector<Range>& hull = layout_.hull(id);
  const Scope scope = scope_of(terms_[id].reduced, hull);
  loops::Compute node = reduction(id, loops::none, scope);
  node.result = new_array(id, result_type(terms_[id]), hull);
  add({node}, fact_of(id, Origin::term));
}

// An array that an operator takes whole: the one that a term lies in, if it is just that.
ArrayId NormalWriter::operand(ArrayId array, const Cases& cases, TermId of) {
  const loops::Array declared = form_.program->arrays[array];
  std::vector<Range> box;
  for (const int64_t extent : declared.shape) box.push_back({0, extent - 1, 1});
  if (cases.size() == 1 && cases[0].value.is_element() && cases[0].where.cuts.empty())
    if (const auto found = places_.find(cases[0].value.term); found != places_.end()) {
      const Place& place = found->second;
      const loops::Array& made = out_.program.arrays[place.array];
      bool same =
          made.dtype == declared.dtype && made.shape == declared.shape && cases[0].value.at == identity(box.size());
      for (size_t d = 0; same && d < box.size(); ++d) same = place.first[d] == 0 && place.coordinates[d] == d;
      if (same) return place.array;
    }
  const Scope scope = scope_of({}, box);
  loops::Compute node;
  node.loops = scope.indices;
  node.body = choice(cases, scope, std::nullopt, compute_type(declared.dtype));
  std::string base = declared.name, name = base;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  node.result = out_.program.add_array(name, declared.dtype, declared.shape);
  StatementFact fact{Origin::result, no_term, terms_[of].statement, declared.dtype, true};
  add({node}, fact);
  return node.result;
}

void NormalWriter::write_opaque(TermId id) {
  const OpaqueCall& call = form_.opaque[terms_[id].array];
  loops::Opaque node = *call.node;
  for (size_t i = 0; i < node.operands.size(); ++i)
    node.operands[i] = operand(call.node->operands[i], call.operands[i], id);
  for (size_t i = 0; i < node.results.size(); ++i) {
    const loops::Array declared = form_.program->arrays[call.node->results[i]];
    node.results[i] = new_array(call.results[i], declared.dtype, layout_.hull(call.results[i]));
  }
  add({node}, fact_of(id, Origin::term));
}

void NormalWriter::write_scatter(TermId id) {
  const Term term = terms_[id];
  const ScatterParts& parts = form_.scatters[term.array];
  const auto& made = std::get<loops::Scatter>(statements_[term.statement]->node);
  loops::Scatter node;
  node.reducer = term.reducer;
  if (made.init_array == loops::none)
    node.init_literal = literal(term.number, term.type);
  else
    node.init_array = operand(made.init_array, parts.init, id);
  Scope scope = scope_of(term.reduced, {});
  node.domain = scope.indices;
  // Of the cases only what they say of the domain; the rest is where they go.
  Cases domain;
  const index::AtomId places = index::AtomId(term.reduced.size());
  for (Case one : term.body) {
    one.where.box.resize(places);
    std::erase_if(one.where.cuts, [&](const Form& cut) {
      bool of_places = false;
      terms_.atoms().for_each_variable(cut, [&](index::AtomId v) { of_places |= v >= places; });
      return of_places;
    });
    domain.push_back(std::move(one));
  }
  CaseList list;
  bool everywhere = false;
  for (const Case& one : domain) {
    list.push_back(&one);
    everywhere = everywhere || (domain.size() == 1 && !condition(one.where, scope));
  }
  node.drop_outside = made.drop_outside || !everywhere;
  for (size_t d = 0; d < parts.extents.size(); ++d) {
    const Choose choose = [&](const Case& one, const Scope& inside) {
      return value(parts.places[size_t(&one - domain.data())][d], DType::i64, inside);
    };
    node.target.push_back(choice(list, scope, choose, -1, DType::i64));
  }
  node.body = choice(domain, scope, std::nullopt, term.type);
  node.result = new_array(id, term.width, layout_.hull(id));
  add({node}, fact_of(id, Origin::term));
}

// ---- step by step ----

void NormalWriter::write_scan(const NormalLayout::Stepped& loop) {
  const TermId id = loop.carried[0];
  const std::vector<Range>& hull = layout_.hull(id);
  const Scope scope = scope_of({}, hull);
  loops::Compute node;
  node.result = new_array(id, terms_[id].width, hull);
  node.loops = scope.indices;
  out_.program.indices[scope.indices[loop.loop->coordinate]].kind = loops::IndexKind::scan;
  node.body = choice(terms_[id].body, scope, std::nullopt, compute_type(terms_[id].width));
  add({node}, fact_of(id, Origin::term));
}

// A term at one step: the step is the counter of the loop around it.
loops::Compute NormalWriter::step(TermId id, ArrayId array, loops::IndexId counter, NormalLayout::Step step) {
  const Term& term = terms_[id];
  const size_t reduced = term.reduced.size();
  const int64_t steps = out_.program.indices[counter].extent;
  Scope scope = scope_of(term.reduced, layout_.hull(id));
  const size_t variable = reduced + step.coordinate;
  scope.indices[variable] = counter;
  scope.ranges[variable] = scope.known[variable] = {step.offset, step.offset + steps - 1, 1};
  loops::Compute node;
  if (term.kind == TermKind::reduce) {
    node = reduction(id, array, scope);
  } else {
    node.result = array;
    node.loops = scope.indices;
    node.body = term.kind == TermKind::carried ? choice(term.body, scope, std::nullopt, compute_type(term.width))
                                               : formula(id, identity(layout_.hull(id).size()), scope);
  }
  std::erase(node.loops, counter);
  return node;
}

void NormalWriter::write_repeat(const NormalLayout::Stepped& loop) {
  loops::Repeat node;
  const loops::IndexId counter = node.counter =
      out_.program.add_index("step", loop.loop->steps, loops::IndexKind::repeat);
  // The array of one step, and the one of all steps.
  const auto slice_of = [&](TermId id, DType type) {
    const uint32_t step = layout_.step_of(id).coordinate;
    Place place;
    Shape shape;
    for (uint32_t c = 0; c < layout_.hull(id).size(); ++c) {
      if (c == step) continue;
      place.coordinates.push_back(c);
      place.first.push_back(layout_.hull(id)[c].lo);
      shape.push_back(layout_.hull(id)[c].count());
    }
    place.array = out_.program.add_array(fresh_name(terms_[id].statement), type, std::move(shape));
    return place;
  };
  for (const TermId id : loop.carried) {
    places_[id] = slice_of(id, terms_[id].width);
    const loops::Array inner = out_.program.arrays[places_[id].array];
    loops::Constant start;
    start.result = out_.program.add_array(fresh_name(terms_[id].statement), inner.dtype, inner.shape);
    start.values.push_back(inner.dtype == DType::boolean ? Literal::of_bool(false) : Literal::of(int64_t(0)));
    add({start}, fact_of(id, Origin::start));
    node.carries.push_back({places_[id].array, start.result, loops::none});
  }
  std::vector<loops::Statement>* outside = std::exchange(block_, &node.body);
  for (const TermId id : loop.members) {
    if (layout_.is_inlined(id)) continue;
    const Place place = slice_of(id, result_type(terms_[id]));
    add({step(id, place.array, counter, layout_.step_of(id))}, fact_of(id, Origin::term));
    places_[id] = place;
  }
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    const TermId id = loop.carried[i];
    const Place next = slice_of(id, terms_[id].width);
    add({step(id, next.array, counter, {0, 1})}, fact_of(id, Origin::term));
    node.carries[i].next = next.array;
    const loops::Array made = out_.program.arrays[next.array];
    node.results.push_back(out_.program.add_array(fresh_name(terms_[id].statement), made.dtype, made.shape));
  }
  block_ = outside;
  for (const TermId id : loop.returned) {
    Place& place = places_.at(id);
    node.stacked.push_back(place.array);
    loops::Array made = out_.program.arrays[place.array];
    made.shape.insert(made.shape.begin(), loop.loop->steps);
    const NormalLayout::Step step = layout_.step_of(id);
    place.array = out_.program.add_array(fresh_name(terms_[id].statement), made.dtype, made.shape);
    place.coordinates.insert(place.coordinates.begin(), step.coordinate);
    place.first.insert(place.first.begin(), step.offset);
    node.results.push_back(place.array);
  }
  add({node}, fact_of(loop.carried[0], Origin::term));
}

}  // namespace lightline::demand
