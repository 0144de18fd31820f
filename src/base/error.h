// Errors as values: one error type for the user's mistakes, and LL_CHECK for our own.
//
// Room base: what every room needs and nothing about deep learning beyond dtypes and tensors: errors, files and
// compression, tensors and their files, processes, small maths. Foreign bytes are checked before anything is
// allocated.
// May use: the standard library and small libraries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lightline {

enum class ErrorCode : uint8_t {
  usage,        // the command line or an API call is wrong
  io,           // a file is missing, unreadable or can not be written
  parse,        // a text or binary file breaks its format
  name,         // an unknown or doubly defined name
  type,         // a dtype does not fit
  shape,        // a rank or an extent does not fit
  range,        // an index leaves its array, a value leaves its range
  unsupported,  // well-formed, but beyond what Lightline can do
  limit,        // larger or deeper than the documented limits
  internal,     // a defect of Lightline itself
};

std::string_view name(ErrorCode code);

// A place in a text or file. `line` and `column` count from 1; 0 means unknown.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
};

// The static analyzer does not follow std::variant, so it takes a moved Error for uninitialised.
struct Error {  // NOLINT(clang-analyzer-core.uninitialized.Assign)
  ErrorCode code = ErrorCode::internal;
  std::string message;  // what is wrong, in one sentence without a full stop
  std::string hint;     // what to do about it; may be empty
  Where where;
};

Error out_of_memory(std::string_view what, const std::string& file = "");

// "file:3:7: error: message" and, if there is a hint, a second line "  hint: ...". Of long parts the middle is left
// out.
std::string to_string(const Error& error);

// A value or an Error. Use LL_TRY to unwrap inside functions that return a Result themselves.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }

  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace lightline

// A broken invariant of our own: throws lightline::InternalError, which `api` turns into an Error and `cli` into exit
// code 3.
#define LL_CHECK(condition) ((condition) ? void(0) : ::lightline::check_failed(#condition, __FILE__, __LINE__))

#define LL_CONCAT_(a, b) a##b
#define LL_CONCAT(a, b) LL_CONCAT_(a, b)
// LL_TRY(auto x, f()): declares x from a Result, or returns its error.
#define LL_TRY(declaration, expression) LL_TRY_(LL_CONCAT(ll_result_, __LINE__), declaration, expression)
#define LL_TRY_(result, declaration, expression)      \
  auto result = (expression);                         \
  if (!result.ok()) return std::move(result).error(); \
  declaration = std::move(result).value()
// LL_DO(f()): runs a Status-returning call, or returns its error.
#define LL_DO(expression)                                                                    \
  do {                                                                                       \
    if (auto ll_status = (expression); !ll_status.ok()) return std::move(ll_status).error(); \
  } while (false)
