// Programs that stop their supervisor: limits hold all the same.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "base/process_testing.h"
#include "base/process_tree.h"

namespace lightline {
namespace {

using process_test::comes_true;
using process_test::expect_gone;
using process_test::family;
using process_test::numbers;
using process_test::shell;

using StoppedProcess = process_test::LeavesNothing;

TEST_F(StoppedProcess, AStoppedSupervisorIsWokenAtTheLimit) {
  const auto late = shell("kill -STOP $PPID; sleep 60", {.seconds = 0.3});
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->limit, ProcessLimit::time);
  EXPECT_LT(late->seconds, 30);
  const auto loud = shell("kill -STOP $PPID; yes; sleep 60", {.output_bytes = 1000});
  ASSERT_TRUE(loud.ok());
  EXPECT_EQ(loud->limit, ProcessLimit::output);
}

// The time that it was stopped for counts.
TEST_F(StoppedProcess, TheLimitIsAPointInTime) {
  const auto late = shell("kill -STOP $PPID; sleep 30", {.seconds = 3});
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->limit, ProcessLimit::time);
  EXPECT_GE(late->seconds, 3);
  EXPECT_LT(late->seconds, 5);
  const auto continued = shell("kill -STOP $PPID; sleep 1.5; kill -CONT $PPID; sleep 30", {.seconds = 2});
  ASSERT_TRUE(continued.ok());
  EXPECT_EQ(continued->limit, ProcessLimit::time);
  EXPECT_LT(continued->seconds, 3.5);
}

TEST_F(StoppedProcess, AnEndThatIsSeenTooLateIsToldAsTheLimit) {
  const auto result = shell("kill -STOP $PPID; exit 3", {.seconds = 0.5});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limit, ProcessLimit::time);
  EXPECT_GE(result->seconds, 0.5);
  EXPECT_EQ(result->exit_status, 3);
}

// For 20 seconds, if nobody ends it, from three processes, one of them in a session of its own.
TEST_F(StoppedProcess, StoppingAgainAndAgainHelpsNobody) {
  const std::string stop = "sleep 20 & while kill -0 $!; do kill -STOP $SUPERVISOR; done";
  const auto result = shell("export SUPERVISOR=$PPID; " + std::string(family) + "; sh -c '" + stop +
                                "' & setsid sh -c '" + stop + "' & " + stop,
                            {.seconds = 2});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limit, ProcessLimit::time);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_LT(result->seconds, 10);
  EXPECT_EQ(numbers(result->output).size(), 4u);
  expect_gone(numbers(result->output));
}

// It opens its own output for reading and takes what we were just told of; then it stops the supervisor.
TEST_F(StoppedProcess, AProgramThatTakesBackItsOutputDoesNotHoldUs) {
  constexpr const char* script =
      "import os, signal, time\n"
      "own = os.open('/proc/self/fd/1', os.O_RDONLY | os.O_NONBLOCK)\n"
      "end = time.monotonic() + 1\n"
      "while time.monotonic() < end:\n"
      "    os.write(1, b'x')\n"
      "    try:\n"
      "        os.read(own, 8)\n"
      "    except BlockingIOError:\n"
      "        pass\n"
      "os.kill(os.getppid(), signal.SIGSTOP)\n"
      "time.sleep(60)\n";
  if (shell("command -v python3")->exit_status != 0) GTEST_SKIP() << "there is no python3";
  alarm(120);  // if it does
  const auto result = run_process({"python3", "-c", script}, {.seconds = 2, .grace_seconds = 5});
  alarm(0);
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(result->limit, ProcessLimit::time);
  EXPECT_LT(result->seconds, 10);
}

TEST_F(StoppedProcess, WithoutGraceTheSupervisorIsGivenUpAtOnce) {
  const auto result = shell("echo $$; kill -STOP $PPID; sleep 60", {.seconds = 0.5, .grace_seconds = 0});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limit, ProcessLimit::time);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_GE(result->seconds, 0.5);
  EXPECT_LT(result->seconds, 10);
  EXPECT_FALSE(result->output.empty());
}

// One that is not below the supervisor can not be killed: the call ends without it.
TEST_F(StoppedProcess, TheCallReturnsWhoeverStopsTheSupervisor) {
  const base_test::TemporaryDirectory directory;
  std::atomic<bool> done = false;
  std::thread outsider([&] {
    pid_t supervisor = 0;
    EXPECT_TRUE(comes_true([&] {
      const auto text = read_file(directory / "supervisor");
      const std::vector<pid_t> found = numbers(text.ok() ? *text : "");
      supervisor = found.empty() ? 0 : found[0];
      return supervisor != 0;
    }));
    const int held = int(syscall(SYS_pidfd_open, supervisor, 0));
    while (!done) syscall(SYS_pidfd_send_signal, held, SIGSTOP, nullptr, 0);
    close(held);
  });
  const auto result =
      shell("echo $PPID >supervisor; sleep 60", {.folder = directory / "", .seconds = 2, .grace_seconds = 1});
  done = true;
  outsider.join();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limit, ProcessLimit::time);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_GE(result->seconds, 2);
  EXPECT_LT(result->seconds, 10);
}

}  // namespace
}  // namespace lightline
