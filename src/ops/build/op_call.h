// One call of an operator, as its definition sees it: arguments by name, and results to give.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/promotion.h"
#include "ops/build/lowering.h"

namespace lightline::ops {

// An argument that may be a tensor or a plain number.
struct Operand {
  std::optional<SymbolicTensor> tensor;
  graph::Argument scalar;  // bool, int64_t, double or complex when there is no tensor
  Shape shape() const { return tensor ? tensor->shape : Shape{}; }
};
bool is_number(const Operand& operand, double value);  // a plain number that has this value

using graph::category;
using graph::Category;
using graph::floating_type;

// The dtype PyTorch computes in: graph/promotion.h.
DType result_type(const std::vector<Operand>& operands);
// That of the parts and magnitudes of complex numbers.
inline DType real_type(DType dtype) { return dtype == DType::c64 ? DType::f32 : dtype; }

// add(x, y, out=z): z takes the result and is it.
SymbolicTensor write_out(Lowering& lowering, const SymbolicTensor& out, const SymbolicTensor& result);

class Registry;

class OpCall {
 public:
  // `parameters`: the names in order, separated by commas, for sources that pass arguments by position.
  OpCall(const Registry& operators, Lowering& lowering, const graph::Graph& graph, const graph::Node& node,
         std::string_view parameters, const std::vector<std::optional<SymbolicTensor>>& values)
      : operators_(operators),
        lowering_(lowering),
        graph_(graph),
        node_(node),
        parameters_(parameters),
        values_(values) {}

  const Registry& operators() const { return operators_; }
  Lowering& lowering() { return lowering_; }
  const graph::Node& node() const { return node_; }
  const graph::Graph& graph() const { return graph_; }
  std::string_view overload() const;  // "dim_IntList" of aten.sum.dim_IntList, or ""

  // ---- arguments ----
  const std::optional<SymbolicTensor>& value(graph::ValueId id) const { return values_[id]; }
  const graph::Argument* argument(std::string_view name) const;  // null if absent
  bool has(std::string_view name) const;                         // present and not None
  SymbolicTensor tensor(std::string_view name) const;
  std::optional<SymbolicTensor> tensor_if(std::string_view name) const;
  std::vector<SymbolicTensor> tensors(std::string_view name) const;
  std::vector<std::optional<SymbolicTensor>> optional_tensors(std::string_view name) const;
  Operand operand(std::string_view name) const;
  Operand operand_or(std::string_view name, double fallback) const;
  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  bool flag(std::string_view name, bool fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  DType dtype(std::string_view name, DType fallback) const;
  std::optional<DType> dtype_if(std::string_view name) const;
  // The strides that memory_format= asks for; none if it leaves them to the operator.
  std::optional<Shape> memory_format(const Shape& shape) const;
  std::vector<int64_t> integers(std::string_view name) const;  // one integer counts as a list of one
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> fallback) const;
  // A list of `count`: a shorter list of one is repeated; absent or empty gives `fallback` everywhere.
  std::vector<int64_t> integers(std::string_view name, size_t count, int64_t fallback) const;
  std::vector<double> numbers(std::string_view name, std::vector<double> fallback) const;
  // Whether anything takes result `i`.
  bool is_used(size_t i) const { return i < node().results.size() && node().results[i] != graph::no_value; }
  // Recorded type and strides of result `i`, where the source says them.
  std::optional<TensorType> recorded(size_t i) const;
  std::optional<Shape> recorded_strides(size_t i) const;

  // Runs the graph that an argument names on the given tensors and gives its results.
  std::vector<SymbolicTensor> lower_subgraph(std::string_view name, const std::vector<SymbolicTensor>& inputs);
  std::function<std::vector<SymbolicTensor>(const graph::Graph& body, const std::vector<SymbolicTensor>& inputs)>
      lower_graph;  // set by `lower`

  // ---- results ----
  void add_result(SymbolicTensor tensor) { results.push_back(std::move(tensor)); }
  void add_empty_result() { results.push_back(std::nullopt); }
  std::vector<std::optional<SymbolicTensor>> results;
  std::vector<std::string> assumptions;  // said in every report

  // ---- elementwise ----
  Scalar read_as(const Operand& operand, const Indices& index,
                 DType dtype);  // broadcast, converted to dtype's compute type
  // Broadcasts the operands, computes in `compute`, stores `result`.
  using ElementBody = std::function<Scalar(const std::vector<Scalar>&)>;
  SymbolicTensor elementwise(const std::vector<Operand>& operands, DType compute, DType result,
                             const ElementBody& body);

 private:
  const Registry& operators_;
  Lowering& lowering_;
  const graph::Graph& graph_;
  const graph::Node& node_;
  std::string_view parameters_;
  const std::vector<std::optional<SymbolicTensor>>& values_;
};

}  // namespace lightline::ops
