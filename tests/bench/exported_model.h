// A transformer as torch.export would write it, without weights: as long as asked, for measuring front end and
// analysis.
#pragma once

#include <string>

namespace lightline::bench {

// torch.export notes for every node where in the source it stems from; corpora often leave that out.
enum class Metadata : bool { none, stack_traces };

// At least `nodes` nodes.
std::string exported_transformer(int nodes, Metadata metadata = Metadata::none);

}  // namespace lightline::bench
