// Tensors put together, repeated and cut anew.
#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

DType promoted_dtype(const Types& types) {
  std::vector<TypedOperand> operands;
  for (const TensorType& type : types) operands.push_back({type, {}});
  return promoted(operands);
}

// An empty tensor of rank 1 may stand among others.
Types joined_along(const Types& types, int64_t dim) {
  expect(!types.empty(), "there is nothing to put together");
  Types whole;
  for (const TensorType& type : types)
    if (type.shape != Shape{0}) whole.push_back(type);
  if (whole.empty()) return {types[0]};
  TensorType result{promoted_dtype(types), whole[0].shape};
  const size_t at = size_t(wrapped(dim, result.shape.size()));
  expect(!result.shape.empty(), "single numbers can not be put end to end");
  result.shape[at] = 0;
  for (const TensorType& type : whole) {
    expect(type.shape.size() == result.shape.size(), "the tensors have different ranks");
    for (size_t i = 0; i < type.shape.size(); ++i)
      expect(i == at || type.shape[i] == result.shape[i], "the shapes differ in another dimension");
    result.shape[at] += type.shape[at];
  }
  return {result};
}

Types cat(const TypeCall& call) { return joined_along(call.tensors("tensors"), call.integer("dim", 0)); }

Types column_stack(const TypeCall& call) {
  Types types = call.tensors("tensors");
  for (TensorType& type : types)
    if (type.shape.size() < 2) type.shape = {element_count_of(type.shape), 1};
  return joined_along(types, 1);
}

// stack, and what stacks along a dimension of its own after making tensors of rank 1, 2 or 3.
Types stacked_dim(const TypeCall& call) {
  Types types = call.tensors("tensors");
  const std::string_view name = call.op().name;
  expect(!types.empty(), "there is nothing to stack");
  if (name == "stack") {
    TensorType result{promoted_dtype(types), types[0].shape};
    result.shape.insert(result.shape.begin() + wrapped(call.integer("dim", 0), result.shape.size() + 1),
                        int64_t(types.size()));
    return {result};
  }
  for (TensorType& type : types) {
    if (type.shape.empty()) type.shape = {1};
    if (name != "hstack" && type.shape.size() == 1) type.shape.insert(type.shape.begin(), 1);
    if (name == "dstack" && type.shape.size() == 2) type.shape.push_back(1);
  }
  if (name == "dstack") return joined_along(types, 2);
  return joined_along(types, name == "hstack" && types[0].shape.size() > 1 ? 1 : 0);
}

Types block_diag(const TypeCall& call) {
  const Types types = call.tensors("tensors");
  TensorType result{promoted_dtype(types), {0, 0}};
  for (const TensorType& type : types) {
    const Shape& shape = type.shape;
    result.shape[0] += shape.size() == 2 ? shape[0] : 1;
    result.shape[1] += shape.size() == 2 ? shape[1] : shape.size() == 1 ? shape[0] : 1;
  }
  return {result};
}

Types cartesian_prod(const TypeCall& call) {
  const Types types = call.tensors("tensors");
  expect(!types.empty(), "there is nothing to combine");
  if (types.size() == 1) return {types[0]};
  int64_t rows = 1;
  for (const TensorType& type : types) rows *= element_count_of(type.shape);
  return {{types[0].dtype, {rows, int64_t(types.size())}}};
}

// diag makes a matrix of a vector and a vector of a matrix, diag_embed and diagflat only matrices.
Types diagonal_of(const TypeCall& call) {
  const TensorType& from = call.tensor("self");
  const std::string_view name = call.op().name;
  if (name == "diag_embed") {
    const int64_t offset = call.integer("offset", 0), extent = from.shape.back() + std::abs(offset);
    const size_t rank = from.shape.size() + 1;
    const size_t a = size_t(wrapped(call.integer("dim1", -2), rank)),
                 b = size_t(wrapped(call.integer("dim2", -1), rank));
    Shape to;
    size_t next = 0;
    for (size_t i = 0; i < rank; ++i) to.push_back(i == a || i == b ? extent : from.shape[next++]);
    return {{from.dtype, to}};
  }
  const int64_t offset = call.integer(name == "diag" ? "diagonal" : "offset", 0);
  if (name == "diag" && from.shape.size() == 2) {
    const int64_t rows = from.shape[0] + std::min<int64_t>(offset, 0),
                  columns = from.shape[1] - std::max<int64_t>(offset, 0);
    return {{from.dtype, {std::max<int64_t>(std::min(rows, columns), 0)}}};
  }
  const int64_t extent = element_count_of(from.shape) + std::abs(offset);
  return {{from.dtype, {extent, extent}}};
}

Types pixel_shuffle(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const int64_t factor = call.integer("upscale_factor");
  const size_t rank = type.shape.size();
  expect(rank >= 3 && factor > 0 && type.shape[rank - 3] % (factor * factor) == 0, "the channels do not divide");
  type.shape[rank - 3] /= factor * factor;
  type.shape[rank - 2] *= factor;
  type.shape[rank - 1] *= factor;
  return {type};
}

Types pixel_unshuffle(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const int64_t factor = call.integer("downscale_factor");
  const size_t rank = type.shape.size();
  expect(rank >= 3 && factor > 0 && type.shape[rank - 1] % factor == 0 && type.shape[rank - 2] % factor == 0,
         "the image does not divide");
  type.shape[rank - 3] *= factor * factor;
  type.shape[rank - 2] /= factor;
  type.shape[rank - 1] /= factor;
  return {type};
}

// repeat and tile: repeats align at the right; tile may have fewer of them than there are dimensions.
Types tiled(const TypeCall& call) {
  TensorType type = call.tensor("self");
  std::vector<int64_t> repeats = call.integers(call.op().name == "tile" ? "dims" : "repeats");
  while (repeats.size() < type.shape.size()) repeats.insert(repeats.begin(), 1);
  while (type.shape.size() < repeats.size()) type.shape.insert(type.shape.begin(), 1);
  for (size_t i = 0; i < repeats.size(); ++i) type.shape[i] *= repeats[i];
  return {type};
}

Types repeat_interleave(const TypeCall& call) {
  if (call.tensor_if("repeats") || !call.has("repeats")) {
    if (const TensorType* type = call.recorded(0)) return {*type};
    refuse("how many elements there are depends on data", ErrorCode::unsupported);
  }
  TensorType type = call.tensor("self");
  const int64_t repeats = call.integer("repeats");
  if (!call.has("dim")) return {{type.dtype, {element_count_of(type.shape) * repeats}}};
  type.shape[size_t(wrapped(call.integer("dim"), type.shape.size()))] *= repeats;
  return {type};
}

Types rot90(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const std::vector<int64_t> dims = call.integers("dims");
  const int64_t turns = call.integer("k", 1);
  const size_t a = size_t(wrapped(dims.size() == 2 ? dims[0] : 0, type.shape.size())),
               b = size_t(wrapped(dims.size() == 2 ? dims[1] : 1, type.shape.size()));
  if (turns % 2 != 0) std::swap(type.shape[a], type.shape[b]);
  return {type};
}

Types trace(const TypeCall& call) {
  const DType dtype = call.tensor("self").dtype;
  return {{category(dtype) <= Category::integer ? DType::i64 : dtype, {}}};
}

}  // namespace

void add_rearranging_rules(TypeRules& rules) {
  rules.insert({{"cat", cat},
                {"column_stack", column_stack},
                {"stacked_dim", stacked_dim},
                {"block_diag", block_diag},
                {"cartesian_prod", cartesian_prod},
                {"diagonal_of", diagonal_of},
                {"pixel_shuffle", pixel_shuffle},
                {"pixel_unshuffle", pixel_unshuffle},
                {"tiled", tiled},
                {"repeat_interleave", repeat_interleave},
                {"rot90", rot90},
                {"trace", trace}});
}

}  // namespace lightline::graph
