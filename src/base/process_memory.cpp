#include "base/process_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/sanitizers.h"

namespace lightline {
namespace {

// Smaller mappings are not worth a thought; some of them belong to the C library.
constexpr uintptr_t smallest_released = 256 << 10;

struct Mapping {
  uintptr_t first = 0;
  uintptr_t end = 0;
  bool is_private_data = false;
  bool has_file = false;

  bool holds(const void* address) const { return uintptr_t(address) >= first && uintptr_t(address) < end; }
};

uintptr_t read_hex(const char*& text) {
  uintptr_t value = 0;
  for (;; ++text) {
    if (*text >= '0' && *text <= '9')
      value = value * 16 + uintptr_t(*text - '0');
    else if (*text >= 'a' && *text <= 'f')
      value = value * 16 + uintptr_t(*text - 'a' + 10);
    else
      return value;
  }
}

const char* skip_word(const char* text) {
  while (*text != ' ' && *text != '\0') ++text;
  while (*text == ' ') ++text;
  return text;
}

// "7f3a1c000000-7f3a1c021000 rw-p 00000000 00:00 0    [heap]"
Mapping parse_mapping(const char* line) {
  Mapping mapping;
  mapping.first = read_hex(line);
  if (*line == '-') ++line;
  mapping.end = read_hex(line);
  const char* permissions = skip_word(line);
  if (std::strlen(permissions) < 4) return {};
  const char* inode = skip_word(skip_word(skip_word(permissions)));
  const char* name = skip_word(inode);
  mapping.has_file = *inode != '0';
  const bool is_heap = *name == '\0' || std::strncmp(name, "[heap", 5) == 0 || std::strncmp(name, "[anon", 5) == 0;
  mapping.is_private_data = permissions[1] == 'w' && permissions[3] == 'p' && !mapping.has_file && is_heap;
  return mapping;
}

void release(const Mapping& mapping, const Mapping& before) {
  const bool is_static_data = before.has_file && before.end == mapping.first;  // the zeroed part of a library's data
  const char on_stack = 0;
  const bool in_use = mapping.holds(&on_stack) || mapping.holds(&errno);
  if (mapping.is_private_data && !is_static_data && !in_use && mapping.end - mapping.first >= smallest_released)
    madvise(reinterpret_cast<void*>(mapping.first), mapping.end - mapping.first, MADV_DONTNEED);
}

}  // namespace

void release_forked_heap() {
  if (any_sanitizer) return;  // their own data lies among ours
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[8192];
  size_t size = 0;
  Mapping before;
  for (ssize_t count; (count = read(fd, text + size, sizeof text - size)) > 0;) {
    size += size_t(count);
    size_t start = 0;
    for (char* end; (end = static_cast<char*>(std::memchr(text + start, '\n', size - start))) != nullptr;) {
      *end = '\0';
      const Mapping mapping = parse_mapping(text + start);
      release(mapping, before);
      before = mapping;
      start = size_t(end - text) + 1;
    }
    std::memmove(text, text + start, size - start);
    size -= start;
  }
  close(fd);
}

}  // namespace lightline
