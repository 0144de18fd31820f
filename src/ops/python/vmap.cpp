// torch.vmap in captured programs: between _add_batch_dim and _remove_batch_dim a tensor has a dimension that the
// program does not see. It is kept in front, and calls see it as one more dimension to broadcast.
#include <fmt/format.h>

#include <algorithm>

#include "ops/catalogue/catalogue.h"
#include "ops/python/lowering.h"

namespace lightline::ops {
namespace {

using graph::Argument;

// Operators that work element by element, so that further leading dimensions change nothing.
bool broadcasts(const PyCall& call) {
  const Registry::Match match = all_operators().find(call.target);
  if (!match.op) return false;
  const std::string& family = match.op->family;
  return family == "elementwise" || family == "conversion" || match.op->name == "where" || match.op->name == "detach" ||
         match.op->name == "index";
}

void for_each_tensor(PyValue& value, const std::function<void(PyValue&)>& visit) {
  if (value.is_tensor()) visit(value);
  if (value.kind == PyValue::Kind::sequence)
    for (PyValue& item : value.items) for_each_tensor(item, visit);
}

}  // namespace

std::optional<PyValue> PythonLowering::add_batch_dim(const PyCall& call) {
  const PyValue *object = call.at(0), *dim = call.at(1), *level = call.at(2);
  require(object && object->is_tensor() && dim && dim->integer() && level && level->integer(),
          "_add_batch_dim takes a tensor, a dimension and a level");
  PyValue result = *object;
  const int64_t hidden = int64_t(result.levels.size());
  const SymbolicTensor& tensor = *result.tensor;
  require(hidden == 0 || *level->integer() > result.levels.back(), "levels of vmap are out of order");
  const int64_t from = hidden + wrap_dim(*dim->integer(), tensor.rank() - hidden);
  std::vector<int64_t> order;
  for (int64_t d = 0; d < tensor.rank(); ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + hidden, from);
  result.tensor = lowering_.permute(tensor, order);
  result.levels.push_back(*level->integer());
  return result;
}

// _remove_batch_dim(tensor, level, batch_size, out_dim)
std::optional<PyValue> PythonLowering::remove_batch_dim(const PyCall& call) {
  const PyValue *object = call.at(0), *level = call.at(1), *size = call.at(2), *out = call.at(3);
  require(
      object && object->is_tensor() && level && level->integer() && size && size->integer() && out && out->integer(),
      "_remove_batch_dim takes a tensor, a level, a size and a dimension");
  PyValue result = *object;
  const auto found = std::ranges::find(result.levels, *level->integer());
  const bool batched = found != result.levels.end();
  const int64_t hidden = int64_t(result.levels.size()) - batched;
  const int64_t from = batched ? found - result.levels.begin() : 0;
  SymbolicTensor tensor = batched ? *result.tensor : lowering_.unsqueeze(*result.tensor, 0);
  Shape shape = tensor.shape;
  shape[size_t(from)] = *size->integer();
  tensor = lowering_.expand(tensor, shape);
  std::vector<int64_t> order;
  for (int64_t d = 0; d < tensor.rank(); ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + hidden + wrap_dim(*out->integer(), tensor.rank() - hidden), from);
  result.tensor = lowering_.permute(tensor, order);
  if (batched) result.levels.erase(found);
  return result;
}

// Gives all tensors of a call the same hidden dimensions in front and the same visible rank behind them.
std::vector<int64_t> PythonLowering::align_levels(PyCall& call) {
  std::vector<int64_t> levels;
  int64_t rank = 0;
  const bool indexing = call.target.find("index") != std::string::npos;
  const auto visit_all = [&](const std::function<void(PyValue&)>& visit) {
    for (PyCall::Argument& argument : call.arguments)
      for_each_tensor(argument.value, [&](PyValue& value) {
        if (!indexing || !value.levels.empty()) visit(value);  // the tensor that is indexed stays as it is
      });
  };
  visit_all([&](PyValue& value) {
    for (const int64_t level : value.levels)
      if (std::ranges::find(levels, level) == levels.end()) levels.push_back(level);
    rank = std::max(rank, value.tensor->rank() - int64_t(value.levels.size()));
  });
  if (levels.empty()) return levels;
  if (call.target.find("new_") != std::string::npos) return {};  // reads only the dtype
  const bool refused = !broadcasts(call) || (indexing && !call.arguments[0].value.levels.empty());
  if (refused) fail(fmt::format("'{}' under vmap is not supported", call.target), ErrorCode::unsupported);
  std::ranges::sort(levels);
  visit_all([&](PyValue& value) {
    const int64_t hidden = int64_t(value.levels.size()), visible = value.tensor->rank() - hidden;
    Shape shape;
    for (const int64_t level : levels) {
      const auto found = std::ranges::find(value.levels, level);
      shape.push_back(found == value.levels.end() ? 1 : value.tensor->shape[size_t(found - value.levels.begin())]);
    }
    shape.resize(shape.size() + size_t(rank - visible), 1);
    shape.insert(shape.end(), value.tensor->shape.begin() + hidden, value.tensor->shape.end());
    value.tensor = lowering_.reshape(*value.tensor, std::move(shape));
  });
  return levels;
}

}  // namespace lightline::ops
