// StableHLO: reductions over dimensions and over windows. A body that is one of the reducers becomes that reduction;
// any other one is applied element after element.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/library/reduction/reduction.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;
using Dims = std::vector<int64_t>;

struct Reduction {
  std::vector<SymbolicTensor> inputs, inits;
  const graph::Graph& body;
  std::vector<SymbolicTensor> captured;
};

Reduction reduction_of(const OpCall& c) {
  std::vector<SymbolicTensor> all = operands(c);
  require(!all.empty() && all.size() % 2 == 0, "a reduction has one initial value per operand");
  const auto half = all.begin() + int64_t(all.size() / 2);
  Reduction r{{all.begin(), half}, {half, all.end()}, region(c, 0), captures(c, 0)};
  for (const SymbolicTensor& init : r.inits)
    require(init.shape.empty(), "the initial value of a reduction is a scalar");
  for (const SymbolicTensor& input : r.inputs)
    require(input.shape == r.inputs[0].shape, "the operands of a reduction differ in shape");
  return r;
}

// ---- neutral elements ----

Literal neutral(Reducer reducer, DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  const int width = bits(dtype);
  const int64_t greatest = dtype == DType::u8 ? 255 : width == 64 ? INT64_MAX : (int64_t(1) << (width - 1)) - 1;
  const int64_t least = dtype == DType::u8 ? 0 : -greatest - 1;
  switch (reducer) {
    case Reducer::sum: return Literal::of(int64_t(0));
    case Reducer::prod: return Literal::of(int64_t(1));
    case Reducer::max: return is_float(dtype) ? Literal::of(-infinity) : Literal::of(least);
    case Reducer::min: return is_float(dtype) ? Literal::of(infinity) : Literal::of(greatest);
    case Reducer::all: return Literal::of_bool(true);
    default: return Literal::of_bool(false);
  }
}

double number_of(const Literal& literal) {
  return literal.kind == Literal::Kind::floating ? literal.floating : double(literal.integer);
}

bool is_neutral(const Lowering& l, const SymbolicTensor& init, Reducer reducer) {
  const auto known = known_literal(l, init);
  if (!known) return false;
  const Literal wanted = neutral(reducer, init.dtype);
  if (is_integer(init.dtype) || init.dtype == DType::boolean) return known->integer == wanted.integer;
  return number_of(*known) == number_of(wanted);
}

Scalar combined(Reducer reducer, const Scalar& a, const Scalar& b) {
  switch (reducer) {
    case Reducer::sum: return a + b;
    case Reducer::prod: return a * b;
    case Reducer::max: return max(a, b);
    case Reducer::min: return min(a, b);
    case Reducer::all: return a && b;
    default: return a || b;
  }
}

SymbolicTensor with_init(Lowering& l, Reducer reducer, const SymbolicTensor& reduced, const SymbolicTensor& init) {
  if (is_neutral(l, init, reducer)) return reduced;
  return l.map(reduced.dtype, reduced.shape,
               [&](const Indices& i) { return combined(reducer, l.read(init, {}), l.read(reduced, i)); });
}

// ---- any body, one element after the other ----

struct Steps {
  Shape shape;    // of the results
  int64_t count;  // elements that meet in each of them
  // Element `step` of operand `which` for a result, and whether there is one; it has a value in any case.
  std::function<Scalar(size_t which, const Indices& result, const Subscript& step)> element;
};

std::vector<SymbolicTensor> step_by_step(Lowering& l, const Reduction& r, const Steps& steps) {
  std::vector<SymbolicTensor> init;
  for (const SymbolicTensor& value : r.inits) init.push_back(l.expand(value, steps.shape));
  std::vector<SymbolicTensor> results =
      l.repeat(steps.count, init, [&](const Subscript& step, const std::vector<SymbolicTensor>& carried) {
        RepeatYield yield;
        for (size_t k = 0; k < carried.size(); ++k) {
          yield.next.push_back(l.map(carried[k].dtype, steps.shape, [&](const Indices& i) {
            std::vector<Scalar> arguments;
            for (const SymbolicTensor& value : carried) arguments.push_back(l.read(value, i));
            for (size_t which = 0; which < carried.size(); ++which) arguments.push_back(steps.element(which, i, step));
            return evaluate(l, r.body, std::move(arguments), r.captured, k);
          }));
        }
        return yield;
      });
  return results;
}

// ---- reduce ----

// Positions of the greatest or least element along one dimension, as JAX writes argmax.
bool reduce_positions(OpCall& c, const Reduction& r, const Dims& dims) {
  Lowering& l = c.lowering();
  const KeptExtreme pick =
      r.inputs.size() == 2 && r.captured.empty() && dims.size() == 1 ? recognised(r.body).extreme : KeptExtreme::none;
  const Formula* positions = pick == KeptExtreme::none ? nullptr : l.formula_of(r.inputs[1]);
  if (!positions || r.inputs[1].view != loops::none || positions->iota != dims[0]) return false;
  const SymbolicTensor& x = r.inputs[0];
  const bool greatest = pick == KeptExtreme::greatest;
  const Reducer extreme = greatest ? Reducer::max : Reducer::min;
  const auto first = known_literal(l, r.inits[1]);
  if (x.shape[size_t(dims[0])] == 0 || x.dtype == DType::boolean || !is_neutral(l, r.inits[0], extreme) || !first ||
      first->integer != 0)
    return false;
  const ReducedDims along = reduced_dims(x.shape, dims);
  const auto element = [&](const Indices& at) { return l.read(x, at); };
  c.add_result(reduce_dims(l, x.dtype, extreme, along, false, element));
  const SymbolicTensor found =
      reduce_dims(l, DType::i64, greatest ? Reducer::argmax : Reducer::argmin, along, false, element);
  c.add_result(l.cast(found, r.inputs[1].dtype));
  return true;
}

void define_reduce(OpCall& c) {
  Lowering& l = c.lowering();
  const Reduction r = reduction_of(c);
  const Dims dims = c.integers("dimensions", Dims{});
  const ReducedDims along = reduced_dims(r.inputs[0].shape, dims);
  const auto reducer = r.captured.empty() ? recognised(r.body).reducer : std::nullopt;
  if (r.inputs.size() == 1 && reducer && *reducer != Reducer::set) {
    const SymbolicTensor& x = r.inputs[0];
    const SymbolicTensor reduced =
        reduce_dims(l, x.dtype, *reducer, along, false, [&](const Indices& at) { return l.read(x, at); });
    return c.add_result(with_init(l, *reducer, reduced, r.inits[0]));
  }
  if (reduce_positions(c, r, dims)) return;
  const Shape extents = along.extents();
  const auto element = [&](size_t which, const Indices& i, const Subscript& step) {
    Indices inner(extents.size());
    Subscript rest = step;
    for (size_t d = extents.size(); d-- > 0;) {
      inner[d] = d == 0 ? rest : mod(rest, std::max<int64_t>(1, extents[d]));
      rest = div(rest, std::max<int64_t>(1, extents[d]));
    }
    return l.read(r.inputs[which], along.join(i, inner, false));
  };
  for (const SymbolicTensor& result : step_by_step(l, r, {along.kept(false), along.count(), element}))
    c.add_result(result);
}

// ---- windows ----

struct Windows {
  Dims size, stride, base_dilation, dilation, low, high;

  int64_t count() const { return product(size); }
  // Where tap `r` of the window at `i` lies; in a base dilated by n, only every n-th place holds an element.
  Subscript place(size_t d, const Subscript& i, const Subscript& r) const {
    return i * stride[d] + r * dilation[d] - low[d];
  }
};

Windows windows_of(const OpCall& c, size_t rank) {
  const auto list = [&](std::string_view name) {
    Dims values = c.integers(name, Dims{});
    if (values.empty()) values.assign(rank, 1);
    require(values.size() == rank, "a window says its numbers for every dimension");
    for (const int64_t value : values)
      require(value > 0 && value < (int64_t(1) << 31), "a number of the window makes no sense");
    return values;
  };
  Windows w{list("window_dimensions"), list("window_strides"), list("base_dilations"),
            list("window_dilations"),  Dims(rank, 0),          Dims(rank, 0)};
  const Dims padding = c.integers("padding", Dims{});
  require(padding.empty() || padding.size() == 2 * rank, "a window says its padding for every dimension");
  for (size_t d = 0; d < padding.size() / 2; ++d) {
    w.low[d] = padding[2 * d];
    w.high[d] = padding[2 * d + 1];
    require(is_modest(w.low[d], int64_t(1) << 40) && is_modest(w.high[d], int64_t(1) << 40),
            "the padding of a window is absurd");
  }
  w.count();
  return w;
}

struct Tap {
  Indices at;
  std::optional<Scalar> inside;  // absent: always
};
// With `by_fill` what lies before the first and after the last element is left to the fill of the read.
Tap tap_of(Lowering& l, const Windows& w, const Shape& shape, const Indices& i, const Indices& r, bool by_fill) {
  Tap tap;
  const auto also = [&](const Scalar& condition) { tap.inside = tap.inside ? *tap.inside && condition : condition; };
  for (size_t d = 0; d < shape.size(); ++d) {
    const Subscript place = w.place(d, i[d], r[d]);
    const int64_t step = w.base_dilation[d];
    if (step > 1) also(value(mod(place, step)) == 0.0);
    tap.at.push_back(step > 1 ? div(place, step) : place);
    if (by_fill) continue;
    const Interval range = l.algebra().range(tap.at.back().sum);
    if (range.low < 0) also(value(tap.at.back()) >= 0.0);
    if (range.high >= shape[d]) also(value(tap.at.back()) < double(shape[d]));
  }
  return tap;
}

// The dimension along which the windows are all prefixes (or suffixes) of the tensor: a running reduction.
struct Running {
  int64_t dim;
  bool backwards;
};
std::optional<Running> running_of(const Windows& w, const Shape& shape) {
  std::optional<Running> found;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (w.stride[d] != 1 || w.base_dilation[d] != 1 || w.dilation[d] != 1) return std::nullopt;
    if (w.size[d] == 1 && w.low[d] == 0 && w.high[d] == 0) continue;
    const bool prefix = w.low[d] == shape[d] - 1 && w.high[d] == 0, suffix = w.low[d] == 0 && w.high[d] == shape[d] - 1;
    if (w.size[d] != shape[d] || found || (!prefix && !suffix)) return std::nullopt;
    found = Running{int64_t(d), suffix};
  }
  return found;
}

SymbolicTensor running_reduction(Lowering& l, const SymbolicTensor& x, Reducer reducer, const Running& running) {
  const int64_t extent = x.shape[size_t(running.dim)];
  const auto turned = [&](const SymbolicTensor& t) {
    return running.backwards && extent > 1 ? l.slice(t, running.dim, extent - 1, extent, -1) : t;
  };
  const SymbolicTensor source = turned(x);
  const Literal start = neutral(reducer, x.dtype);
  const SymbolicTensor sum =
      l.scan(compute_type(x.dtype), x.shape, running.dim, [&](const Indices& i, const Lowering::Self& self) {
        return combined(reducer, self(1, start), l.read(source, i));
      });
  return turned(l.cast(sum, x.dtype));
}

void define_reduce_window(OpCall& c) {
  Lowering& l = c.lowering();
  const Reduction r = reduction_of(c);
  const SymbolicTensor& x = r.inputs[0];
  const Windows w = windows_of(c, x.shape.size());
  const Shape shape = result_type_of(c).shape;
  require(shape.size() == x.shape.size(), "the result of a reduction over windows has another rank than its operand");
  const auto reducer = r.captured.empty() ? recognised(r.body).reducer : std::nullopt;
  if (r.inputs.size() == 1 && reducer && *reducer != Reducer::set) {
    const auto running = running_of(w, x.shape);
    if (running && x.dtype != DType::c64)
      return c.add_result(with_init(l, *reducer, running_reduction(l, x, *reducer, *running), r.inits[0]));
    const Literal fill = neutral(*reducer, x.dtype);
    const SymbolicTensor reduced =
        l.reduce(x.dtype, shape, *reducer, w.size, [&](const Indices& i, const Indices& taps) {
          const Tap tap = tap_of(l, w, x.shape, i, taps, true);
          const Scalar element = l.read(x, tap.at, fill);
          return tap.inside ? select(*tap.inside, element, literal_of(l, x.dtype, number_of(fill), fill.integer))
                            : element;
        });
    return c.add_result(with_init(l, *reducer, reduced, r.inits[0]));
  }
  const auto element = [&](size_t which, const Indices& i, const Subscript& step) {
    Indices taps(w.size.size());
    Subscript rest = step;
    for (size_t d = taps.size(); d-- > 0;) {
      taps[d] = d == 0 ? rest : mod(rest, w.size[d]);
      rest = div(rest, w.size[d]);
    }
    const Tap tap = tap_of(l, w, x.shape, i, taps, false);
    const Scalar inside = l.read(r.inputs[which], tap.at, Literal::of(int64_t(0)));
    return tap.inside ? select(*tap.inside, inside, l.read(r.inits[which], {})) : inside;
  };
  for (const SymbolicTensor& result : step_by_step(l, r, {shape, w.count(), element})) c.add_result(result);
}

// ---- select_and_scatter ----

// Every element of the source goes to the place of the element that its window selects.
void define_select_and_scatter(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> all = operands(c);
  require(all.size() == 3 && all[0].rank() == all[1].rank() && all[2].shape.empty(),
          "select_and_scatter takes a tensor, a source and an initial value");
  const SymbolicTensor& source = all[1];
  const SymbolicTensor& init = all[2];
  const SymbolicTensor x = all[0].dtype == DType::boolean ? l.cast(all[0], DType::i8) : all[0];  // ordered
  const auto reducer = recognised(region(c, 1)).reducer;
  const KeptExtreme selected = captures(c, 0).empty() ? recognised(region(c, 0)).selected : KeptExtreme::none;
  if (!reducer || selected == KeptExtreme::none || x.dtype == DType::c64)
    fail("select_and_scatter selects in a way that has no definition", ErrorCode::unsupported);
  const bool greatest = selected == KeptExtreme::greatest;
  const Windows w = windows_of(c, x.shape.size());
  const Literal fill = neutral(greatest ? Reducer::max : Reducer::min, x.dtype);
  const SymbolicTensor chosen = l.reduce(
      DType::i64, source.shape, greatest ? Reducer::argmax : Reducer::argmin, w.size,
      [&](const Indices& i, const Indices& taps) { return l.read(x, tap_of(l, w, x.shape, i, taps, true).at, fill); });
  const SymbolicTensor start = l.expand(init, x.shape);
  c.add_result(l.scatter(
      *reducer, start, source.shape,
      [&](const Indices& i) {
        Indices target(i.size());
        Subscript rest = l.index(l.read(chosen, i), {0, std::max<int64_t>(0, w.count() - 1)});
        for (size_t d = i.size(); d-- > 0;) {
          const Subscript tap = d == 0 ? rest : mod(rest, w.size[d]);
          target[d] = w.place(d, i[d], tap);
          rest = div(rest, w.size[d]);
        }
        return ScatterWrite{target, l.read(source, i)};
      },
      true));
}

}  // namespace

void register_stablehlo_reduction(Registry& r) {
  r.add("stablehlo.reduce", "inputs, init_values", define_reduce);
  r.add("stablehlo.reduce_window", "inputs, init_values", define_reduce_window);
  r.add("stablehlo.select_and_scatter", "operand, source, init_value", define_select_and_scatter);
}

}  // namespace lightline::ops
