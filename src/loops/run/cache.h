// From C text to a shared library on disk: compiled once, then found again by content.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "loops/run/compile.h"

namespace lightline::loops {

struct Library {
  std::string path;
  bool from_cache = false;
  std::string remove_after_loading;  // what is ours alone: there is no cache to write to, or its place is taken
};

// Files of other users, or that others may write to, are never used.
Result<Library> build_library(std::string_view source, const CompileOptions& options);

}  // namespace lightline::loops
