// The Affine Loop IR as data: single-assignment statements over typed, statically shaped arrays.
// docs/loop-ir.md is the language; this header is its shape in memory. Everything is an index into a vector.
//
// Room loops/ir: the Affine Loop IR as data and text: parser, printer, verifier, intervals, the functions of the
// language and their meaning on single values. Nothing here runs a program.
// May use: base.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/tensor.h"
#include "loops/ir/functions.h"

namespace lightline::loops {

using ArrayId = uint32_t;
using IndexId = uint32_t;
using ExprId = uint32_t;
inline constexpr uint32_t none = UINT32_MAX;

// Byte offset into the source text; `none` for programs built in memory.
using Position = uint32_t;

struct Array {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Position position = none;
};

enum class IndexKind : uint8_t { parallel, scan, reduce, repeat };

struct Index {
  std::string name;
  int64_t extent = 0;  // runs over 0 <= index < extent
  IndexKind kind = IndexKind::parallel;
};

struct Literal {
  enum class Kind : uint8_t { integer, floating, boolean };
  Kind kind = Kind::integer;
  int64_t integer = 0;  // also 0 or 1 for boolean
  double floating = 0;
  static Literal of(int64_t value) { return {Kind::integer, value, double(value)}; }
  static Literal of(double value) { return {Kind::floating, 0, value}; }
  static Literal of_bool(bool value) { return {Kind::boolean, value, double(value)}; }
};
bool same(const Literal& a, const Literal& b);

enum class ExprKind : uint8_t {
  literal,  // takes the type its context asks for
  index,    // the value of a loop index, i64
  read,     // array[subscripts], or array[subscripts | fill]
  call,     // function(args)
  cast,     // dtype(arg): converts and rounds to `target`
};

struct Expr {
  ExprKind kind = ExprKind::literal;
  Function function = Function::add;  // call
  DType type = DType::f32;            // the compute type of the value; set by verify
  DType target = DType::f32;          // cast
  bool has_fill = false;              // read: `literal` is the value outside the array
  uint32_t args[3] = {
      none, none,
      none};        // call, cast: operands; index: {IndexId}; read: {ArrayId, first, count} into Program::subscripts
  Literal literal;  // literal, or the fill of a read
  Position position = none;
};

// name: dtype[shape] = for i, scan t, ...: reducer k in 8, ...: body
// A `view` is the same thing, but promises to be a plain read that needs no memory of its own.
struct Compute {
  ArrayId result = none;
  bool is_view = false;
  std::vector<IndexId> loops;  // one per dimension of the result, in order; at most one is a scan
  Reducer reducer = Reducer::none;
  DType accumulator = DType::f32;  // meaningful with a reducer; set by verify unless has_accumulator
  bool has_accumulator = false;    // written as sum[f64]
  std::vector<IndexId> reduced;
  ExprId body = none;
};

// name: dtype[shape] = scatter reducer i in 8, ... into init: [subscripts] <- body
// Runs over its domain in row-major order; `init` is an array or a literal.
struct Scatter {
  ArrayId result = none;
  Reducer reducer = Reducer::set;
  std::vector<IndexId> domain;
  ArrayId init_array = none;
  ExprId init_literal = none;  // used when init_array is none
  std::vector<ExprId> target;  // one subscript per dimension of the result
  bool drop_outside = false;   // [ ... | drop]: writes outside the array are dropped
  ExprId body = none;
};

// name: dtype[shape] = const [1, 2, 3]: row-major values
struct Constant {
  ArrayId result = none;
  std::vector<Literal> values;  // one value stands for all elements
};

using Attribute = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

// (v: ..., i: ...) = opaque topk(x, k = 8)
struct Opaque {
  std::vector<ArrayId> results;
  std::string name;
  std::vector<ArrayId> operands;
  std::vector<std::pair<std::string, Attribute>> attributes;
};

struct Statement;

// (h: ..., ys: ...) = repeat t in 512 carry (h_in = h0) { ...; yield (h_next, stack y) }
// Results are the final carried arrays, then the stacked ones with a leading dimension of the count. `while go` ends it
// before the first step for which the carried truth value `go` is false; then it stacks nothing.
struct Repeat {
  struct Carry {
    ArrayId inner = none;  // its name inside the block: dtype and shape of init
    ArrayId init = none;
    ArrayId next = none;  // yielded
  };
  std::vector<ArrayId> results;
  IndexId counter = none;
  ArrayId condition = none;  // the inner name of a carried bool[]
  std::vector<Carry> carries;
  std::vector<ArrayId> stacked;
  std::vector<Statement> body;
};

struct Statement {
  std::variant<Compute, Scatter, Constant, Opaque, Repeat> node;
  uint32_t group = none;  // the operator it belongs to, an index into Program::groups
  Position position = none;
};

// A comment of the source text, kept so that formatting does not lose it. Not part of equality.
// Lines count from 0 in canonical text without its comments: the header, each group and statement, each end of a block.
struct Comment {
  uint32_t line = 0;
  bool trailing = false;  // stands at the end of its line, not before it
  std::string text;       // without the #
};

struct Output {
  ArrayId array = none;
  ArrayId replaces = none;  // `y as x`: the result takes the storage of input x, only what changed is written
};

struct Program {
  std::string name = "main";
  std::vector<Array> arrays;
  std::vector<Index> indices;
  std::vector<Expr> exprs;
  std::vector<ExprId> subscripts;
  std::vector<ArrayId> inputs;
  std::vector<Output> outputs;
  std::vector<Statement> statements;
  std::vector<std::string>
      groups;  // `@ "name"` starts one: the statements that together are one operator of the source program
  std::vector<Comment> comments;

  // Builders append to the pools and return the new id.
  ArrayId add_array(std::string name, DType dtype, Shape shape, Position position = none);
  IndexId add_index(std::string name, int64_t extent, IndexKind kind);
  ExprId literal(Literal value, Position position = none);
  ExprId index(IndexId index, Position position = none);
  ExprId call(Function function, ExprId a, ExprId b = none, ExprId c = none, Position position = none);
  ExprId cast(DType target, ExprId value, Position position = none);
  ExprId read(ArrayId array, std::span<const ExprId> subscripts, std::optional<Literal> fill = {},
              Position position = none);
};

// The subscripts of a read.
inline const ExprId* subscripts_of(const Program& program, const Expr& read) {
  return program.subscripts.data() + read.args[1];
}

// Structural equality: same names, types, statements and expressions, wherever they lie in the pools.
bool equal(const Program& a, const Program& b);

// Points of the box that the indices span, as f64: there may be more than i64 can count.
double point_count(const Program& program, std::span<const IndexId> indices);

// Arrays a statement defines, in order.
std::vector<ArrayId> results_of(const Statement& statement);

}  // namespace lightline::loops
