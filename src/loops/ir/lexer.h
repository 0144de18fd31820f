// Tokens of the Affine Loop IR. One token of look-ahead; comments are set aside, not lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loops/ir/program.h"

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
  [[gnu::always_inline]] bool is(std::string_view word) const {
    return text() == word && kind_ != Token::end && kind_ != Token::string;
  }
  void advance();

  // Comments since the parser last took them; it decides which line each belongs to.
  struct Remark {
    Position before;  // where the next token starts
    bool same_line;   // as the token before it
    std::string_view text;
  };
  std::vector<Remark> remarks;

  // To look ahead: `reset` goes back to the token at which `mark` was called.
  struct Mark {
    const char* start;
    const char* cursor;
    Token kind;
    size_t remarks;
  };
  Mark mark() const { return {start_, cursor_, kind_, remarks.size()}; }
  void reset(const Mark& mark) {
    start_ = mark.start;
    cursor_ = mark.cursor;
    kind_ = mark.kind;
    remarks.resize(mark.remarks);
  }

 private:
  void skip_space();
  void take_digits();
  void take_word();
  void take_number();
  void take_symbol(char first);
  [[noreturn]] void refuse(char first) const;

  const char* begin_;
  const char* end_;
  const char* start_;
  const char* cursor_;
  Token kind_ = Token::end;
};

}  // namespace lightline::loops
