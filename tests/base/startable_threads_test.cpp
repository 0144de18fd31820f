#include "base/startable_threads.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/sanitizers.h"
#include "support/fork.h"

namespace lightline {
namespace {

using testing_support::in_a_fork, testing_support::limit_threads;

TEST(StartableThreads, AllThatAreWanted) {
  EXPECT_EQ(startable_threads(-1), 0);
  EXPECT_EQ(startable_threads(0), 0);
  EXPECT_EQ(startable_threads(1), 1);
  EXPECT_EQ(startable_threads(40), 40);
}

TEST(StartableThreads, NoneWhereNoneCanBe) {
  EXPECT_EQ(in_a_fork([] { return limit_threads(0) ? startable_threads(4) : 100; }), 0);
}

// What was tried must not stand in the way of what it was tried for.
TEST(StartableThreads, AsManyCanBeStartedAtOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user who has nothing running";
  for (int times = 0; times < 20; ++times)
    EXPECT_EQ(in_a_fork([] {
                if (!limit_threads(3)) return 100;
                for (int round = 0; round < 20; ++round)
                  if (const int found = startable_threads(8); found != 3) return found;
                return 3;
              }),
              3);
}

}  // namespace
}  // namespace lightline
