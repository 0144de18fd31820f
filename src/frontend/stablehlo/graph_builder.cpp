#include "frontend/stablehlo/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/shown.h"

namespace lightline::frontend {
namespace {

using graph::no_value;
using graph::ValueId;
using mlir::Attribute;
using mlir::MlirError;
using mlir::Operation;
using mlir::Region;
using mlir::Type;

constexpr int64_t max_operations = 400'000;  // after inlining
constexpr size_t max_calls = 100;            // of functions that call each other
constexpr int64_t max_listed = 256;          // elements of a constant that is part of the program's text

// A graph under construction, which may be the body of an operator of another one.
struct Building {
  graph::Graph graph;
  Building* parent = nullptr;
  std::unordered_map<ValueId, ValueId> captured;  // value of the parent, value here
  std::vector<ValueId> captures;                  // values of the parent, in order
  std::vector<bool> is_unsigned;                  // by value
  std::vector<int> width;                         // by value: Type::width
  std::unordered_map<ValueId, const Operation*> constants;
};

// Names of one function or region.
struct Frame {
  Building& building;
  const Frame* outer = nullptr;  // what a region sees besides its own
  std::unordered_map<std::string_view, std::vector<ValueId>> names;
};

class Builder {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  graph::Graph run(const std::vector<Operation>& top) {
    collect(top);
    const Operation& entry = entry_function();
    Building root;
    root_ = &root;
    Frame frame{root};
    inputs(entry, frame);
    const std::vector<ValueId> outputs = body(entry.regions[0], frame);
    for (const ValueId id : outputs) root.graph.outputs.push_back({id, no_value});
    aliases(entry, root.graph);
    root.graph.assumptions = std::move(assumptions_);
    return std::move(root.graph);
  }

 private:
  [[noreturn]] static void fail(const Operation& op, std::string message, ErrorCode code = ErrorCode::parse,
                                std::string hint = "") {
    throw MlirError{code, std::move(message), std::move(hint), op.offset};
  }

  // ---- functions ----
  void collect(const std::vector<Operation>& operations) {
    for (const Operation& op : operations) {
      if (op.name == "builtin.module") {
        for (const Region& region : op.regions) collect(region.operations);
      } else if (op.name == "func.func") {
        const Attribute* name = op.attribute("sym_name");
        if (!name) fail(op, "a function has no name");
        if (!functions_.emplace(name->text, &op).second)
          fail(op, fmt::format("the function '@{}' is defined twice", shown(name->text)), ErrorCode::name);
        order_.push_back(&op);
      }
    }
  }
  const Operation& entry_function() const {
    const auto main = functions_.find("main");
    const Operation* entry = main != functions_.end() ? main->second : order_.empty() ? nullptr : order_[0];
    if (!entry) throw MlirError{ErrorCode::parse, "the text has no function", "print a whole module", 0};
    if (entry->regions.empty()) fail(*entry, "the function to start at has no body");
    return *entry;
  }

  TensorType tensor_type(const Type& type, size_t offset) {
    if (type.kind != Type::Kind::tensor) throw MlirError{ErrorCode::unsupported, "a value is not a tensor", "", offset};
    if (type.narrowed)
      assume(type.dtype == DType::c64 ? "complex<f64> is computed and priced as complex<f32>"
                                      : "integers of fewer than 8 bits are stored and priced as 8 bits");
    return {type.dtype, type.shape};
  }
  void assume(std::string text) {
    if (std::find(assumptions_.begin(), assumptions_.end(), text) == assumptions_.end())
      assumptions_.push_back(std::move(text));
  }
  void note_sharding(const mlir::Attributes& attributes) {
    for (const auto& [name, value] : attributes)
      if (name == "mhlo.sharding" || name == "sdy.sharding") assume_sharding();
  }
  void assume_sharding() { assume("shardings are ignored: the program is taken as a whole, on one device"); }

  ValueId add_value(Building& building, std::string name, const Type& type, size_t offset) {
    const ValueId id = building.graph.add_value(std::move(name), tensor_type(type, offset));
    building.is_unsigned.resize(id + 1);
    building.is_unsigned[id] = type.is_unsigned;
    building.width.resize(id + 1);
    building.width[id] = type.width;
    return id;
  }

  void inputs(const Operation& entry, Frame& frame) {
    for (const Region::Argument& argument : entry.regions[0].arguments) {
      const ValueId id = add_value(frame.building, input_name(argument.name, frame.building.graph.inputs.size()),
                                   argument.type, entry.offset);
      graph::Input input;
      input.value = id;
      frame.building.graph.inputs.push_back(std::move(input));
      define(frame, argument.name, {id}, entry);
      note_sharding(argument.attributes);
    }
  }

  // The generic form numbers arguments throughout the module; the pretty form starts again with every function.
  static std::string input_name(std::string_view name, size_t position) {
    const bool numbered = name.starts_with("arg") && name.find_first_not_of("0123456789", 3) == std::string_view::npos;
    return numbered ? fmt::format("arg{}", position) : std::string(name);
  }

  // tf.aliasing_output = 0 on an argument: the result takes its storage.
  static void alias(const mlir::Attributes& attributes, size_t input, graph::Graph& graph) {
    for (const auto& [name, value] : attributes)
      if (name == "tf.aliasing_output" && value.kind == Attribute::Kind::integer && value.integer >= 0 &&
          size_t(value.integer) < graph.outputs.size())
        graph.outputs[size_t(value.integer)].replaces = graph.inputs[input].value;
  }
  void aliases(const Operation& entry, graph::Graph& graph) {
    const auto& arguments = entry.regions[0].arguments;
    for (size_t i = 0; i < arguments.size(); ++i) alias(arguments[i].attributes, i, graph);
    if (const Attribute* all = entry.attribute("arg_attrs")) {  // generic form
      for (size_t i = 0; i < std::min(all->list.size(), arguments.size()); ++i) {
        alias(all->list[i].dictionary, i, graph);
        note_sharding(all->list[i].dictionary);
      }
    }
    for (const auto& attributes : entry.result_attributes) note_sharding(attributes);
  }

  // ---- names ----
  void define(Frame& frame, std::string_view name, std::vector<ValueId> ids, const Operation& op) {
    if (!frame.names.emplace(name, std::move(ids)).second)
      fail(op, fmt::format("the value '%{}' is defined twice", shown(name)), ErrorCode::name);
  }

  ValueId find(const Frame& frame, const mlir::Use& use) {
    const Frame* owner = &frame;
    while (owner && !owner->names.contains(use.name)) owner = owner->outer;
    if (!owner)
      throw MlirError{ErrorCode::name, fmt::format("the value '%{}' is not defined", shown(use.name)), "", use.offset};
    const std::vector<ValueId>& ids = owner->names.at(use.name);
    if (use.number < 0 || size_t(use.number) >= ids.size())
      throw MlirError{
          ErrorCode::name,
          fmt::format("'%{}' has {} results, so there is no '#{}'", shown(use.name), ids.size(), use.number), "",
          use.offset};
    return bring(frame.building, owner->building, ids[size_t(use.number)]);
  }

  // A value of an outer graph, as seen in `to`: constants are repeated, others become inputs of the body.
  ValueId bring(Building& to, Building& from, ValueId id) {
    if (&to == &from || id == no_value) return id;
    const ValueId outside = bring(*to.parent, from, id);
    if (const auto known = to.captured.find(outside); known != to.captured.end()) return known->second;
    const auto constant = to.parent->constants.find(outside);
    ValueId inside = no_value;
    if (constant != to.parent->constants.end()) {
      inside = constant_value(to, *constant->second);
    } else {
      const graph::Value& value = to.parent->graph.values[outside];
      inside = to.graph.add_value(value.name, value.type);
      to.is_unsigned.resize(inside + 1);
      to.is_unsigned[inside] = to.parent->is_unsigned[outside];
      to.width.resize(inside + 1);
      to.width[inside] = to.parent->width[outside];
      to.captures.push_back(outside);
    }
    to.captured.emplace(outside, inside);
    return inside;
  }

  // ---- operations ----
  // Gives what the region returns.
  std::vector<ValueId> body(const Region& region, Frame& frame) {
    for (const Operation& op : region.operations) {
      if (++operations_ > max_operations)
        fail(op, fmt::format("the program has more than {} operations once its functions are inlined", max_operations),
             ErrorCode::limit);
      if (op.name == "func.return" || op.name == "stablehlo.return" || op.name == "sdy.return")
        return operands(op, frame);
      operation(op, frame);
    }
    return {};
  }

  std::vector<ValueId> operands(const Operation& op, const Frame& frame) {
    std::vector<ValueId> ids;
    for (const mlir::Use& use : op.operands) ids.push_back(find(frame, use));
    return ids;
  }

  void operation(const Operation& op, Frame& frame) {
    note_sharding(op.attributes);
    if (op.name == "stablehlo.constant") return bind_results(op, frame, {constant_value(frame.building, op)});
    if (op.name == "func.call") return bind_results(op, frame, call(op, "callee", operands(op, frame), frame));
    if (op.name == "stablehlo.composite")
      return bind_results(op, frame, call(op, "decomposition", operands(op, frame), frame));
    if (op.name == "stablehlo.optimization_barrier") return bind_results(op, frame, operands(op, frame));
    if (op.name == "stablehlo.tuple") return define_tuple(op, frame);
    if (op.name == "stablehlo.get_tuple_element") return element_of_tuple(op, frame);
    if (op.name == "sdy.sharding_constraint" || op.name == "sdy.reshard" || is_sharding_call(op)) {
      assume_sharding();
      return bind_results(op, frame, operands(op, frame));
    }
    if (op.name == "sdy.mesh") return;
    if (const auto fixed = with_fixed_sizes(op, frame)) return node(*fixed, frame);
    if (is_shape_assertion(op)) return assume("assertions on shapes are taken to hold");
    node(op, frame);
  }

  // Operators whose sizes are operands, where those are constants: as the ones that have them as attributes.
  std::optional<Operation> with_fixed_sizes(const Operation& op, const Frame& frame) {
    struct Sized {
      std::string_view name, fixed;
      size_t first;  // operand that is a size
      std::vector<std::string> attributes;
    };
    static const std::vector<Sized> table = {
        {"stablehlo.dynamic_pad", "stablehlo.pad", 2, {"edge_padding_low", "edge_padding_high", "interior_padding"}},
        {"stablehlo.dynamic_gather", "stablehlo.gather", 2, {"slice_sizes"}},
        {"stablehlo.dynamic_conv", "stablehlo.convolution", 2, {"padding"}},
        {"stablehlo.dynamic_iota", "stablehlo.iota", 0, {""}},
    };
    const auto sized = std::ranges::find(table, op.name, &Sized::name);
    if (sized == table.end() || op.operands.size() != sized->first + sized->attributes.size()) return std::nullopt;
    Operation fixed = op;
    fixed.name = sized->fixed;
    for (const std::string& attribute : sized->attributes) {
      const ValueId id = find(frame, fixed.operands[sized->first]);
      const auto known = frame.building.constants.find(id);
      if (known == frame.building.constants.end()) return std::nullopt;
      fixed.operands.erase(fixed.operands.begin() + int64_t(sized->first));
      if (!attribute.empty()) fixed.attributes.emplace_back(attribute, *known->second->attribute("value"));
    }
    return fixed;
  }

  void bind_results(const Operation& op, Frame& frame, std::vector<ValueId> ids) {
    size_t next = 0;
    for (const auto& [name, count] : op.results) {
      if (next + size_t(count) > ids.size()) fail(op, fmt::format("'{}' gives {} results", op.name, ids.size()));
      define(frame, name, {ids.begin() + int64_t(next), ids.begin() + int64_t(next) + count}, op);
      next += size_t(count);
    }
  }

  static std::string_view call_target(const Operation& op) {
    const Attribute* target = op.name == "stablehlo.custom_call" ? op.attribute("call_target_name") : nullptr;
    return target ? std::string_view(target->text) : std::string_view();
  }
  static bool is_sharding_call(const Operation& op) {
    static constexpr std::string_view names[] = {
        "Sharding",         "SPMDFullToShardShape",      "SPMDShardToFullShape",
        "LayoutConstraint", "annotate_device_placement", "ResultHandler"};
    const std::string_view target = call_target(op);
    return op.operands.size() == 1 && std::find(std::begin(names), std::end(names), target) != std::end(names);
  }
  static bool is_shape_assertion(const Operation& op) { return call_target(op) == "shape_assertion"; }

  void define_tuple(const Operation& op, Frame& frame) {
    if (op.results.size() != 1) fail(op, "a tuple has one result");
    define(frame, op.results[0].first, operands(op, frame), op);
  }
  void element_of_tuple(const Operation& op, Frame& frame) {
    const Attribute* index = op.attribute("index");
    if (!index || op.operands.size() != 1) fail(op, "an element of a tuple needs the tuple and an index");
    mlir::Use use = op.operands[0];
    use.number = index->integer;
    bind_results(op, frame, {find(frame, use)});
  }

  std::vector<ValueId> call(const Operation& op, std::string_view key, std::vector<ValueId> arguments, Frame& frame) {
    const Attribute* name = op.attribute(key);
    const auto found = name ? functions_.find(name->text) : functions_.end();
    if (found == functions_.end())
      fail(op, fmt::format("the function '@{}' is not defined", name ? shown(name->text) : ""), ErrorCode::name);
    const Operation& callee = *found->second;
    if (callee.regions.empty()) fail(op, fmt::format("the function '@{}' has no body", shown(found->first)));
    const Region& region = callee.regions[0];
    if (region.arguments.size() != arguments.size())
      fail(op, fmt::format("'@{}' takes {} arguments but is given {}", shown(found->first), region.arguments.size(),
                           arguments.size()));
    if (!active_.insert(&callee).second)
      fail(op, fmt::format("the function '@{}' calls itself", shown(found->first)), ErrorCode::unsupported);
    if (active_.size() > max_calls) fail(op, "functions call each other too deeply", ErrorCode::limit);
    Frame inner{frame.building};
    for (size_t i = 0; i < arguments.size(); ++i) {
      check_type(op, frame.building, arguments[i], region.arguments[i].type);
      define(inner, region.arguments[i].name, {arguments[i]}, callee);
    }
    std::vector<ValueId> results = body(region, inner);
    active_.erase(&callee);
    return results;
  }
  void check_type(const Operation& op, const Building& building, ValueId id, const Type& type) {
    if (id == no_value) return;
    const TensorType expected = tensor_type(type, op.offset);
    const auto& given = building.graph.values[id].type;
    if (given && *given != expected)
      fail(op, fmt::format("an argument should be {} but is {}", to_string(expected), to_string(*given)),
           ErrorCode::type);
  }

  // ---- nodes ----
  static std::string mnemonic(const Operation& op) {
    const std::string_view target = call_target(op);
    const std::string_view name = target.empty() ? std::string_view(op.name) : target;
    return std::string(name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1));
  }
  // Lines are counted once, since operations come in the order of the text, except for inlined functions.
  size_t line_of(size_t offset) {
    if (line_starts_.empty()) {
      line_starts_.push_back(0);
      for (size_t i = 0; i < text_.size(); ++i)
        if (text_[i] == '\n') line_starts_.push_back(i + 1);
    }
    return size_t(std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) - line_starts_.begin());
  }

  graph::Node new_node(const Operation& op) {
    graph::Node node;
    const std::string_view target = call_target(op);
    node.target = target.empty() ? op.name : fmt::format("{}.{}", op.name, target);
    node.name = fmt::format("{}_line{}", mnemonic(op), line_of(op.offset));
    return node;
  }

  void add_results(const Operation& op, Building& building, graph::Node& node, std::vector<ValueId>& ids) {
    for (const Type& type : op.result_types) {
      const bool tensor = type.kind == Type::Kind::tensor;
      ids.push_back(tensor ? add_value(building, mnemonic(op), type, op.offset) : no_value);
      node.results.push_back(ids.back());
    }
  }

  void node(const Operation& op, Frame& frame) {
    Building& building = frame.building;
    graph::Node node = new_node(op);
    bool first_unsigned = false;
    int first_width = 0;
    for (const mlir::Use& use : op.operands) {
      const ValueId id = find(frame, use);
      if (id == no_value) continue;  // a token
      if (node.arguments.empty()) first_unsigned = building.is_unsigned[id];
      if (node.arguments.empty()) first_width = building.width[id];
      node.arguments.push_back({"", graph::ValueRef{id}});
    }
    if (has_unsigned_indices(op, node, building)) node.arguments.push_back({"index_unsigned", true});
    if (first_unsigned) node.arguments.push_back({"unsigned", true});
    if (first_width != 0) node.arguments.push_back({"width", int64_t(first_width)});
    if (!op.result_types.empty() && op.result_types[0].is_unsigned) node.arguments.push_back({"result_unsigned", true});
    if (!op.result_types.empty() && op.result_types[0].width != 0)
      node.arguments.push_back({"result_width", int64_t(op.result_types[0].width)});
    for (const auto& [name, value] : op.attributes)
      if (name != "call_target_name") add_arguments(name, value, node.arguments);
    for (size_t i = 0; i < op.regions.size(); ++i) add_region(op, i, frame, node);
    std::vector<ValueId> ids;
    add_results(op, building, node, ids);
    building.graph.nodes.push_back(std::move(node));
    bind_results(op, frame, std::move(ids));
  }

  // Of the operators that take places: the first operand that is one.
  static bool has_unsigned_indices(const Operation& op, const graph::Node& node, const Building& building) {
    const size_t n = node.arguments.size();
    const size_t at = op.name == "stablehlo.gather" || op.name == "stablehlo.dynamic_slice" ? 1
                      : op.name == "stablehlo.dynamic_update_slice"                         ? 2
                      : op.name == "stablehlo.scatter"                                      ? n / 2
                                                                                            : n;
    const auto* ref = at < n ? std::get_if<graph::ValueRef>(&node.arguments[at].value) : nullptr;
    return ref && building.is_unsigned[ref->id];
  }

  void add_region(const Operation& op, size_t index, Frame& frame, graph::Node& node) {
    Building inner;
    inner.parent = &frame.building;
    inner.graph.name = fmt::format("region_{}", index);
    Frame names{inner, &frame};
    for (const Region::Argument& argument : op.regions[index].arguments) {
      const ValueId id = add_value(inner, std::string(argument.name), argument.type, op.offset);
      inner.graph.inputs.push_back({id});
      define(names, argument.name, {id}, op);
    }
    const std::vector<ValueId> outputs = body(op.regions[index], names);
    for (const ValueId id : outputs) {
      if (id == no_value)
        fail(op, "the body of an operator gives something that is not a tensor", ErrorCode::unsupported);
      inner.graph.outputs.push_back({id, no_value});
    }
    for (const ValueId outside : inner.captures) inner.graph.inputs.push_back({inner.captured.at(outside)});
    node.arguments.push_back(
        {fmt::format("region_{}", index), graph::SubgraphRef{uint32_t(frame.building.graph.subgraphs.size())}});
    node.arguments.push_back({fmt::format("captures_{}", index), std::move(inner.captures)});
    frame.building.graph.subgraphs.push_back(std::move(inner.graph));
  }

  // ---- constants ----
  ValueId constant_value(Building& building, const Operation& op) {
    const Attribute* value = op.attribute("value");
    if (!value || value->kind != Attribute::Kind::dense) fail(op, "a constant has no value");
    const mlir::Dense& dense = *value->dense;
    if (!dense.splat && dense.data.size() > max_listed) return bring(building, *root_, large_constant(op, dense));
    graph::Node node = new_node(op);
    node.arguments.push_back({"dtype", dense.type.dtype});
    node.arguments.push_back({"shape", dense.type.shape});
    node.arguments.push_back({"value", listed(dense)});
    const ValueId id = add_value(building, "constant", dense.type, op.offset);
    node.results.push_back(id);
    building.graph.nodes.push_back(std::move(node));
    building.constants.emplace(id, &op);
    return id;
  }
  // The elements, one for a splat; a complex one is two numbers.
  static graph::Argument listed(const mlir::Dense& dense) {
    std::vector<int64_t> integers;
    std::vector<double> reals;
    for (int64_t i = 0; i < dense.data.size(); ++i) {
      if (dense.type.dtype == DType::c64) {
        reals.push_back(dense.data.get_c128(i).real());
        reals.push_back(dense.data.get_c128(i).imag());
      } else if (is_float(dense.type.dtype)) {
        reals.push_back(dense.data.get_f64(i));
      } else {
        integers.push_back(dense.data.get_i64(i));
      }
    }
    if (reals.empty()) return integers;
    return reals;
  }
  // Large constants are inputs of the whole program, with their values.
  ValueId large_constant(const Operation& op, const mlir::Dense& dense) {
    const auto [known, fresh] = large_.emplace(&dense, no_value);
    if (!fresh) return known->second;
    const ValueId id = add_value(*root_, fmt::format("constant{}", large_.size()), dense.type, op.offset);
    graph::Input input;
    input.value = id;
    input.kind = graph::InputKind::constant;
    input.source = root_->graph.values[id].name;
    input.known = Tensor::dense_copy(dense.data.view());
    root_->graph.inputs.push_back(std::move(input));
    return known->second = id;
  }

  std::string_view text_;
  std::unordered_map<std::string, const Operation*> functions_;
  std::vector<const Operation*> order_;
  std::unordered_set<const Operation*> active_;
  std::unordered_map<const mlir::Dense*, ValueId> large_;
  std::vector<std::string> assumptions_;
  std::vector<size_t> line_starts_;
  Building* root_ = nullptr;
  int64_t operations_ = 0;
};

}  // namespace

graph::Graph build_graph(const std::vector<Operation>& top, std::string_view text) { return Builder(text).run(top); }

}  // namespace lightline::frontend
