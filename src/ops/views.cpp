// Views: other ways to index the same storage. They cost nothing.
#include "ops/registry.h"

namespace lightline::ops {

void register_views(Registry& r) {
  r.add("permute", "self, dims", [](OpCall& c) { c.give(c.lowering().permute(c.tensor("self"), c.integers("dims"))); });
  r.add("transpose", "self, dim0, dim1", [](OpCall& c) { c.give(c.lowering().transpose(c.tensor("self"), c.integer("dim0"), c.integer("dim1"))); }, {"swapaxes", "swapdims"});
  r.add("select.int", "self, dim, index", [](OpCall& c) { c.give(c.lowering().select(c.tensor("self"), c.integer("dim"), c.integer("index"))); }, {"select"});
  r.add("detach", "self", [](OpCall& c) { c.give(c.tensor("self")); }, {"alias", "lift", "lift_fresh", "contiguous", "positive"});
}

}  // namespace lightline::ops
