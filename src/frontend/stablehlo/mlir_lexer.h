// Tokens of MLIR text. Types have a notation of their own (`4x5xf32`), which the parser reads from the characters.
#pragma once

#include <string>
#include <string_view>

#include "frontend/stablehlo/mlir.h"

namespace lightline::frontend::mlir {

enum class TokenKind : uint8_t {
  end,
  word,       // add, stablehlo.add
  value,      // %0: text without the sigil
  symbol,     // @main, @"a b"
  block,      // ^bb0
  attribute,  // #stablehlo.gather
  type,       // !stablehlo.token
  integer,    // 12, 0x1F; a sign is punctuation
  real,
  string,  // text between the quotes, escapes as written
  arrow,   // ->
  punctuation,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  size_t offset = 0;

  bool is(char c) const { return kind == TokenKind::punctuation && text[0] == c; }
  bool is_word(std::string_view word) const { return kind == TokenKind::word && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();

  // ---- characters, from where the last token ended ----
  std::string_view text() const { return text_; }
  size_t position() const { return position_; }
  void move_to(size_t position) { position_ = position; }
  void skip_blank();  // white space and comments

 private:
  Token sigil(TokenKind kind, size_t start);
  Token number(size_t start);
  Token string(size_t start);

  std::string_view text_;
  size_t position_ = 0;
};

// Two hexadecimal digits after a backslash are a byte; \n, \t, \" and \\ are what they are in C.
std::string unescaped(std::string_view text);

}  // namespace lightline::frontend::mlir
