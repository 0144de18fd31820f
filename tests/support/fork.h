// For tests that change what a whole process may do.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lightline::testing_support {

// Runs `body` in a process of its own and returns its exit status, or minus the signal that ended it.
template <class Body>
int in_a_fork(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// From now on this process can start so many threads more, and as a user who has others running, none at all. Nothing
// counts against root, so root becomes a user who has nothing running.
inline bool limit_threads(rlim_t more) {
  constexpr uid_t nobody_else = 1'987'654'321;
  if (geteuid() != 0) more = 0;
  const rlimit limit{more + 1, more + 1};
  return setrlimit(RLIMIT_NPROC, &limit) == 0 && (geteuid() != 0 || setuid(nobody_else) == 0);
}

}  // namespace lightline::testing_support
