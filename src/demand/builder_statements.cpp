#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "demand/builder.h"
#include "demand/known_values.h"

namespace lightline::demand {

using loops::ArrayId;

namespace {

constexpr int64_t most_known = int64_t(1) << 22;  // elements of an array of indices that are looked at
constexpr size_t most_shapes = 1024;

std::vector<Form> variables(size_t count, size_t first = 0) {
  std::vector<Form> forms;
  for (size_t i = 0; i < count; ++i) forms.push_back(Form::variable(index::AtomId(first + i)));
  return forms;
}

}  // namespace

void Builder::block(const std::vector<loops::Statement>& statements) {
  for (const loops::Statement& one : statements) {
    const loops::StatementId id = ids_.at(&one);
    terms_.set_statement(id);
    group_ = one.group == loops::none ? uint32_t(program_.groups.size()) + id : one.group;
    if (borders_) terms_.set_salt(group_);
    for (const ArrayId result : loops::results_of(one)) group_of_[result] = group_;
    std::visit([&](const auto& node) { statement(node); }, one.node);
  }
}

void Builder::block_of(const std::vector<loops::Statement>& statements, uint32_t group) {
  for (const loops::Statement& one : statements) {
    terms_.set_statement(ids_.at(&one));
    group_ = group;
    if (borders_) terms_.set_salt(group_);
    for (const ArrayId result : loops::results_of(one)) group_of_[result] = group;
    std::visit([&](const auto& node) { statement(node); }, one.node);
  }
}

void Builder::define(ArrayId array, Cases cases) {
  forget_view_of(array);
  algebra_.merge(cases);
  Algebra::narrow(cases, program_.arrays[array].dtype);
  form_.arrays[array] = std::move(cases);
  depth_[array] = uint32_t(counters_.size());
}

void Builder::forget_view_of(ArrayId array) {
  if (!seen_from_outside_.empty())
    std::erase_if(seen_from_outside_, [&](const auto& entry) { return entry.first.second == array; });
}

// An array of another group is in memory: what it is made of is not seen.
const Cases& Builder::cases_of(ArrayId array) {
  if (!borders_ || group_of_[array] == group_) return form_.arrays[array];
  const auto [at, added] = seen_from_outside_.try_emplace({group_, array});
  if (!added) return at->second;
  Cases cases = form_.arrays[array];
  for (Case& one : cases) {
    if (!algebra_.reads_data(one.value)) continue;
    if (!one.value.is_element()) continue;
    const Term made = terms_[one.value.term];
    Term stored;
    stored.kind = TermKind::stored;
    stored.rank = made.rank;
    stored.array = one.value.term;
    stored.type = made.type;
    stored.width = made.width;
    stored.reads_data = true;
    one.value.term = terms_.intern(std::move(stored));
  }
  return at->second = std::move(cases);
}

void Builder::define_input(ArrayId array, const Tensor* known) {
  const loops::Array& declared = program_.arrays[array];
  Term term;
  term.kind = TermKind::input;
  term.array = array;
  term.rank = uint32_t(declared.shape.size());
  term.type = compute_type(declared.dtype);
  term.width = declared.dtype;
  term.reads_data = true;
  if (known != nullptr) {
    const auto number_at = [&](int64_t i) {
      return is_integer(declared.dtype) ? double(known->get_i64(i)) : known->get_f64(i);
    };
    if (declared.dtype != DType::c64)
      if (const auto form = formula_of(declared.shape, number_at, atoms_))
        return define(array, {{Region::whole(declared.shape), Value::position(*form)}});
    Cases cases = declared.dtype == DType::c64 ? Cases{} : structure_of(declared.shape, number_at, atoms_);
    if (!cases.empty()) {
      algebra_.merge(cases);
      if (cases.size() <= most_shapes) return define(array, std::move(cases));
    }
  }
  const TermId id = terms_.intern(std::move(term));
  if (known != nullptr && (is_integer(declared.dtype) || declared.dtype == DType::boolean) &&
      known->size() <= most_known) {
    Atoms::Table table{declared.shape, {}};
    for (int64_t i = 0; i < known->size(); ++i) table.values.push_back(known->get_i64(i));
    atoms_.know(id, std::move(table));
    terms_.at(id).reads_data = false;
  }
  Region whole = Region::whole(declared.shape);
  if (whole.empty) return define(array, {});
  define(array, {{std::move(whole), Value::element(id, variables(declared.shape.size()), declared.dtype)}});
}

void Builder::statement(const loops::Constant& node) {
  const loops::Array& declared = program_.arrays[node.result];
  // Those inside of a loop are the same in every step.
  std::vector<int64_t> extents;
  for (const loops::IndexId counter : counters_) extents.push_back(program_.indices[counter].extent);
  const size_t before = extents.size();
  extents.insert(extents.end(), declared.shape.begin(), declared.shape.end());
  Region whole = Region::whole(extents);
  if (whole.empty) return define(node.result, {});
  if (is_uninitialised()) return define(node.result, {{whole, algebra_.nothing()}});
  if (node.values.size() == 1) return define(node.result, {{whole, Value::of(number_of(node.values[0]))}});
  const auto number_at = [&](int64_t i) { return number_of(node.values[size_t(i)]); };
  if (const auto form =
          declared.dtype == DType::c64 ? std::nullopt : formula_of(declared.shape, number_at, atoms_)) {
    algebra_.box = whole.box;
    const Value value = algebra_.moved(Value::position(*form), variables(declared.shape.size(), before));
    return define(node.result, {{whole, value}});
  }
  Cases cases = declared.dtype == DType::c64 ? Cases{} : structure_of(declared.shape, number_at, atoms_);
  algebra_.merge(cases);
  if (!cases.empty() && cases.size() <= most_shapes) {
    const std::vector<Form> images = variables(declared.shape.size(), before);
    const std::vector<Range> natural(whole.box.begin() + int64_t(before), whole.box.end());
    for (Case& one : cases) one.where = index::pull_back(one.where, natural, images, whole, atoms_);
    return define(node.result, std::move(cases));
  }
  Term term;
  term.kind = TermKind::input;
  term.array = node.result;
  term.rank = uint32_t(declared.shape.size());
  term.type = compute_type(declared.dtype);
  term.width = declared.dtype;
  const TermId id = terms_.intern(std::move(term));
  if (declared.dtype != DType::c64 && !is_float(declared.dtype)) {
    Atoms::Table table{declared.shape, {}};
    for (const loops::Literal& literal : node.values) table.values.push_back(literal.integer);
    atoms_.know(id, std::move(table));
  } else {
    terms_.at(id).reads_data = true;
  }
  define(node.result, {{whole, Value::element(id, variables(declared.shape.size(), before), declared.dtype)}});
}

bool Builder::is_uninitialised() const {
  if (group_ >= program_.groups.size()) return false;
  const std::string& name = program_.groups[group_];
  return name.find(".empty") != std::string::npos || name.find(".new_empty") != std::string::npos;
}

void Builder::statement(const loops::Compute& node) {
  const Space space = space_of(node.reduced, node.loops, node.result);
  if (is_uninitialised() && node.reducer == loops::Reducer::none && !space.whole().empty)
    return define(node.result, {{space.whole(), algebra_.nothing()}});
  if (std::any_of(space.box.begin() + space.reduced, space.box.end(), [](const Range& r) { return r.hi < r.lo; }))
    return define(node.result, {});
  const DType type = node.reducer == loops::Reducer::none ? program_.exprs[node.body].type : node.accumulator;
  const auto scanned = std::find_if(node.loops.begin(), node.loops.end(), [&](loops::IndexId index) {
    return program_.indices[index].kind == loops::IndexKind::scan;
  });
  if (scanned != node.loops.end() && reads_array(node.body, node.result)) {
    if (!running_total(node, space)) recurrence(node, space);
    return;
  }
  Cases body = evaluate(node.body, space);
  if (node.reducer != loops::Reducer::none) body = reduced(node.reducer, std::move(body), space, type);
  define(node.result, std::move(body));
}

void Builder::statement(const loops::Opaque& node) {
  std::string text = node.name;
  uint64_t hash = 0;
  OpaqueCall call;
  call.node = &node;
  for (const ArrayId operand : node.operands) {
    call.operands.push_back(cases_of(operand));
    for (const Case& one : call.operands.back())
      hash = hash * 0x9e3779b97f4a7c15u + index::hash_of(one.where) * 31 + hash_of(one.value);
    text += fmt::format(" {} {}", hash, to_string(program_.arrays[operand].shape));
  }
  for (const auto& [key, value] : node.attributes) {
    text += " " + key + "=";
    std::visit(
        [&](const auto& v) {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::vector<int64_t>>)
            for (const int64_t x : v) text += fmt::format("{},", x);
          else
            text += fmt::format("{}", v);
        },
        value);
  }
  const size_t depth = counters_.size();
  if (depth > 0) text += fmt::format(" #{}", form_.opaque.size());  // steps differ
  const auto [at, added] = opaque_by_text_.try_emplace(text, form_.opaque.size());
  const bool random = node.name == "random" && node.operands.empty();
  if (added || random) {
    for (const ArrayId result : node.results) {
      Term term;
      term.kind = TermKind::opaque;
      term.array = uint32_t(form_.opaque.size());
      term.rank = uint32_t(depth + program_.arrays[result].shape.size());
      term.type = compute_type(program_.arrays[result].dtype);
      term.width = program_.arrays[result].dtype;
      term.reads_data = true;
      call.results.push_back(terms_.add(std::move(term)));
    }
    form_.opaque.push_back(std::move(call));
  }
  const OpaqueCall& first = form_.opaque[added || random ? form_.opaque.size() - 1 : at->second];
  for (size_t i = 0; i < node.results.size(); ++i) {
    const ArrayId result = node.results[i];
    Region whole;
    for (const loops::IndexId counter : counters_) whole.box.push_back({0, program_.indices[counter].extent - 1, 1});
    for (const int64_t extent : program_.arrays[result].shape) whole.box.push_back({0, extent - 1, 1});
    for (const Range& range : whole.box) whole.empty |= range.hi < range.lo;
    if (whole.empty) {
      define(result, {});
      continue;
    }
    const size_t rank = whole.box.size();
    define(result,
           {{std::move(whole), Value::element(first.results[i], variables(rank), program_.arrays[result].dtype)}});
  }
}

}  // namespace lightline::demand
