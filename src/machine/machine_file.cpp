#include "machine/machine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/file.h"
#include "machine/toml_reader.h"

namespace lightline::machine {
namespace {

constexpr uint64_t largest_file = 1 << 20;
constexpr double mega = 1e6, giga = 1e9, kibi = 1024;

using Quantity = TomlReader::Unit;

class MachineReader {
 public:
  explicit MachineReader(std::string file) : toml_(std::move(file)) {}

  Result<Machine> read(const toml::table& root) {
    const TomlTable file{&root, ""};
    LL_DO(toml_.only(file, {"name",
                            "vendor",
                            "kind",
                            "architecture",
                            "compute_capability",
                            "aliases",
                            "notes",
                            "year",
                            "sources",
                            "clock",
                            "units",
                            "issue",
                            "matrix",
                            "matrix_instruction",
                            "emulation",
                            "vector",
                            "transcendental",
                            "pipe",
                            "memory",
                            "power",
                            "price",
                            "measured"}));
    LL_DO(read_sources(file));
    LL_DO(read_identity(file));
    LL_DO(read_clocks(file));
    LL_DO(read_units(file));
    LL_TRY(machine_.matrix, read_rates(file, "matrix", 2, {"absent"}));
    LL_TRY(machine_.vector, read_rates(file, "vector", 1, {"absent"}));
    LL_TRY(machine_.special, read_rates(file, "transcendental", 1, {"absent", "emulation", "lookup"}));
    LL_TRY(machine_.absent_matrix, read_absent(file, "matrix", machine_.matrix));
    LL_TRY(machine_.absent_vector, read_absent(file, "vector", machine_.vector));
    LL_TRY(machine_.absent_special, read_absent(file, "transcendental", machine_.special));
    LL_DO(read_issue(file));
    LL_DO(read_substitutes(file));
    LL_DO(read_matrix_instruction(file));
    LL_DO(read_emulations(file));
    LL_DO(read_pipes(file));
    LL_DO(read_memories(file));
    LL_DO(read_power_and_price(file));
    LL_DO(read_measured(file));
    LL_DO(check_rates(file));
    return std::move(machine_);
  }

 private:
  Status read_sources(const TomlTable& file) {
    LL_TRY(const TomlTable sources, toml_.table(file, "sources"));
    for (const auto& [key, node] : *sources.table) {
      LL_TRY(sources_[std::string(key.str())], toml_.text(sources, key.str()));
    }
    return Ok{};
  }

  // "datasheet; dense is half": the first word names one of [sources] and gives way to its text.
  Result<std::string> source(const TomlTable& place) const {
    LL_TRY(const std::string text, toml_.text(place, "source"));
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
    const std::string key = text.substr(0, end);
    const auto found = sources_.find(key);
    if (found != sources_.end()) return found->second + text.substr(key.size());
    std::vector<std::string> known;
    for (const auto& [name, full] : sources_) known.push_back(name);
    return toml_.error_at(place.table->get("source")->source(), ErrorCode::name,
                          fmt::format("'{}' begins with '{}', which [sources] does not have", place.of("source"), key),
                          suggestion(key, known));
  }

  Result<SourcedNumber> number(const TomlTable& parent, std::string_view key,
                               const std::vector<Quantity>& units) const {
    LL_TRY(const TomlTable place, toml_.table(parent, key));
    std::vector<std::string> known = {"source"};
    for (const Quantity& unit : units) known.push_back(unit.key);
    LL_DO(toml_.only(place, known));
    SourcedNumber result;
    LL_TRY(result.value, toml_.quantity(place, units));
    LL_TRY(result.source, source(place));
    return result;
  }

  Result<SourcedNumber> optional_number(const TomlTable& parent, std::string_view key,
                                        const std::vector<Quantity>& units) const {
    if (parent.table->get(key) == nullptr) return SourcedNumber{};
    return number(parent, key, units);
  }

  Status read_identity(const TomlTable& file) {
    LL_TRY(machine_.name, toml_.text(file, "name"));
    LL_TRY(machine_.vendor, toml_.text(file, "vendor"));
    LL_TRY(const std::string kind, toml_.text(file, "kind"));
    LL_TRY(machine_.architecture, toml_.optional_text(file, "architecture"));
    LL_TRY(machine_.compute_capability, toml_.optional_text(file, "compute_capability"));
    LL_TRY(machine_.notes, toml_.optional_text(file, "notes"));
    LL_TRY(machine_.aliases, toml_.texts(file, "aliases"));
    LL_TRY(const double year, toml_.optional_positive(file, "year"));
    if (year != 0 && (year != std::floor(year) || year < 1970 || year > 2100)) {
      return toml_.error_at(file.table->get("year")->source(), ErrorCode::range,
                            fmt::format("'year' must be a year, not {}", year));
    }
    machine_.year = int(year);
    const std::vector<std::string> kinds = {"gpu", "tpu", "npu", "cpu"};
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    if (found == kinds.end()) {
      return toml_.error_at(file.table->get("kind")->source(), ErrorCode::name,
                            fmt::format("'{}' is not a kind of machine", kind), suggestion(kind, kinds));
    }
    machine_.kind = Kind(found - kinds.begin());
    return Ok{};
  }

  Status read_clocks(const TomlTable& file) {
    LL_TRY(const TomlTable place, toml_.table(file, "clock"));
    LL_DO(toml_.only(place, {"base", "boost", "max"}));
    Clocks& clocks = machine_.clocks;
    LL_TRY(clocks.base, optional_number(place, "base", {{"mhz", mega}}));
    LL_TRY(clocks.boost, optional_number(place, "boost", {{"mhz", mega}}));
    LL_TRY(clocks.max, number(place, "max", {{"mhz", mega}}));
    for (const auto& [name, lower] : {std::pair{"base", clocks.base.value}, std::pair{"boost", clocks.boost.value}}) {
      if (lower <= clocks.max.value) continue;
      const std::string message =
          fmt::format("'clock.{}' ({} MHz) is above 'clock.max' ({} MHz)", name, lower / mega, clocks.max.value / mega);
      return toml_.error_at(place.table->get(name)->source(), ErrorCode::range, message,
                            "bounds need the highest clock that the part can run at");
    }
    return Ok{};
  }

  Status read_units(const TomlTable& file) {
    LL_TRY(const TomlTable place, toml_.table(file, "units"));
    LL_DO(toml_.only(place, {"name", "count", "source"}));
    LL_TRY(machine_.unit_name, toml_.text(place, "name"));
    LL_TRY(machine_.units.value, toml_.positive(place, "count"));
    LL_TRY(machine_.units.source, source(place));
    return Ok{};
  }

  // `others`: keys of the table that are no types.
  Result<std::vector<Rate>> read_rates(const TomlTable& file, std::string_view key, double operations,
                                       const std::vector<std::string>& others) const {
    std::vector<Rate> rates;
    LL_TRY(const std::optional<TomlTable> place, toml_.optional_table(file, key));
    if (!place) return rates;
    for (const auto& [type_key, node] : *place->table) {
      if (std::find(others.begin(), others.end(), type_key.str()) != others.end()) continue;
      LL_TRY(const RateType type, rate_type_of(type_key.str(), type_key.source(), place->path, others));
      LL_TRY(const TomlTable entry, toml_.table(*place, type_key.str()));
      std::vector<std::string> known = {"per_unit", "per_clock", "tflops", "at_mhz", "source"};
      if (key == "vector") known.insert(known.end(), {"values", "values_per_slot"});
      LL_DO(toml_.only(entry, known));
      Rate rate{type};
      LL_TRY(rate.per_clock, toml_.quantity(entry, {{"per_unit", machine_.units.value}, {"per_clock", 1}}));
      LL_TRY(rate.source, source(entry));
      LL_TRY(rate.datasheet_tera, toml_.optional_positive(entry, "tflops"));
      LL_TRY(const double at_mhz, toml_.optional_positive(entry, "at_mhz"));
      const double usual = machine_.clocks.boost.value > 0 ? machine_.clocks.boost.value : machine_.clocks.max.value;
      if (rate.datasheet_tera > 0) rate.datasheet_hz = at_mhz > 0 ? at_mhz * mega : usual;
      LL_DO(check_datasheet(entry, rate, operations));
      LL_DO(read_values(entry, rate));
      rates.push_back(std::move(rate));
    }
    std::sort(rates.begin(), rates.end(), [](const Rate& a, const Rate& b) { return a.type < b.type; });
    return rates;
  }

  // Values on the same basis as the rate, which is operations.
  Status read_values(const TomlTable& entry, Rate& rate) const {
    LL_TRY(const double values, toml_.optional_positive(entry, "values"));
    rate.values_per_clock = values * (entry.table->get("per_unit") != nullptr ? machine_.units.value : 1);
    LL_TRY(rate.values_per_slot, toml_.optional_positive(entry, "values_per_slot"));
    if (rate.values_per_clock <= rate.per_clock) return Ok{};
    return toml_.error_at(entry.table->get("values")->source(), ErrorCode::range,
                          fmt::format("'{}' takes more values than it does operations", entry.path),
                          "a fused multiply-add is two operations on one value");
  }

  Result<Absent> read_absent(const TomlTable& file, std::string_view key, const std::vector<Rate>& rates) const {
    Absent absent;
    LL_TRY(const std::optional<TomlTable> parent, toml_.optional_table(file, key));
    if (!parent || parent->table->get("absent") == nullptr) return absent;
    LL_TRY(const TomlTable place, toml_.table(*parent, "absent"));
    LL_DO(toml_.only(place, {"types", "source"}));
    LL_TRY(const std::vector<std::string> names, toml_.texts(place, "types"));
    for (const std::string& name : names) {
      LL_TRY(const RateType type, rate_type_of(name, place.table->get("types")->source(), place.path));
      absent.types.push_back(type);
      if (std::none_of(rates.begin(), rates.end(), [&](const Rate& rate) { return rate.type == type; })) continue;
      return toml_.error_at(place.table->get("types")->source(), ErrorCode::name,
                            fmt::format("'{}' names {}, which '{}' has", place.path, name, key));
    }
    LL_TRY(absent.source, source(place));
    return absent;
  }

  Status read_issue(const TomlTable& file) {
    LL_TRY(const std::optional<TomlTable> place, toml_.optional_table(file, "issue"));
    if (!place) return Ok{};
    LL_DO(toml_.only(*place, {"slots", "max_min", "logic", "integer_add"}));
    Issue& issue = machine_.issue;
    LL_TRY(issue.slots, optional_number(*place, "slots", {{"per_unit", machine_.units.value}, {"per_clock", 1}}));
    LL_TRY(issue.max_min, optional_number(*place, "max_min", {{"per_slot", 1}}));
    LL_TRY(issue.logic, optional_number(*place, "logic", {{"per_slot", 1}}));
    LL_TRY(issue.integer_add, optional_number(*place, "integer_add", {{"per_slot", 1}}));
    return Ok{};
  }

  // What stands in for special-function units.
  Status read_substitutes(const TomlTable& file) {
    LL_TRY(const std::optional<TomlTable> place, toml_.optional_table(file, "transcendental"));
    if (!place) return Ok{};
    LL_TRY(machine_.issue.emulated_slots, optional_number(*place, "emulation", {{"slots", 1}}));
    LL_TRY(machine_.issue.lookups,
           optional_number(*place, "lookup", {{"per_unit", machine_.units.value}, {"per_clock", 1}}));
    return Ok{};
  }

  Status read_matrix_instruction(const TomlTable& file) {
    LL_TRY(const std::optional<TomlTable> place, toml_.optional_table(file, "matrix_instruction"));
    if (!place) return Ok{};
    LL_DO(toml_.only(*place, {"least_width", "block_scales"}));
    MatrixInstruction& instruction = machine_.matrix_instruction;
    LL_TRY(instruction.least_width, optional_number(*place, "least_width", {{"columns", 1}}));
    LL_TRY(const std::optional<TomlTable> scales, toml_.optional_table(*place, "block_scales"));
    if (!scales) return Ok{};
    for (const auto& [key, node] : *scales->table) {
      if (key.str() == "source") continue;
      LL_TRY(const RateType type, rate_type_of(key.str(), key.source(), scales->path, {"source"}));
      LL_TRY(const double block, toml_.positive(*scales, key.str()));
      instruction.block_scales.push_back({type, block});
    }
    LL_TRY(instruction.block_scales_source, source(*scales));
    return Ok{};
  }

  Status read_pipes(const TomlTable& file) {
    LL_TRY(const std::vector<TomlTable> places, toml_.tables(file, "pipe"));
    std::vector<std::string> taken;
    for (const TomlTable& place : places) {
      LL_DO(toml_.only(place, {"name", "units", "source"}));
      Pipe pipe;
      LL_TRY(pipe.name, toml_.text(place, "name"));
      LL_TRY(pipe.source, source(place));
      LL_TRY(const std::vector<std::string> units, toml_.texts(place, "units"));
      if (units.empty())
        return toml_.error_at(place.table->source(), ErrorCode::parse, fmt::format("'{}' lacks 'units'", place.path),
                              "name units that take turns: \"matrix\", \"vector f64\"");
      for (const std::string& text : units) {
        const toml::source_region& region = place.table->get("units")->source();
        LL_TRY(const Pipe::Member member, pipe_member(text, region, place.path));
        if (std::find(taken.begin(), taken.end(), text) != taken.end())
          return toml_.error_at(region, ErrorCode::name, fmt::format("two pipes have '{}'", text));
        taken.push_back(text);
        pipe.members.push_back(member);
      }
      machine_.pipes.push_back(std::move(pipe));
    }
    return Ok{};
  }

  // "matrix": all of its types that no pipe names; "vector f64": this one.
  Result<Pipe::Member> pipe_member(const std::string& text, const toml::source_region& region,
                                   const std::string& path) const {
    const size_t blank = text.find(' ');
    const std::string unit = text.substr(0, blank);
    if (unit != "matrix" && unit != "vector") {
      return toml_.error_at(region, ErrorCode::name, fmt::format("'{}' in '{}.units' is not a unit", unit, path),
                            suggestion(unit, {"matrix", "vector"}));
    }
    Pipe::Member member{unit == "matrix" ? Unit::matrix : Unit::vector, std::nullopt};
    if (blank == std::string::npos) return member;
    LL_TRY(member.type, rate_type_of(text.substr(blank + 1), region, path + ".units"));
    return member;
  }

  Result<RateType> rate_type_of(std::string_view name, const toml::source_region& region, const std::string& path,
                                std::vector<std::string> known = {}) const {
    if (const std::optional<RateType> type = rate_type_from_name(name)) return *type;
    for (int i = 0; i < rate_type_count; ++i) known.emplace_back(machine::name(RateType(i)));
    return toml_.error_at(region, ErrorCode::name, fmt::format("'{}' in '{}' is not a type that has rates", name, path),
                          suggestion(name, known));
  }

  // The rate at the datasheet's clock must give the datasheet's figure: a factor of two is a wrong unit.
  Status check_datasheet(const TomlTable& entry, const Rate& rate, double operations) const {
    if (rate.datasheet_tera == 0) return Ok{};
    const double tera = rate.per_clock * operations * rate.datasheet_hz / 1e12;
    const std::string clock = fmt::format("{:g} MHz", rate.datasheet_hz / mega);
    if (rate.datasheet_hz > machine_.clocks.max.value) {
      return toml_.error_at(entry.table->source(), ErrorCode::range,
                            fmt::format("'{}' is stated at {}, above 'clock.max'", entry.path, clock));
    }
    if (std::abs(tera / rate.datasheet_tera - 1) <= datasheet_tolerance) return Ok{};
    const std::string message =
        fmt::format("'{}' gives {:.4g} tera-operations per second at {}, but the datasheet says {:.4g}", entry.path,
                    tera, clock, rate.datasheet_tera);
    return toml_.error_at(
        entry.table->source(), ErrorCode::range, message,
        "matrix rates count multiply-accumulates, vector rates count operations; figures with sparsity are not dense");
  }

  Status read_emulations(const TomlTable& file) {
    LL_TRY(const std::vector<TomlTable> places, toml_.tables(file, "emulation"));
    for (const TomlTable& place : places) {
      LL_DO(toml_.only(place, {"type", "with", "products", "source"}));
      LL_TRY(const std::string type, toml_.text(place, "type"));
      LL_TRY(const std::string with, toml_.text(place, "with"));
      Emulation emulation;
      LL_TRY(emulation.type, rate_type_of(type, place.table->get("type")->source(), place.path));
      LL_TRY(emulation.with, rate_type_of(with, place.table->get("with")->source(), place.path));
      LL_TRY(emulation.products, toml_.positive(place, "products"));
      LL_TRY(emulation.source, source(place));
      if (machine_.find_matrix(emulation.with) == nullptr) {
        return toml_.error_at(place.table->get("with")->source(), ErrorCode::name,
                              fmt::format("'{}' emulates with {}, which 'matrix' lacks", place.path, with));
      }
      machine_.emulations.push_back(std::move(emulation));
    }
    return Ok{};
  }

  Status read_memories(const TomlTable& file) {
    LL_TRY(const std::vector<TomlTable> places, toml_.tables(file, "memory"));
    int device = 0, on_chip = 0, usable = 0;
    for (const TomlTable& place : places) {
      LL_TRY(MemoryLevel level, read_memory(place));
      (level.on_chip ? on_chip : device) += 1;
      usable += level.usable ? 1 : 0;
      machine_.memories.push_back(std::move(level));
    }
    if (device != 1)
      return toml_.error_at(file.table->source(), ErrorCode::parse,
                            fmt::format("the file has {} [[memory]] levels with kind = \"device\", not one", device));
    if (on_chip == 0)
      return toml_.error_at(file.table->source(), ErrorCode::parse,
                            "the file has no [[memory]] level with kind = \"on_chip\"");
    if (usable == 0)
      return toml_.error_at(file.table->source(), ErrorCode::parse, "no [[memory]] level has usable = true",
                            "mark the last level that a schedule may count on");
    return Ok{};
  }

  Status read_results(const TomlTable& place, MemoryLevel& level) const {
    LL_TRY(const std::optional<TomlTable> results, toml_.optional_table(place, "results"));
    if (!results) return Ok{};
    LL_DO(toml_.only(*results, {"kept", "source"}));
    LL_TRY(level.keeps_results, toml_.flag(*results, "kept"));
    LL_TRY(level.keeps_results_source, source(*results));
    return Ok{};
  }

  Result<MemoryLevel> read_memory(const TomlTable& place) const {
    LL_DO(toml_.only(place, {"name", "kind", "usable", "results", "size", "bandwidth", "written", "clock"}));
    MemoryLevel level;
    LL_TRY(level.name, toml_.text(place, "name"));
    LL_TRY(const std::string kind, toml_.text(place, "kind"));
    if (kind != "device" && kind != "on_chip") {
      return toml_.error_at(place.table->get("kind")->source(), ErrorCode::name,
                            fmt::format("'{}' is not a kind of memory", kind), suggestion(kind, {"device", "on_chip"}));
    }
    level.on_chip = kind == "on_chip";
    LL_TRY(level.usable, toml_.flag(place, "usable"));
    LL_TRY(level.bytes, number(place, "size",
                               {{"bytes", 1},
                                {"kib", kibi},
                                {"mib", kibi * kibi},
                                {"gib", kibi * kibi * kibi},
                                {"gb", giga},
                                {"kib_per_unit", kibi * machine_.units.value}}));
    if (level.on_chip) {
      const std::vector<Quantity> units = {{"bytes_per_clock", 1}, {"bytes_per_clock_per_unit", machine_.units.value}};
      LL_TRY(level.bytes_per_clock, optional_number(place, "bandwidth", units));
      LL_TRY(level.written_per_clock, optional_number(place, "written", units));
      LL_DO(read_results(place, level));
      if (place.table->get("clock") != nullptr)
        return toml_.error_at(place.table->get("clock")->source(), ErrorCode::parse,
                              fmt::format("'{}' is for device memory", place.of("clock")));
      return level;
    }
    for (const char* key : {"results", "written"}) {
      if (place.table->get(key) != nullptr)
        return toml_.error_at(place.table->get(key)->source(), ErrorCode::parse,
                              fmt::format("'{}' is for memory on the chip", place.of(key)));
    }
    LL_TRY(level.bytes_per_second, number(place, "bandwidth", {{"gb_per_s", giga}}));
    LL_TRY(const std::optional<TomlTable> clock, toml_.optional_table(place, "clock"));
    if (!clock) return level;
    LL_DO(toml_.only(*clock, {"mhz", "transfers_per_clock", "bus_bits", "source"}));
    LL_TRY(const double mhz, toml_.positive(*clock, "mhz"));
    level.clock_hz = mhz * mega;
    LL_TRY(level.transfers_per_clock, toml_.positive(*clock, "transfers_per_clock"));
    LL_TRY(level.bus_bits, toml_.positive(*clock, "bus_bits"));
    LL_TRY(level.clock_source, source(*clock));
    if (std::abs(level.by_clocks() / level.bytes_per_second.value - 1) > 0.1) {
      const std::string message =
          fmt::format("'{}' gives {:.4g} GB/s, but the bandwidth stated is {:.4g} GB/s", clock->path,
                      level.by_clocks() / giga, level.bytes_per_second.value / giga);
      return toml_.error_at(clock->table->source(), ErrorCode::range, message,
                            "count the transfers per tick of this clock");
    }
    return level;
  }

  Status read_power_and_price(const TomlTable& file) {
    LL_TRY(const std::optional<TomlTable> power, toml_.optional_table(file, "power"));
    if (power) {
      LL_DO(toml_.only(*power, {"tdp"}));
      LL_TRY(machine_.tdp_watts, number(*power, "tdp", {{"watts", 1}}));
    }
    LL_TRY(const std::optional<TomlTable> price, toml_.optional_table(file, "price"));
    if (price) {
      LL_DO(toml_.only(*price, {"list"}));
      LL_TRY(machine_.price_usd, number(*price, "list", {{"usd", 1}}));
    }
    return Ok{};
  }

  Status read_measured(const TomlTable& file) {
    LL_TRY(const std::optional<TomlTable> place, toml_.optional_table(file, "measured"));
    if (!place) return Ok{};
    LL_DO(toml_.only(*place, {"bandwidth", "matrix", "vector", "transcendental"}));
    Measured& measured = machine_.measured;
    LL_TRY(measured.bytes_per_second, optional_number(*place, "bandwidth", {{"gb_per_s", giga}}));
    LL_TRY(measured.matrix, read_measured_rates(*place, "matrix"));
    LL_TRY(measured.vector, read_measured_rates(*place, "vector"));
    LL_TRY(measured.special, read_measured_rates(*place, "transcendental"));
    return Ok{};
  }

  Result<std::vector<Rate>> read_measured_rates(const TomlTable& parent, std::string_view key) const {
    std::vector<Rate> rates;
    LL_TRY(const std::optional<TomlTable> place, toml_.optional_table(parent, key));
    if (!place) return rates;
    for (const auto& [type_key, node] : *place->table) {
      LL_TRY(const RateType type, rate_type_of(type_key.str(), type_key.source(), place->path));
      LL_TRY(const SourcedNumber value, number(*place, type_key.str(), {{"tflops", 1}}));
      rates.push_back({type, 0, value.source, value.value, 0});
    }
    std::sort(rates.begin(), rates.end(), [](const Rate& a, const Rate& b) { return a.type < b.type; });
    return rates;
  }

  Status check_rates(const TomlTable& file) const {
    if (machine_.find_vector(RateType::f32) != nullptr) return Ok{};
    return toml_.error_at(file.table->source(), ErrorCode::parse, "'vector' lacks 'f32'",
                          "every bound needs a rate for plain arithmetic");
  }

  TomlReader toml_;
  std::map<std::string, std::string> sources_;
  Machine machine_;
};

}  // namespace

Result<Machine> parse_machine(std::string_view text, std::string file) {
  const toml::parse_result parsed = toml::parse(text, std::string_view(file));
  if (parsed.failed()) {
    const toml::source_position& at = parsed.error().source().begin;
    return Error{ErrorCode::parse, std::string(parsed.error().description()), "", {file, int(at.line), int(at.column)}};
  }
  return MachineReader(std::move(file)).read(parsed.table());
}

Result<Machine> load_machine(const std::string& path) {
  LL_TRY(const std::string text, read_file(path, largest_file));
  return parse_machine(text, path);
}

}  // namespace lightline::machine
