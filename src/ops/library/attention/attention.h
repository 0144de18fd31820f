// Softmax attention: scores, a masked softmax kept unnormalised, and one division at the end.
#pragma once

#include <optional>

#include "ops/build/op_call.h"

namespace lightline::ops {

struct AttentionInputs {
  SymbolicTensor query, key,
      value;  // [..., heads, rows, features]; key and value may have fewer heads, each shared by several
  std::optional<SymbolicTensor> mask;  // broadcasts to the scores; bool: where to look, float: added
  bool causal = false;                 // row i looks at columns up to i
  double scale = 1;
  double dropout = 0;
  bool zero_if_fully_masked = true;  // a row whose columns are all masked gives 0, otherwise NaN
};

// Loops over everything in front of the matrices. Shared heads are two loops, so that subscripts stay affine.
class AttentionLoops {
 public:
  explicit AttentionLoops(const AttentionInputs& inputs);
  const Shape& extents() const { return extents_; }  // of the loops
  size_t count() const { return extents_.size(); }
  bool shares_heads() const { return shared_ > 1; }
  int64_t sharing() const { return shared_; }                    // query heads per key head
  Shape shape(std::initializer_list<int64_t> more) const;        // the loops' extents, then some more
  Shape query_shape(std::initializer_list<int64_t> more) const;  // batch and query heads, then some more
  Indices query_side(const Indices& loops) const;                // batch and query head
  Indices key_side(const Indices& loops) const;                  // batch and key head

  int64_t rows, columns, features, value_features;

 private:
  Shape leading_, extents_;
  int64_t shared_ = 1;
};

// The loops' first indices, then some more.
Indices extended(Indices indices, std::initializer_list<Subscript> more);

struct Attention {
  SymbolicTensor out;           // [..., heads, rows, value features], in the query's dtype
  SymbolicTensor exponentials;  // [loops..., rows, columns]
  SymbolicTensor highest;       // [loops..., rows]: the highest score, -inf where all are masked
  SymbolicTensor sums, maxima;  // [loops..., rows]: probabilities are exponentials / sums; 0 for a maximum of -inf
};
Attention attend(Lowering& l, const AttentionInputs& inputs);

// query * key, scaled and masked: [loops..., rows, columns] in the compute type.
SymbolicTensor attention_logits(Lowering& l, const AttentionInputs& inputs, const AttentionLoops& loops);

// [..., heads, rows, columns] in `dtype`.
SymbolicTensor attention_probabilities(Lowering& l, DType dtype, const AttentionInputs& inputs,
                                       const Attention& attention);
// log of the sum of the exponentials of a row; +inf for a row whose columns are all masked.
SymbolicTensor attention_logsumexp(Lowering& l, DType dtype, const AttentionInputs& inputs, const Attention& attention);

double attention_scale(OpCall& c, const SymbolicTensor& query);  // the argument "scale", or 1 / sqrt(features)

class Registry;
void register_attention_backward(Registry& r);
void register_multi_head_attention(Registry& r);

}  // namespace lightline::ops
