// Counts: histograms, places in sorted boundaries, and membership.
#include <fmt/format.h>

#include <cmath>

#include "ops/library/indexing/indexing.h"

namespace lightline::ops {
namespace {

// As many bins as the largest value asks for: the source records how many that were.
void define_bincount(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() == 1, "bincount takes a vector");
  const auto weights = c.tensor_if("weights");
  const DType dtype = !weights ? DType::i64 : weights->dtype == DType::f32 ? DType::f32 : DType::f64;
  const auto type = c.recorded(0);
  if (!type || type->shape.size() != 1) fail("the number of bins depends on data", ErrorCode::unsupported);
  c.add_result(l.scatter(dtype, type->shape, zero(), Reducer::sum, x.shape, [&](const Indices& i) {
    return ScatterWrite{{position(l, l.read(x, i), type->shape[0])},
                        weights ? convert(l.read(*weights, i), dtype) : l.literal(Literal::of(int64_t(1)))};
  }));
}

// ---- histograms ----

// The ends of a histogram's range, in the data's compute type.
struct Ends {
  Scalar low, high;
};
using EndsOf = std::function<Ends()>;

// Rounded as if it had been stored.
Scalar stored(Lowering& l, Scalar value, DType dtype) {
  return compute_type(dtype) == dtype ? value : l.rounded(value, dtype);
}

EndsOf given_ends(Lowering& l, DType dtype, double low, double high) {
  require(low < high, "a histogram ends before it begins");
  return [&l, low, high, dtype] {
    const auto typed = [&](double value) { return l.rounded(l.literal(Literal::of(value)), dtype); };
    return Ends{typed(low), typed(high)};
  };
}

// The least and the greatest element; if they are equal, `reach` below and above.
EndsOf data_ends(Lowering& l, const SymbolicTensor& x, double reach) {
  if (x.size() == 0) return given_ends(l, x.dtype, 0, 1);
  const auto extreme = [&](Reducer reducer) {
    return l.reduce(x.dtype, {}, reducer, x.shape, [&](const Indices&, const Indices& r) { return l.read(x, r); });
  };
  return [&l, reach, dtype = x.dtype, least = extreme(Reducer::min), greatest = extreme(Reducer::max)] {
    const Scalar low = l.read(least, {}), high = l.read(greatest, {}), is_point = low == high;
    return Ends{stored(l, select(is_point, low - reach, low), dtype),
                stored(l, select(is_point, high + reach, high), dtype)};
  };
}

// Sums the weight of each element into the bin that `bin` names; what lies outside [low, high] does not count.
SymbolicTensor binned(Lowering& l, const SymbolicTensor& x, int64_t bins, const std::optional<SymbolicTensor>& weight,
                      const EndsOf& ends, const std::function<Scalar(Scalar value)>& bin) {
  const DType wide = compute_type(x.dtype);
  const SymbolicTensor counts = l.scatter(
      wide, {bins}, zero(), Reducer::sum, x.shape,
      [&](const Indices& i) {
        const Scalar value = l.read(x, i);
        const Ends e = ends();
        const Scalar place = bin(value), last = number(place, bins - 1);
        const Scalar inside = value >= e.low && value <= e.high;
        return ScatterWrite{
            {l.index(select(inside, min(place, last), -1.0))},
            weight ? convert(l.read(*weight, i), wide) : l.convert(l.literal(Literal::of(int64_t(1))), wide)};
      },
      true);
  return l.cast(counts, x.dtype);
}

// PyTorch rounds every step.
Scalar even_bin(Lowering& l, Scalar value, const Ends& ends, int64_t bins, DType dtype) {
  const auto step = [&](Scalar e) { return stored(l, e, dtype); };
  return convert(step(step(step(value - ends.low) * double(bins)) / step(ends.high - ends.low)), DType::i64);
}

void require_bins(const SymbolicTensor& x, int64_t bins) {
  require(is_float(x.dtype), "a histogram is taken of floats");
  require(bins > 0, "a histogram has at least one bin");
}

void define_histc(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const int64_t bins = c.integer("bins", 100);
  require_bins(x, bins);
  const double low = c.number("min", 0), high = c.number("max", 0);
  const EndsOf ends = low == high ? data_ends(l, x, 1) : given_ends(l, x.dtype, low, high);
  c.add_result(binned(l, x, bins, {}, ends, [&](Scalar value) { return even_bin(l, value, ends(), bins, x.dtype); }));
}

SymbolicTensor with_density(Lowering& l, const SymbolicTensor& counts, const SymbolicTensor& edges) {
  const DType wide = compute_type(counts.dtype);
  const SymbolicTensor total = l.reduce(wide, {}, Reducer::sum, counts.shape,
                                        [&](const Indices&, const Indices& r) { return l.read(counts, r); });
  return l.map(counts.dtype, counts.shape, [&](const Indices& i) {
    return l.read(counts, i) / l.read(total, {}) / (l.read(edges, {i[0] + 1}) - l.read(edges, i));
  });
}

SymbolicTensor even_edges(Lowering& l, DType dtype, int64_t bins, const EndsOf& ends) {
  return l.map(dtype, {bins + 1}, [&](const Indices& i) {
    const Ends e = ends();
    const Scalar step = (e.high - e.low) / double(bins);
    return select(value(i[0]) < double((bins + 1) / 2), e.low + step * convert(value(i[0]), step.type),
                  e.high - step * convert(value(bins - i[0]), step.type));
  });
}

// Even bins, each value checked against the edges beside its bin.
void histogram_of_count(OpCall& c, const SymbolicTensor& x) {
  Lowering& l = c.lowering();
  const int64_t bins = c.integer("bins", 100);
  require_bins(x, bins);
  const std::vector<double> range = c.numbers("range", {0, 0});
  require(range.size() == 2, "a histogram's range has two ends");
  const double reach = range[0] == range[1] ? 0.5 : 0;
  const EndsOf ends =
      c.has("range") ? given_ends(l, x.dtype, range[0] - reach, range[1] + reach) : data_ends(l, x, 0.5);
  const SymbolicTensor edges = even_edges(l, x.dtype, bins, ends);
  const SymbolicTensor counts = binned(l, x, bins, c.tensor_if("weight"), ends, [&](Scalar value) {
    const Scalar guess = even_bin(l, value, ends(), bins, x.dtype);
    const auto reaches = [&](double offset) {
      return value >= l.read(edges, {clamped_position(l, guess + offset, bins + 1)});
    };
    return select(reaches(1), guess + 1.0, select(reaches(0), guess, guess - 1.0));
  });
  c.add_result(c.flag("density", false) ? with_density(l, counts, edges) : counts);
  c.add_result(edges);
}

void histogram_of_edges(OpCall& c, const SymbolicTensor& x, const SymbolicTensor& edges) {
  Lowering& l = c.lowering();
  require(edges.rank() == 1 && edges.shape[0] >= 2, "a histogram needs at least two edges");
  const int64_t bins = edges.shape[0] - 1;
  require_bins(x, bins);
  const SymbolicTensor below = l.reduce(
      DType::i64, x.shape, Reducer::sum, edges.shape,
      [&](const Indices& i, const Indices& k) { return convert(l.read(edges, k) <= l.read(x, i), DType::i64); });
  const SymbolicTensor counts = l.scatter(
      compute_type(x.dtype), {bins}, zero(), Reducer::sum, x.shape,
      [&](const Indices& i) {
        const Scalar place = l.read(below, i) - 1.0;
        const Scalar is_last = l.read(x, i) == l.read(edges, {l.constant_index(bins)});
        const auto weight = c.tensor_if("weight");
        return ScatterWrite{
            {l.index(select(is_last, number(place, bins - 1), place))},
            weight ? l.read(*weight, i) : l.convert(l.literal(Literal::of(int64_t(1))), compute_type(x.dtype))};
      },
      true);
  const SymbolicTensor given = l.cast(counts, x.dtype);
  c.add_result(c.flag("density", false) ? with_density(l, given, edges) : given);
  c.add_result(edges);
}

void define_histogram(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  if (const auto edges = c.tensor_if("bins"))
    histogram_of_edges(c, x, *edges);
  else
    histogram_of_count(c, x);
}

// ---- places in a sorted sequence ----

// The number of boundaries before each value; equal ones count with `right`. NaN comes after all.
void give_places(OpCall& c, const Operand& values, const Shape& shape, const Operand& boundaries, int64_t count,
                 bool right, const std::function<Indices(const Indices&, const Subscript&)>& boundary_at) {
  Lowering& l = c.lowering();
  const DType compute = result_type({values, boundaries});
  const DType dtype = c.flag("out_int32", false) ? DType::i32 : DType::i64;
  c.add_result(l.reduce(dtype, shape, Reducer::sum, {count}, [&](const Indices& i, const Indices& k) {
    const Scalar boundary = convert(l.read(*boundaries.tensor, boundary_at(i, k[0])), compute),
                 value = c.read_as(values, i, compute);
    return convert(!(right ? boundary > value : boundary >= value), dtype);
  }));
}

void define_bucketize(OpCall& c) {
  const Operand x = c.operand("self"), boundaries{c.tensor("boundaries"), {}};
  require(boundaries.tensor->rank() == 1, "the boundaries of bucketize are a vector");
  give_places(c, x, x.shape(), boundaries, boundaries.tensor->shape[0], c.flag("right", false),
              [](const Indices&, const Subscript& k) { return Indices{k}; });
}

void define_searchsorted(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor sorted = c.tensor("sorted_sequence");
  const Operand x = c.operand("self"), boundaries{sorted, {}};
  require(sorted.rank() >= 1, "searchsorted needs a sequence");
  const auto sorter = c.tensor_if("sorter");
  const bool shared = sorted.rank() == 1;
  require(shared || (x.tensor && x.tensor->rank() == sorted.rank() &&
                     std::equal(sorted.shape.begin(), sorted.shape.end() - 1, x.tensor->shape.begin())),
          "the sequences and the values of searchsorted have different leading dimensions");
  const std::string side = c.text("side", "");
  give_places(c, x, x.shape(), boundaries, sorted.shape.back(), side.empty() ? c.flag("right", false) : side == "right",
              [&](const Indices& i, const Subscript& k) {
                Indices at(i.begin(), shared ? i.begin() : i.end() - 1);
                at.push_back(k);
                if (sorter) at.back() = position(l, l.read(*sorter, at), sorted.shape.back());
                return at;
              });
}

void define_isin(OpCall& c) {
  Lowering& l = c.lowering();
  const Operand x = c.operand(c.has("elements") ? "elements" : "element"),
                tests = c.operand(c.has("test_elements") ? "test_elements" : "test_element");
  const DType compute = result_type({x, tests});
  const bool invert = c.flag("invert", false);
  const Shape candidates = tests.shape();
  if (candidates.empty())
    return c.add_result(c.elementwise({x, tests}, compute, DType::boolean, [&](const std::vector<Scalar>& v) {
      return invert ? v[0] != v[1] : v[0] == v[1];
    }));
  c.add_result(l.reduce(DType::boolean, x.shape(), invert ? Reducer::all : Reducer::any, candidates,
                        [&](const Indices& i, const Indices& k) {
                          const Scalar a = c.read_as(x, i, compute), b = c.read_as(tests, k, compute);
                          return invert ? a != b : a == b;
                        }));
}

}  // namespace

void register_counting(Registry& r) {
  r.add("bincount", "self, weights, minlength", define_bincount);
  r.add("histc", "self, bins, min, max", define_histc);
  r.add("histogram", "self, bins", define_histogram);
  r.add("bucketize", "self, boundaries", define_bucketize);
  r.add("searchsorted", "sorted_sequence, self", define_searchsorted);
  r.add("isin", "elements, test_elements", define_isin);
}

}  // namespace lightline::ops
