// Shared by the tests of `base`.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/tensor.h"

namespace lightline::base_test {

inline std::string fixture(const std::string& name) {
  return std::string(LIGHTLINE_SOURCE_DIR) + "/tests/base/data/" + name;
}

inline std::string fixture_bytes(const std::string& name) {
  Result<std::string> content = read_file(fixture(name));
  if (!content.ok()) ADD_FAILURE() << to_string(content.error());
  return content.ok() ? std::move(content).value() : std::string();
}

inline std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < dtype_count; ++i) dtypes.push_back(DType(i));
  return dtypes;
}

inline testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return testing::AssertionFailure() << name(a.dtype()) << " is not " << name(b.dtype());
  if (a.shape() != b.shape())
    return testing::AssertionFailure() << to_string(a.shape()) << " is not " << to_string(b.shape());
  if (a.size() > 0 && std::memcmp(a.data(), b.data(), a.byte_count()) != 0)
    return testing::AssertionFailure() << "the elements differ";
  return testing::AssertionSuccess();
}

// Checks the whole error: code, exact message, and that there is a hint.
template <class T>
void expect_error(const Result<T>& result, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(result.ok()) << "expected: " << message;
  EXPECT_EQ(result.error().message, message);
  EXPECT_EQ(name(result.error().code), name(code)) << message;
  EXPECT_FALSE(result.error().hint.empty()) << message;
}

// A directory that is removed at the end of the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lightline-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  size_t file_count() const { return size_t(std::distance(std::filesystem::directory_iterator(path_), {})); }

 private:
  std::filesystem::path path_;
};

}  // namespace lightline::base_test
