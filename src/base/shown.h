// Foreign text in messages: what a terminal may obey, and bytes that are no UTF-8, are escaped, so that a message is one
// line of UTF-8 whatever it quotes.
#pragma once

#include <string>
#include <string_view>

namespace lightline {

// Bytes of the first character of a text; 0 where it is a control character or no UTF-8.
size_t printable_bytes(std::string_view text);

size_t utf8_bytes(std::string_view text);  // how many of its first bytes are UTF-8

std::string escaped(std::string_view text);                   // all of it
std::string shown(std::string_view text, size_t limit = 80);  // long text is cut

}  // namespace lightline
