#include "api/framework.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/process.h"
#include "base/shown.h"

namespace lightline::api {
namespace {

namespace fs = std::filesystem;

// docs/processes.md lists the limits of what we start.
constexpr double framework_seconds = 3600, check_seconds = 60;
constexpr uint64_t words_kept = 1 << 20;

// The file that holds this code: the command, or liblightline.so in some other program.
fs::path own_file() {
  Dl_info info;
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&own_file), &info) != 0 && info.dli_fname != nullptr &&
      std::string_view(info.dli_fname).find(".so") != std::string_view::npos)
    return fs::canonical(info.dli_fname, error);
  return fs::read_symlink("/proc/self/exe", error);
}

// The clone this code was built in, if it was: its Python package and virtual environment are used.
fs::path clone_folder() {
  std::error_code error;
  const fs::path folder = own_file().parent_path().parent_path();
  return fs::exists(folder / "python" / "lightline", error) ? folder : fs::path();
}

struct Python {
  std::string command;
  std::string remedy;  // where it does not work
};

// A virtual environment that is broken is not passed over: the packages are in it.
Python choose_python(const fs::path& clone) {
  if (const char* given = std::getenv("LIGHTLINE_PYTHON"); given != nullptr && *given != '\0')
    return {given, "set LIGHTLINE_PYTHON to a Python that works"};
  std::error_code error;
  const fs::path own = clone / ".venv" / "bin" / "python";
  if (!clone.empty() && fs::exists(fs::symlink_status(own, error)))
    return {own.string(), fmt::format("run scripts/setup python torch jax in {}", clone.string())};
  return {"python3", "install python3, or set LIGHTLINE_PYTHON to a Python that works"};
}

// Takes the last line of a text away.
std::string take_last_line(std::string& text) {
  while (text.ends_with('\n')) text.pop_back();
  const size_t start = text.rfind('\n') + 1;
  std::string line = text.substr(start);
  text.resize(start);
  return line;
}

struct LastWords {
  std::string message;
  std::string hint;  // our own package gives one
};

LastWords last_words(const ProcessResult& result) {
  constexpr std::string_view hint = "  hint: ";
  std::string text = result.errors.empty() ? result.output : result.errors;
  LastWords words{take_last_line(text), ""};
  if (words.message.starts_with(hint)) words = {take_last_line(text), words.message.substr(hint.size())};
  return words;
}

// Does nothing in it: a Python that can not do that is broken.
Status check_python(const Python& python) {
  const auto broken = [&](const std::string& how) {
    return Error{
        ErrorCode::unsupported, fmt::format("Python '{}' does not work: {}", python.command, how), python.remedy, {}};
  };
  const auto result =
      run_process({python.command, "-c", "pass"}, {.seconds = check_seconds, .output_bytes = words_kept});
  if (!result.ok()) return Error{ErrorCode::unsupported, result.error().message, python.remedy, {}};
  if (result->succeeded()) return Ok{};
  if (result->limit == ProcessLimit::time)
    return broken(fmt::format("asked to do nothing, it was ended after {} s", check_seconds));
  if (result->limit == ProcessLimit::output)
    return broken(fmt::format("asked to do nothing, it wrote more than {} bytes", words_kept));
  if (result->signal != 0) return broken("it was ended by signal " + signal_name(result->signal));
  const std::string words = last_words(*result).message;
  return broken(words.empty() ? fmt::format("it ended with exit status {}", result->exit_status) : shown(words, 500));
}

Error framework_error(const ProcessResult& result, const Python& python, const std::string& file) {
  if (result.limit == ProcessLimit::time)
    return {ErrorCode::limit,
            fmt::format("the framework was ended after {} s", framework_seconds),
            "use a smaller program",
            {file}};
  if (result.signal != 0)
    return {ErrorCode::limit,
            "the framework was ended by signal " + signal_name(result.signal),
            "run it again, with more memory or a smaller program",
            {file}};
  const auto [message, hint] = last_words(result);
  if (message.starts_with("error: ")) return {ErrorCode::parse, shown(message.substr(7), 500), hint, {file}};
  if (Status works = check_python(python); !works.ok()) return std::move(works).error();
  if (message.find("No module named lightline") != std::string::npos ||
      message.find("No module named 'lightline") != std::string::npos)
    return {ErrorCode::unsupported, message, "set PYTHONPATH to the folder 'python' of Lightline's sources", {file}};
  const bool missing = message.find("No module named") != std::string::npos;
  return {
      missing ? ErrorCode::unsupported : ErrorCode::parse,
      message.empty() ? "the framework could not run the program" : shown(message, 500),
      missing ? fmt::format("install it for {}, or set LIGHTLINE_PYTHON to a Python that has it", python.command) : "",
      {file}};
}

}  // namespace

Status run_framework(std::vector<std::string> arguments, const std::string& file) {
  const fs::path clone = clone_folder();
  ProcessOptions process{.seconds = framework_seconds, .output_bytes = words_kept, .cut_output = true};
  if (!clone.empty()) {
    const char* before = std::getenv("PYTHONPATH");
    const std::string path = (clone / "python").string() + (before != nullptr ? std::string(":") + before : "");
    process.environment.emplace_back("PYTHONPATH", path);
  }
  const Python python = choose_python(clone);
  arguments.insert(arguments.begin(), python.command);
  const auto result = run_process(arguments, process);
  if (!result.ok()) {
    LL_DO(check_python(python));
    return result.error();
  }
  return result->succeeded() ? Status(Ok{}) : framework_error(*result, python, file);
}

}  // namespace lightline::api
