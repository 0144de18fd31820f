#include "base/file.h"

#include <fcntl.h>
#include <lzma.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/helpers.h"

namespace lightline {
namespace {

using base_test::expect_error;
using base_test::TemporaryDirectory;

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

std::string zst_with_window(std::string_view content, int window_log) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string result(ZSTD_compressBound(content.size()), '\0');
  ZSTD_outBuffer out{result.data(), result.size(), 0};
  ZSTD_inBuffer in{content.data(), content.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);  // the size stays unknown, so that the window is kept
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  result.resize(out.pos);
  return result;
}

TEST(File, WritesAndReadsBack) {
  const TemporaryDirectory directory;
  const std::string text = numbered_lines(100000);
  for (const std::string name : {"plain", "packed.xz", "packed.zst"}) {
    const std::string path = directory / name;
    ASSERT_TRUE(write_file(path, text).ok());
    EXPECT_EQ(read_file(path).value(), text);
    EXPECT_EQ(std::filesystem::file_size(path) < text.size(), name != "plain");
    ASSERT_TRUE(write_file(path, "").ok());
    EXPECT_EQ(read_file(path).value(), "");
  }
  EXPECT_EQ(directory.file_count(), 3u);
}

TEST(File, CompressionIsFoundByContentNotByName) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file(directory / "named.txt", compress_xz("hello").value()).ok());
  EXPECT_EQ(read_file(directory / "named.txt").value(), "hello");
  ASSERT_TRUE(write_file(directory / "moved.zst", "hello").ok());
  std::filesystem::rename(directory / "moved.zst", directory / "moved");
  EXPECT_EQ(read_file(directory / "moved").value(), "hello");
}

TEST(File, DecompressHandlesShortAndConcatenatedData) {
  for (const std::string text : {"", "a", "abcde", "abcdef", "abcdefg",
                                 "\xFD"
                                 "7zX",
                                 "\x28\xB5\x2F"}) {
    EXPECT_EQ(decompress(text).value(), text);
    EXPECT_EQ(decompress(compress_xz(text).value()).value(), text);
    EXPECT_EQ(decompress(compress_zst(text).value()).value(), text);
  }
  EXPECT_EQ(decompress(compress_xz("one ").value() + compress_xz("two").value()).value(), "one two");
  EXPECT_EQ(decompress(compress_zst("one ").value() + compress_zst("two").value()).value(), "one two");
  const std::string exact(size_t(1) << 20, 'x');  // a multiple of every buffer
  EXPECT_EQ(decompress(compress_zst(exact).value()).value(), exact);
  EXPECT_EQ(decompress(compress_xz(exact).value()).value(), exact);
}

TEST(File, LimitsStopSmallFilesThatGrow) {
  const std::string zeros(size_t(8) << 20, '\0');
  for (const std::string& packed : {compress_xz(zeros).value(), compress_zst(zeros).value(), zeros}) {
    expect_error(decompress(packed, zeros.size() - 1), ErrorCode::limit, "the content is larger than 8388607 bytes");
    EXPECT_TRUE(decompress(packed, zeros.size()).ok());
  }
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file(directory / "zeros.xz", zeros).ok());
  const auto result = read_file(directory / "zeros.xz", 1000);
  expect_error(result, ErrorCode::limit, "the content is larger than 1000 bytes");
  EXPECT_EQ(result.error().where.file, directory / "zeros.xz");
  expect_error(decompress("abc", 0), ErrorCode::limit, "the content is larger than 0 bytes");
}

// Nothing of it is read: that would take minutes.
TEST(File, WhatIsStoredIsRefusedByItsSize) {
  const TemporaryDirectory directory;
  const std::string path = directory / "sparse";
  ASSERT_TRUE(write_file(path, "program").ok());
  const auto start = std::chrono::steady_clock::now();
  std::filesystem::resize_file(path, uint64_t(4) << 40);
  expect_error(read_file(path), ErrorCode::limit, "the content is larger than 17179869184 bytes");
  expect_error(read_program(path), ErrorCode::limit, "the text is larger than 512 MiB");
  ASSERT_TRUE(write_file(path, "PK").ok());
  std::filesystem::resize_file(path, uint64_t(4) << 40);
  expect_error(read_program(path), ErrorCode::limit, "the content is larger than 17179869184 bytes");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(File, HostileCompressedData) {
  std::string xz = compress_xz(numbered_lines(1000)).value();
  std::string zst = compress_zst(numbered_lines(1000)).value();
  for (size_t size = 6; size < xz.size(); ++size)
    expect_error(decompress(xz.substr(0, size)), ErrorCode::parse, "the .xz data ends too early");
  for (size_t size = 6; size < zst.size(); ++size)
    expect_error(decompress(zst.substr(0, size)), ErrorCode::parse, "the .zst data ends too early");
  expect_error(decompress(xz + "more"), ErrorCode::parse, "the .xz data ends too early");
  expect_error(decompress(xz + "more of it that is not xz"), ErrorCode::parse,
               "the .xz data is corrupt: it does not decode, its checksum is wrong, or other data follows");
  expect_error(decompress(zst + "more"), ErrorCode::parse,
               "the .zst data is corrupt: something other than a frame follows a frame");
  std::string flipped = xz;
  flipped[xz.size() / 2] ^= 1;
  expect_error(decompress(flipped), ErrorCode::parse,
               "the .xz data is corrupt: it does not decode, its checksum is wrong, or other data follows");
  flipped = zst;
  flipped.back() ^= 1;
  expect_error(decompress(flipped), ErrorCode::parse, "the .zst data is corrupt: Restored data doesn't match checksum");
  expect_error(decompress(zst_with_window("a", 28)), ErrorCode::limit,
               "the .zst data needs a window of more than 128 MiB");
  EXPECT_EQ(decompress(zst_with_window("a", 27)).value(), "a");
}

TEST(File, XzDictionariesAreLimited) {
  lzma_options_lzma options;
  ASSERT_FALSE(lzma_lzma_preset(&options, 0));
  options.dict_size = uint32_t(1) << 30;
  uint8_t properties[2];
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  ASSERT_EQ(lzma_properties_encode(filters, properties), LZMA_OK);
  // A small stream whose block header is rewritten to claim a dictionary of 1 GiB.
  std::string xz = compress_xz("hello").value();
  const size_t header = 12, header_size = (size_t(uint8_t(xz[header])) + 1) * 4;
  const size_t property = xz.find(std::string_view("\x21\x01", 2), header) + 2;
  ASSERT_LT(property, header + header_size);
  xz[property] = char(properties[0]);
  const uint32_t crc = lzma_crc32(reinterpret_cast<const uint8_t*>(xz.data()) + header, header_size - 4, 0);
  std::memcpy(xz.data() + header + header_size - 4, &crc, 4);
  expect_error(decompress(xz), ErrorCode::limit, "the .xz data needs more than 512 MiB to decompress");
}

TEST(File, ErrorsNameTheFile) {
  const TemporaryDirectory directory;
  const auto missing = read_file(directory / "missing");
  expect_error(missing, ErrorCode::io, "can not open the file: No such file or directory");
  EXPECT_EQ(missing.error().where.file, directory / "missing");
  expect_error(read_file(directory / ""), ErrorCode::io, "can not read the file: Is a directory");
  expect_error(write_file(directory / "no/such/place", "x"), ErrorCode::io,
               "can not create the file: No such file or directory");
  expect_error(write_file(directory / "", "x"), ErrorCode::io, "can not write the file: Is a directory");
  EXPECT_EQ(directory.file_count(), 0u);
}

TEST(File, AFailedWriteLeavesTheOldFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file";
  ASSERT_TRUE(write_file(path, "old").ok());
  // A limit on the size of files makes the write fail in the middle, in a process of its own.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = write_file(path, std::string(5000, 'x'));
    ::_exit(!status.ok() && status.error().message == "can not write the file: File too large" &&
                    status.error().where.file == path
                ? 0
                : 1);
  }
  int exit_status = 0;
  ASSERT_EQ(::waitpid(child, &exit_status, 0), child);
  EXPECT_EQ(exit_status, 0);
  EXPECT_EQ(read_file(path).value(), "old");
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(File, KeepsModesLinksAndDevices) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file", link = directory / "link";
  ASSERT_TRUE(write_file(path, "old").ok());
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::symlink("file", link.c_str()), 0);
  ASSERT_TRUE(write_file(link, "new").ok());
  EXPECT_EQ(read_file(path).value(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  ASSERT_TRUE(write_file("/dev/null", "x").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(File, PipesAreReadAndOnlyThoseWithoutANameWritten) {
  const TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "through a pipe"; });
  EXPECT_EQ(read_file(pipe).value(), "through a pipe");
  writer.join();
  for (const std::string name : {"pipe", "link"}) {
    if (name == "link") {
      ASSERT_EQ(::symlink("pipe", (directory / name).c_str()), 0);
    }
    expect_error(check_target(directory / name), ErrorCode::io, "can not write the file: it is a pipe");
    expect_error(write_file(directory / name, "x"), ErrorCode::io, "can not write the file: it is a pipe");
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(write_file("/dev/fd/" + std::to_string(ends[1]), "without a name").ok());
  ::close(ends[1]);
  EXPECT_EQ(read_file("/dev/fd/" + std::to_string(ends[0])).value(), "without a name");
  ::close(ends[0]);
}

TEST(File, DevicesAreNotRead) {
  for (const std::string device : {"/dev/zero", "/dev/null", "/dev/full", "/dev/urandom"}) {
    const auto content = read_file(device);
    expect_error(content, ErrorCode::io, "this is a device, which may have no end");
    EXPECT_EQ(content.error().where.file, device);
    const Status lines = for_each_line(device, [](int64_t, std::string_view) -> Status { return Ok{}; });
    expect_error(lines, ErrorCode::io, "this is a device, which may have no end");
  }
}

TEST(File, TextsAreSmallerThanArchives) {
  const TemporaryDirectory directory;
  const std::string path = directory / "sparse";
  const auto with_start = [&](const std::string& start) {
    ASSERT_TRUE(write_file(path, start).ok());
    ASSERT_EQ(::truncate(path.c_str(), off_t(text_size_limit) + 1), 0);
  };
  with_start("program");
  expect_error(read_program(path), ErrorCode::limit, "the text is larger than 512 MiB");
  const Status lines = for_each_line(path, [](int64_t, std::string_view) -> Status { return Ok{}; });
  expect_error(lines, ErrorCode::limit, "the line is longer than 512 MiB");
  with_start("PK");
  const auto archive = read_program(path);
  ASSERT_TRUE(archive.ok());
  EXPECT_EQ(archive->size(), text_size_limit + 1);
}

TEST(File, LongNamesFit) {
  const TemporaryDirectory directory;
  const std::string path = directory / std::string(255, 'n');
  ASSERT_TRUE(write_file(path, "x").ok());
  EXPECT_TRUE(file_exists(path));
}

TEST(File, Lines) {
  const TemporaryDirectory directory;
  const auto lines_of = [&](const std::string& name, const std::string& text) {
    std::vector<std::string> lines;
    EXPECT_TRUE(write_file(directory / name, text).ok());
    const Status status = for_each_line(directory / name, [&](int64_t number, std::string_view line) -> Status {
      EXPECT_EQ(number, int64_t(lines.size()) + 1);
      lines.emplace_back(line);
      return Ok{};
    });
    EXPECT_TRUE(status.ok());
    return lines;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of("a", ""), Lines{});
  EXPECT_EQ(lines_of("a", "one"), Lines{"one"});
  EXPECT_EQ(lines_of("a", "one\n"), Lines{"one"});
  EXPECT_EQ(lines_of("a", "\n\none\r\n\ntwo"), (Lines{"", "", "one", "", "two"}));
  for (const std::string name : {"plain", "packed.xz", "packed.zst"}) {
    const Lines lines = lines_of(name, numbered_lines(200000));
    ASSERT_EQ(lines.size(), 200000u);
    EXPECT_EQ(lines[123455], "line 123456");
    const std::string wide(size_t(3) << 20, 'w');  // longer than the pieces it arrives in
    EXPECT_EQ(lines_of(name, "a\n" + wide + "\nb"), (Lines{"a", wide, "b"}));
  }
}

TEST(File, LinesStopAtTheFirstErrorAndSayWhere) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file(directory / "lines.zst", numbered_lines(10)).ok());
  int64_t calls = 0;
  const Status status = for_each_line(directory / "lines.zst", [&](int64_t number, std::string_view) -> Status {
    ++calls;
    if (number == 3) return Error{ErrorCode::parse, "no", "yes"};
    return Ok{};
  });
  expect_error(status, ErrorCode::parse, "no");
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(to_string(status.error()), directory / "lines.zst" + ":3:1: error: no\n  hint: yes");
  const Status missing = for_each_line(directory / "missing", [](int64_t, std::string_view) -> Status { return Ok{}; });
  expect_error(missing, ErrorCode::io, "can not open the file: No such file or directory");
}

TEST(File, ExistsAndHash) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(file_exists(directory / "file"));
  EXPECT_FALSE(file_exists(directory / ""));
  ASSERT_TRUE(write_file(directory / "file", "x").ok());
  EXPECT_TRUE(file_exists(directory / "file"));
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");  // as `xxh128sum` prints it
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

}  // namespace
}  // namespace lightline
