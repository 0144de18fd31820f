// A thread on which the library works for its callers, whatever they are like: with a stack that is large enough for
// recursion over any program, the C locale, the default modes of floating-point arithmetic, and no SIGXFSZ.
#pragma once

#include <exception>
#include <functional>
#include <memory>

namespace lightline {

bool is_on_large_stack();
// Runs `work`, which throws nothing, on such a thread, and waits for it. Of the stack only the pages that are used take
// memory. Returns false if there can be no thread: nothing was done then.
bool run_on_large_stack(const std::function<void()>& work);

// Work that is done on such a thread while the caller goes on; where there can be none, when it is waited for.
class Beside {
 public:
  explicit Beside(std::function<void()> work);
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside();    // waits
  void wait();  // and throws what the work threw

 private:
  struct Thread;
  std::function<void()> work_;
  std::exception_ptr thrown_;
  std::unique_ptr<Thread> thread_;
  bool done_ = false;
};

}  // namespace lightline
