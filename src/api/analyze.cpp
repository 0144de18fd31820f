#include "api/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/guard.h"
#include "base/dtype.h"
#include "base/shown.h"
#include "demand/normal_program.h"
#include "machine/catalogue.h"
#include "machine/machine_file.h"
#include "report/analyze_report.h"

namespace lightline::api {
namespace {

Result<std::vector<machine::Machine>> named_machines(const std::string& arch) {
  if (arch == "all") return machine::all_machines();
  std::vector<machine::Machine> machines;
  std::set<std::string> descriptions;  // a machine has several names
  for (size_t from = 0; from <= arch.size();) {
    const size_t comma = std::min(arch.find(',', from), arch.size());
    const std::string name = arch.substr(from, comma - from);
    if (name.empty())
      return Error{ErrorCode::usage, fmt::format("a name is missing in '{}'", shown(arch)), "write H200,B200", {}};
    LL_TRY(machine::Machine found, machine::find_machine(name));
    if (!descriptions.insert(machine::to_toml(found)).second)
      return Error{ErrorCode::usage, fmt::format("the machine '{}' is there twice", shown(name)), "name each once", {}};
    machines.push_back(std::move(found));
    from = comma + 1;
  }
  return machines;
}

Status take_measured_ceilings(machine::Machine& machine) {
  if (machine.measured.matrix.empty() && machine.measured.bytes_per_second.value == 0)
    return Error{ErrorCode::usage,
                 fmt::format("{} has no measured ceilings", machine.name),
                 "give a file that lightline arch probe -o FILE wrote on that machine",
                 {}};
  machine = machine::at_measured(std::move(machine));
  return Ok{};
}

}  // namespace

Result<std::vector<machine::Machine>> find_machines(const MachineChoice& choice) {
  return guarded([&]() -> Result<std::vector<machine::Machine>> {
    LL_TRY(std::vector<machine::Machine> machines, named_machines(choice.arch));
    if (choice.measured_ceilings)
      for (machine::Machine& machine : machines) LL_DO(take_measured_ceilings(machine));
    if (!choice.clock.empty()) {
      LL_TRY(const double hz, machine::parse_clock(choice.clock));
      for (machine::Machine& machine : machines) machine = machine::with_clock(std::move(machine), hz);
    }
    return machines;
  });
}

Result<machine::Machine> find_machine(const std::string& name, const std::string& clock) {
  return guarded([&]() -> Result<machine::Machine> {
    LL_TRY(machine::Machine found, machine::find_machine(name));
    if (clock.empty()) return found;
    LL_TRY(const double hz, machine::parse_clock(clock));
    return machine::with_clock(std::move(found), hz);
  });
}

namespace {

constexpr size_t max_known_bytes = size_t(64) << 20;  // of all values that an analysis relies on

struct Relied {
  demand::KnownValues known;
  bool has_examples = false;
  bool leaves_examples = false;  // which were too large
  std::vector<std::string> notes;
};

// Smaller values first, since they are more often masks, positions and indices.
Relied values_to_rely_on(const Program& program, bool examples) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < program.known().size(); ++i)
    if (const auto& tensor = program.known()[i]; tensor)
      if (program.fixed()[i] || (examples && !is_float(tensor->dtype()) && tensor->dtype() != DType::c64))
        chosen.push_back(i);
  std::ranges::stable_sort(chosen, {}, [&](size_t i) { return program.known()[i]->byte_count(); });
  Relied relied;
  size_t left = max_known_bytes;
  for (const size_t i : chosen) {
    const size_t size = program.known()[i]->byte_count();
    if (size > left) {
      relied.notes.push_back(
          fmt::format("the values of '{}' ({} bytes) are not used: a program may have {} bytes of them",
                      program.source_names()[i], size, max_known_bytes));
      relied.leaves_examples |= !program.fixed()[i];
      continue;
    }
    left -= size;
    relied.known.emplace(program.loops().inputs[i], &*program.known()[i]);
    relied.has_examples |= !program.fixed()[i];
  }
  return relied;
}

// What the caller asked for and what became of it: an option without effect is said to have none.
std::vector<std::string> effects_of(const AnalyzeOptions& options, const Program& before, const Relied& relied) {
  std::vector<std::string> notes;
  if (!options.retype.empty()) {
    const auto from = dtype_from_name(options.retype.substr(0, options.retype.find('=')));
    const bool changes =
        std::ranges::any_of(before.loops().arrays, [&](const loops::Array& array) { return array.dtype == from; });
    notes.push_back(
        changes ? fmt::format("the program is priced as if written with {}", options.retype)
                : fmt::format("retype {} changes nothing: the program has no {} tensors", options.retype, name(*from)));
  }
  if (options.rely_on_values && !relied.has_examples && !relied.leaves_examples)
    notes.emplace_back("values changes nothing: the program file carries no values of integer inputs");
  return notes;
}

}  // namespace

Result<Analysis> analyze(const Program& program, const AnalyzeOptions& options) {
  return guarded([&]() -> Result<Analysis> {
    LL_TRY(const Program retyped, retype(program, options.retype));
    Relied relied = values_to_rely_on(retyped, options.rely_on_values);
    std::ranges::move(effects_of(options, program, relied), std::back_inserter(relied.notes));
    return Analysis(std::make_shared<Analysis::State>(
        Analysis::State{retyped, options, demand::analyze(retyped.loops(), relied.known, options.demand),
                        relied.has_examples, std::move(relied.notes)}));
  });
}

Result<std::string> normal_form_text_of(const Program& program) {
  return guarded([&]() -> Result<std::string> {
    const Relied relied = values_to_rely_on(program, false);
    demand::NormalForm form = demand::normal_form(program.loops(), relied.known);
    return demand::to_text(demand::as_program(form), program.loops());
  });
}

namespace {

report::AnalyzeReport report_of(const Analysis& analysis, const AnalyzeOptions& options, bool has_example_values,
                                const machine::Machine& machine) {
  report::AnalyzeReport report;
  report.program = analysis.program().file();
  report.loops = &analysis.program().loops();
  report.analysis = &analysis.demand();
  report.machine = &machine;
  report.options = options.bound;
  report.bounds = bound::bound(analysis.demand(), machine, options.bound);
  report.measured_ms = options.measured_ms;
  report.explain = options.explain;
  report.demand = options.demand;
  report.assumptions = analysis.program().lowered().assumptions;
  report.assumptions.insert(report.assumptions.end(), analysis.demand().assumptions.begin(),
                            analysis.demand().assumptions.end());
  if (options.machines.measured_ceilings)
    report.assumptions.emplace_back("rates are the best that arch probe reached, which proves nothing");
  if (has_example_values) report.assumptions.emplace_back("indices have the values that the program file carries");
  report.assumptions.insert(report.assumptions.end(), analysis.notes().begin(), analysis.notes().end());
  return report;
}

}  // namespace

Result<bound::Bounds> Analysis::on(const machine::Machine& machine) const {
  return guarded(
      [&]() -> Result<bound::Bounds> { return bound::bound(state_->demand, machine, state_->options.bound); });
}

Result<std::string> Analysis::text(const machine::Machine& machine) const {
  return guarded([&]() -> Result<std::string> {
    return report::to_text(report_of(*this, state_->options, state_->has_example_values, machine), state_->options.top);
  });
}

Result<std::string> Analysis::json(const machine::Machine& machine, const std::string& carried, bool indented) const {
  return guarded([&]() -> Result<std::string> {
    return report::to_json(report_of(*this, state_->options, state_->has_example_values, machine), state_->options.top,
                           carried, indented);
  });
}

}  // namespace lightline::api
