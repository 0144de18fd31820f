#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include "base/descriptor.h"
#include "base/process_supervisor.h"
#include "base/sanitizers.h"

extern char** environ;

namespace lightline {
namespace {

using Words = std::vector<std::string>;

Error not_started(const std::string& program, int code) {
  return system_error(fmt::format("'{}' can not be started", program), code);
}

// The supervisor puts what it keeps at 0 to 3, so nothing of ours may be there: 0 to 2 can be closed in our process.
bool move_above_3(Descriptor& descriptor) {
  if (descriptor.get() <= 3) descriptor = Descriptor(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 4));
  return descriptor.get() >= 0;
}

struct Ends {
  Descriptor ours;
  Descriptor theirs;
};

// Our end does not block: the program can open its own end for reading and take what poll told us of.
bool make_pipe(Ends& ends) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  ends = {Descriptor(fds[0]), Descriptor(fds[1])};
  if (fcntl(ends.ours.get(), F_SETFL, O_NONBLOCK) != 0) return false;
  return move_above_3(ends.ours) && move_above_3(ends.theirs);
}

bool make_socket_pair(Ends& ends) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
  ends = {Descriptor(fds[0]), Descriptor(fds[1])};
  return move_above_3(ends.ours) && move_above_3(ends.theirs);
}

// A file in memory rather than a pipe: nobody has to feed it, and a program that does not read it harms nobody.
bool open_input(const std::string& text, Descriptor& input) {
  if (text.empty()) {
    input = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return input.get() >= 0 && move_above_3(input);
  }
  input = Descriptor(memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (input.get() < 0 || !move_above_3(input)) return false;
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(input.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) done += size_t(count);
  }
  const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  return lseek(input.get(), 0, SEEK_SET) == 0 && fcntl(input.get(), F_ADD_SEALS, seals) == 0;
}

Error misuse(std::string message) { return {ErrorCode::usage, std::move(message), "", {}}; }

bool is_text(const std::string& text) { return text.find('\0') == std::string::npos; }

Status check(const Words& command, const ProcessOptions& options) {
  if (command.empty() || command[0].empty()) return misuse("there is no program to start");
  for (const std::string& word : command)
    if (!is_text(word)) return misuse(fmt::format("a word of the command '{}' holds a zero byte", command[0].c_str()));
  for (const auto& [name, value] : options.environment)
    if (name.empty() || name.find('=') != std::string::npos || !is_text(name) || !is_text(value))
      return misuse(fmt::format("'{}' can not be a variable of the environment", name.c_str()));
  if (!is_text(options.folder)) return misuse("the name of a folder holds a zero byte");
  for (const std::optional<double>& seconds :
       {options.seconds, options.cpu_seconds, std::optional(options.grace_seconds)})
    if (seconds && !(*seconds >= 0)) return misuse(fmt::format("a time limit of {} s makes no sense", *seconds));
  return Ok{};
}

bool is_variable(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

Words environment_of(const ProcessOptions& options) {
  Words entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  for (const auto& [name, value] : options.environment) {
    std::erase_if(entries, [&](const std::string& entry) { return is_variable(entry, name); });
    entries.push_back(fmt::format("{}={}", name, value));
  }
  return entries;
}

Words paths_to_try(const std::string& program, const Words& environment) {
  if (program.find('/') != std::string::npos) return {program};
  std::string folders = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& entry : environment)
    if (is_variable(entry, "PATH")) folders = entry.substr(5);
  Words paths;
  for (size_t start = 0; start <= folders.size();) {
    const size_t end = std::min(folders.find(':', start), folders.size());
    const std::string folder = folders.substr(start, end - start);
    paths.push_back((folder.empty() ? "." : folder) + "/" + program);
    start = end + 1;
  }
  return paths;
}

// The plan and all that it points to. The supervisor shares it, so what it reports is seen here.
class PlanMemory {
 public:
  PlanMemory(const Words& command, const ProcessOptions& options) {
    const Words environment = environment_of(options);
    const Words paths = paths_to_try(command[0], environment);
    const size_t most_processes = size_t(1) << 22;  // the kernel allows no more
    const size_t found = std::min<size_t>(options.descendants.value_or(0), most_processes) + 2;
    const size_t room = std::max<size_t>(found, 1024);
    size_ = sizeof(SupervisorPlan) + options.folder.size() + 1 + room * sizeof(FoundProcess) + 64;
    for (const Words* words : {&command, &environment, &paths}) size_ += bytes(*words);
    start_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (start_ == MAP_FAILED) return;
    next_ = static_cast<char*>(start_);
    plan_ = new (take(sizeof(SupervisorPlan))) SupervisorPlan;
    plan_->found = {static_cast<FoundProcess*>(take(room * sizeof(FoundProcess))), room};
    plan_->programs = copy(paths);
    plan_->arguments = copy(command);
    plan_->environment = copy(environment);
    if (!options.folder.empty()) plan_->folder = copy(options.folder);
    set_limits(options);
  }
  ~PlanMemory() {
    if (start_ != MAP_FAILED) munmap(start_, size_);
  }
  PlanMemory(const PlanMemory&) = delete;
  PlanMemory& operator=(const PlanMemory&) = delete;

  bool ok() const { return plan_ != nullptr; }
  SupervisorPlan& plan() { return *plan_; }

 private:
  static size_t bytes(const Words& words) {
    size_t size = (words.size() + 1) * sizeof(char*) + 16;
    for (const std::string& word : words) size += word.size() + 1;
    return size;
  }
  void* take(size_t size) {
    void* result = next_;
    next_ += (size + 7) / 8 * 8;
    return result;
  }
  char* copy(const std::string& word) {
    char* result = next_;
    next_ += word.size() + 1;
    return static_cast<char*>(std::memcpy(result, word.c_str(), word.size() + 1));
  }
  char** copy(const Words& words) {
    next_ += -reinterpret_cast<uintptr_t>(next_) % sizeof(char*);
    char** list = static_cast<char**>(take((words.size() + 1) * sizeof(char*)));
    for (size_t i = 0; i < words.size(); ++i) list[i] = copy(words[i]);
    list[words.size()] = nullptr;
    return list;
  }
  void set_limits(const ProcessOptions& options) {
    if (options.seconds) plan_->seconds = *options.seconds;
    if (options.cpu_seconds) plan_->cpu_seconds = uint64_t(std::clamp(std::ceil(*options.cpu_seconds), 1.0, 1e9));
    if (options.memory_bytes) plan_->memory_bytes = *options.memory_bytes;
    plan_->counts_processes = options.descendants.has_value();
    plan_->processes = std::min(size_t(options.descendants.value_or(0)) + 1, plan_->found.size() - 1);
  }

  void* start_ = MAP_FAILED;
  size_t size_ = 0;
  char* next_ = nullptr;
  SupervisorPlan* plan_ = nullptr;
};

// Not fork(): handlers that libraries set up for it stay out of this. And without a signal at its end, the child is no
// business of others who wait for children in our process.
pid_t fork_unnoticed() {
  if (thread_sanitizer) return fork();  // which it must notice
  return pid_t(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
}

// All programs that run now. Never destroyed: threads may still look at it while we end.
struct Running {
  std::mutex mutex;
  std::condition_variable less;
  size_t count = 0;
  std::map<const void*, std::pair<int, pid_t>> supervisors;  // our sockets to them (or -1), and their numbers (or -1)
  bool ending = false;
};
Running& running() {
  static auto* const all = new Running;
  return *all;
}

[[noreturn]] void wait_for_our_end() {
  for (;;) pause();
}

// Does what a supervisor should have done by now: something must keep it stopped. What is below it is killed from here,
// so that nothing is left to stop it again, and it gets the signal.
constexpr double patience = 0.5, between_steps = 0.02;
void step_in(pid_t supervisor, int signal, std::vector<FoundProcess>& found) {
  if (kill_descendants(supervisor, found, best_process_listing()) == found.size())
    found.resize(found.size() * 2);  // the dead stay among them until the supervisor goes on
  kill(supervisor, signal);
}

// Its end, whether wanted or by an exception, ends the program: closing the socket is what the supervisor waits for.
class SupervisorProcess {
 public:
  SupervisorProcess(SupervisorPlan& plan, Descriptor socket) : socket_(std::move(socket)) {
    note_start();
    // A handler of ours must not run in the fork, and no signal may end the supervisor: those that the C library keeps
    // for itself, and leaves out of its own sets, neither.
    constexpr uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
    pid_ = fork_unnoticed();
    if (pid_ == 0) supervise(plan);
    error_ = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof(before));
    const std::lock_guard lock(running().mutex);
    running().supervisors[this].second = pid_;
  }
  ~SupervisorProcess() { wait(); }
  SupervisorProcess(const SupervisorProcess&) = delete;
  SupervisorProcess& operator=(const SupervisorProcess&) = delete;

  int error() const { return pid_ < 0 ? error_ : 0; }
  int socket() const { return socket_.get(); }
  void end_program() { shutdown(socket_.get(), SHUT_WR); }
  pid_t pid() const { return pid_; }  // its own until wait()
  void wait() {
    if (is_over_) return;
    is_over_ = true;
    close_socket();
    siginfo_t info;
    while (pid_ > 0 && waitid(P_PID, id_t(pid_), &info, WEXITED | WNOWAIT | __WALL) < 0 && errno == EINTR) {
    }
    note_end();
  }

 private:
  void note_start() {
    std::unique_lock lock(running().mutex);
    if (running().ending) {
      lock.unlock();
      wait_for_our_end();
    }
    running().supervisors[this] = {socket_.get(), -1};
    ++running().count;
  }
  // Together: its number may soon name something else. The same holds for the process.
  void close_socket() {
    const std::lock_guard lock(running().mutex);
    running().supervisors[this].first = -1;
    socket_.close();
  }
  void note_end() {
    std::unique_lock lock(running().mutex);
    while (pid_ > 0 && waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    running().supervisors.erase(this);
    --running().count;
    running().less.notify_all();
    if (!running().ending) return;
    lock.unlock();
    wait_for_our_end();
  }

  Descriptor socket_;
  pid_t pid_ = -1;
  int error_ = 0;
  bool is_over_ = false;
};

struct Stream {
  Descriptor source;
  std::string& text;
  bool& cut;
  uint64_t limit;

  // Reads once, `most` bytes at most; closes the source at its end.
  size_t take(size_t most) {
    char buffer[65536];
    const ssize_t count = read(source.get(), buffer, std::min(most, sizeof buffer));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
    if (count <= 0) {
      source.close();
      return 0;
    }
    const size_t kept = size_t(std::min<uint64_t>(uint64_t(count), limit - text.size()));
    text.append(buffer, kept);
    cut = cut || kept < size_t(count);
    return size_t(count);
  }

  // What is there once all writers are dead. Its end is not waited for: they may have handed their side to others.
  void take_rest() {
    int waiting = 0;
    if (source.get() < 0 || ioctl(source.get(), FIONREAD, &waiting) != 0) return;
    while (waiting > 0 && source.get() >= 0) {
      const size_t taken = take(size_t(waiting));
      if (taken == 0 && errno == EAGAIN) return;  // somebody else took it
      waiting -= int(taken);
    }
  }
};

// Steps in for a supervisor that should have ended the program by now. What outlasts that is left to itself.
class Rescue {
 public:
  Rescue(const SupervisorProcess& supervisor, const SupervisorPlan& plan, double grace)
      : supervisor_(supervisor), grace_(std::max(grace, patience)) {
    expect_end(plan.start + plan.seconds);
  }
  // That the program has ended at this time, or is told to then.
  void expect_end(double time) {
    next_ = std::min(next_, time + patience);
    last_ = std::min(last_, time + grace_);
  }
  // For poll: milliseconds.
  int time_left() const { return int(std::clamp((next_ - process_clock()) * 1000 + 1, 0.0, 1e6)); }
  void step_in_if_late() {
    const double now = process_clock();
    if (now < next_) return;
    has_given_up_ = now >= last_;
    step_in(supervisor_.pid(), has_given_up_ ? SIGKILL : SIGCONT, found_);
    next_ = now + between_steps;
  }
  bool has_given_up() const { return has_given_up_; }

 private:
  const SupervisorProcess& supervisor_;
  double grace_;
  double next_ = std::numeric_limits<double>::infinity(), last_ = next_;
  std::vector<FoundProcess> found_ = std::vector<FoundProcess>(1024);
  bool has_given_up_ = false;
};

// Reads both streams until the supervisor is done.
Status collect(SupervisorProcess& supervisor, Rescue& rescue, Stream& output, Stream& errors, bool cut_output) {
  bool ending = false;
  for (;;) {
    pollfd sources[] = {
        {supervisor.socket(), POLLIN, 0}, {output.source.get(), POLLIN, 0}, {errors.source.get(), POLLIN, 0}};
    const int ready = poll(sources, 3, rescue.time_left());
    if (ready < 0 && errno != EINTR) return system_error("the output of a program can not be waited for", errno);
    if (ready > 0 && sources[0].revents != 0) break;
    rescue.step_in_if_late();
    if (ready <= 0) continue;
    if (sources[1].revents != 0) output.take(SIZE_MAX);
    if (sources[2].revents != 0) errors.take(SIZE_MAX);
    if (!cut_output && !ending && (output.cut || errors.cut)) {
      supervisor.end_program();
      rescue.expect_end(process_clock());
      ending = true;
    }
  }
  output.take_rest();
  errors.take_rest();
  return Ok{};
}

Error failure(const SupervisorReport& report, const std::string& program, const ProcessOptions& options) {
  switch (report.failed) {
    case ProcessStep::supervise: return system_error(fmt::format("'{}' can not be supervised", program), report.error);
    case ProcessStep::limit: return system_error(fmt::format("'{}' can not be limited", program), report.error);
    case ProcessStep::enter_folder:
      return system_error(fmt::format("'{}' can not be started in '{}'", program, options.folder), report.error);
    case ProcessStep::start: return not_started(program, report.error);
    case ProcessStep::none: break;
  }
  return {ErrorCode::io, fmt::format("'{}' is lost: its supervisor was killed", program), "", {}};
}

}  // namespace

void end_all_processes() {
  std::unique_lock lock(running().mutex);
  running().ending = true;
  for (const auto& [process, supervisor] : running().supervisors)
    if (supervisor.first >= 0) shutdown(supervisor.first, SHUT_WR);
  const auto wait = [&](double seconds) {
    return running().less.wait_for(lock, std::chrono::duration<double>(seconds), [] { return running().count == 0; });
  };
  std::vector<FoundProcess> found(1024);
  const double last = process_clock() + 2;
  for (bool done = wait(patience); !done && process_clock() < last; done = wait(between_steps))
    for (const auto& [process, supervisor] : running().supervisors)
      if (supervisor.second > 0) step_in(supervisor.second, SIGCONT, found);
}

Result<ProcessResult> run_process(const Words& command, const ProcessOptions& options) {
  LL_DO(check(command, options));
  PlanMemory memory(command, options);
  Ends control, output, errors;
  Descriptor input;
  if (!memory.ok() || !make_socket_pair(control) || !make_pipe(output) || !make_pipe(errors) ||
      !open_input(options.input, input))
    return not_started(command[0], errno);
  SupervisorPlan& plan = memory.plan();
  plan.input = input.get();
  plan.output = output.theirs.get();
  plan.errors = errors.theirs.get();
  plan.control = control.theirs.get();
  plan.start = process_clock();

  SupervisorProcess supervisor(plan, std::move(control.ours));
  if (supervisor.error() != 0) return not_started(command[0], supervisor.error());
  for (Descriptor* theirs : {&input, &output.theirs, &errors.theirs, &control.theirs}) theirs->close();
  ProcessResult result;
  Stream out{std::move(output.ours), result.output, result.output_cut, options.output_bytes};
  Stream err{std::move(errors.ours), result.errors, result.errors_cut, options.output_bytes};
  Rescue rescue(supervisor, plan, options.grace_seconds);
  LL_DO(collect(supervisor, rescue, out, err, options.cut_output));
  supervisor.wait();

  SupervisorReport report = plan.report;
  if (rescue.has_given_up() && !report.complete)
    report = {
        .complete = true, .status = SIGKILL, .limit = ProcessLimit::time, .seconds = process_clock() - plan.start};
  if (!report.complete || report.failed != ProcessStep::none) return failure(report, command[0], options);
  const bool too_much = !options.cut_output && (result.output_cut || result.errors_cut);
  result.limit = too_much ? ProcessLimit::output : report.limit;
  result.signal = WIFSIGNALED(report.status) ? WTERMSIG(report.status) : 0;
  result.exit_status = WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 0;
  result.seconds = report.seconds;
  result.peak_bytes = report.peak_bytes;
  return result;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : std::to_string(signal);
}

}  // namespace lightline
