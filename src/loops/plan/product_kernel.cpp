// How a contraction is packed, and how its finished blocks are stored.
#include <algorithm>

#include "loops/plan/kernels.h"

namespace lightline::loops::plan {
namespace {

// Makes one loop of two neighbours wherever all values allow it.
void merge(Nodes& nodes, std::vector<VarId>& vars, std::vector<NodeId>& values) {
  for (size_t i = vars.size(); i-- > 1;) {
    const VarId outer = vars[i - 1], inner = vars[i];
    const int64_t width = nodes.extent(inner);
    const VarId merged = nodes.add_var(nodes.extent(outer) * width);
    const Substitution by{{outer, nodes.call(Function::div, DType::i64, nodes.var(merged), nodes.integer(width))},
                          {inner, nodes.call(Function::mod, DType::i64, nodes.var(merged), nodes.integer(width))}};
    std::vector<NodeId> replaced;
    for (const NodeId value : values) replaced.push_back(nodes.substitute(value, by));
    const auto apart = [&](NodeId value) { return takes_apart(nodes, value, merged, width); };
    if (std::ranges::any_of(replaced, apart)) continue;
    values = std::move(replaced);
    vars[i - 1] = merged;
    vars.erase(vars.begin() + ptrdiff_t(i));
  }
}

class ProductPlanner {
 public:
  ProductPlanner(SteppedProgram& stepped, const ContractionStep& step) : stepped_(stepped), step_(step) {}

  ProductKernel run() {
    ProductKernel kernel;
    kernel.type = step_.type;
    kernel.batch = step_.batch;
    kernel.batch_size = extent(step_.batch);
    kernel.rows_size = extent(step_.m);
    kernel.columns_size = extent(step_.n);
    kernel.depth_size = extent(step_.k);
    kernel.a = pack(step_.a, step_.m);
    kernel.b = pack(step_.b, step_.n);
    plan_store(kernel);
    kernel.threads =
        double(kernel.batch_size) * double(kernel.rows_size) * double(kernel.columns_size) * double(kernel.depth_size) >
        stepped_.target.product.parallel_products;
    return kernel;
  }

 private:
  Nodes& nodes() { return stepped_.nodes; }
  int64_t extent(const std::vector<VarId>& vars) {
    int64_t product = 1;
    for (const VarId var : vars) product *= nodes().extent(var);
    return product;
  }
  NodeId flatten(NodeId value) {
    return nodes().flatten(value, [&](ArrayId array) { return row_major(stepped_.program.arrays[array].shape); });
  }

  // Whether neighbours along a variable lie next to each other in every array that has it.
  bool is_contiguous(VarId var, NodeId value) {
    bool contiguous = true, any = false;
    nodes().for_each(value, [&](const Node& node, NodeId) {
      if (node.kind != NodeKind::load) return;
      const auto step = nodes().coefficient(nodes().operands(node)[0], var);
      any |= step == 1;
      contiguous &= step == 1 || step == 0;
    });
    return any && contiguous;
  }

  PackedFactor pack(NodeId factor, const std::vector<VarId>& lanes) {
    PackedFactor packed{lanes, step_.k};
    std::vector<NodeId> values{flatten(factor)};
    merge(nodes(), packed.lanes, values);
    merge(nodes(), packed.depth, values);
    packed.value = values[0];
    packed.along_depth =
        !is_contiguous(packed.lanes.back(), packed.value) && is_contiguous(packed.depth.back(), packed.value);
    packed.guards = splitting_guards(stepped_, packed.along_depth ? packed.depth.back() : packed.lanes.back(), values);
    return packed;
  }

  void plan_store(ProductKernel& kernel) {
    kernel.targets = find_targets();
    kernel.rows = step_.m;
    kernel.columns = step_.n;
    std::vector<NodeId> values;
    for (const ProductTarget& target : kernel.targets) {
      values.push_back(target.position);
      if (target.value != none) values.push_back(target.value);
    }
    merge(nodes(), kernel.columns, values);
    merge(nodes(), kernel.rows, values);
    size_t next = 0;
    std::vector<NodeId> stored;
    for (ProductTarget& target : kernel.targets) {
      target.position = values[next++];
      if (target.value == none) continue;
      target.value = values[next++];
      stored.push_back(target.value);
    }
    kernel.guards = splitting_guards(stepped_, kernel.columns.back(), stored);
  }

  // The sum and the maps that follow it, all in the contraction's variables.
  std::vector<ProductTarget> find_targets() {
    std::vector<ProductTarget> targets;
    const auto add = [&](const FoldedCompute& folded, NodeId value) {
      ProductTarget target{folded.result, value, none, false};
      std::vector<NodeId> subscripts;
      size_t level = 0;
      for (const VarId var : folded.dims)
        subscripts.push_back(var == none ? nodes().integer(0) : nodes().var(step_.folded.loops[level++]));
      target.position = nodes().position(subscripts, row_major(stepped_.program.arrays[folded.result].shape));
      targets.push_back(target);
    };
    add(step_.folded, none);
    for (const FoldedCompute& folded : step_.epilogue) {
      Substitution by;
      for (size_t i = 0; i < folded.loops.size(); ++i) by.emplace(folded.loops[i], nodes().var(step_.folded.loops[i]));
      const NodeId value = flatten(nodes().substitute(folded.body, by));
      nodes().for_each(value, [&](const Node& node, NodeId) {
        if (node.kind != NodeKind::load) return;
        for (ProductTarget& target : targets) target.is_read |= target.array == node.array;
      });
      add(folded, value);
    }
    return targets;
  }

  SteppedProgram& stepped_;
  const ContractionStep& step_;
};

}  // namespace

ProductKernel plan_product(SteppedProgram& stepped, const ContractionStep& step) {
  return ProductPlanner(stepped, step).run();
}

}  // namespace lightline::loops::plan
