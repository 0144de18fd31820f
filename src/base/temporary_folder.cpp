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

std::optional<TemporaryPath> TemporaryPath::made(std::string path, const std::function<bool(std::string&)>& make) {
  const std::lock_guard lock(paths().mutex);
  if (!make(path)) return std::nullopt;
  paths().list.insert(path);
  TemporaryPath result;
  result.path_ = std::move(path);
  return result;
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
  paths().mutex.lock();  // for ever
  std::error_code ignored;
  for (const std::string& path : paths().list) std::filesystem::remove_all(path, ignored);
}

Result<TemporaryFolder> TemporaryFolder::make() {
  const char* given = std::getenv("TMPDIR");
  const std::filesystem::path parent = given != nullptr && *given != '\0' ? given : "/tmp";
  std::error_code ignored;  // absolute: a name that begins with a dash would be an option of who gets it
  const std::string pattern = (std::filesystem::absolute(parent, ignored) / "lightline-XXXXXX").string();
  auto folder = TemporaryPath::made(pattern, [](std::string& path) { return mkdtemp(path.data()) != nullptr; });
  if (!folder)
    return Error{ErrorCode::io, fmt::format("no temporary folder: '{}' can not be made", pattern), "check TMPDIR", {}};
  return TemporaryFolder(std::move(*folder));
}

}  // namespace lightline
