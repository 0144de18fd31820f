// Contractions.
#include <algorithm>
#include <array>
#include <map>

#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

// As matmul: vectors are rows at the left and columns at the right, leading dimensions are broadcast.
Shape product_shape(const Shape& a, const Shape& b) {
  expect(!a.empty() && !b.empty(), "a product of matrices takes no single numbers");
  expect(a.back() == (b.size() == 1 ? b[0] : b[b.size() - 2]), "the inner sizes of the product differ");
  const auto batch = [](const Shape& shape) {
    return Shape(shape.begin(), shape.end() - int64_t(std::min<size_t>(shape.size(), 2)));
  };
  Shape shape = joined_shape(batch(a), batch(b));
  if (a.size() > 1) shape.push_back(a[a.size() - 2]);
  if (b.size() > 1) shape.push_back(b.back());
  return shape;
}

Types product(const TypeCall& call) {
  const auto second = [&]() -> const TensorType& {
    for (const char* name : {"other", "mat2", "vec", "tensor"})
      if (const TensorType* found = call.tensor_if(name)) return *found;
    refuse("the second factor is missing");
  };
  const TensorType& self = call.tensor("self");
  return {{self.dtype, product_shape(self.shape, second().shape)}};
}

Types added_product(const TypeCall& call) {
  const std::string_view name = call.op().name;
  const TensorType& self = call.tensor("self");
  const DType dtype = call.dtype("out_dtype").value_or(self.dtype);
  if (name == "addr") {
    const TensorType &a = call.tensor("vec1"), &b = call.tensor("vec2");
    return {{dtype, {a.shape.at(0), b.shape.at(0)}}};
  }
  if (name == "addmv") return {{dtype, product_shape(call.tensor("mat").shape, call.tensor("vec").shape)}};
  const bool batches = call.tensor_if("batch1") != nullptr;
  const TensorType &a = call.tensor(batches ? "batch1" : "mat1"), &b = call.tensor(batches ? "batch2" : "mat2");
  Shape shape = product_shape(a.shape, b.shape);
  if (name == "addbmm") shape.erase(shape.begin());
  return {{dtype, std::move(shape)}};
}

Types linear(const TypeCall& call) {
  TensorType type = call.tensor("input");
  const TensorType& weight = call.tensor("weight");
  expect(!type.shape.empty() && type.shape.back() == weight.shape.back(),
         "the input of linear does not fit its weight");
  type.shape.pop_back();
  if (weight.shape.size() == 2) type.shape.push_back(weight.shape[0]);
  return {type};
}

Types linear_backward(const TypeCall& call) {
  const TensorType& weight = call.tensor("weight");
  return {call.tensor("self"), weight, {weight.dtype, {weight.shape[0]}}};
}

Types distances(const TypeCall& call) {
  const TensorType &a = call.tensor("x1"), &b = call.tensor("x2");
  expect(a.shape.size() >= 2 && b.shape.size() >= 2, "distances are between rows");
  Shape shape = joined_shape(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  shape.push_back(a.shape[a.shape.size() - 2]);
  shape.push_back(b.shape[b.shape.size() - 2]);
  return {{a.dtype, std::move(shape)}};
}

Types pair_distances(const TypeCall& call) {
  const TensorType& self = call.tensor("self");
  const int64_t rows = self.shape.at(0);
  return {{self.dtype, {rows * (rows - 1) / 2}}};
}

// Two tensors that are joined and lose a dimension.
Types cosine_similarity(const TypeCall& call) {
  const bool plain = call.tensor_if("x") != nullptr;
  const std::vector<TypedOperand> two = plain ? call.operands({"x", "y"}) : call.operands({"x1", "x2"});
  const Shape shape = joined_shape(two.at(0).tensor->shape, two.at(1).tensor->shape);
  const int64_t fallback = call.op().name == "cosine_similarity" ? 1 : -1;
  std::vector<bool> chosen(shape.size(), false);
  chosen[size_t(wrapped(call.integer("dim", fallback), shape.size()))] = true;
  return {{promoted(two), reduced_shape(shape, chosen, call.flag("keepdim"))}};
}

Types outer(const TypeCall& call) {
  const std::vector<TypedOperand> two = call.operands();
  return {{promoted(two), {element_count_of(two.at(0).tensor->shape), element_count_of(two.at(1).tensor->shape)}}};
}

Types inner(const TypeCall& call) {
  const TensorType &a = call.tensor("self"), &b = call.tensor("other");
  if (a.shape.empty() || b.shape.empty()) return {{a.dtype, joined_shape(a.shape, b.shape)}};
  Shape shape(a.shape.begin(), a.shape.end() - 1);
  shape.insert(shape.end(), b.shape.begin(), b.shape.end() - 1);
  return {{a.dtype, std::move(shape)}};
}

Types kron(const TypeCall& call) {
  const TensorType &a = call.tensor("self"), &b = call.tensor("other");
  Shape shape(std::max(a.shape.size(), b.shape.size()), 1);
  for (size_t i = 0; i < shape.size(); ++i)
    for (const Shape* one : {&a.shape, &b.shape})
      if (i < one->size()) shape[shape.size() - 1 - i] *= (*one)[one->size() - 1 - i];
  return {{promoted(call.operands()), std::move(shape)}};
}

Types tensordot(const TypeCall& call) {
  const TensorType &a = call.tensor("self"), &b = call.tensor("other");
  Shape shape;
  const auto keep = [&](const Shape& from, const std::vector<int64_t>& gone) {
    std::vector<bool> chosen(from.size(), false);
    for (const int64_t dim : gone) chosen[size_t(wrapped(dim, from.size()))] = true;
    for (size_t i = 0; i < from.size(); ++i)
      if (!chosen[i]) shape.push_back(from[i]);
  };
  keep(a.shape, call.integers("dims_self"));
  keep(b.shape, call.integers("dims_other"));
  return {{a.dtype, std::move(shape)}};
}

Types chain_product(const TypeCall& call) {
  const Types types = call.tensors(call.argument("matrices") ? "matrices" : "tensors");
  expect(!types.empty(), "a chain has at least one factor");
  Shape shape = types[0].shape;
  for (size_t i = 1; i < types.size(); ++i) shape = product_shape(shape, types[i].shape);
  return {{types[0].dtype, std::move(shape)}};
}

Types bilinear(const TypeCall& call) {
  TensorType type = call.tensor("input1");
  type.shape.back() = call.tensor("weight").shape.at(0);
  return {type};
}

Types packed_product(const TypeCall& call) {
  const TensorType &a = call.tensor("self"), &b = call.tensor("mat2");
  if (const TensorType* type = call.recorded(0)) return {*type};
  return {{a.dtype, {a.shape.at(0), b.shape.at(0)}}};
}

Types grouped_product(const TypeCall& call) {
  const bool plain = call.tensor_if("self") != nullptr;
  const TensorType &a = call.tensor(plain ? "self" : "input"), &b = call.tensor(plain ? "mat2" : "weight");
  Shape shape;
  if (a.shape.size() == 2 && b.shape.size() == 2)
    shape = {call.tensor("offs").shape.at(0), a.shape[0], b.shape[1]};
  else if (a.shape.size() == 3 && b.shape.size() == 3)
    shape = {a.shape[0], a.shape[1], b.shape[2]};
  else
    shape = {a.shape.size() == 3 ? a.shape[1] : a.shape[0], b.shape.back()};
  return {{call.dtype("out_dtype").value_or(a.dtype), std::move(shape)}};
}

// Factors get dimensions of 1, are multiplied, and some dimensions are summed.
Types trilinear(const TypeCall& call) {
  Shape shape;
  const char* names[] = {"i1", "i2", "i3"};
  const char* expands[] = {"expand1", "expand2", "expand3"};
  for (int n = 0; n < 3; ++n) {
    Shape one = call.tensor(names[n]).shape;
    for (const int64_t dim : call.integers(expands[n])) one.insert(one.begin() + dim, 1);
    shape = joined_shape(shape, one);
  }
  std::vector<bool> chosen(shape.size(), false);
  for (const int64_t dim : call.integers("sumdim")) chosen[size_t(wrapped(dim, shape.size()))] = true;
  return {{call.tensor("i1").dtype, reduced_shape(shape, chosen, false)}};
}

// ---- einsum ----

struct Extents {
  std::map<char, int64_t> letters;
  Shape dots;  // what "..." stands for
};

void read_term(std::string_view term, const Shape& shape, Extents& extents) {
  const size_t dots = term.find("...");
  const size_t letters = term.size() - (dots == std::string_view::npos ? 0 : 3);
  expect(shape.size() >= letters, "a tensor of einsum has too few dimensions");
  size_t dim = 0;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      const size_t count = shape.size() - letters;
      extents.dots =
          joined_shape(extents.dots, Shape(shape.begin() + int64_t(dim), shape.begin() + int64_t(dim + count)));
      dim += count;
      i += 2;
      continue;
    }
    expect(dim < shape.size(), "a tensor of einsum has too few dimensions");
    int64_t& extent = extents.letters.emplace(term[i], 1).first->second;
    extent = std::max(extent, shape[dim++]);
  }
}

Types einsum(const TypeCall& call) {
  std::string equation;
  for (const char c : call.text("equation"))
    if (c != ' ') equation += c;
  const size_t arrow = equation.find("->");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  const Types types = call.tensors("tensors");
  Extents extents;
  std::map<char, int> uses;
  for (const TensorType& type : types) {
    const size_t comma = std::min(left.find(','), left.size());
    const std::string_view term = left.substr(0, comma);
    read_term(term, type.shape, extents);
    for (const char c : term)
      if (c != '.') ++uses[c];
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  std::string right;
  if (arrow != std::string::npos) {
    right = equation.substr(arrow + 2);
  } else {
    if (equation.find("...") != std::string::npos) right = "...";
    for (const auto& [letter, count] : uses)
      if (count == 1) right += letter;
  }
  TensorType result{types.empty() ? DType::f32 : types[0].dtype, {}};
  for (size_t i = 0; i < right.size(); ++i) {
    if (right[i] == '.') {
      result.shape.insert(result.shape.end(), extents.dots.begin(), extents.dots.end());
      i += 2;
    } else {
      const auto found = extents.letters.find(right[i]);
      expect(found != extents.letters.end(), "the result of einsum has a letter that no operand has");
      result.shape.push_back(found->second);
    }
  }
  return {result};
}

}  // namespace

void add_product_rules(TypeRules& rules) {
  rules.insert({{"product", product},
                {"added_product", added_product},
                {"linear", linear},
                {"linear_backward", linear_backward},
                {"distances", distances},
                {"pair_distances", pair_distances},
                {"cosine_similarity", cosine_similarity},
                {"outer", outer},
                {"inner", inner},
                {"kron", kron},
                {"tensordot", tensordot},
                {"chain_product", chain_product},
                {"bilinear", bilinear},
                {"packed_product", packed_product},
                {"grouped_product", grouped_product},
                {"trilinear", trilinear},
                {"einsum", einsum}});
}

}  // namespace lightline::graph
