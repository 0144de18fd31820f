#include "ops/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>

#include "loops/ir/opaque_signature.h"
#include "loops/ir/verify.h"
#include "loops/ir/walk.h"
#include "loops/ir/words.h"
#include "ops/build/annotations.h"
#include "ops/catalogue/catalogue.h"
#include "ops/python/lowering.h"

namespace lightline::ops {
namespace {

// Whether one of the statements can not be executed.
bool any_not_executable(std::span<const loops::Statement> statements) {
  bool found = false;
  loops::for_each_statement(statements, [&](const loops::Statement& statement) {
    const auto* opaque = std::get_if<loops::Opaque>(&statement.node);
    found |= opaque != nullptr && !loops::has_opaque_builtin(opaque->name);
  });
  return found;
}

// Whether results of the operator may be their operand in PyTorch too. What else gives its operand back, because
// nothing is to be done, makes a copy there.
bool may_show_operand(const Operator& op, std::string_view target) {
  if (op.family == "views") return target.find("_copy") == std::string_view::npos;
  if (op.family == "conversion") return op.name != "copy";
  return op.family == "higher-order" || op.family == "StableHLO" || op.name == "conj" || op.name == "real" ||
         op.name.find("dropout") != std::string::npos;
}

// The nodes of one graph, which may be the body of a higher-order operator of another one.
class NodeLowering {
 public:
  enum class Role : uint8_t { program, body };
  NodeLowering(const graph::Graph& graph, Lowering& lowering, Lowered& out, Role role)
      : values(graph.values.size()), graph_(graph), lowering_(lowering), out_(out), role_(role) {
    if (graph.untyped)
      python.emplace(
          graph, lowering, values, out.assumptions, [this](const graph::Node& node) { return apply(node); },
          [this](const std::string& name) { ++out_.calls[name]; });
  }
  NodeLowering(const NodeLowering&) = delete;
  NodeLowering& operator=(const NodeLowering&) = delete;

  std::vector<std::optional<SymbolicTensor>> values;
  std::optional<PythonLowering> python;  // for graphs from Python source

  void run() {
    for (const graph::Node& node : graph_.nodes) {
      try {
        if (python)
          lower_python(node);
        else
          lower_node(node);
      } catch (OpError& error) {
        error.message = fmt::format("node '{}' ({}): {}", node.name, node.target, error.message);
        throw;
      }
    }
  }

 private:
  void lower_node(const graph::Node& node) {
    if (is_typed_annotation(node.target)) return;
    const Registry::Match match = all_operators().find(node.target);
    const size_t first_array = out_.program.arrays.size(), first_statement = out_.program.statements.size();
    const std::string& called = node.source.empty() ? node.target : node.source;
    if (role_ == Role::program && !is_continued(node)) lowering_.begin_group(called);
    std::vector<std::optional<SymbolicTensor>> results;
    if (match.op) {
      OpCall call(all_operators(), lowering_, graph_, node, match.op->parameters, values);
      call.lower_graph = [this](const graph::Graph& body, const std::vector<SymbolicTensor>& inputs) {
        return lower_body(body, inputs);
      };
      const bool in_place = writes_first(match, call);
      results = define(*match.op, in_place, call);
      for (std::string& assumption : call.assumptions) out_.assumptions.push_back(std::move(assumption));
      if (in_place && !results.empty() && results[0]) write_first_argument(node, *match.op, *results[0], results);
      if (node.target.ends_with(".out")) write_out(node, results);
      if (role_ == Role::program && any_not_executable(std::span(out_.program.statements).subspan(first_statement)))
        ++out_.not_executable[called];
      else
        ++out_.calls[match.op->name];
    } else {
      results = lower_opaque(node);
      ++out_.not_executable[node.target];
    }
    finish(node, first_array, std::move(results));
  }

  // One call of the source may have become several nodes.
  bool is_continued(const graph::Node& node) {
    const graph::Node* before = std::exchange(before_, &node);
    return before && !node.source.empty() && before->source == node.source && before->name == node.name;
  }

  void lower_python(const graph::Node& node) {
    const size_t first_array = out_.program.arrays.size();
    if (role_ == Role::program) lowering_.begin_group(node.target);
    python->lower(node);
    std::vector<std::pair<SymbolicTensor, std::string>> named;
    if (!node.results.empty())
      for (SymbolicTensor& tensor : python->tensors_in(node.results[0]))
        named.emplace_back(std::move(tensor), node.name);
    lowering_.name_arrays(first_array, node.name, named);
    if (role_ == Role::program) lowering_.end_group();
  }

  PythonLowering::Applied apply(const graph::Node& node) {
    const Registry::Match match = all_operators().find(node.target);
    if (!match.op) return {lower_untyped_opaque(node), false};
    OpCall call(all_operators(), lowering_, graph_, node, match.op->parameters, values);
    const bool in_place = writes_first(match, call);
    PythonLowering::Applied applied{define(*match.op, in_place, call), match.op->returns_list};
    for (std::string& assumption : call.assumptions) out_.assumptions.push_back(std::move(assumption));
    if (in_place && !applied.results.empty() && applied.results[0])
      write_first_argument(node, *match.op, *applied.results[0], applied.results);
    ++out_.calls[match.op->name];
    return applied;
  }

  // Sizes of typed graphs are tensors of rank 0: `a += b` gives a new one.
  bool writes_first(const Registry::Match& match, const OpCall& call) const {
    if (match.in_place || (graph_.untyped && call.flag("inplace", false))) return true;
    const auto a = match.op->augmented ? call.tensor_if("a") : std::nullopt;
    return a && (graph_.untyped || a->rank() > 0);
  }

  std::vector<std::optional<SymbolicTensor>> define(const Operator& op, bool in_place, OpCall& call) {
    const size_t before = lowering_.storage_count();
    op.define(call);
    if (in_place || may_show_operand(op, call.node().target)) return std::move(call.results);
    for (auto& result : call.results)
      if (result && result->storage < before) result = lowering_.snapshot(*result);
    return std::move(call.results);
  }

  // The type of the result is not recorded: it is taken to be that of the first operand.
  std::vector<std::optional<SymbolicTensor>> lower_untyped_opaque(const graph::Node& node) {
    const std::vector<SymbolicTensor> operands = operands_of(node);
    if (operands.empty()) fail("the operator is unknown, and so is the type of its result", ErrorCode::unsupported);
    if (++out_.not_executable[node.target] == 1)
      out_.assumptions.push_back(
          fmt::format("'{}' is not known; its result is taken to have the type of its first operand", node.target));
    return {lowering_.opaque(opaque_name(node.target), operands, {}, {{operands[0].dtype, operands[0].shape}})[0]};
  }

  std::vector<SymbolicTensor> operands_of(const graph::Node& node) const {
    std::vector<SymbolicTensor> operands;
    const auto add = [&](graph::ValueId id) {
      if (id != graph::no_value && values[id]) operands.push_back(*values[id]);
    };
    for (const graph::NamedArgument& argument : node.arguments) {
      if (const auto* ref = std::get_if<graph::ValueRef>(&argument.value)) add(ref->id);
      if (const auto* list = std::get_if<std::vector<graph::ValueId>>(&argument.value))
        for (const graph::ValueId id : *list) add(id);
    }
    return operands;
  }
  static std::string opaque_name(std::string_view target) {
    std::string name = "unknown_";
    for (const char c : target) name += std::isalnum(uint8_t(c)) ? c : '_';
    return name;
  }

  void write_first_argument(const graph::Node& node, const Operator& op, const SymbolicTensor& value,
                            std::vector<std::optional<SymbolicTensor>>& results) {
    const graph::NamedArgument* first = node.arguments.empty() ? nullptr : &node.arguments[0];
    const auto* ref = first ? std::get_if<graph::ValueRef>(&first->value) : nullptr;
    if (!ref || !values[ref->id]) fail("an in-place operator has no tensor to write");
    if (op.family == "views") {  // x.t_(): the same elements under other indices
      values[ref->id] = value;
      return;
    }
    const SymbolicTensor target = *values[ref->id];
    const bool unchanged = target.storage == value.storage && target.view == value.view;
    if (!unchanged) lowering_.write(target, value);
    results[0] = target;
  }

  // aten.add.out(x, y, out=z): z takes the result and is it.
  void write_out(const graph::Node& node, std::vector<std::optional<SymbolicTensor>>& results) {
    for (const graph::NamedArgument& argument : node.arguments) {
      const auto* ref = argument.name == "out" ? std::get_if<graph::ValueRef>(&argument.value) : nullptr;
      if (!ref || !values[ref->id] || results.size() != 1 || !results[0]) continue;
      results[0] = ops::write_out(lowering_, *values[ref->id], *results[0]);
    }
  }

  std::vector<std::optional<SymbolicTensor>> lower_opaque(const graph::Node& node) {
    const std::vector<SymbolicTensor> operands = operands_of(node);
    std::vector<std::pair<std::string, loops::Attribute>> attributes;
    for (const graph::NamedArgument& argument : node.arguments) {
      if (argument.name.empty()) continue;
      if (const auto* i = std::get_if<int64_t>(&argument.value)) attributes.emplace_back(argument.name, *i);
      if (const auto* d = std::get_if<double>(&argument.value)) attributes.emplace_back(argument.name, *d);
      if (const auto* b = std::get_if<bool>(&argument.value)) attributes.emplace_back(argument.name, *b);
      if (const auto* l = std::get_if<std::vector<int64_t>>(&argument.value))
        attributes.emplace_back(argument.name, *l);
    }
    std::vector<TensorType> types;
    for (const graph::ValueId id : node.results) {
      if (id == graph::no_value) continue;
      const auto& type = graph_.values[id].type;
      if (!type)
        fail(fmt::format("the operator is unknown and the type of its result '{}' is not recorded",
                         graph_.values[id].name),
             ErrorCode::unsupported);
      types.push_back(*type);
    }
    std::vector<std::optional<SymbolicTensor>> results;
    if (types.empty()) return results;
    const std::vector<SymbolicTensor> tensors = lowering_.opaque(opaque_name(node.target), operands, attributes, types);
    size_t next = 0;
    for (const graph::ValueId id : node.results) {
      if (id == graph::no_value)
        results.push_back(std::nullopt);
      else
        results.push_back(tensors[next++]);
    }
    return results;
  }

  void finish(const graph::Node& node, size_t first_array, std::vector<std::optional<SymbolicTensor>> results) {
    size_t used = node.results.size();
    while (used > 0 && node.results[used - 1] == graph::no_value) --used;
    if (results.size() < used) fail(fmt::format("{} results are used but the operator gives {}", used, results.size()));
    results.resize(node.results.size());
    std::vector<std::pair<SymbolicTensor, std::string>> named;
    for (size_t i = 0; i < node.results.size(); ++i) {
      const graph::ValueId id = node.results[i];
      if (id == graph::no_value || !results[i]) continue;
      const graph::Value& value = graph_.values[id];
      const TensorType found{results[i]->dtype, results[i]->shape};
      if (value.type && *value.type != found && !has_spare_dimension(node, *value.type, found))
        fail(fmt::format("result '{}' should be {} but the operator gives {}", value.name, to_string(*value.type),
                         to_string(found)));
      if (value.strides && value.type == found) results[i] = lowering_.laid_out(*std::move(results[i]), *value.strides);
      named.emplace_back(*results[i], value.name);
      values[id] = std::move(results[i]);
    }
    lowering_.name_arrays(first_array, node.name.empty() ? "t" : node.name, named);
  }

  // PyTorch 2.11 records the last states of a recurrent network with a dimension of 1 too many: ours are taken.
  bool has_spare_dimension(const graph::Node& node, const TensorType& recorded, const TensorType& found) {
    const auto without_ones = [](Shape shape) {
      std::erase(shape, 1);
      return shape;
    };
    const bool recurrent = node.target.starts_with("aten.lstm.") || node.target.starts_with("aten.gru.") ||
                           node.target.starts_with("aten.rnn_");
    if (!recurrent || recorded.dtype != found.dtype || without_ones(recorded.shape) != without_ones(found.shape))
      return false;
    out_.assumptions.push_back(fmt::format("a result of '{}' ({}) is recorded as {} and taken as {}", node.name,
                                           node.target, to_string(recorded), to_string(found)));
    return true;
  }

  // Runs the nodes of a body on the given tensors.
  std::vector<SymbolicTensor> lower_body(const graph::Graph& body, const std::vector<SymbolicTensor>& inputs) {
    require(inputs.size() == body.inputs.size(),
            fmt::format("the body takes {} tensors but is given {}", body.inputs.size(), inputs.size()));
    NodeLowering inner(body, lowering_, out_, Role::body);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const graph::Value& value = body.values[body.inputs[i].value];
      const TensorType given{inputs[i].dtype, inputs[i].shape};
      if (value.type && *value.type != given)
        fail(fmt::format("the body's input '{}' should be {} but is {}", value.name, to_string(*value.type),
                         to_string(given)));
      inner.values[body.inputs[i].value] = inputs[i];
    }
    inner.run();
    std::vector<SymbolicTensor> results;
    for (const graph::Output& output : body.outputs) {
      require(output.value != graph::no_value && inner.values[output.value], "an output of the body has no value");
      results.push_back(*inner.values[output.value]);
    }
    return results;
  }

  const graph::Graph& graph_;
  Lowering& lowering_;
  Lowered& out_;
  Role role_;
  const graph::Node* before_ = nullptr;
};

class GraphLowering {
 public:
  explicit GraphLowering(const graph::Graph& graph)
      : graph_(graph), lowering_(out_.program), nodes_(graph, lowering_, out_, NodeLowering::Role::program) {}

  Result<Lowered> run() {
    out_.program.name = program_name();
    out_.assumptions = graph_.assumptions;
    try {
      inputs();
      nodes_.run();
      outputs();
    } catch (const OpError& error) {
      return Error{error.code,
                   error.message,
                   error.code == ErrorCode::internal ? "this is a defect of the operator's definition" : "",
                   {}};
    }
    if (Status status = loops::verify(out_.program); !status.ok()) {
      Error error = status.error();
      error.message = fmt::format("the loops of '{}' do not verify: {}", graph_.name, error.message);
      return error;
    }
    return std::move(out_);
  }

 private:
  std::string program_name() const {
    std::string name = graph_.name.empty() || std::isdigit(uint8_t(graph_.name[0])) ? "p" : "";
    for (const char c : graph_.name) name += std::isalnum(uint8_t(c)) ? c : '_';
    if (loops::is_reserved(name)) name += '_';
    return name;
  }

  void inputs() {
    std::unordered_map<std::string, size_t> by_source;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const graph::Input& input = graph_.inputs[i];
      const graph::Value& value = graph_.values[input.value];
      if (!input.source.empty()) {
        const auto [found, fresh] = by_source.emplace(fmt::format("{}:{}", int(input.kind), input.source), i);
        if (!fresh) {
          nodes_.values[input.value] = nodes_.values[graph_.inputs[found->second].value];
          continue;
        }
      }
      if (!value.type) fail(fmt::format("the input '{}' has no recorded type", value.name), ErrorCode::unsupported);
      nodes_.values[input.value] = lowering_.laid_out(lowering_.input(value.name, value.type->dtype, value.type->shape),
                                                      value.strides.value_or(Shape{}));
      out_.inputs.push_back(uint32_t(i));
      if (input.known && nodes_.python) nodes_.python->know(*nodes_.values[input.value], *input.known);
    }
  }

  void outputs() {
    const size_t first_array = out_.program.arrays.size();
    lowering_.begin_group("");
    for (const graph::Output& output : graph_.outputs) {
      if (output.value == graph::no_value) continue;
      if (nodes_.python) {
        for (const SymbolicTensor& tensor : nodes_.python->tensors_in(output.value))
          out_.program.outputs.push_back({lowering_.array_of(tensor), loops::none});
        continue;
      }
      if (!nodes_.values[output.value])
        fail(fmt::format("the output '{}' has no value", graph_.values[output.value].name));
      loops::Output out;
      out.array = lowering_.array_of(*nodes_.values[output.value]);
      if (output.replaces != graph::no_value && nodes_.values[output.replaces]) {
        for (size_t i = 0; i < out_.inputs.size(); ++i)
          if (graph_.inputs[out_.inputs[i]].value == output.replaces) out.replaces = out_.program.inputs[i];
        if (out.replaces != loops::none) {
          const loops::Array &from = out_.program.arrays[out.array], &to = out_.program.arrays[out.replaces];
          if (out.array == out.replaces || from.dtype != to.dtype || from.shape != to.shape) out.replaces = loops::none;
          for (const loops::Output& earlier : out_.program.outputs)
            if (earlier.replaces == out.replaces) out.replaces = loops::none;
        }
      }
      out_.program.outputs.push_back(out);
    }
    mutated_inputs();
    lowering_.name_arrays(first_array, "out", {});
    lowering_.end_group();
  }

  // Inputs that were written in place take their last state as a further result.
  void mutated_inputs() {
    for (size_t i = 0; i < out_.inputs.size(); ++i) {
      const graph::ValueId id = graph_.inputs[out_.inputs[i]].value;
      const loops::ArrayId original = out_.program.inputs[i];
      const loops::ArrayId current = lowering_.array_of(*nodes_.values[id]);
      if (current == original) continue;
      bool declared = false;
      for (const loops::Output& output : out_.program.outputs) declared |= output.replaces == original;
      if (!declared) out_.program.outputs.push_back({current, original});
    }
  }

  const graph::Graph& graph_;
  Lowered out_;
  Lowering lowering_;
  NodeLowering nodes_;
};

}  // namespace

Result<Lowered> lower(const graph::Graph& graph) {
  LL_DO(graph::check(graph));
  return GraphLowering(graph).run();
}

std::vector<std::string> canonical_targets(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) {
    const Registry::Match match = all_operators().find(node.target);
    names.push_back(match.op ? match.op->name + (match.in_place ? "_" : "") : node.target);
  }
  return names;
}

}  // namespace lightline::ops
