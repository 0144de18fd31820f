// The command line: parses, dispatches to one subcommand, and turns every failure into an exit code.
#include <pthread.h>
#include <signal.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstdio>

#include "api/guard.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "cli/cli.h"

namespace lightline::cli {
namespace {

int parse_and_run(int argc, char** argv) {
  CommandLine line("Lightline: deep-learning programs as affine loops, checked, executed and compiled.",
                   "lightline " LIGHTLINE_VERSION);
  Command root = line.root();
  add_check(root);
  add_fmt(root);
  add_run(root);
  add_emit(root);
  add_graph(root);
  add_import(root);
  add_validate(root);
  add_operators(root);
  add_analyze(root);
  add_arch(root);
  add_completion(root, line);
  root.footer(
      "Examples:\n"
      "  lightline check model.lir\n"
      "  lightline run model.lir --input x=x.npy --backend c -o out.npz\n"
      "  lightline fmt --write examples/loops/*.lir\n"
      "Exit codes: 0 done, 1 the answer is no, 2 wrong usage or bad input, 3 a defect of Lightline.");
  if (argc < 2) {
    std::fputs(line.help().c_str(), stderr);
    return exit_bad_input;
  }
  const auto code = line.run(argc, argv, [](const std::string& text) { print(text); });
  return code.ok() ? *code : report_error(code.error());
}

// A signal that ends the program takes programs that it runs and temporary files with it: a thread waits for one. Signals
// that are ignored stay so.
void clean_up_on_signals() {
  static sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) sigaddset(&ends, signal);
  }
  sigset_t before;
  if (pthread_sigmask(SIG_BLOCK, &ends, &before) != 0) return;
  const auto wait = [](void*) -> void* {
    int signal = 0;
    if (sigwait(&ends, &signal) != 0) return nullptr;
    end_all_processes();
    remove_temporary_paths();
    pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
    raise(signal);
    return nullptr;
  };
  pthread_t waiting{};
  if (pthread_create(&waiting, nullptr, wait, nullptr) == 0)
    pthread_detach(waiting);
  else
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Memory is asked for in large pieces, and what is free is kept: much of it comes and goes.
void keep_memory() {
#ifdef __GLIBC__
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace
}  // namespace lightline::cli

int main(int argc, char** argv) {
  using namespace lightline;
  cli::keep_memory();
  cli::clean_up_on_signals();
  ::signal(SIGXFSZ, SIG_IGN);  // what this thread itself prints may go to a file that may not grow
  const auto code = api::guarded([&]() -> Result<int> {
    const int worst = cli::parse_and_run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return worst;
    return Error{ErrorCode::io, "can not write to standard output", "", {}};
  });
  return code.ok() ? *code : cli::report_error(code.error());
}
