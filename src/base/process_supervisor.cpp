#include "base/process_supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

#include "base/process_memory.h"

namespace lightline {
namespace {

constexpr int control = 3;  // where supervise() puts the socket
constexpr int milliseconds_between_counts = 20;

timespec to_timespec(double seconds) { return {time_t(seconds), long((seconds - std::floor(seconds)) * 1e9)}; }

[[noreturn]] void fail(SupervisorPlan& plan, ProcessStep step) {
  plan.report.error = errno;
  plan.report.failed = step;
  _exit(127);
}

// Handlers are functions of ours, and what we ignore must not be ignored by the program.
// The C library keeps two signals for itself and refuses to reset them, so the kernel is asked: all zeros is SIG_DFL.
void reset_signals() {
  const unsigned long usual[4] = {};
  for (int signal = 1; signal < NSIG; ++signal) syscall(SYS_rt_sigaction, signal, usual, nullptr, sizeof(uint64_t));
}

// Limits that hold for us already stay.
void limit(SupervisorPlan& plan, decltype(RLIMIT_AS) resource, uint64_t soft, uint64_t hard) {
  rlimit current;
  if (getrlimit(resource, &current) != 0) fail(plan, ProcessStep::limit);
  const rlimit wanted{std::min(rlim_t(soft), current.rlim_cur), std::min(rlim_t(hard), current.rlim_max)};
  if (setrlimit(resource, &wanted) != 0) fail(plan, ProcessStep::limit);
}

// 1 rather than 0: too little for any file, and the one limit that also holds where core_pattern is a pipe to a program
// (core(5); the kernel takes it for the limit of that program itself).
void forbid_core_dumps(SupervisorPlan& plan) {
  rlimit core;
  if (getrlimit(RLIMIT_CORE, &core) != 0) fail(plan, ProcessStep::limit);
  core.rlim_cur = core.rlim_max = std::min<rlim_t>(1, core.rlim_max);
  if (setrlimit(RLIMIT_CORE, &core) != 0) fail(plan, ProcessStep::limit);
}

// Of all threads of a process, but not of its children. As the kernel counts for RLIMIT_CPU: the clock of user and
// system time of a process has the number that CPUCLOCK_PROF gives it. Works until the process is waited for.
double cpu_seconds_of(pid_t pid) {
  const clockid_t clock = clockid_t(~unsigned(pid) << 3);
  timespec time = {};
  clock_gettime(clock, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

// As execvp searches, without its shell for texts that name no interpreter.
void start_first(SupervisorPlan& plan) {
  bool refused = false;
  for (char* const* program = plan.programs; *program != nullptr; ++program) {
    execve(*program, plan.arguments, plan.environment);
    refused = refused || errno == EACCES;
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) break;
  }
  if (refused && (errno == ENOENT || errno == ENOTDIR)) errno = EACCES;
}

[[noreturn]] void become_program(SupervisorPlan& plan, pid_t supervisor) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.folder != nullptr && chdir(plan.folder) != 0) fail(plan, ProcessStep::enter_folder);
  forbid_core_dumps(plan);
  if (plan.cpu_seconds != RLIM_INFINITY) limit(plan, RLIMIT_CPU, plan.cpu_seconds, plan.cpu_seconds + 1);
  // Last: our address space may be beyond it already, and then the stack can not grow any more.
  if (plan.memory_bytes != RLIM_INFINITY) limit(plan, RLIMIT_AS, plan.memory_bytes, plan.memory_bytes);
  start_first(plan);
  fail(plan, ProcessStep::start);
}

class Supervisor {
 public:
  explicit Supervisor(SupervisorPlan& plan) : plan_(plan) {}

  void prepare() {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // blocked, so it is read from signals_
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
      fail(plan_, ProcessStep::supervise);
    take_descriptors();
    reset_signals();
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    signals_ = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
    deadline_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (signals_ < 0 || deadline_ < 0) fail(plan_, ProcessStep::supervise);
    listing_ = best_process_listing();
    release_forked_heap();
  }

  void start() {
    set_deadline();
    const pid_t own = getpid();
    program_ = pid_t(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (program_ < 0) fail(plan_, ProcessStep::supervise);
    if (program_ == 0) become_program(plan_, own);
    held_ = int(syscall(SYS_pidfd_open, program_, 0));
    for (const int fd : {0, 1, 2}) close(fd);
  }

  // Until the program ends or has to.
  void watch() {
    for (;;) {
      has_ended_ = program_has_ended();
      plan_.report.seconds = process_clock() - plan_.start;
      if (plan_.report.seconds >= plan_.seconds) reached_ = ProcessLimit::time;
      if (has_ended_ || reached_ == ProcessLimit::time) return;
      if (plan_.counts_processes && has_too_many_processes()) {
        reached_ = ProcessLimit::descendants;
        return;
      }
      if (wait_for_news()) return;
    }
  }

  // The group goes at once. What left it is killed wherever it is found: a killed process forks no more, and the
  // children that it leaves become ours. Only when we have no child at all is nothing left.
  void end_everything() {
    kill(-program_, SIGKILL);
    kill(program_, SIGKILL);  // it may not lead its group yet
    for (;;) {
      int status = 0;
      rusage usage;
      pid_t ended;
      while ((ended = wait4(-1, &status, WNOHANG, &usage)) > 0) note_end(ended, status, usage);
      if (ended < 0 && errno == ECHILD) return;
      siginfo_t next;
      if (kill_descendants(getpid(), plan_.found, listing_) > 0)
        waitid(P_ALL, 0, &next, WEXITED | WNOWAIT);
      else
        poll(nullptr, 0, 1);
    }
  }

  void report() {
    const bool killed = WIFSIGNALED(plan_.report.status) && WTERMSIG(plan_.report.status) == SIGKILL;
    const bool stopped = WIFSIGNALED(plan_.report.status) && WTERMSIG(plan_.report.status) == SIGXCPU;
    const bool used_up = plan_.cpu_seconds != RLIM_INFINITY && cpu_seconds_ >= double(plan_.cpu_seconds);
    if (reached_ == ProcessLimit::time || (reached_ == ProcessLimit::descendants && killed))
      plan_.report.limit = reached_;
    else if (used_up && (stopped || killed))
      plan_.report.limit = ProcessLimit::cpu_time;
    plan_.report.complete = true;
  }

 private:
  void take_descriptors() {
    if (dup2(plan_.input, 0) < 0 || dup2(plan_.output, 1) < 0 || dup2(plan_.errors, 2) < 0 ||
        dup3(plan_.control, control, O_CLOEXEC) < 0 || !close_descriptors_above(control))
      fail(plan_, ProcessStep::supervise);
  }

  // A point in time, not a span: whoever stops us meanwhile gains nothing.
  void set_deadline() {
    constexpr double longest = 1e9;
    if (plan_.seconds >= longest) return;
    const itimerspec once{{0, 0}, to_timespec(plan_.start + plan_.seconds)};
    timerfd_settime(deadline_, TFD_TIMER_ABSTIME, &once, nullptr);
  }

  bool program_has_ended() {
    if (!is_seen_to_end() && !is_dead()) return false;
    cpu_seconds_ = cpu_seconds_of(program_);
    return true;
  }

  // Takes leave of what else ended. The program stays: while it does, its number can not name another group.
  bool is_seen_to_end() {
    for (;;) {
      siginfo_t ended = {};
      if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return false;
      if (ended.si_pid == program_) return true;
      int status = 0;
      rusage usage;
      if (wait4(ended.si_pid, &status, WNOHANG, &usage) > 0) note_end(ended.si_pid, status, usage);
    }
  }

  // Whoever traces the program keeps its end from waitid, but not from its descriptor.
  bool is_dead() const {
    pollfd held = {held_, POLLIN, 0};
    return poll(&held, 1, 0) > 0;
  }

  bool has_too_many_processes() {
    return find_descendants(getpid(), plan_.found.first(plan_.processes + 1), listing_) > plan_.processes;
  }

  // Whether there is nobody left to run the program for.
  bool wait_for_news() {
    pollfd sources[] = {{control, POLLIN, 0}, {signals_, POLLIN, 0}, {deadline_, POLLIN, 0}, {held_, POLLIN, 0}};
    poll(sources, 4, plan_.counts_processes ? milliseconds_between_counts : -1);
    signalfd_siginfo signal;
    bool is_over = sources[0].revents != 0;
    while (read(signals_, &signal, sizeof signal) == ssize_t(sizeof signal))
      is_over = is_over || signal.ssi_signo == SIGTERM;
    return is_over;
  }

  void note_end(pid_t ended, int status, const rusage& usage) {
    plan_.report.peak_bytes = std::max(plan_.report.peak_bytes, uint64_t(usage.ru_maxrss) * 1024);
    if (ended != program_) return;
    plan_.report.status = status;
    if (!has_ended_) plan_.report.seconds = process_clock() - plan_.start;
  }

  SupervisorPlan& plan_;
  int signals_ = -1;
  int deadline_ = -1;
  pid_t program_ = -1;
  int held_ = -1;           // its descriptor, or -1 if the kernel gives none
  double cpu_seconds_ = 0;  // of the program alone, if it ended by itself
  bool has_ended_ = false;  // the program, by itself
  ProcessLimit reached_ = ProcessLimit::none;
  ProcessListing listing_ = ProcessListing::children;
};

}  // namespace

double process_clock() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

void supervise(SupervisorPlan& plan) {
  Supervisor supervisor(plan);
  supervisor.prepare();
  supervisor.start();
  supervisor.watch();
  supervisor.end_everything();
  supervisor.report();
  _exit(0);
}

}  // namespace lightline
