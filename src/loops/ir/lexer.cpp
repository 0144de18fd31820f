#include "loops/ir/lexer.h"

#include <fmt/format.h>

#include <array>

#include "base/file.h"

namespace lightline::loops {
namespace {

enum Class : uint8_t { other, space, letter, digit, hash, punctuation };

constexpr auto classes = [] {
  std::array<uint8_t, 256> table{};
  for (const char c : {' ', '\t', '\r', '\n'}) table[uint8_t(c)] = space;
  for (int c = 'a'; c <= 'z'; ++c) table[uint8_t(c)] = table[uint8_t(c - 'a' + 'A')] = letter;
  table['_'] = letter;
  for (int c = '0'; c <= '9'; ++c) table[size_t(c)] = digit;
  table['#'] = hash;
  for (const char c :
       {'(', ')', '[', ']', '{', '}', ',', ':', '=', '|', '+', '-', '*', '/', '<', '>', '!', '"', '.', '@'})
    table[uint8_t(c)] = punctuation;
  return table;
}();

inline Class class_of(char c) { return Class(classes[uint8_t(c)]); }

}  // namespace

Lexer::Lexer(std::string_view text)
    : begin_(text.data()), end_(text.data() + text.size()), start_(begin_), cursor_(begin_) {
  advance();
}

void Lexer::skip_space() {
  bool same_line = cursor_ != begin_;
  while (cursor_ != end_) {
    const Class c = class_of(*cursor_);
    if (c == space) {
      if (*cursor_ == '\n') same_line = false;
      ++cursor_;
    } else if (c == hash) {
      const char* from = ++cursor_;
      while (cursor_ != end_ && *cursor_ != '\n') ++cursor_;
      const char* to = cursor_;
      if (from != to && *from == ' ') ++from;
      while (to != from && (to[-1] == ' ' || to[-1] == '\r' || to[-1] == '\t')) --to;
      remarks.push_back({none, same_line, {from, size_t(to - from)}});
    } else {
      return;
    }
  }
}

void Lexer::take_digits() {
  while (cursor_ != end_ && class_of(*cursor_) == digit) ++cursor_;
}
void Lexer::take_word() {
  while (cursor_ != end_ && (class_of(*cursor_) == letter || class_of(*cursor_) == digit)) ++cursor_;
}

void Lexer::take_number() {
  kind_ = Token::integer;
  take_digits();
  if (cursor_ != end_ && *cursor_ == '.') {
    kind_ = Token::floating;
    ++cursor_;
    take_digits();
  }
  if (cursor_ != end_ && (*cursor_ == 'e' || *cursor_ == 'E')) {
    const char* mark = cursor_++;
    if (cursor_ != end_ && (*cursor_ == '+' || *cursor_ == '-')) ++cursor_;
    if (cursor_ != end_ && class_of(*cursor_) == digit) {
      kind_ = Token::floating;
      take_digits();
    } else {
      cursor_ = mark;
    }
  }
  if (cursor_ == end_ || class_of(*cursor_) != letter) return;
  take_word();
  throw SyntaxError{ErrorCode::parse, fmt::format("'{}' is neither a number nor a name", text()),
                    "names start with a letter or _, exponents have digits: 1e-3", position()};
}

void Lexer::take_symbol(char first) {
  kind_ = Token::symbol;
  if (first == '"') {
    while (cursor_ != end_ && *cursor_ != '"' && *cursor_ != '\n') ++cursor_;
    if (cursor_ == end_ || *cursor_ != '"')
      throw SyntaxError{ErrorCode::parse, "this string has no closing quote", "strings end on the line they start on",
                        position()};
    ++cursor_;
    kind_ = Token::string;
  } else if (cursor_ != end_) {
    const char next = *cursor_;
    if ((next == '=' && (first == '=' || first == '!' || first == '<' || first == '>')) ||
        (first == '-' && next == '>') || (first == '<' && next == '-'))
      ++cursor_;
  }
}

void Lexer::refuse(char first) const {
  if (position() == 0 && std::string_view(begin_, size_t(end_ - begin_)).starts_with(byte_order_mark))
    throw SyntaxError{ErrorCode::parse, "the text begins with a byte order mark", "save it as UTF-8 without one",
                      position()};
  if (uint8_t(first) >= 0x80 || uint8_t(first) < 0x20)
    throw SyntaxError{ErrorCode::parse, fmt::format("unexpected byte 0x{:02x}", uint8_t(first)),
                      "programs are ASCII outside of comments", position()};
  throw SyntaxError{ErrorCode::parse, fmt::format("unexpected character '{}'", first), "", position()};
}

void Lexer::advance() {
  if (cursor_ != end_ && *cursor_ == ' ') ++cursor_;
  if (cursor_ != end_ && (class_of(*cursor_) == space || class_of(*cursor_) == hash)) {
    const size_t pending = remarks.size();
    skip_space();
    for (size_t i = pending; i < remarks.size(); ++i) remarks[i].before = Position(cursor_ - begin_);
  }
  start_ = cursor_;
  if (cursor_ == end_) {
    kind_ = Token::end;
    return;
  }
  const char first = *cursor_++;
  switch (class_of(first)) {
    case letter: kind_ = Token::name; return take_word();
    case digit: return take_number();
    case punctuation: return take_symbol(first);
    default: refuse(first);
  }
}

}  // namespace lightline::loops
