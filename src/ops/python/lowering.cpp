#include "ops/python/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/build/op_call.h"
#include "ops/catalogue/catalogue.h"

namespace lightline::ops {

using graph::Argument;

PythonLowering::PythonLowering(const graph::Graph& graph, Lowering& lowering, Values& values,
                               std::vector<std::string>& assumptions, Apply apply, Count count)
    : lowering_(lowering),
      values_(values),
      assumptions_(assumptions),
      apply_(std::move(apply)),
      count_(std::move(count)),
      python_(graph.values.size()) {}

void PythonLowering::know(const SymbolicTensor& input, const lightline::Tensor& content) {
  known_[lowering_.array_of(input)] = &content;
}

void PythonLowering::lower(const graph::Node& node) {
  PyValue result = evaluate(resolve(node));
  if (result.is_tensor() && node.target.ends_with('_') && !node.arguments.empty()) {
    const Registry::Match match = all_operators().find(node.target);
    const auto* first = std::get_if<graph::ValueRef>(&node.arguments[0].value);
    if (first && match.op && match.in_place && match.op->family == "views") values_[first->id] = result.tensor;
  }
  if (node.results.empty()) return;
  if (result.is_tensor() && result.levels.empty())
    values_[node.results[0]] = std::move(result.tensor);
  else
    python_[node.results[0]] = std::move(result);
}

std::vector<SymbolicTensor> PythonLowering::tensors_in(graph::ValueId id) const {
  std::vector<SymbolicTensor> found;
  const std::function<void(const PyValue&)> collect = [&](const PyValue& value) {
    if (value.is_tensor()) found.push_back(*value.tensor);
    if (value.kind == PyValue::Kind::sequence)
      for (const PyValue& item : value.items) collect(item);
  };
  collect(value_of(id));
  return found;
}

void PythonLowering::assume(std::string text) {
  if (std::ranges::find(assumptions_, text) == assumptions_.end()) assumptions_.push_back(std::move(text));
}

// ---- arguments ----

PyValue PythonLowering::value_of(graph::ValueId id) const {
  if (id == graph::no_value) return {};
  if (id < python_.size() && python_[id]) return *python_[id];
  if (values_[id]) return PyValue::of(*values_[id]);
  return {};
}

PyValue PythonLowering::value_of(const Argument& argument) const {
  if (const auto* ref = std::get_if<graph::ValueRef>(&argument)) return value_of(ref->id);
  const auto* list = std::get_if<std::vector<graph::ValueId>>(&argument);
  if (!list) return PyValue::of(argument);
  std::vector<PyValue> items;
  for (const graph::ValueId id : *list) items.push_back(value_of(id));
  return PyValue::sequence(std::move(items));
}

PyCall PythonLowering::resolve(const graph::Node& node) const {
  PyCall call;
  call.target = node.target;
  call.name = node.name;
  call.arguments.reserve(node.arguments.size());
  for (const graph::NamedArgument& argument : node.arguments)
    call.arguments.push_back({argument.name, value_of(argument.value)});
  return call;
}

Argument PythonLowering::sequence_argument(const std::vector<PyValue>& items) {
  bool integers = true, reals = true, tensors = true;
  for (const PyValue& item : items) {
    integers &= item.integer().has_value();
    reals &= item.real().has_value();
    tensors &= item.is_tensor() || item.is_none();
  }
  if (integers) {
    std::vector<int64_t> list;
    for (const PyValue& item : items) list.push_back(*item.integer());
    return list;
  }
  if (reals) {
    std::vector<double> list;
    for (const PyValue& item : items) list.push_back(*item.real());
    return list;
  }
  if (!tensors) {
    // numbers that the program only knows when it runs, among plain ones
    std::vector<int64_t> list;
    for (const PyValue& item : items) {
      std::optional<int64_t> size = item.integer();
      if (item.is_tensor() && item.tensor->size() == 1)
        if (const auto known = known_scalar(*item.tensor)) size = PyValue::of(*known).integer();
      if (!size)
        fail("a list mixes values of different kinds, or has a size that only the data tell", ErrorCode::unsupported);
      list.push_back(*size);
    }
    return list;
  }
  std::vector<graph::ValueId> ids;
  for (const PyValue& item : items) {
    if (!item.is_tensor()) {
      ids.push_back(graph::no_value);
      continue;
    }
    ids.push_back(graph::ValueId(values_.size()));
    values_.push_back(*item.tensor);
  }
  return ids;
}

Argument PythonLowering::argument_of(const PyValue& value) {
  switch (value.kind) {
    case PyValue::Kind::constant: return value.constant;
    case PyValue::Kind::tensor:
      values_.push_back(*value.tensor);
      return graph::ValueRef{graph::ValueId(values_.size() - 1)};
    case PyValue::Kind::sequence: return sequence_argument(value.items);
    case PyValue::Kind::slice:
    case PyValue::Kind::ellipsis: break;
  }
  fail("a slice is passed to an operator", ErrorCode::unsupported);
}

// ---- calls ----

namespace {

// The operator's name for the table of autocast: "torch._C._nn.linear" is "linear".
std::string_view stem_of(std::string_view target) {
  const Registry::Match match = all_operators().find(target);
  return match.op ? std::string_view(match.op->name) : target;
}

void cast_arguments(Lowering& lowering, PyCall& call, DType dtype) {
  const std::function<void(PyValue&)> cast = [&](PyValue& value) {
    if (value.is_tensor() && is_float(value.tensor->dtype) && value.tensor->dtype != DType::f64)
      value.tensor = lowering.cast(*value.tensor, dtype);
    if (value.kind == PyValue::Kind::sequence)
      for (PyValue& item : value.items) cast(item);
  };
  for (PyCall::Argument& argument : call.arguments) cast(argument.value);
}

DType widest_float(const PyCall& call) {
  std::vector<Operand> operands;
  const std::function<void(const PyValue&)> collect = [&](const PyValue& value) {
    if (value.is_tensor() && is_float(value.tensor->dtype)) operands.push_back({*value.tensor, {}});
    for (const PyValue& item : value.items) collect(item);
  };
  for (const PyCall::Argument& argument : call.arguments) collect(argument.value);
  return operands.empty() ? DType::f32 : result_type(operands);
}

}  // namespace

PyValue PythonLowering::evaluate(PyCall call) {
  if (auto value = evaluate_here(call)) return *std::move(value);
  return apply_operator(std::move(call));
}

// Operators whose result has as many elements as an argument says.
void PythonLowering::fold_sizes(PyCall& call) {
  const std::string_view target = call.target, name = target.substr(target.rfind('.') + 1);
  if (name != "arange" && name != "linspace" && name != "eye") return;
  for (PyCall::Argument& argument : call.arguments)
    if (argument.value.is_tensor() && argument.value.tensor->rank() == 0)
      if (const auto known = known_scalar(*argument.value.tensor)) argument.value = PyValue::of(*known);
}

PyValue PythonLowering::apply_operator(PyCall call) {
  const PyValue* given = call.named("out");
  const std::optional<SymbolicTensor> out = given && given->is_tensor() ? given->tensor : std::nullopt;
  if (given && given->is_sequence()) fail("several tensors are given by out=", ErrorCode::unsupported);
  normalise_call(call);
  fold_sizes(call);
  switch (autocast_.active() ? autocast_.policy(stem_of(call.target)) : Autocast::Policy::none) {
    case Autocast::Policy::none: break;
    case Autocast::Policy::lower: cast_arguments(lowering_, call, autocast_.dtype()); break;
    case Autocast::Policy::full: cast_arguments(lowering_, call, DType::f32); break;
    case Autocast::Policy::widest: cast_arguments(lowering_, call, widest_float(call)); break;
  }
  const std::vector<int64_t> levels = align_levels(call);
  const size_t room = values_.size();
  graph::Node node;
  node.target = call.target;
  node.name = call.name;
  node.arguments.reserve(call.arguments.size());
  for (const PyCall::Argument& argument : call.arguments)
    node.arguments.push_back({argument.name, argument_of(argument.value)});
  Applied applied = apply_(node);
  values_.resize(room);
  if (out && applied.results.size() == 1 && applied.results[0])
    applied.results[0] = write_out(lowering_, *out, *applied.results[0]);
  std::vector<PyValue> results;
  for (std::optional<SymbolicTensor>& result : applied.results) {
    results.push_back(result ? PyValue::of(*std::move(result)) : PyValue());
    results.back().levels = levels;
  }
  if (results.empty()) return {};
  return results.size() == 1 && !applied.returns_sequence ? std::move(results[0])
                                                          : PyValue::sequence(std::move(results));
}

SymbolicTensor PythonLowering::apply_one(std::string target, std::vector<PyCall::Argument> arguments) {
  PyCall call;
  call.target = std::move(target);
  call.arguments = std::move(arguments);
  PyValue result = apply_operator(std::move(call));
  LL_CHECK(result.is_tensor());
  return *std::move(result.tensor);
}

const lightline::Tensor* PythonLowering::known_storage(const SymbolicTensor& tensor) {
  constexpr int64_t most = 1 << 16;
  constexpr size_t most_searched = 100'000'000;  // so that many attempts on a large program stay cheap
  const SymbolicTensor whole = lowering_.whole(tensor);
  const loops::ArrayId array = lowering_.array_of(whole);
  if (const auto found = known_.find(array); found != known_.end()) return found->second;
  if (whole.size() > most || known_.empty() || !unknown_.insert(array).second) return nullptr;
  searched_ += lowering_.program().statements.size() + lowering_.program().exprs.size();
  if (searched_ > most_searched) return nullptr;
  auto content = known_content(lowering_.program(), array, known_);
  if (!content) return nullptr;
  assume("what depends on values that the metadata state follows them");
  constants_.push_back(*std::move(content));
  return known_[array] = &constants_.back();
}

// The number in a tensor of one element, where it follows from the metadata or the program text.
std::optional<Argument> PythonLowering::known_scalar(const SymbolicTensor& tensor) {
  if (tensor.size() != 1) return std::nullopt;
  const lightline::Tensor* content = known_storage(tensor);
  if (!content || content->size() == 0) return std::nullopt;
  const int64_t place = content->size() == 1 ? 0 : lowering_.storage_offset(tensor);
  if (place < 0 || place >= content->size()) return std::nullopt;
  switch (category(content->dtype())) {
    case Category::boolean: return content->get_i64(place) != 0;
    case Category::integer: return content->get_i64(place);
    case Category::floating: return content->get_f64(place);
    case Category::complex: return content->get_c128(place);
  }
  return std::nullopt;
}

}  // namespace lightline::ops
