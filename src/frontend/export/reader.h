// Reads one serialised ExportedProgram into a Graph. Nested graphs of wrappers are inlined; bodies of loops become
// subgraphs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/name_table.h"
#include "frontend/export/json_fields.h"
#include "graph/graph.h"

namespace lightline::frontend {

class ExportReader {
 public:
  graph::Graph run(const JsonObject& root);  // throws ExportError

 private:
  struct Named {
    graph::ValueId value = graph::no_value;
    std::optional<JsonElement> tensor;  // its entry in tensor_values
  };
  // Names of one graph. Values of a nested graph get fresh ids, so a body can be inlined many times.
  struct Scope {
    NameTable<Named> names;
    std::unordered_map<std::string_view, JsonElement> symbols;  // symbolic scalars, by name
    std::unordered_map<std::string_view, graph::Argument> constants;
  };

  // ---- symbols ----
  std::optional<int64_t> symbol_value(std::string_view symbol) const;
  std::optional<int64_t> sym_int(const JsonElement& e, std::string_view what);
  std::optional<int64_t> size_of(const JsonElement& e, std::string_view what);
  void learn_symbol(std::string_view text, int64_t value);
  std::string_view symbol_of(const JsonElement& e);
  void read_ranges(const JsonObject& root);
  void assume(std::string_view symbol, int64_t value);
  void read_with_effects(const JsonArray& inputs, const JsonArray& outputs, Scope& scope);
  void assume_split(const JsonArray& inputs, Scope& scope);
  void assume_end(const JsonArray& inputs, const Scope& scope);

  // ---- values ----
  void open_scope(const JsonObject& g, Scope& scope);
  std::optional<TensorType> recorded_type(const Scope& scope, std::string_view name);
  TensorType read_type(const JsonElement& meta);
  std::optional<std::vector<int64_t>> recorded_strides(const Scope& scope, std::string_view name);
  static void require_own_width(const Scope& scope, std::string_view name);
  graph::ValueId define(Scope& scope, std::string_view name, std::optional<TensorType> type);
  graph::ValueId use(const Scope& scope, std::string_view name) const;
  static graph::ValueId find_value(const Scope& scope, std::string_view name);  // no_value if it has none yet

  // ---- arguments ----
  graph::Argument symbol_argument(Scope& scope, std::string_view name);
  graph::Argument sym_argument(Scope& scope, const JsonElement& e, std::string_view what);
  std::vector<graph::ValueId> tensor_list(Scope& scope, const JsonElement& list);
  graph::Argument read_argument(Scope& scope, const JsonElement& e, std::string_view what);
  graph::Argument sym_integers(Scope& scope, const JsonElement& value, std::string_view what);
  graph::Argument sym_floats(Scope& scope, const JsonElement& value, std::string_view what);

  // ---- inputs and outputs ----
  void read_inputs(const JsonObject& top, const JsonObject& module, Scope& scope);
  void read_input_spec(const JsonElement& spec, Scope& scope);
  void add_input(Scope& scope, std::string_view name, graph::InputKind kind, std::string source);
  void add_symbol_input(Scope& scope, const JsonElement& value);
  void read_outputs(const JsonObject& module, Scope& scope);
  graph::ValueId replaced_input(const JsonObject& o, std::string_view kind, const Scope& scope);
  void read_known_values(const JsonObject& root, const Scope& scope);
  void keep_values(graph::Input& input, const JsonObject& entry, std::string_view name);

  // ---- nodes ----
  void read_nodes(const JsonObject& g, Scope& scope, int depth);
  void read_node(const JsonObject& o, Scope& scope, int depth);
  void read_result(graph::Node& node, const JsonElement& output, Scope& scope);
  void define_result(graph::Node& node, Scope& scope, std::string_view name);

  // ---- higher-order operators ----
  struct HigherOrderArguments {
    std::vector<JsonObject> graphs;
    std::vector<graph::Argument> before;  // arguments ahead of the first graph
    std::vector<graph::Argument> after;   // lists are flattened
    std::vector<size_t> list_sizes;       // how many of `after` each list had
  };
  HigherOrderArguments higher_order_arguments(const JsonArray& inputs, Scope& scope);
  bool read_higher_order(std::string_view target, const JsonArray& inputs, const JsonArray& outputs, Scope& scope,
                         int depth);
  std::vector<graph::ValueId> inline_graph(const JsonObject& g, const std::vector<graph::Argument>& arguments,
                                           int depth);
  void bind(Scope& inner, const JsonElement& input, const graph::Argument& argument);
  void name_results(const JsonArray& outputs, const std::vector<graph::ValueId>& results, Scope& scope);
  void read_cond(const HigherOrderArguments& arguments, const JsonArray& outputs, Scope& scope, int depth);
  void read_scan(const HigherOrderArguments& arguments, const JsonArray& outputs, Scope& scope, int depth);
  static std::optional<std::vector<graph::ValueId>> tensors_of(const HigherOrderArguments& arguments, size_t list);
  bool read_while(const HigherOrderArguments& arguments, const JsonArray& outputs, Scope& scope, int depth);
  graph::SubgraphRef read_body(const JsonObject& g, int depth);

  graph::Graph graph_;
  std::unordered_map<std::string, size_t> input_by_source_;  // kind and qualified name
  std::unordered_map<std::string, int64_t> symbols_;
  std::unordered_map<std::string, int64_t> least_;  // of symbols that depend on data
  std::vector<std::pair<std::string, int64_t>> assumed_;
  std::string current_;  // the node being read, for messages
};

std::string_view tensor_name(const JsonElement& e);  // of {"name": "x"}

}  // namespace lightline::frontend
