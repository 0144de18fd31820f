// Operators that run a graph of their own.
#include <fmt/format.h>

#include "ops/registry.h"

namespace lightline::ops {
namespace {

// (carry, x[t], additional) -> (carry, y[t]) for every t; gives the last carry and all y.
void define_scan(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<Tensor> init = c.tensors("init"), xs = c.tensors("xs"), additional = c.tensors("additional");
  require(!xs.empty() && xs[0].rank() > 0 && xs[0].shape[0] > 0, "a scan needs something to run over");
  const int64_t steps = xs[0].shape[0];
  for (const Tensor& x : xs)
    require(x.rank() > 0 && x.shape[0] == steps, "what a scan runs over has different lengths");
  const auto results = l.repeat(steps, init, [&](const Ix& step, const std::vector<Tensor>& carried) -> RepeatYield {
    std::vector<Tensor> inputs = carried;
    for (const Tensor& x : xs) inputs.push_back(l.select(x, 0, step));
    inputs.insert(inputs.end(), additional.begin(), additional.end());
    const std::vector<Tensor> outputs = c.lower_subgraph("body", inputs);
    require(outputs.size() >= init.size(), "the body of a scan does not give its carry back");
    const auto stacked = outputs.begin() + std::ptrdiff_t(init.size());
    for (size_t i = 0; i < init.size(); ++i)
      require(outputs[i].dtype == init[i].dtype && outputs[i].shape == init[i].shape,
              "the carry of a scan changes its type");
    return {{outputs.begin(), stacked}, {stacked, outputs.end()}};
  });
  for (const Tensor& result : results) c.give(result);
}

}  // namespace

void register_higher_order(Registry& r) { r.add("higher_order.scan", "body, init, xs, additional", define_scan); }

}  // namespace lightline::ops
