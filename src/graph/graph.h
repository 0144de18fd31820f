// A program at the level of operators: typed SSA values, nodes with named arguments, inputs and outputs.
// Front ends build it; `ops` gives each node its meaning. Targets are the source's own names, such as
// "aten.relu.default".
//
// Room graph: the operator-level graph that every front end ends in and every operator starts from: typed values in
// single assignment, content hash.
// May use: base.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/tensor.h"

namespace lightline::graph {

using ValueId = uint32_t;
inline constexpr ValueId no_value = UINT32_MAX;

struct Value {
  std::string name;
  std::optional<TensorType> type;  // as recorded by the source; a scalar symbol is a tensor of rank 0
  // Places in PyTorch's memory, one per dimension, where the source records them: they tell views from copies.
  std::optional<std::vector<int64_t>> strides = {};
};

struct ValueRef {
  ValueId id = no_value;
  bool operator==(const ValueRef&) const = default;
};
struct SubgraphRef {
  uint32_t index = 0;  // into Graph::subgraphs
  bool operator==(const SubgraphRef&) const = default;
};

// monostate is Python's None; a list of values may have holes (no_value).
using Argument =
    std::variant<std::monostate, ValueRef, std::vector<ValueId>, bool, int64_t, double, std::complex<double>,
                 std::string, DType, std::vector<int64_t>, std::vector<double>, SubgraphRef>;

struct NamedArgument {
  std::string name;  // empty for a positional argument of a source that does not name them
  Argument value;
};

struct Node {
  std::string target;  // "aten.add.Tensor", "torch.nn.functional.relu", "stablehlo.add", ...
  std::string name;    // for messages
  std::vector<NamedArgument> arguments;
  std::vector<ValueId> results;  // no_value for results that the source does not use
  std::string source = {};       // what the source called, where `target` is an operator of the list
  std::string origin = {};       // the module and the line that it comes from: "layers.0.attn model.py:12"
};

enum class InputKind : uint8_t { user, parameter, buffer, constant };

struct Input {
  ValueId value = no_value;
  InputKind kind = InputKind::user;
  std::string source;           // qualified name of a parameter or buffer; equal names are one storage
  std::optional<Tensor> known;  // values, where the artefact carries them
  std::string digest = {};      // of values that are elsewhere; see digest_of
};

struct Output {
  ValueId value = no_value;
  ValueId replaces = no_value;  // the input whose storage this result takes (mutated buffers and inputs)
};

struct Graph {
  std::string name = "main";
  std::vector<Value> values;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
  std::vector<Graph> subgraphs;  // bodies of higher-order operators that are not inlined
  // From a source without types: a node's one result may be a number or a tuple, as in Python.
  bool untyped = false;
  std::vector<std::string> assumptions;  // what the front end had to assume, such as the value of a symbolic size

  ValueId add_value(std::string name, std::optional<TensorType> type = {});
};

// By value: the node that gives it; null for inputs. They point into the graph.
std::vector<const Node*> makers(const Graph& graph);

// Every value is defined once and before its uses, and ids are in range; names the first node that breaks this.
Status check(const Graph& graph);

// Tells the values of a tensor in a few letters.
std::string digest_of(const Tensor& tensor);

// Equal for graphs that differ only in names and in the order of independent nodes. `canonical_targets` holds
// the canonical operator name of every node, in order.
std::string content_hash(const Graph& graph, const std::vector<std::string>& canonical_targets);
// The same of a graph whose targets are canonical.
std::string content_hash(const Graph& graph);
// Equal for graphs that differ also in dtypes and sizes, and in arguments that are sizes.
std::string structure_hash(const Graph& graph);

}  // namespace lightline::graph
