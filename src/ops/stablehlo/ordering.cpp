// StableHLO: sorting. A comparator that compares keys one after the other becomes stable sorts from the last key to
// the first; others stay opaque.
#include <fmt/format.h>

#include <algorithm>

#include "ops/build/registry.h"
#include "ops/library/reduction/reduction.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;
using graph::Graph;
using graph::Node;
using graph::ValueId;

struct Key {
  size_t operand = 0;
  bool descending = false;
  bool is_unsigned = false;
  bool operator==(const Key&) const = default;
};

// Reads a comparator (left 0, right 0, left 1, right 1, ...) -> bool.
class Comparator {
 public:
  explicit Comparator(const Graph& body) : body_(body), maker_(graph::makers(body)) {}

  std::optional<std::vector<Key>> keys(size_t operands) const {
    if (body_.inputs.size() != 2 * operands || body_.outputs.size() != 1) return std::nullopt;
    std::vector<Key> found;
    if (!read(body_.outputs[0].value, found, 0)) return std::nullopt;
    return found;
  }

 private:
  static constexpr int deepest = 64;

  std::vector<ValueId> parts(ValueId id, std::string_view target) const {
    const Node* node = maker_[id];
    std::vector<ValueId> ids;
    if (!node || node->target != target) return ids;
    for (const graph::NamedArgument& argument : node->arguments)
      if (const auto* ref = std::get_if<graph::ValueRef>(&argument.value); ref && argument.name.empty())
        ids.push_back(ref->id);
    return ids;
  }

  // first < second; or first < second or (first == second and the rest); or a choice between the two.
  bool read(ValueId id, std::vector<Key>& keys, int depth) const {
    if (depth > deepest) return false;
    if (const auto key = ordered(id)) {
      keys.push_back(*key);
      return true;
    }
    if (const auto either = parts(id, "stablehlo.or"); either.size() == 2) {
      const auto key = ordered(either[0]);
      const auto rest = parts(either[1], "stablehlo.and");
      if (!key || rest.size() != 2 || !equal(rest[0], *key)) return false;
      keys.push_back(*key);
      return read(rest[1], keys, depth + 1);
    }
    if (const auto choice = parts(id, "stablehlo.select"); choice.size() == 3) {
      const auto key = ordered(choice[2]);
      if (!key || !equal(choice[0], *key)) return false;
      keys.push_back(*key);
      return read(choice[1], keys, depth + 1);
    }
    return false;
  }

  std::string_view direction(ValueId id) const {
    const auto* text = std::get_if<std::string>(node_argument(*maker_[id], "comparison_direction"));
    return text ? std::string_view(*text) : std::string_view();
  }
  std::optional<Key> ordered(ValueId id) const {
    const auto sides = parts(id, "stablehlo.compare");
    if (sides.size() != 2) return std::nullopt;
    const auto left = source(sides[0], 0), right = source(sides[1], 0);
    const std::string_view how = direction(id);
    if (!left || !right || (how != "LT" && how != "GT")) return std::nullopt;
    const bool swapped = *left == *right + 1 && *right % 2 == 0, straight = *right == *left + 1 && *left % 2 == 0;
    if (!swapped && !straight) return std::nullopt;
    return Key{std::min(*left, *right) / 2, (how == "GT") != swapped,
               node_argument(*maker_[id], "unsigned") != nullptr};
  }
  bool equal(ValueId id, const Key& key) const {
    const auto sides = parts(id, "stablehlo.compare");
    if (sides.size() != 2 || direction(id) != "EQ") return false;
    const auto left = source(sides[0], 0), right = source(sides[1], 0);
    return left && right && *left != *right && *left / 2 == key.operand && *right / 2 == key.operand;
  }
  // The one argument that a value comes from: itself, or with its zeros and NaNs made alike.
  std::optional<size_t> source(ValueId id, int depth) const {
    for (size_t i = 0; i < body_.inputs.size(); ++i)
      if (body_.inputs[i].value == id) return i;
    const auto choice = parts(id, "stablehlo.select");
    if (choice.size() != 3 || depth > deepest || !maker_[choice[1]] ||
        maker_[choice[1]]->target != "stablehlo.constant")
      return std::nullopt;
    const auto kept = source(choice[2], depth + 1);
    const auto test = parts(choice[0], "stablehlo.compare");
    if (!kept || test.empty() || (direction(choice[0]) != "EQ" && direction(choice[0]) != "NE")) return std::nullopt;
    return source(test[0], depth + 1) == kept ? kept : std::nullopt;
  }

  const Graph& body_;
  std::vector<const Node*> maker_;
};

struct Sorted {
  SymbolicTensor values, positions;
};

// Unsigned keys sort as signed ones with their first bit turned.
Sorted sorted(Lowering& l, const SymbolicTensor& x, int64_t dim, const Key& key) {
  SymbolicTensor keys = x;
  const auto flipped = [&](const SymbolicTensor& t) {
    const int64_t least = t.dtype == DType::i64 ? INT64_MIN : -(int64_t(1) << (bits(t.dtype) - 1));
    return l.map(t.dtype, t.shape, [&](const Indices& i) {
      return call(Function::bitxor_, l.read(t, i), literal_of(l, t.dtype, 0, least));
    });
  };
  if (key.is_unsigned) keys = flipped(x);
  const auto results = l.opaque("sort", {keys}, {{"dim", dim}, {"descending", key.descending}},
                                {{keys.dtype, keys.shape}, {DType::i64, keys.shape}});
  return {key.is_unsigned ? flipped(results[0]) : results[0], results[1]};
}

SymbolicTensor taken(Lowering& l, const SymbolicTensor& x, const SymbolicTensor& positions, int64_t dim) {
  return l.map(x.dtype, x.shape, [&](const Indices& i) {
    Indices at = i;
    at[size_t(dim)] = l.index(l.read(positions, i), {0, std::max<int64_t>(0, x.shape[size_t(dim)] - 1)});
    return l.read(x, at);
  });
}

void define_sort(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> x = operands(c);
  require(!x.empty(), "there is nothing to sort");
  for (const SymbolicTensor& tensor : x) require(tensor.shape == x[0].shape, "the operands of a sort differ in shape");
  if (x[0].shape.empty()) {
    for (const SymbolicTensor& tensor : x) c.add_result(tensor);
    return;
  }
  const int64_t dim = wrap_dim(c.integer("dimension", -1), x[0].rank());
  const auto keys = captures(c, 0).empty() ? Comparator(region(c, 0)).keys(x.size()) : std::nullopt;
  bool known = keys.has_value();
  if (known)
    for (const Key& key : *keys) known &= x[key.operand].dtype != DType::c64;
  if (!known) return add_opaque_results(c, "sort_by_comparator", x);
  std::optional<SymbolicTensor> positions;
  Sorted last{};
  for (size_t k = keys->size(); k-- > 0;) {
    const Key& key = (*keys)[k];
    last = sorted(l, positions ? taken(l, x[key.operand], *positions, dim) : x[key.operand], dim, key);
    positions = positions ? taken(l, *positions, last.positions, dim) : last.positions;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const Formula* formula = l.formula_of(x[i]);
    if (i == keys->front().operand) {
      c.add_result(last.values);
    } else if (formula && x[i].view == loops::none && formula->iota == dim) {
      c.add_result(l.cast(*positions, x[i].dtype));
    } else {
      c.add_result(taken(l, x[i], *positions, dim));
    }
  }
}

void define_top_k(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = first_operand(c);
  const int64_t k = c.integer("k");
  require(x.rank() >= 1 && x.dtype != DType::c64 && !c.has("unsigned"), "top_k takes a tensor of ordered numbers");
  require(k >= 0 && k <= x.shape.back(), fmt::format("k is {}, but there are {} elements", k, x.shape.back()));
  Shape shape = x.shape;
  shape.back() = k;
  const auto results = l.opaque("topk", {x}, {{"k", k}, {"dim", x.rank() - 1}, {"largest", c.flag("largest", true)}},
                                {{x.dtype, shape}, {DType::i64, shape}});
  c.add_result(results[0]);
  c.add_result(l.cast(results[1], result_type_of(c, 1).dtype));
}

// The custom call says k by the shape of its result.
void define_top_k_call(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = first_operand(c);
  const Shape shape = result_type_of(c).shape;
  require(x.rank() >= 1 && shape.size() == x.shape.size(), "top_k takes a tensor of ordered numbers");
  const auto results = l.opaque("topk", {x}, {{"k", shape.back()}, {"dim", x.rank() - 1}, {"largest", true}},
                                {{x.dtype, shape}, {DType::i64, shape}});
  c.add_result(results[0]);
  c.add_result(l.cast(results[1], result_type_of(c, 1).dtype));
}

// Exact where it may be approximate. Its comparator is a function named after its direction.
void define_approximate_top_k(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> x = operands(c);
  const int64_t dim = c.integer("mhlo.backend_config.reduction_dim", -1), k = c.integer("mhlo.backend_config.top_k", 0);
  const std::string comparator = c.text("called_computations", "");
  require(x.size() == 4 && x[0].rank() >= 1 && x[1].shape == x[0].shape && x[0].dtype != DType::c64,
          "an approximate top_k takes values and their positions");
  const Formula* positions = l.formula_of(x[1]);
  const int64_t along = wrap_dim(dim, x[0].rank());
  if (!positions || x[1].view != loops::none || positions->iota != along ||
      !c.flag("mhlo.backend_config.aggregate_to_topk", true))
    return add_opaque_results(c, "approximate_top_k", x);
  Shape shape = x[0].shape;
  require(k >= 0 && k <= shape[size_t(along)], "k is larger than the number of elements");
  shape[size_t(along)] = k;
  const bool largest = comparator.find("_lt_") == std::string::npos;
  const auto results = l.opaque("topk", {x[0]}, {{"k", k}, {"dim", along}, {"largest", largest}},
                                {{x[0].dtype, shape}, {DType::i64, shape}});
  c.add_result(results[0]);
  c.add_result(l.cast(results[1], x[1].dtype));
}

}  // namespace

void register_stablehlo_ordering(Registry& r) {
  r.add("stablehlo.sort", "inputs", define_sort);
  r.add("chlo.top_k", "operand", define_top_k);
  r.add("stablehlo.custom_call.mhlo.topk", "operand", define_top_k_call,
        {"stablehlo.custom_call.TopK", "stablehlo.custom_call.__gpu$TopK"});
  r.add("stablehlo.custom_call.ApproxTopK", "operand, positions, init_value, init_position", define_approximate_top_k,
        {"stablehlo.custom_call.PartialReduce"});
}

}  // namespace lightline::ops
