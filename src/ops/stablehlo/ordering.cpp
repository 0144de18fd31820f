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
using Part = SortKey::Part;

struct Sorted {
  SymbolicTensor values, positions;
};

// Unsigned numbers are ordered as signed ones with their first bit turned.
SymbolicTensor turned(Lowering& l, const SymbolicTensor& x) {
  const int64_t least = x.dtype == DType::i64 ? INT64_MIN : -(int64_t(1) << (bits(x.dtype) - 1));
  return l.map(x.dtype, x.shape, [&](const Indices& i) {
    return call(Function::bitxor_, l.read(x, i), literal_of(l, x.dtype, 0, least));
  });
}

SymbolicTensor part_of(Lowering& l, const SymbolicTensor& x, Part part) {
  if (part == Part::whole || x.dtype != DType::c64) return x;
  const Function function = part == Part::real ? Function::real : Function::imag;
  return l.map(DType::f32, x.shape, [&](const Indices& i) { return call(function, l.read(x, i)); });
}

Sorted sorted(Lowering& l, const SymbolicTensor& x, int64_t dim, const SortKey& key) {
  const SymbolicTensor keys = key.is_unsigned ? turned(l, x) : part_of(l, x, key.part);
  std::vector<std::pair<std::string, loops::Attribute>> how{{"dim", dim}, {"descending", key.descending}};
  if (key.total && is_float(keys.dtype)) how.emplace_back("total", true);
  const auto results = l.opaque("sort", {keys}, std::move(how), {{keys.dtype, keys.shape}, {DType::i64, keys.shape}});
  return {key.is_unsigned ? turned(l, results[0]) : results[0], results[1]};
}

// The `k` greatest or least elements and their positions; floats in the order of their bits.
Sorted foremost(Lowering& l, const SymbolicTensor& x, int64_t dim, int64_t k, bool largest, bool is_unsigned) {
  Shape shape = x.shape;
  shape[size_t(dim)] = k;
  std::vector<std::pair<std::string, loops::Attribute>> how{{"k", k}, {"dim", dim}, {"largest", largest}};
  if (is_float(x.dtype)) how.emplace_back("total", true);
  const SymbolicTensor keys = is_unsigned ? turned(l, x) : x;
  const auto results = l.opaque("topk", {keys}, std::move(how), {{x.dtype, shape}, {DType::i64, shape}});
  return {is_unsigned ? turned(l, results[0]) : results[0], results[1]};
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
  const bool pairs = captures(c, 0).empty() && region(c, 0).inputs.size() == 2 * x.size();
  const auto keys = pairs ? recognised(region(c, 0)).keys : std::nullopt;
  bool known = keys.has_value();
  if (known)
    for (const SortKey& key : *keys) known &= x[key.operand].dtype != DType::c64 || key.part != Part::whole;
  if (!known) return add_opaque_results(c, "sort_by_comparator", x);
  std::optional<SymbolicTensor> positions;
  Sorted last{};
  for (size_t k = keys->size(); k-- > 0;) {
    const SortKey& key = (*keys)[k];
    last = sorted(l, positions ? taken(l, x[key.operand], *positions, dim) : x[key.operand], dim, key);
    positions = positions ? taken(l, *positions, last.positions, dim) : last.positions;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const Formula* formula = l.formula_of(x[i]);
    if (i == keys->front().operand && last.values.dtype == x[i].dtype) {
      c.add_result(last.values);
    } else if (formula && x[i].view == loops::none && formula->iota == dim) {
      c.add_result(l.cast(*positions, x[i].dtype));
    } else {
      c.add_result(taken(l, x[i], *positions, dim));
    }
  }
}

// `k` elements along the last dimension.
void add_foremost(OpCall& c, const SymbolicTensor& x, int64_t k, bool largest) {
  Lowering& l = c.lowering();
  require(x.rank() >= 1 && x.dtype != DType::c64, "top_k takes a tensor of ordered numbers");
  require(k >= 0 && k <= x.shape.back(), fmt::format("k is {}, but there are {} elements", k, x.shape.back()));
  const Sorted found = foremost(l, x, x.rank() - 1, k, largest, c.has("unsigned"));
  c.add_result(found.values);
  c.add_result(l.cast(found.positions, result_type_of(c, 1).dtype));
}

void define_top_k(OpCall& c) { add_foremost(c, first_operand(c), c.integer("k"), c.flag("largest", true)); }

// The custom call says k by the shape of its result.
void define_top_k_call(OpCall& c) {
  const Shape shape = result_type_of(c).shape;
  require(!shape.empty(), "top_k takes a tensor of ordered numbers");
  add_foremost(c, first_operand(c), shape.back(), true);
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
  require(k >= 0 && k <= x[0].shape[size_t(along)], "k is larger than the number of elements");
  const bool largest = comparator.find("_lt_") == std::string::npos;
  const Sorted found = foremost(l, x[0], along, k, largest, c.has("unsigned"));
  c.add_result(found.values);
  c.add_result(l.cast(found.positions, x[1].dtype));
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
