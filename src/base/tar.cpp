#include "base/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/shown.h"

// The format: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html, blocks of 512 bytes.
namespace lightline {
namespace {

constexpr size_t block = 512;
constexpr uint64_t name_limit = 1 << 16;

Error broken_tar(std::string detail) {
  return {ErrorCode::parse, "the tar archive is broken: " + std::move(detail),
          "the file is damaged or not a tar archive: write or download it again"};
}

std::string_view text_field(std::string_view header, size_t at, size_t size) {
  const std::string_view field = header.substr(at, size);
  return field.substr(0, std::min(field.find('\0'), size));
}

// Octal digits, or with the first bit set a big-endian number.
Result<uint64_t> number_field(std::string_view header, size_t at, size_t size) {
  const std::string_view field = header.substr(at, size);
  uint64_t value = 0;
  if (uint8_t(field[0]) & 0x80) {
    for (size_t i = 0; i < size; ++i) {
      const uint8_t byte = i == 0 ? uint8_t(field[0]) & 0x7F : uint8_t(field[i]);
      if (value >> 55) return broken_tar("a size is absurd");
      value = value << 8 | byte;
    }
    return value;
  }
  size_t i = 0;
  while (i < size && field[i] == ' ') ++i;
  for (; i < size && field[i] >= '0' && field[i] <= '7'; ++i) value = value * 8 + uint64_t(field[i] - '0');
  if (i < size && field[i] != ' ' && field[i] != '\0') return broken_tar("a number is not octal");
  return value;
}

bool checksum_fits(std::string_view header) {
  const auto stored = number_field(header, 148, 8);
  if (!stored.ok()) return false;
  uint64_t sum = 0;
  for (size_t i = 0; i < block; ++i) sum += i >= 148 && i < 156 ? uint64_t(' ') : uint64_t(uint8_t(header[i]));
  return sum == *stored;
}

}  // namespace

TarStream::TarStream(Want want, File file, uint64_t file_limit)
    : want_(std::move(want)), file_(std::move(file)), file_limit_(file_limit) {}

Status TarStream::feed(std::string_view piece) {
  while (!piece.empty() && !ended_) {
    if (!in_entry_) {
      const size_t taken = std::min(piece.size(), block - header_.size());
      header_.append(piece.substr(0, taken));
      piece.remove_prefix(taken);
      if (header_.size() == block) LL_DO(read_header());
      continue;
    }
    const size_t taken = size_t(std::min<uint64_t>(piece.size(), remaining_));
    if (collecting_ != Collecting::nothing) content_.append(piece.substr(0, taken));
    remaining_ -= taken;
    piece.remove_prefix(taken);
    const size_t skipped = remaining_ > 0 ? 0 : size_t(std::min<uint64_t>(piece.size(), padding_));
    padding_ -= skipped;
    piece.remove_prefix(skipped);
    if (remaining_ == 0 && padding_ == 0) LL_DO(end_of_entry());
  }
  return Ok{};
}

Status TarStream::read_header() {
  const std::string header = std::move(header_);
  header_.clear();
  if (header.find_first_not_of('\0') == std::string::npos) {
    ended_ = true;
    return Ok{};
  }
  if (!checksum_fits(header)) return broken_tar("a header's checksum is wrong");
  LL_TRY(const uint64_t size, number_field(header, 124, 12));
  const char type = header[156];
  name_ = text_field(header, 0, 100);
  if (const auto prefix = text_field(header, 345, 155);
      !prefix.empty() && header.substr(257, 6) == std::string_view("ustar\0", 6))
    name_ = std::string(prefix) + "/" + name_;
  const bool regular = type == '0' || type == '\0' || type == '7';
  if (regular && !long_name_.empty()) name_ = std::move(long_name_);
  if (type != 'L' && type != 'x') long_name_.clear();
  collecting_ = regular && want_(name_) ? Collecting::file
                : type == 'L'           ? Collecting::long_name
                : type == 'x'           ? Collecting::pax
                                        : Collecting::nothing;
  if (collecting_ == Collecting::file && size > file_limit_)
    return Error{ErrorCode::limit, fmt::format("'{}' in the archive has {} bytes", shown(name_), size),
                 fmt::format("files of a program may have {} bytes", file_limit_)};
  if ((collecting_ == Collecting::long_name || collecting_ == Collecting::pax) && size > name_limit)
    return broken_tar("a name is absurdly long");
  const bool has_content = regular || type == 'L' || type == 'x' || type == 'g' || type == 'K' || type >= 'A';
  remaining_ = has_content ? size : 0;
  padding_ = (block - remaining_ % block) % block;
  in_entry_ = true;
  content_.clear();
  return remaining_ == 0 ? end_of_entry() : Status(Ok{});
}

Status TarStream::end_of_entry() {
  in_entry_ = false;
  if (collecting_ == Collecting::long_name)
    long_name_ = content_.substr(0, std::min(content_.find('\0'), content_.size()));
  if (collecting_ == Collecting::pax) read_pax();
  if (collecting_ == Collecting::file) LL_DO(file_(name_, std::move(content_)));
  content_.clear();
  return Ok{};
}

// Records "LENGTH path=NAME\n"; only the name matters here.
void TarStream::read_pax() {
  std::string_view rest = content_;
  while (!rest.empty()) {
    size_t length = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const size_t digits = size_t(end - rest.data());
    if (code != std::errc() || length <= digits || length > rest.size()) return;
    std::string_view record = rest.substr(digits, length - digits);
    rest.remove_prefix(length);
    if (record.starts_with(" path=")) {
      record.remove_prefix(6);
      if (record.ends_with('\n')) record.remove_suffix(1);
      long_name_ = record;
    }
  }
}

Status TarStream::finish() {
  if (in_entry_ || !header_.empty()) return broken_tar("it ends in the middle of a file");
  return Ok{};
}

Status for_each_tar_file(const std::string& path, const TarStream::Want& want, const TarStream::File& file) {
  TarStream stream(want, file);
  LL_DO(for_each_piece(path, [&](std::string_view piece) { return stream.feed(piece); }));
  Status status = stream.finish();
  if (!status.ok()) status.error().where.file = path;
  return status;
}

}  // namespace lightline
