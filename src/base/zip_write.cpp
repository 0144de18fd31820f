#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <set>

#include "base/bytes.h"
#include "base/shown.h"
#include "base/zip.h"

namespace lightline {
namespace {

constexpr uint16_t version_plain = 20, version_zip64 = 45;
constexpr uint16_t utf8_names = 1 << 11;
constexpr uint16_t first_day = 0x21;  // 1980-01-01, the least date that the format has
constexpr uint64_t limit16 = 0xFFFF, limit32 = 0xFFFFFFFF;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Status check_names(const std::vector<std::pair<std::string, std::string>>& files) {
  std::set<std::string_view> names;
  for (const auto& [name, data] : files) {
    if (name.size() > limit16 || name.find('\0') != std::string::npos) {
      return Error{ErrorCode::name, fmt::format("'{}' can not name an entry of a zip archive", shown(name)),
                   "use at most 65535 bytes and no zero byte"};
    }
    if (!names.insert(name).second)
      return Error{ErrorCode::name, fmt::format("two entries are named '{}'", shown(name)),
                   "give every entry its own name"};
  }
  return Ok{};
}

// What the local header and the directory entry have in common, from the version to the name's length.
void append_common(std::string& zip, std::string_view name, uint32_t crc, uint64_t size, bool zip64) {
  append_le<uint16_t>(zip, zip64 ? version_zip64 : version_plain);
  append_le<uint16_t>(zip, is_ascii(name) ? 0 : utf8_names);
  append_le<uint16_t>(zip, 0);  // stored
  append_le<uint16_t>(zip, 0);  // time
  append_le<uint16_t>(zip, first_day);
  append_le<uint32_t>(zip, crc);
  append_le<uint32_t>(zip, uint32_t(std::min(size, limit32)));
  append_le<uint32_t>(zip, uint32_t(std::min(size, limit32)));
  append_le<uint16_t>(zip, uint16_t(name.size()));
}

std::string extra64(uint64_t size, uint64_t offset) {
  std::string values;
  if (size >= limit32) {
    append_le(values, size);
    append_le(values, size);
  }
  if (offset >= limit32) append_le(values, offset);
  if (values.empty()) return values;
  std::string field;
  append_le<uint16_t>(field, 1);
  append_le<uint16_t>(field, uint16_t(values.size()));
  return field + values;
}

void append_local(std::string& zip, std::string_view name, std::string_view data, uint32_t crc) {
  const std::string extra = extra64(data.size(), 0);
  append_le<uint32_t>(zip, 0x04034B50);
  append_common(zip, name, crc, data.size(), !extra.empty());
  append_le<uint16_t>(zip, uint16_t(extra.size()));
  zip.append(name).append(extra).append(data);
}

void append_entry(std::string& zip, std::string_view name, uint64_t size, uint32_t crc, uint64_t offset) {
  const std::string extra = extra64(size, offset);
  append_le<uint32_t>(zip, 0x02014B50);
  append_le<uint16_t>(zip, extra.empty() ? version_plain : version_zip64);
  append_common(zip, name, crc, size, !extra.empty());
  append_le<uint16_t>(zip, uint16_t(extra.size()));
  append_le<uint16_t>(zip, 0);  // comment
  append_le<uint16_t>(zip, 0);  // part
  append_le<uint16_t>(zip, 0);  // internal attributes
  append_le<uint32_t>(zip, 0);  // external attributes
  append_le<uint32_t>(zip, uint32_t(std::min(offset, limit32)));
  zip.append(name).append(extra);
}

void append_end(std::string& zip, uint64_t count, uint64_t directory) {
  const uint64_t at = zip.size();
  const uint64_t size = at - directory;
  if (count >= limit16 || size >= limit32 || directory >= limit32) {
    append_le<uint32_t>(zip, 0x06064B50);
    append_le<uint64_t>(zip, 44);
    append_le<uint16_t>(zip, version_zip64);
    append_le<uint16_t>(zip, version_zip64);
    append_le<uint32_t>(zip, 0);
    append_le<uint32_t>(zip, 0);
    append_le(zip, count);
    append_le(zip, count);
    append_le(zip, size);
    append_le(zip, directory);
    append_le<uint32_t>(zip, 0x07064B50);
    append_le<uint32_t>(zip, 0);
    append_le(zip, at);
    append_le<uint32_t>(zip, 1);
  }
  append_le<uint32_t>(zip, 0x06054B50);
  append_le<uint32_t>(zip, 0);  // parts
  append_le<uint16_t>(zip, uint16_t(std::min(count, limit16)));
  append_le<uint16_t>(zip, uint16_t(std::min(count, limit16)));
  append_le<uint32_t>(zip, uint32_t(std::min(size, limit32)));
  append_le<uint32_t>(zip, uint32_t(std::min(directory, limit32)));
  append_le<uint16_t>(zip, 0);  // comment
}

}  // namespace

Result<std::string> write_zip(const std::vector<std::pair<std::string, std::string>>& files) try {
  LL_DO(check_names(files));
  std::string zip;
  std::vector<std::pair<uint32_t, uint64_t>> written;  // checksum and offset
  for (const auto& [name, data] : files) {
    const uint32_t crc = uint32_t(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
    written.emplace_back(crc, zip.size());
    append_local(zip, name, data, crc);
  }
  const uint64_t directory = zip.size();
  for (size_t i = 0; i < files.size(); ++i)
    append_entry(zip, files[i].first, files[i].second.size(), written[i].first, written[i].second);
  append_end(zip, files.size(), directory);
  return zip;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::limit, "there is no memory for the archive", "free memory, or write fewer tensors"};
}

}  // namespace lightline
