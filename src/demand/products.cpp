#include "demand/products.h"

#include <algorithm>
#include <vector>

#include "loops/ir/walk.h"

namespace lightline::demand {
namespace {

using Indices = std::vector<loops::IndexId>;  // sorted, each once

// The indices of every factor that reads an array.
void collect_factors(const loops::Program& program, loops::ExprId id, std::vector<Indices>& factors) {
  const loops::Expr& e = program.exprs[id];
  if (e.kind == loops::ExprKind::cast) return collect_factors(program, e.args[0], factors);
  if (e.kind == loops::ExprKind::call && e.function == loops::Function::mul) {
    for (const loops::ExprId operand : loops::operands_of(e)) collect_factors(program, operand, factors);
    return;
  }
  Indices found;
  bool reads = false;
  loops::for_each_expr(program, id, [&](loops::ExprId one) {
    reads |= program.exprs[one].kind == loops::ExprKind::read;
    if (program.exprs[one].kind == loops::ExprKind::index) found.push_back(program.exprs[one].args[0]);
  });
  if (!reads) return;
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  factors.push_back(std::move(found));
}

bool is_product(const loops::Program& program, loops::ExprId body) {
  std::vector<Indices> factors;
  collect_factors(program, body, factors);
  return factors.size() > 1 &&
         std::any_of(factors.begin(), factors.end(), [&](const Indices& one) { return one != factors[0]; });
}

double points(const loops::Program& program, const std::vector<loops::IndexId>& indices) {
  double product = 1;
  for (const loops::IndexId index : indices) product *= double(program.indices[index].extent);
  return product;
}

}  // namespace

double written_products(const loops::Program& program, const loops::Compute& node) {
  if (node.reducer != loops::Reducer::sum || !is_product(program, node.body)) return 0;
  return points(program, node.loops) * points(program, node.reduced);
}

double written_products(const loops::Program& program, const loops::Scatter& node) {
  return node.reducer == loops::Reducer::sum && is_product(program, node.body) ? points(program, node.domain) : 0;
}

double written_products(const loops::Program& program, const loops::Statement& statement) {
  if (const auto* compute = std::get_if<loops::Compute>(&statement.node)) return written_products(program, *compute);
  if (const auto* scatter = std::get_if<loops::Scatter>(&statement.node)) return written_products(program, *scatter);
  return 0;
}

}  // namespace lightline::demand
