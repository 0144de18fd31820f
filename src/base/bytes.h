// Little-endian numbers in byte strings.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>

namespace lightline {

static_assert(std::endian::native == std::endian::little, "tensor data is used as it lies in the files");

// `at + sizeof(T)` must not exceed the size.
template <std::unsigned_integral T>
T load_le(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <std::unsigned_integral T>
void append_le(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace lightline
