// Compiles emitted C with the system compiler, keeps the result in an on-disk cache keyed by content, and loads it.
//
// Room loops/run: compiles emitted C, keeps it in a cache, loads and runs it.
// May use: base, loops/ir, loops/opaque, loops/plan, loops/emit_c.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/ir/program.h"
#include "loops/plan/schedule.h"

namespace lightline::loops {

struct CompileOptions {
  std::string compiler;           // default: $LIGHTLINE_CC, $CC, then cc
  std::string cache_directory;    // default: $LIGHTLINE_CACHE, $XDG_CACHE_HOME/lightline, ~/.cache/lightline
  double compiler_seconds = 600;  // for one run of the compiler; the largest programs take minutes
  bool openmp = true;
  int threads = 0;                               // that OpenMP may use; 0: as its runtime decides
  std::vector<const plan::Schedule*> schedules;  // by program; none at all, or a null: as the planner decides
};

class CompiledPrograms {
 public:
  CompiledPrograms(CompiledPrograms&&) noexcept;
  CompiledPrograms& operator=(CompiledPrograms&&) noexcept;
  ~CompiledPrograms();

  size_t size() const;
  bool from_cache() const;
  // Runs program `which` as `interpret` would.
  Result<std::vector<Tensor>> run(size_t which, const std::vector<Tensor>& inputs) const;
  // The same without allocating: `outputs` have the declared types.
  Status run_into(size_t which, const std::vector<const Tensor*>& inputs, const std::vector<Tensor*>& outputs) const;

 private:
  friend Result<CompiledPrograms> compile(const std::vector<const Program*>&, const CompileOptions&);
  struct State;
  explicit CompiledPrograms(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The programs must outlive the result. One compiler run for all of them.
Result<CompiledPrograms> compile(const std::vector<const Program*>& programs, const CompileOptions& options = {});

}  // namespace lightline::loops
