// Results whose size depends on data: known where the metadata state the data, else assumed to be as large as possible.
#include <fmt/format.h>

#include <algorithm>

#include "ops/python/lowering.h"

namespace lightline::ops {

using graph::Argument;

// Where a mask is true, one tensor per dimension, if its values are known.
std::optional<std::vector<PyValue>> PythonLowering::known_positions(const SymbolicTensor& mask) {
  const lightline::Tensor* content = mask.view == loops::none && mask.rank() > 0 ? known_storage(mask) : nullptr;
  if (!content || content->size() != mask.size()) return std::nullopt;
  std::vector<std::vector<int64_t>> positions(mask.shape.size());
  for (int64_t i = 0; i < content->size(); ++i) {
    if (content->get_f64(i) == 0) continue;
    int64_t rest = i;
    for (size_t d = mask.shape.size(); d-- > 0; rest /= mask.shape[d]) positions[d].push_back(rest % mask.shape[d]);
  }
  std::vector<PyValue> result;
  for (const std::vector<int64_t>& list : positions)
    result.push_back(PyValue::of(as_tensor(PyValue::shape(list), DType::i64)));
  return result;
}

// torch.nonzero(x, as_tuple), torch.where(x)
std::optional<PyValue> PythonLowering::positions_of_nonzero(const PyCall& call) {
  const bool where = call.target == "torch.where";
  if (where && (call.arguments.size() != 1)) return std::nullopt;
  const PyValue* object = call.find("input", 0);
  if (!object) object = call.named("condition");
  require(object && object->is_tensor(), "nonzero takes a tensor");
  const SymbolicTensor& x = *object->tensor;
  const PyValue* as_tuple = call.find("as_tuple", 1);
  const bool tuple = where || (as_tuple && as_tuple->integer().value_or(0) != 0);
  if (auto known = known_positions(x)) {
    count_("nonzero");
    PyValue columns = PyValue::sequence(*std::move(known));
    if (tuple) return columns;
    return PyValue::of(apply_one("torch.stack", {{"", std::move(columns)}, {"", PyValue::of(Argument(int64_t(1)))}}));
  }
  assume("how many elements are not zero only the data tell; all are taken");
  count_("nonzero");
  const SymbolicTensor positions = lowering_.opaque("nonzero", {x}, {}, {{DType::i64, {x.size(), x.rank()}}})[0];
  if (!tuple) return PyValue::of(positions);
  std::vector<PyValue> columns;
  for (int64_t d = 0; d < x.rank(); ++d) columns.push_back(PyValue::of(lowering_.select(positions, 1, d)));
  return PyValue::sequence(std::move(columns));
}

std::optional<PyValue> PythonLowering::masked_select(const PyCall& call) {
  const PyValue *object = call.find("input", 0), *mask = call.find("mask", 1);
  require(object && mask && object->is_tensor() && mask->is_tensor(), "masked_select takes two tensors");
  const Shape shape = broadcast(object->tensor->shape, mask->tensor->shape);
  assume("how many elements a mask selects only the data tell; all are taken");
  count_("masked_select");
  return PyValue::of(lowering_.opaque("masked_select", {*object->tensor, *mask->tensor}, {},
                                      {{object->tensor->dtype, {product(shape)}}})[0]);
}

// Sizes that depend on an integer tensor: from its values where the metadata state them.
std::optional<std::vector<int64_t>> PythonLowering::known_integers(const SymbolicTensor& tensor) {
  constexpr int64_t most = 1 << 16;
  if (tensor.rank() > 1 || tensor.size() > most || !is_integer(tensor.dtype)) return std::nullopt;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto known = known_scalar(tensor.rank() == 0 ? tensor : lowering_.select(tensor, 0, i));
    if (!known) return std::nullopt;
    values.push_back(*PyValue::of(*known).integer());
  }
  return values;
}

// repeat_interleave(x, repeats, dim) with a tensor of counts: a gather of rows.
std::optional<PyValue> PythonLowering::repeat_interleave(const PyCall& call) {
  const PyValue *object = call.find("input", 0), *repeats = call.find("repeats", 1), *dim = call.find("dim", 2);
  if (!object || !object->is_tensor() || !repeats || !repeats->is_tensor()) return std::nullopt;
  const auto counts = known_integers(*repeats->tensor);
  if (!counts) fail("how often elements are repeated only the data tell", ErrorCode::unsupported);
  SymbolicTensor x = *object->tensor;
  if (!dim || dim->is_none()) x = lowering_.reshape(x, {x.size()});
  const int64_t along = dim && dim->integer() ? *dim->integer() : 0;
  require(x.rank() > 0, "a scalar can not be repeated by a tensor");
  const int64_t extent = x.shape[size_t(wrap_dim(along, x.rank()))];
  require(counts->size() == 1 || int64_t(counts->size()) == extent, "there is not one count per element");
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < extent; ++row) {
    const int64_t times = (*counts)[counts->size() == 1 ? 0 : size_t(row)];
    require(times >= 0 && times + int64_t(rows.size()) < (1 << 24), "elements are repeated too often");
    rows.insert(rows.end(), size_t(times), row);
  }
  const PyValue index = PyValue::of(as_tensor(PyValue::shape(rows), DType::i64));
  count_("repeat_interleave");
  return PyValue::of(
      apply_one("torch.index_select",
                {{"self", PyValue::of(std::move(x))}, {"dim", PyValue::of(Argument(along))}, {"index", index}}));
}

// one_hot(x, -1) counts the classes.
std::optional<PyValue> PythonLowering::one_hot(const PyCall& call) {
  const PyValue *object = call.find("input", 0), *classes = call.find("num_classes", 1);
  if (!object || !object->is_tensor() || (classes && classes->integer().value_or(-1) >= 0)) return std::nullopt;
  const SymbolicTensor flat = lowering_.reshape(*object->tensor, {object->tensor->size()});
  const auto values = known_integers(flat);
  if (!values || values->empty()) return std::nullopt;
  return PyValue::of(apply_one(
      "one_hot", {{"self", *object}, {"num_classes", PyValue::of(Argument(*std::ranges::max_element(*values) + 1))}}));
}

// unique(x, return_inverse, return_counts): as many as there could be.
std::optional<PyValue> PythonLowering::unique(const PyCall& call) {
  const PyValue* object = call.find("input", 0);
  require(object && object->is_tensor(), "unique takes a tensor");
  const SymbolicTensor& x = *object->tensor;
  const bool consecutive = call.target.ends_with("consecutive");
  const auto asked = [&](std::string_view name, size_t position) {
    const PyValue* flag = call.find(name, position);
    return flag && flag->integer().value_or(0) != 0;
  };
  const PyValue* dim = call.find("dim", consecutive ? 3 : 4);
  Shape values = {x.size()};
  int64_t count = x.size();
  Shape inverse = x.shape;
  if (dim && dim->integer()) {
    values = x.shape;
    count = x.shape[size_t(wrap_dim(*dim->integer(), x.rank()))];
    inverse = {count};
  }
  std::vector<TensorType> types = {{x.dtype, values}};
  if (asked("return_inverse", consecutive ? 1 : 2)) types.push_back({DType::i64, inverse});
  if (asked("return_counts", consecutive ? 2 : 3)) types.push_back({DType::i64, {count}});
  assume("how many elements are unique only the data tell; all are taken");
  count_("unique");
  std::vector<PyValue> results;
  for (const SymbolicTensor& tensor : lowering_.opaque("unique", {x}, {}, types))
    results.push_back(PyValue::of(tensor));
  return results.size() == 1 ? results[0] : PyValue::sequence(std::move(results));
}

// torchvision's choice of boxes: as many as there are.
std::optional<PyValue> PythonLowering::non_maximum_suppression(const PyCall& call) {
  const PyValue *boxes = call.find("dets", 0), *scores = call.find("scores", 1);
  require(boxes && scores && boxes->is_tensor() && scores->is_tensor() && boxes->tensor->rank() == 2,
          "nms takes a list of boxes and their scores");
  assume("how many boxes nms keeps only the data tell; all are taken");
  count_("torchvision.nms");
  return PyValue::of(
      lowering_.opaque("nms", {*boxes->tensor, *scores->tensor}, {}, {{DType::i64, {boxes->tensor->shape[0]}}})[0]);
}

}  // namespace lightline::ops
