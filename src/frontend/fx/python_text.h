// The straight-line subset of Python that torch.fx prints: imports, classes of assignments, and functions whose
// bodies only assign, call and return. Nothing is run. Texts view into the source, which must outlive the module.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lightline::frontend::python {

using ExprId = uint32_t;
inline constexpr ExprId no_expr = UINT32_MAX;

enum class ExprKind : uint8_t {
  name,       // text; None, True, False and Ellipsis are names too
  integer,    // text
  real,       // text
  imaginary,  // text, without the j
  string,     // text between the quotes, escapes as written
  ellipsis,   // ...
  tuple,      // children
  list,       // children
  dict,       // children: key, value, key, value, ...
  attribute,  // text: the name; child: the object
  call,       // children: the function, then arguments, of which some are keywords
  keyword,    // text: the name; child: the value
  starred,    // child
  subscript,  // children: the object, the index
  slice,      // children: start, stop, step; no_expr where absent
  unary,      // text: the operator; child
  binary,     // text: the operator; children
  compare,    // text: the operator; children
};

struct Expr {
  ExprKind kind = ExprKind::name;
  int line = 0;
  int column = 0;
  std::string_view text;
  uint32_t first = 0;  // children: a range of Module::children
  uint32_t count = 0;
  int depth = 0;  // of the tree below; limited, so that readers may recurse
};

enum class StatementKind : uint8_t { assign, augmented, expression, returned };

struct Statement {
  StatementKind kind = StatementKind::expression;
  int line = 0;
  std::string_view text;        // the operator of an augmented assignment: "+"
  std::vector<ExprId> targets;  // of `a = b = value`
  ExprId value = no_expr;       // absent for a bare return
};

struct Parameter {
  std::string_view name;
  ExprId annotation = no_expr;
  int line = 0;
};

struct Function {
  std::string_view name;
  int line = 0;
  std::vector<Parameter> parameters;
  std::vector<Statement> body;
};

struct Class {
  std::string_view name;
  int line = 0;
  std::vector<Statement> fields;
  std::vector<Function> methods;
};

struct Module {
  std::vector<Expr> exprs;
  std::vector<ExprId> children;
  std::vector<Class> classes;

  const Expr& at(ExprId id) const { return exprs[id]; }
  std::span<const ExprId> children_of(const Expr& expr) const {
    return std::span(children).subspan(expr.first, expr.count);
  }
};

Result<Module> parse(std::string_view text, std::string_view file);

// What an integer or string literal says; an error names the place.
Result<int64_t> integer_value(const Expr& literal, bool negative, std::string_view file);
std::string string_value(const Expr& literal);

}  // namespace lightline::frontend::python
