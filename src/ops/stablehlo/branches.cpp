// StableHLO: case and if, and random bits.
#include <fmt/format.h>

#include "ops/library/reduction/reduction.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;

size_t branch_count(const OpCall& c) {
  size_t count = 0;
  while (node_argument(c.node(), fmt::format("region_{}", count))) ++count;
  return count;
}

std::vector<SymbolicTensor> branch(OpCall& c, size_t i) { return c.lower_graph(region(c, i), captures(c, i)); }

// All branches run, and the results of one of them are taken.
void choose(OpCall& c, size_t count, const std::function<Scalar(size_t)>& is_taken) {
  Lowering& l = c.lowering();
  std::vector<std::vector<SymbolicTensor>> results;
  for (size_t i = 0; i < count; ++i) {
    results.push_back(branch(c, i));
    require(results[i].size() == results[0].size(), "the branches give different numbers of results");
  }
  for (size_t k = 0; k < results[0].size(); ++k) {
    const SymbolicTensor& first = results[0][k];
    for (const auto& other : results)
      require(other[k].dtype == first.dtype && other[k].shape == first.shape, "the branches give different types");
    c.add_result(l.map(first.dtype, first.shape, [&](const Indices& i) {
      Scalar value = l.read(results.back()[k], i);
      for (size_t b = count - 1; b-- > 0;) value = select(is_taken(b), l.read(results[b][k], i), value);
      return value;
    }));
  }
  c.assumptions.push_back("a branch is chosen by data: the cheapest side counts, operator by operator all are listed");
}

// An index outside takes the last branch.
void define_case(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor index = first_operand(c);
  const size_t count = branch_count(c);
  require(count > 0 && index.size() == 1, "a case has branches and one index");
  if (const auto known = l.known_constant(index); known || count == 1) {
    const bool inside = known && *known >= 0 && *known < int64_t(count);
    for (const SymbolicTensor& result : branch(c, inside ? size_t(*known) : count - 1)) c.add_result(result);
    return;
  }
  const Indices at(index.shape.size(), l.constant_index(0));
  choose(c, count, [&](size_t b) { return l.read(index, at) == double(b); });
}

void define_if(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor condition = first_operand(c);
  require(branch_count(c) == 2 && condition.size() == 1, "an if has two branches and one condition");
  if (const auto known = known_literal(l, condition)) {
    for (const SymbolicTensor& result : branch(c, known->integer != 0 ? 0 : 1)) c.add_result(result);
    return;
  }
  const Indices at(condition.shape.size(), l.constant_index(0));
  choose(c, 2, [&](size_t) { return l.read(condition, at); });
}

void define_map(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> x = operands(c);
  const TensorType type = result_type_of(c);
  c.add_result(l.map(type.dtype, type.shape, [&](const Indices& i) {
    std::vector<Scalar> values;
    for (const SymbolicTensor& tensor : x) values.push_back(l.read(tensor, i));
    return evaluate(l, region(c, 0), std::move(values), captures(c, 0), 0);
  }));
}

}  // namespace

void register_stablehlo_branches(Registry& r) {
  r.add("stablehlo.case", "index", define_case);
  r.add("stablehlo.if", "pred", define_if);
  r.add("stablehlo.map", "inputs", define_map);
  r.add("stablehlo.rng_bit_generator", "initial_state", [](OpCall& c) {
     add_opaque_results(c, "random_bits", operands(c));
   }).opaque = true;
  r.add("stablehlo.rng", "a, b, shape", [](OpCall& c) {
     add_opaque_results(c, "random_numbers", operands(c));
   }).opaque = true;
}

}  // namespace lightline::ops
