// The many ways to write one call in Python, brought into the one that the registry's parameters describe.
#include <algorithm>
#include <unordered_map>

#include "ops/python/lowering.h"

namespace lightline::ops {
namespace {

using graph::Argument;
using CallRewrite = void (*)(PyCall&);

PyValue gathered(std::vector<PyValue> items) { return PyValue::sequence(std::move(items)); }

// Positional arguments from `first` on become one list: x.view(2, 3) is x.view((2, 3)).
void gather_from(PyCall& call, size_t first, const char* name) {
  std::vector<PyValue> rest;
  size_t position = 0;
  std::erase_if(call.arguments, [&](PyCall::Argument& argument) {
    if (!argument.name.empty() || position++ < first) return false;
    rest.push_back(std::move(argument.value));
    return true;
  });
  if (rest.size() == 1 && (rest[0].is_sequence() || rest[0].is_none()))
    call.set(name, std::move(rest[0]));
  else if (!rest.empty())
    call.set(name, gathered(std::move(rest)));
}

template <size_t first>
void sizes(PyCall& call) {
  gather_from(call, first, "size");
}
void view(PyCall& call) {
  const PyValue* given = call.find("dtype", 1);
  if (given && given->dtype()) {
    call.target = "view.dtype";
    return;
  }
  gather_from(call, 1, call.target.ends_with("view") ? "size" : "shape");
}
void dims(PyCall& call) { gather_from(call, 1, "dims"); }
void repeats(PyCall& call) { gather_from(call, 1, "repeats"); }
void tensors(PyCall& call) { gather_from(call, 0, "tensors"); }
void einsum(PyCall& call) { gather_from(call, 1, "tensors"); }

void drop(PyCall& call, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) call.remove(name);
}

// x.to(dtype), x.to(device, dtype), x.to(other), x.type(torch.float32), x.cuda()
void to(PyCall& call) {
  PyCall plain;
  plain.target = "to";
  plain.name = call.name;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const PyCall::Argument& argument = call.arguments[i];
    if (i == 0)
      plain.set("self", argument.value);
    else if (argument.value.is_tensor())
      plain.set("other", argument.value);
    else if (argument.value.dtype())
      plain.set("dtype", argument.value);
    else if (argument.name == "copy")
      plain.set("copy", argument.value);
    else if (argument.name == "memory_format")
      plain.set("memory_format", argument.value);
  }
  // A dtype or a tensor, non_blocking, copy; or a device, a dtype, non_blocking, copy
  const PyValue* kind = call.at(1);
  const PyValue* positional = call.at(kind && (kind->dtype() || kind->is_tensor()) ? 3 : 4);
  if (positional && positional->integer() && !call.named("copy") && kind && !kind->is_none())
    plain.set("copy", *positional);
  call = std::move(plain);
}

// x.type("torch.FloatTensor")
void type(PyCall& call) {
  static const std::unordered_map<std::string_view, DType> names = {
      {"FloatTensor", DType::f32},    {"DoubleTensor", DType::f64}, {"HalfTensor", DType::f16},
      {"LongTensor", DType::i64},     {"IntTensor", DType::i32},    {"ShortTensor", DType::i16},
      {"ByteTensor", DType::u8},      {"CharTensor", DType::i8},    {"BoolTensor", DType::boolean},
      {"BFloat16Tensor", DType::bf16}};
  const PyValue* given = call.find("dtype", 1);
  if (given && given->text()) {
    const std::string_view text = *given->text();
    const auto found = names.find(text.substr(text.rfind('.') + 1));
    if (found == names.end()) fail("the type '" + std::string(text) + "' is not known", ErrorCode::unsupported);
    const PyValue self = *call.at(0);
    call.arguments = {{"", self}, {"", PyValue::of(Argument(found->second))}};
  }
  to(call);
}

// max(a, b) of two tensors is another operator than max(x, dim).
void extreme(PyCall& call) {
  const PyValue* second = call.find("other", 1);
  if (second && second->is_tensor()) call.target = call.target.ends_with("max") ? "maximum" : "minimum";
}

void arange(PyCall& call) {
  const std::vector<PyValue> given = call.positional();
  static constexpr const char* names[] = {"start", "end", "step"};
  std::erase_if(call.arguments, [](const PyCall::Argument& argument) { return argument.name.empty(); });
  const bool only_end = given.size() == 1 && !call.named("end");
  for (size_t i = 0; i < given.size() && i < 3; ++i) call.set(only_end ? "end" : names[i], given[i]);
}

void random_integers(PyCall& call) {
  const std::vector<PyValue> given = call.positional();
  std::erase_if(call.arguments, [](const PyCall::Argument& argument) { return argument.name.empty(); });
  const bool low = given.size() >= 2 && !given[1].is_sequence();
  size_t next = 0;
  if (low) call.set("low", given[next++]);
  if (next < given.size()) call.set("high", given[next++]);
  if (next < given.size()) call.set("size", given[next]);
  if (call.named("low")) call.target = "randint.low";
}

// A list splits at positions, a number into sections.
void tensor_split(PyCall& call) {
  const PyValue* how = call.find("indices_or_sections", 1);
  if (!how) return;
  const PyValue value = *how;
  PyCall plain;
  plain.target = call.target;
  plain.name = call.name;
  plain.set("self", *call.at(0));
  plain.set(value.is_sequence() ? "indices" : "sections", value);
  const PyValue* dim = call.find("dim", call.named("indices_or_sections") ? 1 : 2);
  if (dim) plain.set("dim", *dim);
  for (const char* name : {"indices", "sections"})
    if (const PyValue* given = call.named(name)) plain.set(name, *given);
  call = std::move(plain);
}

void split(PyCall& call) {
  for (PyCall::Argument& argument : call.arguments) {
    if (argument.name == "split_size_or_sections") argument.name = "split_size";
    if (argument.name == "tensor") argument.name = "self";
  }
}

// var(x, False) and var(x, dim, ...): a flag in the second place is `unbiased`.
void variance(PyCall& call) {
  size_t position = 0;
  for (PyCall::Argument& argument : call.arguments)
    if (argument.name.empty() && position++ == 1 && argument.value.kind == PyValue::Kind::constant &&
        std::holds_alternative<bool>(argument.value.constant))
      argument.name = "unbiased";
}

void clamp_max(PyCall& call) {
  size_t position = 0;
  for (PyCall::Argument& argument : call.arguments)
    if (argument.name.empty() && position++ == 1) argument.name = "max";
}

// scatter(dim, index, value): a number in the place of the source.
void scatter(PyCall& call) {
  size_t position = 0;
  for (PyCall::Argument& argument : call.arguments)
    if (argument.name.empty() && position++ == 3 && argument.value.is_number()) argument.name = "value";
}

// torch.nn.functional drops out unless told otherwise; torch.dropout and modules always say.
void dropout(PyCall& call) {
  if (!call.target.starts_with("torch.nn.functional.")) return;
  for (PyCall::Argument& argument : call.arguments)
    if (argument.name == "training") argument.name = "train";
  if (!call.find("train", 2)) call.set("train", PyValue::of(Argument(true)));
}

// Sizes that are None keep the input's.
void adaptive_pool(PyCall& call) {
  const PyValue *input = call.find("input", 0), *size = call.find("output_size", 1);
  if (!input || !input->is_tensor() || !size || size->kind != PyValue::Kind::sequence) return;
  std::vector<PyValue> wanted = size->items;
  const Shape& shape = input->tensor->shape;
  if (wanted.size() > shape.size()) return;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].is_none()) wanted[i] = PyValue::of(Argument(shape[shape.size() - wanted.size() + i]));
  for (PyCall::Argument& argument : call.arguments)
    if (&argument.value == size) argument.value = gathered(wanted);
}

// x.where(condition, other)
void where(PyCall& call) {
  if (call.target != "Tensor.where") return;
  PyCall plain;
  plain.target = "torch.where";
  plain.name = call.name;
  plain.set("self", *call.at(0));
  if (const PyValue* condition = call.find("condition", 1)) plain.set("condition", *condition);
  if (const PyValue* other = call.find("other", call.named("condition") ? 1 : 2)) plain.set("other", *other);
  call = std::move(plain);
}

// dims is a number of dimensions at the ends, or two lists.
void tensordot(PyCall& call) {
  const PyValue *a = call.at(0), *dims = call.find("dims", 2);
  if (!a || !a->is_tensor() || !dims) return;
  std::vector<int64_t> left, right;
  PyValue from, to;
  if (const auto count = dims->integer()) {
    const int64_t rank = a->tensor->rank();
    require(*count >= 0 && *count <= rank, "tensordot sums over more dimensions than there are");
    for (int64_t d = 0; d < *count; ++d) {
      left.push_back(rank - *count + d);
      right.push_back(d);
    }
    from = PyValue::shape(left);
    to = PyValue::shape(right);
  } else {
    const std::vector<PyValue> lists = dims->elements();
    require(lists.size() == 2, "tensordot takes two lists of dimensions");
    from = lists[0];
    to = lists[1];
  }
  const PyValue self = *a, other = *call.at(1);
  call.arguments = {{"self", self}, {"other", other}, {"dims_self", from}, {"dims_other", to}};
}

// x.polygamma(n), but torch.polygamma(n, x)
void polygamma(PyCall& call) {
  if (call.target.starts_with("Tensor.") && call.arguments.size() == 2)
    std::swap(call.arguments[0].value, call.arguments[1].value);
}

// The mode is a string here; it only chooses an algorithm.
void cdist(PyCall& call) {
  std::erase_if(call.arguments, [](const PyCall::Argument& argument) { return argument.value.text() != nullptr; });
}

// torch.stft pads at both ends unless told otherwise.
void short_time(PyCall& call) {
  if (call.target.starts_with("torch._VF.")) return;
  call.target = "stft.center";
  if (!call.find("center", 5)) call.set("center", PyValue::of(Argument(true)));
}

void upsample(PyCall& call) {
  const bool bilinear = call.target.ends_with("bilinear");
  call.target = "torch.nn.functional.interpolate";
  call.set("mode", PyValue::of(Argument(std::string(bilinear ? "bilinear" : "nearest"))));
  if (bilinear) call.set("align_corners", PyValue::of(Argument(true)));
}

// torch.nn.functional knows the kernel and works the output's size out from it.
void unpool(PyCall& call) {
  const PyValue *input = call.find("input", 0), *indices = call.find("indices", 1),
                *kernel = call.find("kernel_size", 2);
  if (!call.target.starts_with("torch.nn.functional.") || !input || !input->is_tensor() || !indices || !kernel) return;
  const size_t spatial = size_t(call.target[call.target.size() - 2] - '0');
  const Shape& shape = input->tensor->shape;
  require(shape.size() > spatial, "the tensor has too few dimensions to be unpooled");
  const auto value = [&](const PyValue* list, size_t i, int64_t fallback) {
    if (!list || list->is_none()) return fallback;
    const std::vector<PyValue> items = list->is_sequence() ? list->elements() : std::vector<PyValue>{*list};
    if (items.empty()) return fallback;
    return items[std::min(i, items.size() - 1)].integer().value_or(fallback);
  };
  const PyValue *stride = call.find("stride", 3), *padding = call.find("padding", 4),
                *size = call.find("output_size", 5);
  Shape output;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t window = value(kernel, i, 1), step = value(stride, i, window);
    output.push_back((shape[shape.size() - spatial + i] - 1) * step - 2 * value(padding, i, 0) + window);
  }
  if (size && size->is_sequence()) {
    const std::vector<PyValue> given = size->elements();
    require(given.size() >= spatial, "the output size of the unpooling is too short");
    for (size_t i = 0; i < spatial; ++i) output[i] = given[given.size() - spatial + i].integer().value_or(output[i]);
  }
  const PyValue x = *input, at = *indices;
  call.arguments = {{"self", x}, {"indices", at}, {"output_size", PyValue::shape(output)}};
}

// torch.meshgrid(*tensors, indexing) and atleast_nd(*tensors)
void at_least(PyCall& call) {
  if (call.positional().size() > 1) tensors(call);
}

const std::unordered_map<std::string_view, CallRewrite>& call_rewrites() {
  static const std::unordered_map<std::string_view, CallRewrite> table = {
      {"view", view},
      {"reshape", view},
      {"expand", sizes<1>},
      {"new_zeros", sizes<1>},
      {"new_ones", sizes<1>},
      {"new_empty", sizes<1>},
      {"zeros", sizes<0>},
      {"ones", sizes<0>},
      {"empty", sizes<0>},
      {"rand", sizes<0>},
      {"randn", sizes<0>},
      {"permute", dims},
      {"flip", dims},
      {"tile", dims},
      {"repeat", repeats},
      {"meshgrid", tensors},
      {"broadcast_tensors", tensors},
      {"cartesian_prod", tensors},
      {"block_diag", tensors},
      {"atleast_1d", at_least},
      {"atleast_2d", at_least},
      {"atleast_3d", at_least},
      {"einsum", einsum},
      {"to", to},
      {"type_as", to},
      {"cuda", to},
      {"cpu", to},
      {"type", type},
      {"max", extreme},
      {"min", extreme},
      {"arange", arange},
      {"randint", random_integers},
      {"tensor_split", tensor_split},
      {"hsplit", tensor_split},
      {"vsplit", tensor_split},
      {"dsplit", tensor_split},
      {"split", split},
      {"var", variance},
      {"std", variance},
      {"var_mean", variance},
      {"std_mean", variance},
      {"clamp_max", clamp_max},
      {"clamp_max_", clamp_max},
      {"scatter", scatter},
      {"scatter_", scatter},
      {"where", where},
      {"tensordot", tensordot},
      {"cdist", cdist},
      {"polygamma", polygamma},
      {"stft", short_time},
      {"upsample_nearest", upsample},
      {"upsample_bilinear", upsample},
      {"max_unpool2d", unpool},
      {"max_unpool3d", unpool},
      {"dropout", dropout},
      {"dropout1d", dropout},
      {"dropout2d", dropout},
      {"dropout3d", dropout},
      {"alpha_dropout", dropout},
      {"feature_alpha_dropout", dropout},
      {"adaptive_avg_pool2d", adaptive_pool},
      {"adaptive_avg_pool3d", adaptive_pool},
      {"adaptive_max_pool2d", adaptive_pool},
      {"adaptive_max_pool3d", adaptive_pool},
  };
  return table;
}

// Tensor.__radd__(a, b) is b + a.
void special_method(PyCall& call) {
  static constexpr std::string_view plain[] = {"add", "sub", "mul", "truediv", "floordiv", "mod",    "pow", "matmul",
                                               "and", "or",  "xor", "lshift",  "rshift",   "eq",     "ne",  "lt",
                                               "le",  "gt",  "ge",  "neg",     "pos",      "invert", "abs"};
  static constexpr std::string_view prefix = "Tensor.__";
  std::string name = call.target.substr(prefix.size(), call.target.size() - prefix.size() - 2);
  const auto known = [&](std::string_view word) { return std::ranges::find(plain, word) != std::end(plain); };
  if (name == "div" || name == "rdiv" || name == "idiv") name.replace(name.size() - 3, 3, "truediv");
  if (!known(name) && name.starts_with('r') && known(std::string_view(name).substr(1))) {
    name.erase(0, 1);
    if (call.arguments.size() == 2) std::swap(call.arguments[0], call.arguments[1]);
  } else if (!known(name) && !(name.starts_with('i') && known(std::string_view(name).substr(1)))) {
    return;
  }
  if (name == "abs") {
    call.target = "torch.abs";
    return;
  }
  if (name == "and" || name == "or") name += '_';
  call.target = "operator." + name;
}

}  // namespace

void normalise_call(PyCall& call) {
  if (call.target.starts_with("torch.ops.")) return;  // schemas of ATen
  if (call.target.starts_with("Tensor.__") && call.target.ends_with("__") && call.target.size() > 11)
    special_method(call);
  for (PyCall::Argument& argument : call.arguments) {
    if (argument.name == "axis") argument.name = "dim";
    if (argument.name == "keepdims") argument.name = "keepdim";
  }
  drop(call,
       {"out", "device", "layout", "pin_memory", "requires_grad", "generator", "non_blocking", "_stacklevel", "names"});
  // preserve_format or None says nothing that is not the operator's own
  if (const PyValue* format = call.named("memory_format");
      format && !(format->text() && format->text()->find("preserve") == std::string::npos))
    drop(call, {"memory_format"});
  const size_t dot = call.target.rfind('.');
  const auto form = call_rewrites().find(std::string_view(call.target).substr(dot == std::string::npos ? 0 : dot + 1));
  if (form != call_rewrites().end()) form->second(call);
}

}  // namespace lightline::ops
