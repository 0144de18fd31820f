#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/stream.h"
#include "base/temporary_folder.h"

namespace lightline {
namespace {

constexpr size_t chunk_size = size_t(1) << 18;

Error file_error(std::string_view what, int number, const std::string& path, std::string hint) {
  return system_error(fmt::format("can not {} the file", what), number, std::move(hint), {path});
}
// What a file that can not be written needs, by the reason.
std::string remedy(int number) {
  if (number == EFBIG) return "raise the limit of file sizes (ulimit -f)";
  return number == ENOSPC || number == EDQUOT ? "free some space" : "check the disk";
}
Error too_large(uint64_t limit, bool is_text) {
  if (!is_text)
    return {ErrorCode::limit, fmt::format("the content is larger than {} bytes", limit), "use a smaller file"};
  return {ErrorCode::limit, fmt::format("the text is larger than {} MiB", limit >> 20), "only archives may be larger"};
}

// What content may have: a zip archive holds weights, a text does not.
struct Limits {
  uint64_t archive;
  uint64_t other;
};
constexpr Limits program_limits{default_size_limit, text_size_limit};

// NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): clang-tidy 16 does not follow what a Result holds
struct Input {
  int descriptor = -1;
  std::string name;   // for errors
  uint64_t size = 0;  // of a regular file, as it is stored
};

// A terminal and a pipe end where their other side says so; what other devices give may have no end.
Result<Input> look_at(int descriptor, const std::string& name) {
  struct stat info;
  if (::fstat(descriptor, &info) != 0) return file_error("read", errno, name, "check that it is open");
  if (S_ISBLK(info.st_mode) || (S_ISCHR(info.st_mode) && ::isatty(descriptor) == 0))
    return Error{ErrorCode::io, "this is a device, which may have no end", "name a file or a pipe", {name}};
  return Input{descriptor, name, S_ISREG(info.st_mode) ? uint64_t(info.st_size) : 0};
}

Result<Descriptor> open_to_read(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return file_error("open", errno, path, "check the path and its permissions");
  return file;
}

// Calls `chunk` with pieces of what comes, as they are.
Status read_chunks(const Input& input, const std::function<Status(std::string_view)>& chunk) {
  std::vector<char> buffer(chunk_size);
  while (true) {
    const ssize_t got = ::read(input.descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return file_error(
          "read", errno, input.name,
          errno == EISDIR ? "name a file inside the directory" : "check the disk and the file's permissions");
    if (got == 0) return Ok{};
    LL_DO(chunk({buffer.data(), size_t(got)}));
  }
}

Error with_file(Error error, const std::string& path) {
  if (error.where.file.empty()) error.where.file = path;
  return error;
}

// Calls `piece` with the decompressed content.
Status read_pieces(const Input& input, const Sink& piece) {
  StreamDecoder decoder;
  Status status = read_chunks(input, [&](std::string_view chunk) { return decoder.feed(chunk, piece); });
  if (status.ok()) status = decoder.finish(piece);
  if (!status.ok()) return with_file(std::move(status).error(), input.name);
  return status;
}

// Appends to `content`; `expected` is what is stored of it, where that is known: too much is refused before it is read.
Sink collect(std::string& content, Limits limits, uint64_t expected = 0) {
  return [&content, limits, expected](std::string_view piece) -> Status {
    const bool is_archive = (content.empty() ? piece : content).starts_with("PK");
    const uint64_t limit = is_archive ? limits.archive : limits.other;
    if (expected > limit || piece.size() > limit - content.size()) return too_large(limit, limits.archive > limit);
    if (content.empty()) content.reserve(size_t(std::min(limit, std::max<uint64_t>(expected, piece.size()))));
    content.append(piece);
    return Ok{};
  };
}

Result<std::string> read_content(const Input& input, Limits limits) try {
  std::string content;
  LL_DO(read_pieces(input, collect(content, limits, input.size)));
  return content;
} catch (const std::bad_alloc&) {
  return with_file(out_of_memory("the content"), input.name);
}

Result<std::string> read_path(const std::string& path, Limits limits) {
  LL_TRY(const Descriptor file, open_to_read(path));
  LL_TRY(const Input input, look_at(file.get(), path));
  return read_content(input, limits);
}

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error("write", errno, path, remedy(errno));
    content.remove_prefix(size_t(written));
  }
  return Ok{};
}

// The file behind symbolic links; empty where it has no name, as the pipe behind /dev/stdout.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : "";
}

// A device or a pipe has no old content to protect, and must not be replaced by a file.
Status write_in_place(const std::string& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return file_error("open", errno, path, "check the path and its permissions");
  LL_DO(write_all(file.get(), content, path));
  if (!file.close()) return file_error("write", errno, path, "check the device");
  return Ok{};
}

Result<int> create_beside(const std::string& target, TemporaryPath& temporary) {
  static std::atomic<uint32_t> counter{0};
  const std::string directory = target.substr(0, target.rfind('/') + 1);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string candidate = fmt::format("{}.lightline-{}-{}.tmp", directory, ::getpid(), counter++);
    int fd = -1;
    auto made = TemporaryPath::made(std::move(candidate), [&](const std::string& path) {
      fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      return fd >= 0;
    });
    if (made) {
      temporary = std::move(*made);
      return fd;
    }
    if (errno != EEXIST) break;
  }
  return file_error("create", errno, target, "check that the directory exists and can be written to");
}

Status write_atomically(const std::string& path, std::string_view content) {
  std::string target = path;
  mode_t mode = 0;
  LL_DO(check_target(path));
  if (struct stat info; ::stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) return write_in_place(path, content);
    mode = info.st_mode & 07777;
    // Through a symbolic link, the file it points to is replaced, not the link.
    if (std::string real = real_path(path); !real.empty()) target = std::move(real);
  }
  TemporaryPath temporary;
  LL_TRY(const int fd, create_beside(target, temporary));
  Descriptor file(fd);
  LL_DO(write_all(file.get(), content, path));
  if (mode != 0 && ::fchmod(file.get(), mode) != 0)
    return file_error("write", errno, path, "check the file's permissions");
  if (::fsync(file.get()) != 0 || !file.close()) return file_error("write", errno, path, remedy(errno));
  if (::rename(temporary.path().c_str(), target.c_str()) != 0)
    return file_error("replace", errno, path, "check the directory's permissions");
  return Ok{};
}

// Cuts a stream into lines.
class LineSplitter {
 public:
  explicit LineSplitter(const std::function<Status(int64_t, std::string_view)>& line) : line_(line) {}

  Status feed(std::string_view piece) {
    while (!piece.empty()) {
      const size_t end = piece.find('\n');
      if (end == std::string_view::npos) return hold(piece);
      if (carry_.empty()) {
        LL_DO(emit(piece.substr(0, end)));
      } else {
        LL_DO(hold(piece.substr(0, end)));
        LL_DO(emit(carry_));
        carry_.clear();
      }
      piece.remove_prefix(end + 1);
    }
    return Ok{};
  }
  Status finish() { return carry_.empty() ? Status(Ok{}) : emit(carry_); }

 private:
  Status hold(std::string_view part) {
    if (part.size() > text_size_limit - carry_.size()) {
      return Error{ErrorCode::limit,
                   fmt::format("the line is longer than {} MiB", text_size_limit >> 20),
                   "check that this is a text file",
                   {"", int(number_ + 1), 1}};
    }
    carry_.append(part);
    return Ok{};
  }
  Status emit(std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    ++number_;
    Status status = line_(number_, text);
    if (!status.ok() && status.error().where.line == 0 && number_ <= INT_MAX) {
      status.error().where.line = int(number_);
      status.error().where.column = 1;
    }
    return status;
  }

  const std::function<Status(int64_t, std::string_view)>& line_;
  std::string carry_;
  int64_t number_ = 0;
};

}  // namespace

Result<std::string> read_file(const std::string& path, uint64_t limit) { return read_path(path, {limit, limit}); }

Result<std::string> read_program(const std::string& path) { return read_path(path, program_limits); }

Result<std::string> read_program_from_standard_input() {
  LL_TRY(const Input input, look_at(STDIN_FILENO, "<stdin>"));
  return read_content(input, program_limits);
}

Result<std::string> decompress(std::string_view content, uint64_t limit) try {
  std::string result;
  StreamDecoder decoder;
  const Sink sink = collect(result, {limit, limit});
  LL_DO(decoder.feed(content, sink));
  LL_DO(decoder.finish(sink));
  return result;
} catch (const std::bad_alloc&) {
  return out_of_memory("the content");
}

Result<std::string> compress_xz(std::string_view content) try {
  std::string result(lzma_stream_buffer_bound(content.size()), '\0');
  size_t size = 0;
  const lzma_ret code = lzma_easy_buffer_encode(LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64, nullptr,
                                                reinterpret_cast<const uint8_t*>(content.data()), content.size(),
                                                reinterpret_cast<uint8_t*>(result.data()), &size, result.size());
  if (code == LZMA_MEM_ERROR) return out_of_memory("the content");
  LL_CHECK(code == LZMA_OK);
  result.resize(size);
  return result;
} catch (const std::bad_alloc&) {
  return out_of_memory("the content");
}

Result<std::string> compress_zst(std::string_view content) try {
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) return out_of_memory("the content");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string result(ZSTD_compressBound(content.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), result.data(), result.size(), content.data(), content.size());
  if (ZSTD_isError(size)) return out_of_memory("the content");
  result.resize(size);
  return result;
} catch (const std::bad_alloc&) {
  return out_of_memory("the content");
}

Status write_file(const std::string& path, std::string_view content) {
  const bool xz = path.ends_with(".xz");
  if (!xz && !path.ends_with(".zst")) return write_atomically(path, content);
  Result<std::string> compressed = xz ? compress_xz(content) : compress_zst(content);
  if (!compressed.ok()) return with_file(std::move(compressed).error(), path);
  return write_atomically(path, *compressed);
}

Status check_target(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return Ok{};
  if (S_ISDIR(info.st_mode)) return file_error("write", EISDIR, path, "name a file inside the directory");
  if (S_ISFIFO(info.st_mode) && !real_path(path).empty())
    return Error{ErrorCode::io, "can not write the file: it is a pipe", "name a file, or /dev/stdout", {path}};
  return Ok{};
}

Status for_each_piece(const std::string& path, const std::function<Status(std::string_view)>& piece) try {
  LL_TRY(const Descriptor file, open_to_read(path));
  LL_TRY(const Input input, look_at(file.get(), path));
  return read_pieces(input, piece);
} catch (const std::bad_alloc&) {
  return with_file(out_of_memory("the content"), path);
}

Status for_each_line(const std::string& path, const std::function<Status(int64_t, std::string_view)>& line) {
  LineSplitter splitter(line);
  LL_DO(for_each_piece(path, [&](std::string_view piece) { return splitter.feed(piece); }));
  Status status = splitter.finish();
  if (!status.ok()) return with_file(std::move(status).error(), path);
  return status;
}

Status check_readable(const std::string& path) {
  LL_TRY(const Descriptor file, open_to_read(path));
  LL_TRY([[maybe_unused]] const Input input, look_at(file.get(), path));
  return Ok{};
}

bool file_exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

std::string content_hash(std::string_view content) {
  const XXH128_hash_t hash = XXH3_128bits(content.data(), content.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace lightline
