// Thrown by LL_CHECK. Nothing but `api`, `cli` and the tests should catch it.
#pragma once

#include <stdexcept>

namespace lightline {
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
}  // namespace lightline
