#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "cli/cli.h"

namespace lightline::cli {
namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)), start_(seconds()) {}

Progress::~Progress() {
  if (shown_ > 0) std::fputs("\r\033[K", stderr);
}

void Progress::step(std::string_view state) {
  const double now = seconds();
  if (now - start_ < 1 || now - shown_ < 0.1 || isatty(STDERR_FILENO) != 1) return;
  shown_ = now;
  std::fputs(fmt::format("\r\033[K{}: {}", what_, state).c_str(), stderr);
}

}  // namespace lightline::cli
