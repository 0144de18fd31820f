// Order statistics: a sort, then the elements of interest. What has a size that depends on data is opaque.
#include <fmt/format.h>

#include <cmath>

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

// A tensor sorted along one dimension, NaN last. A scalar counts as a vector of one.
struct Sorted {
  SymbolicTensor source;
  SymbolicTensor values;
  SymbolicTensor positions;
  int64_t dim = 0;
  ReducedDims dims;
  int64_t count() const { return values.shape[size_t(dim)]; }
};

Sorted sorted(Lowering& l, SymbolicTensor x, int64_t dim) {
  dim = wrap_dim(dim, x.rank());
  if (x.shape.empty()) x = l.reshape(x, {1});
  require(x.shape[size_t(dim)] > 0, "order statistics need at least one element");
  auto results =
      l.opaque("sort", {x}, {{"dim", dim}, {"descending", false}}, {{x.dtype, x.shape}, {DType::i64, x.shape}});
  return {x, results[0], results[1], dim, reduced_dims(x.shape, {dim})};
}

// Reads the sorted tensor at a place along its dimension; `kept` indexes the other dimensions.
Scalar read_at(Lowering& l, const Sorted& s, const SymbolicTensor& from, const Indices& kept, const Subscript& place) {
  return l.read(from, s.dims.join(kept, {place}, false));
}

Scalar last_is_nan(Lowering& l, const Sorted& s, const Indices& kept) {
  return call(Function::isnan, read_at(l, s, s.values, kept, l.constant_index(s.count() - 1)));
}

// How many elements of each line are not NaN.
SymbolicTensor present_count(Lowering& l, const Sorted& s) {
  return reduce_dims(l, DType::i64, Reducer::sum, s.dims, false, [&](const Indices& at) {
    return convert(!call(Function::isnan, l.read(s.source, at)), DType::i64);
  });
}

Shape statistic_shape(const OpCall& c, const SymbolicTensor& x, const Sorted& s) {
  if (x.shape.empty()) return {};
  return s.dims.kept(c.flag("keepdim", false));
}

void add_statistic(OpCall& c, const SymbolicTensor& x, const Sorted& s, const SymbolicTensor& values,
                   const SymbolicTensor& positions) {
  const Shape shape = statistic_shape(c, x, s);
  c.add_result(c.lowering().reshape(values, shape));
  c.add_result(c.lowering().reshape(positions, shape));
}

// The element of rank k of every line, its position beside it.
void rank_statistic(OpCall& c, const SymbolicTensor& x, const Sorted& s, int64_t k) {
  Lowering& l = c.lowering();
  const Shape kept = s.dims.kept(false);
  const Subscript place = l.constant_index(k);
  add_statistic(c, x, s, l.map(x.dtype, kept, [&](const Indices& i) { return read_at(l, s, s.values, i, place); }),
                l.map(DType::i64, kept, [&](const Indices& i) { return read_at(l, s, s.positions, i, place); }));
}

void kthvalue(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const Sorted s = sorted(c.lowering(), x, c.integer("dim", -1));
  const int64_t k = c.integer("k");
  require(k >= 1 && k <= s.count(), fmt::format("k is {}, but there are {} elements", k, s.count()));
  rank_statistic(c, x, s, k - 1);
}

// NaN wins: the first one is the median.
void median_along(OpCall& c, const SymbolicTensor& x, const Sorted& s) {
  Lowering& l = c.lowering();
  if (!is_float(x.dtype)) return rank_statistic(c, x, s, (s.count() - 1) / 2);
  const Shape kept = s.dims.kept(false);
  const Subscript middle = l.constant_index((s.count() - 1) / 2), last = l.constant_index(s.count() - 1);
  const SymbolicTensor first_nan = reduce_dims(l, DType::i64, Reducer::argmax, s.dims, false,
                                               [&](const Indices& at) { return l.read(s.source, at); });
  const SymbolicTensor values = l.map(x.dtype, kept, [&](const Indices& i) {
    return select(last_is_nan(l, s, i), read_at(l, s, s.values, i, last), read_at(l, s, s.values, i, middle));
  });
  const SymbolicTensor positions = l.map(DType::i64, kept, [&](const Indices& i) {
    return select(last_is_nan(l, s, i), l.read(first_nan, i), read_at(l, s, s.positions, i, middle));
  });
  add_statistic(c, x, s, values, positions);
}

// The median of what is not NaN.
void nanmedian_along(OpCall& c, const SymbolicTensor& x, const Sorted& s) {
  Lowering& l = c.lowering();
  if (!is_float(x.dtype)) return rank_statistic(c, x, s, (s.count() - 1) / 2);
  const SymbolicTensor count = present_count(l, s);
  const auto middle = [&](const Indices& i) {
    return l.index(call(Function::div, max(l.read(count, i) - 1.0, 0.0), l.literal(Literal::of(int64_t(2)))),
                   {0, s.count() - 1});
  };
  const SymbolicTensor values =
      l.map(x.dtype, count.shape, [&](const Indices& i) { return read_at(l, s, s.values, i, middle(i)); });
  const SymbolicTensor positions =
      l.map(DType::i64, count.shape, [&](const Indices& i) { return read_at(l, s, s.positions, i, middle(i)); });
  add_statistic(c, x, s, values, positions);
}

void median(OpCall& c, bool skip_nan) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const bool whole = !c.has("dim");
  const SymbolicTensor line = whole ? l.reshape(x, {x.size()}) : x;
  const Sorted s = sorted(l, line, whole ? 0 : c.integer("dim"));
  if (skip_nan)
    nanmedian_along(c, line, s);
  else
    median_along(c, line, s);
  if (whole) c.results.resize(1);
}

// The most frequent value, the least of them if there are several; its last position.
void mode(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const Sorted s = sorted(l, x, c.integer("dim", -1));
  const SymbolicTensor run =
      l.scan(DType::i64, s.values.shape, s.dim, [&](const Indices& at, const Lowering::Self& self) {
        Indices before = at;
        before[size_t(s.dim)] = at[size_t(s.dim)] - 1;
        const Scalar same =
            value(at[size_t(s.dim)]) > 0.0 && l.read(s.values, at) == l.read(s.values, before, Literal::of(int64_t(0)));
        return select(same, self(1, Literal::of(int64_t(0))) + 1.0, 1.0);
      });
  const SymbolicTensor best =
      reduce_dims(l, DType::i64, Reducer::argmax, s.dims, false, [&](const Indices& at) { return l.read(run, at); });
  const auto place = [&](const Indices& i) { return l.index(l.read(best, i), {0, s.count() - 1}); };
  const SymbolicTensor values =
      l.map(x.dtype, best.shape, [&](const Indices& i) { return read_at(l, s, s.values, i, place(i)); });
  const SymbolicTensor positions =
      l.map(DType::i64, best.shape, [&](const Indices& i) { return read_at(l, s, s.positions, i, place(i)); });
  add_statistic(c, x, s, values, positions);
}

// ---- quantiles ----

enum class Interpolation : uint8_t { linear, lower, higher, midpoint, nearest };

Interpolation interpolation(const OpCall& c) {
  const std::string text = c.text("interpolation", "linear");
  const std::pair<std::string_view, Interpolation> names[] = {{"linear", Interpolation::linear},
                                                              {"lower", Interpolation::lower},
                                                              {"higher", Interpolation::higher},
                                                              {"midpoint", Interpolation::midpoint},
                                                              {"nearest", Interpolation::nearest}};
  for (const auto& [known, value] : names)
    if (known == text) return value;
  fail(fmt::format("there is no interpolation '{}'", text));
}

// The value at a fractional rank of a sorted line.
Scalar at_rank(Lowering& l, const Sorted& s, const Indices& kept, Scalar rank, Interpolation how) {
  const auto read = [&](Scalar place) {
    return read_at(l, s, s.values, kept, l.index(convert(place, DType::i64), {0, s.count() - 1}));
  };
  const Scalar floor = call(Function::floor, rank);
  switch (how) {
    case Interpolation::lower: return read(floor);
    case Interpolation::higher: return read(call(Function::ceil, rank));
    case Interpolation::nearest: return read(call(Function::round, rank));
    default: break;
  }
  const Scalar low = read(floor), high = read(call(Function::ceil, rank));
  if (how == Interpolation::midpoint) return low + (high - low) * 0.5;
  const Scalar weight = rank - floor;
  return select(weight < 0.5, low + weight * (high - low), high - (high - low) * (1.0 - weight));
}

void quantile(OpCall& c, bool skip_nan) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const Operand q = c.operand("q");
  const Interpolation how = interpolation(c);
  require(is_float(x.dtype), "quantiles are taken of floats");
  require(!q.tensor || q.tensor->rank() <= 1, "the quantiles are a number or a vector");
  const bool whole = !c.has("dim");
  const Sorted s = sorted(l, whole ? l.reshape(x, {x.size()}) : x, whole ? 0 : c.integer("dim"));
  const DType wide = compute_type(x.dtype);
  const SymbolicTensor count = skip_nan ? present_count(l, s) : SymbolicTensor{};
  const bool many = q.tensor && q.tensor->rank() == 1;
  Shape shape = s.dims.kept(false);
  if (many) shape.insert(shape.begin(), q.tensor->shape[0]);
  const auto kept = [&](const Indices& i) { return Indices(i.begin() + many, i.end()); };
  const SymbolicTensor ranks = l.map(wide, shape, [&](const Indices& i) {
    const Scalar share = c.read_as(q, many ? Indices{i[0]} : Indices{}, wide);
    const Scalar last = skip_nan ? max(l.read(count, kept(i)) - 1.0, 0.0) : l.literal(Literal::of(s.count() - 1));
    return share * convert(last, wide);
  });
  const SymbolicTensor result = l.map(x.dtype, shape, [&](const Indices& i) {
    const Scalar value = at_rank(l, s, kept(i), l.read(ranks, i), how);
    return skip_nan ? value : select(last_is_nan(l, s, kept(i)), number(value, std::nan("")), value);
  });
  Shape given = whole && c.flag("keepdim", false) ? Shape(x.shape.size(), 1) : statistic_shape(c, x, s);
  if (whole && !c.flag("keepdim", false)) given.clear();
  if (many) given.insert(given.begin(), q.tensor->shape[0]);
  c.add_result(l.reshape(result, given));
}

}  // namespace

void register_order_statistics(Registry& r) {
  r.add("median", "self, dim, keepdim", [](OpCall& c) { median(c, false); });
  r.add("nanmedian", "self, dim, keepdim", [](OpCall& c) { median(c, true); });
  r.add("kthvalue", "self, k, dim, keepdim", kthvalue);
  r.add("mode", "self, dim, keepdim", mode);
  r.add("quantile", "self, q, dim, keepdim", [](OpCall& c) { quantile(c, false); });
  r.add("nanquantile", "self, q, dim, keepdim", [](OpCall& c) { quantile(c, true); });
  const std::pair<const char*, std::vector<std::string>> sized_by_data[] = {
      {"unique", {"_unique", "_unique2"}},
      {"unique_dim", {}},
      {"unique_consecutive", {"unique_dim_consecutive"}},
      {"nonzero", {"nonzero_numpy", "argwhere"}},
      {"masked_select", {}}};
  for (const auto& [name, aliases] : sized_by_data)
    r.add(
         name, "self, mask",
         [name = std::string(name)](OpCall& c) {
           std::vector<SymbolicTensor> operands{c.tensor("self")};
           if (auto mask = c.tensor_if("mask")) operands.push_back(*mask);
           add_opaque_results(c, name, operands);
         },
         aliases)
        .opaque = true;
  r.add("where.default", "condition", [](OpCall& c) {
     add_opaque_results(c, "nonzero", {c.tensor("condition")});
   }).opaque = true;
}

}  // namespace lightline::ops
