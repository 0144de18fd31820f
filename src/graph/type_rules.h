// The rules by name, in families; each family is a file.
#pragma once

#include <string>
#include <unordered_map>

#include "graph/type_call.h"

namespace lightline::graph {

using TypeRules = std::unordered_map<std::string_view, TypeRule>;

void add_elementwise_rules(TypeRules& rules);
void add_reduction_rules(TypeRules& rules);
void add_view_rules(TypeRules& rules);
void add_rearranging_rules(TypeRules& rules);
void add_product_rules(TypeRules& rules);
void add_window_rules(TypeRules& rules);
void add_indexing_rules(TypeRules& rules);
void add_creation_rules(TypeRules& rules);
void add_network_rules(TypeRules& rules);  // attention, norms, losses, recurrent cells
void add_spectral_rules(TypeRules& rules);

}  // namespace lightline::graph
