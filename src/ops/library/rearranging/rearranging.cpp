// Rearranging: copies that PyTorch makes of elements in another order, several tensors joined into one, and writes of
// one tensor into a part of another.
#include <algorithm>
#include <numeric>

#include "ops/build/registry.h"
#include "ops/library/rearranging/rearranging.h"
#include "ops/library/views/views.h"

namespace lightline::ops {
namespace {

DType promoted(const std::vector<SymbolicTensor>& tensors) {
  std::vector<Operand> operands;
  for (const SymbolicTensor& tensor : tensors) operands.push_back({tensor, {}});
  return result_type(operands);
}

// The tensor that holds position `at`, where tensor k starts at starts[k]: a balanced tree of comparisons.
Scalar chosen(const Scalar& at, const std::vector<int64_t>& starts, size_t from, size_t to,
              const std::function<Scalar(size_t)>& read) {
  if (to - from == 1) return read(from);
  const size_t middle = from + (to - from) / 2;
  return select(at < double(starts[middle]), chosen(at, starts, from, middle, read),
                chosen(at, starts, middle, to, read));
}

}  // namespace

SymbolicTensor joined(Lowering& l, std::vector<SymbolicTensor> tensors, int64_t dim) {
  require(!tensors.empty(), "there is nothing to join");
  const DType dtype = promoted(tensors);
  // an empty vector joins with anything
  const bool others =
      std::any_of(tensors.begin(), tensors.end(), [](const SymbolicTensor& t) { return t.shape != Shape{0}; });
  if (others) std::erase_if(tensors, [](const SymbolicTensor& t) { return t.shape == Shape{0}; });
  Shape shape = tensors[0].shape;
  require(!shape.empty(), "scalars can not be joined");
  dim = wrap_dim(dim, int64_t(shape.size()));
  std::vector<int64_t> starts;
  int64_t extent = 0;
  for (const SymbolicTensor& tensor : tensors) {
    Shape expected = shape;
    require(tensor.shape.size() == shape.size(), "the tensors to join differ in rank");
    expected[size_t(dim)] = tensor.shape[size_t(dim)];
    require(tensor.shape == expected, "the tensors to join differ in another dimension");
    starts.push_back(extent);
    if (__builtin_add_overflow(extent, expected[size_t(dim)], &extent))
      fail("the shape has too many elements", ErrorCode::limit);
  }
  shape[size_t(dim)] = extent;
  return l.map(dtype, std::move(shape), [&](const Indices& i) {
    return chosen(l.value(i[size_t(dim)]), starts, 0, tensors.size(), [&](size_t k) {
      Indices at = i;
      at[size_t(dim)] = i[size_t(dim)] - starts[k];
      return convert(l.read(tensors[k], at, Literal::of(int64_t(0))), dtype);
    });
  });
}

SymbolicTensor stacked(Lowering& l, const std::vector<SymbolicTensor>& tensors, int64_t dim) {
  require(!tensors.empty(), "there is nothing to stack");
  const DType dtype = promoted(tensors);
  Shape shape = tensors[0].shape;
  for (const SymbolicTensor& tensor : tensors) require(tensor.shape == shape, "the tensors to stack differ in shape");
  dim = wrap_dim(dim, int64_t(shape.size()) + 1);
  shape.insert(shape.begin() + dim, int64_t(tensors.size()));
  std::vector<int64_t> starts(tensors.size());
  std::iota(starts.begin(), starts.end(), 0);
  return l.map(dtype, std::move(shape), [&](const Indices& i) {
    Indices at = i;
    at.erase(at.begin() + dim);
    return chosen(l.value(i[size_t(dim)]), starts, 0, tensors.size(),
                  [&](size_t k) { return convert(l.read(tensors[k], at), dtype); });
  });
}

namespace {

std::vector<SymbolicTensor> all_at_least(OpCall& c, int64_t rank) {
  std::vector<SymbolicTensor> tensors = c.tensors("tensors");
  for (SymbolicTensor& tensor : tensors) tensor = at_least(c.lowering(), tensor, rank);
  return tensors;
}

void define_hstack(OpCall& c) {
  std::vector<SymbolicTensor> tensors = all_at_least(c, 1);
  require(!tensors.empty(), "there is nothing to join");
  const int64_t dim = tensors[0].rank() == 1 ? 0 : 1;
  c.add_result(joined(c.lowering(), std::move(tensors), dim));
}

void define_column_stack(OpCall& c) {
  std::vector<SymbolicTensor> tensors = c.tensors("tensors");
  for (SymbolicTensor& tensor : tensors)
    if (tensor.rank() <= 1) tensor = c.lowering().reshape(tensor, {tensor.size(), 1});
  c.add_result(joined(c.lowering(), std::move(tensors), 1));
}

void define_block_diag(OpCall& c) {
  Lowering& l = c.lowering();
  std::vector<SymbolicTensor> tensors = all_at_least(c, 2);
  require(!tensors.empty(), "there is nothing to join");
  const DType dtype = promoted(tensors);
  std::vector<int64_t> rows, columns;
  int64_t height = 0, width = 0;
  for (const SymbolicTensor& tensor : tensors) {
    require(tensor.rank() == 2, "block_diag joins matrices");
    rows.push_back(height);
    columns.push_back(width);
    height += tensor.shape[0];
    width += tensor.shape[1];
  }
  c.add_result(l.map(dtype, {height, width}, [&](const Indices& i) {
    return chosen(l.value(i[0]), rows, 0, tensors.size(), [&](size_t k) {
      return convert(l.read(tensors[k], {i[0] - rows[k], i[1] - columns[k]}, Literal::of(int64_t(0))), dtype);
    });
  }));
}

void define_cartesian_prod(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> tensors = c.tensors("tensors");
  if (tensors.size() == 1) return c.add_result(tensors[0]);
  Shape shape;
  for (const SymbolicTensor& tensor : tensors) shape.push_back(tensor.size());
  std::vector<SymbolicTensor> columns;
  for (size_t k = 0; k < tensors.size(); ++k) {
    Shape own(tensors.size(), 1);
    own[k] = shape[k];
    columns.push_back(l.reshape(l.expand(l.reshape(tensors[k], std::move(own)), shape), {product(shape)}));
  }
  c.add_result(stacked(l, columns, 1));
}

// ---- one tensor, in another order ----

void define_flip(OpCall& c) {
  SymbolicTensor x = c.tensor("self");
  for (const int64_t dim : c.integers("dims")) x = flipped(c.lowering(), x, dim);
  c.add_result(c.lowering().copy(x));
}

void define_roll(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const std::vector<int64_t> shifts = c.integers("shifts"), dims = c.integers("dims", {});
  const bool flat = dims.empty();
  require(flat ? shifts.size() == 1 : shifts.size() == dims.size(), "roll needs one shift per dimension");
  const SymbolicTensor source = flat ? l.reshape(x, {x.size()}) : x;
  std::vector<int64_t> shift(source.shape.size(), 0);
  for (size_t k = 0; k < shifts.size(); ++k) {
    if (source.rank() == 0) break;
    const auto dim = size_t(flat ? 0 : wrap_dim(dims[k], source.rank()));
    const int64_t extent = std::max<int64_t>(source.shape[dim], 1);
    shift[dim] = (shift[dim] + shifts[k] % extent) % extent;
  }
  const SymbolicTensor rolled = l.map(x.dtype, source.shape, [&](const Indices& i) {
    Indices at = i;
    for (size_t d = 0; d < at.size(); ++d)
      if (shift[d] != 0) at[d] = mod(i[d] - shift[d], source.shape[d]);
    return l.read(source, at);
  });
  c.add_result(flat ? l.reshape(rolled, x.shape) : rolled);
}

SymbolicTensor repeated(Lowering& l, const SymbolicTensor& x, std::vector<int64_t> times) {
  if (times.size() < x.shape.size()) times.insert(times.begin(), x.shape.size() - times.size(), 1);
  Shape from(times.size() - x.shape.size(), 1);
  from.insert(from.end(), x.shape.begin(), x.shape.end());
  const SymbolicTensor source = l.reshape(x, from);
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d) {
    require(times[d] >= 0, "a tensor is repeated a negative number of times");
    shape.push_back(product(std::vector<int64_t>{from[d], times[d]}));
  }
  return l.map(x.dtype, shape, [&](const Indices& i) {
    Indices at = i;
    for (size_t d = 0; d < at.size(); ++d)
      if (times[d] != 1) at[d] = mod(i[d], std::max<int64_t>(from[d], 1));
    return l.read(source, at);
  });
}

void define_repeat(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const std::vector<int64_t> times = c.integers("repeats");
  require(times.size() >= x.shape.size(), "repeat needs a number for every dimension");
  c.add_result(repeated(c.lowering(), x, times));
}

void define_repeat_interleave(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor x = c.has("self") ? c.tensor("self") : c.tensor("repeats");
  if (!c.has("self") || c.tensor_if("repeats")) {
    const auto recorded = c.recorded(0);
    if (!recorded) fail("the size of the result depends on data", ErrorCode::unsupported);
    std::vector<SymbolicTensor> operands = {x};
    if (c.has("self")) operands.push_back(c.tensor("repeats"));
    return c.add_result(l.opaque("repeat_interleave", operands, {{"dim", c.integer("dim", 0)}},
                                 {{recorded->dtype, recorded->shape}})[0]);
  }
  const int64_t times = c.integer("repeats");
  require(times >= 0, "a tensor is repeated a negative number of times");
  if (!c.has("dim")) x = l.reshape(x, {x.size()});
  const auto dim = size_t(wrap_dim(c.integer("dim", 0), x.rank()));
  if (x.rank() == 0) x = l.reshape(x, {1});
  Shape shape = x.shape;
  shape[dim] = product(std::vector<int64_t>{shape[dim], times});
  c.add_result(l.map(x.dtype, shape, [&](const Indices& i) {
    Indices at = i;
    at[dim] = div(i[dim], std::max<int64_t>(times, 1));
    return l.read(x, at);
  }));
}

void define_rot90(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor x = c.tensor("self");
  const std::vector<int64_t> dims = c.integers("dims", {0, 1});
  require(dims.size() == 2, "rot90 turns in two dimensions");
  const int64_t turns = ((c.integer("k", 1) % 4) + 4) % 4;
  if (turns == 1 || turns == 2) x = flipped(l, x, dims[1]);
  if (turns == 2 || turns == 3) x = flipped(l, x, dims[0]);
  if (turns == 1 || turns == 3) x = l.transpose(x, dims[0], dims[1]);
  c.add_result(l.copy(x));
}

// [.., c * r * r, h, w] and [.., c, h * r, w * r]
void define_pixel_shuffle(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const int64_t r = c.integer("upscale_factor"), rank = x.rank();
  require(rank >= 3 && r > 0 && r < (1 << 24) && x.shape[size_t(rank - 3)] % (r * r) == 0,
          "the channels do not divide by the square of the factor");
  const int64_t height = x.shape[size_t(rank - 2)], width = x.shape[size_t(rank - 1)],
                channels = x.shape[size_t(rank - 3)] / (r * r);
  Shape split(x.shape.begin(), x.shape.end() - 3);
  const int64_t batch = int64_t(split.size());
  split.insert(split.end(), {channels, r, r, height, width});
  std::vector<int64_t> order(split.size());
  std::iota(order.begin(), order.end(), 0);
  const int64_t tail[] = {0, 3, 1, 4, 2};
  for (int64_t i = 0; i < 5; ++i) order[size_t(batch + i)] = batch + tail[i];
  Shape shape(x.shape.begin(), x.shape.end() - 3);
  shape.insert(shape.end(), {channels, height * r, width * r});
  c.add_result(l.copy(l.reshape(l.permute(l.reshape(x, split), order), shape)));
}

void define_pixel_unshuffle(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const int64_t r = c.integer("downscale_factor"), rank = x.rank();
  require(
      rank >= 3 && r > 0 && r < (1 << 24) && x.shape[size_t(rank - 2)] % r == 0 && x.shape[size_t(rank - 1)] % r == 0,
      "height and width do not divide by the factor");
  const int64_t height = x.shape[size_t(rank - 2)] / r, width = x.shape[size_t(rank - 1)] / r,
                channels = x.shape[size_t(rank - 3)];
  Shape split(x.shape.begin(), x.shape.end() - 3);
  const int64_t batch = int64_t(split.size());
  split.insert(split.end(), {channels, height, r, width, r});
  std::vector<int64_t> order(split.size());
  std::iota(order.begin(), order.end(), 0);
  const int64_t tail[] = {0, 2, 4, 1, 3};
  for (int64_t i = 0; i < 5; ++i) order[size_t(batch + i)] = batch + tail[i];
  Shape shape(x.shape.begin(), x.shape.end() - 3);
  shape.insert(shape.end(), {channels * r * r, height, width});
  c.add_result(l.copy(l.reshape(l.permute(l.reshape(x, split), order), shape)));
}

void define_channel_shuffle(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const int64_t groups = c.integer("groups");
  require(x.rank() >= 3 && groups > 0 && x.shape[1] % groups == 0, "the channels do not divide into the groups");
  Shape split = {x.shape[0], groups, x.shape[1] / groups};
  split.insert(split.end(), x.shape.begin() + 2, x.shape.end());
  c.add_result(l.copy(l.reshape(l.transpose(l.reshape(x, split), 1, 2), x.shape)));
}

// ---- one tensor written into a part of another ----

void define_slice_scatter(OpCall& c) {
  const SymbolicTensor x = c.tensor("self"), source = c.tensor("src");
  require(x.rank() > 0, "a scalar can not be sliced");
  const auto dim = size_t(wrap_dim(c.integer("dim", 0), x.rank()));
  const SliceBounds bounds = slice_bounds(c, x.shape[dim]);
  Shape part = x.shape;
  part[dim] = bounds.length;
  require(broadcast(part, source.shape) == part, "the source does not fit the slice");
  c.add_result(c.lowering().scatter(Reducer::set, x, part, [&](const Indices& i) {
    Indices to = i;
    to[dim] = i[dim] * bounds.step + bounds.start;
    return ScatterWrite{to, c.lowering().read_broadcast(source, i)};
  }));
}

void define_select_scatter(OpCall& c) {
  const SymbolicTensor x = c.tensor("self"), source = c.tensor("src");
  require(x.rank() > 0, "a scalar has nothing to select from");
  const int64_t dim = wrap_dim(c.integer("dim"), x.rank()), extent = x.shape[size_t(dim)];
  int64_t index = c.integer("index");
  if (index < 0) index += extent;
  require(index >= 0 && index < extent, "the index is outside the dimension");
  Shape part = x.shape;
  part.erase(part.begin() + dim);
  require(broadcast(part, source.shape) == part, "the source does not fit the selected part");
  c.add_result(c.lowering().scatter(Reducer::set, x, part, [&](const Indices& i) {
    Indices to = i;
    to.insert(to.begin() + dim, c.lowering().constant_index(index));
    return ScatterWrite{to, c.lowering().read_broadcast(source, i)};
  }));
}

// Through the view itself, on a copy.
void write_part(OpCall& c, const std::function<SymbolicTensor(const SymbolicTensor&)>& part) {
  const SymbolicTensor result = c.lowering().copy(c.tensor("self"));
  c.lowering().write(part(result), c.tensor("src"));
  c.add_result(result);
}

}  // namespace

void register_rearranging(Registry& r) {
  r.add("cat", "tensors, dim",
        [](OpCall& c) { c.add_result(joined(c.lowering(), c.tensors("tensors"), c.integer("dim", 0))); },
        {"concat", "concatenate", "_cat"});
  r.add("stack", "tensors, dim",
        [](OpCall& c) { c.add_result(stacked(c.lowering(), c.tensors("tensors"), c.integer("dim", 0))); }, {"_stack"});
  r.add("hstack", "tensors", define_hstack);
  r.add("vstack", "tensors", [](OpCall& c) { c.add_result(joined(c.lowering(), all_at_least(c, 2), 0)); },
        {"row_stack"});
  r.add("dstack", "tensors", [](OpCall& c) { c.add_result(joined(c.lowering(), all_at_least(c, 3), 2)); });
  r.add("column_stack", "tensors", define_column_stack);
  r.add("block_diag", "tensors", define_block_diag);
  r.add("cartesian_prod", "tensors", define_cartesian_prod);
  r.add("flip", "self, dims", define_flip);
  r.add("fliplr", "self",
        [](OpCall& c) { c.add_result(c.lowering().copy(flipped(c.lowering(), c.tensor("self"), 1))); });
  r.add("flipud", "self",
        [](OpCall& c) { c.add_result(c.lowering().copy(flipped(c.lowering(), c.tensor("self"), 0))); });
  r.add("roll", "self, shifts, dims", define_roll);
  r.add("repeat", "self, repeats", define_repeat);
  r.add("tile", "self, dims",
        [](OpCall& c) { c.add_result(repeated(c.lowering(), c.tensor("self"), c.integers("dims"))); });
  r.add("repeat_interleave", "self, repeats, dim", define_repeat_interleave);
  r.add("rot90", "self, k, dims", define_rot90);
  r.add("pixel_shuffle", "self, upscale_factor", define_pixel_shuffle);
  r.add("pixel_unshuffle", "self, downscale_factor", define_pixel_unshuffle);
  r.add("channel_shuffle", "self, groups", define_channel_shuffle, {"native_channel_shuffle"});
  r.add("slice_scatter", "self, src, dim, start, end, step", define_slice_scatter);
  r.add("select_scatter", "self, src, dim, index", define_select_scatter);
  r.add("diagonal_scatter", "self, src, offset, dim1, dim2", [](OpCall& c) {
    write_part(c, [&](const SymbolicTensor& x) {
      return diagonal(c.lowering(), x, c.integer("offset", 0), c.integer("dim1", 0), c.integer("dim2", 1));
    });
  });
}

}  // namespace lightline::ops
