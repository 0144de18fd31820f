// Operators that run a graph of their own.
#include <fmt/format.h>

#include "ops/build/counted_loop.h"
#include "ops/build/registry.h"
#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

void require_same_types(const std::vector<SymbolicTensor>& before, const std::vector<SymbolicTensor>& after) {
  require(after.size() >= before.size(), "the body of a loop does not give its carry back");
  for (size_t i = 0; i < before.size(); ++i)
    require(after[i].dtype == before[i].dtype && after[i].shape == before[i].shape,
            "the carry of a loop changes its type");
}

// (carry, x[t], additional) -> (carry, y[t]) for every t; gives the last carry and all y.
void define_scan(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> init = c.tensors("init"), xs = c.tensors("xs"),
                                    additional = c.tensors("additional");
  require(!xs.empty() && xs[0].rank() > 0 && xs[0].shape[0] > 0, "a scan needs something to run over");
  const int64_t steps = xs[0].shape[0];
  for (const SymbolicTensor& x : xs)
    require(x.rank() > 0 && x.shape[0] == steps, "what a scan runs over has different lengths");
  const auto results =
      l.repeat(steps, init, [&](const Subscript& step, const std::vector<SymbolicTensor>& carried) -> RepeatYield {
        std::vector<SymbolicTensor> inputs = carried;
        for (const SymbolicTensor& x : xs) inputs.push_back(l.select(x, 0, step));
        inputs.insert(inputs.end(), additional.begin(), additional.end());
        const std::vector<SymbolicTensor> outputs = c.lower_subgraph("body", inputs);
        require_same_types(init, outputs);
        const auto stacked = outputs.begin() + std::ptrdiff_t(init.size());
        return {{outputs.begin(), stacked}, {stacked, outputs.end()}};
      });
  for (const SymbolicTensor& result : results) c.add_result(result);
}

// ---- while loops whose number of steps is known ----

constexpr int64_t largest_counter = int64_t(1) << 40;
constexpr size_t most_searched = 1000;  // nodes, for what makes a value

bool is_first_argument(const graph::Node& node, graph::ValueId id) {
  const auto* ref = node.arguments.empty() ? nullptr : std::get_if<graph::ValueRef>(&node.arguments[0].value);
  return ref != nullptr && ref->id == id;
}

std::optional<int64_t> integer_argument(const graph::Node& node, size_t position) {
  if (position >= node.arguments.size()) return std::nullopt;
  const auto* value = std::get_if<int64_t>(&node.arguments[position].value);
  return value != nullptr && std::abs(*value) < largest_counter ? std::optional(*value) : std::nullopt;
}

// x + n without a factor before n.
bool is_plain_sum(const graph::Node& node) {
  return node.arguments.size() == 2 || (node.arguments.size() == 3 && integer_argument(node, 2) == 1);
}

// The node among those before `end` that makes a value; none if it is far away, or if another one writes to the value.
const graph::Node* maker(const Registry& operators, const graph::Graph& graph, graph::ValueId id,
                         const graph::Node* end) {
  const graph::Node* first = graph.nodes.data();
  for (size_t searched = 0; end != first && searched < most_searched; ++searched) {
    --end;
    if (!end->results.empty() && end->results[0] == id) return end;
    if (is_first_argument(*end, id) && operators.find(end->target).in_place) return nullptr;
  }
  return nullptr;
}

std::string_view canonical_name(const Registry& operators, const graph::Node& node) {
  const Operator* op = operators.find(node.target).op;
  return op != nullptr ? std::string_view(op->name) : std::string_view();
}

// An integer scalar that is known before the program runs: a constant, seen through copies.
std::optional<int64_t> known_integer(const Registry& operators, const graph::Graph& graph, graph::ValueId id,
                                     const graph::Node* before) {
  for (int copies = 0; copies < 8; ++copies) {
    const graph::Node* node = maker(operators, graph, id, before);
    if (node == nullptr) break;
    const std::string_view name = canonical_name(operators, *node);
    if (name == "zeros") return 0;
    if (name == "ones") return 1;
    if (name == "full") return integer_argument(*node, 1);
    if (name == "scalar_tensor") return integer_argument(*node, 0);
    if (name != "clone" && name != "detach" && name != "to" && name != "_to_copy") return std::nullopt;
    const auto* source = node->arguments.empty() ? nullptr : std::get_if<graph::ValueRef>(&node->arguments[0].value);
    if (source == nullptr) return std::nullopt;
    id = source->id;
    before = node;
  }
  for (const graph::Input& input : graph.inputs)
    if (input.value == id && input.known && input.known->size() == 1 && is_integer(input.known->dtype()))
      return input.known->get_i64(0);
  return std::nullopt;
}

// Known if the condition compares one carried scalar with a number and the body adds a number to that scalar.
std::optional<int64_t> known_steps(const OpCall& c, const graph::Graph& condition, const graph::Graph& body) {
  if (condition.outputs.size() != 1) return std::nullopt;
  const Registry& operators = c.operators();
  const auto end_of = [](const graph::Graph& g) { return g.nodes.data() + g.nodes.size(); };
  const graph::Node* test = maker(operators, condition, condition.outputs[0].value, end_of(condition));
  const auto* carried = std::get_if<std::vector<graph::ValueId>>(c.argument("carried"));
  if (test == nullptr || carried == nullptr) return std::nullopt;
  for (size_t i = 0; i < carried->size() && i < condition.inputs.size() && i < body.outputs.size(); ++i) {
    if (!is_first_argument(*test, condition.inputs[i].value) || i >= body.inputs.size()) continue;
    const graph::Node* advance = maker(operators, body, body.outputs[i].value, end_of(body));
    if (advance == nullptr || !is_first_argument(*advance, body.inputs[i].value) || !is_plain_sum(*advance))
      return std::nullopt;
    const std::string_view change = canonical_name(operators, *advance);
    if (change != "add" && change != "sub") return std::nullopt;
    const auto limit = integer_argument(*test, 1), step = integer_argument(*advance, 1);
    const auto start = known_integer(operators, c.graph(), (*carried)[i], &c.node());
    if (!limit || !step || !start || std::abs(*start) >= largest_counter) return std::nullopt;
    const auto comparison = counter_test(canonical_name(operators, *test), {"lt", "le", "gt", "ge", "ne"});
    if (!comparison) return std::nullopt;
    return counted_steps(*comparison, *limit - *start, change == "add" ? *step : -*step);
  }
  return std::nullopt;
}

void define_while_loop(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> init = c.tensors("carried"), additional = c.tensors("additional");
  const auto subgraph = [&](std::string_view name) -> const graph::Graph& {
    const graph::Argument* argument = c.argument(name);
    const auto* ref = argument != nullptr ? std::get_if<graph::SubgraphRef>(argument) : nullptr;
    require(ref != nullptr && ref->index < c.graph().subgraphs.size(), "a while loop lacks its graphs");
    return c.graph().subgraphs[ref->index];
  };
  const auto steps = known_steps(c, subgraph("condition"), subgraph("body"));
  if (!steps) {
    std::vector<SymbolicTensor> operands = init;
    operands.insert(operands.end(), additional.begin(), additional.end());
    return add_opaque_results(c, "while_loop", operands);
  }
  std::vector<SymbolicTensor> results = init;
  if (*steps > 0)
    results = l.repeat(*steps, init, [&](const Subscript&, const std::vector<SymbolicTensor>& carried) -> RepeatYield {
      std::vector<SymbolicTensor> inputs = carried;
      inputs.insert(inputs.end(), additional.begin(), additional.end());
      std::vector<SymbolicTensor> outputs = c.lower_subgraph("body", inputs);
      require_same_types(init, outputs);
      outputs.resize(init.size());
      return {outputs, {}};
    });
  for (const SymbolicTensor& result : results) c.add_result(result);
}

}  // namespace

void register_higher_order(Registry& r) {
  r.add("higher_order.scan", "body, init, xs, additional", define_scan);
  r.add("higher_order.while_loop", "condition, body, carried, additional", define_while_loop);
}

}  // namespace lightline::ops
