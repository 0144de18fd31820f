// Compute types of expressions: literals are open until a neighbour or the statement decides.
#pragma once

#include <string_view>

#include "base/error.h"
#include "loops/ir/program.h"

namespace lightline::loops {

struct ValueType {
  enum class Kind : uint8_t { typed, integer_literal, floating_literal };
  Kind kind = Kind::typed;
  DType type = DType::f32;
  bool is_typed() const { return kind == Kind::typed; }
};

class TypeChecker {
 public:
  TypeChecker(Program& program, std::string_view text, std::string_view file)
      : program_(program), text_(text), file_(file) {}

  // The type of an expression, setting Expr::type below it. Does not descend into subscripts.
  Result<ValueType> infer(ExprId id);
  // Gives an expression of open literals its type; a typed one must have it already.
  Status settle(ExprId id, DType type);

 private:
  Error error(ExprId at, std::string message, std::string hint = "") const;
  Result<ValueType> infer_call(ExprId id);
  Result<ValueType> infer_read(ExprId id);
  // One type for both: the typed side decides, two open sides stay open.
  Result<ValueType> unify(ExprId parent, ExprId a, ValueType type_a, ExprId b, ValueType type_b);
  Result<ValueType> result_of(ExprId id, ValueType argument);

  Program& program_;
  std::string_view text_;
  std::string_view file_;
};

}  // namespace lightline::loops
