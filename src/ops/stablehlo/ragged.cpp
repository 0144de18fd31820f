// chlo.ragged_dot: a product of which one dimension comes in groups, whose sizes are data.
#include <algorithm>

#include "ops/build/registry.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;
using Dims = std::vector<int64_t>;

bool contains(const Dims& dims, int64_t dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }

// The dimensions of a tensor that none of the lists names, in order.
Dims others(const SymbolicTensor& x, const Dims& a, const Dims& b, const Dims& c = {}) {
  Dims left;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (!contains(a, d) && !contains(b, d) && !contains(c, d)) left.push_back(d);
  return left;
}

Shape extents_of(const SymbolicTensor& x, const Dims& dims) {
  Shape extents;
  for (const int64_t dim : dims) extents.push_back(x.shape[size_t(dim)]);
  return extents;
}

struct RaggedProduct {
  SymbolicTensor left, right, sizes;  // sizes: of the groups, alike for all, or for every index outside of them
  Dims left_batch, right_batch, left_summed, right_summed, left_group, right_group;
  Dims left_free, right_free;
  DType dtype = DType::f32;

  int64_t ragged() const { return left_group[0]; }
  int64_t groups() const { return sizes.shape.back(); }
  // The dimensions of the left operand outside of the groups.
  Dims outer() const {
    const Dims& family = contains(left_summed, ragged()) ? left_summed : left_free;
    Dims dims = left_batch;
    dims.insert(dims.end(), family.begin(), std::find(family.begin(), family.end(), ragged()));
    return dims;
  }
};

void check_dims(const SymbolicTensor& x, std::initializer_list<const Dims*> lists) {
  Dims seen;
  for (const Dims* dims : lists)
    for (const int64_t dim : *dims) {
      require(dim >= 0 && dim < x.rank() && !contains(seen, dim), "a grouped product names a wrong dimension");
      seen.push_back(dim);
    }
}

RaggedProduct read_call(OpCall& c) {
  const std::vector<SymbolicTensor> x = operands(c);
  require(x.size() == 3, "a grouped product takes two tensors and the sizes of the groups");
  RaggedProduct p{x[0], x[1], x[2], {}, {}, {}, {}, {}, {}, {}, {}, result_type_of(c).dtype};
  const auto dims = [&](std::string_view name) { return c.integers(name, Dims{}); };
  p.left_batch = dims("lhs_batching_dimensions");
  p.right_batch = dims("rhs_batching_dimensions");
  p.left_summed = dims("lhs_contracting_dimensions");
  p.right_summed = dims("rhs_contracting_dimensions");
  p.left_group = dims("lhs_ragged_dimensions");
  p.right_group = dims("rhs_group_dimensions");
  check_dims(p.left, {&p.left_batch, &p.left_summed});
  check_dims(p.left, {&p.left_group});
  check_dims(p.right, {&p.right_batch, &p.right_summed, &p.right_group});
  require(p.left_group.size() == 1 && p.right_group.size() <= 1 && p.sizes.rank() >= 1 && is_integer(p.sizes.dtype),
          "a grouped product has one dimension that comes in groups");
  require(extents_of(p.left, p.left_batch) == extents_of(p.right, p.right_batch) &&
              extents_of(p.left, p.left_summed) == extents_of(p.right, p.right_summed),
          "the operands of a grouped product do not fit");
  p.left_free = others(p.left, p.left_batch, p.left_summed);
  p.right_free = others(p.right, p.right_batch, p.right_summed, p.right_group);
  Shape alike = extents_of(p.left, p.outer());
  alike.push_back(p.groups());
  require(p.sizes.rank() == 1 || contains(p.left_batch, p.ragged()) || p.sizes.shape == alike,
          "the sizes of the groups do not fit the product");
  return p;
}

// The group of every position: how many groups end at or before it. Positions past the last group get its number + 1.
SymbolicTensor group_numbers(Lowering& l, const RaggedProduct& p) {
  const SymbolicTensor ends =
      l.scan(DType::i64, p.sizes.shape, p.sizes.rank() - 1, [&](const Indices& i, const Lowering::Self& self) {
        return self(1, Literal::of(int64_t(0))) + convert(l.read(p.sizes, i), DType::i64);
      });
  Shape shape = p.sizes.shape;
  shape.back() = p.left.shape[size_t(p.ragged())];
  return l.reduce(DType::i64, shape, Reducer::sum, {p.groups()}, [&](const Indices& i, const Indices& g) {
    Indices at = i;
    at.back() = g[0];
    return convert(l.read(ends, at) <= value(i.back()), DType::i64);
  });
}

// Where the operands are read, as the loops run.
struct Places {
  Indices left, right;

  explicit Places(Lowering& l, const RaggedProduct& p)
      : left(p.left.shape.size(), l.constant_index(0)), right(p.right.shape.size(), l.constant_index(0)) {}
  // Takes indices from `from` on; gives the place after them.
  static size_t take(Indices& into, const Dims& dims, const Indices& from, size_t at) {
    for (const int64_t dim : dims) into[size_t(dim)] = from[at++];
    return at;
  }
  size_t take_both(const Dims& a, const Dims& b, const Indices& from, size_t at) {
    take(left, a, from, at);
    return take(right, b, from, at);
  }
  Subscript group(Lowering& l, const RaggedProduct& p, const SymbolicTensor& numbers) const {
    Indices at;
    if (p.sizes.rank() > 1)
      for (const int64_t dim : p.outer()) at.push_back(left[size_t(dim)]);
    at.push_back(left[size_t(p.ragged())]);
    return l.index(read_memory(l, numbers, at));
  }
};

Shape joined(std::initializer_list<Shape> parts) {
  Shape all;
  for (const Shape& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Every row of the left operand meets the part of the right one that belongs to its group, and no other. Groups of a
// batch dimension change nothing: each batch meets its own.
SymbolicTensor by_rows(Lowering& l, const RaggedProduct& p) {
  const bool in_batches = contains(p.left_batch, p.ragged());
  require(in_batches ? p.right_group.empty()
                     : p.right_group.size() == 1 && p.right.shape[size_t(p.right_group[0])] == p.groups(),
          "there are as many groups as parts of the right operand");
  std::optional<SymbolicTensor> numbers;
  if (!in_batches) numbers = group_numbers(l, p);
  const Shape shape =
      joined({extents_of(p.left, p.left_batch), extents_of(p.left, p.left_free), extents_of(p.right, p.right_free)});
  return l.reduce(p.dtype, shape, Reducer::sum, extents_of(p.left, p.left_summed),
                  [&](const Indices& i, const Indices& r) {
                    Places places(l, p);
                    size_t next = places.take_both(p.left_batch, p.right_batch, i, 0);
                    next = Places::take(places.left, p.left_free, i, next);
                    Places::take(places.right, p.right_free, i, next);
                    places.take_both(p.left_summed, p.right_summed, r, 0);
                    if (numbers) places.right[size_t(p.right_group[0])] = places.group(l, p, *numbers);
                    return convert(l.read(p.left, places.left), p.dtype) *
                           convert(l.read(p.right, places.right, Literal::of(int64_t(0))), p.dtype);
                  });
}

// Every position of the summed dimension adds to the result of its group alone.
SymbolicTensor by_sums(Lowering& l, const RaggedProduct& p) {
  require(p.right_group.empty(), "a grouped product has groups in one operand only");
  const SymbolicTensor numbers = group_numbers(l, p);
  const Shape inner =
      joined({extents_of(p.left, p.left_batch), extents_of(p.left, p.left_free), extents_of(p.right, p.right_free)});
  const Shape summed = extents_of(p.left, p.left_summed);
  const SymbolicTensor sum = l.scatter(
      compute_type(p.dtype), joined({{p.groups()}, inner}), Literal::of(int64_t(0)), Reducer::sum,
      joined({summed, inner}),
      [&](const Indices& i) {
        Places places(l, p);
        size_t next = places.take_both(p.left_summed, p.right_summed, i, 0);
        next = places.take_both(p.left_batch, p.right_batch, i, next);
        next = Places::take(places.left, p.left_free, i, next);
        Places::take(places.right, p.right_free, i, next);
        Indices target{places.group(l, p, numbers)};
        target.insert(target.end(), i.begin() + int64_t(summed.size()), i.end());
        return ScatterWrite{
            target, convert(l.read(p.left, places.left), p.dtype) * convert(l.read(p.right, places.right), p.dtype)};
      },
      true);
  return l.cast(sum, p.dtype);
}

void define_ragged_dot(OpCall& c) {
  const RaggedProduct p = read_call(c);
  c.add_result(contains(p.left_summed, p.ragged()) ? by_sums(c.lowering(), p) : by_rows(c.lowering(), p));
}

}  // namespace

void register_stablehlo_ragged(Registry& r) { r.add("chlo.ragged_dot", "lhs, rhs, group_sizes", define_ragged_dot); }

}  // namespace lightline::ops
