// StableHLO: slices at places that are computed, gather and scatter.
#include <fmt/format.h>

#include <algorithm>

#include "ops/build/registry.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;
using Dims = std::vector<int64_t>;

bool contains(const Dims& dims, int64_t dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }

// ---- dynamic slices ----

// Where a slice of `size` begins in an extent: clamped, so that it fits.
struct Start {
  std::optional<Subscript> known;  // as a subscript that holds in the block
  SymbolicTensor tensor;
  int64_t last = 0;  // the greatest start

  Subscript at(Lowering& l, bool is_unsigned) const {
    if (known) return *known;
    const Scalar raw = read_memory(l, tensor, Indices(tensor.shape.size(), l.constant_index(0)));
    const Scalar place = is_unsigned ? zero_extended(raw, tensor.dtype) : convert(raw, DType::i64);
    return l.index(min(max(place, 0.0), double(last)), {0, last});
  }
};

Start start_of(Lowering& l, const SymbolicTensor& start, int64_t extent, int64_t size) {
  require(start.size() == 1 && is_integer(start.dtype), "the start of a slice is not an integer");
  require(size >= 0 && size <= extent, "a slice is larger than its tensor");
  Start result{std::nullopt, start, extent - size};
  if (result.last == 0) {
    result.known = l.constant_index(0);
    return result;
  }
  if (const auto index = l.known_index(start, Indices(start.shape.size(), l.constant_index(0)))) {
    const Interval range = l.algebra().range(index->sum);
    if (range.low >= 0 && range.high <= result.last)
      result.known = *index;
    else if (index->sum.terms.empty())
      result.known = l.constant_index(std::clamp<int64_t>(index->sum.constant, 0, result.last));
  }
  return result;
}

std::vector<Start> starts_of(Lowering& l, const std::vector<SymbolicTensor>& all, size_t first, const Shape& whole,
                             const Shape& part) {
  require(all.size() == first + whole.size() && part.size() == whole.size(), "a slice has one start per dimension");
  std::vector<Start> starts;
  for (size_t d = 0; d < whole.size(); ++d) starts.push_back(start_of(l, all[first + d], whole[d], part[d]));
  return starts;
}

bool starts_unsigned(const OpCall& c) { return c.has("index_unsigned"); }

void define_dynamic_slice(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> all = operands(c);
  require(!all.empty(), "a slice has no tensor");
  const Shape shape = c.integers("slice_sizes", Dims{});
  SymbolicTensor x = all[0];
  const std::vector<Start> starts = starts_of(l, all, 1, x.shape, shape);
  bool known = true, fixed = true;
  for (const Start& start : starts) {
    known &= start.known.has_value();
    fixed &= start.known && start.known->sum.terms.empty();
  }
  if (fixed) {
    for (size_t d = 0; d < shape.size(); ++d) x = l.slice(x, int64_t(d), starts[d].known->sum.constant, shape[d]);
    return c.add_result(x);
  }
  Indices first;
  if (known) {
    for (const Start& start : starts) first.push_back(*start.known);
    return c.add_result(l.window(x, first, shape));
  }
  c.add_result(l.map(x.dtype, shape, [&](const Indices& i) {
    Indices at;
    for (size_t d = 0; d < i.size(); ++d) at.push_back(i[d] + starts[d].at(l, starts_unsigned(c)));
    return l.read(x, at);
  }));
}

void define_dynamic_update_slice(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> all = operands(c);
  require(all.size() >= 2 && all[0].rank() == all[1].rank(), "an update of a slice takes a tensor and the slice");
  const SymbolicTensor &x = all[0], &update = all[1];
  const std::vector<Start> starts = starts_of(l, all, 2, x.shape, update.shape);
  const Formula* formula = l.formula_of(x);
  if (const auto* stacked = formula ? formula->value.target<StackedUpdate>() : nullptr) {
    *stacked->slice = update;
    return c.add_result(x);
  }
  if (update.shape == x.shape) return c.add_result(update);
  c.add_result(l.scatter(Reducer::set, x, update.shape, [&](const Indices& i) {
    Indices at;
    for (size_t d = 0; d < i.size(); ++d) at.push_back(i[d] + starts[d].at(l, starts_unsigned(c)));
    return ScatterWrite{at, l.read(update, i)};
  }));
}

// ---- gather and scatter ----

// How the dimensions of indices, windows and the indexed tensor correspond. For a gather the window dimensions are
// offset_dims of the result, for a scatter update_window_dims of the updates.
struct Places {
  Dims window_dims;  // of the result or the updates
  Dims dropped;      // dimensions of the tensor that the window leaves out: collapsed or inserted
  Dims batching;     // dimensions of the tensor that run with `index_batching` of the indices
  Dims index_batching;
  Dims index_map;      // the dimension of the tensor that each component of an index vector addresses
  int64_t vector_dim;  // of the indices; their rank if the vectors have one component and no dimension
  Shape window;        // extent of the window in every dimension of the tensor
};

void check_places(const Places& p, const SymbolicTensor& x, const SymbolicTensor& indices, size_t outer_rank) {
  const auto within = [](const Dims& dims, int64_t rank) {
    return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return d >= 0 && d < rank; });
  };
  require(is_integer(indices.dtype), "indices are not integers");
  require(within(p.dropped, x.rank()) && within(p.batching, x.rank()) && within(p.index_map, x.rank()) &&
              within(p.index_batching, indices.rank()) && within(p.window_dims, int64_t(outer_rank)) &&
              p.vector_dim >= 0 && p.vector_dim <= indices.rank() && p.batching.size() == p.index_batching.size(),
          "the dimension numbers do not fit the tensors");
  const int64_t components = p.vector_dim == indices.rank() ? 1 : indices.shape[size_t(p.vector_dim)];
  require(components == int64_t(p.index_map.size()),
          "an index vector has as many components as dimensions it addresses");
  const size_t batch = indices.shape.size() - (p.vector_dim < indices.rank() ? 1 : 0);
  require(batch + p.window_dims.size() == outer_rank, "the dimension numbers do not fit the rank of the result");
  require(p.window_dims.size() + p.dropped.size() + p.batching.size() == x.shape.size(),
          "the dimension numbers do not cover the tensor");
  require(p.window.size() == x.shape.size(), "a window has an extent for every dimension of the tensor");
  for (size_t d = 0; d < p.window.size(); ++d)
    require(p.window[d] >= 0 && p.window[d] <= x.shape[d], "a window is larger than its tensor");
}

// The coordinates of the tensor for one element of the result (gather) or of the updates (scatter).
class Addressing {
 public:
  Addressing(Lowering& l, const Places& p, const SymbolicTensor& x, const SymbolicTensor& indices, const Indices& outer,
             bool is_unsigned)
      : l_(l), p_(p), x_(x), indices_(indices), is_unsigned_(is_unsigned) {
    for (int64_t d = 0; d < int64_t(outer.size()); ++d)
      (contains(p.window_dims, d) ? window_ : batch_).push_back(outer[size_t(d)]);
  }

  // What the index vectors say for dimension `d`, if they address it.
  std::optional<Scalar> start(int64_t d) const {
    const auto component = std::find(p_.index_map.begin(), p_.index_map.end(), d);
    if (component == p_.index_map.end()) return std::nullopt;
    const Scalar raw = read_memory(l_, indices_, at_vector(component - p_.index_map.begin()));
    return is_unsigned_ ? zero_extended(raw, indices_.dtype) : convert(raw, DType::i64);
  }
  std::optional<Subscript> known_start(int64_t d) const {
    const auto component = std::find(p_.index_map.begin(), p_.index_map.end(), d);
    if (component == p_.index_map.end()) return l_.constant_index(0);
    const auto index = l_.known_index(indices_, at_vector(component - p_.index_map.begin()));
    const Interval range = index ? l_.algebra().range(index->sum) : Interval{};
    return index && range.low >= 0 && range.high <= last(d) ? index : std::nullopt;
  }
  int64_t last(int64_t d) const { return x_.shape[size_t(d)] - p_.window[size_t(d)]; }
  // The place inside the window, or that of a batching dimension.
  Subscript offset(int64_t d) const {
    const auto batching = std::find(p_.batching.begin(), p_.batching.end(), d);
    if (batching != p_.batching.end())
      return batch_[size_t(batch_position(p_.index_batching[size_t(batching - p_.batching.begin())]))];
    if (contains(p_.dropped, d)) return l_.constant_index(0);
    size_t position = 0;
    for (int64_t e = 0; e < d; ++e) position += !contains(p_.dropped, e) && !contains(p_.batching, e);
    return window_[position];
  }

 private:
  int64_t batch_position(int64_t index_dim) const { return index_dim - (index_dim > p_.vector_dim ? 1 : 0); }
  Indices at_vector(int64_t component) const {
    Indices at = batch_;
    if (p_.vector_dim < indices_.rank()) at.insert(at.begin() + p_.vector_dim, l_.constant_index(component));
    return at;
  }

  Lowering& l_;
  const Places& p_;
  const SymbolicTensor &x_, &indices_;
  bool is_unsigned_;
  Indices window_, batch_;
};

void define_gather(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> all = operands(c);
  require(all.size() == 2, "a gather takes a tensor and indices");
  const SymbolicTensor &x = all[0], &indices = all[1];
  const TensorType type = result_type_of(c);
  const Places p{c.integers("offset_dims", Dims{}),
                 c.integers("collapsed_slice_dims", Dims{}),
                 c.integers("operand_batching_dims", Dims{}),
                 c.integers("start_indices_batching_dims", Dims{}),
                 c.integers("start_index_map", Dims{}),
                 c.integer("index_vector_dim", 0),
                 c.integers("slice_sizes", Dims{})};
  check_places(p, x, indices, type.shape.size());
  c.add_result(l.map(type.dtype, type.shape, [&](const Indices& i) {
    const Addressing addressing(l, p, x, indices, i, starts_unsigned(c));
    Indices at;
    for (int64_t d = 0; d < x.rank(); ++d) {
      const Subscript offset = addressing.offset(d);
      const int64_t last = addressing.last(d);
      if (const auto known = addressing.known_start(d)) {
        at.push_back(*known + offset);
      } else if (last == 0 && !contains(p.batching, d)) {
        at.push_back(offset);
      } else {
        at.push_back(l.index(min(max(*addressing.start(d), 0.0), double(last)), {0, std::max<int64_t>(0, last)}) +
                     offset);
      }
    }
    return l.read(x, at);
  }));
}

struct Scatter {
  std::vector<SymbolicTensor> inputs, updates;
  SymbolicTensor indices;
  Places places;
};

Scatter scatter_of(const OpCall& c) {
  const std::vector<SymbolicTensor> all = operands(c);
  require(all.size() >= 3 && all.size() % 2 == 1, "a scatter takes tensors, indices and as many updates");
  const size_t n = all.size() / 2;
  Scatter s{{all.begin(), all.begin() + int64_t(n)}, {all.begin() + int64_t(n) + 1, all.end()}, all[n], {}};
  const SymbolicTensor &x = s.inputs[0], &update = s.updates[0];
  s.places = {c.integers("update_window_dims", Dims{}),
              c.integers("inserted_window_dims", Dims{}),
              c.integers("input_batching_dims", Dims{}),
              c.integers("scatter_indices_batching_dims", Dims{}),
              c.integers("scatter_dims_to_operand_dims", Dims{}),
              c.integer("index_vector_dim", 0),
              {}};
  size_t next = 0;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool outside = contains(s.places.dropped, d) || contains(s.places.batching, d);
    require(outside || (next < s.places.window_dims.size() && s.places.window_dims[next] >= 0 &&
                        s.places.window_dims[next] < update.rank()),
            "the dimension numbers do not cover the tensor");
    s.places.window.push_back(outside ? 1 : update.shape[size_t(s.places.window_dims[next++])]);
  }
  for (size_t d = 0; d < s.places.window.size(); ++d) s.places.window[d] = std::min(s.places.window[d], x.shape[d]);
  check_places(s.places, x, s.indices, update.shape.size());
  for (size_t k = 0; k < n; ++k)
    require(s.inputs[k].shape == x.shape && s.updates[k].shape == update.shape,
            "the operands of a scatter differ in shape");
  return s;
}

// Targets of one update; one whose window does not fit goes beyond the end, where it is dropped.
Indices targets(Lowering& l, const Scatter& s, const Indices& i, bool is_unsigned) {
  const SymbolicTensor& x = s.inputs[0];
  const Addressing addressing(l, s.places, x, s.indices, i, is_unsigned);
  Indices at;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const Subscript offset = addressing.offset(d);
    const int64_t last = addressing.last(d), extent = x.shape[size_t(d)];
    if (const auto known = addressing.known_start(d)) {
      at.push_back(*known + offset);
    } else if (s.places.window[size_t(d)] == 1) {
      at.push_back(l.index(*addressing.start(d)) + offset);
    } else {
      const Scalar start = *addressing.start(d);
      at.push_back(l.index(select(start < 0.0 || start > double(last), double(extent), start), {0, extent}) + offset);
    }
  }
  return at;
}

// A body that is no reducer: one index vector after the other, each with its whole window.
std::vector<SymbolicTensor> scatter_step_by_step(OpCall& c, const Scatter& s) {
  Lowering& l = c.lowering();
  const graph::Graph& body = region(c, 0);
  const std::vector<SymbolicTensor> captured = captures(c, 0);
  Shape batch, window;
  for (int64_t d = 0; d < s.updates[0].rank(); ++d)
    (contains(s.places.window_dims, d) ? window : batch).push_back(s.updates[0].shape[size_t(d)]);
  return l.repeat(product(batch), s.inputs, [&](const Subscript& step, const std::vector<SymbolicTensor>& now) {
    RepeatYield yield;
    for (size_t k = 0; k < now.size(); ++k) {
      yield.next.push_back(l.scatter(
          Reducer::set, now[k], window,
          [&](const Indices& inner) {
            Indices places(batch.size());
            Subscript rest = step;
            for (size_t d = batch.size(); d-- > 0;) {
              places[d] = d == 0 ? rest : mod(rest, std::max<int64_t>(1, batch[d]));
              rest = div(rest, std::max<int64_t>(1, batch[d]));
            }
            Indices outer;
            size_t from_batch = 0, from_window = 0;
            for (int64_t d = 0; d < s.updates[0].rank(); ++d)
              outer.push_back(contains(s.places.window_dims, d) ? inner[from_window++] : places[from_batch++]);
            const Indices at = targets(l, s, outer, starts_unsigned(c));
            std::vector<Scalar> arguments;
            for (const SymbolicTensor& tensor : now)
              arguments.push_back(l.read(
                  tensor, at, tensor.dtype == DType::boolean ? Literal::of_bool(false) : Literal::of(int64_t(0))));
            for (const SymbolicTensor& update : s.updates) arguments.push_back(l.read(update, outer));
            return ScatterWrite{at, evaluate(l, body, std::move(arguments), captured, k)};
          },
          true));
    }
    return yield;
  });
}

void define_scatter(OpCall& c) {
  Lowering& l = c.lowering();
  const Scatter s = scatter_of(c);
  std::optional<Reducer> reducer;
  if (s.inputs.size() == 1 && captures(c, 0).empty()) reducer = recognised(region(c, 0)).reducer;
  if (reducer) {
    return c.add_result(l.scatter(
        *reducer, s.inputs[0], s.updates[0].shape,
        [&](const Indices& i) {
          return ScatterWrite{targets(l, s, i, starts_unsigned(c)), l.read(s.updates[0], i)};
        },
        true));
  }
  for (const SymbolicTensor& result : scatter_step_by_step(c, s)) c.add_result(result);
}

}  // namespace

void register_stablehlo_indexing(Registry& r) {
  r.add("stablehlo.dynamic_slice", "operand, start_indices", define_dynamic_slice);
  r.add("stablehlo.dynamic_update_slice", "operand, update, start_indices", define_dynamic_update_slice);
  r.add("stablehlo.gather", "operand, start_indices", define_gather);
  r.add("stablehlo.scatter", "inputs, scatter_indices, updates", define_scatter);
}

}  // namespace lightline::ops
