// Python's own objects: tuples, attributes and sizes of tensors, tensors written out as numbers.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/build/annotations.h"
#include "ops/build/op_call.h"
#include "ops/python/lowering.h"

namespace lightline::ops {

using graph::Argument;

const std::unordered_map<std::string_view, PythonLowering::Handler>& PythonLowering::handlers() {
  using P = PythonLowering;
  static const std::unordered_map<std::string_view, Handler> table = {
      {"builtins.tuple", &P::make_tuple},
      {"builtins.list", &P::make_tuple},
      {"builtins.slice", &P::make_slice},
      {"builtins.Ellipsis", &P::make_ellipsis},
      {"builtins.getattr", &P::get_attribute},
      {"operator.getitem", &P::get_item},
      {"_operator.getitem", &P::get_item},
      {"Tensor.__getitem__", &P::get_item},
      {"operator.setitem", &P::set_item},
      {"Tensor.__setitem__", &P::set_item},
      {"Tensor.size", &P::size_of},
      {"torch.ops.aten.sym_size", &P::size_of},
      {"torch.ops.aten.sym_size.int", &P::size_of},
      {"Tensor.dim", &P::rank_of},
      {"Tensor.ndimension", &P::rank_of},
      {"Tensor.numel", &P::count_of},
      {"Tensor.nelement", &P::count_of},
      {"torch.numel", &P::count_of},
      {"Tensor.is_floating_point", &P::is_floating_point},
      {"torch.is_floating_point", &P::is_floating_point},
      {"Tensor.is_contiguous", &P::always_true},
      {"torch.is_tensor", &P::always_true},
      {"Tensor.item", &P::item_of},
      {"torch.ops.aten._local_scalar_dense", &P::item_of},
      {"torch.ops.aten._local_scalar_dense.default", &P::item_of},
      {"torch.ops.aten.item", &P::item_of},
      {"torch.ops.aten.item.default", &P::item_of},
      {"builtins.int", &P::item_of},
      {"builtins.float", &P::item_of},
      {"builtins.bool", &P::item_of},
      {"torch.sym_sum", &P::sum_of_numbers},
      {"torch.sym_int", &P::item_of},
      {"torch.sym_float", &P::item_of},
      {"Tensor.tolist", &P::listed},
      {"torch.tensor", &P::make_tensor},
      {"torch.as_tensor", &P::make_tensor},
      {"torch.asarray", &P::make_tensor},
      {"torch.scalar_tensor", &P::make_tensor},
      {"Tensor.new_tensor", &P::make_tensor},
      {"torch.nonzero", &P::positions_of_nonzero},
      {"Tensor.nonzero", &P::positions_of_nonzero},
      {"torch.argwhere", &P::positions_of_nonzero},
      {"Tensor.argwhere", &P::positions_of_nonzero},
      {"torch.where", &P::positions_of_nonzero},
      {"torch.repeat_interleave", &P::repeat_interleave},
      {"Tensor.repeat_interleave", &P::repeat_interleave},
      {"torch.nn.functional.one_hot", &P::one_hot},
      {"torch._C._nn.one_hot", &P::one_hot},
      {"torch.unique", &P::unique},
      {"torch.functional.unique", &P::unique},
      {"torch._unique2", &P::unique},
      {"Tensor.unique", &P::unique},
      {"torch.unique_consecutive", &P::unique},
      {"torch.functional.unique_consecutive", &P::unique},
      {"Tensor.unique_consecutive", &P::unique},
      {"torch.ops.torchvision.nms", &P::non_maximum_suppression},
      {"torch.ops.torchvision.nms.default", &P::non_maximum_suppression},
      {"torch.masked_select", &P::masked_select},
      {"Tensor.masked_select", &P::masked_select},
      {"torch.amp.autocast_mode._enter_autocast", &P::enter_autocast},
      {"torch.amp.autocast_mode._exit_autocast", &P::exit_autocast},
      {"torch._C._functorch._add_batch_dim", &P::add_batch_dim},
      {"torch._functorch.predispatch._add_batch_dim", &P::add_batch_dim},
      {"torch._C._functorch._remove_batch_dim", &P::remove_batch_dim},
      {"torch._functorch.predispatch._remove_batch_dim", &P::remove_batch_dim},
  };
  return table;
}

namespace {

// "torch.sym_max" and "math.ceil" are "max" and "ceil"; empty if the name is no function on numbers.
std::string_view number_function(std::string_view target) {
  for (const std::string_view prefix : {"builtins.", "math.", "torch._sym_", "torch.sym_"})
    if (target.starts_with(prefix)) return target.substr(prefix.size());
  return {};
}

}  // namespace

std::optional<PyValue> PythonLowering::evaluate_here(const PyCall& call) {
  const std::string_view target = call.target;
  const auto& table = handlers();
  if (const auto handler = table.find(target); handler != table.end())
    if (auto value = (this->*handler->second)(call)) return value;
  if (target.starts_with("operator.") || target.starts_with("_operator."))
    return fold_operator(target.substr(target.find('.') + 1), call.positional());
  if (const std::string_view name = number_function(target); !name.empty())
    return fold_function(name == "not" ? "not_" : name, call.positional());
  if (is_python_annotation(target)) return PyValue();
  return std::nullopt;
}

// ---- tuples and slices ----

std::optional<PyValue> PythonLowering::make_tuple(const PyCall& call) {
  std::vector<PyValue> items = call.positional();
  PyValue result = PyValue::sequence(std::move(items));
  result.list = call.target == "builtins.list";
  return result;
}

std::optional<PyValue> PythonLowering::make_slice(const PyCall& call) {
  PyValue slice;
  slice.kind = PyValue::Kind::slice;
  slice.items = call.positional();
  require(slice.items.size() <= 3, "a slice has a start, a stop and a step");
  if (slice.items.size() == 1) slice.items.insert(slice.items.begin(), PyValue());
  slice.items.resize(3);
  return slice;
}

std::optional<PyValue> PythonLowering::make_ellipsis(const PyCall&) {
  PyValue ellipsis;
  ellipsis.kind = PyValue::Kind::ellipsis;
  return ellipsis;
}

// ---- attributes ----

std::optional<PyValue> PythonLowering::tensor_attribute(const SymbolicTensor& tensor, std::string_view name) {
  if (name == "shape") return PyValue::shape(tensor.shape);
  if (name == "dtype") return PyValue::of(Argument(tensor.dtype));
  if (name == "ndim") return PyValue::of(Argument(tensor.rank()));
  if (name == "device" || name == "layout" || name == "names") return PyValue::of(Argument(std::string(name)));
  if (name == "itemsize") return PyValue::of(Argument(int64_t(byte_size(tensor.dtype))));
  if (name == "nbytes") return PyValue::of(Argument(tensor.size() * byte_size(tensor.dtype)));
  if (name == "is_cuda") return PyValue::of(Argument(true));
  if (name == "requires_grad" || name == "is_sparse" || name == "is_quantized" || name == "is_meta" ||
      name == "is_nested")
    return PyValue::of(Argument(false));
  if (name == "grad" || name == "grad_fn") return PyValue();
  if (name == "data") return PyValue::of(tensor);
  if (name == "T" || name == "mT" || name == "real" || name == "imag")
    return PyValue::of(apply_one(name == "T" ? "numpy_T" : std::string(name), {{"", PyValue::of(tensor)}}));
  if (name == "H" || name == "mH") {
    const PyValue turned = PyValue::of(apply_one("mT", {{"", PyValue::of(tensor)}}));
    return tensor.dtype == DType::c64 ? PyValue::of(apply_one("torch.conj", {{"", turned}})) : turned;
  }
  return std::nullopt;
}

std::optional<PyValue> PythonLowering::get_attribute(const PyCall& call) {
  const PyValue *object = call.at(0), *name = call.at(1);
  require(object && name && name->text(), "getattr takes an object and a name");
  if (object->is_tensor())
    if (auto value = tensor_attribute(*object->tensor, *name->text())) return value;
  if (object->is_sequence()) {
    // results with names: torch.max(x, dim).values
    const std::string& field = *name->text();
    const int64_t place = field == "values" || field == "Q" || field == "U" || field == "eigenvalues"     ? 0
                          : field == "indices" || field == "R" || field == "S" || field == "eigenvectors" ? 1
                                                                                                          : -1;
    if (place >= 0) return element_of(*object, PyValue::of(Argument(place)));
  }
  if (object->is_number() && (*name->text() == "real" || *name->text() == "imag"))
    return *name->text() == "real" ? *object : PyValue::of(Argument(int64_t(0)));
  fail(fmt::format("the attribute '{}' is not known", *name->text()), ErrorCode::unsupported);
}

std::optional<PyValue> PythonLowering::size_of(const PyCall& call) {
  const PyValue *object = call.find("self", 0), *dim = call.find("dim", 1);
  if (!object || !object->is_tensor()) return std::nullopt;
  const SymbolicTensor& tensor = *object->tensor;
  if (!dim || dim->is_none()) return PyValue::shape(tensor.shape);
  require(dim->integer().has_value(), "the dimension of size() is not a plain integer");
  require(tensor.rank() > 0, "a scalar has no sizes");
  return PyValue::of(Argument(tensor.shape[size_t(wrap_dim(*dim->integer(), tensor.rank()))]));
}

std::optional<PyValue> PythonLowering::rank_of(const PyCall& call) {
  const PyValue* object = call.find("self", 0);
  if (!object || !object->is_tensor()) return std::nullopt;
  return PyValue::of(Argument(object->tensor->rank()));
}

std::optional<PyValue> PythonLowering::count_of(const PyCall& call) {
  const PyValue* object = call.find("self", 0);
  if (!object) return std::nullopt;
  if (object->is_tensor()) return PyValue::of(Argument(object->tensor->size()));
  const auto* shape = std::get_if<std::vector<int64_t>>(&object->constant);  // of a torch.Size
  return shape ? std::optional(PyValue::of(Argument(product(*shape)))) : std::nullopt;
}

std::optional<PyValue> PythonLowering::is_floating_point(const PyCall& call) {
  const PyValue* object = call.find("self", 0);
  if (!object || !object->is_tensor()) return std::nullopt;
  return PyValue::of(Argument(is_float(object->tensor->dtype)));
}

std::optional<PyValue> PythonLowering::always_true(const PyCall&) { return PyValue::of(Argument(true)); }

// ---- numbers in tensors ----

std::optional<PyValue> PythonLowering::item_of(const PyCall& call) {
  const PyValue* object = call.find("self", 0);
  if (!object || !object->is_tensor()) return std::nullopt;
  const auto known = known_scalar(*object->tensor);
  if (!known) {
    const std::vector<PyCall::Argument> self = {{"self", *object}};
    return PyValue::of(apply_one("item", self));
  }
  const size_t dot = call.target.rfind('.');
  const std::string_view name = std::string_view(call.target).substr(dot + 1);
  const PyValue value = PyValue::of(*known);
  if (name == "int" || name == "float" || name == "bool") return fold_function(name, {value});
  return value;
}

// torch.sym_sum([a, b, ...]), where some depend on data
std::optional<PyValue> PythonLowering::sum_of_numbers(const PyCall& call) {
  require(call.at(0) && call.at(0)->is_sequence(), "sym_sum takes a list");
  PyValue total = PyValue::of(Argument(int64_t(0)));
  for (const PyValue& item : call.at(0)->elements())
    total = evaluate({"operator.add", call.name, {{"", total}, {"", item}}});
  return total;
}

std::optional<PyValue> PythonLowering::listed(const PyCall& call) {
  const PyValue* object = call.at(0);
  if (!object || !object->is_tensor()) return std::nullopt;
  const SymbolicTensor& tensor = *object->tensor;
  require(tensor.rank() <= 1 && tensor.size() < (1 << 16), "tolist() of a large tensor");
  std::vector<PyValue> items;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const SymbolicTensor element = tensor.rank() == 0 ? tensor : lowering_.select(tensor, 0, i);
    const auto known = known_scalar(element);
    if (!known) fail("tolist() of values that only the data tell", ErrorCode::unsupported);
    items.push_back(PyValue::of(*known));
  }
  return tensor.rank() == 0 ? items[0] : PyValue::sequence(std::move(items));
}

namespace {

struct Written {
  Shape shape;
  std::vector<PyValue> numbers;  // row-major
};

void read_nested(const PyValue& value, size_t depth, Written& into) {
  if (!value.is_sequence()) {
    require(depth == into.shape.size(), "the rows of a written tensor differ in length");
    return into.numbers.push_back(value);
  }
  const std::vector<PyValue> items = value.elements();
  if (into.numbers.empty() && depth == into.shape.size()) into.shape.resize(depth + 1, int64_t(items.size()));
  require(depth < into.shape.size() && into.shape[depth] == int64_t(items.size()),
          "the rows of a written tensor differ in length");
  for (const PyValue& item : items) read_nested(item, depth + 1, into);
}

// PyTorch's choice: f32 if there is a real number, i64 for integers, bool for flags.
DType natural_dtype(const std::vector<PyValue>& numbers) {
  DType dtype = numbers.empty() ? DType::f32 : DType::boolean;
  for (const PyValue& number : numbers) {
    if (std::holds_alternative<std::complex<double>>(number.constant)) return DType::c64;
    if (std::holds_alternative<double>(number.constant)) dtype = DType::f32;
    if (std::holds_alternative<int64_t>(number.constant) && dtype == DType::boolean) dtype = DType::i64;
  }
  return dtype;
}

Literal literal_of(const PyValue& number, DType dtype) {
  if (dtype == DType::boolean) return Literal::of_bool(*number.real() != 0);
  if (is_integer(dtype)) {
    const auto whole = number.integer();
    if (!whole && !(std::abs(*number.real()) < 9e18)) fail("a number does not fit the integers", ErrorCode::range);
    return Literal::of(whole ? *whole : int64_t(*number.real()));
  }
  return Literal::of(*number.real());
}

}  // namespace

SymbolicTensor PythonLowering::as_tensor(const PyValue& value, std::optional<DType> dtype) {
  if (value.is_tensor()) return dtype ? lowering_.cast(*value.tensor, *dtype) : *value.tensor;
  Written written;
  read_nested(value, 0, written);
  for (PyValue& number : written.numbers) {
    if (number.is_tensor())
      if (const auto known = known_scalar(*number.tensor)) number = PyValue::of(*known);
    if (!number.is_number()) fail("a written tensor has elements that are not plain numbers", ErrorCode::unsupported);
  }
  const DType type = dtype.value_or(natural_dtype(written.numbers));
  if (type == DType::c64) fail("complex numbers written as a tensor are not supported", ErrorCode::unsupported);
  if (written.numbers.empty())
    return apply_one("torch.zeros", {{"size", PyValue::shape(written.shape)}, {"dtype", PyValue::of(Argument(type))}});
  std::vector<Literal> literals;
  lightline::Tensor content(type, written.shape);
  for (size_t i = 0; i < written.numbers.size(); ++i) {
    literals.push_back(literal_of(written.numbers[i], type));
    if (is_integer(type) || type == DType::boolean)
      content.set_i64(int64_t(i), literals.back().integer);
    else
      content.set_f64(int64_t(i), *written.numbers[i].real());
  }
  const SymbolicTensor tensor = lowering_.constant(type, written.shape, std::move(literals));
  constants_.push_back(std::move(content));
  know(tensor, constants_.back());
  return tensor;
}

// torch.tensor(data, dtype), Tensor.new_tensor(data, dtype)
std::optional<PyValue> PythonLowering::make_tensor(const PyCall& call) {
  const bool method = call.target == "Tensor.new_tensor";
  const PyValue* data = call.find("data", method ? 1 : 0);
  if (!data) data = call.named("s");
  if (!data) data = call.named("obj");
  require(data != nullptr, "a tensor is made of nothing");
  std::optional<DType> dtype;
  const PyValue* given = call.named("dtype");
  if (!given && !method) given = call.at(1);
  if (given && given->dtype()) dtype = *given->dtype();
  if (!dtype && method && call.at(0)->is_tensor()) dtype = call.at(0)->tensor->dtype;
  if (!dtype && call.target == "torch.scalar_tensor") dtype = DType::f32;
  count_("tensor");
  return PyValue::of(written_tensor(*data, dtype));
}

// Rows with elements that only the data tell are stacked, at any depth.
SymbolicTensor PythonLowering::written_tensor(const PyValue& value, std::optional<DType> dtype) {
  if (!has_unknown_element(value)) return as_tensor(value, dtype);
  if (!dtype) dtype = written_dtype(value);
  std::vector<PyValue> parts;
  for (const PyValue& item : value.elements()) parts.push_back(PyValue::of(written_tensor(item, dtype)));
  return apply_one("torch.stack", {{"", PyValue::sequence(std::move(parts))}});
}

bool PythonLowering::has_unknown_element(const PyValue& value) {
  return value.is_sequence() && std::ranges::any_of(value.elements(), [&](const PyValue& item) {
           return (item.is_tensor() && !known_scalar(*item.tensor)) || has_unknown_element(item);
         });
}

// What PyTorch makes of numbers and scalar tensors written together.
DType PythonLowering::written_dtype(const PyValue& value) {
  Written written;
  read_nested(value, 0, written);
  for (PyValue& number : written.numbers) {
    if (!number.is_tensor()) continue;
    const DType type = number.tensor->dtype;
    number = type == DType::boolean ? PyValue::of(Argument(false))
             : is_integer(type)     ? PyValue::of(Argument(int64_t(0)))
                                    : PyValue::of(Argument(0.0));
  }
  return natural_dtype(written.numbers);
}

// ---- autocast ----

std::optional<PyValue> PythonLowering::enter_autocast(const PyCall& call) {
  const PyValue *device = call.find("device_type", 0), *dtype = call.find("dtype", 1),
                *enabled = call.find("enabled", 2);
  const bool on = !enabled || !enabled->integer() || *enabled->integer() != 0;
  const bool cpu = device && device->text() && *device->text() == "cpu";
  const DType natural = cpu ? DType::bf16 : DType::f16;
  autocast_.enter(on, dtype && dtype->dtype() ? *dtype->dtype() : natural);
  return PyValue();
}

std::optional<PyValue> PythonLowering::exit_autocast(const PyCall&) {
  autocast_.exit();
  return PyValue();
}

}  // namespace lightline::ops
