// Machines as TOML text.
#include <fmt/format.h>

#include <algorithm>

#include "machine/machine_file.h"

namespace lightline::machine {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\u{:04X}", int(static_cast<unsigned char>(c)));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

class Writer {
 public:
  std::string write(const Machine& machine) {
    collect(machine);
    identity(machine);
    clocks(machine);
    issue(machine.issue);
    rates("matrix", "Multiply-accumulates per clock, dense, whole device.", machine.matrix);
    absent(machine.absent_matrix, "matrix", machine.matrix.empty());
    matrix_instruction(machine.matrix_instruction);
    for (const Emulation& emulation : machine.emulations) {
      text_ += fmt::format("\n[[emulation]]\ntype = \"{}\"\nwith = \"{}\"\nproducts = {}\nsource = \"{}\"\n",
                           name(emulation.type), name(emulation.with), emulation.products, key(emulation.source));
    }
    rates("vector", "Operations per clock, whole device; a fused multiply-add is two.", machine.vector);
    absent(machine.absent_vector, "vector", machine.vector.empty());
    rates("transcendental", "Results per clock of the special-function units, whole device.", machine.special);
    transcendental(machine);
    for (const Pipe& pipe : machine.pipes) one_pipe(pipe);
    for (const MemoryLevel& memory : machine.memories) level(memory);
    if (machine.tdp_watts.value > 0) text_ += "\n[power]\n" + line("tdp", "watts", machine.tdp_watts);
    if (machine.price_usd.value > 0) text_ += "\n[price]\n" + line("list", "usd", machine.price_usd);
    measured(machine.measured);
    return std::move(text_);
  }

 private:
  // Sources in the order of their first use; each number then names one by key.
  void collect(const Machine& machine) {
    for (const SourcedNumber* number :
         {&machine.clocks.base, &machine.clocks.boost, &machine.clocks.max, &machine.units})
      note(number->source);
    for (const Rate& rate : machine.matrix) note(rate.source);
    for (const SourcedNumber* number :
         {&machine.issue.slots, &machine.issue.max_min, &machine.issue.logic, &machine.issue.integer_add,
          &machine.issue.emulated_slots, &machine.issue.lookups, &machine.matrix_instruction.least_width})
      note(number->source);
    note(machine.matrix_instruction.block_scales_source);
    for (const Absent* absent : {&machine.absent_matrix, &machine.absent_vector, &machine.absent_special})
      note(absent->source);
    for (const Pipe& pipe : machine.pipes) note(pipe.source);
    for (const Emulation& emulation : machine.emulations) note(emulation.source);
    for (const Rate& rate : machine.vector) note(rate.source);
    for (const Rate& rate : machine.special) note(rate.source);
    for (const MemoryLevel& memory : machine.memories) {
      for (const std::string& source :
           {memory.bytes.source, memory.bytes_per_second.source, memory.bytes_per_clock.source,
            memory.written_per_clock.source, memory.keeps_results_source, memory.clock_source})
        note(source);
    }
    note(machine.tdp_watts.source);
    note(machine.price_usd.source);
    note(machine.measured.bytes_per_second.source);
    for (const auto* list : {&machine.measured.matrix, &machine.measured.vector, &machine.measured.special}) {
      for (const Rate& rate : *list) note(rate.source);
    }
  }

  void note(const std::string& source) {
    if (!source.empty() && std::find(sources_.begin(), sources_.end(), source) == sources_.end())
      sources_.push_back(source);
  }

  std::string key(const std::string& source) const {
    return fmt::format("s{}", std::find(sources_.begin(), sources_.end(), source) - sources_.begin() + 1);
  }

  void identity(const Machine& machine) {
    const auto field = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) text_ += fmt::format("{} = {}\n", name, quoted(value));
    };
    field("name", machine.name);
    field("vendor", machine.vendor);
    field("kind", std::string(name(machine.kind)));
    field("architecture", machine.architecture);
    field("compute_capability", machine.compute_capability);
    field("notes", machine.notes);
    if (!machine.aliases.empty()) {
      std::vector<std::string> aliases;
      for (const std::string& alias : machine.aliases) aliases.push_back(quoted(alias));
      text_ += fmt::format("aliases = [{}]\n", fmt::join(aliases, ", "));
    }
    if (machine.year > 0) text_ += fmt::format("year = {}\n", machine.year);
    text_ += "\n[sources]\n";
    for (const std::string& source : sources_) text_ += fmt::format("{} = {}\n", key(source), quoted(source));
  }

  std::string line(std::string_view name, std::string_view unit, const SourcedNumber& number, double scale = 1) const {
    return fmt::format("{} = {{ {} = {}, source = \"{}\" }}\n", name, unit, number.value / scale, key(number.source));
  }

  void clocks(const Machine& machine) {
    text_ += "\n[clock]\n";
    if (machine.clocks.base.value > 0) text_ += line("base", "mhz", machine.clocks.base, 1e6);
    if (machine.clocks.boost.value > 0) text_ += line("boost", "mhz", machine.clocks.boost, 1e6);
    text_ += line("max", "mhz", machine.clocks.max, 1e6);
    text_ += fmt::format("\n[units]\nname = {}\ncount = {}\nsource = \"{}\"\n", quoted(machine.unit_name),
                         machine.units.value, key(machine.units.source));
  }

  void optional_line(std::string_view name, std::string_view unit, const SourcedNumber& number) {
    if (number.value > 0) text_ += line(name, unit, number);
  }

  void issue(const Issue& issue) {
    if (issue.slots.value + issue.max_min.value + issue.logic.value + issue.integer_add.value == 0) return;
    text_ += "\n[issue]\n";
    optional_line("slots", "per_clock", issue.slots);
    optional_line("max_min", "per_slot", issue.max_min);
    optional_line("logic", "per_slot", issue.logic);
    optional_line("integer_add", "per_slot", issue.integer_add);
  }

  // `alone`: no rate has opened the table.
  void absent(const Absent& absent, std::string_view table, bool alone) {
    if (absent.source.empty()) return;
    std::vector<std::string> names;
    for (const RateType type : absent.types) names.push_back(quoted(name(type)));
    if (alone) text_ += fmt::format("\n[{}]\n", table);
    text_ += fmt::format("absent = {{ types = [{}], source = \"{}\" }}\n", fmt::join(names, ", "), key(absent.source));
  }

  void matrix_instruction(const MatrixInstruction& instruction) {
    if (instruction.least_width.value == 0 && instruction.block_scales_source.empty()) return;
    text_ += "\n[matrix_instruction]\n";
    optional_line("least_width", "columns", instruction.least_width);
    if (instruction.block_scales_source.empty()) return;
    text_ += "block_scales = { ";
    for (const auto& [type, block] : instruction.block_scales) text_ += fmt::format("{} = {}, ", name(type), block);
    text_ += fmt::format("source = \"{}\" }}\n", key(instruction.block_scales_source));
  }

  void transcendental(const Machine& machine) {
    const Issue& issue = machine.issue;
    absent(machine.absent_special, "transcendental", machine.special.empty());
    const bool open = !machine.special.empty() || !machine.absent_special.source.empty();
    if (!open && issue.emulated_slots.value + issue.lookups.value > 0) text_ += "\n[transcendental]\n";
    optional_line("emulation", "slots", issue.emulated_slots);
    optional_line("lookup", "per_clock", issue.lookups);
  }

  void one_pipe(const Pipe& pipe) {
    std::vector<std::string> units;
    for (const Pipe::Member& member : pipe.members) {
      const std::string type = member.type ? " " + std::string(name(*member.type)) : "";
      units.push_back(quoted(std::string(name(member.unit)) + type));
    }
    text_ += fmt::format("\n[[pipe]]\nname = {}\nunits = [{}]\nsource = \"{}\"\n", quoted(pipe.name),
                         fmt::join(units, ", "), key(pipe.source));
  }

  void rates(std::string_view table, std::string_view comment, const std::vector<Rate>& list) {
    if (list.empty()) return;
    text_ += fmt::format("\n# {}\n[{}]\n", comment, table);
    for (const Rate& rate : list) {
      std::string others;
      if (rate.datasheet_tera > 0)
        others = fmt::format(", tflops = {}, at_mhz = {}", rate.datasheet_tera, rate.datasheet_hz / 1e6);
      if (rate.values_per_clock > 0) others += fmt::format(", values = {}", rate.values_per_clock);
      if (rate.values_per_slot > 0) others += fmt::format(", values_per_slot = {}", rate.values_per_slot);
      text_ += fmt::format("{} = {{ per_clock = {}{}, source = \"{}\" }}\n", name(rate.type), rate.per_clock, others,
                           key(rate.source));
    }
  }

  void level(const MemoryLevel& memory) {
    text_ += fmt::format("\n[[memory]]\nname = {}\nkind = \"{}\"\n", quoted(memory.name),
                         memory.on_chip ? "on_chip" : "device");
    if (memory.usable) text_ += "usable = true\n";
    if (!memory.keeps_results_source.empty()) {
      text_ += fmt::format("results = {{ kept = {}, source = \"{}\" }}\n", memory.keeps_results,
                           key(memory.keeps_results_source));
    }
    text_ += line("size", "bytes", memory.bytes);
    if (memory.bytes_per_second.value > 0) text_ += line("bandwidth", "gb_per_s", memory.bytes_per_second, 1e9);
    if (memory.bytes_per_clock.value > 0) text_ += line("bandwidth", "bytes_per_clock", memory.bytes_per_clock);
    optional_line("written", "bytes_per_clock", memory.written_per_clock);
    if (memory.clock_hz > 0) {
      text_ +=
          fmt::format("clock = {{ mhz = {}, transfers_per_clock = {}, bus_bits = {}, source = \"{}\" }}\n",
                      memory.clock_hz / 1e6, memory.transfers_per_clock, memory.bus_bits, key(memory.clock_source));
    }
  }

  void measured(const Measured& measured) {
    if (measured.empty()) return;
    text_ +=
        "\n# Ceilings reached on this specimen; bounds rest on the figures above unless told otherwise.\n[measured]\n";
    if (measured.bytes_per_second.value > 0) text_ += line("bandwidth", "gb_per_s", measured.bytes_per_second, 1e9);
    measured_rates("matrix", measured.matrix);
    measured_rates("vector", measured.vector);
    measured_rates("transcendental", measured.special);
  }

  void measured_rates(std::string_view table, const std::vector<Rate>& list) {
    if (list.empty()) return;
    text_ += fmt::format("\n[measured.{}]\n", table);
    for (const Rate& rate : list) text_ += line(name(rate.type), "tflops", {rate.datasheet_tera, rate.source});
  }

  std::vector<std::string> sources_;
  std::string text_;
};

}  // namespace

std::string to_toml(const Machine& machine) { return Writer().write(machine); }

}  // namespace lightline::machine
