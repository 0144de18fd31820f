#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/process_testing.h"
#include "base/process_tree.h"
#include "base/sanitizers.h"
#include "support/fork.h"

namespace lightline {
namespace {

using base_test::TemporaryDirectory;
using process_test::comes_true;
using process_test::expect_gone;
using process_test::family;
using process_test::is_gone;
using process_test::numbers;
using process_test::shell;
using testing_support::in_a_fork;

using Process = process_test::LeavesNothing;

template <class T>
void expect_message(const Result<T>& result, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(result.ok()) << "expected: " << message;
  EXPECT_EQ(result.error().message, message);
  EXPECT_EQ(name(result.error().code), name(code));
}

TEST_F(Process, ExitStatusAndStreams) {
  const auto result = shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit_status, 3);
  EXPECT_EQ(result->signal, 0);
  EXPECT_EQ(result->limit, ProcessLimit::none);
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->errors, "err\n");
  EXPECT_FALSE(result->output_cut || result->errors_cut || result->succeeded());
  EXPECT_GT(result->seconds, 0);
  EXPECT_GT(result->peak_bytes, 100u << 10);
  EXPECT_TRUE(run_process({"true"})->succeeded());
}

TEST_F(Process, Signals) {
  for (const int signal : {SIGTERM, SIGKILL, SIGSEGV}) {
    const auto result = shell("kill -" + std::to_string(signal) + " $$");
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->signal, signal);
    EXPECT_EQ(result->exit_status, 0);
    EXPECT_EQ(result->limit, ProcessLimit::none);
    EXPECT_FALSE(result->succeeded());
  }
}

TEST_F(Process, ArgumentsArriveAsTheyAre) {
  const auto result = run_process({"printf", "%s|", "a b", "", "$HOME", "'\"*"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "a b||$HOME|'\"*|");
}

TEST_F(Process, LargeStreamsTogether) {
  const auto result = shell(
      "for i in 1 2 3 4 5 6 7 8 9 10; do head -c 1000000 /dev/zero | tr '\\0' a; "
      "head -c 1000000 /dev/zero | tr '\\0' b >&2; done");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, std::string(10000000, 'a'));
  EXPECT_EQ(result->errors, std::string(10000000, 'b'));
  EXPECT_TRUE(result->succeeded());
}

TEST_F(Process, Input) {
  std::string text(10000000, 'x');
  for (size_t i = 0; i < text.size(); i += 997) text[i] = char(i);
  const auto echoed = run_process({"cat"}, {.input = text});
  ASSERT_TRUE(echoed.ok());
  EXPECT_TRUE(echoed->output == text);
  EXPECT_TRUE(run_process({"true"}, {.input = text})->succeeded());
  EXPECT_EQ(run_process({"head", "-c", "3"}, {.input = "abcdef"})->output, "abc");
  EXPECT_EQ(run_process({"cat"})->output, "");
  EXPECT_FALSE(shell("echo changed >&0", {.input = "fixed"})->succeeded());
}

TEST_F(Process, EnvironmentAndFolder) {
  const TemporaryDirectory directory;
  const std::string folder = std::filesystem::canonical(directory / "");
  const std::string before = std::filesystem::current_path();
  const auto result =
      shell("pwd; echo \"$ADDED|$HOME\"",
            {.environment = {{"ADDED", "first"}, {"HOME", "/our own"}, {"ADDED", "a=b c"}}, .folder = folder});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output + "/", folder + "\na=b c|/our own\n/");
  EXPECT_EQ(std::getenv("ADDED"), nullptr);
  EXPECT_EQ(std::filesystem::current_path(), before);
  EXPECT_NE(shell("env")->output.find("PATH="), std::string::npos);
}

TEST_F(Process, TheProgramsOwnPathCounts) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file(directory / "greet", "#!/bin/sh\necho hello\n").ok());
  chmod((directory / "greet").c_str(), 0700);
  EXPECT_EQ(run_process({"greet"}, {.environment = {{"PATH", "/no/such:" + directory / ""}}})->output, "hello\n");
  EXPECT_EQ(run_process({"./greet"}, {.folder = directory / ""})->output, "hello\n");
  EXPECT_EQ(run_process({"greet"}, {.environment = {{"PATH", ":/bin"}}, .folder = directory / ""})->output, "hello\n");
}

TEST_F(Process, WhatCanNotBeStarted) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file(directory / "plain", "text").ok());
  ASSERT_TRUE(write_file(directory / "no-format", "text").ok());
  chmod((directory / "no-format").c_str(), 0700);
  const auto reason = [&](const std::string& program, const std::string& why) {
    return "'" + program + "' can not be started: " + why;
  };
  expect_message(run_process({"no-such-program"}), ErrorCode::io,
                 reason("no-such-program", "No such file or directory"));
  expect_message(run_process({"/no/such"}), ErrorCode::io, reason("/no/such", "No such file or directory"));
  expect_message(run_process({directory / "plain"}), ErrorCode::io, reason(directory / "plain", "Permission denied"));
  expect_message(run_process({"plain"}, {.environment = {{"PATH", directory / "" + ":/bin"}}}), ErrorCode::io,
                 reason("plain", "Permission denied"));
  expect_message(run_process({directory / "no-format"}), ErrorCode::io,
                 reason(directory / "no-format", "Exec format error"));
  expect_message(run_process({directory / ""}), ErrorCode::io, reason(directory / "", "Permission denied"));
  expect_message(run_process({"true", std::string(3 << 20, 'x')}), ErrorCode::io,
                 reason("true", "Argument list too long"));
  expect_message(run_process({"true"}, {.folder = "/no/such"}), ErrorCode::io,
                 "'true' can not be started in '/no/such': No such file or directory");
}

TEST_F(Process, MisuseIsRefused) {
  const std::string zero("a\0b", 3);
  expect_message(run_process({}), ErrorCode::usage, "there is no program to start");
  expect_message(run_process({""}), ErrorCode::usage, "there is no program to start");
  expect_message(run_process({"true", zero}), ErrorCode::usage, "a word of the command 'true' holds a zero byte");
  expect_message(run_process({"true"}, {.environment = {{"A=B", "c"}}}), ErrorCode::usage,
                 "'A=B' can not be a variable of the environment");
  expect_message(run_process({"true"}, {.folder = zero}), ErrorCode::usage, "the name of a folder holds a zero byte");
  expect_message(run_process({"true"}, {.seconds = -1}), ErrorCode::usage, "a time limit of -1 s makes no sense");
}

TEST_F(Process, TimeLimitEndsTheWholeTree) {
  const auto result = shell(std::string(family) + "; wait; sleep 60", {.seconds = 0.5});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limit, ProcessLimit::time);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_GE(result->seconds, 0.5);
  EXPECT_LT(result->seconds, 5);
  EXPECT_EQ(numbers(result->output).size(), 4u);
  expect_gone(numbers(result->output));
  EXPECT_FALSE(result->succeeded());
}

TEST_F(Process, WhatAProgramLeavesBehindEndsWithIt) {
  const TemporaryDirectory directory;
  const std::string all_there = "while [ $(wc -l <pids) -lt 4 ]; do sleep 0.01; done; cat pids; exit 7";
  const auto result = shell("{ " + std::string(family) + "; } >pids; " + all_there, {.folder = directory / ""});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit_status, 7);
  EXPECT_EQ(result->limit, ProcessLimit::none);
  EXPECT_EQ(numbers(result->output).size(), 4u);
  expect_gone(numbers(result->output));
}

// A tracer is told first, and need not pass it on.
TEST_F(Process, AnEndThatATracerHidesIsSeen) {
  const auto result = run_process(
      {"python3", "-c",
       "import ctypes, os, time\n"
       "seize, program = 0x4206, os.getpid()\n"
       "ready, tell = os.pipe()\n"
       "if os.fork() == 0:\n"
       "  os.setsid()\n"
       "  ctypes.CDLL(None).ptrace(seize, program, None, None)\n"  // where that is forbidden, nothing is hidden
       "  os.write(tell, b'1')\n"
       "  time.sleep(20)\n"
       "  os._exit(0)\n"
       "os.read(ready, 1)\n"
       "os._exit(4)"});
  if (shell("command -v python3")->exit_status != 0) GTEST_SKIP() << "there is no python3";
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit_status, 4);
  EXPECT_EQ(result->errors, "");
  EXPECT_LT(result->seconds, 15);
}

TEST_F(Process, CpuLimit) {
  const auto result = shell("while :; do :; done", {.seconds = 20, .cpu_seconds = 0.5});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limit, ProcessLimit::cpu_time);
  EXPECT_EQ(result->signal, SIGXCPU);
  EXPECT_EQ(shell("kill -XCPU $$")->limit, ProcessLimit::none);
  EXPECT_EQ(shell("kill -XCPU $$", {.cpu_seconds = 5})->limit, ProcessLimit::none);
}

TEST_F(Process, CpuLimitOfAProgramThatIgnoresTheWarning) {
  const auto result = shell("trap '' XCPU; while :; do :; done", {.seconds = 60, .cpu_seconds = 1});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limit, ProcessLimit::cpu_time);
  EXPECT_EQ(result->signal, SIGKILL);
}

// The child uses up its own limit; the program, which only waited for it, ends for another reason.
TEST_F(Process, CpuTimeOfChildrenIsNotThePrograms) {
  const auto result = shell("sh -c 'while :; do :; done'; kill -KILL $$", {.seconds = 60, .cpu_seconds = 1});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_EQ(result->limit, ProcessLimit::none);
}

TEST_F(Process, NoCoreDumpsNotEvenThroughAPipe) {
  const std::string limits = shell("grep core /proc/self/limits")->output;
  EXPECT_EQ(numbers(limits.substr(limits.find_first_of("0123456789"))), (std::vector<pid_t>{1, 1})) << limits;
}

TEST_F(Process, ANumberThatIsAnothersByNowIsNotKilled) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  {
    const HeldProcess of_another({child, 1});
    EXPECT_FALSE(of_another.kill(2));
    EXPECT_FALSE(is_gone(child));
    EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);
    const HeldProcess ours({child, getpid()});
    EXPECT_TRUE(ours.kill(getpid()));
    siginfo_t ended;
    EXPECT_EQ(waitid(P_PID, id_t(child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(ours.has_its_number());
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(ours.has_its_number());
    EXPECT_FALSE(ours.kill(getpid()));
  }
}

TEST_F(Process, MemoryLimit) {
  const std::vector<std::string> command{"dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"};
  const auto refused = run_process(command, {.memory_bytes = 100 << 20});
  ASSERT_TRUE(refused.ok());
  EXPECT_NE(refused->exit_status, 0);
  EXPECT_NE(refused->errors.find("memory exhausted"), std::string::npos) << refused->errors;
  const auto allowed = run_process(command, {.memory_bytes = 400 << 20});
  ASSERT_TRUE(allowed.ok());
  EXPECT_TRUE(allowed->succeeded()) << allowed->errors;
  EXPECT_GT(allowed->peak_bytes, 200u << 20);
  const uint64_t most = any_sanitizer ? UINT64_MAX : 250u << 20;  // before it started, it was a copy of ours
  EXPECT_LT(allowed->peak_bytes, most);
}

TEST_F(Process, OutputLimit) {
  const auto endless = run_process({"yes"}, {.output_bytes = 100001});
  ASSERT_TRUE(endless.ok());
  EXPECT_EQ(endless->limit, ProcessLimit::output);
  EXPECT_EQ(endless->signal, SIGKILL);
  EXPECT_TRUE(endless->output_cut);
  EXPECT_FALSE(endless->errors_cut);
  EXPECT_EQ(endless->output.size(), 100001u);
  const auto short_lived = shell("echo 12345 >&2", {.output_bytes = 5});
  ASSERT_TRUE(short_lived.ok());
  EXPECT_EQ(short_lived->limit, ProcessLimit::output);
  EXPECT_EQ(short_lived->errors, "12345");
  EXPECT_TRUE(short_lived->errors_cut);
  EXPECT_FALSE(short_lived->succeeded());
  EXPECT_EQ(shell("echo 1234 >&2", {.output_bytes = 5})->limit, ProcessLimit::none);
}

TEST_F(Process, OutputCanBeCutInstead) {
  const auto result = shell("head -c 5000000 /dev/zero; echo done >&2", {.output_bytes = 1000, .cut_output = true});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->succeeded());
  EXPECT_TRUE(result->output_cut);
  EXPECT_EQ(result->output, std::string(1000, '\0'));
  EXPECT_EQ(result->errors, "done\n");
}

TEST_F(Process, DescendantLimit) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file(directory / "bomb",
                         "echo $$\n[ $1 -eq 0 ] && exec sleep 60\n"
                         "setsid sh bomb $(($1 - 1)) & sh bomb $(($1 - 1)) & wait\n")
                  .ok());
  const auto result = run_process({"sh", "bomb", "5"}, {.folder = directory / "", .seconds = 20, .descendants = 8});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limit, ProcessLimit::descendants);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_FALSE(numbers(result->output).empty());
  expect_gone(numbers(result->output));
}

TEST_F(Process, DescendantLimitCountsExactly) {
  const std::string three = "sleep 0.2 & (sleep 0.2; :) & wait";
  EXPECT_TRUE(shell(three, {.descendants = 3})->succeeded());
  EXPECT_EQ(shell(three, {.descendants = 2})->limit, ProcessLimit::descendants);
  EXPECT_TRUE(run_process({"sleep", "0.05"}, {.descendants = 0})->succeeded());
}

TEST_F(Process, NoDescriptorsAreInherited) {
  const int leaky = open("/dev/null", O_RDONLY);
  const int high = fcntl(leaky, F_DUPFD, 200);
  const auto result = shell("ls /proc/$$/fd");
  close(leaky);
  close(high);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "0\n1\n2\n");
}

TEST_F(Process, SignalsAndSessionAreTheProgramsOwn) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto handler = signal(SIGPIPE, SIG_IGN);
  const auto children = signal(SIGCHLD, SIG_IGN);
  const unsigned long ignore[4] = {1};  // SIG_IGN; the C library does not let us say it of signal 32
  unsigned long kept[4];
  syscall(SYS_rt_sigaction, 32, ignore, kept, sizeof(uint64_t));
  const auto result = shell("grep -E '^Sig(Blk|Ign)' /proc/self/status; cut -d ' ' -f 6 /proc/$$/stat; echo $$");
  syscall(SYS_rt_sigaction, 32, kept, nullptr, sizeof(uint64_t));
  signal(SIGCHLD, children);
  signal(SIGPIPE, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->output.starts_with("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n")) << result->output;
  const std::vector<pid_t> session = numbers(result->output.substr(result->output.find("SigIgn:\t") + 24));
  ASSERT_EQ(session.size(), 2u);
  EXPECT_EQ(session[0], session[1]);
}

TEST_F(Process, WorksWithoutStandardStreams) {
  const int status = in_a_fork([] {
    for (const int fd : {0, 1, 2}) close(fd);
    const auto result = shell("cat; echo err >&2; exit 5", {.input = "in"});
    return result.ok() && result->output == "in" && result->errors == "err\n" ? result->exit_status : 1;
  });
  EXPECT_EQ(status, 5);
}

TEST_F(Process, ManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 8; ++i) {
        const std::string text = std::to_string(thread) + "," + std::to_string(i);
        const auto result = shell("cat; echo \"$NAME\" >&2; ls /proc/$$/fd",
                                  {.input = text + "\n", .environment = {{"NAME", text}}, .seconds = 20});
        good += result.ok() && result->succeeded() && result->output == text + "\n0\n1\n2\n" &&
                result->errors == text + "\n";
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 64);
}

TEST_F(Process, OurDeathIsItsDeath) {
  const TemporaryDirectory directory;
  const pid_t parent = fork();
  if (parent == 0) {
    shell("{ " + std::string(family) + "; } >>pids; wait; sleep 60", {.folder = directory / ""}).ok();
    _exit(0);
  }
  const auto pids = [&] {
    return numbers(read_file(directory / "pids").ok() ? read_file(directory / "pids").value() : "");
  };
  EXPECT_TRUE(comes_true([&] { return pids().size() == 4; }));
  for (const pid_t pid : pids()) EXPECT_FALSE(is_gone(pid));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(comes_true([&] {
    const std::vector<pid_t> list = pids();
    return std::all_of(list.begin(), list.end(), is_gone);
  }));
}

TEST_F(Process, ALostSupervisorIsAnError) {
  const auto result = shell("kill -KILL $PPID; sleep 60");
  expect_message(result, ErrorCode::io, "'sh' is lost: its supervisor was killed");
}

// The C library keeps 32 and 33 for itself, and leaves them out of its sets of all signals.
TEST_F(Process, SignalsOfTheLibraryDoNotEndTheSupervisor) {
  const auto result = shell("kill -32 $PPID; kill -33 $PPID; echo done");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->output, "done\n");
}

TEST_F(Process, PrivilegesCanNotBeGained) {
  EXPECT_EQ(shell("grep NoNewPrivs /proc/self/status")->output, "NoNewPrivs:\t1\n");
}

TEST_F(Process, LimitsOfOursStay) {
  if (any_sanitizer) GTEST_SKIP() << "a sanitizer has memory of its own";
  const int status = in_a_fork([] {
    const rlimit ours{rlim_t(900) << 20, rlim_t(1000) << 20};
    setrlimit(RLIMIT_AS, &ours);
    const std::string show = "ulimit -Sv; ulimit -Hv";
    const auto inherited = shell(show), raised = shell(show, {.memory_bytes = uint64_t(950) << 20});
    return inherited->output == "921600\n1024000\n" && raised->output == "921600\n972800\n" ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(Process, OurMemoryIsNotCountedAsThePrograms) {
  if (any_sanitizer) GTEST_SKIP() << "a sanitizer has memory of its own";
  const std::string large(100 << 20, 'x');
  const auto result = run_process({"true"});
  ASSERT_TRUE(result.ok());
  EXPECT_LT(result->peak_bytes, 30u << 20);
  EXPECT_EQ(large[large.size() / 2], 'x');
}

TEST_F(Process, BothListingsFindTheSameDescendants) {
  const TemporaryDirectory directory;
  ASSERT_EQ(mkfifo((directory / "end").c_str(), 0600), 0);
  const int end = open((directory / "end").c_str(), O_RDWR | O_CLOEXEC);
  std::thread runner([&] {
    EXPECT_TRUE(shell("sleep 60 & (sleep 60 & sleep 60; :) & read line <end; :", {.folder = directory / ""}).ok());
  });
  const auto found = [](ProcessListing listing) {
    std::vector<FoundProcess> processes(100);
    processes.resize(find_descendants(getpid(), processes, listing));
    std::vector<pid_t> pids;
    for (const FoundProcess& process : processes) pids.push_back(process.pid);
    std::sort(pids.begin(), pids.end());
    return pids;
  };
  EXPECT_TRUE(comes_true([&] { return found(ProcessListing::children).size() == 6; }));
  EXPECT_EQ(found(ProcessListing::children), found(ProcessListing::parents));
  EXPECT_EQ(write(end, "\n", 1), 1);
  runner.join();
  close(end);
}

}  // namespace
}  // namespace lightline
