#include "report/arch_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "machine/rates.h"
#include "report/table.h"

namespace lightline::report {
namespace {

using machine::Machine;
using machine::MathMode;
using machine::MemoryLevel;
using machine::Rate;
using machine::SourcedNumber;

constexpr DType contraction_types[] = {DType::f64,    DType::f32,    DType::f16, DType::bf16,
                                       DType::f8e4m3, DType::f4e2m1, DType::i8};

std::string figure(double value) { return value == 0 ? "-" : fmt::format("{:.4g}", value); }
std::string clock_text(double hz) { return hz == 0 ? "-" : fmt::format("{:g} MHz", hz / 1e6); }

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.4g} GB", bytes / 1e9);
  return bytes >= 1024 * 1024 ? fmt::format("{:.4g} MiB", bytes / (1024 * 1024))
                              : fmt::format("{:.4g} KiB", bytes / 1024);
}

std::string speed_text(double bytes_per_second) {
  return bytes_per_second >= 1e12 ? fmt::format("{:.4g} TB/s", bytes_per_second / 1e12)
                                  : fmt::format("{:.4g} GB/s", bytes_per_second / 1e9);
}

double contraction_tera(const Machine& machine, DType dtype, MathMode mode) {
  return 2e-12 * machine::contraction_rate(machine, dtype, mode).macs_per_second;
}

// Sources are long and often the same: the tables carry their numbers, and the list comes last.
class Footnotes {
 public:
  std::string mark(const std::string& source) {
    if (source.empty()) return "";
    auto found = std::find(sources_.begin(), sources_.end(), source);
    if (found == sources_.end()) found = sources_.insert(sources_.end(), source);
    return fmt::format("[{}]", found - sources_.begin() + 1);
  }
  std::string text() const {
    std::string text = "\nSources\n";
    for (size_t i = 0; i < sources_.size(); ++i) text += fmt::format("  [{}] {}\n", i + 1, sources_[i]);
    return text;
  }

 private:
  std::vector<std::string> sources_;
};

std::string head(const Machine& machine, Footnotes& notes) {
  std::string text = fmt::format("{}: {} {}, {}{}\n", machine.name, machine.vendor, machine::name(machine.kind),
                                 machine.architecture, machine.year > 0 ? fmt::format(" ({})", machine.year) : "");
  if (!machine.aliases.empty()) text += fmt::format("also called {}\n", fmt::join(machine.aliases, ", "));
  if (!machine.notes.empty()) text += machine.notes + "\n";
  Table table({{"", Align::left}, {"", Align::right}, {"source", Align::left}});
  const auto row = [&](std::string name, std::string value, const SourcedNumber& number) {
    if (number.value > 0) table.add_row({std::move(name), std::move(value), notes.mark(number.source)});
  };
  row("units", machine.unit_text(machine.units.value), machine.units);
  row("base clock", clock_text(machine.clocks.base.value), machine.clocks.base);
  row("boost clock", clock_text(machine.clocks.boost.value), machine.clocks.boost);
  row("highest clock", clock_text(machine.clocks.max.value), machine.clocks.max);
  if (machine.clocks.locked > 0) table.add_row({"locked clock", clock_text(machine.clocks.locked), "given"});
  row("power", fmt::format("{:g} W", machine.tdp_watts.value), machine.tdp_watts);
  row("price", fmt::format("{:.0f} USD", machine.price_usd.value), machine.price_usd);
  return text + "\n" + table.text();
}

void rate_rows(Table& table, Footnotes& notes, const Machine& machine, std::string_view unit,
               const std::vector<Rate>& rates, const std::vector<Rate>& measured, double operations) {
  for (const Rate& rate : rates) {
    const auto seen =
        std::find_if(measured.begin(), measured.end(), [&](const Rate& other) { return other.type == rate.type; });
    table.add_row({fmt::format("{} {}", unit, machine::name(rate.type)), fmt::format("{:.6g}", rate.per_clock),
                   figure(rate.per_clock * operations * machine.clock() / 1e12),
                   rate.datasheet_tera == 0
                       ? ""
                       : fmt::format("{:.5g} at {}", rate.datasheet_tera, clock_text(rate.datasheet_hz)),
                   seen == measured.end() ? "" : figure(seen->datasheet_tera), notes.mark(rate.source)});
  }
}

std::string rates(const Machine& machine, Footnotes& notes) {
  Table table({{"rates", Align::left},
               {"per clock", Align::right},
               {"tera/s", Align::right},
               {"datasheet", Align::right},
               {"measured", Align::right},
               {"source", Align::left}});
  rate_rows(table, notes, machine, "matrix", machine.matrix, machine.measured.matrix, 2);
  rate_rows(table, notes, machine, "vector", machine.vector, machine.measured.vector, 1);
  rate_rows(table, notes, machine, "special", machine.special, machine.measured.special, 1);
  std::string text = table.text() + fmt::format(
                                        "per clock: matrix in multiply-accumulates, vector in operations, special in "
                                        "results; tera/s at {}, a multiply-accumulate as two\n",
                                        clock_text(machine.clock()));
  for (const machine::Emulation& emulation : machine.emulations) {
    text += fmt::format("{} products as {} {} products {}\n", machine::name(emulation.type), emulation.products,
                        machine::name(emulation.with), notes.mark(emulation.source));
  }
  return text;
}

std::string names(const std::vector<machine::RateType>& types) {
  std::vector<std::string_view> list;
  for (const machine::RateType type : types) list.push_back(machine::name(type));
  return fmt::format("{}", fmt::join(list, " "));
}

std::string pipe_text(const machine::Pipe& pipe) {
  std::vector<std::string> members;
  for (const auto& [unit, type] : pipe.members)
    members.push_back(fmt::format("{}{}", machine::name(unit), type ? " " + std::string(machine::name(*type)) : ""));
  return fmt::format("{} take turns ({})", fmt::join(members, ", "), pipe.name);
}

// What the machine can issue, and which rates add up.
std::string issue(const Machine& machine, Footnotes& notes) {
  std::string text;
  const auto line = [&](const std::string& what, const std::string& source) {
    if (!source.empty()) text += fmt::format("{} {}\n", what, notes.mark(source));
  };
  const machine::Issue& issue = machine.issue;
  const machine::MatrixInstruction& instruction = machine.matrix_instruction;
  line(fmt::format("{:.6g} issue slots per clock", issue.slots.value), issue.slots.source);
  line(fmt::format("{:g} maxima or minima per slot", issue.max_min.value), issue.max_min.source);
  line(fmt::format("{:g} logic operations per slot", issue.logic.value), issue.logic.source);
  line(fmt::format("{:g} integer additions per slot", issue.integer_add.value), issue.integer_add.source);
  line(fmt::format("a transcendental as {:g} slots", issue.emulated_slots.value), issue.emulated_slots.source);
  line(fmt::format("{:.6g} table look-ups per clock", issue.lookups.value), issue.lookups.source);
  line(fmt::format("a matrix instruction computes {:g} columns at least", instruction.least_width.value),
       instruction.least_width.source);
  std::string scales = instruction.block_scales.empty() ? "no block scales" : "block scales:";
  for (const auto& [type, block] : instruction.block_scales)
    scales += fmt::format(" {} per {:g}", machine::name(type), block);
  line(scales, instruction.block_scales_source);
  for (const machine::Pipe& pipe : machine.pipes) line(pipe_text(pipe), pipe.source);
  for (const auto& [unit, absent] :
       {std::pair{"matrix", &machine.absent_matrix}, std::pair{"vector", &machine.absent_vector},
        std::pair{"special", &machine.absent_special}})
    line(fmt::format("no {} {}", unit, names(absent->types)), absent->source);
  return text.empty() ? text : "\n" + text;
}

std::string memories(const Machine& machine, Footnotes& notes) {
  Table table({{"memory", Align::left},
               {"size", Align::right},
               {"bandwidth", Align::right},
               {"by its clocks", Align::right},
               {"measured", Align::right},
               {"sources", Align::left}});
  for (const MemoryLevel& memory : machine.memories) {
    const double speed =
        memory.on_chip ? memory.bytes_per_clock.value * machine.clock() : memory.bytes_per_second.value;
    const double measured = memory.on_chip ? 0 : machine.measured.bytes_per_second.value;
    std::string marks = notes.mark(memory.bytes.source) +
                        notes.mark(memory.on_chip ? memory.bytes_per_clock.source : memory.bytes_per_second.source);
    marks += notes.mark(memory.written_per_clock.source) + notes.mark(memory.keeps_results_source);
    if (memory.clock_hz > 0) marks += notes.mark(memory.clock_source);
    table.add_row({memory.usable ? memory.name + " (usable)" : memory.name, bytes_text(memory.bytes.value),
                   speed == 0 ? "" : speed_text(speed), memory.clock_hz == 0 ? "" : speed_text(memory.by_clocks()),
                   measured == 0 ? "" : speed_text(measured), marks});
  }
  return table.text();
}

std::string result_cache_text(const Machine& machine) {
  const machine::ResultCache cache = machine::last_level_cache(machine);
  if (cache.bytes == 0) return "results leave the chip";
  return fmt::format("results stay in {} at {}", bytes_text(cache.bytes),
                     std::isfinite(cache.bytes_per_second) ? speed_text(cache.bytes_per_second) : "no known limit");
}

std::string effective(const Machine& machine) {
  Table table({{"for bounds", Align::left},
               {"products, tera/s", Align::right},
               {"on", Align::left},
               {"all units", Align::right},
               {"sums, tera/s", Align::right},
               {"vector, tera/s", Align::right},
               {"transcendental, tera/s", Align::right}});
  for (const DType dtype : contraction_types) {
    const bool is_f32 = dtype == DType::f32;
    for (const MathMode mode : {MathMode::strict, MathMode::tf32, MathMode::fast16}) {
      if (!is_f32 && mode != MathMode::strict) continue;
      const machine::ContractionRate best = machine::contraction_rate(machine, dtype, mode);
      const bool first = mode == MathMode::strict;
      table.add_row(
          {is_f32 ? fmt::format("f32, {}", machine::name(mode)) : std::string(machine::name(machine::rate_type(dtype))),
           figure(2e-12 * best.macs_per_second), best.unit,
           figure(2e-12 * machine::contraction_rate_all_units(machine, dtype, mode).macs_per_second),
           figure(1e-12 * machine::sum_rate(machine, machine::rate_type(dtype), mode)),
           first ? figure(machine.vector_rate(dtype) / 1e12) : "",
           first && is_float(dtype) ? figure(machine.transcendental_rate(dtype) / 1e12) : ""});
    }
  }
  return table.text() + fmt::format("bandwidth {}, on chip {}, usable cache {}, {}\n", speed_text(machine.bandwidth()),
                                    bytes_text(machine.on_chip_bytes()), bytes_text(machine.usable_cache_bytes()),
                                    result_cache_text(machine));
}

// One figure of a machine for the comparison; 0: it has none.
struct Figure {
  std::string name;
  double value = 0;
  std::string text;
};

std::vector<Figure> figures(const Machine& machine) {
  std::vector<Figure> list;
  const auto add = [&](std::string name, double value, std::string text) {
    list.push_back({std::move(name), value, value == 0 ? "-" : std::move(text)});
  };
  add("year", 0, fmt::format("{}", machine.year));
  if (machine.year > 0) list.back().text = fmt::format("{}", machine.year);
  add("clock", machine.clock(), clock_text(machine.clock()));
  add("units", machine.units.value, machine.unit_text(machine.units.value));
  for (const DType dtype : contraction_types) {
    for (const MathMode mode : {MathMode::strict, MathMode::tf32}) {
      if (dtype != DType::f32 && mode != MathMode::strict) continue;
      const double tera = contraction_tera(machine, dtype, mode);
      const std::string suffix = dtype == DType::f32 ? fmt::format(", {}", machine::name(mode)) : "";
      add(fmt::format("products {}{}, tera/s", machine::name(machine::rate_type(dtype)), suffix), tera, figure(tera));
    }
  }
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const double tera = machine.vector_rate(dtype) / 1e12;
    add(fmt::format("vector {}, tera/s", name(dtype)), tera, figure(tera));
  }
  const double exponentials = machine.transcendental_rate(DType::f32) / 1e12;
  add("transcendental f32, tera/s", exponentials, figure(exponentials));
  add("device memory", machine.device_bytes(), bytes_text(machine.device_bytes()));
  add("bandwidth", machine.bandwidth(), speed_text(machine.bandwidth()));
  add("on chip", machine.on_chip_bytes(), bytes_text(machine.on_chip_bytes()));
  add("usable cache", machine.usable_cache_bytes(), bytes_text(machine.usable_cache_bytes()));
  const double ridge =
      machine::contraction_rate(machine, DType::bf16, MathMode::tf32).macs_per_second * 2 / machine.bandwidth();
  add("ridge bf16, operations per byte", ridge, figure(ridge));
  add("power", machine.tdp_watts.value, fmt::format("{:g} W", machine.tdp_watts.value));
  add("price", machine.price_usd.value, fmt::format("{:.0f} USD", machine.price_usd.value));
  return list;
}

}  // namespace

std::string arch_list_table(const std::vector<Machine>& machines) {
  Table table({{"name", Align::left},
               {"vendor", Align::left},
               {"kind", Align::left},
               {"year", Align::right},
               {"clock", Align::right},
               {"f32", Align::right},
               {"tf32", Align::right},
               {"bf16", Align::right},
               {"f8", Align::right},
               {"memory", Align::right},
               {"bandwidth", Align::right},
               {"on chip", Align::right},
               {"power", Align::right}});
  for (const Machine& machine : machines) {
    table.add_row({machine.name, machine.vendor, std::string(machine::name(machine.kind)),
                   fmt::format("{}", machine.year), clock_text(machine.clock()),
                   figure(machine.vector_rate(DType::f32) / 1e12),
                   figure(contraction_tera(machine, DType::f32, MathMode::tf32)),
                   figure(contraction_tera(machine, DType::bf16, MathMode::tf32)),
                   figure(contraction_tera(machine, DType::f8e4m3, MathMode::tf32)), bytes_text(machine.device_bytes()),
                   speed_text(machine.bandwidth()), bytes_text(machine.on_chip_bytes()),
                   machine.tdp_watts.value > 0 ? fmt::format("{:g} W", machine.tdp_watts.value) : "-"});
  }
  return table.text() + fmt::format(
                            "{} machines; tera-operations per second, dense, at the highest clock: f32 on vector "
                            "units, tf32, bf16 and f8 products on the best unit\n",
                            machines.size());
}

std::string arch_table(const Machine& machine) {
  Footnotes notes;
  std::string text = head(machine, notes);
  text += "\n" + rates(machine, notes);
  text += issue(machine, notes);
  text += "\n" + memories(machine, notes);
  text += "\n" + effective(machine);
  return text + notes.text();
}

std::string arch_diff_table(const Machine& a, const Machine& b) {
  Table table({{"", Align::left}, {a.name, Align::right}, {b.name, Align::right}, {"ratio", Align::right}});
  const std::vector<Figure> left = figures(a), right = figures(b);
  for (size_t i = 0; i < left.size(); ++i) {
    const bool comparable = left[i].value > 0 && right[i].value > 0;
    if (left[i].text == "-" && right[i].text == "-") continue;
    table.add_row({left[i].name, left[i].text, right[i].text,
                   comparable ? fmt::format("{:.2f}x", right[i].value / left[i].value) : ""});
  }
  return table.text();
}

}  // namespace lightline::report
