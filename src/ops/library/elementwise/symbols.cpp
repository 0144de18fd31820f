// Python's own arithmetic: on sizes and numbers that are only known when the program runs (tensors of rank 0), and on
// tensors in sources that write `a + b`.
#include "ops/library/elementwise/elementwise.h"

namespace lightline::ops {
namespace {

Definition joined(Promotion promotion, Scalar (*body)(Scalar, Scalar)) {
  return [=](OpCall& c) { binary(c, promotion, body, "a", "b"); };
}

Scalar floor_division(Scalar a, Scalar b) {
  return is_integer(a.type) ? call(Function::div, a, b) : call(Function::floor, a / b);
}
Scalar modulo(Scalar a, Scalar b) { return call(Function::remainder, a, b); }
Scalar power(Scalar a, Scalar b) { return call(Function::pow, a, b); }
Scalar sum(Scalar a, Scalar b) { return a.type == DType::boolean ? a || b : a + b; }
Scalar product_of(Scalar a, Scalar b) { return a.type == DType::boolean ? a && b : a * b; }

// Python divides integers in f64, tensors divide in f32.
void define_true_division(OpCall& c) {
  const Operand a = c.operand("a"), b = c.operand("b");
  const auto recorded = c.recorded(0);
  const DType type = recorded ? recorded->dtype : floating_type(result_type({a, b}));
  c.add_result(c.elementwise({a, b}, type, type, [](const std::vector<Scalar>& v) { return v[0] / v[1]; }));
}

void convert_to(OpCall& c, DType dtype, std::string_view name = "a") {
  c.add_result(c.elementwise({c.operand(name)}, dtype, dtype, [](const std::vector<Scalar>& v) { return v[0]; }));
}

void define_item(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  require(x.size() == 1, "only a tensor of one element has a value of its own");
  const Category kind = category(x.dtype);
  const DType dtype = kind == Category::boolean   ? DType::boolean
                      : kind == Category::integer ? DType::i64
                      : kind == Category::complex ? DType::c64
                                                  : DType::f64;
  const SymbolicTensor scalar = c.lowering().reshape(x, {});
  c.add_result(c.lowering().map(dtype, {}, [&](const Indices& i) { return c.lowering().read(scalar, i); }));
}

void give_integer(OpCall& c, int64_t value) {
  c.add_result(
      c.lowering().map(DType::i64, {}, [&](const Indices&) { return c.lowering().literal(Literal::of(value)); }));
}

void define_conditional(OpCall& c) {
  const Operand condition = c.operand("b"), yes = c.operand("t"), no = c.operand("f");
  const DType type = result_type({yes, no});
  c.add_result(c.lowering().map(type, {}, [&](const Indices& i) {
    return select(c.read_as(condition, i, DType::boolean), c.read_as(yes, i, type), c.read_as(no, i, type));
  }));
}

}  // namespace

void register_symbols(Registry& r) {
  const auto two = [&](const std::string& name, Promotion promotion, Scalar (*body)(Scalar, Scalar)) {
    r.add("_operator." + name, "a, b", joined(promotion, body), {"operator." + name});
    if (promotion == Promotion::test) return;
    const std::string augmented = "i" + (name.back() == '_' ? name.substr(0, name.size() - 1) : name);
    r.add("_operator." + augmented, "a, b", joined(promotion, body), {"operator." + augmented}).augmented = true;
  };
  two("add", Promotion::same, sum);
  two("sub", Promotion::same, [](Scalar a, Scalar b) { return a - b; });
  two("mul", Promotion::same, product_of);
  two("floordiv", Promotion::same, floor_division);
  two("mod", Promotion::same, modulo);
  two("pow", Promotion::same, power);
  two("eq", Promotion::test, [](Scalar a, Scalar b) { return a == b; });
  two("ne", Promotion::test, [](Scalar a, Scalar b) { return a != b; });
  two("lt", Promotion::test, [](Scalar a, Scalar b) { return a < b; });
  two("le", Promotion::test, [](Scalar a, Scalar b) { return a <= b; });
  two("gt", Promotion::test, [](Scalar a, Scalar b) { return a > b; });
  two("ge", Promotion::test, [](Scalar a, Scalar b) { return a >= b; });
  two("and_", Promotion::same, [](Scalar a, Scalar b) { return call(Function::bitand_, a, b); });
  two("or_", Promotion::same, [](Scalar a, Scalar b) { return call(Function::bitor_, a, b); });
  two("xor", Promotion::same, [](Scalar a, Scalar b) { return call(Function::bitxor_, a, b); });
  two("lshift", Promotion::same, [](Scalar a, Scalar b) { return call(Function::shl, a, b); });
  two("rshift", Promotion::same, [](Scalar a, Scalar b) { return call(Function::shr, a, b); });
  r.add("_operator.truediv", "a, b", define_true_division, {"operator.truediv"});
  r.add("_operator.itruediv", "a, b", define_true_division, {"operator.itruediv"}).augmented = true;
  r.add("sym_max", "a, b", joined(Promotion::same, [](Scalar a, Scalar b) { return max(a, b); }));
  r.add("sym_min", "a, b", joined(Promotion::same, [](Scalar a, Scalar b) { return min(a, b); }));
  r.add("sym_ite", "b, t, f", define_conditional);
  const auto one = [&](const char* name, Promotion promotion, Scalar (*body)(Scalar),
                       std::vector<std::string> aliases) {
    r.add(
        name, "a",
        [=](OpCall& c) {
          elementwise_of(c, {c.operand("a")}, promotion, [&](const std::vector<Scalar>& v) { return body(v[0]); });
        },
        std::move(aliases));
  };
  one("_operator.neg", Promotion::same, [](Scalar x) { return -x; }, {"operator.neg"});
  one("_operator.pos", Promotion::same, [](Scalar x) { return x; }, {"operator.pos"});
  one("_operator.invert", Promotion::same,
      [](Scalar x) { return x.type == DType::boolean ? !x : call(Function::bitnot, x); },
      {"operator.invert", "operator.inv"});
  one("sym_not", Promotion::same, [](Scalar x) { return !x; }, {"_operator.not_", "operator.not_"});
  r.add("sym_int", "a", [](OpCall& c) { convert_to(c, DType::i64); });
  r.add("sym_float", "a", [](OpCall& c) { convert_to(c, DType::f64); });
  r.add("math.trunc", "x", [](OpCall& c) { convert_to(c, DType::i64, "x"); });
  r.add("sym_sqrt", "a",
        [](OpCall& c) {
          c.add_result(c.elementwise({c.operand("a")}, DType::f64, DType::f64,
                                     [](const std::vector<Scalar>& v) { return call(Function::sqrt, v[0]); }));
        },
        {"_sym_sqrt"});
  r.add("item", "self", define_item, {"_local_scalar_dense"});
  r.add("sym_size", "self, dim",
        [](OpCall& c) {
          const SymbolicTensor x = c.tensor("self");
          require(x.rank() > 0, "a scalar has no sizes");
          give_integer(c, x.shape[size_t(wrap_dim(c.integer("dim"), x.rank()))]);
        },
        {"size"});
  r.add("sym_stride", "self, dim",
        [](OpCall& c) {
          const SymbolicTensor x = c.tensor("self");
          require(x.rank() > 0, "a scalar has no strides");
          const auto dim = size_t(wrap_dim(c.integer("dim"), x.rank()));
          give_integer(c, product(std::span(x.shape).subspan(dim + 1)));
        },
        {"stride"});
  r.add("sym_storage_offset", "self", [](OpCall& c) { give_integer(c, c.lowering().memory_offset(c.tensor("self"))); },
        {"storage_offset"});
  r.add("sym_numel", "self", [](OpCall& c) { give_integer(c, c.tensor("self").size()); }, {"numel"});
}

}  // namespace lightline::ops
