#include "frontend/canonical/canonicalise.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/canonical/argument_forms.h"
#include "frontend/canonical/spellings.h"
#include "frontend/canonical/view_forms.h"
#include "graph/result_types.h"
#include "graph/strides.h"
#include "graph/type_call.h"

namespace lightline::frontend {
namespace {

using graph::Argument;
using graph::Graph;
using graph::NamedArgument;
using graph::no_value;
using graph::Node;
using graph::OperatorSignature;
using graph::ValueId;
using graph::ValueRef;

// Thrown inside of this stage only.
struct CanonicalError {
  Error error;
};

// A tensor of the source: memory seen through views. Where the memory was written, the views are made anew.
struct Alias {
  uint32_t memory = 0;
  std::vector<ViewStep> views;
  ValueId value = no_value;  // what it is, as of `version`
  uint32_t version = 0;
};
struct Memory {
  ValueId value = no_value;
  uint32_t version = 0;
};

// Says what is true anyway, and gives nothing.
bool only_asserts(const Node& node) {
  const auto says = [&](std::string_view word) { return node.target.find(word) != std::string::npos; };
  return node.results.empty() && node.target.starts_with("aten.") &&
         (says("_assert") || says("constrain") || says("_check"));
}

bool is_copy(std::string_view target) { return target.find("_copy") != std::string_view::npos; }

class Canonicaliser {
 public:
  explicit Canonicaliser(Graph source) : source_(std::move(source)), aliases_(source_.values.size()) {}

  Graph run() {
    out_.name = source_.name;
    out_.assumptions = source_.assumptions;
    for (Graph& inner : source_.subgraphs) out_.subgraphs.push_back(Canonicaliser(std::move(inner)).run());
    inputs();
    for (const Node& node : source_.nodes) {
      node_ = &node;
      try {
        convert(node);
      } catch (graph::TypeError& error) {
        fail(std::move(error.message), error.code);
      }
    }
    outputs();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string message, ErrorCode code = ErrorCode::unsupported) const {
    throw CanonicalError{
        {code,
         fmt::format("node '{}' ({}): {}", node_ ? node_->name : "", node_ ? node_->target : "", message),
         "",
         {}}};
  }

  // ---- inputs and outputs ----
  void inputs() {
    for (graph::Input& input : source_.inputs) {
      const ValueId value = add(source_.values[input.value]);
      bind(input.value, value);
      out_.inputs.push_back({value, input.kind, input.source, std::move(input.known), input.digest});
    }
  }
  ValueId add(const graph::Value& value) {
    if (!value.type) fail(fmt::format("the type of '{}' is not known", value.name));
    return out_.add_value(value.name, value.type);
  }
  // A source value that is memory of its own.
  void bind(ValueId source, ValueId value) {
    if (source == no_value) return;
    aliases_[source] = Alias{uint32_t(memories_.size()), {}, value, 0};
    memories_.push_back({value, 0});
  }

  void outputs() {
    node_ = nullptr;
    std::vector<ValueId> declared;
    for (const graph::Output& output : source_.outputs) {
      graph::Output own;
      if (output.value != no_value) own.value = current(output.value);
      if (output.replaces != no_value) {
        own.replaces = input_of(output.replaces);
        declared.push_back(output.replaces);
      }
      out_.outputs.push_back(own);
    }
    // inputs that were written take their last state as a further result
    for (const graph::Input& input : source_.inputs) {
      const bool known = std::ranges::find(declared, input.value) != declared.end();
      if (known || memories_[aliases_[input.value]->memory].version == 0) continue;
      out_.outputs.push_back({current(input.value), input_of(input.value)});
    }
  }
  ValueId input_of(ValueId source) const {
    for (size_t i = 0; i < source_.inputs.size(); ++i)
      if (source_.inputs[i].value == source) return out_.inputs[i].value;
    return no_value;
  }

  // ---- values ----
  TensorType type_of(ValueId id) const { return *out_.values[id].type; }

  // What a source value is now.
  ValueId current(ValueId source) {
    if (source == no_value) return no_value;
    auto& alias = aliases_[source];
    if (!alias) fail("a value is used that was not made");
    const Memory& memory = memories_[alias->memory];
    if (alias->version == memory.version) return alias->value;
    ValueId value = memory.value;
    for (const ViewStep& step : alias->views) value = emit_view(step, value);
    alias->value = value;
    alias->version = memory.version;
    return value;
  }

  ValueId emit_view(const ViewStep& step, ValueId from) {
    if (!step.op) return from;
    std::vector<NamedArgument> arguments = {{std::string(step.op->parameters[0].name), ValueRef{from}}};
    arguments.insert(arguments.end(), step.arguments.begin(), step.arguments.end());
    return emit(*step.op, std::move(arguments), {step.to})[0];
  }

  // `names` are those of the source, where a result is one of its values.
  std::vector<ValueId> emit(const OperatorSignature& op, std::vector<NamedArgument> arguments,
                            const std::vector<TensorType>& types, const std::vector<ValueId>& sources = {}) {
    Node node;
    node.target = std::string(op.name);
    node.arguments = std::move(arguments);
    if (node_) {
      node.name = node_->name;
      node.source = node_->target;
      node.origin = node_->origin;
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const ValueId source = i < sources.size() ? sources[i] : no_value;
      if (!sources.empty() && source == no_value) {
        node.results.push_back(no_value);
        continue;
      }
      const std::string& name = source != no_value ? source_.values[source].name : node.name;
      node.results.push_back(out_.add_value(name, types[i]));
    }
    out_.nodes.push_back(node);
    return std::move(node.results);
  }

  // ---- nodes ----
  void convert(const Node& node) {
    if (only_asserts(node)) return;
    const Spelling spelling = find_spelling(node.target);
    if (!spelling.op) return keep(node);
    const CanonicalCall call =
        with_plain_arguments({spelling.op, arguments_of(spelling, node)}, [this](ValueId id) { return type_of(id); });
    const OperatorSignature& op = *call.op;
    const std::vector<Argument>& arguments = call.arguments;
    const std::vector<TensorType> types = types_of(op, arguments, node);
    if (!spelling.in_place && convert_view(op, arguments, types, node)) return;
    std::vector<NamedArgument> named;
    for (size_t i = 0; i < arguments.size(); ++i) named.push_back({std::string(op.parameters[i].name), arguments[i]});
    if (spelling.in_place) return write_first(op, std::move(named), types, node);
    const ValueId same = same_as_operand(op, named, types);
    if (same != no_value && node.results.size() == 1 && alias_result(op, node, same)) return;
    std::vector<ValueId> sources = node.results;
    sources.resize(std::max(types.size(), sources.size()), no_value);
    std::vector<TensorType> all = types;
    all.resize(sources.size());
    const std::vector<ValueId> results = emit(op, std::move(named), all, sources);
    for (size_t i = 0; i < node.results.size(); ++i)
      if (node.results[i] != no_value) bind(node.results[i], results[i]);
  }

  // What the list does not know stays as it is, over the new values.
  void keep(const Node& node) {
    Node own;
    own.target = node.target;
    own.name = node.name;
    own.origin = node.origin;
    for (const NamedArgument& argument : node.arguments)
      own.arguments.push_back({argument.name, mapped(argument.value)});
    for (const ValueId id : node.results) {
      if (id == no_value) {
        own.results.push_back(no_value);
        continue;
      }
      own.results.push_back(add(source_.values[id]));
      bind(id, own.results.back());
    }
    out_.nodes.push_back(std::move(own));
  }

  Argument mapped(const Argument& value) {
    if (const auto* ref = std::get_if<ValueRef>(&value)) return ValueRef{current(ref->id)};
    const auto* list = std::get_if<std::vector<ValueId>>(&value);
    if (!list) return value;
    std::vector<ValueId> ids;
    for (const ValueId id : *list) ids.push_back(current(id));
    return ids;
  }

  // In the order of the operator's parameters, with defaults, over the new values.
  std::vector<Argument> arguments_of(const Spelling& spelling, const Node& node) {
    const auto& parameters = spelling.form ? spelling.form->parameters : spelling.op->parameters;
    std::vector<const Argument*> given(parameters.size(), nullptr);
    size_t position = 0;
    for (const NamedArgument& argument : node.arguments) {
      if (argument.name.empty()) {
        if (position < given.size()) given[position++] = &argument.value;
        continue;
      }
      for (size_t i = 0; i < given.size(); ++i) {
        const std::string_view own = parameters[i].name;
        if (own == argument.name || (own == "self" && argument.name == "input") ||
            (own == "input" && argument.name == "self"))
          given[i] = &argument.value;
      }
    }
    const auto value_of = [&](size_t i) -> Argument {
      if (given[i]) return mapped(*given[i]);
      return parameters[i].fallback.value_or(Argument{});
    };
    std::vector<Argument> values;
    if (!spelling.form) {
      for (size_t i = 0; i < parameters.size(); ++i) values.push_back(adapted(value_of(i), parameters[i].kind));
      return values;
    }
    const auto& wanted = spelling.op->parameters;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Form::Source& source = spelling.form->arguments[i];
      values.push_back(
          adapted(source.parameter == SIZE_MAX ? source.value : value_of(source.parameter), wanted[i].kind));
    }
    return values;
  }

  // One kind of value for one kind of parameter: a single integer is a list of one, an integer is a real number.
  static Argument adapted(Argument value, graph::ParameterKind kind) {
    using graph::ParameterKind;
    const auto* integer = std::get_if<int64_t>(&value);
    if (kind == ParameterKind::real && integer) return double(*integer);
    if (kind == ParameterKind::flag && integer) return *integer != 0;
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    if (kind == ParameterKind::reals && list) return std::vector<double>(list->begin(), list->end());
    return value;
  }

  Node bound_node(const OperatorSignature& op, const std::vector<Argument>& arguments) const {
    Node bound;
    bound.target = std::string(op.name);
    for (size_t i = 0; i < arguments.size(); ++i)
      bound.arguments.push_back({std::string(op.parameters[i].name), arguments[i]});
    return bound;
  }

  // What the source recorded, else what the list says.
  std::vector<TensorType> types_of(const OperatorSignature& op, const std::vector<Argument>& arguments,
                                   const Node& node) {
    const bool all = !node.results.empty() && std::ranges::all_of(node.results, [&](ValueId id) {
      return id != no_value && source_.values[id].type;
    });
    std::vector<TensorType> types;
    if (all) {
      for (const ValueId id : node.results) types.push_back(*source_.values[id].type);
      return types;
    }
    auto listed = graph::result_types(op, out_, bound_node(op, arguments));
    if (!listed.ok() && listed.error().code != ErrorCode::unsupported)
      fail(listed.error().message, listed.error().code);
    if (listed.ok()) types = std::move(listed).value();
    types.resize(std::max(types.size(), node.results.size()));
    for (size_t i = 0; i < node.results.size(); ++i)
      if (node.results[i] != no_value && source_.values[node.results[i]].type)
        types[i] = *source_.values[node.results[i]].type;
    return types;
  }

  // ---- views ----
  bool convert_view(const OperatorSignature& op, const std::vector<Argument>& arguments,
                    const std::vector<TensorType>& types, const Node& node) {
    const ValueId first = source_of_first(node);
    const auto* ref = arguments.empty() ? nullptr : std::get_if<ValueRef>(&arguments[0]);
    if (first == no_value || !ref || ref->id == no_value) return false;
    const auto steps = view_steps(op, arguments, type_of(ref->id), types);
    if (!steps) return false;
    for (size_t i = 0; i < node.results.size() && i < steps->size(); ++i) {
      if (node.results[i] == no_value) continue;
      const ViewStep& step = (*steps)[i];
      const ValueId value = emit_view(step, ref->id);
      if (is_copy(node.target) || is_reshaped_copy(first, step)) {
        bind(node.results[i], value);
        continue;
      }
      Alias alias = *aliases_[first];
      if (step.op) alias.views.push_back(step);
      alias.value = value;
      alias.version = memories_[alias.memory].version;
      aliases_[node.results[i]] = std::move(alias);
    }
    return true;
  }
  // What PyTorch's memory does not let it see under another shape is copied.
  bool is_reshaped_copy(ValueId source, const ViewStep& step) const {
    const graph::Value& value = source_.values[source];
    if (!step.op || step.op->name != "reshape" || !value.strides) return false;
    const Shape strides = graph::simplified_strides(step.from.shape, *value.strides);
    return !graph::reshaped_strides({step.from.shape, strides}, step.to.shape);
  }
  // Whether a tensor's elements stand in memory once each, in order.
  bool is_row_major(ValueId source) const {
    const graph::Value& value = source_.values[source];
    if (value.strides) return graph::simplified_strides(value.type->shape, *value.strides).empty();
    return aliases_[source]->views.empty();
  }
  bool repeats_elements(ValueId source) const {
    for (const ViewStep& step : aliases_[source]->views)
      if (step.op->name == "expand" || step.op->name == "as_strided" || step.op->name == "unfold") return true;
    return false;
  }

  static ValueId source_of_first(const Node& node) {
    const auto* ref = node.arguments.empty() ? nullptr : std::get_if<ValueRef>(&node.arguments[0].value);
    return ref ? ref->id : no_value;
  }

  // ---- what does nothing ----
  ValueId same_as_operand(const OperatorSignature& op, const std::vector<NamedArgument>& arguments,
                          const std::vector<TensorType>& types) const {
    const auto* ref = arguments.empty() ? nullptr : std::get_if<ValueRef>(&arguments[0].value);
    if (!ref || ref->id == no_value || types.size() != 1 || types[0] != type_of(ref->id)) return no_value;
    const auto flag = [&](std::string_view name) {
      for (const NamedArgument& argument : arguments)
        if (argument.name == name) return std::get_if<bool>(&argument.value) && std::get<bool>(argument.value);
      return false;
    };
    if ((op.name == "to" || op.name == "contiguous") && !flag("copy")) return ref->id;
    const bool drops = op.name == "dropout" || op.name == "alpha_dropout" || op.name == "feature_dropout";
    if (drops && !flag("train")) return ref->id;
    return no_value;
  }
  // The result is the operand itself, or a copy of it that moves nothing but what an output has to; false if elements
  // that stand in one place have to be written several times.
  bool alias_result(const OperatorSignature& op, const Node& node, ValueId value) {
    const ValueId first = source_of_first(node);
    if (node.results[0] == no_value) return true;
    if (first == no_value || !aliases_[first]) {
      bind(node.results[0], value);
    } else if (op.name != "contiguous" || is_row_major(first)) {
      aliases_[node.results[0]] = aliases_[first];
    } else if (repeats_elements(first)) {
      return false;
    } else {
      bind(node.results[0], value);
    }
    return true;
  }

  // ---- writes ----
  void write_first(const OperatorSignature& op, std::vector<NamedArgument> arguments, std::vector<TensorType> types,
                   const Node& node) {
    const ValueId target = source_of_first(node);
    if (target == no_value || !aliases_[target]) fail("an operator that writes in place has no tensor to write");
    if (node.results.size() == 1 && same_as_operand(op, arguments, types) != no_value) {
      aliases_[node.results[0]] = aliases_[target];
      return;
    }
    auto functional = graph::result_types(op, out_, Node{std::string(op.name), node.name, arguments, {}});
    if (functional.ok() && !functional->empty()) types[0] = (*functional)[0];
    const std::vector<ValueId> results = emit(op, std::move(arguments), types);
    write(*aliases_[target], results[0]);
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] == no_value) continue;
      if (i == 0)
        aliases_[node.results[0]] = aliases_[target];
      else
        bind(node.results[i], results[i]);
    }
  }

  // The memory with these elements in the places that the views show.
  void write(const Alias& target, ValueId value) {
    Memory& memory = memories_[target.memory];
    std::vector<ValueId> seen = {memory.value};
    for (const ViewStep& step : target.views) seen.push_back(emit_view(step, seen.back()));
    value = fitted(value, type_of(seen.back()));
    for (size_t i = target.views.size(); i-- > 0;) value = put_back(target.views[i], seen[i], value);
    memory.value = value;
    ++memory.version;
  }

  ValueId fitted(ValueId value, TensorType type) {
    if (type_of(value).dtype != type.dtype) {
      const OperatorSignature& to = *graph::find_operator("to");
      std::vector<NamedArgument> arguments = {{"self", ValueRef{value}}, {"dtype", type.dtype}};
      for (size_t i = 2; i < to.parameters.size(); ++i)
        arguments.push_back({std::string(to.parameters[i].name), *to.parameters[i].fallback});
      value = emit(to, std::move(arguments), {{type.dtype, type_of(value).shape}})[0];
    }
    if (type_of(value).shape.size() > type.shape.size()) {  // dimensions of 1 in front
      const Shape shape = type_of(value).shape;
      const Shape last(shape.end() - int64_t(type.shape.size()), shape.end());
      value = emit_view(reshape_step(type_of(value), last), value);
    }
    if (type_of(value).shape != type.shape)
      value = emit(*graph::find_operator("expand"),
                   {{"self", ValueRef{value}}, {"size", type.shape}, {"implicit", false}}, {type})[0];
    return value;
  }

  // What `base` becomes if the view of it becomes `part`.
  ValueId put_back(const ViewStep& step, ValueId base, ValueId part) {
    const std::string_view name = step.op->name;
    const auto call = [&](std::string_view op, std::vector<NamedArgument> arguments) {
      return emit(*graph::find_operator(op), std::move(arguments), {type_of(base)})[0];
    };
    const auto placed = [&](std::string_view op) {
      std::vector<NamedArgument> arguments = {{"self", ValueRef{base}}, {"src", ValueRef{part}}};
      arguments.insert(arguments.end(), step.arguments.begin(), step.arguments.end());
      return call(op, std::move(arguments));
    };
    if (name == "reshape") return call("reshape", {{"self", ValueRef{part}}, {"shape", type_of(base).shape}});
    if (name == "permute") {
      const auto& order = std::get<std::vector<int64_t>>(step.arguments[0].value);
      std::vector<int64_t> back(order.size());
      for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
      return call("permute", {{"self", ValueRef{part}}, {"dims", back}});
    }
    if (name == "slice") return placed("slice_scatter");
    if (name == "select") return placed("select_scatter");
    if (name == "diagonal") return placed("diagonal_scatter");
    if (name == "as_strided") return placed("as_strided_scatter");
    if (name == "view_as_real") return call("view_as_complex", {{"self", ValueRef{part}}});
    if (name == "view_as_complex") return call("view_as_real", {{"self", ValueRef{part}}});
    if (name == "view.dtype") return call("view.dtype", {{"self", ValueRef{part}}, {"dtype", type_of(base).dtype}});
    fail(fmt::format("it writes through '{}', which shows elements several times", name));
  }

  Graph source_;
  Graph out_;
  std::vector<std::optional<Alias>> aliases_;  // by value of the source
  std::vector<Memory> memories_;
  const Node* node_ = nullptr;
};

}  // namespace

Result<graph::Graph> canonicalise(graph::Graph source) {
  if (source.untyped)
    return Error{ErrorCode::unsupported, "the program has no types", "capture it with torch.export", {}};
  try {
    Graph graph = Canonicaliser(std::move(source)).run();
    LL_DO(graph::check(graph));
    return graph;
  } catch (CanonicalError& failure) {
    return std::move(failure.error);
  } catch (graph::TypeError& failure) {
    return Error{failure.code, std::move(failure.message), "", {}};
  }
}

}  // namespace lightline::frontend
