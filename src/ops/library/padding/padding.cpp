// Padding: what lies around a tensor.
#include <array>

#include "ops/build/registry.h"

namespace lightline::ops {
namespace {

enum class Mode : uint8_t { constant, reflect, replicate, circular };

struct Pads {
  std::vector<int64_t> before, after;  // per dimension; negative cuts
};

// PyTorch lists the last dimension first.
Pads pads(const SymbolicTensor& x, const std::vector<int64_t>& list) {
  require(list.size() % 2 == 0 && list.size() <= 2 * x.shape.size(), "padding needs two numbers per dimension");
  Pads result{std::vector<int64_t>(x.shape.size(), 0), std::vector<int64_t>(x.shape.size(), 0)};
  for (size_t k = 0; k < list.size() / 2; ++k) {
    result.before[x.shape.size() - 1 - k] = list[2 * k];
    result.after[x.shape.size() - 1 - k] = list[2 * k + 1];
  }
  return result;
}

Shape padded_shape(const SymbolicTensor& x, const Pads& p) {
  Shape shape = x.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (__builtin_add_overflow(shape[d], p.before[d], &shape[d]) ||
        __builtin_add_overflow(shape[d], p.after[d], &shape[d]))
      fail("the padding is absurd", ErrorCode::limit);
    require(shape[d] >= 0, "padding cuts more than there is");
  }
  return shape;
}

// The place that position `at` of an extent shows, which may lie outside.
Subscript folded(Lowering& l, const Subscript& at, int64_t extent, Mode mode) {
  const Interval inside{0, extent - 1};
  const Scalar position = l.value(at);
  const auto distance = [](Scalar x) { return call(Function::abs, x); };
  switch (mode) {
    case Mode::reflect: return l.index(double(extent - 1) - distance(double(extent - 1) - distance(position)), inside);
    case Mode::replicate: return l.index(min(max(position, 0.0), double(extent - 1)), inside);
    default: return at;
  }
}

// What is cut goes first: the circle is what remains.
Subscript around(const Subscript& at, int64_t extent, int64_t before, int64_t after) {
  const int64_t first = std::max<int64_t>(-before, 0), kept = extent - first - std::max<int64_t>(-after, 0);
  return before > 0 || after > 0 ? mod(at - first, std::max<int64_t>(kept, 1)) + first : at;
}

SymbolicTensor padded(OpCall& c, const SymbolicTensor& x, const Pads& p, Mode mode) {
  Lowering& l = c.lowering();
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const int64_t most = std::max(p.before[d], p.after[d]);
    const int64_t room = mode == Mode::reflect ? x.shape[d] - 1 : mode == Mode::circular ? x.shape[d] : INT64_MAX;
    require(most <= 0 || (x.shape[d] > 0 && most <= room), "the padding is larger than the tensor allows");
  }
  return l.map(x.dtype, padded_shape(x, p), [&](const Indices& i) {
    Indices at = i;
    for (size_t d = 0; d < at.size(); ++d) {
      if (p.before[d] == 0 && p.after[d] == 0) continue;
      at[d] = i[d] - p.before[d];
      if (mode == Mode::circular)
        at[d] = around(at[d], x.shape[d], p.before[d], p.after[d]);
      else if (p.before[d] > 0 || p.after[d] > 0)
        at[d] = folded(l, at[d], x.shape[d], mode);
    }
    return l.read(x, at);
  });
}

Literal fill_for(OpCall& c, DType dtype) {
  const double value = c.number("value", 0);
  if (dtype == DType::boolean) return Literal::of_bool(value != 0);
  return is_integer(dtype) ? Literal::of(int64_t(value)) : Literal::of(round_to(dtype, value));
}

SymbolicTensor padded_with_constant(OpCall& c, const SymbolicTensor& x, const Pads& p) {
  Lowering& l = c.lowering();
  const Operand value = c.operand_or("value", 0);
  const bool is_complex = std::holds_alternative<std::complex<double>>(value.scalar);
  const SymbolicTensor inside =
      l.map(DType::boolean, x.shape, [&](const Indices&) { return l.literal(Literal::of_bool(true)); });
  return l.map(x.dtype, padded_shape(x, p), [&](const Indices& i) {
    Indices at = i;
    for (size_t d = 0; d < at.size(); ++d) at[d] = i[d] - p.before[d];
    if (is_complex)
      return select(l.read(inside, at, Literal::of_bool(false)), l.read(x, at, zero()), c.read_as(value, {}, x.dtype));
    return l.read(x, at, fill_for(c, x.dtype));
  });
}

void define_pad(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const std::string mode = c.text("mode", "constant");
  const Pads p = pads(x, c.integers("pad"));
  if (mode == "constant") return c.add_result(padded_with_constant(c, x, p));
  if (mode == "reflect") return c.add_result(padded(c, x, p, Mode::reflect));
  if (mode == "replicate") return c.add_result(padded(c, x, p, Mode::replicate));
  require(mode == "circular", "the padding mode is none of constant, reflect, replicate and circular");
  c.add_result(padded(c, x, p, Mode::circular));
}

Definition padding(Mode mode, const char* name) {
  return [=](OpCall& c) {
    const SymbolicTensor x = c.tensor("self");
    c.add_result(padded(c, x, pads(x, c.integers(name)), mode));
  };
}

// The gradient of a padding: every element of the result takes what its copies received.
Definition padding_backward(Mode mode) {
  return [mode](OpCall& c) {
    Lowering& l = c.lowering();
    const SymbolicTensor gradient = c.tensor("grad_output"), x = c.tensor("self");
    const Pads p = pads(x, c.integers("padding"));
    require(gradient.shape == padded_shape(x, p), "the gradient does not have the padded shape");
    c.add_result(
        l.scatter(x.dtype, x.shape, Literal::of(int64_t(0)), Reducer::sum, gradient.shape, [&](const Indices& i) {
          Indices to = i;
          for (size_t d = 0; d < to.size(); ++d) {
            if (p.before[d] == 0 && p.after[d] == 0) continue;
            to[d] = folded(l, i[d] - p.before[d], x.shape[d], mode);
          }
          return ScatterWrite{to, l.read(gradient, i)};
        }));
  };
}

}  // namespace

void register_padding(Registry& r) {
  r.add("pad", "self, pad, mode, value", define_pad);
  r.add("constant_pad_nd", "self, pad, value", [](OpCall& c) {
    c.add_result(padded_with_constant(c, c.tensor("self"), pads(c.tensor("self"), c.integers("pad"))));
  });
  r.add("_pad_circular", "self, pad", padding(Mode::circular, "pad"));
  r.add("reflection_pad1d", "self, padding", padding(Mode::reflect, "padding"),
        {"reflection_pad2d", "reflection_pad3d"});
  r.add("replication_pad1d", "self, padding", padding(Mode::replicate, "padding"),
        {"replication_pad2d", "replication_pad3d"});
  r.add("reflection_pad1d_backward", "grad_output, self, padding", padding_backward(Mode::reflect),
        {"reflection_pad2d_backward", "reflection_pad3d_backward"});
  r.add("replication_pad1d_backward", "grad_output, self, padding", padding_backward(Mode::replicate),
        {"replication_pad2d_backward", "replication_pad3d_backward"});
}

}  // namespace lightline::ops
