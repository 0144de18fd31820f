// A folder for files that nobody needs later; it goes away with its owner.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace lightline {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();  // under TMPDIR, else /tmp; for this user alone
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFolder();
  const std::string& path() const { return path_; }
  std::string release() { return std::exchange(path_, ""); }  // the folder stays

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace lightline
