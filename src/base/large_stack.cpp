#include "base/large_stack.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <cfenv>
#include <cstddef>
#include <optional>
#include <utility>

namespace lightline {

// Address space with a page in front of it that must not be touched.
class ThreadStack {
 public:
  explicit ThreadStack(size_t bytes) : bytes_(bytes + guard) {
    start_ =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (ok() && mprotect(start_, guard, PROT_NONE) != 0) release();
  }
  ~ThreadStack() { release(); }
  ThreadStack(const ThreadStack&) = delete;
  ThreadStack& operator=(const ThreadStack&) = delete;
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

namespace {

thread_local bool on_large_stack = false;

constexpr size_t most_bytes = size_t(8) << 30, least_bytes = size_t(16) << 20;

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

// Not joined yet; none if it could not be started.
std::optional<pthread_t> start_on(const ThreadStack& stack, const std::function<void()>& work) {
  pthread_attr_t attributes;
  if (!stack.ok() || pthread_attr_init(&attributes) != 0) return std::nullopt;
  pthread_t thread{};
  const bool started = pthread_attr_setstack(&attributes, stack.first(), stack.size()) == 0 &&
                       pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)) == 0;
  pthread_attr_destroy(&attributes);
  return started ? std::optional(thread) : std::nullopt;
}

// The stack must not go before the thread, even if the caller is cancelled.
void join(pthread_t thread) {
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_join(thread, nullptr);
  pthread_setcancelstate(before, nullptr);
}

}  // namespace

bool is_on_large_stack() { return on_large_stack; }

bool run_on_large_stack(const std::function<void()>& work) {
  for (size_t bytes = most_bytes; bytes >= least_bytes; bytes /= 4) {
    const ThreadStack stack(bytes);
    if (const auto thread = start_on(stack, work)) {
      join(*thread);
      return true;
    }
  }
  return false;
}

struct Beside::Thread {
  std::unique_ptr<ThreadStack> stack;
  pthread_t id{};
};

Beside::Beside(std::function<void()> work)
    : work_([this, inner = std::move(work)] {
        try {
          inner();
        } catch (...) {
          thrown_ = std::current_exception();
        }
      }) {
  for (size_t bytes = most_bytes; bytes >= least_bytes && !thread_; bytes /= 4) {
    auto stack = std::make_unique<ThreadStack>(bytes);
    if (const auto id = start_on(*stack, work_)) thread_.reset(new Thread{std::move(stack), *id});
  }
}

Beside::~Beside() {
  if (thread_) join(thread_->id);
}

void Beside::wait() {
  if (thread_)
    join(thread_->id);
  else if (!done_)
    work_();
  thread_.reset();
  done_ = true;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

}  // namespace lightline
