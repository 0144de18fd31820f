#include "bench/exported_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace lightline::bench {
namespace {

using Sizes = std::vector<int64_t>;

constexpr int64_t batch = 2, length = 128, width = 256, heads = 4, depth = width / heads;

// As long as those of a model with a few modules inside each other.
constexpr std::string_view stack_trace =
    R"json("stack_trace":"File \"/models/transformer/model.py\", line 174, in forward\n    return self.decode(x)\n  File \"/models/transformer/layers.py\", )json"
    R"json(line 253, in forward\n    x = layer(x)\n  File \"/models/transformer/layers.py\", line 64, in forward\n    return self.attention(self.norm(x)) + x\n  File )json"
    R"json(\"/models/transformer/attention.py\", line 125, in forward\n    return self.project(self.mix(query, key, value))",)json"
    R"json("nn_module_stack":"L__self__,,model.Transformer;L__self__layers,layers,torch.nn.modules.container.ModuleList;)json"
    R"json(L__self__layers.2,layers.2,layers.Block;L__self__layers.2.attention,layers.2.attention,attention.Attention","torch_fn":"linear_3;builtin_function_or_method.linear")json";

class Writer {
 public:
  explicit Writer(Metadata metadata) : metadata_(metadata == Metadata::none ? std::string_view() : stack_trace) {}

  std::string parameter(Sizes sizes) {
    const std::string name = fmt::format("p_{}", parameters_++);
    tensor(name, sizes);
    add(inputs_, tensor_argument(name));
    add(input_specs_, fmt::format(R"({{"parameter":{{"arg":{{"name":"{0}"}},"parameter_name":"{0}"}}}})", name));
    return name;
  }
  std::string input(Sizes sizes) {
    tensor("x", sizes);
    add(inputs_, tensor_argument("x"));
    add(input_specs_, R"({"user_input":{"arg":{"as_tensor":{"name":"x"}}}})");
    return "x";
  }
  // `arguments`: pairs of a name and the JSON of its value.
  std::string node(const std::string& target, const std::vector<std::pair<std::string, std::string>>& arguments,
                   Sizes sizes) {
    const std::string name = fmt::format("n{}", nodes_++);
    std::string list;
    for (const auto& [key, value] : arguments)
      add(list, fmt::format(R"({{"name":"{}","arg":{},"kind":1}})", key, value));
    add(node_list_,
        fmt::format(R"({{"target":"torch.ops.aten.{}","inputs":[{}],"outputs":[{}],"metadata":{{{}}},"name":"{}"}})",
                    target, list, tensor_argument(name), metadata_, name));
    tensor(name, sizes);
    return name;
  }
  std::string finish(const std::string& result) const {
    const std::string output = tensor_argument(result);
    return fmt::format(
        R"({{"graph_module":{{"graph":{{"inputs":[{}],"outputs":[{}],"nodes":[{}],"tensor_values":{{{}}},"sym_int_values":{{}},"sym_bool_values":{{}}}},)"
        R"("signature":{{"input_specs":[{}],"output_specs":[{{"user_output":{{"arg":{}}}}}]}}}}}})",
        inputs_, output, node_list_, tensors_, input_specs_, output);
  }
  int nodes() const { return nodes_; }

  static std::string tensor_argument(const std::string& name) {
    return fmt::format(R"({{"as_tensor":{{"name":"{}"}}}})", name);
  }
  static std::string integers(const Sizes& sizes) {
    return fmt::format(R"({{"as_ints":[{}]}})", fmt::join(sizes, ","));
  }
  static std::string integer(int64_t value) { return fmt::format(R"({{"as_int":{}}})", value); }

 private:
  static void add(std::string& list, const std::string& item) {
    if (!list.empty()) list += ',';
    list += item;
  }
  void tensor(const std::string& name, const Sizes& sizes) {
    std::string extents, strides;
    int64_t stride = 1;
    for (const int64_t size : sizes) add(extents, integer(size)), stride *= size;
    for (const int64_t size : sizes) add(strides, integer(stride /= size));
    add(tensors_,
        fmt::format(
            R"("{}":{{"dtype":7,"sizes":[{}],"requires_grad":false,"device":{{"type":"cpu","index":null}},"strides":[{}],"storage_offset":{{"as_int":0}},"layout":7}})",
            name, extents, strides));
  }

  std::string inputs_, input_specs_, node_list_, tensors_;
  std::string_view metadata_;
  int parameters_ = 0;
  int nodes_ = 0;
};

class Transformer {
 public:
  explicit Transformer(Metadata metadata) : w_(metadata) {}

  std::string write(int nodes) {
    std::string x = w_.input({batch, length, width});
    while (w_.nodes() < nodes) {
      x = add(x, attention(norm(x)));
      x = add(x, linear(unary("gelu.default", linear(norm(x), width, 4 * width), 4 * width), 4 * width, width));
    }
    return w_.finish(x);
  }

 private:
  static std::string tensor(const std::string& name) { return Writer::tensor_argument(name); }

  std::string linear(const std::string& x, int64_t from, int64_t to) {
    const std::string weight = w_.parameter({to, from}), bias = w_.parameter({to});
    return w_.node("linear.default", {{"input", tensor(x)}, {"weight", tensor(weight)}, {"bias", tensor(bias)}},
                   {batch, length, to});
  }
  std::string norm(const std::string& x) {
    const std::string weight = w_.parameter({width}), bias = w_.parameter({width});
    return w_.node("layer_norm.default",
                   {{"input", tensor(x)},
                    {"normalized_shape", Writer::integers({width})},
                    {"weight", tensor(weight)},
                    {"bias", tensor(bias)}},
                   {batch, length, width});
  }
  std::string add(const std::string& a, const std::string& b) {
    return w_.node("add.Tensor", {{"self", tensor(a)}, {"other", tensor(b)}}, {batch, length, width});
  }
  std::string unary(const std::string& target, const std::string& x, int64_t last) {
    return w_.node(target, {{"self", tensor(x)}}, {batch, length, last});
  }
  std::string transpose(const std::string& x, int64_t a, int64_t b, Sizes sizes) {
    return w_.node("transpose.int", {{"self", tensor(x)}, {"dim0", Writer::integer(a)}, {"dim1", Writer::integer(b)}},
                   std::move(sizes));
  }
  std::string split_heads(const std::string& x) {
    const std::string parts =
        w_.node("view.default", {{"self", tensor(x)}, {"size", Writer::integers({batch, length, heads, depth})}},
                {batch, length, heads, depth});
    return transpose(parts, 1, 2, {batch, heads, length, depth});
  }
  std::string product(const std::string& a, const std::string& b, Sizes sizes) {
    return w_.node("matmul.default", {{"self", tensor(a)}, {"other", tensor(b)}}, std::move(sizes));
  }
  std::string attention(const std::string& x) {
    const std::string query = split_heads(linear(x, width, width)), key = split_heads(linear(x, width, width)),
                      value = split_heads(linear(x, width, width));
    const Sizes scores = {batch, heads, length, length};
    std::string score = product(query, transpose(key, 2, 3, {batch, heads, depth, length}), scores);
    score = w_.node("mul.Tensor", {{"self", tensor(score)}, {"other", R"({"as_float":0.125})"}}, scores);
    score = w_.node("softmax.int", {{"self", tensor(score)}, {"dim", Writer::integer(-1)}}, scores);
    const std::string mixed = product(score, value, {batch, heads, length, depth});
    const std::string joined = w_.node("reshape.default",
                                       {{"self", tensor(transpose(mixed, 1, 2, {batch, length, heads, depth}))},
                                        {"shape", Writer::integers({batch, length, width})}},
                                       {batch, length, width});
    return linear(joined, width, width);
  }

  Writer w_;
};

}  // namespace

std::string exported_transformer(int nodes, Metadata metadata) { return Transformer(metadata).write(nodes); }

}  // namespace lightline::bench
