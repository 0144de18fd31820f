// Zip archives in memory (npz and pt2 are zip files). Stored and deflated entries, zip64; no encryption, no parts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace lightline {

struct ZipEntry {
  std::string name;
  uint64_t size = 0;  // uncompressed
  uint64_t compressed_size = 0;
};

class ZipReader {
 public:
  // `content` must outlive the reader. Refuses archives whose directory contradicts itself or the content: entries that
  // overlap, share a name, lie outside, or claim more than deflate could give.
  static Result<ZipReader> open(std::string_view content);
  const std::vector<ZipEntry>& entries() const { return entries_; }
  // The entry's bytes, CRC checked; an error beyond `limit`.
  Result<std::string> read(std::string_view name, uint64_t limit = uint64_t(4) << 30) const;

 private:
  struct Location {
    uint64_t data = 0;  // where the entry's bytes begin
    uint32_t crc = 0;
    uint16_t method = 0;
    bool encrypted = false;
  };
  friend class ZipDirectoryParser;
  std::string_view content_;
  std::vector<ZipEntry> entries_;
  std::vector<Location> locations_;                   // beside entries_
  std::map<std::string, size_t, std::less<>> index_;  // name to entry
};

// Stored, not deflated; without times, so that equal files give equal archives.
Result<std::string> write_zip(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace lightline
