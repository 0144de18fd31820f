// The border of the library: what is thrown inside becomes an Error here, so that no exception crosses it.
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/large_stack.h"

namespace lightline::api {

inline Error defect(const std::string& what) {
  return {ErrorCode::internal, "internal: " + what, "this is a defect of lightline; please report it", {}};
}

template <class Work>
auto without_exceptions(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "there is not enough memory", "", {}};
  } catch (const std::length_error&) {
    return Error{ErrorCode::limit, "a size is larger than memory can be", "", {}};
  } catch (const std::exception& thrown) {
    return defect(thrown.what());
  } catch (...) {
    return defect("something unknown was thrown");
  }
}

// The result of `work`, a function that gives a Result or a Status; on a thread that is fit for any program.
// Throws only if there is no memory for the words of an Error.
template <class Work>
auto guarded(const Work& work) -> decltype(work()) {
  if (is_on_large_stack()) return without_exceptions(work);
  std::optional<decltype(work())> result;
  const bool done = run_on_large_stack([&] {
    try {
      result.emplace(without_exceptions(work));
    } catch (...) {
      result.reset();
    }
  });
  if (!done)
    return Error{ErrorCode::limit,
                 "no thread can be started",
                 "raise the limits of processes and of memory (ulimit -u, ulimit -v)",
                 {}};
  if (!result) throw std::bad_alloc();
  return std::move(*result);
}

}  // namespace lightline::api
