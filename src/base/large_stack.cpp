#include "base/large_stack.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <cfenv>
#include <cstddef>

namespace lightline {
namespace {

thread_local bool on_large_stack = false;

constexpr size_t most_bytes = size_t(8) << 30, least_bytes = size_t(16) << 20;

// Address space with a page in front of it that must not be touched.
class Stack {
 public:
  explicit Stack(size_t bytes) : bytes_(bytes + guard) {
    start_ =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (ok() && mprotect(start_, guard, PROT_NONE) != 0) release();
  }
  ~Stack() { release(); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  bool ok() const { return start_ != MAP_FAILED; }
  void* first() const { return static_cast<char*>(start_) + guard; }
  size_t size() const { return bytes_ - guard; }

 private:
  static constexpr size_t guard = size_t(64) << 10;
  void release() {
    if (ok()) munmap(start_, bytes_);
    start_ = MAP_FAILED;
  }

  size_t bytes_;
  void* start_ = MAP_FAILED;
};

void* run(void* work) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", locale_t{});
  on_large_stack = true;
  if (plain != locale_t{}) uselocale(plain);
  sigset_t file_size;  // a file that may not grow is a write that fails, like one on a full disk
  sigemptyset(&file_size);
  sigaddset(&file_size, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &file_size, nullptr);
  std::fesetenv(FE_DFL_ENV);
  (*static_cast<const std::function<void()>*>(work))();
  return nullptr;
}

bool run_on(const Stack& stack, const std::function<void()>& work) {
  pthread_attr_t attributes;
  if (!stack.ok() || pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread{};
  const bool started = pthread_attr_setstack(&attributes, stack.first(), stack.size()) == 0 &&
                       pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) return false;
  // The stack must not go before the thread, even if the caller is cancelled.
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_join(thread, nullptr);
  pthread_setcancelstate(before, nullptr);
  return true;
}

}  // namespace

bool is_on_large_stack() { return on_large_stack; }

bool run_on_large_stack(const std::function<void()>& work) {
  for (size_t bytes = most_bytes; bytes >= least_bytes; bytes /= 4)
    if (run_on(Stack(bytes), work)) return true;
  return false;
}

}  // namespace lightline
