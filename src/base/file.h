// Files in and out. Reading undoes .xz, .zst and .gz by content, not by name, and takes no devices: they may never end.
// Writing is atomic: a temporary file beside the target is renamed over it, so a failure leaves the old file whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lightline {

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // some editors begin a text with it
inline constexpr uint64_t default_size_limit = uint64_t(16) << 30;
inline constexpr uint64_t text_size_limit = uint64_t(512) << 20;

// The decompressed content; an error beyond `limit` bytes, so that a small hostile file can not fill memory.
Result<std::string> read_file(const std::string& path, uint64_t limit = default_size_limit);
// The same for a program: zip archives hold weights and may have the default size, all else is text.
Result<std::string> read_program(const std::string& path);
Result<std::string> read_program_from_standard_input();
Status write_file(const std::string& path, std::string_view content);  // compresses if the name ends in .xz or .zst
// Whether `write_file` would take the path, as far as can be told beforehand. Folders it does not take, nor pipes with
// a name: to open one is to wait until somebody reads it.
Status check_target(const std::string& path);

Result<std::string> decompress(std::string_view content,
                               uint64_t limit = default_size_limit);  // plain text passes through
Result<std::string> compress_xz(std::string_view content);
Result<std::string> compress_zst(std::string_view content);

// Calls `line(number, text)` for every line of a (possibly compressed) file, decompressing as it goes; stops at the
// first error and adds the file and the line to it. Lines are numbered from 1 and come without their "\n" or "\r\n".
Status for_each_line(const std::string& path, const std::function<Status(int64_t, std::string_view)>& line);

// Calls `piece` with the decompressed content of a file, piece by piece.
Status for_each_piece(const std::string& path, const std::function<Status(std::string_view)>& piece);

Status check_readable(const std::string& path);      // whether it can be opened, and is no device
bool file_exists(const std::string& path);           // anything but a directory
std::string content_hash(std::string_view content);  // 32 hex digits (XXH3, 128 bits), stable across versions

}  // namespace lightline
