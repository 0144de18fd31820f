// Tokens of the Affine Loop IR. One token of look-ahead; comments are set aside, not lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loops/program.h"

namespace lightline::loops {

enum class Token : uint8_t { end, name, integer, floating, string, symbol };

// Thrown inside the parser only; `parse` turns it into an Error.
struct SyntaxError {
  ErrorCode code;
  std::string message;
  std::string hint;
  Position position;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text);

  Token kind() const { return kind_; }
  std::string_view text() const { return {start_, size_t(cursor_ - start_)}; }  // of the current token
  Position position() const { return Position(start_ - begin_); }
  char symbol() const { return kind_ == Token::symbol ? *start_ : '\0'; }
  bool is(std::string_view word) const { return text() == word && kind_ != Token::end && kind_ != Token::string; }
  void advance();

  // Comments seen so far; the parser decides which statement each belongs to.
  std::vector<Comment> comments;

 private:
  void skip_space();

  const char* begin_;
  const char* end_;
  const char* start_;
  const char* cursor_;
  Token kind_ = Token::end;
};

}  // namespace lightline::loops
