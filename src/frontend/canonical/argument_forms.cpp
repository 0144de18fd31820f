#include "frontend/canonical/argument_forms.h"

#include <algorithm>
#include <cmath>

#include "graph/type_call.h"

namespace lightline::frontend {
namespace {

using graph::Argument;
using graph::OperatorSignature;
using graph::ValueId;
using graph::ValueRef;
using Ints = std::vector<int64_t>;

class Call {
 public:
  Call(CanonicalCall& call, const TypeOf& type_of) : call_(call), type_of_(type_of) {}

  std::string_view name() const { return call_.op->name; }
  Argument* find(std::string_view parameter) {
    for (size_t i = 0; i < call_.arguments.size(); ++i)
      if (call_.op->parameters[i].name == parameter) return &call_.arguments[i];
    return nullptr;
  }
  std::optional<TensorType> type(std::string_view parameter) {
    const Argument* value = find(parameter);
    const auto* ref = value ? std::get_if<ValueRef>(value) : nullptr;
    return ref && ref->id != graph::no_value ? std::optional(type_of_(ref->id)) : std::nullopt;
  }
  // Of the first tensor, or the first one of a list.
  std::optional<size_t> rank() const {
    for (const Argument& value : call_.arguments) {
      if (const auto* ref = std::get_if<ValueRef>(&value); ref && ref->id != graph::no_value)
        return type_of_(ref->id).shape.size();
      if (const auto* list = std::get_if<std::vector<ValueId>>(&value);
          list && !list->empty() && list->at(0) != graph::no_value)
        return type_of_(list->at(0)).shape.size();
    }
    return std::nullopt;
  }
  // Another operator, whose other arguments have their defaults.
  void become(std::string_view name, const std::vector<std::pair<std::string_view, Argument>>& arguments) {
    const OperatorSignature* op = graph::find_operator(name);
    LL_CHECK(op != nullptr);
    CanonicalCall made{op, {}};
    for (const graph::Parameter& parameter : op->parameters) {
      const auto given = std::ranges::find(arguments, parameter.name, &std::pair<std::string_view, Argument>::first);
      made.arguments.push_back(given != arguments.end() ? given->second : parameter.fallback.value_or(Argument{}));
    }
    call_ = std::move(made);
  }
  CanonicalCall& call() { return call_; }

 private:
  CanonicalCall& call_;
  const TypeOf& type_of_;
};

Argument value_or_none(Call& call, std::string_view name) {
  const Argument* value = call.find(name);
  return value ? *value : Argument{};
}

// ---- dimensions ----

void count_from_the_front(Call& call) {
  const auto rank = call.rank();
  if (!rank) return;
  const bool adds_one = call.name() == "stack" || call.name() == "unsqueeze";
  const size_t own = *rank + (adds_one ? 1 : 0);
  if (call.name() == "norm_except_dim" || call.name().starts_with("_weight_norm")) return;  // -1 means all
  for (const char* name : {"dim", "dims"}) {
    Argument* value = call.find(name);
    if (!value || call.name() == "tile" || call.name() == "rot90" || call.name() == "permute") continue;
    if (auto* one = std::get_if<int64_t>(value)) *one = graph::wrapped(*one, own);
    if (auto* list = std::get_if<Ints>(value)) {
      for (int64_t& dim : *list) dim = graph::wrapped(dim, own);
      if (call.find("keepdim") && call.name() != "linalg_matrix_norm") std::ranges::sort(*list);
    }
  }
}

void lists_of_dimensions(Call& call) {
  for (size_t i = 0; i < call.call().arguments.size(); ++i) {
    Argument& value = call.call().arguments[i];
    const auto* one = std::get_if<int64_t>(&value);
    const std::string_view name = call.call().op->parameters[i].name;
    const bool dims = name == "dim" || name == "dims";
    if (one && dims && call.call().op->parameters[i].kind == graph::ParameterKind::integers) value = Ints{*one};
  }
}

// ---- windows ----

size_t window_dimensions(Call& call) {
  const auto weight = call.type("weight");
  if (call.name().find("conv") != std::string_view::npos)
    return weight && weight->shape.size() > 2 ? weight->shape.size() - 2 : 0;
  if (call.name().find("pool") == std::string_view::npos || call.name().find("backward") != std::string_view::npos)
    return 0;
  const size_t digit = call.name().find_last_of("123");
  return digit == std::string_view::npos ? 0 : size_t(call.name()[digit] - '0');
}

void one_number_for_each_dimension(Call& call) {
  const size_t count = window_dimensions(call);
  if (count == 0) return;
  for (const char* name : {"kernel_size", "stride", "padding", "dilation", "output_padding", "output_size"}) {
    Argument* value = call.find(name);
    if (!value) continue;
    if (const auto* one = std::get_if<int64_t>(value)) *value = Ints(count, *one);
    if (auto* list = std::get_if<Ints>(value); list && list->size() == 1) list->assign(count, Ints(*list)[0]);
  }
  Argument *kernel = call.find("kernel_size"), *stride = call.find("stride");
  if (!kernel || !stride) return;
  const auto* list = std::get_if<Ints>(stride);
  if (std::holds_alternative<std::monostate>(*stride) || (list && list->empty())) *stride = *kernel;
}

// ---- one operator of several ----

void one_convolution(Call& call) {
  const std::string_view name = call.name();
  const bool plain = name == "conv1d" || name == "conv2d" || name == "conv3d";
  const bool transposed = name.starts_with("conv_transpose");
  if (!plain && !transposed) return;
  const auto image = call.type("input"), weight = call.type("weight");
  if (!image || !weight || image->shape.size() != weight->shape.size()) return;
  if (!std::holds_alternative<Ints>(value_or_none(call, "padding"))) return;  // "same" and "valid"
  const size_t spatial = weight->shape.size() - 2;
  call.become("convolution",
              {{"input", value_or_none(call, "input")},
               {"weight", value_or_none(call, "weight")},
               {"bias", value_or_none(call, "bias")},
               {"stride", value_or_none(call, "stride")},
               {"padding", value_or_none(call, "padding")},
               {"dilation", value_or_none(call, "dilation")},
               {"transposed", transposed},
               {"output_padding", transposed ? value_or_none(call, "output_padding") : Argument(Ints(spatial, 0))},
               {"groups", value_or_none(call, "groups")}});
}

void one_softmax(Call& call) {
  const std::string_view name = call.name();
  if (name != "_softmax" && name != "_log_softmax") return;
  const Argument half = value_or_none(call, "half_to_float");
  const bool widened = std::holds_alternative<bool>(half) && std::get<bool>(half);
  call.become(name == "_softmax" ? "softmax" : "log_softmax", {{"self", value_or_none(call, "self")},
                                                               {"dim", value_or_none(call, "dim")},
                                                               {"dtype", widened ? Argument(DType::f32) : Argument{}}});
}

void plain_padding(Call& call) {
  Argument* value = call.name() == "pad" ? call.find("value") : nullptr;
  if (!value) return;
  const auto* real = std::get_if<double>(value);
  const auto* integer = std::get_if<int64_t>(value);
  if ((real && *real == 0 && !std::signbit(*real)) || (integer && *integer == 0)) *value = Argument{};
}

}  // namespace

CanonicalCall with_plain_arguments(CanonicalCall call, const TypeOf& type_of) {
  Call one(call, type_of);
  lists_of_dimensions(one);
  one_number_for_each_dimension(one);
  one_convolution(one);
  one_softmax(one);
  plain_padding(one);
  count_from_the_front(one);
  return call;
}

}  // namespace lightline::frontend
