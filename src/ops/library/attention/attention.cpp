#include "ops/library/attention/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/build/registry.h"
#include "ops/library/contraction/contraction.h"
#include "ops/library/random/dropout.h"

namespace lightline::ops {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Shape appended(Shape shape, std::initializer_list<int64_t> more) {
  shape.insert(shape.end(), more);
  return shape;
}

Shape without_matrix(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

bool may_be_fully_masked(const AttentionInputs& inputs) { return inputs.mask && inputs.zero_if_fully_masked; }

DType compute_of(const AttentionInputs& inputs) { return compute_type(inputs.query.dtype); }

void require_rank(const AttentionInputs& inputs) {
  const auto rank = inputs.query.rank();
  require(rank >= 2 && inputs.key.rank() == rank && inputs.value.rank() == rank,
          "query, key and value of an attention have one rank, of at least 2");
  if (inputs.query.shape.back() != inputs.key.shape.back())
    fail(fmt::format("queries of {} features meet keys of {}", inputs.query.shape.back(), inputs.key.shape.back()));
  require(inputs.key.shape[size_t(rank) - 2] == inputs.value.shape[size_t(rank) - 2],
          "there are as many keys as values");
  common_dtype(inputs.query, inputs.key);
  common_dtype(inputs.query, inputs.value);
}

// Rows [loops..., rows, n] divided by sums [loops..., rows], as [..., heads, rows, n].
SymbolicTensor divided_by_sums(Lowering& l, DType dtype, const AttentionLoops& loops, const SymbolicTensor& rows,
                               const Attention& attention, bool zero_where_empty) {
  const Shape shape = loops.query_shape({loops.rows, rows.shape.back()}), lines = loops.query_shape({loops.rows});
  const SymbolicTensor values = l.reshape(rows, shape), divisors = l.reshape(attention.sums, lines);
  const SymbolicTensor highest = l.reshape(attention.highest, lines);
  return l.map(dtype, shape, [&](const Indices& i) {
    const Indices line(i.begin(), i.end() - 1);
    const Scalar quotient = l.read(values, i) / l.read(divisors, line);
    return zero_where_empty ? select(l.read(highest, line) == -infinity, 0.0, quotient) : quotient;
  });
}

}  // namespace

AttentionLoops::AttentionLoops(const AttentionInputs& inputs) {
  require_rank(inputs);
  const SymbolicTensor &q = inputs.query, &k = inputs.key, &v = inputs.value;
  const size_t rank = q.shape.size();
  rows = q.shape[rank - 2];
  columns = k.shape[rank - 2];
  features = q.shape[rank - 1];
  value_features = v.shape[rank - 1];
  Shape keys = broadcast(without_matrix(k.shape), without_matrix(v.shape));
  leading_ = without_matrix(q.shape);
  if (rank >= 3) {
    const int64_t heads = leading_.back(), key_heads = keys.back();
    if (heads != key_heads && heads != 1 && key_heads > 1) {
      if (heads % key_heads != 0) fail(fmt::format("{} query heads can not share {} key heads", heads, key_heads));
      shared_ = heads / key_heads;
      keys.back() = heads;
    }
  }
  leading_ = broadcast(leading_, keys);
  extents_ = leading_;
  if (shared_ > 1) {
    extents_.back() = leading_.back() / shared_;
    extents_.push_back(shared_);
  }
}

Shape AttentionLoops::shape(std::initializer_list<int64_t> more) const { return appended(extents_, more); }
Shape AttentionLoops::query_shape(std::initializer_list<int64_t> more) const { return appended(leading_, more); }

Indices AttentionLoops::query_side(const Indices& loops) const {
  Indices index(loops.begin(), loops.begin() + int64_t(count()));
  if (shared_ == 1) return index;
  const Subscript head = index[count() - 2] * shared_ + index[count() - 1];
  index.pop_back();
  index.back() = head;
  return index;
}

Indices AttentionLoops::key_side(const Indices& loops) const {
  return {loops.begin(), loops.begin() + int64_t(count() - (shared_ > 1 ? 1 : 0))};
}

Indices extended(Indices indices, std::initializer_list<Subscript> more) {
  indices.insert(indices.end(), more);
  return indices;
}

SymbolicTensor attention_logits(Lowering& l, const AttentionInputs& inputs, const AttentionLoops& loops) {
  const DType compute = compute_of(inputs);
  const size_t n = loops.count();
  const Shape full = loops.query_shape({loops.rows, loops.columns});
  if (inputs.mask && broadcast(full, inputs.mask->shape) != full)
    fail(fmt::format("a mask of shape {} does not fit scores of shape {}", to_string(inputs.mask->shape),
                     to_string(full)));
  const SymbolicTensor scores =
      l.reduce(compute, loops.shape({loops.rows, loops.columns}), Reducer::sum, {loops.features},
               [&](const Indices& i, const Indices& d) {
                 return l.read_broadcast(inputs.query, extended(loops.query_side(i), {i[n], d[0]})) *
                        l.read_broadcast(inputs.key, extended(loops.key_side(i), {i[n + 1], d[0]}));
               });
  if (inputs.scale == 1 && !inputs.mask && !inputs.causal) return scores;
  return l.map(compute, scores.shape, [&](const Indices& i) {
    Scalar logit = l.read(scores, i);
    if (inputs.scale != 1) logit = logit * inputs.scale;
    if (inputs.mask) {
      const Scalar mask = l.read_broadcast(*inputs.mask, extended(loops.query_side(i), {i[n], i[n + 1]}));
      logit = mask.type == DType::boolean ? select(mask, logit, -infinity) : logit + convert(mask, compute);
    }
    return inputs.causal ? select(value(i[n + 1]) <= value(i[n]), logit, -infinity) : logit;
  });
}

Attention attend(Lowering& l, const AttentionInputs& inputs) {
  const AttentionLoops loops(inputs);
  const DType compute = compute_of(inputs);
  const size_t n = loops.count();
  const SymbolicTensor logits = attention_logits(l, inputs, loops);
  const Shape rows = loops.shape({loops.rows});
  const bool guarded = may_be_fully_masked(inputs) || loops.columns == 0;
  Attention result;
  result.highest = l.reduce(compute, rows, Reducer::max, {loops.columns},
                            [&](const Indices& i, const Indices& j) { return l.read(logits, extended(i, {j[0]})); });
  result.maxima = result.highest;
  if (guarded)
    result.maxima = l.map(compute, rows, [&](const Indices& i) {
      const Scalar maximum = l.read(result.highest, i);
      return select(maximum == -infinity, 0.0, maximum);
    });
  result.exponentials = l.map(compute, logits.shape, [&](const Indices& i) {
    return call(Function::exp, l.read(logits, i) - l.read(result.maxima, {i.begin(), i.end() - 1}));
  });
  result.sums = l.reduce(compute, rows, Reducer::sum, {loops.columns}, [&](const Indices& i, const Indices& j) {
    return l.read(result.exponentials, extended(i, {j[0]}));
  });
  const SymbolicTensor weights = drop_out(l, result.exponentials, inputs.dropout);
  const SymbolicTensor mixed =
      l.reduce(compute, loops.shape({loops.rows, loops.value_features}), Reducer::sum, {loops.columns},
               [&](const Indices& i, const Indices& j) {
                 Indices at(i.begin(), i.end() - 1);
                 return l.read(weights, extended(at, {j[0]})) *
                        l.read_broadcast(inputs.value, extended(loops.key_side(i), {j[0], i[n + 1]}));
               });
  result.out = divided_by_sums(l, inputs.query.dtype, loops, mixed, result, guarded);
  return result;
}

SymbolicTensor attention_probabilities(Lowering& l, DType dtype, const AttentionInputs& inputs,
                                       const Attention& attention) {
  return divided_by_sums(l, dtype, AttentionLoops(inputs), attention.exponentials, attention,
                         may_be_fully_masked(inputs));
}

SymbolicTensor attention_logsumexp(Lowering& l, DType dtype, const AttentionInputs& inputs,
                                   const Attention& attention) {
  const AttentionLoops loops(inputs);
  const Shape shape = loops.query_shape({loops.rows});
  const SymbolicTensor sums = l.reshape(attention.sums, shape), maxima = l.reshape(attention.maxima, shape);
  return l.map(dtype, shape, [&](const Indices& i) {
    const Scalar sum = l.read(sums, i), logarithm = l.read(maxima, i) + call(Function::log, sum);
    return convert(may_be_fully_masked(inputs) ? select(sum == 0.0, infinity, logarithm) : logarithm, dtype);
  });
}

double attention_scale(OpCall& c, const SymbolicTensor& query) {
  require(!query.shape.empty(), "an attention needs matrices");
  return c.number("scale", 1 / std::sqrt(double(query.shape.back())));
}

namespace {

AttentionInputs inputs_of(OpCall& c, std::string_view mask) {
  AttentionInputs inputs{
      c.tensor("query"),       c.tensor("key"), c.tensor("value"), c.tensor_if(mask), c.flag("is_causal", false), 1,
      c.number("dropout_p", 0)};
  const int64_t rank = std::max({inputs.query.rank(), inputs.key.rank(), inputs.value.rank()});
  for (SymbolicTensor* x : {&inputs.query, &inputs.key, &inputs.value})
    while (x->rank() < rank) *x = c.lowering().unsqueeze(*x, 0);
  inputs.scale = attention_scale(c, inputs.query);
  if (inputs.mask && inputs.mask->dtype != DType::boolean)
    require(is_float(inputs.mask->dtype), "the mask of an attention is bool or float");
  return inputs;
}

// Results that only a device's own backward reads: seeds, offsets, debug masks, lengths.
void give_rest(OpCall& c, const AttentionInputs& inputs) {
  for (size_t i = c.results.size(); i < c.node().results.size(); ++i) {
    const auto type = c.recorded(i);
    if (!type) {
      c.add_empty_result();
      continue;
    }
    const bool length = type->shape.empty() && (i == 4 || i == 5);
    const int64_t rows = (i == 4 ? inputs.query : inputs.key).shape[2];
    const Literal value =
        type->dtype == DType::boolean ? Literal::of_bool(false) : Literal::of(length ? rows : int64_t(0));
    c.add_result(c.lowering().constant(type->dtype, type->shape, {value}));
  }
}

void scaled_dot_product_attention(OpCall& c) {
  const AttentionInputs inputs = inputs_of(c, "attn_mask");
  require(!(inputs.mask && inputs.causal), "an attention has a mask or is causal, not both");
  const SymbolicTensor out = attend(c.lowering(), inputs).out;
  if (out.rank() != 4) return c.add_result(out);
  // the kernels lay their result out by token
  const int64_t token = out.shape[1] * out.shape[3];
  c.add_result(c.lowering().laid_out(out, {out.shape[2] * token, out.shape[3], token, 1}));
}

void attention_math(OpCall& c) {
  AttentionInputs inputs = inputs_of(c, "attn_mask");
  if (inputs.mask) inputs.mask = c.lowering().cast(*inputs.mask, inputs.query.dtype);  // bool counts as 0 and 1 here
  if (c.has("dropout_mask")) fail("an attention with a given dropout mask is not supported", ErrorCode::unsupported);
  const Attention attention = attend(c.lowering(), inputs);
  c.add_result(attention.out);
  c.add_result(attention_probabilities(c.lowering(), inputs.query.dtype, inputs, attention));
}

// How a kernel of a device writes the log-sum-exp.
enum class RowLayout { plain, unit_column, multiple_of_32 };

void fused_attention(OpCall& c, std::string_view mask, RowLayout layout) {
  Lowering& l = c.lowering();
  const AttentionInputs inputs = inputs_of(c, mask);
  require(inputs.query.rank() >= 3, "a fused attention needs heads");
  const Attention attention = attend(c.lowering(), inputs);
  c.add_result(attention.out);
  SymbolicTensor rows = attention_logsumexp(l, compute_of(inputs), inputs, attention);
  if (layout == RowLayout::unit_column) rows = l.unsqueeze(rows, -1);
  if (layout == RowLayout::multiple_of_32) {
    Shape padded = rows.shape;
    padded.back() = c.flag("compute_log_sumexp", false) ? (padded.back() + 31) / 32 * 32 : 0;
    rows = l.map(rows.dtype, padded,
                 [&, unpadded = rows](const Indices& i) { return l.read(unpadded, i, Literal::of(infinity)); });
  }
  c.add_result(rows);
  give_rest(c, inputs);
}

}  // namespace

void register_attention(Registry& r) {
  r.add("scaled_dot_product_attention", "query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa",
        scaled_dot_product_attention);
  r.add("_scaled_dot_product_attention_math",
        "query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa", attention_math,
        {"_scaled_dot_product_attention_math_for_mps"});
  r.add("_scaled_dot_product_flash_attention_for_cpu", "query, key, value, dropout_p, is_causal, attn_mask, scale",
        [](OpCall& c) { fused_attention(c, "attn_mask", RowLayout::plain); });
  r.add("_scaled_dot_product_flash_attention", "query, key, value, dropout_p, is_causal, return_debug_mask, scale",
        [](OpCall& c) { fused_attention(c, "attn_mask", RowLayout::plain); });
  r.add("_scaled_dot_product_efficient_attention",
        "query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale",
        [](OpCall& c) { fused_attention(c, "attn_bias", RowLayout::multiple_of_32); });
  r.add("_scaled_dot_product_cudnn_attention",
        "query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, return_debug_mask, scale",
        [](OpCall& c) { fused_attention(c, "attn_bias", RowLayout::unit_column); });
  r.add("_scaled_dot_product_fused_attention_overrideable",
        "query, key, value, attn_bias, dropout_p, is_causal, return_debug_mask, scale",
        [](OpCall& c) { fused_attention(c, "attn_bias", RowLayout::plain); });
  register_attention_backward(r);
  register_multi_head_attention(r);
}

}  // namespace lightline::ops
