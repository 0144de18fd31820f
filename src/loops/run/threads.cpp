#include "loops/run/threads.h"

#include <algorithm>

#include "base/startable_threads.h"

namespace lightline::loops {
namespace {

// Threads that a runtime keeps for the thread that calls, itself included.
struct Kept {
  int (*runtime)() = nullptr;
  int threads = 1;
};

}  // namespace

int ready_threads(const OpenMp& openmp) {
  constexpr int most = 4096;
  if (openmp.most_threads == nullptr || openmp.start_threads == nullptr) return 1;
  const int wanted = std::min(openmp.wanted > 0 ? openmp.wanted : openmp.most_threads(), most);
  if (wanted <= 1) return 1;
  thread_local Kept kept;
  if (kept.runtime != openmp.most_threads) kept = {openmp.most_threads, 1};
  if (kept.threads == wanted) return wanted;
  // A runtime that keeps more than are wanted ends the others.
  const int ready = kept.threads > wanted ? wanted : kept.threads + startable_threads(wanted - kept.threads);
  kept.threads = ready > 1 ? openmp.start_threads(ready) : 1;
  return kept.threads;
}

}  // namespace lightline::loops
