// Matrix products of quantised operands, and products over groups of rows.
#include <fmt/format.h>

#include "base/maths.h"
#include "ops/build/registry.h"
#include "ops/library/contraction/contraction.h"

namespace lightline::ops {
namespace {

// How a scale belongs to the elements of an operand: one per `rows` x `depth` block, `depth` along the summed
// dimension.
struct Scale {
  SymbolicTensor tensor;
  int64_t depth = 0;  // 0: all of it
  std::function<Indices(const Subscript& row, const Subscript& block)> at;
};

// 128 x 4 tiles of 32 x 4 x 4 scales, the layout of block-scaled tensor cores.
Indices swizzled(const Subscript& row, const Subscript& block, int64_t blocks) {
  const int64_t tiles = ceil_div(blocks, 4);
  const Subscript tile = div(row, 128) * tiles + div(block, 4);
  return {tile * 512 + mod(row, 32) * 16 + div(mod(row, 128), 32) * 4 + mod(block, 4)};
}

// `rows` and `k`: extents of the operand. `along`: the dimension of a plain scale that follows k.
Scale scale_of(Lowering& l, const SymbolicTensor& scale, int64_t rows, int64_t k, size_t along) {
  const Subscript zero = l.constant_index(0);
  if (scale.size() == 1)
    return {l.reshape(scale, {1}), 0, [=](const Subscript&, const Subscript&) { return Indices{zero}; }};
  if (scale.rank() == 2 && scale.dtype == DType::f32) {
    const int64_t blocks = scale.shape[along], tiles = scale.shape[1 - along];
    const bool by_row = tiles == rows, by_tile = tiles == ceil_div(rows, 128);
    if ((by_row || by_tile) && (blocks == 1 || blocks == ceil_div(k, 128))) {
      return {scale, blocks == 1 ? 0 : 128, [=](const Subscript& row, const Subscript& block) {
                const Subscript tile = by_row ? row : div(row, 128);
                return along == 1 ? Indices{tile, block} : Indices{block, tile};
              }};
    }
  }
  const int64_t depth = scale.dtype == DType::f8e4m3 ? 16 : 32, blocks = ceil_div(k, depth);
  if (scale.dtype != DType::f32 && scale.size() == ceil_div(rows, 128) * 128 * ceil_div(blocks, 4) * 4)
    return {l.reshape(scale, {scale.size()}), depth,
            [=](const Subscript& row, const Subscript& block) { return swizzled(row, block, blocks); }};
  fail(
      fmt::format("scales of shape {} do not fit an operand of {} rows and depth {}", to_string(scale.shape), rows, k));
}

// One product per block of the summed dimension; scaling and adding them up comes after.
SymbolicTensor block_products(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b, int64_t depth,
                              int64_t blocks) {
  const int64_t k = a.shape[1];
  return l.reduce(DType::f32, {blocks, a.shape[0], b.shape[1]}, Reducer::sum, {depth},
                  [&](const Indices& i, const Indices& r) {
                    const Subscript at = i[0] * depth + r[0];
                    if (k % depth == 0) return l.read(a, {i[1], at}) * l.read(b, {at, i[2]});
                    return l.read(a, {i[1], at}, Literal::of(0.0)) * l.read(b, {at, i[2]}, Literal::of(0.0));
                  });
}

void scaled_mm(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor a = c.tensor("self"), b = c.tensor("mat2");
  require(a.rank() == 2 && b.rank() == 2 && a.shape[1] == b.shape[0], "the matrices do not multiply");
  const DType dtype = c.dtype("out_dtype", a.dtype);
  const int64_t rows = a.shape[0], columns = b.shape[1], k = a.shape[1];
  const Scale scale_a = scale_of(l, c.tensor("scale_a"), rows, k, 1),
              scale_b = scale_of(l, c.tensor("scale_b"), columns, k, 0);
  require(scale_a.depth == scale_b.depth, "the scales of both operands come in blocks of different sizes");
  const auto factor = [&](const Subscript& row, const Subscript& column, const Subscript& block) {
    return l.read(scale_a.tensor, scale_a.at(row, block)) * l.read(scale_b.tensor, scale_b.at(column, block));
  };
  const auto bias = c.tensor_if("bias");
  const auto result_scale = c.tensor_if("scale_result");
  const bool scales_result = result_scale && bits(dtype) == 8;
  const auto finish = [&](Scalar sum, const Indices& i) {
    const Scalar biased = bias ? sum + convert(l.read_broadcast(*bias, i), DType::f32) : sum;
    return scales_result ? biased * l.read_broadcast(l.reshape(*result_scale, {}), i) : biased;
  };
  const Subscript zero = l.constant_index(0);
  if (scale_a.depth == 0) {
    const SymbolicTensor sum = matrix_product(l, DType::f32, a, b);
    return c.add_result(l.map(dtype, {rows, columns},
                              [&](const Indices& i) { return finish(l.read(sum, i) * factor(i[0], i[1], zero), i); }));
  }
  const int64_t blocks = ceil_div(k, scale_a.depth);
  const SymbolicTensor parts = block_products(l, a, b, scale_a.depth, blocks);
  const bool plain = !bias && !scales_result;
  const SymbolicTensor sum = l.reduce(plain ? dtype : DType::f32, {rows, columns}, Reducer::sum, {blocks},
                                      [&](const Indices& i, const Indices& r) {
                                        return l.read(parts, {r[0], i[0], i[1]}) * factor(i[0], i[1], r[0]);
                                      });
  c.add_result(plain ? sum : l.map(dtype, sum.shape, [&](const Indices& i) { return finish(l.read(sum, i), i); }));
}

void int8_weight_product(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), weight = c.tensor("mat2"), scales = c.tensor("scales");
  require(x.rank() == 2 && weight.rank() == 2 && scales.size() == weight.shape[0],
          "the operands of a weight-only product do not fit");
  const SymbolicTensor sum = contract(l, DType::f32, {x, {0, 1}}, {weight, {2, 1}}, {0, 2});
  c.add_result(l.map(x.dtype, sum.shape, [&](const Indices& i) {
    return l.read(sum, i) * l.read(l.reshape(scales, {weight.shape[0]}), {i[1]});
  }));
}

// Packed in a layout that belongs to the device.
void int4_weight_product(OpCall& c) {
  const SymbolicTensor x = c.tensor("self"), weight = c.tensor("mat2");
  std::vector<SymbolicTensor> operands{x, weight};
  for (const std::string_view name : {"qScaleAndZeros", "qScale", "qZeros"})
    if (const auto tensor = c.tensor_if(name)) operands.push_back(*tensor);
  const auto recorded = c.recorded(0);
  require(x.rank() == 2 && (recorded || !weight.shape.empty()), "the operands of a packed product do not fit");
  const int64_t columns = recorded && recorded->shape.size() == 2 ? recorded->shape[1]
                          : weight.rank() == 4                    ? weight.shape[0] * 8
                                                                  : weight.shape[0];
  c.add_result(c.lowering().opaque("int4_packed_product", operands, {{"group", c.integer("qGroupSize", 0)}},
                                   {{x.dtype, {x.shape[0], columns}}})[0]);
}

// The group of every position below `count`: how many ends lie at or before it.
SymbolicTensor group_of_position(Lowering& l, const SymbolicTensor& ends, int64_t count) {
  return l.reduce(DType::i64, {count}, Reducer::sum, {ends.shape[0]}, [&](const Indices& i, const Indices& g) {
    return convert(convert(l.read(ends, g), DType::i64) <= value(i[0]), DType::i64);
  });
}

// The rows of a, or the columns of b, or the summed dimension come in groups that end at `offs`.
SymbolicTensor grouped_product(Lowering& l, DType dtype, const SymbolicTensor& a, const SymbolicTensor& b,
                               const std::optional<SymbolicTensor>& ends) {
  if (a.rank() == 3 && b.rank() == 3) return matrix_product(l, dtype, a, b);
  require(ends && ends->rank() == 1 && a.rank() >= 2 && b.rank() >= 2,
          "a grouped product needs the ends of its groups");
  const int64_t groups = ends->shape[0], k = a.shape.back();
  require(k == b.shape[b.shape.size() - 2], "the matrices do not multiply");
  if (a.rank() == 2 && b.rank() == 2) {
    const SymbolicTensor group = group_of_position(l, *ends, k);
    const SymbolicTensor sum = l.scatter(
        compute_type(dtype), {groups, a.shape[0], b.shape[1]}, Literal::of(int64_t(0)), Reducer::sum,
        {k, a.shape[0], b.shape[1]},
        [&](const Indices& i) {
          return ScatterWrite{{l.index(l.read(group, {i[0]})), i[1], i[2]},
                              l.read(a, {i[1], i[0]}) * l.read(b, {i[0], i[2]})};
        },
        true);
    return l.cast(sum, dtype);
  }
  require((a.rank() == 3 ? a : b).shape[0] == groups, "there are as many groups as matrices");
  const bool by_rows = a.rank() == 2;
  const SymbolicTensor group = group_of_position(l, *ends, by_rows ? a.shape[0] : b.shape[1]);
  const Shape shape{a.shape[a.shape.size() - 2], b.shape.back()};
  return l.reduce(dtype, shape, Reducer::sum, {k}, [&](const Indices& i, const Indices& r) {
    // positions past the last group belong to none: 0
    const Subscript g = l.index(l.read(group, {by_rows ? i[0] : i[1]}));
    const Scalar left = by_rows ? l.read(a, {i[0], r[0]}) : l.read(a, {g, i[0], r[0]}, Literal::of(int64_t(0)));
    const Scalar right = by_rows ? l.read(b, {g, r[0], i[1]}, Literal::of(int64_t(0))) : l.read(b, {r[0], i[1]});
    return left * right;
  });
}

void grouped_mm(OpCall& c) {
  const SymbolicTensor a = c.tensor("self"), b = c.tensor("mat2");
  require(!c.has("bias"), "a grouped product with a bias is not defined in PyTorch");
  c.add_result(grouped_product(c.lowering(), c.dtype("out_dtype", common_dtype(a, b)), a, b, c.tensor_if("offs")));
}

}  // namespace

void register_scaled_products(Registry& r) {
  r.add("_scaled_mm", "self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum", scaled_mm);
  r.add("_int_mm", "self, mat2",
        [](OpCall& c) { c.add_result(matrix_product(c.lowering(), DType::i32, c.tensor("self"), c.tensor("mat2"))); });
  r.add("_weight_int8pack_mm", "self, mat2, scales", int8_weight_product);
  r.add("_weight_int4pack_mm", "self, mat2, qGroupSize, qScaleAndZeros", int4_weight_product,
        {"_weight_int4pack_mm_for_cpu", "_weight_int4pack_mm_with_scales_and_zeros"})
      .opaque = true;
  r.add("_grouped_mm", "self, mat2, offs, bias, out_dtype", grouped_mm, {"grouped_mm"});
  r.add("transformers.grouped_mm_fallback", "input, weight, offs",
        [](OpCall& c) {
          const SymbolicTensor x = c.tensor("input");
          c.add_result(grouped_product(c.lowering(), x.dtype, x, c.tensor("weight"), c.tensor("offs")));
        },
        {"transformers.grouped_mm_fallback.default"});
}

}  // namespace lightline::ops
