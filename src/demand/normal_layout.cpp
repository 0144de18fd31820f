#include "demand/normal_layout.h"

#include <algorithm>
#include <cmath>

namespace lightline::demand {
namespace {

constexpr int deepest_inlined = 40;                    // of an expression
constexpr double greatest_exact = 9007199254740992.0;  // 2^53

bool is_map(const Term& term) {
  return term.kind == TermKind::call || term.kind == TermKind::sum || term.kind == TermKind::product;
}

double points_of(std::span<const Range> box) {
  double points = 1;
  for (const Range& range : box) points *= double(range.count());
  return points;
}

}  // namespace

DType result_type(const Term& term) {
  using loops::Signature;
  if (term.kind == TermKind::reduce &&
      (term.reducer == loops::Reducer::argmax || term.reducer == loops::Reducer::argmin))
    return DType::i64;
  if (term.kind != TermKind::call) return compute_type(term.type);
  switch (loops::info(term.function).signature) {
    case Signature::equality:
    case Signature::ordering:
    case Signature::logic:
    case Signature::test: return DType::boolean;
    case Signature::magnitude: return term.type == DType::c64 ? DType::f32 : term.type;
    case Signature::make_complex: return DType::c64;
    case Signature::complex_part: return DType::f32;
    case Signature::to_bits: return term.type == DType::f64 ? DType::i64 : DType::i32;
    case Signature::from_bits: return term.type == DType::i64 ? DType::f64 : DType::f32;
    default: return term.type;
  }
}

NormalLayout::NormalLayout(NormalForm& form)
    : form_(form), terms_(form.terms), atoms_(form.terms.atoms()), array_hulls_(hulls_of(*form.program)) {
  spelled_.assign(form.program->arrays.size(), -1);
  tainted_.assign(terms_.size(), false);
  find_loops();
  find_unwritable();
}

// ---- who reads what ----

void NormalLayout::uses_of(const Form& form, const std::vector<Range>& box, const Visit& visit) const {
  for (const auto& [id, coefficient] : form.terms) {
    if (index::is_variable(id)) continue;
    const index::Atom& atom = atoms_[id];
    if (atom.kind == index::Atom::Kind::data) {
      if (atom.source == UINT32_MAX) continue;  // is not writable
      visit({atom.source, atom.at, true}, box);
      for (const Form& at : atom.at) uses_of(at, box, visit);
    } else {
      uses_of(atom.of, box, visit);
    }
  }
}

void NormalLayout::uses_of(const Value& value, const std::vector<Range>& box, const Visit& visit) const {
  if (value.is_position()) return uses_of(value.form, box, visit);
  if (!value.is_element()) return;
  visit({value.term, value.at, false}, box);
  for (const Form& form : value.at) uses_of(form, box, visit);
}

void NormalLayout::uses_of(const Cases& cases, const std::vector<Range>& scope, const Visit& visit) const {
  for (const Case& one : cases) {
    if (!is_live(one)) continue;
    std::vector<Range> box = scope;
    for (size_t v = 0; v < box.size(); ++v) {
      const Range& own = one.where.box[v];
      if (own == index::anything) continue;
      box[v] = {std::max(box[v].lo, own.lo), std::min(box[v].hi, own.hi), 1};
    }
    if (std::any_of(box.begin(), box.end(), [](const Range& range) { return range.hi < range.lo; })) box = scope;
    uses_of(one.value, box, visit);
    for (const Form& cut : one.where.cuts) uses_of(cut, scope, visit);
  }
}

void NormalLayout::uses_of(TermId id, const std::vector<Range>& box, const Visit& visit) const {
  const Term& term = terms_[id];
  for (const Argument& arg : term.args) uses_of(arg.value, box, visit);
  uses_of(term.body, box, visit);
  if (term.kind == TermKind::opaque) {
    const OpaqueCall& call = form_.opaque[term.array];
    for (size_t i = 0; i < call.operands.size(); ++i) {
      std::vector<Range> whole;
      for (const int64_t extent : form_.program->arrays[call.node->operands[i]].shape)
        whole.push_back({0, extent - 1, 1});
      if (call.operands[i].empty() || call.operands[i][0].where.box.size() == whole.size())
        uses_of(call.operands[i], whole, visit);
    }
  }
  if (term.kind == TermKind::scatter) {
    const ScatterParts& parts = form_.scatters[term.array];
    for (const std::vector<Value>& places : parts.places)
      for (const Value& place : places) uses_of(place, box, visit);
    std::vector<Range> whole;
    for (const int64_t extent : parts.extents) whole.push_back({0, extent - 1, 1});
    if (parts.init.empty() || parts.init[0].where.box.size() == whole.size()) uses_of(parts.init, whole, visit);
  }
}

void NormalLayout::neighbours(TermId id, std::vector<TermId>& found) const {
  const Term& term = terms_[id];
  const std::vector<Range> box(term.rank + term.reduced.size(), index::anything);
  uses_of(id, box, [&](const Use& use, const std::vector<Range>&) { found.push_back(use.term); });
}

bool NormalLayout::is_live(const Case& one) const {
  if (one.where.cuts.empty()) return !one.where.empty;
  const auto [at, added] = live_.try_emplace(&one, true);
  const bool bounded = std::none_of(one.where.box.begin(), one.where.box.end(),
                                    [](const Range& range) { return range == index::anything; });
  if (added && bounded) at->second = !index::has_no_points(one.where, atoms_);
  return at->second;
}

// ---- what can be written ----

// Numbers are doubles: whole ones are exact up to a limit, and the ends of what integers hold are known.
bool NormalLayout::has_exact_numbers(const Value& value, DType type) const {
  if (value.is_position()) return !is_integer(type) || value.denominator == 1;
  if (!value.is_number() || !is_integer(type)) return true;
  const double size = std::abs(value.number);
  return std::isinf(size) || size == 0x1p63 || (size <= greatest_exact && size == std::floor(size));
}

bool NormalLayout::is_writable(TermId id) const {
  const Term& term = terms_[id];
  const loops::Program& program = *form_.program;
  const auto covers = [&](const Cases& cases, const Shape& shape) {
    double found = 0, wanted = 1;
    for (const int64_t extent : shape) wanted *= double(extent);
    for (const Case& one : cases) found += index::count(one.where, atoms_);
    return found >= wanted;
  };
  switch (term.kind) {
    case TermKind::stored: return false;
    case TermKind::array:
      if (term.reads_data) return false;
      break;
    case TermKind::carried: return stepped(id) != nullptr;
    case TermKind::opaque: {
      const OpaqueCall& call = form_.opaque[term.array];
      for (size_t i = 0; i < call.results.size(); ++i)
        if (call.results[i] == id && term.rank != program.arrays[call.node->results[i]].shape.size()) return false;
      for (size_t i = 0; i < call.operands.size(); ++i) {
        const loops::ArrayId operand = call.node->operands[i];
        if (!form_.complete[operand] || !covers(call.operands[i], program.arrays[operand].shape)) return false;
      }
      return true;
    }
    case TermKind::scatter: {
      const ScatterParts& parts = form_.scatters[term.array];
      return term.rank == parts.extents.size() && (parts.init.empty() || covers(parts.init, parts.extents));
    }
    default: break;
  }
  const auto exact = [&](const Value& value) { return has_exact_numbers(value, term.type); };
  if (is_integer(term.type) && (term.kind == TermKind::sum || term.kind == TermKind::product))
    if (!exact(Value::of(term.number))) return false;
  for (const Argument& arg : term.args)
    if (!exact(arg.value) || !exact(Value::of(arg.factor))) return false;
  return std::all_of(term.body.begin(), term.body.end(), [&](const Case& one) { return exact(one.value); });
}

void NormalLayout::find_unwritable() {
  std::vector<std::vector<TermId>> made_of(terms_.size());
  for (TermId id = 0; id < terms_.size(); ++id) {
    tainted_[id] = !is_writable(id);
    neighbours(id, made_of[id]);
  }
  const auto has_unknown = [&](const Form& form, const auto& self) -> bool {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& part) {
      if (index::is_variable(part.first)) return false;
      const index::Atom& atom = atoms_[part.first];
      if (atom.kind != index::Atom::Kind::data) return self(atom.of, self);
      return atom.source == UINT32_MAX ||
             std::any_of(atom.at.begin(), atom.at.end(), [&](const Form& at) { return self(at, self); });
    });
  };
  const auto unknown_in = [&](const Value& value) {
    return has_unknown(value.form, has_unknown) || std::any_of(value.at.begin(), value.at.end(), [&](const Form& form) {
             return has_unknown(form, has_unknown);
           });
  };
  for (TermId id = 0; id < terms_.size(); ++id) {
    for (const Argument& arg : terms_[id].args) tainted_[id] = tainted_[id] || unknown_in(arg.value);
    for (const Case& one : terms_[id].body) tainted_[id] = tainted_[id] || unknown_in(one.value);
  }
  for (bool again = true; again;) {
    again = false;
    const auto taint = [&](TermId id) {
      again = again || !tainted_[id];
      tainted_[id] = true;
    };
    for (TermId id = 0; id < terms_.size(); ++id)
      if (!tainted_[id] && std::any_of(made_of[id].begin(), made_of[id].end(), [&](TermId t) { return tainted_[t]; }))
        taint(id);
    for (const Stepped& loop : stepped_) {  // all of it or nothing
      const auto is_tainted = [&](TermId id) { return tainted_[id]; };
      if (std::none_of(loop.carried.begin(), loop.carried.end(), is_tainted) &&
          std::none_of(loop.members.begin(), loop.members.end(), is_tainted))
        continue;
      for (const TermId id : loop.carried) taint(id);
      for (const TermId id : loop.members) taint(id);
    }
  }
}

bool NormalLayout::is_spelled(loops::ArrayId array) {
  if (spelled_[array] >= 0) return spelled_[array] != 0;
  const loops::Array& declared = form_.program->arrays[array];
  bool spelled = !form_.complete[array];
  double wanted = 1, found = 0;
  for (const Range& range : array_hulls_[array].ranges) wanted *= double(range.count());
  const std::vector<Range> box(declared.shape.size(), index::anything);
  for (const Case& one : form_.arrays[array]) {
    if (spelled) break;
    found += index::count(one.where, atoms_);
    spelled = one.where.box.size() != declared.shape.size() || !has_exact_numbers(one.value, declared.dtype);
  }
  if (!spelled)
    uses_of(form_.arrays[array], box,
            [&](const Use& use, const std::vector<Range>&) { spelled = spelled || tainted_[use.term]; });
  spelled = spelled || found < wanted;
  spelled_[array] = spelled;
  return spelled;
}

void NormalLayout::want(loops::ArrayId array) { wanted_.push_back(array); }

// ---- order and sizes ----

void NormalLayout::run() {
  needed_.assign(terms_.size(), false);
  uses_.assign(terms_.size(), 0);
  by_data_.assign(terms_.size(), false);
  inlined_.assign(terms_.size(), false);
  hulls_.assign(terms_.size(), {});
  sort();
  find_hulls();
  choose_inlined();
}

void NormalLayout::sort() {
  const auto node_of = [&](TermId id) {
    if (const Stepped* loop = stepped(id)) return loop->carried[0];
    return terms_[id].kind == TermKind::opaque ? form_.opaque[terms_[id].array].results[0] : id;
  };
  const auto below = [&](TermId node) {
    std::vector<TermId> found;
    if (const Stepped* loop = stepped(node)) {
      for (const TermId id : loop->carried) neighbours(id, found);
      for (const TermId id : loop->members) neighbours(id, found);
    } else {
      neighbours(node, found);
    }
    for (TermId& id : found) id = node_of(id);
    std::erase(found, node);
    return found;
  };
  struct Open {
    TermId node;
    std::vector<TermId> below;
  };
  std::vector<Open> open;
  const auto enter = [&](TermId id) {
    const TermId node = node_of(id);
    if (needed_[node]) return;
    needed_[node] = true;
    open.push_back({node, below(node)});
  };
  for (const loops::ArrayId array : wanted_)
    if (!form_.arrays[array].empty())
      uses_of(form_.arrays[array], form_.arrays[array][0].where.box, [&](const Use& use, const std::vector<Range>&) {
        enter(use.term);
        while (!open.empty()) {
          if (open.back().below.empty()) {
            order_.push_back(open.back().node);
            open.pop_back();
            continue;
          }
          const TermId next = open.back().below.back();
          open.back().below.pop_back();
          enter(next);
        }
      });
}

std::vector<Range> NormalLayout::scope(TermId id) const {
  std::vector<Range> box = terms_[id].reduced;
  box.insert(box.end(), hulls_[id].begin(), hulls_[id].end());
  return box;
}

double NormalLayout::points(TermId id) const { return points_of(hulls_[id]); }

void NormalLayout::reach(const Use& use, const std::vector<Range>& box) {
  ++uses_[use.term];
  by_data_[use.term] = by_data_[use.term] || use.by_data;
  std::vector<Range>& hull = hulls_[use.term];
  const bool first = hull.empty();
  hull.resize(use.at.size());
  for (size_t c = 0; c < use.at.size(); ++c) {
    const Range range = atoms_.range(use.at[c], box);
    hull[c] =
        first ? Range{range.lo, range.hi, 1} : Range{std::min(hull[c].lo, range.lo), std::max(hull[c].hi, range.hi), 1};
  }
}

void NormalLayout::find_hulls() {
  std::vector<double> users(terms_.size(), 0);  // points of who reads it
  depth_.assign(terms_.size(), 0);
  const Stepped* inside = nullptr;
  const auto visit = [&](const Use& use, const std::vector<Range>& box) {
    reach(use, box);
    users[use.term] = std::max(users[use.term], points_of(box));
    const auto found = stepped_of_.find(use.term);
    if (found == stepped_of_.end() || &stepped_[found->second] == inside) return;
    std::vector<TermId>& returned = stepped_[found->second].returned;
    if (std::find(returned.begin(), returned.end(), use.term) == returned.end()) returned.push_back(use.term);
  };
  for (const loops::ArrayId array : wanted_) {
    std::vector<Range> whole;
    for (const int64_t extent : form_.program->arrays[array].shape) whole.push_back({0, extent - 1, 1});
    uses_of(form_.arrays[array], whole, visit);
  }
  const auto natural = [&](TermId id) {
    const Term& term = terms_[id];
    std::vector<Range>& hull = hulls_[id];
    if (term.kind == TermKind::carried) {
      hull = term.body[0].where.box;
      for (const Case& one : term.body)
        for (size_t c = 0; c < hull.size(); ++c)
          hull[c] = {std::min(hull[c].lo, one.where.box[c].lo), std::max(hull[c].hi, one.where.box[c].hi), 1};
      for (size_t c = 0; c < hull.size(); ++c)
        if (stepped(id)->scans) hull[c].lo = 0;
    }
    const OpaqueCall* call = term.kind == TermKind::opaque ? &form_.opaque[term.array] : nullptr;
    for (size_t i = 0; call != nullptr && i < call->results.size(); ++i) {
      hulls_[call->results[i]].clear();
      for (const int64_t extent : form_.program->arrays[call->node->results[i]].shape)
        hulls_[call->results[i]].push_back({0, extent - 1, 1});
    }
    if (term.kind != TermKind::scatter) return;
    hull.clear();
    for (const int64_t extent : form_.scatters[term.array].extents) hull.push_back({0, extent - 1, 1});
  };
  for (size_t i = order_.size(); i-- > 0;) {
    const Stepped* loop = stepped(order_[i]);
    if (loop == nullptr) {
      natural(order_[i]);
      uses_of(order_[i], scope(order_[i]), visit);
      continue;
    }
    inside = loop;
    for (const TermId id : loop->carried) natural(id);
    for (const TermId id : loop->carried) uses_of(id, scope(id), visit);
    for (size_t m = loop->members.size(); m-- > 0;) uses_of(loop->members[m], scope(loop->members[m]), visit);
    inside = nullptr;
  }
  for (TermId id = 0; id < terms_.size(); ++id)  // where it is not recomputed
    inlined_[id] = is_map(terms_[id]) && uses_[id] == 1 && !by_data_[id] && 2 * points(id) >= users[id];
}

void NormalLayout::choose_inlined() {
  const auto settle = [&](TermId id, bool always) {
    const Term& term = terms_[id];
    int depth = int(term.args.size());
    for (const Argument& arg : term.args)
      if (arg.value.is_element() && inlined_[arg.value.term])
        depth = std::max(depth, depth_[arg.value.term] + int(term.args.size()));
    depth_[id] = depth;
    inlined_[id] = always || (inlined_[id] && depth <= deepest_inlined);
  };
  for (const TermId id : order_) {
    const Stepped* loop = stepped(id);
    if (loop == nullptr)
      settle(id, false);
    else
      for (const TermId member : loop->members) settle(member, loop->scans);
  }
}

}  // namespace lightline::demand
