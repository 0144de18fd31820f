#include "base/startable_threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <semaphore>
#include <vector>

namespace lightline {
namespace {

// A thread that waits until it may end.
struct Trial {
  pthread_t thread{};
  pid_t id = 0;
  std::binary_semaphore end{0};
};

void* await_end(void* trial) {
  auto& own = *static_cast<Trial*>(trial);
  own.id = pid_t(::syscall(SYS_gettid));
  own.end.acquire();
  return nullptr;
}

// A thread that was joined counts against limits until the kernel has forgotten it.
void await_forgotten(pid_t thread) {
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (::syscall(SYS_tgkill, ::getpid(), thread, 0) == 0 && std::chrono::steady_clock::now() < late) ::sched_yield();
}

}  // namespace

int startable_threads(int wanted) {
  if (wanted <= 0) return 0;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for other threads
  std::vector<Trial> trials(static_cast<size_t>(wanted));
  size_t started = 0;
  while (started < trials.size() && pthread_create(&trials[started].thread, nullptr, await_end, &trials[started]) == 0)
    ++started;
  for (size_t i = 0; i < started; ++i) trials[i].end.release();
  for (size_t i = 0; i < started; ++i) pthread_join(trials[i].thread, nullptr);
  for (size_t i = 0; i < started; ++i) await_forgotten(trials[i].id);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return int(started);
}

}  // namespace lightline
