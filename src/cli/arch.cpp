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
  print(options.toml   ? machine::to_toml(*found)
        : options.json ? report::arch_json(*found)
                       : report::arch_table(*found));
  return exit_ok;
}

int diff(const ArchOptions& options) {
  const auto a = api::find_machine(options.name, options.clock), b = api::find_machine(options.other, options.clock);
  if (!a.ok()) return report_error(a.error());
  if (!b.ok()) return report_error(b.error());
  print(report::arch_diff_table(*a, *b));
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
  print(options.json ? report::arch_json(probed->machine) : report::arch_table(probed->machine));
  return exit_ok;
}

}  // namespace

void add_arch(Command& root) {
  auto options = std::make_shared<ArchOptions>();
  Command command = root.add("arch", "List, show, compare and probe machines");
  command.needs_subcommand();
  const auto run = [options](int (*function)(const ArchOptions&)) {
    return [options, function] { return function(*options); };
  };
  const std::string clock_help = "Lock the core clock, as 1.5GHz or 1500MHz; memory keeps its own";

  Command listing = command.add("list", "All bundled machines");
  listing.flag("--json", options->json, "Print JSON");
  listing.footer("Example:\n  lightline arch list");
  listing.runs(run(list));

  Command showing = command.add("show", "One machine in full, with the source of every number");
  showing.option("NAME", options->name, "A name or alias, or a path to a .toml file").required();
  showing.option("--clock", options->clock, clock_help);
  const Option json = showing.flag("--json", options->json, "Print JSON");
  showing.flag("--toml", options->toml, "Print a machine file, to be edited").excludes(json);
  showing.footer(
      "Examples:\n"
      "  lightline arch show H200\n"
      "  lightline arch show B200 --clock 1.5GHz --json\n"
      "  lightline arch show H200 --toml > mine.toml");
  showing.runs(run(show));

  Command comparing = command.add("diff", "Two machines side by side");
  comparing.option("A", options->name, "A name, an alias, or a path to a .toml file").required();
  comparing.option("B", options->other, "The machine to compare with; ratios are B over A").required();
  comparing.option("--clock", options->clock, clock_help);
  comparing.footer("Example:\n  lightline arch diff H100-SXM B200");
  comparing.runs(run(diff));

  Command probing = command.add("probe", "Measure this machine and write a machine file");
  probing.option("-o,--output", options->output,
                 "Write the machine file here and print the figures; else print the file");
  probing
      .option("--device", options->device,
              "What to measure: auto (the first GPU, else the processor), cpu, gpu, gpu1 ...")
      .valid_if([](const std::string& text) {
        const bool known = text == "auto" || text == "cpu" ||
                           (text.starts_with("gpu") && text.size() < 7 &&
                            text.find_first_not_of("0123456789", 3) == std::string::npos);
        return known ? std::string() : "there is no device '" + text + "': auto, cpu, gpu, gpu0, gpu1 ...";
      })
      .shows_default();
  probing.option("--seconds", options->seconds, api::Number{0.01, 60}, "Time for each figure, from 0.01 to 60")
      .shows_default();
  probing.flag("--json", options->json, "Print JSON");
  probing.footer(
      "Examples:\n"
      "  lightline arch probe\n"
      "  lightline arch probe --device cpu --seconds 0.1 -o here.toml");
  probing.runs(run(probe));

  command.footer(
      "Examples:\n"
      "  lightline arch list\n"
      "  lightline arch show H200\n"
      "  lightline arch show B200 --clock 1.5GHz --json\n"
      "  lightline arch diff H100-SXM B200\n"
      "  lightline arch probe -o here.toml");
}

}  // namespace lightline::cli
