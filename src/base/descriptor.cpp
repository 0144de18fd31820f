#include "base/descriptor.h"

#include <fmt/format.h>

#include <system_error>

namespace lightline {

Error system_error(const std::string& what, int number, std::string hint, Where where) {
  return {ErrorCode::io, fmt::format("{}: {}", what, std::generic_category().message(number)), std::move(hint),
          std::move(where)};
}

}  // namespace lightline
