#include "base/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

namespace lightline {
namespace {

struct Paths {
  std::mutex mutex;
  std::multiset<std::string> list;
};
// Never destroyed: threads may still look at it while the program ends.
Paths& paths() {
  static auto* const all = new Paths;
  return *all;
}

void forget(const std::string& path) {
  const std::lock_guard lock(paths().mutex);
  if (const auto found = paths().list.find(path); found != paths().list.end()) paths().list.erase(found);
}

}  // namespace

TemporaryPath::TemporaryPath(std::string path) : path_(std::move(path)) {
  const std::lock_guard lock(paths().mutex);
  paths().list.insert(path_);
}

TemporaryPath::~TemporaryPath() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  forget(path_);
}

std::string TemporaryPath::release() {
  forget(path_);
  return std::exchange(path_, "");
}

void remove_temporary_paths() {
  const std::lock_guard lock(paths().mutex);
  std::error_code ignored;
  for (const std::string& path : paths().list) std::filesystem::remove_all(path, ignored);
}

Result<TemporaryFolder> TemporaryFolder::make() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = (parent != nullptr && *parent != '\0' ? std::string(parent) : "/tmp") + "/lightline-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return Error{ErrorCode::io, fmt::format("no temporary folder: '{}' can not be made", path), "check TMPDIR", {}};
  return TemporaryFolder(std::move(path));
}

}  // namespace lightline
