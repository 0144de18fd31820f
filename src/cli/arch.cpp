// lightline arch: the machines that bounds are computed for, and a probe of this machine.
#include <fmt/format.h>

#include <memory>

#include "api/analyze.h"
#include "base/file.h"
#include "cli/cli.h"
#include "machine/catalogue.h"
#include "machine/machine_file.h"
#include "machine/probe.h"
#include "report/arch_report.h"

namespace lightline::cli {
namespace {

struct ArchOptions {
  std::string name;
  std::string other;
  std::string clock;
  bool json = false;
  bool toml = false;
  std::string output;
  std::string device = "auto";
  double seconds = 0.5;
};

int list(const ArchOptions& options) {
  const auto machines = machine::all_machines();
  if (!machines.ok()) return report_error(machines.error());
  print(options.json ? report::arch_list_json(*machines) : report::arch_list_table(*machines));
  return exit_ok;
}

int show(const ArchOptions& options) {
  const auto found = api::find_machine(options.name, options.clock);
  if (!found.ok()) return report_error(found.error());
  if (options.toml || options.json)
    print(options.toml ? machine::to_toml(*found) : report::arch_json(*found));
  else
    print_lines(report::arch_table(*found));
  return exit_ok;
}

int diff(const ArchOptions& options) {
  const auto a = api::find_machine(options.name, options.clock), b = api::find_machine(options.other, options.clock);
  if (!a.ok()) return report_error(a.error());
  if (!b.ok()) return report_error(b.error());
  print_lines(report::arch_diff_table(*a, *b));
  return exit_ok;
}

// "auto" is the first GPU where there is one, else the processor; "gpu1" is the second GPU.
Result<machine::Probe> probe_device(const ArchOptions& options) {
  machine::ProbeOptions probe{.seconds = options.seconds};
  if (options.device == "cpu" || (options.device == "auto" && machine::gpu_count() == 0))
    return machine::probe_cpu(probe);
  const std::string number = options.device == "auto" ? "" : options.device.substr(std::string_view("gpu").size());
  if (!number.empty()) probe.device = int(std::strtol(number.c_str(), nullptr, 10));
  return machine::probe_gpu(probe);
}

int probe(const ArchOptions& options) {
  note("measuring; other work on this machine lowers the figures");
  const auto probed = probe_device(options);
  if (!probed.ok()) return report_error(probed.error());
  for (const std::string& skipped : probed->skipped) note("not measured: " + skipped);
  const std::string text = machine::to_toml(probed->machine);
  if (options.output.empty()) {
    print(options.json ? report::arch_json(probed->machine) : text);
    return exit_ok;
  }
  if (const Status written = write_file(options.output, text); !written.ok()) return report_error(written.error());
  options.json ? print(report::arch_json(probed->machine)) : print_lines(report::arch_table(probed->machine));
  return exit_ok;
}

using Options = std::shared_ptr<ArchOptions>;

auto runs(const Options& options, int (*function)(const ArchOptions&)) {
  return [options, function] { return function(*options); };
}

constexpr const char* clock_help = "Lock the core clock, as 1.5GHz or 1500MHz; memory keeps its own";

void add_list(Command& arch, const Options& options) {
  Command command = arch.add("list", "All bundled machines");
  command.flag("--json", options->json, "Print JSON");
  command.footer("Example:\n  lightline arch list");
  command.runs(runs(options, list));
}

void add_show(Command& arch, const Options& options) {
  Command command = arch.add("show", "One machine in full, with the source of every number");
  command.option("NAME", options->name, "A name or alias, or a path to a .toml file").required();
  command.option("--clock", options->clock, clock_help);
  const Option json = command.flag("--json", options->json, "Print JSON");
  command.flag("--toml", options->toml, "Print a machine file, to be edited").excludes(json);
  command.footer(
      "Examples:\n"
      "  lightline arch show H200\n"
      "  lightline arch show B200 --clock 1.5GHz --json\n"
      "  lightline arch show H200 --toml > mine.toml");
  command.runs(runs(options, show));
}

void add_diff(Command& arch, const Options& options) {
  Command command = arch.add("diff", "Two machines side by side");
  command.option("A", options->name, "A name, an alias, or a path to a .toml file").required();
  command.option("B", options->other, "The machine to compare with; ratios are B over A").required();
  command.option("--clock", options->clock, clock_help);
  command.footer("Example:\n  lightline arch diff H100-SXM B200");
  command.runs(runs(options, diff));
}

std::string complaint_of_device(const std::string& text) {
  const bool is_gpu =
      text.starts_with("gpu") && text.size() < 7 && text.find_first_not_of("0123456789", 3) == std::string::npos;
  if (text == "auto" || text == "cpu" || is_gpu) return "";
  return "there is no device '" + text + "': auto, cpu, gpu, gpu0, gpu1 ...";
}

void add_probe(Command& arch, const Options& options) {
  Command command = arch.add("probe", "Measure this machine and write a machine file");
  command.option("-o,--output", options->output,
                 "Write the machine file here and print the figures; else print the file");
  command
      .option("--device", options->device,
              "What to measure: auto (the first GPU, else the processor), cpu, gpu, gpu1 ...")
      .valid_if(complaint_of_device)
      .shows_default();
  command.option("--seconds", options->seconds, api::Number{0.01, 60}, "Time for each figure, from 0.01 to 60")
      .shows_default();
  command.flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples:\n"
      "  lightline arch probe\n"
      "  lightline arch probe --device cpu --seconds 0.1 -o here.toml");
  command.runs(runs(options, probe));
}

}  // namespace

void add_arch(Command& root) {
  const auto options = std::make_shared<ArchOptions>();
  Command command = root.add("arch", "List, show, compare and probe machines");
  command.needs_subcommand();
  add_list(command, options);
  add_show(command, options);
  add_diff(command, options);
  add_probe(command, options);
  command.footer(
      "Examples:\n"
      "  lightline arch list\n"
      "  lightline arch show H200\n"
      "  lightline arch show B200 --clock 1.5GHz --json\n"
      "  lightline arch diff H100-SXM B200\n"
      "  lightline arch probe -o here.toml");
}

}  // namespace lightline::cli
