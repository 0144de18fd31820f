#include <cmath>

#include "machine/rates.h"
#include "report/arch_report.h"
#include "report/json.h"

namespace lightline::report {
namespace {

using machine::Machine;
using machine::MathMode;
using machine::MemoryLevel;
using machine::Rate;
using machine::SourcedNumber;

// Whole numbers without a fraction, so that bytes read as bytes.
Json plain(double value) {
  return value == std::floor(value) && std::abs(value) < 9e15 ? Json(int64_t(value)) : number(value);
}
Json known(double value) { return value > 0 ? plain(value) : Json(nullptr); }
Json sourced(const SourcedNumber& value, double scale = 1) {
  return value.value > 0 ? Json{{"value", plain(value.value / scale)}, {"source", value.source}} : Json(nullptr);
}

Json rates_json(const std::vector<Rate>& rates, double operations, double clock) {
  Json list = Json::array();
  for (const Rate& rate : rates) {
    list.push_back({{"type", machine::name(rate.type)},
                    {"per_clock", plain(rate.per_clock)},
                    {"tera_per_s", plain(rate.per_clock * operations * clock / 1e12)},
                    {"datasheet_tera_per_s", known(rate.datasheet_tera)},
                    {"datasheet_mhz", known(rate.datasheet_hz / 1e6)},
                    {"source", rate.source}});
  }
  return list;
}

Json vector_json(const std::vector<Rate>& rates, double clock) {
  Json list = rates_json(rates, 1, clock);
  for (size_t i = 0; i < rates.size(); ++i) {
    list[i]["values_per_clock"] = known(rates[i].values_per_clock);
    list[i]["values_per_slot"] = known(rates[i].values_per_slot);
  }
  return list;
}

Json types_json(const std::vector<machine::RateType>& types) {
  Json list = Json::array();
  for (const machine::RateType type : types) list.push_back(machine::name(type));
  return list;
}

Json absent_json(const machine::Absent& absent) {
  return absent.source.empty() ? Json(nullptr) : Json{{"types", types_json(absent.types)}, {"source", absent.source}};
}

Json issue_json(const Machine& machine) {
  const machine::Issue& issue = machine.issue;
  return {{"slots_per_clock", sourced(issue.slots)},
          {"max_min_per_slot", sourced(issue.max_min)},
          {"logic_per_slot", sourced(issue.logic)},
          {"integer_add_per_slot", sourced(issue.integer_add)},
          {"emulated_transcendental_slots", sourced(issue.emulated_slots)},
          {"lookups_per_clock", sourced(issue.lookups)}};
}

Json matrix_instruction_json(const machine::MatrixInstruction& instruction) {
  Json scales = nullptr;
  if (!instruction.block_scales_source.empty()) {
    scales = {{"blocks", Json::object()}, {"source", instruction.block_scales_source}};
    for (const auto& [type, block] : instruction.block_scales)
      scales["blocks"][std::string(machine::name(type))] = plain(block);
  }
  return {{"least_width", sourced(instruction.least_width)}, {"block_scales", std::move(scales)}};
}

Json pipes_json(const std::vector<machine::Pipe>& pipes) {
  Json list = Json::array();
  for (const machine::Pipe& pipe : pipes) {
    Json units = Json::array();
    for (const auto& [unit, type] : pipe.members)
      units.push_back(std::string(machine::name(unit)) + (type ? " " + std::string(machine::name(*type)) : ""));
    list.push_back({{"name", pipe.name}, {"units", std::move(units)}, {"source", pipe.source}});
  }
  return list;
}

Json measured_rates(const std::vector<Rate>& rates) {
  Json list = Json::array();
  for (const Rate& rate : rates)
    list.push_back(
        {{"type", machine::name(rate.type)}, {"tera_per_s", plain(rate.datasheet_tera)}, {"source", rate.source}});
  return list;
}

Json memory_json(const MemoryLevel& memory) {
  Json json{{"name", memory.name},
            {"kind", memory.on_chip ? "on_chip" : "device"},
            {"usable", memory.usable},
            {"bytes", sourced(memory.bytes)}};
  if (memory.on_chip) {
    json["bytes_per_clock"] = sourced(memory.bytes_per_clock);
    json["written_per_clock"] = sourced(memory.written_per_clock);
    json["keeps_results"] = memory.keeps_results;
  } else {
    json["bytes_per_s"] = sourced(memory.bytes_per_second);
    json["bytes_per_s_by_clocks"] = memory.clock_hz > 0
                                        ? Json{{"value", plain(memory.by_clocks())}, {"source", memory.clock_source}}
                                        : Json(nullptr);
  }
  return json;
}

Json result_cache_json(const Machine& machine) {
  const machine::ResultCache cache = machine::last_level_cache(machine);
  return {{"bytes", plain(cache.bytes)},
          {"bytes_per_s", std::isfinite(cache.bytes_per_second) ? plain(cache.bytes_per_second) : Json(nullptr)}};
}

// The rates that bounds use.
Json bounds_json(const Machine& machine) {
  Json products, all_units, sums, slots, vector, transcendental;
  for (const MathMode mode : {MathMode::strict, MathMode::tf32, MathMode::fast16}) {
    for (int i = 0; i < dtype_count; ++i) {
      const machine::ContractionRate best = machine::contraction_rate(machine, DType(i), mode);
      products[std::string(machine::name(mode))][std::string(name(DType(i)))] = {
          {"tera_per_s", plain(2e-12 * best.macs_per_second)}, {"unit", best.unit}};
      const machine::ContractionRate together = machine::contraction_rate_all_units(machine, DType(i), mode);
      all_units[std::string(machine::name(mode))][std::string(name(DType(i)))] = {
          {"tera_per_s", plain(2e-12 * together.macs_per_second)}, {"unit", together.unit}};
      sums[std::string(machine::name(mode))][std::string(name(DType(i)))] =
          plain(1e-12 * machine::sum_rate(machine, machine::narrow_rate_type(DType(i)), mode));
    }
  }
  for (int i = 0; i < dtype_count; ++i) {
    vector[std::string(name(DType(i)))] = plain(machine.vector_rate(DType(i)) / 1e12);
    slots[std::string(name(DType(i)))] = plain(machine::slot_rate(machine, machine::narrow_rate_type(DType(i))) / 1e12);
    if (is_float(DType(i)))
      transcendental[std::string(name(DType(i)))] = plain(machine.transcendental_rate(DType(i)) / 1e12);
  }
  return {{"clock_mhz", plain(machine.clock() / 1e6)},
          {"bandwidth_bytes_per_s", plain(machine.bandwidth())},
          {"on_chip_bytes", plain(machine.on_chip_bytes())},
          {"usable_cache_bytes", plain(machine.usable_cache_bytes())},
          {"result_cache", result_cache_json(machine)},
          {"products", std::move(products)},
          {"products_all_units", std::move(all_units)},
          {"sums_tera_per_s", std::move(sums)},
          {"slots_tera_per_s", std::move(slots)},
          {"vector_tera_per_s", std::move(vector)},
          {"transcendental_tera_per_s", std::move(transcendental)}};
}

}  // namespace

std::string arch_list_json(const std::vector<Machine>& machines) {
  Json json = document("lightline.arch_list", 1);
  json["machines"] = Json::array();
  for (const Machine& machine : machines) {
    json["machines"].push_back({{"name", machine.name},
                                {"vendor", machine.vendor},
                                {"kind", machine::name(machine.kind)},
                                {"architecture", machine.architecture},
                                {"year", machine.year},
                                {"aliases", machine.aliases},
                                {"clock_mhz", plain(machine.clock() / 1e6)},
                                {"bandwidth_bytes_per_s", plain(machine.bandwidth())},
                                {"device_bytes", plain(machine.device_bytes())},
                                {"on_chip_bytes", plain(machine.on_chip_bytes())},
                                {"tdp_watts", known(machine.tdp_watts.value)},
                                {"price_usd", known(machine.price_usd.value)}});
  }
  return to_text(json);
}

std::string arch_json(const Machine& machine) {
  Json json = document("lightline.arch", 1);
  json["name"] = machine.name;
  json["vendor"] = machine.vendor;
  json["kind"] = machine::name(machine.kind);
  json["architecture"] = machine.architecture;
  json["compute_capability"] = machine.compute_capability.empty() ? Json(nullptr) : Json(machine.compute_capability);
  json["aliases"] = machine.aliases;
  json["notes"] = machine.notes;
  json["year"] = machine.year;
  json["clock_mhz"] = {{"base", sourced(machine.clocks.base, 1e6)},
                       {"boost", sourced(machine.clocks.boost, 1e6)},
                       {"max", sourced(machine.clocks.max, 1e6)},
                       {"locked", known(machine.clocks.locked / 1e6)}};
  json["units"] = {
      {"name", machine.unit_name}, {"count", plain(machine.units.value)}, {"source", machine.units.source}};
  json["issue"] = issue_json(machine);
  json["matrix"] = rates_json(machine.matrix, 2, machine.clock());
  json["matrix_instruction"] = matrix_instruction_json(machine.matrix_instruction);
  json["emulation"] = Json::array();
  for (const machine::Emulation& emulation : machine.emulations) {
    json["emulation"].push_back({{"type", machine::name(emulation.type)},
                                 {"with", machine::name(emulation.with)},
                                 {"products", plain(emulation.products)},
                                 {"source", emulation.source}});
  }
  json["vector"] = vector_json(machine.vector, machine.clock());
  json["transcendental"] = rates_json(machine.special, 1, machine.clock());
  json["absent"] = {{"matrix", absent_json(machine.absent_matrix)},
                    {"vector", absent_json(machine.absent_vector)},
                    {"transcendental", absent_json(machine.absent_special)}};
  json["pipes"] = pipes_json(machine.pipes);
  json["memory"] = Json::array();
  for (const MemoryLevel& memory : machine.memories) json["memory"].push_back(memory_json(memory));
  json["tdp_watts"] = sourced(machine.tdp_watts);
  json["price_usd"] = sourced(machine.price_usd);
  json["measured"] = nullptr;
  if (const machine::Measured& measured = machine.measured; !measured.empty()) {
    json["measured"] = {{"bytes_per_s", sourced(measured.bytes_per_second)},
                        {"matrix", measured_rates(measured.matrix)},
                        {"vector", measured_rates(measured.vector)},
                        {"transcendental", measured_rates(measured.special)}};
  }
  json["bounds"] = bounds_json(machine);
  return to_text(json);
}

}  // namespace lightline::report
