// Embeddings: rows of a table, one by one or combined in bags.
#include <fmt/format.h>

#include <limits>

#include "ops/library/indexing/indexing.h"

namespace lightline::ops {
namespace {

void define_embedding(OpCall& c, std::string_view indices) {
  Lowering& l = c.lowering();
  const SymbolicTensor table = c.tensor("weight"), index = c.tensor(indices);
  require(table.rank() == 2, "the table of an embedding is a matrix");
  Shape shape = index.shape;
  shape.push_back(table.shape[1]);
  c.add_result(l.map(table.dtype, shape, [&](const Indices& i) {
    return l.read(table, {position(l, l.read(index, Indices(i.begin(), i.end() - 1)), table.shape[0]), i.back()});
  }));
}

// Rows that are looked up and longer than max_norm are shortened to it.
void define_embedding_renorm(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor table = c.tensor("self"), index = c.tensor("indices");
  require(table.rank() == 2, "the table of an embedding is a matrix");
  const double limit = c.number("max_norm", 0), p = c.number("norm_type", 2);
  const SymbolicTensor hit = l.scatter(
      DType::boolean, {table.shape[0]}, Literal::of_bool(false), Reducer::any, index.shape, [&](const Indices& i) {
        return ScatterWrite{{position(l, l.read(index, i), table.shape[0])}, l.literal(Literal::of_bool(true))};
      });
  const SymbolicTensor norm = vector_norm(l, compute_type(table.dtype), p, trailing_dims(table.shape, 1), false,
                                          [&](const Indices& at) { return l.read(table, at); });
  c.add_result(l.map(table.dtype, table.shape, [&](const Indices& i) {
    const Scalar value = l.read(table, i), size = l.read(norm, {i[0]});
    return select(l.read(hit, {i[0]}) && size > limit, value * (limit / (size + 1e-7)), value);
  }));
}

// ---- bags ----

enum class BagMode : uint8_t { sum, mean, max };

BagMode bag_mode(const OpCall& c) {
  const std::string name = c.text("mode", "");
  if (!name.empty()) return name == "sum" ? BagMode::sum : name == "max" ? BagMode::max : BagMode::mean;
  const int64_t mode = c.integer("mode", 0);
  require(mode >= 0 && mode <= 2, "an embedding bag's mode is 0, 1 or 2");
  return BagMode(mode);
}

struct Bags {
  Lowering& l;
  SymbolicTensor table;
  SymbolicTensor rows;  // looked up, in order
  std::optional<SymbolicTensor> weights;
  int64_t padding = -1;
  int64_t count = 0;
  SymbolicTensor bag_of = {};  // each position

  Shape shape() const { return {count, table.shape[1]}; }
  Shape domain() const { return {rows.shape[0], table.shape[1]}; }
  Scalar row(const Subscript& at) const { return convert(l.read(rows, {at}), DType::i64); }
  // The bag of a position, and outside of all for padding.
  Subscript bag(const Subscript& at) const {
    const Scalar own = l.read(bag_of, {at});
    return padding < 0 ? position(l, own, count) : l.index(select(row(at) == number(own, padding), -1.0, own));
  }
  Scalar value(const Indices& i) const {
    const Scalar entry = l.read(table, {position(l, row(i[0]), table.shape[0]), i[1]});
    return weights ? entry * convert(l.read(*weights, {i[0]}), entry.type) : entry;
  }
  bool drops() const { return padding >= 0; }
};

SymbolicTensor bag_of_positions(Lowering& l, const SymbolicTensor& starts, int64_t positions) {
  const SymbolicTensor started = l.scatter(
      DType::i64, {positions}, zero(), Reducer::sum, starts.shape,
      [&](const Indices& b) {
        return ScatterWrite{{l.index(convert(l.read(starts, b), DType::i64))}, l.literal(Literal::of(int64_t(1)))};
      },
      true);
  return l.scan(DType::i64, started.shape, 0, [&](const Indices& p, const Lowering::Self& before) {
    return before(1, Literal::of(int64_t(-1))) + l.read(started, p);
  });
}

Bags bags_of(OpCall& c, int64_t padding) {
  Lowering& l = c.lowering();
  const SymbolicTensor rows = c.tensor("indices"), offsets = c.tensor("offsets");
  require(rows.rank() == 1 && offsets.rank() == 1, "an embedding bag takes a vector of rows and one of offsets");
  const int64_t count = offsets.shape[0] - int64_t(c.flag("include_last_offset", false));
  require(count >= 0, "an embedding bag has no offsets");
  Bags bags{l, c.tensor("weight"), rows, c.tensor_if("per_sample_weights"), padding, count};
  require(bags.table.rank() == 2, "the table of an embedding is a matrix");
  bags.bag_of = bag_of_positions(l, l.slice(offsets, 0, 0, count), rows.shape[0]);
  return bags;
}

SymbolicTensor bag_sizes(const Bags& bags) {
  return bags.l.scatter(
      DType::i64, {bags.count}, zero(), Reducer::sum, bags.rows.shape,
      [&](const Indices& p) {
        return ScatterWrite{{bags.bag(p[0])}, bags.l.literal(Literal::of(int64_t(1)))};
      },
      bags.drops());
}

SymbolicTensor combined(const Bags& bags, BagMode mode, const std::optional<SymbolicTensor>& sizes) {
  Lowering& l = bags.l;
  const DType dtype = bags.table.dtype, wide = mode == BagMode::max ? dtype : compute_type(dtype);
  const Literal start = mode == BagMode::max ? Literal::of(-std::numeric_limits<double>::infinity()) : zero();
  const SymbolicTensor total = l.scatter(
      wide, bags.shape(), start, mode == BagMode::max ? Reducer::max : Reducer::sum, bags.domain(),
      [&](const Indices& i) {
        return ScatterWrite{{bags.bag(i[0]), i[1]}, bags.value(i)};
      },
      bags.drops());
  if (!sizes) return l.cast(total, dtype);
  return l.map(dtype, total.shape, [&](const Indices& i) {
    const Scalar size = l.read(*sizes, {i[0]}), value = l.read(total, i);
    return mode == BagMode::max ? select(size == 0.0, 0.0, value) : value / convert(max(size, 1.0), value.type);
  });
}

// The row of the first maximum in each bag.
SymbolicTensor maximum_rows(const Bags& bags, const SymbolicTensor& maxima) {
  Lowering& l = bags.l;
  const int64_t none = bags.rows.shape[0];
  const SymbolicTensor first = l.scatter(
      DType::i64, bags.shape(), Literal::of(none), Reducer::min, bags.domain(),
      [&](const Indices& i) {
        const Scalar is_maximum = bags.value(i) == l.read(maxima, {bags.bag(i[0]), i[1]}, zero());
        return ScatterWrite{{bags.bag(i[0]), i[1]}, select(is_maximum, l.value(i[0]), l.literal(Literal::of(none)))};
      },
      bags.drops());
  return l.map(DType::i64, first.shape, [&](const Indices& i) {
    return convert(l.read(bags.rows, {l.index(l.read(first, i))}, zero()), DType::i64);
  });
}

SymbolicTensor zeros(OpCall& c, size_t result, Shape shape) {
  if (const auto type = c.recorded(result)) shape = type->shape;
  return c.lowering().map(c.tensor("indices").dtype, std::move(shape),
                          [&](const Indices&) { return c.lowering().literal(zero()); });
}

// The bags, then what the gradient needs: the bag of each position, the sizes, and the rows of maxima. A plain sum on
// the CPU leaves those out.
void define_embedding_bag(OpCall& c, bool counts_padding_from_end) {
  Lowering& l = c.lowering();
  int64_t padding = c.integer("padding_idx", -1);
  if (counts_padding_from_end && c.has("padding_idx") && padding < 0) padding += c.tensor("weight").shape.at(0);
  const BagMode mode = bag_mode(c);
  const Bags bags = bags_of(c, padding);
  const DType index_type = bags.rows.dtype;
  const std::optional<SymbolicTensor> sizes = mode == BagMode::sum ? std::nullopt : std::optional(bag_sizes(bags));
  c.add_result(combined(bags, mode, sizes));
  if (!c.is_used(1) && !c.is_used(2) && !c.is_used(3)) return;
  const auto bags_type = c.recorded(1);
  const bool without_positions = bags_type && bags_type->shape == Shape{0} && bags.rows.shape[0] != 0;
  c.add_result(without_positions ? zeros(c, 1, {0}) : l.cast(bags.bag_of, index_type));
  c.add_result(sizes ? l.cast(*sizes, index_type) : zeros(c, 2, {bags.count}));
  const auto recorded = c.recorded(3);
  if (mode == BagMode::max)
    c.add_result(c.is_used(3) ? l.cast(maximum_rows(bags, *c.results[0]), index_type) : zeros(c, 3, bags.shape()));
  else
    c.add_result(!recorded || recorded->shape == c.results[2]->shape ? *c.results[2] : zeros(c, 3, {bags.count}));
}

}  // namespace

void register_embeddings(Registry& r) {
  r.add("embedding", "weight, indices, padding_idx, scale_grad_by_freq, sparse",
        [](OpCall& c) { define_embedding(c, "indices"); });
  r.add("torch.nn.functional.embedding", "input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse",
        [](OpCall& c) { define_embedding(c, "input"); });
  r.add("embedding_renorm", "self, indices, max_norm, norm_type", define_embedding_renorm);
  const std::string parameters =
      "weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, "
      "padding_idx";
  r.add("embedding_bag", parameters, [](OpCall& c) { define_embedding_bag(c, true); });
  r.add("_embedding_bag", parameters, [](OpCall& c) { define_embedding_bag(c, false); },
        {"_embedding_bag_forward_only"});
}

}  // namespace lightline::ops
