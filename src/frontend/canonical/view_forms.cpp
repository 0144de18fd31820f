#include "frontend/canonical/view_forms.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "graph/type_call.h"

namespace lightline::frontend {
namespace {

using graph::Argument;
using graph::NamedArgument;
using graph::OperatorSignature;
using Ints = std::vector<int64_t>;

const OperatorSignature* named(std::string_view name) {
  const OperatorSignature* op = graph::find_operator(name);
  LL_CHECK(op != nullptr);
  return op;
}

// One call of a view, with its arguments by name.
struct ViewCall {
  const OperatorSignature& op;
  const std::vector<Argument>& arguments;
  const TensorType& from;
  const std::vector<TensorType>& results;

  const Argument* find(std::string_view name) const {
    for (size_t i = 0; i < op.parameters.size() && i < arguments.size(); ++i)
      if (op.parameters[i].name == name) return &arguments[i];
    return nullptr;
  }
  std::optional<int64_t> integer(std::string_view name) const {
    const Argument* value = find(name);
    if (!value) return std::nullopt;
    if (const auto* list = std::get_if<Ints>(value); list && list->size() == 1) return (*list)[0];
    const auto* integer = std::get_if<int64_t>(value);
    return integer ? std::optional(*integer) : std::nullopt;
  }
  Ints integers(std::string_view name) const {
    const Argument* value = find(name);
    if (const auto* list = value ? std::get_if<Ints>(value) : nullptr) return *list;
    const auto one = integer(name);
    return one ? Ints{*one} : Ints{};
  }
  size_t rank() const { return from.shape.size(); }
  size_t dim(std::string_view name, int64_t fallback) const {
    return size_t(graph::wrapped(integer(name).value_or(fallback), rank()));
  }
};

using Steps = std::vector<ViewStep>;

ViewStep step(std::string_view op, std::vector<NamedArgument> arguments, const TensorType& from, const TensorType& to) {
  return {named(op), std::move(arguments), from, to};
}

Steps reshaped(const ViewCall& call) { return {reshape_step(call.from, call.results.at(0).shape)}; }

Steps permuted_by(const ViewCall& call, const Ints& order) {
  Shape shape;
  for (const int64_t d : order) shape.push_back(call.from.shape[size_t(d)]);
  if (std::ranges::is_sorted(order)) return {{nullptr, {}, call.from, call.from}};
  return {step("permute", {{"dims", order}}, call.from, {call.from.dtype, shape})};
}

Ints plain_order(size_t rank) {
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Steps permuted(const ViewCall& call) {
  Ints order = call.integers("dims");
  for (int64_t& d : order) d = graph::wrapped(d, call.rank());
  return permuted_by(call, order);
}

Steps swapped(const ViewCall& call) {
  Ints order = plain_order(call.rank());
  const std::string_view name = call.op.name;
  if (call.rank() == 0 || (name == "t" && call.rank() < 2)) return permuted_by(call, order);
  const bool axes = name == "swapaxes", last = name == "mT" || name == "adjoint";
  const size_t a = name == "t" ? 0
                   : last      ? call.rank() - 2
                               : call.dim(axes ? "axis0" : "dim0", 0),
               b = name == "t" ? 1
                   : last      ? call.rank() - 1
                               : call.dim(axes ? "axis1" : "dim1", 0);
  std::swap(order[a], order[b]);
  return permuted_by(call, order);
}

Steps reversed(const ViewCall& call) {
  Ints order = plain_order(call.rank());
  std::ranges::reverse(order);
  return permuted_by(call, order);
}

Steps moved(const ViewCall& call) {
  const Ints source = call.integers("source"), target = call.integers("destination");
  Ints order(call.rank(), -1);
  std::vector<bool> taken(call.rank(), false);
  for (size_t i = 0; i < source.size() && call.rank() > 0; ++i) {
    const int64_t from = graph::wrapped(source[i], call.rank());
    order[size_t(graph::wrapped(target[i], call.rank()))] = from;
    taken[size_t(from)] = true;
  }
  int64_t next = 0;
  for (int64_t& from : order) {
    if (from != -1) continue;
    while (taken[size_t(next)]) ++next;
    from = next++;
  }
  return permuted_by(call, order);
}

Steps expanded(const ViewCall& call) {
  const TensorType& to = call.results.at(0);
  if (to.shape == call.from.shape) return {{nullptr, {}, call.from, call.from}};
  return {step("expand", {{"size", to.shape}, {"implicit", false}}, call.from, to)};
}

ViewStep slice_of(const TensorType& from, size_t dim, int64_t start, int64_t end, int64_t step_size) {
  TensorType to = from;
  to.shape[dim] = (std::max(end - start, int64_t(0)) + step_size - 1) / step_size;
  if (start == 0 && step_size == 1 && end >= from.shape[dim]) return {nullptr, {}, from, from};
  return step("slice", {{"dim", int64_t(dim)}, {"start", start}, {"end", std::max(start, end)}, {"step", step_size}},
              from, to);
}

Steps sliced(const ViewCall& call) {
  const size_t dim = call.dim("dim", 0);
  const int64_t extent = call.from.shape.at(dim);
  const auto place = [&](std::string_view name, int64_t fallback) {
    const int64_t at = call.integer(name).value_or(fallback);
    return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent);
  };
  return {slice_of(call.from, dim, place("start", 0), place("end", extent), call.integer("step").value_or(1))};
}

Steps narrowed(const ViewCall& call) {
  const auto start = call.integer("start"), length = call.integer("length");
  if (!start || !length) return {};
  const size_t dim = call.dim("dim", 0);
  const int64_t from = *start < 0 ? *start + call.from.shape.at(dim) : *start;
  return {slice_of(call.from, dim, from, from + *length, 1)};
}

Steps selected(const ViewCall& call) {
  const auto index = call.integer("index");
  if (!index || call.rank() == 0) return {};
  const size_t dim = call.dim("dim", 0);
  const int64_t own = *index < 0 ? *index + call.from.shape[dim] : *index;
  return {step("select", {{"dim", int64_t(dim)}, {"index", own}}, call.from, call.results.at(0))};
}

// Parts in order along one dimension; unbind gives single ones.
Steps parts(const ViewCall& call) {
  const std::string_view name = call.op.name;
  const bool first = name == "vsplit" || (name == "hsplit" && call.rank() == 1);
  const size_t dim = name == "dsplit" ? 2 : name == "hsplit" || name == "vsplit" ? size_t(!first) : call.dim("dim", 0);
  Steps steps;
  if (name == "unbind") {
    for (size_t i = 0; i < call.results.size(); ++i)
      steps.push_back(step("select", {{"dim", int64_t(dim)}, {"index", int64_t(i)}}, call.from, call.results[i]));
    return steps;
  }
  if (name == "tensor_split" && call.find("indices") && !call.integers("indices").empty()) {
    // places need not rise
    int64_t start = 0;
    Ints places = call.integers("indices");
    const int64_t extent = call.from.shape.at(dim);
    places.push_back(extent);
    for (const int64_t place : places) {
      const int64_t end = std::clamp<int64_t>(place < 0 ? place + extent : place, 0, extent);
      steps.push_back(slice_of(call.from, dim, std::min(start, extent), end, 1));
      start = end;
    }
    return steps;
  }
  int64_t start = 0;
  for (const TensorType& part : call.results) {
    steps.push_back(slice_of(call.from, dim, start, start + part.shape[dim], 1));
    start += part.shape[dim];
  }
  return steps;
}

Steps diagonal(const ViewCall& call) {
  const bool last = call.op.name == "linalg_diagonal";
  return {step("diagonal",
               {{"offset", call.integer("offset").value_or(0)},
                {"dim1", int64_t(call.dim("dim1", last ? -2 : 0))},
                {"dim2", int64_t(call.dim("dim2", last ? -1 : 1))}},
               call.from, call.results.at(0))};
}

// The operator as it is, its arguments by name.
Steps own(const ViewCall& call) {
  ViewStep one{&call.op, {}, call.from, call.results.at(0)};
  for (size_t i = 1; i < call.op.parameters.size(); ++i)
    one.arguments.push_back({std::string(call.op.parameters[i].name), call.arguments[i]});
  return {std::move(one)};
}

Steps itself(const ViewCall& call) { return {{nullptr, {}, call.from, call.from}}; }

using Maker = Steps (*)(const ViewCall&);

const std::unordered_map<std::string_view, Maker>& makers() {
  static const std::unordered_map<std::string_view, Maker> table = {
      {"view", reshaped},       {"reshape", reshaped},
      {"flatten", reshaped},    {"unflatten", reshaped},
      {"ravel", reshaped},      {"squeeze", reshaped},
      {"unsqueeze", reshaped},  {"view_as", reshaped},
      {"permute", permuted},    {"transpose", swapped},
      {"swapaxes", swapped},    {"t", swapped},
      {"mT", swapped},          {"numpy_T", reversed},
      {"movedim", moved},       {"expand", expanded},
      {"expand_as", expanded},  {"slice", sliced},
      {"narrow", narrowed},     {"select", selected},
      {"split", parts},         {"split_with_sizes", parts},
      {"chunk", parts},         {"tensor_split", parts},
      {"hsplit", parts},        {"vsplit", parts},
      {"dsplit", parts},        {"unbind", parts},
      {"diagonal", diagonal},   {"linalg_diagonal", diagonal},
      {"unfold", own},          {"as_strided", own},
      {"view.dtype", own},      {"view_as_real", own},
      {"view_as_complex", own}, {"detach", itself},
      {"atleast_1d", reshaped}, {"atleast_2d", reshaped},
      {"atleast_3d", reshaped}};
  return table;
}

}  // namespace

ViewStep reshape_step(const TensorType& from, const Shape& to) {
  if (from.shape == to) return {nullptr, {}, from, from};
  return {named("reshape"), {{"shape", to}}, from, {from.dtype, to}};
}

std::optional<std::vector<ViewStep>> view_steps(const OperatorSignature& op, const std::vector<Argument>& arguments,
                                                const TensorType& from, const std::vector<TensorType>& results) {
  const auto maker = makers().find(op.name);
  if (maker == makers().end()) return std::nullopt;
  Steps steps = maker->second({op, arguments, from, results});
  if (steps.empty()) return std::nullopt;
  return steps;
}

}  // namespace lightline::frontend
