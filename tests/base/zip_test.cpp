#include "base/zip.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/helpers.h"

namespace lightline {
namespace {

using base_test::expect_error;
using base_test::fixture_bytes;
using base_test::TemporaryDirectory;
using Files = std::vector<std::pair<std::string, std::string>>;

constexpr const char* broken = "the zip archive is broken: ";

// An archive written by minizip, the reference.
std::string minizip_archive(const Files& files, int method, int level, bool zip64) {
  const TemporaryDirectory directory;
  const std::string path = directory / "archive.zip";
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const auto& [name, data] : files) {
    EXPECT_EQ(zipOpenNewFileInZip64(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, method, level, zip64),
              ZIP_OK);
    EXPECT_EQ(zipWriteInFileInZip(zip, data.data(), unsigned(data.size())), ZIP_OK);
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
  return read_file(path).value();
}

// What minizip reads from our archive.
Files minizip_files(const std::string& archive) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(write_file(directory / "archive.zip", archive).ok());
  Files files;
  unzFile zip = unzOpen64((directory / "archive.zip").c_str());
  for (int code = unzGoToFirstFile(zip); code == UNZ_OK; code = unzGoToNextFile(zip)) {
    unz_file_info64 info;
    char name[256];
    EXPECT_EQ(unzGetCurrentFileInfo64(zip, &info, name, sizeof(name), nullptr, 0, nullptr, 0), UNZ_OK);
    std::string data(info.uncompressed_size, '\0');
    EXPECT_EQ(unzOpenCurrentFile(zip), UNZ_OK);
    EXPECT_EQ(unzReadCurrentFile(zip, data.data(), unsigned(data.size())), int(data.size()));
    EXPECT_EQ(unzCloseCurrentFile(zip), UNZ_OK);  // which checks the checksum
    files.emplace_back(name, data);
  }
  unzClose(zip);
  return files;
}

Files all_files(const ZipReader& reader) {
  Files files;
  for (const ZipEntry& entry : reader.entries()) {
    const Result<std::string> data = reader.read(entry.name);
    EXPECT_TRUE(data.ok()) << to_string(data.error());
    if (data.ok()) files.emplace_back(entry.name, *data);
  }
  return files;
}

// Overwrites bytes of an archive, to make it hostile.
template <class T>
std::string patched(std::string archive, size_t at, T value) {
  std::memcpy(archive.data() + at, &value, sizeof(T));
  return archive;
}
size_t directory_of(const std::string& archive) { return load_le<uint32_t>(archive, archive.size() - 22 + 16); }

void expect_open_error(const std::string& archive, const std::string& detail) {
  expect_error(ZipReader::open(archive), ErrorCode::parse, broken + detail);
}
void expect_read_error(const std::string& archive, const std::string& name, const std::string& detail) {
  const Result<ZipReader> reader = ZipReader::open(archive);
  ASSERT_TRUE(reader.ok()) << to_string(reader.error());
  expect_error(reader->read(name), ErrorCode::parse, broken + detail);
}

const Files small = {{"a.txt", "hello"}, {"dir/b.bin", std::string("\0\1\2", 3)}, {"empty", ""}};

TEST(Zip, WritesWhatItAndMinizipCanRead) {
  for (const Files& files : {small, Files{}, Files{{"\xC3\xA9", "utf-8"}}}) {
    const std::string archive = write_zip(files).value();
    const Result<ZipReader> reader = ZipReader::open(archive);
    ASSERT_TRUE(reader.ok()) << to_string(reader.error());
    EXPECT_EQ(all_files(*reader), files);
    EXPECT_EQ(minizip_files(archive), files);
    EXPECT_EQ(write_zip(files).value(), archive);
  }
}

TEST(Zip, ReadsWhatMinizipWrites) {
  Files files = small;
  files.emplace_back("zeros", std::string(3000000, '\0'));
  files.emplace_back("text", "to be compressed, to be compressed, to be compressed");
  for (const bool zip64 : {false, true}) {
    for (const int level : {0, 1, 9}) {
      const std::string archive = minizip_archive(files, level == 0 ? 0 : Z_DEFLATED, level, zip64);
      const Result<ZipReader> reader = ZipReader::open(archive);
      ASSERT_TRUE(reader.ok()) << to_string(reader.error());
      EXPECT_EQ(all_files(*reader), files);
    }
  }
}

TEST(Zip, MoreEntriesThanSixteenBits) {
  Files files;
  for (int i = 0; i < 70000; ++i) files.emplace_back(std::to_string(i), "");
  files.back().second = "last";
  const std::string archive = write_zip(files).value();
  const Result<ZipReader> reader = ZipReader::open(archive);
  ASSERT_TRUE(reader.ok()) << to_string(reader.error());
  EXPECT_EQ(reader->entries().size(), 70000u);
  EXPECT_EQ(reader->read("69999").value(), "last");
  // The second end record must be where it claims to be, and agree with the first.
  expect_open_error(patched<uint64_t>(archive, archive.size() - 22 - 12, archive.size()),
                    "its zip64 end record is not where the locator says");
  expect_open_error(patched<uint64_t>(archive, archive.size() - 22 - 12, 0),
                    "its zip64 end record is not where the locator says");
  expect_open_error(patched<uint64_t>(archive, archive.size() - 22 - 20 - 52, 45),
                    "its zip64 end record has a wrong size");
  expect_open_error(patched<uint16_t>(archive, archive.size() - 22 + 10, 5),
                    "its two end records contradict each other");
  expect_open_error(patched<uint64_t>(archive, archive.size() - 22 - 20 - 24, uint64_t(1) << 60),
                    "its directory is too small for the number of entries");
}

TEST(Zip, NamesThatCanNotBeWritten) {
  expect_error(write_zip({{"a", ""}, {"a", ""}}), ErrorCode::name, "two entries are named 'a'");
  expect_error(write_zip({{std::string("a\0b", 3), ""}}), ErrorCode::name,
               "'a\\x00b' can not name an entry of a zip archive");
  expect_error(write_zip({{std::string(65536, 'a'), ""}}), ErrorCode::name,
               "'" + std::string(80, 'a') + "...' can not name an entry of a zip archive");
}

TEST(Zip, ReadingChecksNameAndLimit) {
  const std::string archive = write_zip(small).value();
  const ZipReader reader = ZipReader::open(archive).value();
  expect_error(reader.read("c"), ErrorCode::name, "the zip archive has no entry 'c'");
  expect_error(reader.read("a.txt", 4), ErrorCode::limit, "'a.txt' has 5 bytes, more than the 4 allowed");
  EXPECT_EQ(reader.read("a.txt", 5).value(), "hello");
}

TEST(Zip, HostileEndRecord) {
  const std::string archive = write_zip(small).value();
  const size_t end = archive.size() - 22;
  expect_open_error("", "it is too short");
  expect_open_error(std::string(100, 'x'), "it has no end record");
  expect_open_error(archive + "trailing", "it has no end record");
  expect_open_error(archive.substr(0, archive.size() - 1), "it has no end record");
  expect_open_error(patched<uint16_t>(archive, end + 10, 4), "its directory is too small for the number of entries");
  expect_open_error(patched<uint16_t>(archive, end + 10, 2), "its directory holds more than the entries");
  expect_open_error(patched<uint16_t>(archive, end + 10, 65535),
                    "its directory is too small for the number of entries");
  expect_open_error(patched<uint32_t>(archive, end + 12, 0xFFFFFFFF), "its directory is not where the end record says");
  expect_open_error(patched<uint32_t>(archive, end + 16, 0xFFFFFFFF), "its directory is not where the end record says");
  expect_open_error(patched<uint32_t>(archive, end + 16, 0), "its directory is not where the end record says");
  expect_error(ZipReader::open(patched<uint16_t>(archive, end + 4, 1)), ErrorCode::unsupported,
               "the zip archive is split into several files");
}

TEST(Zip, HostileDirectory) {
  const std::string archive = write_zip(small).value();
  const size_t entry = directory_of(archive);
  expect_open_error(patched<uint32_t>(archive, entry, 0), "its directory has a bad entry");
  expect_open_error(patched<uint16_t>(archive, entry + 28, 60000), "its directory has an entry that is cut off");
  expect_open_error(patched<char>(archive, entry + 46, '\0'), "the name of an entry has a zero byte");
  expect_open_error(patched<char>(archive, entry + 46, 'b'),
                    "'b.txt' has another name at its data than in the directory");
  expect_open_error(patched<uint32_t>(archive, entry + 42, 1), "'a.txt' is not where the directory says");
  expect_open_error(patched<uint32_t>(archive, entry + 42, 0xFFFFFFF0), "'a.txt' is not where the directory says");
  expect_open_error(patched<uint32_t>(archive, entry + 20, 0xFFFFFFF0), "'a.txt' reaches beyond the data");
  expect_open_error(patched<uint32_t>(archive, entry + 24, 0xFFFFFFF0),
                    "'a.txt' is stored in 5 bytes but claims 4294967280");
  expect_open_error(patched<uint32_t>(patched<uint32_t>(archive, entry + 20, 8), entry + 24, 8),
                    "'a.txt' and 'dir/b.bin' overlap");
  const std::string bomb = patched<uint32_t>(patched<uint16_t>(archive, entry + 10, 8), entry + 24, 1032 * 6);
  expect_open_error(bomb, "'a.txt' claims 6192 bytes, more than its 5 compressed bytes can hold");

  // Two directory entries with one name, or for the same data.
  const std::string twins = write_zip({{"a", "1"}, {"b", "2"}}).value();
  const size_t second = directory_of(twins) + 46 + 1;
  const std::string same_data = patched<uint32_t>(twins, second + 42, 0);
  expect_open_error(same_data, "'b' has another name at its data than in the directory");
  expect_open_error(patched<char>(same_data, second + 46, 'a'), "it has two entries named 'a'");
}

TEST(Zip, HostileZip64Field) {
  // minizip writes the field in the directory only for large files, so one is put there: tag 1, too short for a size.
  std::string archive = write_zip({{"a", "1"}}).value();
  const size_t entry = directory_of(archive);
  archive = patched<uint16_t>(patched<uint32_t>(archive, entry + 24, 0xFFFFFFFF), entry + 30, 8);
  archive.insert(entry + 46 + 1, std::string("\1\0\4\0wxyz", 8));
  archive = patched<uint32_t>(archive, archive.size() - 22 + 12, 46 + 1 + 8);
  expect_open_error(archive, "the zip64 field of 'a' is too short");
}

TEST(Zip, HostileData) {
  const std::string archive = write_zip(small).value();
  expect_read_error(patched<char>(archive, archive.find("hello"), 'j'), "a.txt", "the checksum of 'a.txt' is wrong");
  const size_t entry = directory_of(archive);
  const std::string with_password = patched<uint16_t>(archive, entry + 8, 1);
  const Result<ZipReader> encrypted = ZipReader::open(with_password);
  expect_error(encrypted->read("a.txt"), ErrorCode::unsupported, "'a.txt' is encrypted");
  const std::string other_method = patched<uint16_t>(archive, entry + 10, 12);
  const Result<ZipReader> bzip2 = ZipReader::open(other_method);
  expect_error(bzip2->read("a.txt"), ErrorCode::unsupported, "'a.txt' is compressed by method 12");

  const std::string deflated = minizip_archive({{"a", std::string(1000, 'a')}}, Z_DEFLATED, 9, false);
  const size_t deflated_entry = directory_of(deflated);
  expect_read_error(patched<uint32_t>(deflated, deflated_entry + 24, 999), "a",
                    "'a' is larger than the directory says");
  expect_read_error(patched<uint32_t>(deflated, deflated_entry + 24, 0), "a", "'a' is larger than the directory says");
  expect_read_error(patched<uint32_t>(deflated, deflated_entry + 24, 1001), "a",
                    "'a' is smaller than the directory says");
  const uint32_t compressed = load_le<uint32_t>(deflated, deflated_entry + 20);
  expect_read_error(patched<uint32_t>(deflated, deflated_entry + 20, compressed - 1), "a",
                    "the compressed data of 'a' is invalid");
  const size_t data = 30 + 1 + load_le<uint16_t>(deflated, 28);
  expect_read_error(patched<char>(deflated, data, '\x07'), "a", "the compressed data of 'a' is invalid");
}

TEST(Zip, ControlCharactersInNamesAreEscaped) {
  const std::string archive = write_zip({{"\x1B[2J", "1"}}).value();
  expect_read_error(patched<char>(archive, 30 + 4, '2'), "\x1B[2J", "the checksum of '\\x1b[2J' is wrong");
}

TEST(Zip, CommentsMayHoldASignature) {
  const std::string content = fixture_bytes("comment.npz");
  const Result<ZipReader> reader = ZipReader::open(content);
  ASSERT_TRUE(reader.ok()) << to_string(reader.error());
  EXPECT_EQ(reader->read("f32.npy").value(), fixture_bytes("f32.npy"));
}

}  // namespace
}  // namespace lightline
