// Building loops from operators. An operator's definition says what each element of its result is; `Lowering`
// turns that into statements, keeps track of which values share storage, and folds views into subscripts.
//
// Room ops/build: what definitions of operators are written in: scalars, subscripts and symbolic tensors that become
// statements, calls with arguments by name, the registry.
// May use: base, graph, loops/ir.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "graph/strides.h"
#include "loops/ir/program.h"
#include "ops/build/index_algebra.h"

namespace lightline::ops {

using graph::channels_last_strides;
using graph::elementwise_strides;
using graph::is_dense;
using graph::Layout;
using graph::reshaped_strides;
using graph::row_major_strides;
using graph::simplified_strides;
using loops::Function;
using loops::Literal;
using loops::Reducer;

inline Literal zero() { return Literal::of(int64_t(0)); }

// Thrown by a definition when the node's arguments make no sense; `lower` turns it into an Error that names the node.
struct OpError {
  ErrorCode code;
  std::string message;
};
[[noreturn]] void fail(std::string message, ErrorCode code = ErrorCode::shape);
inline void require(bool condition, std::string_view message) {
  if (!condition) fail(std::string(message));
}

class Lowering;

// A scalar expression under construction. Operators join values of one compute type; numbers join any.
struct Scalar {
  Lowering* lowering = nullptr;
  loops::ExprId id = loops::none;
  DType type = DType::f32;  // compute type
  bool open = false;        // a literal: takes its neighbour's type
};

// An integer subscript under construction. Affine arithmetic, div and mod by constants.
struct Subscript {
  Lowering* lowering = nullptr;
  Sum sum;
};
using Indices = std::vector<Subscript>;

// A tensor of the source program: some storage seen through a chain of views.
struct SymbolicTensor {
  uint32_t storage = loops::none;
  uint32_t view = loops::none;  // into Lowering's views; none: the storage as it is
  DType dtype = DType::f32;
  Shape shape;
  Shape strides = {};  // that PyTorch would give it; empty: row-major
  int64_t rank() const { return int64_t(shape.size()); }
  int64_t size() const;
  Layout layout() const { return {shape, strides}; }
};

// What every element of a tensor is, as an expression in its indices that reads nothing: a constant, an iota, the
// counter of a loop, and what is computed from them. Reads of such a tensor take the expression.
struct Formula {
  std::function<std::optional<Subscript>(const Indices&)> index;  // an integer that fits the dtype, as a subscript
  std::function<Scalar(const Indices&)> value;                    // in the compute type of the tensor's dtype
  std::optional<Literal> constant;                                // the same value everywhere, known now
  std::optional<int64_t> iota;                                    // the dimension whose index is the value
  int weight = 1;                                                 // length of the expression
};

// One coordinate of the viewed tensor: constant + sum of coefficient * coordinate of the view.
struct AffineRow {
  int64_t constant = 0;
  std::vector<std::pair<int, int64_t>> terms;
};

struct ScatterWrite {
  Indices target;
  Scalar value;
};

struct RepeatYield {
  std::vector<SymbolicTensor> next;
  std::vector<SymbolicTensor> stacked;
};

class Lowering {
 public:
  explicit Lowering(loops::Program& program) : program_(program), block_(&program.statements) {}
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  loops::Program& program() { return program_; }

  // ---- values ----
  SymbolicTensor input(std::string name, DType dtype, Shape shape);
  // The array that holds a tensor; a view gets a `view` statement of its own first.
  loops::ArrayId array_of(const SymbolicTensor& tensor);
  // Writes through a tensor: every view of the same storage sees it from here on.
  void write(const SymbolicTensor& target, const SymbolicTensor& value);

  // ---- statements ----
  using Body = std::function<Scalar(const Indices&)>;
  using ReduceBody = std::function<Scalar(const Indices& index, const Indices& reduced)>;
  // Each element by its index. The value is converted to `dtype`.
  SymbolicTensor map(DType dtype, Shape shape, const Body& body);
  // Reduction over a box of `extents`. The body's own type is what is accumulated (bool for all and any).
  SymbolicTensor reduce(DType dtype, Shape shape, Reducer reducer, const Shape& extents, const ReduceBody& body,
                        std::optional<DType> accumulator = {});
  // A recurrence along `dim`; `self(distance, fill)` is the element `distance` steps earlier at the same other indices.
  using Self = std::function<Scalar(int64_t distance, Literal fill)>;
  SymbolicTensor scan(DType dtype, Shape shape, int64_t dim,
                      const std::function<Scalar(const Indices&, const Self&)>& body);
  using ScatterBody = std::function<ScatterWrite(const Indices&)>;
  SymbolicTensor scatter(Reducer reducer, const SymbolicTensor& init, const Shape& domain, const ScatterBody& body,
                         bool drop_outside = false);
  SymbolicTensor scatter(DType dtype, Shape shape, Literal init, Reducer reducer, const Shape& domain,
                         const ScatterBody& body, bool drop_outside = false);
  SymbolicTensor constant(DType dtype, Shape shape, std::vector<Literal> values);
  std::vector<SymbolicTensor> opaque(std::string name, const std::vector<SymbolicTensor>& operands,
                                     std::vector<std::pair<std::string, loops::Attribute>> attributes,
                                     const std::vector<TensorType>& results);
  // Runs `body` `count` times; gives the final carried tensors, then the stacked ones. With `conditional`, it ends
  // before the first step for which the first carried tensor, a bool[], is false.
  std::vector<SymbolicTensor> repeat(
      int64_t count, const std::vector<SymbolicTensor>& init,
      const std::function<RepeatYield(const Subscript& step, const std::vector<SymbolicTensor>& carried)>& body,
      bool conditional = false);

  // ---- views: no statement, no memory ----
  SymbolicTensor view(const SymbolicTensor& base, Shape shape,
                      std::vector<AffineRow> rows);  // one row per dimension of `base`
  // The same number of elements, row-major; a snapshot where PyTorch has to copy.
  SymbolicTensor reshape(const SymbolicTensor& base, Shape shape);
  SymbolicTensor permute(const SymbolicTensor& base, const std::vector<int64_t>& order);
  SymbolicTensor transpose(const SymbolicTensor& base, int64_t a, int64_t b);
  SymbolicTensor slice(const SymbolicTensor& base, int64_t dim, int64_t start, int64_t length,
                       int64_t step = 1);  // step may be negative
  SymbolicTensor select(const SymbolicTensor& base, int64_t dim, int64_t index);
  SymbolicTensor select(const SymbolicTensor& base, int64_t dim,
                        const Subscript& step);  // of a repeat, inside its block
  // The box of extents `shape` that begins at `start`, subscripts that hold in the block: of a repeat's counter.
  SymbolicTensor window(const SymbolicTensor& base, const Indices& start, Shape shape);
  SymbolicTensor expand(const SymbolicTensor& base, Shape shape);  // broadcast to `shape`, aligned at the right
  SymbolicTensor unsqueeze(const SymbolicTensor& base, int64_t dim);
  SymbolicTensor squeeze(const SymbolicTensor& base, int64_t dim);
  SymbolicTensor whole(const SymbolicTensor& tensor) const;  // the storage that a tensor shows, as it is
  int64_t storage_offset(const SymbolicTensor& tensor);      // row-major place of its first element in the storage
  SymbolicTensor memory(const SymbolicTensor& tensor);       // its storage in PyTorch's order, as one dimension
  int64_t memory_offset(const SymbolicTensor& tensor);       // place of its first element there
  // The elements as they are now: later writes to the one are not seen through the other. Costs nothing before one of
  // them is written, and a copy only if the snapshot is written in part.
  SymbolicTensor snapshot(const SymbolicTensor& tensor, Shape strides = {});
  // The tensor with the strides that PyTorch gives it.
  SymbolicTensor laid_out(SymbolicTensor tensor, Shape strides);
  bool same_elements(const SymbolicTensor& a, const SymbolicTensor& b) const;  // the same places of the same array
  bool in_same_array(const SymbolicTensor& a, const SymbolicTensor& b) const;
  size_t storage_count() const { return storages_.size(); }  // a tensor whose storage is below is none of a new one
  SymbolicTensor cast(const SymbolicTensor& tensor, DType dtype);  // the tensor itself if it has the dtype already
  SymbolicTensor copy(const SymbolicTensor& tensor);

  // ---- tensors known by formula ----
  void know(const SymbolicTensor& fresh, Formula formula);  // of a tensor that was just made
  const Formula* formula_of(
      const SymbolicTensor& tensor) const;  // of the storage that a tensor shows; null if there is none
  std::optional<Subscript> known_index(const SymbolicTensor& tensor,
                                       const Indices& at);              // an element, if a subscript can express it
  std::optional<int64_t> known_constant(const SymbolicTensor& tensor);  // the one element of an integer tensor

  // ---- reading ----
  Scalar read(const SymbolicTensor& tensor, const Indices& index);
  Scalar read(const SymbolicTensor& tensor, const Indices& index, Literal fill);  // the fill outside the tensor
  Scalar read_broadcast(const SymbolicTensor& tensor,
                        const Indices& index);  // aligned at the right; extents of 1 repeat

  // ---- expressions ----
  Scalar literal(Literal value);
  Scalar call(Function function, Scalar a, Scalar b = {}, Scalar c = {});
  Scalar convert(Scalar value, DType dtype);  // to the compute type of `dtype`; storing does the last rounding
  Scalar rounded(Scalar value, DType dtype);  // rounds to `dtype` here and now
  Scalar value(const Subscript& index);       // as an i64 value
  Subscript index(Scalar integer, Interval range = {INT64_MIN / 4, INT64_MAX / 4});
  Subscript constant_index(int64_t value) { return {this, IndexAlgebra::constant(value)}; }
  IndexAlgebra& algebra() { return algebra_; }

  // ---- groups and names, used by `lower` ----
  void begin_group(std::string name);
  void end_group();
  // Names the arrays from `first` on: results by the given names, the rest after the node.
  void name_arrays(size_t first, std::string_view node,
                   const std::vector<std::pair<SymbolicTensor, std::string>>& results);

 private:
  struct Storage {
    loops::ArrayId array;
    Shape strides = {};          // of what `own` shows
    uint32_t own = loops::none;  // the view that a snapshot was taken through: what views of the storage begin with
    // What the array holds: `none`, or `own` once a snapshot has an array to itself.
    uint32_t root = loops::none;
  };
  struct View {
    uint32_t parent;  // none: the storage
    Shape from;       // shape of what is viewed
    Shape to;
    std::vector<AffineRow> rows;  // empty: a reshape from `from` to `to`
    int depth = 1;
  };

  SymbolicTensor fresh(DType dtype, Shape shape);
  Indices stored_indices(const SymbolicTensor& tensor, const Indices& index);
  Scalar read_stored(const SymbolicTensor& tensor, const Indices& index);
  SymbolicTensor add_view(const SymbolicTensor& base, Shape shape, std::vector<AffineRow> rows);
  std::vector<Sum> through_view(uint32_t view, std::vector<Sum> coordinates, uint32_t root);
  std::vector<Sum> stored_coordinates(const SymbolicTensor& tensor, const Indices& index);
  bool shows_all(const SymbolicTensor& tensor) const { return tensor.view == storages_[tensor.storage].root; }
  void own_array(uint32_t storage, DType dtype);  // gives a snapshot an array to itself
  void push(loops::Statement statement);
  // Adds a statement whose one result is a new tensor.
  template <class Node>
  SymbolicTensor define(Node node, TensorType type) {
    SymbolicTensor result = fresh(type.dtype, std::move(type.shape));
    node.result = storages_[result.storage].array;
    push({std::move(node)});
    return result;
  }
  SymbolicTensor define_scatter(loops::Scatter scatter, TensorType type, const Shape& domain, const ScatterBody& body);
  loops::IndexId new_index(int64_t extent, loops::IndexKind kind, size_t ordinal);
  Indices new_indices(const Shape& extents, loops::IndexKind kind, std::vector<loops::IndexId>& ids);
  std::string unique_name(std::string_view wish);

  loops::Program& program_;
  std::vector<loops::Statement>* block_;
  IndexAlgebra algebra_;
  std::vector<Storage> storages_;
  std::vector<View> views_;
  std::map<std::array<uint32_t, 3>, loops::ArrayId> named_views_;  // by array, what it holds, and view
  std::unordered_map<loops::ArrayId, Formula> formulas_;           // by array
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int64_t> name_counts_;  // how often a name was wished for again
  uint32_t group_ = loops::none;
  bool group_used_ = false;
  std::string group_name_;
  int repeat_depth_ = 0;  // open repeat blocks
};

// ---- arithmetic on Scalar: joins two of one type, or one with a number ----
Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator-(Scalar a);
Scalar operator==(Scalar a, Scalar b);
Scalar operator!=(Scalar a, Scalar b);
Scalar operator<(Scalar a, Scalar b);
Scalar operator<=(Scalar a, Scalar b);
Scalar operator>(Scalar a, Scalar b);
Scalar operator>=(Scalar a, Scalar b);
Scalar operator&&(Scalar a, Scalar b);
Scalar operator||(Scalar a, Scalar b);
Scalar operator!(Scalar a);
Scalar number(const Scalar& like,
              double value);  // a literal beside `like`; whole numbers stay integers for integer types
Scalar number(const Scalar& like, int64_t value);
#define LL_NUMBER_OPERATOR(op)                                                \
  inline Scalar operator op(Scalar a, double b) { return a op number(a, b); } \
  inline Scalar operator op(double a, Scalar b) { return number(b, a) op b; }
LL_NUMBER_OPERATOR(+)
LL_NUMBER_OPERATOR(-)
LL_NUMBER_OPERATOR(*)
LL_NUMBER_OPERATOR(/)
LL_NUMBER_OPERATOR(==)
LL_NUMBER_OPERATOR(!=)
LL_NUMBER_OPERATOR(<)
LL_NUMBER_OPERATOR(<=)
LL_NUMBER_OPERATOR(>)
LL_NUMBER_OPERATOR(>=)
#undef LL_NUMBER_OPERATOR
Scalar call(Function function, Scalar a);
Scalar call(Function function, Scalar a, Scalar b);
Scalar select(Scalar condition, Scalar yes, Scalar no);
inline Scalar select(Scalar condition, Scalar yes, double no) { return select(condition, yes, number(yes, no)); }
inline Scalar select(Scalar condition, double yes, Scalar no) { return select(condition, number(no, yes), no); }
Scalar max(Scalar a, Scalar b);
Scalar min(Scalar a, Scalar b);
inline Scalar max(Scalar a, double b) { return max(a, number(a, b)); }
inline Scalar min(Scalar a, double b) { return min(a, number(a, b)); }
Scalar convert(Scalar value, DType dtype);

// ---- arithmetic on Subscript ----
Subscript operator+(const Subscript& a, const Subscript& b);
Subscript operator-(const Subscript& a, const Subscript& b);
Subscript operator+(const Subscript& a, int64_t b);
Subscript operator-(const Subscript& a, int64_t b);
Subscript operator-(int64_t a, const Subscript& b);
Subscript operator*(const Subscript& a, int64_t b);
Subscript operator*(int64_t a, const Subscript& b);
Subscript div(const Subscript& a, int64_t divisor);
Subscript mod(const Subscript& a, int64_t divisor);
Scalar value(const Subscript& index);  // as an i64 value

// ---- shapes ----
int64_t wrap_dim(int64_t dim, int64_t rank);  // -1 is the last; fails when out of range
Shape broadcast(const Shape& a, const Shape& b);
int64_t product(std::span<const int64_t> extents);

}  // namespace lightline::ops
