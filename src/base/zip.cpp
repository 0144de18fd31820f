#include "base/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "base/bytes.h"
#include "base/shown.h"

// The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT. The central directory at the end is the truth;
// local headers only say where the data begins. Every offset is checked against the content before it is used.
namespace lightline {
namespace {

constexpr uint32_t local_signature = 0x04034B50;
constexpr uint32_t entry_signature = 0x02014B50;
constexpr uint32_t end_signature = 0x06054B50;
constexpr uint32_t end64_signature = 0x06064B50;
constexpr uint32_t locator64_signature = 0x07064B50;
constexpr size_t local_size = 30, entry_size = 46, end_size = 22, end64_size = 56, locator64_size = 20;
constexpr uint32_t max16 = 0xFFFF, max32 = 0xFFFFFFFF;
constexpr uint16_t stored = 0, deflated = 8;
constexpr uint64_t deflate_ratio = 1032;  // the most that one byte can become, https://zlib.net/zlib_tech.html

Error broken(std::string detail) {
  return {ErrorCode::parse, "the zip archive is broken: " + std::move(detail),
          "the file is damaged or not a zip archive: write or download it again"};
}

}  // namespace

class ZipDirectoryParser {
 public:
  explicit ZipDirectoryParser(std::string_view content) : content_(content) {}

  Result<ZipReader> parse() {
    LL_DO(find_end());
    LL_DO(read_end64());
    if (directory_ > end_ || directory_size_ != end_ - directory_)
      return broken("its directory is not where the end record says");
    if (count_ > directory_size_ / entry_size) return broken("its directory is too small for the number of entries");
    reader_.content_ = content_;
    size_t at = size_t(directory_);
    for (uint64_t i = 0; i < count_; ++i) {
      LL_TRY(at, read_entry(at));
    }
    if (at != end_) return broken("its directory holds more than the entries");
    LL_DO(check_overlap());
    return std::move(reader_);
  }

 private:
  // The end record stands last, before a comment of at most 65535 bytes.
  Status find_end() {
    if (content_.size() < end_size) return broken("it is too short");
    const size_t last = content_.size() - end_size;
    const size_t first = last > max16 ? last - max16 : 0;
    for (size_t at = last + 1; at-- > first;) {
      if (load_le<uint32_t>(content_, at) != end_signature || load_le<uint16_t>(content_, at + 20) != last - at)
        continue;
      end_ = at;
      parts_ = load_le<uint16_t>(content_, at + 4) != 0 || load_le<uint16_t>(content_, at + 6) != 0;
      count_ = load_le<uint16_t>(content_, at + 10);
      directory_size_ = load_le<uint32_t>(content_, at + 12);
      directory_ = load_le<uint32_t>(content_, at + 16);
      return Ok{};
    }
    return broken("it has no end record");
  }

  // Archives with large numbers have a second end record, and a locator that points to it, before the first.
  Status read_end64() {
    const bool large = count_ == max16 || directory_size_ == max32 || directory_ == max32;
    const bool has_locator =
        end_ >= locator64_size && load_le<uint32_t>(content_, end_ - locator64_size) == locator64_signature;
    if (!has_locator) {
      // Without a locator the numbers stand as they are; 65535 entries may be just that.
      return parts_ ? Status(in_parts()) : Status(Ok{});
    }
    const size_t locator = end_ - locator64_size;
    const uint64_t at = load_le<uint64_t>(content_, locator + 8);
    if (locator < end64_size || at > locator - end64_size ||
        load_le<uint32_t>(content_, size_t(at)) != end64_signature) {
      return broken("its zip64 end record is not where the locator says");
    }
    if (load_le<uint64_t>(content_, size_t(at) + 4) != locator - at - 12)
      return broken("its zip64 end record has a wrong size");
    if (load_le<uint32_t>(content_, size_t(at) + 16) != 0 || load_le<uint32_t>(content_, size_t(at) + 20) != 0)
      return in_parts();
    const uint64_t count = load_le<uint64_t>(content_, size_t(at) + 32);
    const uint64_t size = load_le<uint64_t>(content_, size_t(at) + 40);
    const uint64_t offset = load_le<uint64_t>(content_, size_t(at) + 48);
    if ((count_ != max16 && count != count_) || (directory_size_ != max32 && size != directory_size_) ||
        (directory_ != max32 && offset != directory_)) {
      return broken("its two end records contradict each other");
    }
    if (!large && parts_) return in_parts();
    count_ = count;
    directory_size_ = size;
    directory_ = offset;
    end_ = size_t(at);
    return Ok{};
  }

  static Error in_parts() {
    return {ErrorCode::unsupported, "the zip archive is split into several files", "join its parts into one archive"};
  }

  // Reads one directory entry, returns where the next begins.
  Result<size_t> read_entry(size_t at) {
    if (end_ - at < entry_size || load_le<uint32_t>(content_, at) != entry_signature)
      return broken("its directory has a bad entry");
    const uint16_t flags = load_le<uint16_t>(content_, at + 8);
    const size_t name_size = load_le<uint16_t>(content_, at + 28);
    const size_t extra_size = load_le<uint16_t>(content_, at + 30);
    const size_t comment_size = load_le<uint16_t>(content_, at + 32);
    const size_t next = at + entry_size + name_size + extra_size + comment_size;
    if (next > end_) return broken("its directory has an entry that is cut off");

    ZipEntry entry;
    ZipReader::Location location;
    entry.name = content_.substr(at + entry_size, name_size);
    location.encrypted = (flags & 1) != 0;
    location.method = load_le<uint16_t>(content_, at + 10);
    location.crc = load_le<uint32_t>(content_, at + 16);
    entry.compressed_size = load_le<uint32_t>(content_, at + 20);
    entry.size = load_le<uint32_t>(content_, at + 24);
    uint64_t header = load_le<uint32_t>(content_, at + 42);
    if (entry.name.find('\0') != std::string::npos) return broken("the name of an entry has a zero byte");
    LL_DO(read_extra64(content_.substr(at + entry_size + name_size, extra_size), entry, header));
    LL_DO(locate(header, entry, location));
    LL_DO(check_sizes(entry, location));
    if (!reader_.index_.emplace(entry.name, reader_.entries_.size()).second)
      return broken(fmt::format("it has two entries named '{}'", shown(entry.name)));
    ranges_.push_back({header, location.data + entry.compressed_size, reader_.entries_.size()});
    reader_.entries_.push_back(std::move(entry));
    reader_.locations_.push_back(location);
    return next;
  }

  // 64-bit values stand in an extra field, in a fixed order, for those of the entry that are all ones.
  static Status read_extra64(std::string_view extra, ZipEntry& entry, uint64_t& header) {
    while (extra.size() >= 4) {
      const uint16_t tag = load_le<uint16_t>(extra, 0);
      const size_t size = load_le<uint16_t>(extra, 2);
      if (size > extra.size() - 4) break;
      std::string_view field = extra.substr(4, size);
      extra.remove_prefix(4 + size);
      if (tag != 1) continue;
      for (uint64_t* value : {&entry.size, &entry.compressed_size, &header}) {
        if (*value != max32) continue;
        if (field.size() < 8) return broken(fmt::format("the zip64 field of '{}' is too short", shown(entry.name)));
        *value = load_le<uint64_t>(field, 0);
        field.remove_prefix(8);
      }
      return Ok{};
    }
    return Ok{};
  }

  Status locate(uint64_t header, const ZipEntry& entry, ZipReader::Location& location) const {
    if (header > directory_ || directory_ - header < local_size ||
        load_le<uint32_t>(content_, size_t(header)) != local_signature) {
      return broken(fmt::format("'{}' is not where the directory says", shown(entry.name)));
    }
    const uint64_t name_size = load_le<uint16_t>(content_, size_t(header) + 26);
    const uint64_t extra_size = load_le<uint16_t>(content_, size_t(header) + 28);
    location.data = header + local_size + name_size + extra_size;
    if (location.data > directory_ || entry.compressed_size > directory_ - location.data) {
      return broken(fmt::format("'{}' reaches beyond the data", shown(entry.name)));
    }
    if (content_.substr(size_t(header) + local_size, size_t(name_size)) != entry.name) {
      return broken(fmt::format("'{}' has another name at its data than in the directory", shown(entry.name)));
    }
    return Ok{};
  }

  static Status check_sizes(const ZipEntry& entry, const ZipReader::Location& location) {
    if (location.encrypted) return Ok{};  // its sizes mean something else; `read` refuses it
    if (location.method == stored && entry.size != entry.compressed_size) {
      return broken(fmt::format("'{}' is stored in {} bytes but claims {}", shown(entry.name), entry.compressed_size,
                                entry.size));
    }
    if (location.method == deflated && entry.size / deflate_ratio > entry.compressed_size) {
      return broken(fmt::format("'{}' claims {} bytes, more than its {} compressed bytes can hold", shown(entry.name),
                                entry.size, entry.compressed_size));
    }
    return Ok{};
  }

  Status check_overlap() {
    std::sort(ranges_.begin(), ranges_.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < ranges_.size(); ++i) {
      if (ranges_[i].begin < ranges_[i - 1].end) {
        return broken(fmt::format("'{}' and '{}' overlap", shown(reader_.entries_[ranges_[i - 1].entry].name),
                                  shown(reader_.entries_[ranges_[i].entry].name)));
      }
    }
    return Ok{};
  }

  struct ByteRange {
    uint64_t begin;
    uint64_t end;
    size_t entry;
  };

  std::string_view content_;
  size_t end_ = 0;  // where the directory must end
  bool parts_ = false;
  uint64_t count_ = 0;
  uint64_t directory_ = 0;
  uint64_t directory_size_ = 0;
  std::vector<ByteRange> ranges_;
  ZipReader reader_;
};

namespace {

// Grows the result as data comes, so that memory follows what was decoded and not what was claimed.
Result<std::string> inflate_entry(std::string_view data, const ZipEntry& entry) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return Error{ErrorCode::limit, "there is no memory for the decompressor", "free memory and try again"};
  struct End {
    z_stream& stream;
    ~End() { inflateEnd(&stream); }
  } end{stream};

  std::string result;
  int code = Z_OK;
  size_t fed = 0;
  while (code == Z_OK) {
    if (stream.avail_in == 0) {
      const size_t piece = std::min<size_t>(data.size() - fed, size_t(1) << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data() + fed));
      stream.avail_in = uInt(piece);
      fed += piece;
    }
    const size_t have = result.size();
    // One byte more than claimed, to notice data that goes on.
    const uint64_t room = std::min<uint64_t>(entry.size + 1 - have, std::clamp<uint64_t>(have, 1 << 16, 1 << 28));
    result.resize(have + size_t(room));
    stream.next_out = reinterpret_cast<Bytef*>(result.data() + have);
    stream.avail_out = uInt(room);
    code = inflate(&stream, Z_NO_FLUSH);
    result.resize(have + size_t(room) - stream.avail_out);
    if (result.size() > entry.size)
      return broken(fmt::format("'{}' is larger than the directory says", shown(entry.name)));
  }
  if (code != Z_STREAM_END) return broken(fmt::format("the compressed data of '{}' is invalid", shown(entry.name)));
  if (result.size() != entry.size)
    return broken(fmt::format("'{}' is smaller than the directory says", shown(entry.name)));
  if (stream.avail_in != 0 || fed != data.size())
    return broken(fmt::format("'{}' has data after its end", shown(entry.name)));
  return result;
}

}  // namespace

Result<ZipReader> ZipReader::open(std::string_view content) try {
  return ZipDirectoryParser(content).parse();
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::limit, "there is no memory for the archive's directory",
               "free memory, or use a smaller file"};
}

Result<std::string> ZipReader::read(std::string_view name, uint64_t limit) const try {
  const auto found = index_.find(name);
  if (found == index_.end()) {
    return Error{ErrorCode::name, fmt::format("the zip archive has no entry '{}'", shown(name)),
                 "list the archive's entries with `unzip -l`"};
  }
  const ZipEntry& entry = entries_[found->second];
  const Location& location = locations_[found->second];
  if (location.encrypted)
    return Error{ErrorCode::unsupported, fmt::format("'{}' is encrypted", shown(name)),
                 "write the archive again without a password"};
  if (location.method != stored && location.method != deflated) {
    return Error{ErrorCode::unsupported, fmt::format("'{}' is compressed by method {}", shown(name), location.method),
                 "write the archive again, stored or deflated"};
  }
  if (entry.size > limit) {
    return Error{ErrorCode::limit,
                 fmt::format("'{}' has {} bytes, more than the {} allowed", shown(name), entry.size, limit),
                 "use a smaller archive"};
  }
  const std::string_view data = content_.substr(size_t(location.data), size_t(entry.compressed_size));
  std::string bytes;
  if (location.method == stored) {
    bytes = data;
  } else {
    LL_TRY(bytes, inflate_entry(data, entry));
  }
  if (crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != location.crc) {
    return broken(fmt::format("the checksum of '{}' is wrong", shown(name)));
  }
  return bytes;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::limit, fmt::format("there is no memory for '{}'", shown(name)),
               "free memory, or use a smaller archive"};
}

}  // namespace lightline
