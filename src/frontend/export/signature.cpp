// Inputs and outputs of an exported program.
#include "frontend/export/reader.h"

namespace lightline::frontend {
namespace {

std::string source_key(bool parameter, std::string_view name) {
  std::string key(1, parameter ? 'p' : 'b');
  return key.append(name);
}

}  // namespace

void ExportReader::read_inputs(const JsonObject& top, const JsonObject& module, Scope& scope) {
  const JsonObject signature = object_of(field(module, "signature", "graph_module"), "signature");
  for (const JsonElement spec : array_of(field(signature, "input_specs", "signature"), "input_specs"))
    read_input_spec(spec, scope);
  const auto is_token = [&](std::string_view name) {
    for (const JsonElement spec : array_of(field(signature, "input_specs", "signature"), "input_specs")) {
      const auto [kind, body] = tagged(spec, "an input spec");
      if (kind == "token" && tensor_name(field(object_of(body, "a token"), "arg", "a token")) == name) return true;
    }
    return false;
  };
  // Graph inputs that the signature leaves out keep their place, so that uses of them resolve.
  for (const JsonElement input : array_of(field(top, "inputs", "graph"), "inputs")) {
    const auto [tag, value] = tagged(input, "a graph input");
    if (tag == "as_tensor" && !is_token(tensor_name(value)))
      add_input(scope, tensor_name(value), graph::InputKind::user, "");
  }
}

void ExportReader::read_input_spec(const JsonElement& spec, Scope& scope) {
  const auto [kind, body] = tagged(spec, "an input spec");
  const JsonObject o = object_of(body, "an input spec");
  if (kind == "constant_input") {
    JsonElement value;
    if (!find(o, "value", value)) return;
    scope.constants.emplace(text_of(field(o, "name", "an input spec"), "an input's name"),
                            read_argument(scope, value, "a constant input"));
  } else if (kind == "user_input") {
    const auto [tag, value] = tagged(field(o, "arg", "a user input"), "a user input");
    if (tag == "as_tensor")
      add_input(scope, tensor_name(value), graph::InputKind::user, "");
    else if (tag.starts_with("as_sym"))
      add_symbol_input(scope, value);
  } else if (kind == "parameter" || kind == "buffer" || kind == "tensor_constant") {
    const std::string_view name = tensor_name(field(o, "arg", "an input spec"));
    const std::string_view key = kind == "parameter" ? "parameter_name"
                                 : kind == "buffer"  ? "buffer_name"
                                                     : "tensor_constant_name";
    const graph::InputKind input = kind == "parameter" ? graph::InputKind::parameter
                                   : kind == "buffer"  ? graph::InputKind::buffer
                                                       : graph::InputKind::constant;
    add_input(scope, name, input, std::string(text_of(field(o, key, "an input spec"), key)));
  }
}

void ExportReader::add_input(Scope& scope, std::string_view name, graph::InputKind kind, std::string source) {
  if (find_value(scope, name) != graph::no_value) return;
  auto type = recorded_type(scope, name);
  if (!type) fail(ErrorCode::parse, fmt::format("the input '{}' has no entry in tensor_values", name));
  require_own_width(scope, name);
  if (!source.empty())
    input_by_source_.emplace(source_key(kind == graph::InputKind::parameter, source), graph_.inputs.size());
  graph_.inputs.push_back({define(scope, name, std::move(type)), kind, std::move(source), {}});
}

void ExportReader::add_symbol_input(Scope& scope, const JsonElement& value) {
  const auto [tag, name] = tagged(value, "a symbolic input");
  if (tag != "as_name") return;
  const std::string_view symbol = text_of(name, "a symbolic input");
  if (const auto found = scope.symbols.find(symbol); found != scope.symbols.end())
    if (sym_int(found->second, symbol)) return;  // its example value stands for it
  graph_.inputs.push_back({define(scope, symbol, TensorType{DType::i64, {}}), graph::InputKind::user, "", {}});
}

void ExportReader::read_outputs(const JsonObject& module, Scope& scope) {
  current_ = "output";
  const JsonObject signature = object_of(field(module, "signature", "graph_module"), "signature");
  for (const JsonElement spec : array_of(field(signature, "output_specs", "signature"), "output_specs")) {
    const auto [kind, body] = tagged(spec, "an output spec");
    const JsonObject o = object_of(body, "an output spec");
    const JsonElement arg = field(o, "arg", "an output spec");
    if (kind == "token") continue;
    if (kind == "user_output") {
      const auto [tag, value] = tagged(arg, "an output");
      if (tag == "as_tensor") {
        require_own_width(scope, tensor_name(value));
        graph_.outputs.push_back({use(scope, tensor_name(value)), graph::no_value});
      }
      if (tag == "as_tensors" || tag == "as_optional_tensors")
        for (const graph::ValueId id : tensor_list(scope, value)) graph_.outputs.push_back({id, graph::no_value});
      continue;
    }
    graph_.outputs.push_back({use(scope, tensor_name(arg)), replaced_input(o, kind, scope)});
  }
}

graph::ValueId ExportReader::replaced_input(const JsonObject& o, std::string_view kind, const Scope& scope) {
  JsonElement name;
  if (kind == "user_input_mutation" && find(o, "user_input_name", name))
    return find_value(scope, text_of(name, "user_input_name"));
  const bool buffer = kind == "buffer_mutation" && find(o, "buffer_name", name);
  const bool parameter = kind == "parameter_mutation" && find(o, "parameter_name", name);
  if (!buffer && !parameter) return graph::no_value;
  const auto found = input_by_source_.find(source_key(parameter, text_of(name, "a mutated buffer")));
  return found == input_by_source_.end() ? graph::no_value : graph_.inputs[found->second].value;
}

}  // namespace lightline::frontend
