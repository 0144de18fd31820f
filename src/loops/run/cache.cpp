#include "loops/run/cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "base/file.h"
#include "base/process.h"
#include "base/shown.h"
#include "base/temporary_folder.h"

namespace lightline::loops {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string text_of(const char* value) { return value != nullptr ? value : ""; }

Words split(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// A command and its first arguments: CC may hold several words.
Words compiler_command(const CompileOptions& options) {
  for (const std::string& candidate :
       {options.compiler, text_of(std::getenv("LIGHTLINE_CC")), text_of(std::getenv("CC"))})
    if (Words words = split(candidate); !words.empty()) return words;
  return {"cc"};
}

std::string cache_directory(const CompileOptions& options) {
  if (!options.cache_directory.empty()) return options.cache_directory;
  if (const std::string own = text_of(std::getenv("LIGHTLINE_CACHE")); !own.empty()) return own;
  if (const std::string xdg = text_of(std::getenv("XDG_CACHE_HOME")); !xdg.empty()) return xdg + "/lightline";
  if (const std::string home = text_of(std::getenv("HOME")); !home.empty()) return home + "/.cache/lightline";
  return "";
}

// The code is made for this processor. Its name and features tell it from others.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string text, line;
  while (std::getline(file, line) && !line.empty())
    if (line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features") ||
        line.starts_with("CPU part"))
      text += line + "\n";
  return text;
}

// 2 if the vector mathematics of glibc 2.35 are there, 1 for those of 2.22.
int vector_library() {
#if defined(__GLIBC__) && defined(__x86_64__)
  int major = 0, minor = 0;
  if (std::sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) != 2) return 0;
  return major > 2 || minor >= 35 ? 2 : minor >= 22 ? 1 : 0;
#else
  return 0;
#endif
}

struct Attempt {
  bool vectors;
  bool threads;
  bool native;
};

Words flags(const Attempt& attempt) {
  Words list{"-std=gnu11",
             "-O3",
             "-fPIC",
             "-shared",
             "-w",
             "-fno-math-errno",
             "-fno-trapping-math",
             "-ffp-contract=fast",
             "-fno-semantic-interposition"};
  if (attempt.native) list.push_back("-march=native");
  list.push_back(attempt.threads ? "-fopenmp" : "-fopenmp-simd");
  if (attempt.vectors) list.push_back(fmt::format("-DLL_MVEC={}", vector_library()));
  return list;
}

bool is_ours(const std::string& path, bool directory) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return false;
  return (directory ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode)) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_file(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool prepare_directory(const std::string& path) {
  if (path.empty()) return false;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  return is_ours(path, true) && access(path.c_str(), W_OK | X_OK) == 0;
}

constexpr const char* another_folder = "set LIGHTLINE_CACHE to a directory that can be written to";

Result<TemporaryFolder> temporary_folder() {
  auto folder = TemporaryFolder::make();
  if (!folder.ok()) folder.error().hint = another_folder;
  return folder;
}

std::string first_lines(const ProcessResult& result, int count) {
  std::string text = result.output + result.errors;
  while (text.ends_with('\n')) text.pop_back();
  std::string lines;
  for (size_t at = 0; count-- > 0 && at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines += (lines.empty() ? "" : "; ") + shown(std::string_view(text).substr(at, end - at), 500);
    at = end + 1;
  }
  return lines;
}

struct Job {
  std::string source, binary, scratch;
};

constexpr const char* other_ways = "install gcc, set LIGHTLINE_CC, or use --backend interp";

// `scratch`: where the compiler keeps what it makes on its way.
Result<ProcessResult> call_compiler(const Words& command, double seconds, const std::string& scratch) {
  ProcessOptions options{.seconds = seconds, .output_bytes = 1 << 20, .cut_output = true};
  if (!scratch.empty()) options.environment.emplace_back("TMPDIR", scratch);
  if (std::getenv("PATH") == nullptr) options.environment.emplace_back("PATH", "/usr/local/bin:/usr/bin:/bin");
  LL_TRY(ProcessResult result, run_process(command, options));
  if (result.limit == ProcessLimit::time)
    return Error{ErrorCode::limit,
                 fmt::format("the C compiler '{}' was ended after {} s", command[0], seconds),
                 "use --backend interp",
                 {}};
  return result;
}

// A file without content, with the fewest flags: who refuses that refuses everything.
Result<bool> compiles_nothing(Words command, const CompileOptions& options, const Job& job) {
  command.insert(command.end(), {"-shared", "-fPIC", "-o", job.binary, "-x", "c", "/dev/null"});
  LL_TRY(const ProcessResult result, call_compiler(command, options.compiler_seconds, job.scratch));
  return result.succeeded();
}

// Code that is refused with reasons, by a compiler that works, is our own mistake; all else is the machine's.
Status refusal(const Words& command, const CompileOptions& options, const ProcessResult& result, const Job& job) {
  const std::string said = first_lines(result, 4);
  if (said.find(std::strerror(ENOSPC)) != std::string::npos)
    return Error{ErrorCode::io, said, "free some space, or set LIGHTLINE_CACHE to another directory", {}};
  const auto failed = [&](std::string_view how) {
    return Error{
        ErrorCode::unsupported,
        fmt::format("the C compiler '{}' {}{}", command[0], how, said.empty() ? " and said nothing" : ": " + said),
        other_ways,
        {}};
  };
  if (result.signal != 0) return failed("was ended by signal " + signal_name(result.signal));
  const std::string status = fmt::format("ended with exit status {}", result.exit_status);
  if (said.empty()) return failed(status);
  LL_TRY(const bool works, compiles_nothing(command, options, job));
  if (!works) return failed(status + ", also for an empty file");
  return Error{ErrorCode::internal,
               fmt::format("the C compiler '{}' refused the emitted code: {}", command[0], said),
               "use --backend interp; `lightline emit --c` shows the code",
               {}};
}

Status run_compiler(const Words& command, const CompileOptions& options, const Job& job) {
  const bool vectors = vector_library() > 0;
  ProcessResult last;
  for (const Attempt& attempt : {Attempt{vectors, options.openmp, true}, Attempt{false, options.openmp, true},
                                 Attempt{false, false, true}, Attempt{false, false, false}}) {
    Words arguments = command;
    for (const std::string& flag : flags(attempt)) arguments.push_back(flag);
    arguments.insert(arguments.end(), {"-o", job.binary, job.source});
    if (attempt.vectors) arguments.push_back("-lmvec");
    arguments.push_back("-lm");
    LL_TRY(last, call_compiler(arguments, options.compiler_seconds, job.scratch));
    if (last.succeeded() && is_file(job.binary)) return Ok{};
    if (last.succeeded())
      return Error{ErrorCode::unsupported,
                   fmt::format("the C compiler '{}' reported success but wrote no library", command[0]),
                   other_ways,
                   {}};
  }
  return refusal(command, options, last, job);
}

// What tells one compiler from another. One that does not know --version is a compiler all the same.
Result<std::string> version_of(Words command, const CompileOptions& options) {
  command.push_back("--version");
  const auto version = call_compiler(command, options.compiler_seconds, "");
  if (version.ok() && version->exit_status != 127) return version->output + version->errors;
  std::string reason = fmt::format("'{}' can not be started", command[0]);
  if (!version.ok()) {
    reason = version.error().message;
    if (!reason.ends_with(std::strerror(ENOENT)) && !reason.ends_with(std::strerror(EACCES))) return version.error();
  }
  return Error{ErrorCode::unsupported, fmt::format("there is no C compiler: {}", reason), other_ways, {}};
}

// A library ends with the hash of all before it and of its key: one that was cut off or damaged would crash us.
std::string seal_of(std::string_view content, const std::string& key) {
  return "lightline " + content_hash(std::string(content) + key);
}

bool is_whole(const std::string& path, const std::string& key) {
  const auto content = read_file(path);
  const size_t length = seal_of("", "").size();
  if (!content.ok() || content->size() < length) return false;
  const std::string_view library = std::string_view(*content).substr(0, content->size() - length);
  return content->ends_with(seal_of(library, key));
}

Status add_seal(const std::string& path, const std::string& key) {
  LL_TRY(std::string content, read_file(path));
  return write_file(path, content + seal_of(content, key));
}

// Of processes that were killed while they compiled: what is named as theirs and a day old.
void remove_left_over(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    const bool is_unfinished = std::count(name.begin(), name.end(), '.') == 3;  // KEY.PROCESS.ATTEMPT.c
    if (is_unfinished && fs::file_time_type::clock::now() - entry.last_write_time(error) > std::chrono::hours(24) &&
        !error)
      fs::remove_all(entry.path(), error);
  }
}

}  // namespace

Result<Library> build_library(std::string_view source, const CompileOptions& options) {
  const Words command = compiler_command(options);
  LL_TRY(std::string identity, version_of(command, options));
  identity += processor();
  for (const Words& words : {command, flags({vector_library() > 0, options.openmp, true})})
    for (const std::string& word : words) identity += word + "\n";
  const std::string key = content_hash(identity + std::string(source));

  Library library;
  std::string directory = cache_directory(options);
  // Absolute: a name that begins with a dash would be an option of the compiler.
  std::error_code no_folder;
  if (!directory.empty()) directory = fs::absolute(directory, no_folder).string();
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  std::optional<TemporaryFolder> own_folder;
  if (!prepare_directory(directory)) {
    LL_TRY(own_folder, temporary_folder());
    directory = own_folder->path();
  }
  library.path = directory + "/" + key + ".so";
  if (is_ours(library.path, false) && is_whole(library.path, key)) {
    library.from_cache = true;
    return library;
  }
  remove_left_over(directory);
  static std::atomic<uint64_t> attempts = 0;  // threads of one process compile side by side
  const std::string own = fmt::format("{}/{}.{}.{}", directory, key, getpid(), attempts++);
  // Ours until they are renamed to what others look for
  const TemporaryPath text(own + ".c");
  TemporaryPath binary(own + ".so");
  const auto scratch =
      TemporaryPath::made(own + ".tmp", [](const std::string& path) { return mkdir(path.c_str(), 0700) == 0; });
  if (Status written = write_file(text.path(), source); !written.ok()) {
    written.error().hint = another_folder;
    return written.error();
  }
  LL_DO(run_compiler(command, options, {text.path(), binary.path(), scratch ? scratch->path() : ""}));
  LL_DO(add_seal(binary.path(), key));
  chmod(binary.path().c_str(), 0700);
  if (rename(binary.path().c_str(), library.path.c_str()) != 0) {  // what is in its place is not ours to remove
    library.path = library.remove_after_loading = binary.release();
    return library;
  }
  rename(text.path().c_str(), (directory + "/" + key + ".c").c_str());
  if (own_folder) library.remove_after_loading = own_folder->release();
  return library;
}

}  // namespace lightline::loops
