// Lowering of graphs from Python source: numbers, tuples and shapes are computed here and now, calls in the many ways
// that PyTorch spells them become calls of the registry's operators.
//
// Room ops/python: what GraphNet programs need beside operators: Python values, indexing, autocast, vmap.
// May use: base, graph, loops/ir, loops/interpret, ops/build, ops/catalogue.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "ops/build/lowering.h"
#include "ops/python/autocast.h"
#include "ops/python/known_values.h"
#include "ops/python/values.h"

namespace lightline::ops {

class PythonLowering {
 public:
  using Values = std::vector<std::optional<SymbolicTensor>>;
  struct Applied {
    std::vector<std::optional<SymbolicTensor>> results;
    bool returns_sequence = false;  // a list, even of one
  };
  // Lowers one call of an operator whose arguments are tensors and plain values.
  using Apply = std::function<Applied(const graph::Node&)>;
  using Count = std::function<void(const std::string& name)>;

  // `values` holds the tensors of the graph's values; there is room behind them for the length of a call.
  PythonLowering(const graph::Graph& graph, Lowering& lowering, Values& values, std::vector<std::string>& assumptions,
                 Apply apply, Count count);

  void know(const SymbolicTensor& input, const lightline::Tensor& content);  // the values of an input
  // Lowers a node and remembers its result.
  void lower(const graph::Node& node);
  // The tensors in a value: one, or those of a tuple; none for a number.
  std::vector<SymbolicTensor> tensors_in(graph::ValueId id) const;

 private:
  using Handler = std::optional<PyValue> (PythonLowering::*)(const PyCall&);
  static const std::unordered_map<std::string_view, Handler>& handlers();

  PyValue evaluate(PyCall call);
  std::optional<PyValue> evaluate_here(const PyCall& call);
  PyCall resolve(const graph::Node& node) const;
  PyValue value_of(const graph::Argument& argument) const;
  PyValue value_of(graph::ValueId id) const;
  graph::Argument argument_of(const PyValue& value);
  graph::Argument sequence_argument(const std::vector<PyValue>& items);
  void assume(std::string text);

  // ---- lowering.cpp: calls ----
  PyValue apply_operator(PyCall call);
  void fold_sizes(PyCall& call);
  SymbolicTensor apply_one(std::string target, std::vector<PyCall::Argument> arguments);
  std::optional<graph::Argument> known_scalar(const SymbolicTensor& tensor);
  const lightline::Tensor* known_storage(
      const SymbolicTensor& tensor);  // the values of what a tensor shows, if they are known
  SymbolicTensor as_tensor(const PyValue& value, std::optional<DType> dtype = {});

  // ---- objects.cpp: handlers; none leaves the call to the operators ----
  std::optional<PyValue> make_tuple(const PyCall& call);
  std::optional<PyValue> make_slice(const PyCall& call);
  std::optional<PyValue> make_ellipsis(const PyCall& call);
  std::optional<PyValue> get_attribute(const PyCall& call);
  std::optional<PyValue> size_of(const PyCall& call);
  std::optional<PyValue> rank_of(const PyCall& call);
  std::optional<PyValue> count_of(const PyCall& call);
  std::optional<PyValue> is_floating_point(const PyCall& call);
  std::optional<PyValue> always_true(const PyCall& call);
  std::optional<PyValue> item_of(const PyCall& call);
  std::optional<PyValue> sum_of_numbers(const PyCall& call);
  std::optional<PyValue> listed(const PyCall& call);
  std::optional<PyValue> make_tensor(const PyCall& call);
  SymbolicTensor written_tensor(const PyValue& value, std::optional<DType> dtype);
  bool has_unknown_element(const PyValue& value);
  static DType written_dtype(const PyValue& value);
  std::optional<PyValue> enter_autocast(const PyCall& call);
  std::optional<PyValue> exit_autocast(const PyCall& call);
  std::optional<PyValue> tensor_attribute(const SymbolicTensor& tensor, std::string_view name);

  // ---- indexing.cpp ----
  struct BasicIndex {
    SymbolicTensor view;
    std::vector<std::optional<SymbolicTensor>> advanced;  // one per dimension of the view
  };
  std::optional<PyValue> get_item(const PyCall& call);
  std::optional<PyValue> set_item(const PyCall& call);
  PyValue element_of(const PyValue& sequence, const PyValue& index);
  BasicIndex basic_index(const SymbolicTensor& base, const PyValue& index);
  SymbolicTensor sliced(const SymbolicTensor& base, int64_t dim, const PyValue& slice);
  SymbolicTensor selected_by_mask(const BasicIndex& index);
  std::optional<std::vector<PyValue>> known_positions(const SymbolicTensor& mask);
  PyValue index_list(const std::vector<std::optional<SymbolicTensor>>& advanced);

  // ---- data_sizes.cpp ----
  std::optional<std::vector<int64_t>> known_integers(const SymbolicTensor& tensor);
  std::optional<PyValue> positions_of_nonzero(const PyCall& call);
  std::optional<PyValue> masked_select(const PyCall& call);
  std::optional<PyValue> repeat_interleave(const PyCall& call);
  std::optional<PyValue> one_hot(const PyCall& call);
  std::optional<PyValue> unique(const PyCall& call);
  std::optional<PyValue> non_maximum_suppression(const PyCall& call);

  // ---- vmap.cpp: tensors with hidden dimensions, one per level of vmap ----
  std::optional<PyValue> add_batch_dim(const PyCall& call);
  std::optional<PyValue> remove_batch_dim(const PyCall& call);
  std::vector<int64_t> align_levels(PyCall& call);

  Lowering& lowering_;
  Values& values_;
  std::vector<std::string>& assumptions_;
  Apply apply_;
  Count count_;
  std::vector<std::optional<PyValue>> python_;  // values that are not tensors
  KnownArrays known_;
  std::unordered_set<loops::ArrayId> unknown_;  // arrays whose values could not be found
  size_t searched_ = 0;                         // statements and expressions, over all attempts
  std::deque<lightline::Tensor> constants_;     // behind known_
  Autocast autocast_;
};

// Brings a call into the form that the registry's parameters describe: sizes as one list, overloads by kind of
// argument, synonyms of names. In call_rewrites.cpp.
void normalise_call(PyCall& call);

}  // namespace lightline::ops
