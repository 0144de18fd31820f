#include "base/tar.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/stream.h"

namespace lightline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// One entry in ustar form.
std::string entry(const std::string& name, const std::string& content, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 8, std::string("0000644\0", 8));
  header.replace(124, 12, fmt::format("{:011o}", content.size()) + '\0');
  header[156] = type;
  header.replace(257, 8, std::string("ustar\0", 6) + "00");
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += uint8_t(c);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}
const std::string end(1024, '\0');

struct Read {
  std::vector<std::pair<std::string, std::string>> files;
  Status status = Ok{};
};
Read read(const std::string& archive, size_t step = 1 << 20, uint64_t limit = 1 << 20) {
  Read result;
  TarStream stream([](std::string_view name) { return !name.ends_with(".skip"); },
                   [&](const std::string& name, std::string content) -> Status {
                     result.files.emplace_back(name, std::move(content));
                     return Ok{};
                   },
                   limit);
  for (size_t at = 0; at < archive.size() && result.status.ok(); at += step)
    result.status = stream.feed(std::string_view(archive).substr(at, step));
  if (result.status.ok()) result.status = stream.finish();
  return result;
}

TEST(Tar, ReadsFilesInAnyPieces) {
  const std::string archive = entry("a/model.py", "hello") + entry("a/", "", '5') +
                              entry("b.skip", std::string(700, 'x')) + entry("empty", "") +
                              entry("c", std::string(513, 'y')) + end;
  for (const size_t step : {1u, 7u, 511u, 512u, 513u, 1u << 20}) {
    const Read result = read(archive, step);
    ASSERT_TRUE(result.status.ok()) << to_string(result.status.error());
    EXPECT_THAT(result.files,
                ElementsAre(Pair("a/model.py", "hello"), Pair("empty", ""), Pair("c", std::string(513, 'y'))));
  }
}

TEST(Tar, LongNames) {
  const std::string name = std::string(150, 'd').append("/model.py");
  const std::string record = fmt::format(" path={}\n", name);
  const std::string pax = fmt::format("{}{}", record.size() + 3, record);
  EXPECT_THAT(read(entry("././@LongLink", name + '\0', 'L') + entry("short", "1") + end).files,
              ElementsAre(Pair(name, "1")));
  EXPECT_THAT(read(entry("pax", pax, 'x') + entry("short", "2") + entry("next", "3") + end).files,
              ElementsAre(Pair(name, "2"), Pair("next", "3")));
}

TEST(Tar, RefusesDamage) {
  const std::string good = entry("a", "hello") + end;
  std::string damaged = good;
  damaged[10] ^= 1;
  EXPECT_THAT(to_string(read(damaged).status.error()), HasSubstr("checksum"));
  EXPECT_THAT(to_string(read(good.substr(0, 600)).status.error()), HasSubstr("ends in the middle"));
  EXPECT_THAT(to_string(read(entry("a", std::string(2000, 'x')) + end, 512, 1000).status.error()),
              HasSubstr("2000 bytes"));
  EXPECT_THAT(to_string(read(std::string(512, 'z')).status.error()), HasSubstr("checksum"));
}

}  // namespace
}  // namespace lightline
