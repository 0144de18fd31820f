// Splitting: one tensor seen as several.
#include <algorithm>

#include "ops/build/registry.h"
#include "ops/library/views/views.h"

namespace lightline::ops {
namespace {

constexpr int64_t most_parts = 1 << 20;

void give_parts(OpCall& c, const SymbolicTensor& x, int64_t dim, const std::vector<int64_t>& sizes) {
  int64_t start = 0;
  for (const int64_t size : sizes) {
    require(size >= 0 && size <= x.shape[size_t(dim)] - start, "the parts are larger than the dimension");
    c.add_result(c.lowering().slice(x, dim, start, size));
    start += size;
  }
}

int64_t dimension(OpCall& c, const SymbolicTensor& x, int64_t fallback = 0) {
  require(x.rank() > 0, "a scalar can not be split");
  return wrap_dim(c.integer("dim", fallback), x.rank());
}

std::vector<int64_t> equal_parts(int64_t extent, int64_t size) {
  require(size > 0 || (size == 0 && extent == 0), "the parts have no size");
  if (extent == 0) return {0};
  require((extent - 1) / size < most_parts, "there are too many parts");
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < extent; start += size) sizes.push_back(std::min(size, extent - start));
  return sizes;
}

void define_split(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const int64_t dim = dimension(c, x);
  if (c.has("split_sizes")) return give_parts(c, x, dim, c.integers("split_sizes"));
  const graph::Argument* size = c.argument("split_size");
  const bool list = size && std::holds_alternative<std::vector<int64_t>>(*size);
  give_parts(c, x, dim, list ? c.integers("split_size") : equal_parts(x.shape[size_t(dim)], c.integer("split_size")));
}

void define_split_with_sizes(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  give_parts(c, x, dimension(c, x), c.integers("split_sizes"));
}

void define_chunk(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const int64_t dim = dimension(c, x), chunks = c.integer("chunks"), extent = x.shape[size_t(dim)];
  require(chunks > 0 && chunks < most_parts, "the number of chunks makes no sense");
  if (extent == 0) return give_parts(c, x, dim, std::vector<int64_t>(size_t(chunks), 0));
  give_parts(c, x, dim, equal_parts(extent, (extent - 1) / chunks + 1));
}

// At positions, or into nearly equal sections of which the first are larger.
void tensor_split(OpCall& c, const SymbolicTensor& x, int64_t dim, bool at_positions) {
  const int64_t extent = x.shape[size_t(dim)];
  if (at_positions) {
    int64_t start = 0;
    std::vector<int64_t> ends = c.integers("indices");
    ends.push_back(extent);
    for (int64_t end : ends) {
      end = std::clamp<int64_t>(end < 0 ? end + extent : end, 0, extent);
      c.add_result(c.lowering().slice(x, dim, std::min(start, extent), std::max<int64_t>(0, end - start)));
      start = end;
    }
    return;
  }
  const int64_t sections = c.integer("sections");
  require(sections > 0 && sections < most_parts, "the number of sections makes no sense");
  std::vector<int64_t> sizes(size_t(sections), extent / sections);
  for (int64_t i = 0; i < extent % sections; ++i) ++sizes[size_t(i)];
  give_parts(c, x, dim, sizes);
}

void define_tensor_split(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  tensor_split(c, x, dimension(c, x), c.has("indices"));
}

// hsplit, vsplit and dsplit: along dimension 1, 0 and 2.
Definition split_along(int64_t dim) {
  return [dim](OpCall& c) {
    const SymbolicTensor x = c.tensor("self");
    const int64_t along = dim == 1 && x.rank() == 1 ? 0 : dim;
    require(x.rank() > along, "the tensor has too few dimensions to be split");
    tensor_split(c, x, along, c.has("indices"));
  };
}

void define_unbind(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const int64_t dim = dimension(c, x);
  require(x.shape[size_t(dim)] < most_parts, "there are too many parts");
  for (int64_t i = 0; i < x.shape[size_t(dim)]; ++i) c.add_result(c.lowering().select(x, dim, i));
}

}  // namespace

void register_splitting(Registry& r) {
  const auto add = [&](std::string name, std::string parameters, Definition define,
                       std::vector<std::string> aliases = {}) {
    r.add(std::move(name), std::move(parameters), std::move(define), std::move(aliases)).returns_list = true;
  };
  add("split", "self, split_size, dim", define_split, {"split_copy", "unsafe_split"});
  add("split_with_sizes", "self, split_sizes, dim", define_split_with_sizes,
      {"split_with_sizes_copy", "unsafe_split_with_sizes"});
  add("chunk", "self, chunks, dim", define_chunk, {"unsafe_chunk"});
  add("tensor_split", "self, sections, dim", define_tensor_split);
  add("hsplit", "self, sections", split_along(1));
  add("vsplit", "self, sections", split_along(0));
  add("dsplit", "self, sections", split_along(2));
  add("unbind", "self, dim", define_unbind, {"unbind_copy"});
}

}  // namespace lightline::ops
