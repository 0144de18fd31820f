// Creation: tensors that read nothing, or only another tensor's shape.
#include <cmath>
#include <numbers>

#include "ops/build/registry.h"

namespace lightline::ops {
namespace {

Shape checked(Shape shape) {
  for (const int64_t extent : shape) require(extent >= 0, "a size is negative");
  product(shape);
  return shape;
}

SymbolicTensor filled(OpCall& c, DType dtype, const Shape& shape, const Operand& value) {
  return c.lowering().map(dtype, checked(shape), [&](const Indices& i) { return c.read_as(value, i, dtype); });
}

Operand integer_operand(int64_t value) { return {std::nullopt, value}; }

// zeros, new_zeros and zeros_like: the same value, three ways to say the shape.
void add_filled(Registry& r, const std::string& name, int64_t value, std::vector<std::string> aliases = {}) {
  r.add(
      name, "size, dtype",
      [value](OpCall& c) {
        c.add_result(filled(c, c.dtype("dtype", DType::f32), c.integers("size"), integer_operand(value)));
      },
      std::move(aliases));
  r.add("new_" + name, "self, size, dtype", [value](OpCall& c) {
    c.add_result(filled(c, c.dtype("dtype", c.tensor("self").dtype), c.integers("size"), integer_operand(value)));
  });
  r.add(name + "_like", "self, dtype", [value](OpCall& c) {
    const SymbolicTensor x = c.tensor("self");
    const SymbolicTensor result = filled(c, c.dtype("dtype", x.dtype), x.shape, integer_operand(value));
    const auto asked = c.memory_format(x.shape);
    c.add_result(c.lowering().laid_out(result, asked ? *asked : elementwise_strides(x.shape, {x.layout()})));
  });
}

void define_full(OpCall& c) {
  const Operand value = c.operand("fill_value");
  c.add_result(filled(c, c.dtype("dtype", value.tensor ? value.tensor->dtype : result_type({value})),
                      c.integers("size"), value));
}

void define_fill(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  c.add_result(filled(c, x.dtype, x.shape, c.operand_or("value", 0)));
}

bool is_floating(const OpCall& c, std::string_view name) {
  const graph::Argument* value = c.argument(name);
  return value && std::holds_alternative<double>(*value);
}

void define_arange(OpCall& c) {
  const double start = c.number("start", 0), end = c.number("end", 0), step = c.number("step", 1);
  require(step != 0 && std::isfinite(start) && std::isfinite(end) && std::isfinite(step),
          "arange needs finite ends and a step that is not 0");
  require(std::fabs(start) < 0x1p62 && std::fabs(step) < 0x1p62, "arange leaves the integers");
  const bool floating = is_floating(c, "start") || is_floating(c, "end") || is_floating(c, "step");
  const DType dtype = c.dtype("dtype", floating ? DType::f32 : DType::i64);
  const double count = std::ceil((end - start) / step);
  require(count >= 0 && count < 0x1p56, "arange has its ends in the wrong order, or too far apart");
  c.add_result(c.lowering().map(dtype, {int64_t(count)}, [&](const Indices& i) {
    const Subscript whole = i[0] * int64_t(step) + int64_t(start);
    if (!floating || is_integer(dtype)) return value(whole);
    const Scalar position = convert(value(i[0]), dtype);
    return (step == 1 ? position : position * step) + start;
  }));
}

// The points of an even division of [start, end], computed from the nearer end.
Scalar point(OpCall& c, const Subscript& i, int64_t steps, DType compute) {
  const Scalar start = c.read_as(c.operand("start"), {}, compute), end = c.read_as(c.operand("end"), {}, compute);
  if (steps <= 1) return start;
  const Scalar step = (end - start) / double(steps - 1);
  return select(value(i) < double(steps / 2), start + step * convert(value(i), compute),
                end - step * convert(value(steps - 1 - i), compute));
}

void define_linspace(OpCall& c) {
  const DType dtype = c.dtype("dtype", DType::f32);
  const DType compute = is_float(dtype) ? dtype : DType::f64;
  const int64_t steps = c.integer("steps", 100);
  c.add_result(
      c.lowering().map(dtype, checked({steps}), [&](const Indices& i) { return point(c, i[0], steps, compute); }));
}

void define_logspace(OpCall& c) {
  const DType dtype = c.dtype("dtype", DType::f32);
  const DType compute = is_float(dtype) ? dtype : DType::f64;
  const int64_t steps = c.integer("steps", 100);
  const double base = c.number("base", 10);
  c.add_result(c.lowering().map(dtype, checked({steps}), [&](const Indices& i) {
    const Scalar exponent = point(c, i[0], steps, compute);
    return call(Function::pow, convert(number(exponent, base), compute), convert(exponent, compute));
  }));
}

void define_eye(OpCall& c) {
  const int64_t rows = c.integer("n"), columns = c.integer("m", rows);
  const DType dtype = c.dtype("dtype", DType::f32);
  c.add_result(c.lowering().map(dtype, checked({rows, columns}),
                                [&](const Indices& i) { return convert(value(i[0]) == value(i[1]), dtype); }));
}

// Row and column of element `position` of the lower trapezoid whose first row has `first` elements and grows by one.
struct Position {
  Scalar row, column;
};
Position in_trapezoid(Scalar position, double first) {
  const auto before = [&](Scalar row) { return row * first + row * (row - 1.0) * 0.5; };  // elements above a row
  const double b = 2 * first - 1;
  const Scalar guess = call(Function::floor, (call(Function::sqrt, 8.0 * position + b * b) - b) * 0.5);
  const Scalar low = select(before(guess) > position, guess - 1.0, guess);
  const Scalar row = select(before(low + 1.0) <= position, low + 1.0, low);
  return {row, position - before(row)};
}

// Indices of a triangle in row-major order, as a [2, count] tensor. The lower triangle is a trapezoid over a
// rectangle; the upper one is counted from its end, where it is a lower one turned around.
void define_triangle(OpCall& c, bool upper) {
  const int64_t rows = c.integer("row"), columns = c.integer("col"), offset = c.integer("offset", 0);
  require(rows >= 0 && columns >= 0 && rows < (1 << 24) && columns < (1 << 24) && std::abs(offset) < (1 << 24),
          "the triangle is too large");
  // the upper triangle (offset) is the lower triangle of the matrix turned by 180 degrees
  const int64_t shift = upper ? columns - rows - offset : offset;
  const int64_t first_row = std::max<int64_t>(0, -shift);  // the first row with an element
  const int64_t first = std::min(columns, std::max<int64_t>(0, shift + 1 + first_row));  // its elements
  const int64_t full_row =
      std::clamp<int64_t>(columns - shift, first_row, std::max(rows, first_row));  // from here on rows are full
  const int64_t growing = std::min(full_row, rows) - std::min(first_row, rows);
  const int64_t in_growing = growing * first + growing * (growing - 1) / 2;
  const int64_t count = in_growing + std::max<int64_t>(0, rows - std::max(full_row, first_row)) * columns;
  c.add_result(c.lowering().map(c.dtype("dtype", DType::i64), {2, std::max<int64_t>(count, 0)}, [&](const Indices& i) {
    const Scalar position = convert(value(upper ? count - 1 - i[1] : i[1]), DType::f64);
    const Position grown = in_trapezoid(position, double(first));
    const Scalar beyond = position - double(in_growing), wide = number(position, double(std::max<int64_t>(columns, 1)));
    const Scalar full = call(Function::floor, beyond / wide);
    const Scalar is_grown = position < double(in_growing);
    Scalar row = select(is_grown, grown.row + double(first_row), full + double(full_row));
    Scalar column = select(is_grown, grown.column, beyond - full * wide);
    if (upper) {
      row = double(rows - 1) - row;
      column = double(columns - 1) - column;
    }
    return convert(select(value(i[0]) == 0.0, row, column), DType::i64);
  }));
}

// Windows of signal processing; `periodic` leaves out the last point.
void define_window(OpCall& c, const std::function<Scalar(const Scalar& position, double last)>& curve) {
  const int64_t length = c.integer("window_length");
  const DType dtype = c.dtype("dtype", DType::f32);
  const int64_t last = c.flag("periodic", true) ? length : length - 1;
  c.add_result(c.lowering().map(dtype, checked({length}), [&](const Indices& i) {
    const Scalar position = convert(value(i[0]), dtype);
    return length <= 1 ? position + 1.0 : curve(position, double(last));
  }));
}

void define_cosines(OpCall& c, const std::vector<double>& coefficients) {
  define_window(c, [&](const Scalar& position, double last) {
    Scalar sum = position * 0.0 + coefficients[0];
    for (size_t k = 1; k < coefficients.size(); ++k)
      sum = sum + coefficients[k] * call(Function::cos, position * (2 * std::numbers::pi * double(k) / last));
    return sum;
  });
}

void define_bartlett(OpCall& c) {
  define_window(
      c, [](const Scalar& position, double last) { return 1.0 - call(Function::abs, position * (2.0 / last) - 1.0); });
}

void define_one_hot(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  int64_t classes = c.integer("num_classes", -1);
  if (classes < 0) {
    const auto recorded = c.recorded(0);
    if (!recorded || recorded->shape.empty()) fail("the number of classes depends on data", ErrorCode::unsupported);
    classes = recorded->shape.back();
  }
  Shape shape = x.shape;
  shape.push_back(classes);
  c.add_result(c.lowering().map(DType::i64, checked(shape), [&](const Indices& i) {
    return convert(convert(c.lowering().read(x, Indices(i.begin(), i.end() - 1)), DType::i64) == value(i.back()),
                   DType::i64);
  }));
}

}  // namespace

void register_creation(Registry& r) {
  add_filled(r, "zeros", 0, {"_efficientzerotensor"});
  add_filled(r, "ones", 1);
  add_filled(r, "empty", 0);
  r.add(
      "empty_strided", "size, stride, dtype",
      [](OpCall& c) { c.add_result(filled(c, c.dtype("dtype", DType::f32), c.integers("size"), integer_operand(0))); },
      {"empty_permuted"});
  r.add("new_empty_strided", "self, size, stride, dtype", [](OpCall& c) {
    c.add_result(filled(c, c.dtype("dtype", c.tensor("self").dtype), c.integers("size"), integer_operand(0)));
  });
  r.add("full", "size, fill_value, dtype", define_full);
  r.add("new_full", "self, size, fill_value, dtype", [](OpCall& c) {
    c.add_result(filled(c, c.dtype("dtype", c.tensor("self").dtype), c.integers("size"), c.operand("fill_value")));
  });
  r.add("full_like", "self, fill_value, dtype", [](OpCall& c) {
    const SymbolicTensor x = c.tensor("self");
    const SymbolicTensor result = filled(c, c.dtype("dtype", x.dtype), x.shape, c.operand("fill_value"));
    const auto asked = c.memory_format(x.shape);
    c.add_result(c.lowering().laid_out(result, asked ? *asked : elementwise_strides(x.shape, {x.layout()})));
  });
  r.add("fill", "self, value", define_fill, {"zero"});
  r.add("scalar_tensor", "s, dtype",
        [](OpCall& c) { c.add_result(filled(c, c.dtype("dtype", DType::f32), {}, c.operand("s"))); });
  r.add("arange", "end", define_arange, {});
  r.add("arange.start", "start, end", define_arange, {"arange.start_step"});
  r.add("linspace", "start, end, steps, dtype", define_linspace);
  r.add("logspace", "start, end, steps, base, dtype", define_logspace);
  r.add("eye", "n, m, dtype", define_eye);
  r.add("tril_indices", "row, col, offset, dtype", [](OpCall& c) { define_triangle(c, false); });
  r.add("triu_indices", "row, col, offset, dtype", [](OpCall& c) { define_triangle(c, true); });
  r.add("hann_window", "window_length, periodic, dtype", [](OpCall& c) { define_cosines(c, {0.5, -0.5}); });
  r.add("hamming_window", "window_length, periodic, alpha, beta, dtype", [](OpCall& c) {
    define_cosines(c, {c.number("alpha", 0.54), -c.number("beta", 0.46)});
  });
  r.add("blackman_window", "window_length, periodic, dtype", [](OpCall& c) { define_cosines(c, {0.42, -0.5, 0.08}); });
  r.add("bartlett_window", "window_length, periodic, dtype", define_bartlett);
  r.add("one_hot", "self, num_classes", define_one_hot);
}

}  // namespace lightline::ops
