#include "frontend/fx/fx_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "base/shown.h"

namespace lightline::frontend {
namespace {

using graph::Argument;
using graph::ValueId;
using graph::ValueRef;
using python::Expr;
using python::ExprId;
using python::ExprKind;
using python::no_expr;

constexpr size_t max_nodes = 400'000;

// Thrown inside this file only.
struct FxError {
  Error error;
};

// What an expression stands for while the graph is built.
struct Item {
  enum class Kind : uint8_t { constant, path, sequence };
  Kind kind = Kind::constant;
  Argument constant;        // a ValueRef for what the program computes
  std::string path;         // "torch.nn.functional.relu": a name from outside
  std::vector<Item> items;  // of a tuple or list
  bool list = false;

  static Item of(Argument value) {
    Item item;
    item.constant = std::move(value);
    return item;
  }
  bool is_value() const { return kind == Kind::constant && std::holds_alternative<ValueRef>(constant); }
};

struct CallArguments {
  std::vector<Item> positional;
  std::vector<std::pair<std::string, Item>> named;
};

std::string_view operator_name(ExprKind kind, std::string_view symbol) {
  static const std::unordered_map<std::string_view, std::string_view> binary = {
      {"+", "add"}, {"-", "sub"},     {"*", "mul"},     {"/", "truediv"}, {"//", "floordiv"},
      {"%", "mod"}, {"**", "pow"},    {"@", "matmul"},  {"&", "and_"},    {"|", "or_"},
      {"^", "xor"}, {"<<", "lshift"}, {">>", "rshift"}, {"==", "eq"},     {"!=", "ne"},
      {"<", "lt"},  {"<=", "le"},     {">", "gt"},      {">=", "ge"}};
  if (kind == ExprKind::unary) return symbol == "-" ? "neg" : symbol == "+" ? "pos" : "invert";
  return binary.at(symbol);
}

// Names from outside that are plain values.
std::optional<Argument> constant_of(std::string_view path) {
  static const std::unordered_map<std::string_view, double> numbers = {{"inf", HUGE_VAL},
                                                                       {"math.inf", HUGE_VAL},
                                                                       {"torch.inf", HUGE_VAL},
                                                                       {"nan", std::nan("")},
                                                                       {"math.nan", std::nan("")},
                                                                       {"torch.nan", std::nan("")},
                                                                       {"pi", std::numbers::pi},
                                                                       {"math.pi", std::numbers::pi},
                                                                       {"torch.pi", std::numbers::pi},
                                                                       {"math.e", std::numbers::e},
                                                                       {"math.tau", 2 * std::numbers::pi}};
  if (path == "None") return Argument{};
  if (path == "True" || path == "False") return path == "True";
  if (const auto number = numbers.find(path); number != numbers.end()) return number->second;
  if (!path.starts_with("torch.")) return std::nullopt;
  const std::string_view name = path.substr(6);
  if (const auto dtype = torch_dtype(name)) return *dtype;
  // layouts and memory formats do not change what is computed
  for (const std::string_view word :
       {"strided", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "sparse_coo"})
    if (name == word) return std::string(path);
  return std::nullopt;
}

class Builder {
 public:
  Builder(const python::Module& module, TensorMetas& metas, std::string_view file)
      : module_(module), metas_(metas), file_(file) {}

  graph::Graph run(const python::Function& forward) {
    graph_.untyped = true;
    for (size_t i = 0; i < forward.parameters.size(); ++i)
      if (i > 0 || forward.parameters[i].name != "self") add_input(forward.parameters[i]);
    bool returned = false;
    for (const python::Statement& statement : forward.body) {
      returned = statement.kind == python::StatementKind::returned;
      run_statement(statement);
      if (returned) break;
    }
    if (!returned)
      fail(forward.line, 1, "the function does not return anything", "end it with a return", ErrorCode::parse);
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(int line, int column, std::string message, std::string hint, ErrorCode code) const {
    throw FxError{{code, std::move(message), std::move(hint), {std::string(file_), line, column}}};
  }
  [[noreturn]] void fail(const Expr& at, std::string message, std::string hint,
                         ErrorCode code = ErrorCode::unsupported) const {
    fail(at.line, at.column, std::move(message), std::move(hint), code);
  }

  // ---- inputs ----
  bool annotated(const python::Parameter& parameter, std::string_view type) const {
    return parameter.annotation != no_expr && module_.at(parameter.annotation).text == type;
  }
  void add_input(const python::Parameter& parameter) {
    const std::string name(parameter.name);
    const auto meta = metas_.find(name);
    if (meta == metas_.end())
      fail(parameter.line, 1, fmt::format("the parameter '{}' has no entry in the tensor metadata", shown(name)),
           "the sample should have a weight_meta.py with a class for it", ErrorCode::name);
    if (names_.contains(parameter.name))
      fail(parameter.line, 1, fmt::format("two parameters are called '{}'", shown(name)), "rename one",
           ErrorCode::name);
    TensorMeta& tensor = meta->second;
    if (annotated(parameter, "SymInt") && tensor.known && tensor.known->size() == 1) {
      names_[parameter.name] = Item::of(tensor.known->get_i64(0));
      return;
    }
    const ValueId id = graph_.add_value(name, tensor.type);
    graph::Input input{id, graph::InputKind::user, "", {}};
    if (annotated(parameter, "Parameter") || name.find("_parameters_") != std::string::npos) {
      input.kind = graph::InputKind::parameter;
      input.source = name;
    } else if (name.find("_buffers_") != std::string::npos) {
      input.kind = graph::InputKind::buffer;
      input.source = name;
    }
    if (tensor.rounded) rounded_.push_back(id);
    input.known = std::move(tensor.known);
    graph_.inputs.push_back(std::move(input));
    names_[parameter.name] = Item::of(ValueRef{id});
  }

  // ---- statements ----
  void run_statement(const python::Statement& statement) {
    current_ = "";
    if (!statement.targets.empty() && module_.at(statement.targets[0]).kind == ExprKind::name)
      current_ = module_.at(statement.targets[0]).text;
    switch (statement.kind) {
      case python::StatementKind::assign: {
        const Item value = evaluate(statement.value);
        for (const ExprId target : statement.targets) assign(target, value);
        break;
      }
      case python::StatementKind::augmented: run_augmented(statement); break;
      case python::StatementKind::expression:
        if (module_.at(statement.value).kind != ExprKind::string) evaluate(statement.value);
        break;
      case python::StatementKind::returned:
        if (statement.value != no_expr) add_outputs(evaluate(statement.value), module_.at(statement.value));
        break;
    }
  }
  void run_augmented(const python::Statement& statement) {
    const Expr& target = module_.at(statement.targets[0]);
    std::string name(operator_name(ExprKind::binary, statement.text));
    if (name.back() == '_') name.pop_back();
    CallArguments arguments;
    arguments.positional = {evaluate(statement.targets[0]), evaluate(statement.value)};
    assign(statement.targets[0], emit("operator.i" + name, std::move(arguments), target));
  }
  void assign(ExprId id, const Item& value) {
    const Expr& target = module_.at(id);
    const auto children = module_.children_of(target);
    if (target.kind == ExprKind::name) {
      names_[target.text] = value;
    } else if (target.kind == ExprKind::subscript) {
      CallArguments arguments;
      arguments.positional = {evaluate(children[0]), evaluate_index(children[1]), value};
      emit("operator.setitem", std::move(arguments), target, false);
    } else if (target.kind == ExprKind::attribute) {
      fail(target, "attributes can not be assigned", "the function may only assign names and elements");
    } else {
      unpack(target, value);
    }
  }
  void unpack(const Expr& target, const Item& value) {
    const auto parts = module_.children_of(target);
    if (value.kind == Item::Kind::sequence && value.items.size() != parts.size())
      fail(target, fmt::format("{} values for {} names", value.items.size(), parts.size()), "unpack all of them",
           ErrorCode::shape);
    for (size_t i = 0; i < parts.size(); ++i)
      assign(parts[i],
             value.kind == Item::Kind::sequence ? value.items[i] : get_item(value, Item::of(int64_t(i)), target));
  }
  void add_outputs(const Item& value, const Expr& at) {
    if (value.kind == Item::Kind::sequence) {
      for (const Item& item : value.items) add_outputs(item, at);
    } else if (const auto* ref = std::get_if<ValueRef>(&value.constant); ref && value.kind == Item::Kind::constant) {
      graph_.outputs.push_back({ref->id, graph::no_value});
    }
  }

  // ---- nodes ----
  Item emit(std::string target, CallArguments arguments, const Expr& at, bool has_result = true) {
    if (graph_.nodes.size() >= max_nodes)
      fail(at, fmt::format("the program has more than {} nodes", max_nodes), "split the program", ErrorCode::limit);
    graph::Node node;
    node.name = current_.empty() ? "t" : std::string(current_);
    for (const Item& item : arguments.positional) node.arguments.push_back({"", argument_of(item, at)});
    for (const auto& [name, item] : arguments.named) node.arguments.push_back({name, argument_of(item, at)});
    node.target = std::move(target);
    if (node.target == "Tensor.item") note_rounded(node);
    Item result = Item::of(Argument{});
    if (has_result) {
      const ValueId id = graph_.add_value(node.name);
      node.results = {id};
      result = Item::of(ValueRef{id});
    }
    graph_.nodes.push_back(std::move(node));
    return result;
  }
  void note_rounded(const graph::Node& node) {
    const auto* ref = std::get_if<ValueRef>(&node.arguments[0].value);
    if (!ref || std::ranges::find(rounded_, ref->id) == rounded_.end()) return;
    if (graph_.assumptions.empty())
      graph_.assumptions.push_back(
          "numbers among the inputs have the mean that their metadata states, with few digits");
  }

  // Lists of one kind are arguments of their own; others are built by a node.
  Argument argument_of(const Item& item, const Expr& at) {
    if (item.kind == Item::Kind::path)
      fail(at, fmt::format("'{}' is not a value", shown(item.path)), "the name is not defined in the function",
           ErrorCode::name);
    if (item.kind == Item::Kind::constant) return item.constant;
    bool integers = true, numbers = true, values = true;
    for (const Item& part : item.items) {
      const bool plain = part.kind == Item::Kind::constant;
      const bool integer =
          plain && (std::holds_alternative<int64_t>(part.constant) || std::holds_alternative<bool>(part.constant));
      integers &= integer;
      numbers &= integer || (plain && std::holds_alternative<double>(part.constant));
      values &= part.is_value();
    }
    if (integers) return integer_list(item);
    if (numbers) return number_list(item);
    if (!values) return sequence_node(item, at);
    std::vector<ValueId> list;
    for (const Item& part : item.items) list.push_back(std::get<ValueRef>(part.constant).id);
    return list;
  }
  static Argument integer_list(const Item& item) {
    std::vector<int64_t> list;
    for (const Item& part : item.items) {
      const auto* flag = std::get_if<bool>(&part.constant);
      list.push_back(flag ? int64_t(*flag) : std::get<int64_t>(part.constant));
    }
    return list;
  }
  static Argument number_list(const Item& item) {
    std::vector<double> list;
    for (const Item& part : item.items) {
      const auto* real = std::get_if<double>(&part.constant);
      const auto* flag = std::get_if<bool>(&part.constant);
      list.push_back(real ? *real : flag ? double(*flag) : double(std::get<int64_t>(part.constant)));
    }
    return list;
  }
  Argument sequence_node(const Item& item, const Expr& at) {
    CallArguments parts;
    parts.positional = item.items;
    return emit(item.list ? "builtins.list" : "builtins.tuple", std::move(parts), at).constant;
  }

  // ---- expressions ----
  Item evaluate(ExprId id) {
    const Expr& expr = module_.at(id);
    const auto children = module_.children_of(expr);
    switch (expr.kind) {
      case ExprKind::name: return name_item(expr);
      case ExprKind::integer: return Item::of(integer_of(expr, false));
      case ExprKind::real: return Item::of(real_of(expr));
      case ExprKind::imaginary: return Item::of(std::complex<double>(0, real_of(expr)));
      case ExprKind::string: return Item::of(python::string_value(expr));
      case ExprKind::ellipsis: return ellipsis(expr);
      case ExprKind::tuple:
      case ExprKind::list: return sequence(expr);
      case ExprKind::attribute: return attribute(expr);
      case ExprKind::call: return call(expr);
      case ExprKind::subscript: return get_item(evaluate(children[0]), evaluate_index(children[1]), expr);
      case ExprKind::slice: return slice(expr);
      case ExprKind::unary: return unary(expr);
      case ExprKind::binary:
      case ExprKind::compare: {
        CallArguments arguments;
        arguments.positional = {evaluate(children[0]), evaluate(children[1])};
        return emit(fmt::format("operator.{}", operator_name(expr.kind, expr.text)), std::move(arguments), expr);
      }
      default: fail(expr, "this is not part of what torch.fx prints", "use calls and operators only");
    }
  }
  // A list as an index picks elements, a tuple names one index per dimension.
  Item evaluate_index(ExprId id) {
    const Expr& expr = module_.at(id);
    Item index = evaluate(id);
    if (index.kind != Item::Kind::sequence) return index;
    return Item::of(sequence_node(index, expr));
  }

  Item name_item(const Expr& expr) {
    if (const auto bound = names_.find(expr.text); bound != names_.end()) return bound->second;
    if (expr.text == "Ellipsis") return ellipsis(expr);
    return path_item(std::string(expr.text), expr);
  }
  Item path_item(std::string path, const Expr& at) const {
    if (auto constant = constant_of(path)) return Item::of(*std::move(constant));
    if (path.starts_with("torch.") && is_foreign_dtype(std::string_view(path).substr(6)))
      fail(at, fmt::format("Lightline does not have the dtype {}", path), "convert the tensor to a supported dtype");
    Item item;
    item.kind = Item::Kind::path;
    item.path = std::move(path);
    return item;
  }
  int64_t integer_of(const Expr& expr, bool negative) const {
    auto value = python::integer_value(expr, negative, file_);
    if (!value.ok()) throw FxError{std::move(value).error()};
    return *value;
  }
  double real_of(const Expr& expr) const {
    std::string digits;
    for (const char c : expr.text)
      if (c != '_') digits += c;
    return std::strtod(digits.c_str(), nullptr);
  }
  Item sequence(const Expr& expr) {
    Item item;
    item.kind = Item::Kind::sequence;
    item.list = expr.kind == ExprKind::list;
    for (const ExprId part : module_.children_of(expr)) append(item.items, part);
    return item;
  }
  void append(std::vector<Item>& items, ExprId id) {
    const Expr& expr = module_.at(id);
    if (expr.kind != ExprKind::starred) return items.push_back(evaluate(id));
    Item inner = evaluate(module_.children_of(expr)[0]);
    if (inner.kind != Item::Kind::sequence)
      fail(expr, "only a tuple that is written out can be unpacked here", "write its elements out");
    for (Item& item : inner.items) items.push_back(std::move(item));
  }
  Item unary(const Expr& expr) {
    const Expr& operand = module_.at(module_.children_of(expr)[0]);
    if (expr.text == "-" && operand.kind == ExprKind::integer) return Item::of(integer_of(operand, true));
    Item value = evaluate(module_.children_of(expr)[0]);
    if (auto* real = std::get_if<double>(&value.constant); real && expr.text == "-") return Item::of(-*real);
    CallArguments arguments;
    arguments.positional = {std::move(value)};
    return emit(fmt::format("operator.{}", operator_name(expr.kind, expr.text)), std::move(arguments), expr);
  }
  Item ellipsis(const Expr& expr) {
    if (!ellipsis_) ellipsis_ = emit("builtins.Ellipsis", {}, expr);
    return *ellipsis_;
  }
  Item slice(const Expr& expr) {
    CallArguments bounds;
    for (const ExprId bound : module_.children_of(expr))
      bounds.positional.push_back(bound == no_expr ? Item::of(Argument{}) : evaluate(bound));
    return make_slice(std::move(bounds), expr);
  }
  // Most slices take everything; they share one node.
  Item make_slice(CallArguments bounds, const Expr& at) {
    const bool whole =
        bounds.named.empty() && std::ranges::all_of(bounds.positional, [](const Item& item) {
          return item.kind == Item::Kind::constant && std::holds_alternative<std::monostate>(item.constant);
        });
    if (!whole) return emit("builtins.slice", std::move(bounds), at);
    if (!whole_slice_) whole_slice_ = emit("builtins.slice", std::move(bounds), at);
    return *whole_slice_;
  }
  Item get_item(Item object, Item index, const Expr& at) {
    if (const auto* place = std::get_if<int64_t>(&index.constant); place && object.kind == Item::Kind::sequence) {
      const int64_t count = int64_t(object.items.size()), wanted = *place < 0 ? *place + count : *place;
      if (wanted < 0 || wanted >= count)
        fail(at, fmt::format("element {} of a sequence of {}", *place, count), "", ErrorCode::range);
      return object.items[size_t(wanted)];
    }
    CallArguments arguments;
    arguments.positional = {std::move(object), std::move(index)};
    return emit("operator.getitem", std::move(arguments), at);
  }
  Item attribute(const Expr& expr) {
    Item object = evaluate(module_.children_of(expr)[0]);
    if (object.kind == Item::Kind::path) return path_item(object.path + "." + std::string(expr.text), expr);
    CallArguments arguments;
    arguments.positional = {std::move(object), Item::of(std::string(expr.text))};
    return emit("builtins.getattr", std::move(arguments), expr);
  }

  // ---- calls ----
  Item call(const Expr& expr) {
    const auto children = module_.children_of(expr);
    const Expr& function = module_.at(children[0]);
    CallArguments arguments;
    std::string target;
    if (function.kind == ExprKind::attribute) {
      Item object = evaluate(module_.children_of(function)[0]);
      if (object.kind == Item::Kind::path) {
        target = object.path + "." + std::string(function.text);
      } else {
        target = "Tensor." + std::string(function.text);
        arguments.positional.push_back(std::move(object));
      }
    } else if (function.kind == ExprKind::name && !names_.contains(function.text)) {
      target = std::string(function.text);
    } else {
      fail(function, "only named functions and methods can be called", "the text should be what torch.fx prints");
    }
    for (const ExprId child : children.subspan(1)) {
      const Expr& argument = module_.at(child);
      if (argument.kind == ExprKind::keyword)
        arguments.named.emplace_back(argument.text, evaluate(module_.children_of(argument)[0]));
      else
        append(arguments.positional, child);
    }
    return call_path(std::move(target), std::move(arguments), expr);
  }
  Item call_path(std::string target, CallArguments arguments, const Expr& at) {
    if (target == "device" || target == "torch.device") return Item::of(device_name(arguments));
    if (target == "slice") return make_slice(std::move(arguments), at);
    if (target == "torch.Size" || target == "tuple" || target == "list")
      if (arguments.positional.size() == 1 && arguments.positional[0].kind == Item::Kind::sequence) {
        arguments.positional[0].list = target == "list";
        return std::move(arguments.positional[0]);
      }
    if (target == "float" && arguments.positional.size() == 1)
      if (const auto* text = std::get_if<std::string>(&arguments.positional[0].constant))
        return Item::of(float_from(*text, at));
    if (target.find('.') == std::string::npos) target.insert(0, "builtins.");
    return emit(std::move(target), std::move(arguments), at);
  }
  double float_from(const std::string& text, const Expr& at) const {
    const size_t sign = text.starts_with('-') || text.starts_with('+');
    const std::string_view digits = std::string_view(text).substr(sign);
    double value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || end != digits.data() + digits.size())
      fail(at, fmt::format("'{}' is not a number", shown(text)), "write a decimal number, inf or nan",
           ErrorCode::parse);
    return text.starts_with('-') ? -value : value;
  }
  // Devices do not change what is computed; they are carried as text.
  static std::string device_name(const CallArguments& arguments) {
    std::string name = "device";
    const auto take = [&](const Item& item) {
      if (const auto* text = std::get_if<std::string>(&item.constant)) name = *text;
      if (const auto* index = std::get_if<int64_t>(&item.constant)) name += fmt::format(":{}", *index);
    };
    for (const Item& item : arguments.positional) take(item);
    for (const auto& [key, item] : arguments.named) take(item);
    return name;
  }

  const python::Module& module_;
  TensorMetas& metas_;
  std::string_view file_;
  graph::Graph graph_;
  std::unordered_map<std::string_view, Item> names_;
  std::vector<ValueId> rounded_;
  std::optional<Item> ellipsis_, whole_slice_;
  std::string_view current_;  // the name that is assigned
};

}  // namespace

Result<graph::Graph> build_fx_graph(const python::Module& module, const python::Function& forward, TensorMetas& metas,
                                    std::string_view file) {
  try {
    return Builder(module, metas, file).run(forward);
  } catch (FxError& failure) {
    return std::move(failure.error);
  }
}

}  // namespace lightline::frontend
