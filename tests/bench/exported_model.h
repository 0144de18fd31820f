// A transformer as torch.export would write it, without weights: as long as asked, for measuring front end and analysis.
#pragma once

#include <string>

namespace lightline::bench {

// At least `nodes` nodes; the text has no metadata.
std::string exported_transformer(int nodes);

}  // namespace lightline::bench
