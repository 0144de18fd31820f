#include "base/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

namespace lightline {

Result<TemporaryFolder> TemporaryFolder::make() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = (parent != nullptr && *parent != '\0' ? std::string(parent) : "/tmp") + "/lightline-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return Error{ErrorCode::io, fmt::format("no temporary folder: '{}' can not be made", path), "check TMPDIR", {}};
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace lightline
