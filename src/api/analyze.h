// Bounds of a program on machines.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/program.h"
#include "bound/bound.h"
#include "machine/machine.h"

namespace lightline::api {

struct MachineChoice {
  std::string arch = "H200";       // names or .toml files, separated by commas, or "all"
  std::string clock;               // "1.5GHz": locks the core clock
  bool measured_ceilings = false;  // the rates that a probe reached, instead of those the machine can have at most
};
Result<std::vector<machine::Machine>> find_machines(const MachineChoice& choice);
// One machine, by name or .toml file, at the clock that is asked for.
Result<machine::Machine> find_machine(const std::string& name, const std::string& clock);

struct AnalyzeOptions {
  MachineChoice machines;
  bound::Options bound;
  std::string retype;           // "f32=bf16": as if arrays of one type were of another
  bool rely_on_values = false;  // integer inputs, too, have the values that the file carries
  std::optional<double> measured_ms;
  size_t top = 10;       // groups to list
  bool explain = false;  // list where bounds gave up
  bool demand = false;   // keep and list the demand of every term
};

// What a program demands, and its bounds on any machine. Copies share it.
class Analysis {
 public:
  const Program& program() const { return state_->program; }
  const demand::Analysis& demand() const { return state_->demand; }
  // What the user should hear even where nobody reads the report: values that were too large to be used.
  const std::vector<std::string>& notes() const { return state_->notes; }
  Result<bound::Bounds> on(const machine::Machine& machine) const;
  Result<std::string> text(const machine::Machine& machine) const;
  // One JSON object, schema lightline.analyze; `carried` are further members.
  Result<std::string> json(const machine::Machine& machine, const std::string& carried, bool indented) const;

 private:
  struct State {
    Program program;
    AnalyzeOptions options;
    demand::Analysis demand;
    bool has_example_values = false;
    std::vector<std::string> notes;
  };
  explicit Analysis(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  friend Result<Analysis> analyze(const Program& program, const AnalyzeOptions& options);
  std::shared_ptr<const State> state_;
};

Result<Analysis> analyze(const Program& program, const AnalyzeOptions& options = {});

// The normal form that bounds are made of, as a loop program with the facts as comments.
Result<std::string> normal_form_text_of(const Program& program);

}  // namespace lightline::api
