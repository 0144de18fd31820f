// Programs as a library sees them: loaded from any source, lowered to loops, held by owning handles.
//
// Room api: load, retype, lower, analyse, run and validate, as the command line does. What can fail gives a Result,
// nothing is printed, and no exception leaves it.
// May use: base, index, loops/ir, loops/interpret, loops/plan, loops/emit_c, loops/run, graph, frontend/canonical,
//   frontend/fx, frontend/load, ops/lower, demand, machine, bound, report.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "frontend/load/load.h"
#include "ops/lower/lower.h"

namespace lightline::api {

using frontend::ExportForm;

// A program's text, and what errors call it.
struct Source {
  std::string name;
  std::string text;
};

// A file's text (.xz, .zst and .gz undone), or that of a GraphNet sample's folder.
Result<Source> read_source(const std::string& path);
Result<Source> read_standard_input();

// A verified program. Copies share it; it never changes.
class Program {
 public:
  const std::string& file() const { return state_->file; }
  const loops::Program& loops() const { return state_->lowered.program; }
  // With the operators it was lowered from; a program that was loops already has none.
  const ops::Lowered& lowered() const { return state_->lowered; }
  // By program input: the value that the file carries.
  const std::vector<std::optional<Tensor>>& known() const { return *state_->known; }
  // By program input: whether that value is part of the program, as those of constants and of buffers that it does not
  // write are; otherwise it is that of an example.
  const std::vector<bool>& fixed() const { return state_->fixed; }
  // By program input: its name in the source.
  const std::vector<std::string>& source_names() const { return state_->source_names; }

 private:
  struct State {
    std::string file;
    ops::Lowered lowered;
    std::shared_ptr<const std::vector<std::optional<Tensor>>> known;
    std::vector<std::string> source_names;
    std::vector<bool> fixed;
  };
  explicit Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  friend Result<Program> load(const Source& source);
  friend Result<Program> import(const Source& source, ExportForm form);
  friend Result<Program> retype(const Program& program, const std::string& rule);
  std::shared_ptr<const State> state_;
};

// Loops, or a program of a framework in its first form (as traced); told apart by content.
Result<Program> load(const Source& source);
// A program of a framework, in the form that is asked for where it has two.
Result<Program> import(const Source& source, ExportForm form);

// The graph of operators that such a program is: names and arguments of the list, nothing written in place, every value
// typed. A program without types (GraphNet) has none yet.
Result<graph::Graph> canonical_graph(const Source& source, ExportForm form);

// The program as if its arrays of one float type were of another, for pricing: expressions keep the types they compute
// in. The rule reads "f32=bf16", "" changes nothing.
Result<Program> retype(const Program& program, const std::string& rule);

Result<std::string> text_of(const Program& program);    // canonical loop text
Result<std::string> c_text_of(const Program& program);  // emitted C
// Emitted C that does as the text of a schedule says; an error about that text names it.
Result<std::string> c_text_of(const Program& program, const Source& schedule);
// What emitted C does, without and with what threads and lanes do: docs/schedules.md.
Result<std::string> schedule_text_of(const Program& program);
Result<std::string> plan_text_of(const Program& program);
Result<std::string> formatted(const Source& source);  // loop text in canonical form, comments kept

// Every program of a corpus: see frontend/load/load.h.
using frontend::CorpusEntry;
bool is_corpus(const std::string& path);
bool has_forms(const std::string& path);
Status for_each_program(const std::string& path, ExportForm form,
                        const std::function<Status(const CorpusEntry&)>& visit);

}  // namespace lightline::api
