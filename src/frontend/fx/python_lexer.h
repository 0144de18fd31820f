// Tokens of Python source text, one at a time. Used by python_text.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lightline::frontend::python {

enum class TokenKind : uint8_t { end, newline, name, integer, real, imaginary, string, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // of a string: between the quotes
  int line = 1;
  int column = 1;
};

// Thrown by the lexer and the parser; `parse` turns it into an Error.
struct SyntaxError {
  ErrorCode code;
  std::string message;
  std::string hint;
  int line;
  int column;
};

// Line ends inside brackets, comments and blank lines are no tokens.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();

 private:
  void skip_space();
  bool skip_continuation();
  Token take(TokenKind kind, size_t size);
  Token number();
  Token string_literal();
  Token symbol();
  char at(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  int line_ = 1;
  int depth_ = 0;         // of brackets
  bool at_start_ = true;  // nothing on this logical line yet
};

}  // namespace lightline::frontend::python
