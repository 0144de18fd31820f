// Files and folders that nobody needs later: they go away with their owner, also if a signal ends the program.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace lightline {

// A file or a folder, which need not exist yet, and all that is in it.
class TemporaryPath {
 public:
  TemporaryPath() = default;
  explicit TemporaryPath(std::string path);
  // Makes it and takes note of it at once, so that no signal comes between; `make` may change the path, and says whether
  // there is something there now. Nothing if there is not.
  static std::optional<TemporaryPath> made(std::string path, const std::function<bool(std::string&)>& make);
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

// All that there are now: for whoever ends the program without unwinding. None are made any more: who tries waits.
void remove_temporary_paths();

class TemporaryFolder : public TemporaryPath {
 public:
  static Result<TemporaryFolder> make();  // under TMPDIR, else /tmp; for this user alone

 private:
  explicit TemporaryFolder(TemporaryPath path) : TemporaryPath(std::move(path)) {}
};

}  // namespace lightline
