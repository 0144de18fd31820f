// Files and folders that nobody needs later: they go away with their owner, also if a signal ends the program.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace lightline {

// A file or a folder, which need not exist yet, and all that is in it.
class TemporaryPath {
 public:
  TemporaryPath() = default;
  explicit TemporaryPath(std::string path);
  TemporaryPath(TemporaryPath&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryPath& operator=(TemporaryPath&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryPath();
  const std::string& path() const { return path_; }
  std::string release();  // what is there stays

 private:
  std::string path_;
};

// All that there are now: for whoever ends the program without unwinding.
void remove_temporary_paths();

class TemporaryFolder : public TemporaryPath {
 public:
  static Result<TemporaryFolder> make();  // under TMPDIR, else /tmp; for this user alone

 private:
  using TemporaryPath::TemporaryPath;
};

}  // namespace lightline
