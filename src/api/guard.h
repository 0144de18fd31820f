// The border of the library: what is thrown inside becomes an Error here, so that no exception crosses it.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "base/error.h"

namespace lightline::api {

inline Error defect(const std::string& what) {
  return {ErrorCode::internal, "internal: " + what, "this is a defect of lightline; please report it", {}};
}

// The result of `work`, a function that gives a Result or a Status.
template <class Work>
auto guarded(const Work& work) -> decltype(work()) {
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

}  // namespace lightline::api
