// The processes below one, found in /proc. Safe between fork and exec: no allocation, no locks.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

namespace lightline {

enum class ProcessListing : unsigned char {
  children,  // the lists of children that most kernels keep; costs as much as there are descendants
  parents,   // the parent of every process of the machine; works everywhere
};

ProcessListing best_process_listing();

struct FoundProcess {
  pid_t pid;
  pid_t parent;  // when it was found
};

// Fills `found` breadth first and returns how many there are, at most found.size().
// Processes that come or go meanwhile may be missed.
size_t find_descendants(pid_t root, std::span<FoundProcess> found, ProcessListing listing);

// The same, and kills each before its own children are looked for. `root` is the calling process and a subreaper.
size_t kill_descendants(pid_t root, std::span<FoundProcess> found, ProcessListing listing);

// One process, held so that its number can be trusted: whoever has the number later is not meant by it.
class HeldProcess {
 public:
  explicit HeldProcess(FoundProcess process);
  ~HeldProcess();
  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;

  // False, and nothing is done, if its number has gone to a process that is a child of neither the parent nor `root`.
  bool kill(pid_t root) const;
  bool has_its_number() const;  // until somebody has waited for it

 private:
  FoundProcess process_;
  int fd_;  // -1 if the kernel gives none: then the number has to do
};

bool close_descriptors_above(int last);  // false if there is no /proc

}  // namespace lightline
