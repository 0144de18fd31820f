#include "loops/ir/print.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace lightline::loops {
namespace {

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string run() {
    begin_line(0);
    put("program {}(", program_.name);
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      param(program_.inputs[i]);
    }
    out_ += ") -> (";
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += name(program_.outputs[i].array);
      if (program_.outputs[i].replaces != none) put(" as {}", name(program_.outputs[i].replaces));
    }
    out_ += ") {";
    end_line();
    block(program_.statements, 1);
    end_block(0);
    end_line();
    leading_comments(0, none);
    return std::move(out_);
  }

  std::string run(ExprId id) {
    expr(id, 0);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  const std::string& name(ArrayId id) const { return program_.arrays[id].name; }
  const std::string& index_name(IndexId id) const { return program_.indices[id].name; }

  // ---- lines, and the comments before and after each ----
  void leading_comments(int indent, uint32_t up_to) {
    for (; next_comment_ < program_.comments.size(); ++next_comment_) {
      const Comment& comment = program_.comments[next_comment_];
      if (comment.line > up_to || (comment.line == up_to && comment.trailing)) return;
      out_.append(2 * size_t(indent), ' ');
      put("{}{}\n", comment.text.empty() ? "#" : "# ", comment.text);
    }
  }
  void begin_line(int indent) {
    leading_comments(indent, line_);
    out_.append(2 * size_t(indent), ' ');
  }
  void end_line() {
    if (next_comment_ < program_.comments.size() && program_.comments[next_comment_].line == line_) {
      const std::string& text = program_.comments[next_comment_++].text;
      put("{}{}", text.empty() ? "  #" : "  # ", text);
    }
    out_ += '\n';
    ++line_;
  }
  // The brace that closes a block; comments before it belong to the block.
  void end_block(int indent) {
    leading_comments(indent + 1, line_);
    out_.append(2 * size_t(indent), ' ');
    out_ += '}';
  }

  void param(ArrayId id) {
    const Array& array = program_.arrays[id];
    out_ += array.name;
    out_ += ": ";
    out_ += lightline::name(array.dtype);
    out_ += '[';
    for (size_t i = 0; i < array.shape.size(); ++i) put("{}{}", i > 0 ? ", " : "", array.shape[i]);
    out_ += ']';
  }

  void block(const std::vector<Statement>& statements, int indent) {
    uint32_t group = none;
    for (const Statement& statement : statements) {
      if (statement.group != group) {
        group = statement.group;
        begin_line(indent);
        put("@ \"{}\"", group == none ? "" : program_.groups[group]);
        end_line();
      }
      begin_line(indent);
      std::visit([&](const auto& node) { print(node, indent); }, statement.node);
      end_line();
    }
  }
  void results(const std::vector<ArrayId>& ids) {
    if (ids.size() == 1) {
      param(ids[0]);
    } else {
      out_ += '(';
      for (size_t i = 0; i < ids.size(); ++i) {
        if (i > 0) out_ += ", ";
        param(ids[i]);
      }
      out_ += ')';
    }
    out_ += " = ";
  }
  void ranges(const std::vector<IndexId>& ids) {
    for (size_t i = 0; i < ids.size(); ++i)
      put("{}{} in {}", i > 0 ? ", " : "", index_name(ids[i]), program_.indices[ids[i]].extent);
  }

  void print(const Compute& compute, int) {
    param(compute.result);
    out_ += " = ";
    if (compute.is_view) {
      out_ += "view";
      for (size_t i = 0; i < compute.loops.size(); ++i) put("{}{}", i > 0 ? ", " : " ", index_name(compute.loops[i]));
      out_ += ": ";
    } else if (!compute.loops.empty()) {
      const bool scan_first = program_.indices[compute.loops[0]].kind == IndexKind::scan;
      if (!scan_first) out_ += "for ";
      for (size_t i = 0; i < compute.loops.size(); ++i) {
        const bool scan = program_.indices[compute.loops[i]].kind == IndexKind::scan;
        put("{}{}{}", i > 0 ? ", " : "", scan ? "scan " : "", index_name(compute.loops[i]));
      }
      out_ += ": ";
    }
    if (compute.reducer != Reducer::none) {
      out_ += loops::name(compute.reducer);
      if (compute.has_accumulator) put("[{}]", lightline::name(compute.accumulator));
      out_ += ' ';
      ranges(compute.reduced);
      out_ += ": ";
    }
    expr(compute.body, 0);
  }
  void print(const Scatter& scatter, int) {
    param(scatter.result);
    put(" = scatter {} ", loops::name(scatter.reducer));
    ranges(scatter.domain);
    out_ += scatter.domain.empty() ? "into " : " into ";
    if (scatter.init_array != none) {
      out_ += name(scatter.init_array);
    } else {
      expr(scatter.init_literal, 0);
    }
    out_ += ": [";
    for (size_t i = 0; i < scatter.target.size(); ++i) {
      if (i > 0) out_ += ", ";
      expr(scatter.target[i], 0);
    }
    if (scatter.drop_outside) out_ += scatter.target.empty() ? "| drop" : " | drop";
    out_ += "] <- ";
    expr(scatter.body, 0);
  }
  void print(const Constant& constant, int) {
    param(constant.result);
    out_ += " = const [";
    for (size_t i = 0; i < constant.values.size(); ++i) {
      if (i > 0) out_ += ", ";
      literal(constant.values[i]);
    }
    out_ += ']';
  }
  void print(const Opaque& opaque, int) {
    results(opaque.results);
    put("opaque {}(", opaque.name);
    bool first = true;
    for (const ArrayId operand : opaque.operands) {
      put("{}{}", first ? "" : ", ", name(operand));
      first = false;
    }
    for (const auto& [key, value] : opaque.attributes) {
      put("{}{} = ", first ? "" : ", ", key);
      first = false;
      std::visit([&](const auto& v) { attribute(v); }, value);
    }
    out_ += ')';
  }
  void attribute(int64_t value) { put("{}", value); }
  void attribute(double value) { literal(Literal::of(value)); }
  void attribute(bool value) { put("{}", value); }
  void attribute(const std::string& value) { put("\"{}\"", value); }
  void attribute(const std::vector<int64_t>& values) {
    out_ += '[';
    for (size_t i = 0; i < values.size(); ++i) put("{}{}", i > 0 ? ", " : "", values[i]);
    out_ += ']';
  }
  void print(const Repeat& repeat, int indent) {
    results(repeat.results);
    put("repeat {} in {} carry (", index_name(repeat.counter), program_.indices[repeat.counter].extent);
    for (size_t i = 0; i < repeat.carries.size(); ++i)
      put("{}{} = {}", i > 0 ? ", " : "", name(repeat.carries[i].inner), name(repeat.carries[i].init));
    out_ += ')';
    if (repeat.condition != none) put(" while {}", name(repeat.condition));
    out_ += " {";
    end_line();
    block(repeat.body, indent + 1);
    begin_line(indent + 1);
    out_ += "yield (";
    bool first = true;
    for (const Repeat::Carry& carry : repeat.carries) {
      put("{}{}", first ? "" : ", ", name(carry.next));
      first = false;
    }
    for (const ArrayId stacked : repeat.stacked) {
      put("{}stack {}", first ? "" : ", ", name(stacked));
      first = false;
    }
    out_ += ')';
    end_line();
    end_block(indent);
  }

  void literal(const Literal& value) {
    if (value.kind == Literal::Kind::integer) {
      put("{}", value.integer);
    } else if (value.kind == Literal::Kind::boolean) {
      out_ += value.integer != 0 ? "true" : "false";
    } else if (std::isnan(value.floating)) {
      out_ += std::signbit(value.floating) ? "-nan" : "nan";
    } else if (std::isinf(value.floating)) {
      out_ += value.floating < 0 ? "-inf" : "inf";
    } else {
      const size_t before = out_.size();
      put("{}", value.floating);
      if (out_.find_first_of(".e", before) == std::string::npos) out_ += ".0";
    }
  }

  static int strength(const Expr& e) {
    if (e.kind != ExprKind::call) return 8;
    switch (e.function) {
      case Function::logical_or: return 1;
      case Function::logical_and: return 2;
      case Function::logical_not: return 3;
      case Function::eq:
      case Function::ne:
      case Function::lt:
      case Function::le:
      case Function::gt:
      case Function::ge: return 4;
      case Function::add:
      case Function::sub: return 5;
      case Function::mul:
      case Function::divide:
      case Function::div:
      case Function::mod: return 6;
      case Function::neg: return 7;
      default: return 8;
    }
  }

  // Prints with parentheses if the expression binds weaker than `weakest`.
  void expr(ExprId id, int weakest) {
    const Expr& e = program_.exprs[id];
    const int own = strength(e);
    const bool parentheses = own < weakest;
    if (parentheses) out_ += '(';
    switch (e.kind) {
      case ExprKind::literal: literal(e.literal); break;
      case ExprKind::index: out_ += index_name(e.args[0]); break;
      case ExprKind::cast:
        put("{}(", lightline::name(e.target));
        expr(e.args[0], 0);
        out_ += ')';
        break;
      case ExprKind::read:
        put("{}[", name(e.args[0]));
        for (uint32_t i = 0; i < e.args[2]; ++i) {
          if (i > 0) out_ += ", ";
          expr(subscripts_of(program_, e)[i], 4);
        }
        if (e.has_fill) {
          out_ += e.args[2] > 0 ? " | " : "| ";
          literal(e.literal);
        }
        out_ += ']';
        break;
      case ExprKind::call: call(e, own); break;
    }
    if (parentheses) out_ += ')';
  }
  void call(const Expr& e, int own) {
    const FunctionInfo& function = info(e.function);
    if (own == 8) {
      put("{}(", function.text);
      for (int i = 0; i < function.arity; ++i) {
        if (i > 0) out_ += ", ";
        expr(e.args[i], 0);
      }
      out_ += ')';
    } else if (e.function == Function::neg) {
      // -(1) keeps a negated literal apart from the literal -1.
      const bool is_literal = program_.exprs[e.args[0]].kind == ExprKind::literal;
      out_ += is_literal ? "-(" : "-";
      expr(e.args[0], 7);
      if (is_literal) out_ += ')';
    } else if (e.function == Function::logical_not) {
      out_ += "not ";
      expr(e.args[0], 3);
    } else {
      expr(e.args[0], own == 4 ? 5 : own);
      put(" {} ", function.text);
      expr(e.args[1], own + 1);
    }
  }

  const Program& program_;
  std::string out_;
  size_t next_comment_ = 0;
  uint32_t line_ = 0;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).run(); }
std::string print(const Program& program, ExprId expr) { return Printer(program).run(expr); }

}  // namespace lightline::loops
