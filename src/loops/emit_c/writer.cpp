#include "loops/emit_c/writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "loops/plan/uses.h"

namespace lightline::loops::c {
namespace {

bool fits_i32(const Node& node) { return node.low >= INT32_MIN && node.high <= INT32_MAX; }
bool fits_u32(const Node& node) { return node.low >= 0 && node.high <= INT32_MAX; }
bool is_bounded(const Node& node) { return node.low != INT64_MIN && node.high != INT64_MAX; }

// An integer that is a truth value, or one of two constants.
bool is_choice(const Nodes& nodes, NodeId id) {
  const Node& node = nodes[id];
  if (node.kind == NodeKind::cast) return nodes[node.args[0]].type == DType::boolean || is_choice(nodes, node.args[0]);
  if (node.kind == NodeKind::affine)
    return std::ranges::any_of(nodes.terms(node), [&](const Term& term) { return is_choice(nodes, term.atom); });
  return node.kind == NodeKind::call && node.function == Function::select && nodes.is_literal(node.args[1]) &&
         nodes.is_literal(node.args[2]);
}

}  // namespace

Writer::Writer(const Nodes& nodes) : nodes_(nodes), scopes_(1) {}

void Writer::set_access(ArrayId array, Access access) {
  access_[array] = std::move(access);
  levels_.clear();
}

void Writer::open() { scopes_.emplace_back(); }

void Writer::bring(VarId var) {
  level_of_[var] = depth();
  levels_.clear();
}

std::string Writer::close() {
  std::string text = std::move(scopes_.back().text);
  scopes_.pop_back();
  levels_.clear();
  return text;
}

void Writer::line(std::string_view text) {
  scopes_.back().text += text;
  scopes_.back().text += '\n';
}

std::string Writer::fresh(std::string_view stem) { return fmt::format("{}{}", stem, names_++); }

void Writer::define(NodeId id, std::string name) { scopes_.back().names[id] = std::move(name); }

const std::string* Writer::named(NodeId id) const {
  for (size_t i = scopes_.size(); i-- > 0;)
    if (const auto it = scopes_[i].names.find(id); it != scopes_[i].names.end()) return &it->second;
  return nullptr;
}

// The outermost scope in which a value can be computed. Unknown variables are parameters.
size_t Writer::level(NodeId root) {
  if (const auto known = levels_.find(root); known != levels_.end()) return known->second;
  nodes_.for_each(root, [&](const Node& node, NodeId id) {
    if (levels_.contains(id)) return;
    size_t result = 0;
    nodes_.for_each_child(node, [&](NodeId child) { result = std::max(result, levels_.at(child)); });
    if (node.kind == NodeKind::var) {
      const auto known = level_of_.find(node.args[0]);
      if (known != level_of_.end()) result = known->second;
    }
    if (node.kind == NodeKind::load)
      if (const auto known = access_.find(node.array); known != access_.end())
        result = std::max(result, known->second.level);
    levels_.emplace(id, result);
  });
  return levels_.at(root);
}

std::string Writer::value(NodeId id) {
  const Node& node = nodes_[id];
  if (assumed.contains(id)) return "1";
  if (node.kind == NodeKind::literal) return literal_text(node.type, node.literal);
  if (node.kind == NodeKind::var) {
    if (!level_of_.contains(node.args[0])) outer_.insert(node.args[0]);
    return var_name(node.args[0]);
  }
  if (const std::string* known = named(id)) return *known;
  const size_t at = std::min(level(id), depth());
  std::string text = compute(node, at);
  if (text == "1" || text == "0") return text;
  std::string own = fresh("t");
  scopes_[at].text += fmt::format("const {} {} = {};\n", value_type(node.type), own, text);
  scopes_[at].names.emplace(id, own);
  return own;
}

std::string Writer::index(NodeId id) { return nodes_[id].kind == NodeKind::affine ? sum(nodes_[id]) : value(id); }

// gcc 12 takes x * 0x0101...01 >> 56 for a count of bits, and where the processor counts in vectors (AVX-512) it folds
// the counts of two known values in one vector to the values themselves. So it must not know the factor then.
bool Writer::counts_known_bits(const Term& term) {
  if (term.coefficient != 0x0101010101010101) return false;
  if (fixed_.empty()) fixed_ = fixed_arrays(nodes_.program());
  bool is_known = true;
  nodes_.for_each(term.atom,
                  [&](const Node& node, NodeId) { is_known &= node.kind != NodeKind::load || fixed_[node.array]; });
  return is_known;
}

std::string Writer::sum(const Node& node) {
  const bool wraps = !is_bounded(node);
  std::string text;
  for (const Term& term : nodes_.terms(node)) {
    const std::string atom = value(term.atom);
    if (!text.empty()) text += " + ";
    if (wraps && counts_known_bits(term))
      text += fmt::format("(uint64_t){} * ll_byte_ones", atom);
    else if (wraps)
      text += fmt::format("(uint64_t){} * {}u", atom, uint64_t(term.coefficient));
    else if (term.coefficient == 1)
      text += atom;
    else
      text += fmt::format("{} * {}", atom, literal_text(DType::i64, Literal::of(term.coefficient)));
  }
  if (node.constant != 0)
    text += wraps ? fmt::format(" + {}u", uint64_t(node.constant))
                  : fmt::format(" + {}", literal_text(DType::i64, Literal::of(node.constant)));
  return wraps ? fmt::format("(int64_t)({})", text) : text;
}

std::string Writer::compute(const Node& node, size_t at) {
  switch (node.kind) {
    case NodeKind::affine: return sum(node);
    case NodeKind::load: return load(node);
    case NodeKind::in_range: return fmt::format("(uint64_t)({}) < {}u", value(node.args[0]), node.constant);
    case NodeKind::checked: return check(node, at);
    case NodeKind::cast: {
      const Node& from = nodes_[node.args[0]];
      const std::string inner = value(node.args[0]);
      if (from.type == DType::i64 && is_float(node.type) && node.target == node.type && fits_i32(from))
        return fmt::format("({})(int32_t){}", value_type(node.type), inner);
      return cast_text(from.type, node.target, inner);
    }
    case NodeKind::call: return call(node);
    default: LL_CHECK(false); return "";
  }
}

void Writer::use(ArrayId array) {
  if (std::ranges::find(used_, array) == used_.end()) used_.push_back(array);
}

std::string Writer::load(const Node& node) {
  const auto known = access_.find(node.array);
  LL_CHECK(known != access_.end());
  const Access& access = known->second;
  if (!access.is_local && !access.is_value) use(node.array);
  const std::string guard = node.guard == none ? "1" : value(node.guard);
  if (guard == "0") return literal_text(node.type, node.literal);
  std::string element = access.pointer;
  if (!access.is_value) {
    const NodeId position = nodes_.operands(node)[0];
    const std::string at =
        is_choice(nodes_, position) ? fmt::format("ll_scalar_index({})", index(position)) : index(position);
    element = from_storage(access.element, fmt::format("{}[{}]", access.pointer, at));
  }
  if (guard == "1") return element;
  return fmt::format("{} ? {} : {}", guard, element, literal_text(node.type, node.literal));
}

std::string Writer::check(const Node& node, size_t at) {
  has_checks_ = true;
  const std::string subscript = value(node.args[0]);
  const std::string ok = fresh("ok");
  scopes_[at].text += fmt::format("const _Bool {} = (uint64_t)({}) < {}u;\n", ok, subscript, node.constant);
  scopes_[at].text +=
      fmt::format("if (__builtin_expect(!{}, 0)) ll_outside(H, {}, {}, {}, {});\n", ok, int64_t(node.statement),
                  node.array == none ? -1 : int64_t(node.array), node.dimension, subscript);
  return ok;
}

std::string Writer::call(const Node& node) {
  const int arity = info(node.function).arity;
  std::string text[3];
  for (int i = 0; i < arity; ++i) text[i] = value(node.args[i]);
  const DType operand = nodes_[node.args[arity - 1]].type;
  const auto arg = [&](int i) -> const Node& { return nodes_[node.args[i]]; };
  if (node.function == Function::logical_and) {
    if (text[0] == "1") return text[1];
    if (text[1] == "1") return text[0];
  }
  if (operand == DType::i64 && arity == 2) {
    const bool is_comparison = node.type == DType::boolean;
    if (is_comparison && fits_i32(arg(0)) && fits_i32(arg(1)))
      return call_text(node.function, operand, "(int32_t)" + text[0], "(int32_t)" + text[1], "");
    const bool is_division = node.function == Function::div || node.function == Function::mod;
    if (is_division && arg(1).low > 0 && fits_u32(arg(0)) && fits_u32(arg(1)))
      return fmt::format("(int64_t)((uint32_t){} {} (uint32_t){})", text[0], node.function == Function::div ? "/" : "%",
                         text[1]);
  }
  return call_text(node.function, operand, text[0], text[1], text[2]);
}

}  // namespace lightline::loops::c
