// What the definitions of StableHLO operators share.
//
// Elementwise operators are functions of scalars, so that the same definition serves tensors and the bodies of
// reductions, scatters and sorts. ui16, ui32 and ui64 live in the bits of the signed type of the same width; a node
// whose first operand is one of them has the argument "unsigned", one whose result is one "result_unsigned". Integers of
// fewer than 8 bits live in i8 or u8, whose values they keep: "width" and "result_width" say how many bits they have.
//
// Room ops/stablehlo: the operators of StableHLO, where the library's own do not serve.
// May use: base, graph, loops/ir, ops/build, ops/library.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/build/op_call.h"

namespace lightline::ops {

class Registry;
void register_stablehlo(Registry& r);
void register_stablehlo_scalars(Registry& r);
void register_stablehlo_shapes(Registry& r);
void register_stablehlo_contraction(Registry& r);
void register_stablehlo_reduction(Registry& r);
void register_stablehlo_indexing(Registry& r);
void register_stablehlo_loops(Registry& r);
void register_stablehlo_ordering(Registry& r);
void register_stablehlo_linear(Registry& r);
void register_stablehlo_householder(Registry& r);
void register_stablehlo_branches(Registry& r);
void register_stablehlo_ragged(Registry& r);

}  // namespace lightline::ops

namespace lightline::ops::stablehlo {

// ---- scalars ----
struct ScalarCall {
  Lowering& lowering;
  const graph::Node& node;
  DType operand;  // storage type of the first operand
  DType result;
  bool is_unsigned = false;
  bool result_unsigned = false;
  int width = 0;  // bits of the first operand
  int result_width = 0;

  std::string_view text(std::string_view name) const;  // of an attribute, or ""
  int64_t integer(std::string_view name, int64_t fallback) const;
};
using ScalarFunction = Scalar (*)(const ScalarCall&, const std::vector<Scalar>&);

struct ScalarOperator {
  std::string_view name;        // "stablehlo.add"
  std::string_view parameters;  // "lhs, rhs"
  ScalarFunction function;
};
const std::vector<ScalarOperator>& scalar_operators();
const ScalarOperator* scalar_operator(std::string_view target);  // null if the operator is not elementwise
void require_arity(const ScalarOperator& op, size_t operands);
// Fails unless there are as many values as parameters, of types that fit.
Scalar apply(const ScalarOperator& op, const ScalarCall& scalar, const std::vector<Scalar>& values);
ScalarCall scalar_of(Lowering& lowering, const graph::Graph& graph, const graph::Node& node);

std::vector<ScalarOperator> arithmetic_operators();
std::vector<ScalarOperator> bit_operators();
std::vector<ScalarOperator> transcendental_operators();
std::vector<ScalarOperator> special_operators();

// The value that zero extension gives, in i64; of ui64: the bits. `width`: of fewer bits than the dtype has.
Scalar zero_extended(Scalar value, DType dtype, int width = 0);
// The bits of a value in an integer of its own width, and the value that the low bits of an integer stand for.
Scalar bits_of_value(const Scalar& x, DType dtype);
Scalar value_of_bits(const Scalar& raw, DType dtype);
// The value that the low bits of an i8 or u8 have.
Scalar wrapped(const Scalar& value, DType dtype, int width);
Scalar unsigned_less(Scalar a, Scalar b);

// ---- calls ----
// Numbers of foreign programs are checked before anything is computed from them.
inline bool is_modest(int64_t value, int64_t limit = int64_t(1) << 31) { return value > -limit && value < limit; }

std::vector<SymbolicTensor> operands(const OpCall& call);  // the positional ones
SymbolicTensor first_operand(const OpCall& call);
TensorType result_type_of(const OpCall& call, size_t i = 0);
const graph::Argument* node_argument(const graph::Node& node, std::string_view name);
std::vector<graph::ValueId> operand_ids(const graph::Node& node);  // the positional ones
std::vector<int64_t> node_integers(const graph::Node& node, std::string_view name);
// Tensors that the body of region `i` uses besides its arguments.
std::vector<SymbolicTensor> captures(const OpCall& call, size_t i);
const graph::Graph& region(const OpCall& call, size_t i);

// The value of a tensor that is the same everywhere, where it is known before the program runs.
std::optional<Literal> known_literal(const Lowering& lowering, const SymbolicTensor& tensor);

// An element for use in a subscript: read from memory even where a formula is known, since subscripts take only some
// expressions.
Scalar read_memory(Lowering& lowering, const SymbolicTensor& tensor, const Indices& index);

// The value of a stand-in for a tensor that a loop fills slice by slice: nothing reads it, and the one operator that
// updates it leaves the slice here instead.
struct StackedUpdate {
  std::shared_ptr<std::optional<SymbolicTensor>> slice;
  Scalar operator()(const Indices&) const;
};

// ---- bodies of scalars ----
// Runs a body whose values are all scalars on the given ones and gives one of its results; captured tensors must be
// scalars too.
Scalar evaluate(Lowering& lowering, const graph::Graph& body, std::vector<Scalar> inputs,
                const std::vector<SymbolicTensor>& captured, size_t result);
// What a body without captures is, as far as it is one of these.
enum class KeptExtreme : uint8_t { none, greatest, least };
struct SortKey {
  enum class Part : uint8_t { whole, real, imag };
  size_t operand = 0;
  Part part = Part::whole;
  bool descending = false;
  bool is_unsigned = false;
  bool total = false;  // by the bits of floats
};
struct BodyKind {
  std::optional<Reducer> reducer;  // (accumulated, element) -> accumulated
  // (value, position, other value, other position) -> those of the greatest or least value, the first one of equals,
  // and NaN above all
  KeptExtreme extreme = KeptExtreme::none;
  KeptExtreme selected = KeptExtreme::none;  // (a, b) -> whether a is kept
  // (left 0, right 0, left 1, right 1, ...) -> whether the left ones come first: by one key after the other
  std::optional<std::vector<SortKey>> keys;
};
BodyKind recognised(const graph::Graph& body);

// A literal of the dtype, from the reals or integers of a constant.
Scalar literal_of(Lowering& lowering, DType dtype, double real, int64_t integer);

}  // namespace lightline::ops::stablehlo
