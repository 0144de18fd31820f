// What tests of processes share.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/helpers.h"
#include "base/process.h"

namespace lightline::process_test {

inline Result<ProcessResult> shell(const std::string& script, const ProcessOptions& options = {}) {
  return run_process({"sh", "-c", script}, options);
}

inline std::vector<pid_t> numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<pid_t> list;
  for (pid_t pid; stream >> pid;) list.push_back(pid);
  return list;
}

inline bool is_gone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

inline void expect_gone(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
}

inline size_t open_descriptors() {
  return size_t(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// A script that prints the numbers of: itself, a child, a child in a session of its own, and one that lost its parents.
inline constexpr const char* family =
    "echo $$; sh -c 'echo $$; exec sleep 60' & setsid sh -c 'echo $$; exec sleep 60' & "
    "( (setsid sh -c 'trap \"\" TERM INT HUP; echo $$; sleep 60; sleep 60' &) & ) ";

// Every test: no child of ours is left, not even a dead one, and no descriptor.
class LeavesNothing : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

 private:
  size_t descriptors_ = open_descriptors();
};

}  // namespace lightline::process_test
