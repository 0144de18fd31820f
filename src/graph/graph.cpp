#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"

namespace lightline::graph {
namespace {

class Hasher {
 public:
  void bytes(const void* data, size_t size) { text_.append(static_cast<const char*>(data), size); }
  void number(int64_t value) { bytes(&value, sizeof value); }
  void real(double value) { bytes(&value, sizeof value); }
  void string(std::string_view value) {
    number(int64_t(value.size()));
    bytes(value.data(), value.size());
  }
  std::string finish() const { return content_hash_of(text_); }

 private:
  static std::string content_hash_of(const std::string& text) { return lightline::content_hash(text); }
  std::string text_;
};

void add_type(Hasher& hash, const Value& value) {
  if (!value.type) return hash.number(-1);
  hash.number(int64_t(value.type->dtype));
  hash.number(int64_t(value.type->shape.size()));
  for (const int64_t extent : value.type->shape) hash.number(extent);
}

struct ArgumentHasher {
  Hasher& hash;
  const std::vector<std::string>& values;
  const Graph& graph;
  std::string (*hash_of_body)(const Graph&);

  void operator()(std::monostate) const {}
  void operator()(const ValueRef& ref) const { hash.string(ref.id == no_value ? "" : values[ref.id]); }
  void operator()(const std::vector<ValueId>& ids) const {
    hash.number(int64_t(ids.size()));
    for (const ValueId id : ids) (*this)(ValueRef{id});
  }
  void operator()(bool value) const { hash.number(value); }
  void operator()(int64_t value) const { hash.number(value); }
  void operator()(double value) const { hash.real(value); }
  void operator()(const std::complex<double>& value) const {
    hash.real(value.real());
    hash.real(value.imag());
  }
  void operator()(const std::string& value) const { hash.string(value); }
  void operator()(DType value) const { hash.number(int64_t(value)); }
  void operator()(const std::vector<int64_t>& list) const {
    hash.number(int64_t(list.size()));
    for (const int64_t value : list) hash.number(value);
  }
  void operator()(const std::vector<double>& list) const {
    hash.number(int64_t(list.size()));
    for (const double value : list) hash.real(value);
  }
  void operator()(const SubgraphRef& ref) const { hash.string(hash_of_body(graph.subgraphs[ref.index])); }
};

}  // namespace

ValueId Graph::add_value(std::string value_name, std::optional<TensorType> type) {
  values.push_back({std::move(value_name), std::move(type)});
  return ValueId(values.size() - 1);
}

std::vector<const Node*> makers(const Graph& graph) {
  std::vector<const Node*> list(graph.values.size(), nullptr);
  for (const Node& node : graph.nodes)
    for (const ValueId id : node.results)
      if (id != no_value) list[id] = &node;
  return list;
}

std::string digest_of(const Tensor& tensor) {
  Hasher hash;
  hash.number(int64_t(tensor.dtype()));
  for (const int64_t extent : tensor.shape()) hash.number(extent);
  hash.bytes(tensor.data(), tensor.byte_count());
  return hash.finish();
}

Status check(const Graph& graph) {
  std::vector<bool> defined(graph.values.size(), false);
  const auto define = [&](ValueId id, const std::string& where) -> Status {
    if (id == no_value) return Ok{};
    if (id >= defined.size())
      return Error{ErrorCode::internal, fmt::format("{} names a value that does not exist", where)};
    if (defined[id])
      return Error{ErrorCode::name,
                   fmt::format("{} defines '{}', which is already defined", where, graph.values[id].name),
                   "the graph must define every value once"};
    defined[id] = true;
    return Ok{};
  };
  const auto use = [&](ValueId id, const std::string& where) -> Status {
    if (id == no_value) return Ok{};
    if (id >= defined.size() || !defined[id])
      return Error{
          ErrorCode::name,
          fmt::format("{} uses '{}' before it is defined", where, id < defined.size() ? graph.values[id].name : "?"),
          "the graph is cyclic or its nodes are out of order"};
    return Ok{};
  };
  for (const Input& input : graph.inputs) LL_DO(define(input.value, "an input"));
  for (const Node& node : graph.nodes) {
    const std::string where = fmt::format("node '{}' ({})", node.name, node.target);
    for (const NamedArgument& argument : node.arguments) {
      if (const auto* ref = std::get_if<ValueRef>(&argument.value)) LL_DO(use(ref->id, where));
      if (const auto* list = std::get_if<std::vector<ValueId>>(&argument.value))
        for (const ValueId id : *list) LL_DO(use(id, where));
      if (const auto* sub = std::get_if<SubgraphRef>(&argument.value))
        if (sub->index >= graph.subgraphs.size())
          return Error{ErrorCode::internal, fmt::format("{} names a subgraph that does not exist", where)};
    }
    for (const ValueId id : node.results) LL_DO(define(id, where));
  }
  for (const Output& output : graph.outputs) LL_DO(use(output.value, "the output list"));
  for (const Graph& sub : graph.subgraphs) LL_DO(check(sub));
  return Ok{};
}

namespace {

enum class Sizes : uint8_t { counted, ignored };

// Parameters that only say how large something is.
bool is_size(std::string_view parameter) {
  static constexpr std::string_view names[] = {
      "size",        "sizes",       "shape",   "start", "end",         "step",        "length",      "split_size",
      "split_sizes", "n",           "m",       "N",     "C",           "HxW",         "steps",       "normalized_shape",
      "input_size",  "input_sizes", "repeats", "k",     "output_size", "num_classes", "num_weights", "dtype",
      "index",       "stride"};
  return std::ranges::find(names, parameter) != std::end(names);
}

std::string hash_of(const Graph& graph, const std::vector<std::string>& targets, Sizes sizes,
                    std::string (*hash_of_body)(const Graph&)) {
  const auto add_type_of = [&](Hasher& hash, ValueId id) {
    if (sizes == Sizes::counted) add_type(hash, graph.values[id]);
  };
  // A value's hash covers everything it is computed from, so neither names nor the order of nodes matter.
  std::vector<std::string> values(graph.values.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Input& input = graph.inputs[i];
    Hasher hash;
    hash.string("input");
    hash.number(int64_t(i));
    hash.number(int64_t(input.kind));
    add_type_of(hash, input.value);
    if (sizes == Sizes::counted) hash.string(input.known ? digest_of(*input.known) : input.digest);
    values[input.value] = hash.finish();
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    Hasher hash;
    hash.string(targets[n]);
    std::vector<const NamedArgument*> sorted;
    for (const NamedArgument& argument : node.arguments)
      if (sizes == Sizes::counted || !is_size(argument.name)) sorted.push_back(&argument);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
    for (const NamedArgument* argument : sorted) {
      hash.string(argument->name);
      hash.number(int64_t(argument->value.index()));
      std::visit(ArgumentHasher{hash, values, graph, hash_of_body}, argument->value);
    }
    const std::string whole = hash.finish();
    for (size_t r = 0; r < node.results.size(); ++r) {
      if (node.results[r] == no_value) continue;
      Hasher result;
      result.string(whole);
      result.number(int64_t(r));
      add_type_of(result, node.results[r]);
      values[node.results[r]] = result.finish();
    }
  }
  Hasher all;
  all.number(int64_t(graph.inputs.size()));
  for (const Output& output : graph.outputs) {
    all.string(output.value == no_value ? "" : values[output.value]);
    all.string(output.replaces == no_value ? "" : values[output.replaces]);
  }
  return all.finish();
}

std::vector<std::string> own_targets(const Graph& graph) {
  std::vector<std::string> targets;
  for (const Node& node : graph.nodes) targets.push_back(node.target);
  return targets;
}

}  // namespace

std::string content_hash(const Graph& graph, const std::vector<std::string>& canonical_targets) {
  return hash_of(graph, canonical_targets, Sizes::counted, [](const Graph& body) { return content_hash(body); });
}

std::string content_hash(const Graph& graph) { return content_hash(graph, own_targets(graph)); }

std::string structure_hash(const Graph& graph) {
  return hash_of(graph, own_targets(graph), Sizes::ignored, [](const Graph& body) { return structure_hash(body); });
}

}  // namespace lightline::graph
