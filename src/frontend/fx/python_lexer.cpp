#include "frontend/fx/python_lexer.h"

#include <fmt/format.h>

#include <cctype>

#include "base/shown.h"

namespace lightline::frontend::python {
namespace {

bool begins_name(char c) { return std::isalpha(uint8_t(c)) || c == '_' || uint8_t(c) >= 0x80; }
bool continues_name(char c) { return begins_name(c) || std::isdigit(uint8_t(c)); }

}  // namespace

bool Lexer::skip_continuation() {
  if (at(0) != '\\') return false;
  const size_t size = at(1) == '\n' ? 2 : at(1) == '\r' && at(2) == '\n' ? 3 : 0;
  if (size == 0) return false;
  at_ += size;
  ++line_;
  line_start_ = at_;
  return true;
}

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
    } else if (c == '\n' && (depth_ > 0 || at_start_)) {
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (!skip_continuation()) {
      return;
    }
  }
}

Token Lexer::take(TokenKind kind, size_t size) {
  const Token token{kind, text_.substr(at_, size), line_, int(at_ - line_start_) + 1};
  at_ += size;
  return token;
}

Token Lexer::next() {
  skip_space();
  if (at_ >= text_.size()) {
    if (at_start_) return take(TokenKind::end, 0);
    at_start_ = true;
    return take(TokenKind::newline, 0);
  }
  const char c = text_[at_];
  if (c == '\n') {
    const Token token = take(TokenKind::newline, 1);
    ++line_;
    line_start_ = at_;
    at_start_ = true;
    return token;
  }
  at_start_ = false;
  if (c == '"' || c == '\'') return string_literal();
  if (std::isdigit(uint8_t(c)) || (c == '.' && std::isdigit(uint8_t(at(1))))) return number();
  if (!begins_name(c)) return symbol();
  size_t size = 1;
  while (continues_name(at(size))) ++size;
  if (size <= 2 && (at(size) == '"' || at(size) == '\''))
    throw SyntaxError{ErrorCode::unsupported, "strings with a prefix are not part of what torch.fx prints",
                      "write a plain string", line_, int(at_ - line_start_) + 1};
  return take(TokenKind::name, size);
}

Token Lexer::number() {
  size_t size = 0;
  bool real = false;
  const auto digits = [&] {
    while (std::isdigit(uint8_t(at(size))) || at(size) == '_') ++size;
  };
  digits();
  if (at(size) == '.') {
    real = true;
    ++size;
    digits();
  }
  if (at(size) == 'e' || at(size) == 'E') {
    const size_t sign = at(size + 1) == '+' || at(size + 1) == '-';
    if (std::isdigit(uint8_t(at(size + 1 + sign)))) {
      real = true;
      size += 1 + sign;
      digits();
    }
  }
  if (at(size) == 'j') {
    const Token token = take(TokenKind::imaginary, size);
    ++at_;
    return token;
  }
  if (begins_name(at(size)))
    throw SyntaxError{ErrorCode::parse, "a number runs into a name", "write decimal numbers", line_,
                      int(at_ - line_start_) + 1};
  return take(real ? TokenKind::real : TokenKind::integer, size);
}

Token Lexer::string_literal() {
  const char quote = text_[at_];
  const bool triple = at(1) == quote && at(2) == quote;
  const size_t width = triple ? 3 : 1;
  const int line = line_, column = int(at_ - line_start_) + 1;
  const auto unterminated = [&]() -> SyntaxError {
    return {ErrorCode::parse, "a string does not end", "close it with the quote that opened it", line, column};
  };
  size_t end = at_ + width;
  while (end < text_.size() && (text_[end] != quote || (triple && text_.substr(end, 3) != text_.substr(at_, 3)))) {
    if (text_[end] == '\\') ++end;
    if (end < text_.size() && text_[end] == '\n') {
      if (!triple) throw unterminated();
      ++line_;
      line_start_ = end + 1;
    }
    ++end;
  }
  if (end >= text_.size()) throw unterminated();
  const Token token{TokenKind::string, text_.substr(at_ + width, end - at_ - width), line, column};
  at_ = end + width;
  return token;
}

Token Lexer::symbol() {
  static constexpr std::string_view symbols[] = {
      "**=", "//=", "<<=", ">>=", "...", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "->", "+=", "-=",
      "*=",  "/=",  "%=",  "@=",  "&=",  "|=", "^=", ":=", "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",
      ".",   ";",   "=",   "+",   "-",   "*",  "/",  "%",  "@",  "&",  "|",  "^",  "~",  "<",  ">"};
  const std::string_view rest = text_.substr(at_, 3);
  for (const std::string_view candidate : symbols) {
    if (!rest.starts_with(candidate)) continue;
    if (candidate == "(" || candidate == "[" || candidate == "{") ++depth_;
    if (candidate == ")" || candidate == "]" || candidate == "}") depth_ = std::max(0, depth_ - 1);
    return take(TokenKind::symbol, candidate.size());
  }
  throw SyntaxError{ErrorCode::parse, fmt::format("unexpected character '{}'", shown(text_.substr(at_, 1))),
                    "the text should be what torch.fx prints", line_, int(at_ - line_start_) + 1};
}

}  // namespace lightline::frontend::python
