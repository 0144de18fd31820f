// Replays tests/fuzz/regressions/<target>/*: inputs that broke something, or that reach far into the code.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/entries.h"

namespace lightline::fuzz {
namespace {

struct Target {
  const char* name;
  void (*run)(std::string_view);
};
const Target targets[] = {{"npy", run_npy},
                          {"npz", run_npz},
                          {"safetensors", run_safetensors},
                          {"decompress", run_decompress},
                          {"loops", run_loops},
                          {"fx_text", run_fx_text},
                          {"tar", run_tar},
                          {"stablehlo", run_stablehlo},
                          {"schedule", run_schedule}};

// Raw bytes: read_file would undo the compression that is under test.
std::string raw_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FuzzRegressions, Replay) {
  for (const Target& target : targets) {
    const std::filesystem::path directory =
        std::filesystem::path(LIGHTLINE_SOURCE_DIR) / "tests/fuzz/regressions" / target.name;
    ASSERT_TRUE(std::filesystem::exists(directory)) << directory;
    int replayed = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      EXPECT_NO_THROW(target.run(raw_bytes(entry.path()))) << entry.path();
      ++replayed;
    }
    EXPECT_GT(replayed, 0) << directory;
  }
}

// Every prefix of the good files, and every file with one byte changed, is either accepted or refused in words.
TEST(FuzzRegressions, DamagedFixtures) {
  const std::filesystem::path directory = std::filesystem::path(LIGHTLINE_SOURCE_DIR) / "tests/base/data";
  const std::pair<const char*, void (*)(std::string_view)> files[] = {{"f32.npy", run_npy},
                                                                      {"version2.npy", run_npy},
                                                                      {"fortran_big_endian.npy", run_npy},
                                                                      {"comment.npz", run_npz},
                                                                      {"all.safetensors", run_safetensors}};
  for (const auto& [file, run] : files) {
    const std::string good = raw_bytes(directory / file);
    ASSERT_FALSE(good.empty()) << file;
    for (size_t size = 0; size < good.size(); ++size)
      ASSERT_NO_THROW(run(std::string_view(good).substr(0, size))) << file << " " << size;
    for (size_t at = 0; at < good.size(); ++at) {
      for (const int flip : {1, 0x80, 0xFF}) {
        std::string damaged = good;
        damaged[at] = char(damaged[at] ^ flip);
        ASSERT_NO_THROW(run(damaged)) << file << " " << at;
      }
    }
  }
}

// Programs with a line lost, a digit changed or a name cut are refused in words or mean something else.
TEST(FuzzRegressions, DamagedPrograms) {
  const std::filesystem::path directory =
      std::filesystem::path(LIGHTLINE_SOURCE_DIR) / "tests/fuzz/regressions/fx_text";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string good = raw_bytes(entry.path());
    for (size_t at = 0; at < good.size(); ++at) {
      std::string damaged = good;
      if (good[at] == '\n')
        damaged.erase(at + 1, good.find('\n', at + 1) - at);
      else if (std::isdigit(uint8_t(good[at])))
        damaged[at] = at % 3 == 0 ? '9' : at % 3 == 1 ? '0' : '-';
      else if (at % 11 == 0)
        damaged.erase(at, 1);
      else
        continue;
      ASSERT_NO_THROW(run_fx_text(damaged)) << entry.path() << " " << at;
    }
  }
}

}  // namespace
}  // namespace lightline::fuzz
