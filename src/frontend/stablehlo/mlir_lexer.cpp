#include "frontend/stablehlo/mlir_lexer.h"

namespace lightline::frontend::mlir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.' || c == '-'; }
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Lexer::skip_blank() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++position_;
    } else if (c == '/' && position_ + 1 < text_.size() && text_[position_ + 1] == '/') {
      const size_t end = text_.find('\n', position_);
      position_ = end == std::string_view::npos ? text_.size() : end;
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skip_blank();
  const size_t start = position_;
  if (start >= text_.size()) return {TokenKind::end, {}, start};
  const char c = text_[start];
  switch (c) {
    case '%': return sigil(TokenKind::value, start);
    case '@': return sigil(TokenKind::symbol, start);
    case '^': return sigil(TokenKind::block, start);
    case '#': return sigil(TokenKind::attribute, start);
    case '!': return sigil(TokenKind::type, start);
    case '"': return string(start);
    default: break;
  }
  if (is_letter(c)) {
    while (position_ < text_.size() && (is_letter(text_[position_]) || is_digit(text_[position_]) ||
                                        text_[position_] == '$' || text_[position_] == '.'))
      ++position_;
    return {TokenKind::word, text_.substr(start, position_ - start), start};
  }
  if (is_digit(c)) return number(start);
  ++position_;
  if (c == '-' && position_ < text_.size() && text_[position_] == '>') {
    ++position_;
    return {TokenKind::arrow, text_.substr(start, 2), start};
  }
  return {TokenKind::punctuation, text_.substr(start, 1), start};
}

Token Lexer::sigil(TokenKind kind, size_t start) {
  ++position_;
  if (kind == TokenKind::symbol && position_ < text_.size() && text_[position_] == '"') {
    Token token = string(position_);
    token.kind = kind;
    token.offset = start;
    return token;
  }
  const size_t from = position_;
  while (position_ < text_.size() && is_name(text_[position_]) &&
         !(text_[position_] == '-' && position_ + 1 < text_.size() && text_[position_ + 1] == '>'))
    ++position_;
  return {kind, text_.substr(from, position_ - from), start};
}

Token Lexer::number(size_t start) {
  const auto skip_digits = [&] {
    while (position_ < text_.size() && is_digit(text_[position_])) ++position_;
  };
  if (text_.substr(start, 2) == "0x" && start + 2 < text_.size() && hex_digit(text_[start + 2]) >= 0) {
    position_ = start + 2;
    while (position_ < text_.size() && hex_digit(text_[position_]) >= 0) ++position_;
    return {TokenKind::integer, text_.substr(start, position_ - start), start};
  }
  skip_digits();
  TokenKind kind = TokenKind::integer;
  if (position_ < text_.size() && text_[position_] == '.') {
    kind = TokenKind::real;
    ++position_;
    skip_digits();
    if (position_ < text_.size() && (text_[position_] == 'e' || text_[position_] == 'E')) {
      size_t digits = position_ + 1;
      if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
      if (digits < text_.size() && is_digit(text_[digits])) {
        position_ = digits;
        skip_digits();
      }
    }
  }
  return {kind, text_.substr(start, position_ - start), start};
}

Token Lexer::string(size_t start) {
  position_ = start + 1;
  while (position_ < text_.size() && text_[position_] != '"') position_ += text_[position_] == '\\' ? 2 : 1;
  if (position_ >= text_.size())
    throw MlirError{ErrorCode::parse, "a string does not end", "close it with a quotation mark", start};
  const std::string_view inside = text_.substr(start + 1, position_ - start - 1);
  ++position_;
  return {TokenKind::string, inside, start};
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    const int high = hex_digit(c), low = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    if (high >= 0 && low >= 0) {
      out += char(high * 16 + low);
      ++i;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

}  // namespace lightline::frontend::mlir
