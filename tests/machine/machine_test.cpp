#include "machine/machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "machine/catalogue.h"
#include "machine/machine_file.h"
#include "machine/rates.h"

namespace lightline::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

Machine get(const std::string& name) {
  auto machine = find_machine(name);
  EXPECT_TRUE(machine.ok()) << to_string(machine.error());
  return machine.ok() ? *machine : Machine{};
}

std::vector<Machine> all() {
  auto machines = all_machines();
  EXPECT_TRUE(machines.ok()) << to_string(machines.error());
  return machines.ok() ? *machines : std::vector<Machine>();
}

double tera(const Machine& machine, DType dtype, MathMode mode = MathMode::tf32) {
  return 2e-12 * contraction_rate(machine, dtype, mode).macs_per_second;
}
double per_clock(const Machine& machine, DType dtype, MathMode mode = MathMode::tf32) {
  return contraction_rate(machine, dtype, mode).macs_per_second / machine.clock();
}

// ---- the bundled files ----

TEST(Machines, EveryBundledFileLoads) {
  std::vector<std::string> names;
  for (const Machine& machine : all()) names.push_back(machine.name);
  EXPECT_THAT(names,
              IsSupersetOf({"A100-40GB", "A100-80GB",   "H100-SXM",    "H100-PCIe", "H200",   "H20",      "B200",
                            "GB200",     "B300",        "L4",          "L40S",      "A6000",  "RTX-4090", "RTX-5090",
                            "T4",        "Jetson-Orin", "Jetson-Thor", "MI250X",    "MI300X", "MI325X",   "MI355X",
                            "TPU-v4",    "TPU-v5e",     "TPU-v5p",     "TPU-v6e",   "TPU-v7", "Gaudi3",   "Trainium2",
                            "M4-Max",    "EPYC-9654",   "Xeon-8480"}));
}

TEST(Machines, EveryNumberHasASource) {
  for (const Machine& machine : all()) {
    SCOPED_TRACE(machine.name);
    std::vector<std::string> sources = {machine.clocks.max.source, machine.units.source};
    for (const auto* list : {&machine.matrix, &machine.vector, &machine.special}) {
      for (const Rate& rate : *list) sources.push_back(rate.source);
    }
    for (const MemoryLevel& memory : machine.memories) sources.push_back(memory.bytes.source);
    for (const Pipe& pipe : machine.pipes) sources.push_back(pipe.source);
    for (const SourcedNumber* number :
         {&machine.issue.slots, &machine.issue.max_min, &machine.issue.logic, &machine.issue.integer_add,
          &machine.issue.emulated_slots, &machine.issue.lookups, &machine.matrix_instruction.least_width})
      if (number->value > 0) sources.push_back(number->source);
    sources.push_back(machine.device_memory().bytes_per_second.source);
    for (const std::string& source : sources) {
      EXPECT_GT(source.size(), 10U) << source;
      EXPECT_EQ(source.find("http"), std::string::npos) << source;
    }
    EXPECT_GE(machine.year, 2018);
  }
}

TEST(Machines, RateTimesClockIsTheDatasheetFigure) {
  int figures = 0;
  for (const Machine& machine : all()) {
    for (const auto& [rates, operations] : {std::pair{&machine.matrix, 2.0}, std::pair{&machine.vector, 1.0}}) {
      for (const Rate& rate : *rates) {
        if (rate.datasheet_tera == 0) continue;
        SCOPED_TRACE(machine.name + " " + std::string(name(rate.type)));
        ++figures;
        EXPECT_NEAR(rate.per_clock * operations * rate.datasheet_hz / 1e12 / rate.datasheet_tera, 1,
                    datasheet_tolerance);
        // What bounds use can not be slower than what the vendor states, but for the rounding of that figure.
        EXPECT_GE(rate.per_clock * operations * machine.clock() / 1e12,
                  rate.datasheet_tera * (1 - datasheet_tolerance));
        EXPECT_LE(rate.datasheet_hz, machine.clocks.max.value);
        EXPECT_GE(rate.datasheet_hz, machine.clocks.base.value);
      }
    }
  }
  EXPECT_GT(figures, 150);
}

TEST(Machines, MatrixRatesFollowTheWidthOfTheirOperands) {
  for (const Machine& machine : all()) {
    SCOPED_TRACE(machine.name);
    for (const auto& [narrow, wide] : {std::pair{RateType::f8, RateType::bf16}, std::pair{RateType::f4, RateType::f8},
                                       std::pair{RateType::bf16, RateType::tf32}}) {
      if (machine.find_matrix(narrow) == nullptr || machine.find_matrix(wide) == nullptr) continue;
      EXPECT_GE(machine.find_matrix(narrow)->per_clock, machine.find_matrix(wide)->per_clock);
    }
    EXPECT_GE(tera(machine, DType::f8e4m3), tera(machine, DType::bf16));
    EXPECT_GE(tera(machine, DType::f4e2m1), tera(machine, DType::f8e4m3));
    EXPECT_GE(tera(machine, DType::f32, MathMode::tf32), tera(machine, DType::f32, MathMode::strict));
    EXPECT_GE(tera(machine, DType::f32, MathMode::fast16), tera(machine, DType::f32, MathMode::tf32));
  }
}

TEST(Machines, BandwidthForBoundsIsAtLeastTheDatasheets) {
  for (const Machine& machine : all()) {
    SCOPED_TRACE(machine.name);
    EXPECT_GE(machine.bandwidth(), machine.device_memory().bytes_per_second.value);
    EXPECT_GE(machine.bandwidth(), machine.device_memory().by_clocks());
    EXPECT_LE(machine.bandwidth(), 1.03 * machine.device_memory().bytes_per_second.value);
  }
}

TEST(Machines, EveryRateIsPositiveForEveryType) {
  for (const Machine& machine : all()) {
    for (int i = 0; i < dtype_count; ++i) {
      SCOPED_TRACE(machine.name + " " + std::string(name(DType(i))));
      EXPECT_GT(machine.vector_rate(DType(i)), 0);
      EXPECT_GE(machine.transcendental_rate(DType(i)),
                machine.vector_rate(DType(i)) / emulated_transcendental_operations);
      for (const MathMode mode : {MathMode::strict, MathMode::tf32, MathMode::fast16})
        EXPECT_GT(contraction_rate(machine, DType(i), mode).macs_per_second, 0);
    }
    EXPECT_GT(machine.on_chip_bytes(), machine.usable_cache_bytes()) << machine.name;
    EXPECT_GT(machine.usable_cache_bytes(), 0) << machine.name;
    EXPECT_GT(machine.device_bytes(), 20 * machine.on_chip_bytes()) << machine.name;
  }
}

TEST(Machines, NamesAndAliasesAreUniqueAndResolve) {
  std::set<std::string> seen;
  for (const Machine& machine : all()) {
    std::vector<std::string> names = machine.aliases;
    names.push_back(machine.name);
    for (const std::string& name : names) {
      EXPECT_TRUE(seen.insert(name).second) << name << " names two machines";
      EXPECT_EQ(get(name).name, machine.name);
    }
  }
  EXPECT_EQ(get("h200").name, "H200");
  EXPECT_EQ(get("nvidia h200").name, "H200");
  EXPECT_EQ(get("H100").name, "H100-SXM");
  EXPECT_EQ(get("h100_pcie").name, "H100-PCIe");
  EXPECT_EQ(get("A100").name, "A100-40GB");
  EXPECT_EQ(get("trillium").name, "TPU-v6e");
  EXPECT_EQ(get("RTX A6000").name, "A6000");
}

TEST(Machines, UnknownNamesGetAGuess) {
  const auto near = find_machine("H2000"), far = find_machine("abacus");
  ASSERT_FALSE(near.ok());
  EXPECT_EQ(to_string(near.error()), "error: there is no machine 'H2000'\n  hint: did you mean 'H200'?");
  ASSERT_FALSE(far.ok());
  EXPECT_EQ(
      to_string(far.error()),
      "error: there is no machine 'abacus'\n  hint: lightline arch list names them; a path to a .toml file works too");
  EXPECT_FALSE(find_machine("").ok());
  EXPECT_FALSE(find_machine("no/such/file.toml").ok());
}

// ---- numbers ----

TEST(H200, HasItsPublishedNumbers) {
  const Machine h200 = get("H200");
  EXPECT_NEAR(h200.bandwidth(), 4.917e12, 0.001e12);
  EXPECT_DOUBLE_EQ(h200.device_memory().bytes_per_second.value, 4.8e12);
  EXPECT_DOUBLE_EQ(h200.clock(), 1980e6);
  EXPECT_DOUBLE_EQ(h200.units.value, 132);
  EXPECT_DOUBLE_EQ(per_clock(h200, DType::bf16), 132 * 2048);
  EXPECT_NEAR(tera(h200, DType::bf16), 1070.5, 0.1);
  EXPECT_NEAR(tera(h200, DType::f32), 535.3, 0.1);
  EXPECT_NEAR(tera(h200, DType::f8e4m3), 2141.1, 0.1);
  EXPECT_NEAR(tera(h200, DType::i8), 2141.1, 0.1);
  EXPECT_NEAR(tera(with_clock(h200, 1830e6), DType::bf16), 989.4, 0.1);
  EXPECT_NEAR(h200.vector_rate(DType::f32), 66.9e12, 0.1e12);
  EXPECT_NEAR(h200.vector_rate(DType::f16), 133.8e12, 0.1e12);
  EXPECT_NEAR(h200.vector_rate(DType::f64), 33.5e12, 0.1e12);
  // 16 special-function results per SM and clock, and an eighth of 256 vector operations beside them.
  EXPECT_DOUBLE_EQ(h200.transcendental_rate(DType::f32), 132 * (16 + 256.0 / 8) * 1980e6);
  EXPECT_DOUBLE_EQ(h200.usable_cache_bytes(), 60.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(h200.on_chip_bytes(), 60.0 * 1024 * 1024 + 132.0 * (256 + 256 + 144) * 1024);
  EXPECT_DOUBLE_EQ(h200.tdp_watts.value, 700);
  EXPECT_EQ(h200.compute_capability, "9.0");
}

TEST(H200, EmulatesF32ByThreeTf32Products) {
  const ContractionRate strict = contraction_rate(get("H200"), DType::f32, MathMode::strict);
  EXPECT_EQ(strict.unit, "3 x tf32");
  EXPECT_NEAR(2e-12 * strict.macs_per_second, 178.4, 0.1);
  EXPECT_EQ(contraction_rate(get("H200"), DType::f32, MathMode::tf32).unit, "matrix tf32");
  EXPECT_EQ(contraction_rate(get("H200"), DType::f32, MathMode::fast16).unit, "matrix bf16");
}

TEST(B200, IsAtLeastAsFastAsThePublishedFiguresAtTheirLockedClock) {
  const Machine b200 = with_clock(get("B200"), 1.5e9);
  EXPECT_GE(per_clock(b200, DType::f16), 603751);
  EXPECT_GE(per_clock(b200, DType::bf16), 603751);
  EXPECT_GE(per_clock(b200, DType::f32), 301875);
  EXPECT_GE(per_clock(b200, DType::f8e4m3), 1207501);
  EXPECT_GE(per_clock(b200, DType::i8), 1207500);
  EXPECT_GE(per_clock(b200, DType::f4e2m1), 2415000);
  EXPECT_GE(per_clock(b200, DType::f32, MathMode::strict), 40251);
  EXPECT_LE(per_clock(b200, DType::f16), 603751 * 1.01);
  EXPECT_GE(b200.bandwidth(), 8e12);
}

// Other tools' files for these parts state FLOPs per clock as multiply-accumulates.
TEST(Machines, CountMultiplyAccumulatesAndNotFlops) {
  EXPECT_DOUBLE_EQ(get("A6000").find_matrix(RateType::bf16)->per_clock, 43008);
  EXPECT_DOUBLE_EQ(get("H100-PCIe").find_matrix(RateType::f16)->per_clock, 233472);
  EXPECT_DOUBLE_EQ(get("Jetson-Thor").find_matrix(RateType::f16)->per_clock, 81920);
  EXPECT_NEAR(get("A6000").bandwidth(), 768.1e9, 0.1e9);
}

TEST(Machines, ALockedClockMovesComputeAndNotMemory) {
  for (const Machine& machine : all()) {
    SCOPED_TRACE(machine.name);
    const Machine half = with_clock(machine, machine.clock() / 2);
    EXPECT_DOUBLE_EQ(half.vector_rate(DType::f32), machine.vector_rate(DType::f32) / 2);
    EXPECT_DOUBLE_EQ(half.transcendental_rate(DType::f16), machine.transcendental_rate(DType::f16) / 2);
    EXPECT_DOUBLE_EQ(tera(half, DType::bf16), tera(machine, DType::bf16) / 2);
    EXPECT_DOUBLE_EQ(half.bandwidth(), machine.bandwidth());
    EXPECT_DOUBLE_EQ(half.on_chip_bytes(), machine.on_chip_bytes());
  }
}

TEST(Machines, OperandsTravelInWiderTypesThatHoldThem) {
  const Machine a100 = get("A100-80GB"), tpu = get("TPU-v5e"), t4 = get("T4"), b300 = get("B300"),
                epyc = get("EPYC-9654");
  EXPECT_DOUBLE_EQ(tera(a100, DType::f8e5m2), tera(a100, DType::f16));  // no 8-bit floats: 16-bit ones
  EXPECT_EQ(contraction_rate(a100, DType::f4e2m1, MathMode::tf32).unit, "matrix i8");
  EXPECT_EQ(contraction_rate(b300, DType::i8, MathMode::tf32).unit, "matrix f16");  // its integer units are slow
  EXPECT_EQ(contraction_rate(t4, DType::bf16, MathMode::tf32).unit, "vector f32");
  EXPECT_EQ(contraction_rate(tpu, DType::f16, MathMode::strict).unit, "3 x bf16");  // as tf32, which holds f16
  EXPECT_EQ(contraction_rate(tpu, DType::f32, MathMode::strict).unit, "6 x bf16");
  EXPECT_EQ(contraction_rate(epyc, DType::f16, MathMode::tf32).unit, "matrix f32");
  EXPECT_EQ(contraction_rate(a100, DType::i32, MathMode::tf32).unit, "9 x i8");
  EXPECT_DOUBLE_EQ(a100.vector_rate(DType::bf16), 2 * a100.vector_rate(DType::f32));
  EXPECT_DOUBLE_EQ(tpu.vector_rate(DType::f64), tpu.vector_rate(DType::f32));  // it has no f64: no faster than f32
}

TEST(Machines, ClocksAreRead) {
  EXPECT_DOUBLE_EQ(*parse_clock("1.5GHz"), 1.5e9);
  EXPECT_DOUBLE_EQ(*parse_clock(" 1500 mhz "), 1.5e9);
  EXPECT_DOUBLE_EQ(*parse_clock("1410000000Hz"), 1.41e9);
  EXPECT_EQ(to_string(parse_clock("fast").error()),
            "error: 'fast' is not a clock\n  hint: write it as 1.5GHz or 1500MHz");
  EXPECT_EQ(to_string(parse_clock("1500").error()),
            "error: '1500' is not a clock\n  hint: write it as 1.5GHz or 1500MHz");
  EXPECT_EQ(to_string(parse_clock("-1GHz").error()),
            "error: a clock of -1GHz is outside 1 MHz to 100 GHz\n  hint: write it as 1.5GHz or 1500MHz");
  EXPECT_FALSE(parse_clock("").ok());
  EXPECT_FALSE(parse_clock("nanGHz").ok());
  EXPECT_FALSE(parse_clock("infGHz").ok());
}

// ---- text ----

TEST(MachineFile, WhatIsWrittenReadsBackAsTheSameMachine) {
  for (const Machine& machine : all()) {
    SCOPED_TRACE(machine.name);
    Machine original = machine;
    original.measured.bytes_per_second = {1.25e11, "a \"quoted\" source"};
    original.measured.matrix = {{RateType::bf16, 0, "seen", 700.5, 0}};
    const std::string text = to_toml(original);
    const auto read = parse_machine(text, "again.toml");
    ASSERT_TRUE(read.ok()) << to_string(read.error()) << "\n" << text;
    EXPECT_EQ(to_toml(*read), text);
    EXPECT_DOUBLE_EQ(read->bandwidth(), original.bandwidth());
    EXPECT_DOUBLE_EQ(tera(*read, DType::bf16), tera(original, DType::bf16));
    EXPECT_DOUBLE_EQ(read->on_chip_bytes(), original.on_chip_bytes());
    EXPECT_EQ(read->pipes.size(), original.pipes.size());
    EXPECT_EQ(read->absent_matrix.types, original.absent_matrix.types);
    EXPECT_EQ(read->matrix_instruction.block_scales.size(), original.matrix_instruction.block_scales.size());
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::boolean}) {
      EXPECT_DOUBLE_EQ(contraction_rate_all_units(*read, dtype, MathMode::strict).macs_per_second,
                       contraction_rate_all_units(original, dtype, MathMode::strict).macs_per_second);
      EXPECT_DOUBLE_EQ(transcendental_rate_with_emulation(*read, rate_type(dtype)),
                       transcendental_rate_with_emulation(original, rate_type(dtype)));
    }
    EXPECT_DOUBLE_EQ(last_level_cache(*read).bytes_per_second, last_level_cache(original).bytes_per_second);
    EXPECT_DOUBLE_EQ(read->measured.bytes_per_second.value, 1.25e11);
    EXPECT_EQ(read->measured.bytes_per_second.source, "a \"quoted\" source");
  }
}

TEST(MachineFile, MeasuredCeilingsLowerRatesOnlyWhenAsked) {
  Machine h200 = get("H200");
  h200.measured.bytes_per_second = {4.5e12, "probe"};
  h200.measured.matrix = {{RateType::bf16, 0, "probe", 800, 0}};
  h200.measured.vector = {{RateType::f32, 0, "probe", 1000, 0}};  // no machine gets faster by measuring
  EXPECT_NEAR(h200.bandwidth(), 4.917e12, 0.001e12);
  const Machine measured = at_measured(h200);
  EXPECT_DOUBLE_EQ(measured.bandwidth(), 4.5e12);
  EXPECT_NEAR(tera(measured, DType::bf16), 800, 1e-9);
  EXPECT_DOUBLE_EQ(measured.vector_rate(DType::f32), h200.vector_rate(DType::f32));
}

constexpr std::string_view good = R"(name = "Toy"
vendor = "Acme"
kind = "gpu"
year = 2024

[sources]
sheet = "Acme Toy datasheet"

[clock]
boost = { mhz = 1000, source = "sheet" }
max = { mhz = 1200, source = "sheet" }

[units]
name = "SM"
count = 10
source = "sheet"

[matrix]
f16 = { per_unit = 500, tflops = 10, source = "sheet; dense" }

[vector]
f32 = { per_unit = 100, tflops = 1, source = "sheet" }

[[memory]]
name = "DRAM"
kind = "device"
size = { gb = 8, source = "sheet" }
bandwidth = { gb_per_s = 100, source = "sheet" }
clock = { mhz = 400, transfers_per_clock = 2, bus_bits = 1024, source = "sheet" }

[[memory]]
name = "L2"
kind = "on_chip"
usable = true
size = { mib = 4, source = "sheet" }
)";

TEST(MachineFile, AMinimalFile) {
  const auto toy = parse_machine(good, "toy.toml");
  ASSERT_TRUE(toy.ok()) << to_string(toy.error());
  EXPECT_DOUBLE_EQ(tera(*toy, DType::f16), 12);
  EXPECT_EQ(toy->matrix[0].source, "Acme Toy datasheet; dense");
  EXPECT_DOUBLE_EQ(toy->bandwidth(), 102.4e9);
  EXPECT_DOUBLE_EQ(toy->transcendental_rate(DType::f32), 1000 * 1.2e9 / 8);
}

// The good file with one text in place of another, and the error that must come of it.
struct Broken {
  std::string_view from, to, error;
};

TEST(MachineFile, BadFilesAreRejectedWithPlaceAndReason) {
  const Broken cases[] = {
      {"vendor", "vendr", "toy.toml:2:1: error: unknown key 'vendr' in the file\n  hint: did you mean 'vendor'?"},
      {"name = \"Toy\"\n", "", "toy.toml:1:1: error: the file lacks 'name'"},
      {"name = \"Toy\"", "name = \"\"", "toy.toml:1:8: error: 'name' is empty"},
      {"\"gpu\"", "\"gpo\"", "toy.toml:3:8: error: 'gpo' is not a kind of machine\n  hint: did you mean 'gpu'?"},
      {"year = 2024", "year = 3.5", "toy.toml:4:8: error: 'year' must be a year, not 3.5"},
      {"[sources]\nsheet = \"Acme Toy datasheet\"\n", "", "toy.toml:1:1: error: the file lacks 'sources'"},
      {"mhz = 1200", "mhz = -1200", "toy.toml:11:15: error: 'clock.max.mhz' must be a positive number, not -1200"},
      {"mhz = 1200", "mhz = nan", "toy.toml:11:15: error: 'clock.max.mhz' must be a positive number, not nan"},
      {"mhz = 1200", "mhz = \"fast\"",
       "toy.toml:11:15: error: 'clock.max.mhz' must be a positive number, not a string"},
      {"mhz = 1200", "ghz = 1.2",
       "toy.toml:11:9: error: unknown key 'ghz' in 'clock.max'\n  hint: did you mean 'mhz'?"},
      {"mhz = 1200, ", "", "toy.toml:11:7: error: 'clock.max' lacks its number\n  hint: one of: mhz"},
      {"mhz = 1200", "mhz = 900",
       "toy.toml:10:9: error: 'clock.boost' (1000 MHz) is above 'clock.max' (900 MHz)\n  hint: bounds need the highest "
       "clock that the part can run at"},
      {"max = { mhz = 1200, source = \"sheet\" }\n", "", "toy.toml:9:1: error: 'clock' lacks 'max'"},
      {"max = { mhz = 1200, source = \"sheet\" }", "max = { mhz = 1200 }",
       "toy.toml:11:7: error: 'clock.max' lacks 'source'"},
      {"max = { mhz = 1200, source = \"sheet\" }", "max = 1200",
       "toy.toml:11:7: error: 'clock.max' must be a table, not a number"},
      {"max = { mhz = 1200, source = \"sheet\" }", "max = { mhz = 1200, source = \"shet, page 2\" }",
       "toy.toml:11:30: error: 'clock.max.source' begins with 'shet', which [sources] does not have\n  hint: did you "
       "mean 'sheet'?"},
      {"count = 10", "count = 0", "toy.toml:15:9: error: 'units.count' must be a positive number, not 0"},
      {"count = 10", "count = 1e-308", "toy.toml:15:9: error: 'units.count' must be at least 1e-09, not 1e-308"},
      {"count = 10\n", "", "toy.toml:13:1: error: 'units' lacks 'count'"},
      {"f16 =", "fp16 =",
       "toy.toml:19:1: error: 'fp16' in 'matrix' is not a type that has rates\n  hint: did you mean 'f16'?"},
      {"per_unit = 500", "per_unit = 1000",
       "toy.toml:19:7: error: 'matrix.f16' gives 20 tera-operations per second at 1000 MHz, but the datasheet says 10\n"
       "  hint: matrix rates count multiply-accumulates, vector rates count operations; figures with sparsity are not "
       "dense"},
      {"per_unit = 500, tflops = 10", "per_unit = 500, tflops = 12, at_mhz = 1300",
       "toy.toml:19:7: error: 'matrix.f16' is stated at 1300 MHz, above 'clock.max'"},
      {"per_unit = 500", "per_unit = 500, per_clock = 5000",
       "toy.toml:19:7: error: 'matrix.f16' has both 'per_unit' and 'per_clock'\n  hint: give one of them"},
      {"per_unit = 500, ", "",
       "toy.toml:19:7: error: 'matrix.f16' lacks its number\n  hint: one of: per_unit, per_clock"},
      {"[vector]\nf32 = { per_unit = 100, tflops = 1, source = \"sheet\" }\n", "",
       "toy.toml:1:1: error: 'vector' lacks 'f32'\n  hint: every bound needs a rate for plain arithmetic"},
      {"kind = \"device\"", "kind = \"on_chip\"",
       "toy.toml:28:15: error: unknown key 'gb_per_s' in 'memory[0].bandwidth'\n  hint: one of: source, "
       "bytes_per_clock, bytes_per_clock_per_unit"},
      {"kind = \"device\"", "kind = \"offchip\"",
       "toy.toml:26:8: error: 'offchip' is not a kind of memory\n  hint: did you mean 'on_chip'?"},
      {"bandwidth = { gb_per_s = 100, source = \"sheet\" }\n", "",
       "toy.toml:24:1: error: 'memory[0]' lacks 'bandwidth'"},
      {"transfers_per_clock = 2", "transfers_per_clock = 4",
       "toy.toml:29:9: error: 'memory[0].clock' gives 204.8 GB/s, but the bandwidth stated is 100 GB/s\n  hint: count "
       "the transfers per tick of this clock"},
      {"usable = true\n", "",
       "toy.toml:1:1: error: no [[memory]] level has usable = true\n  hint: mark the last level that a schedule may "
       "count on"},
      {"usable = true", "usable = 1", "toy.toml:34:10: error: 'memory[1].usable' must be true or false, not a number"},
      {"kind = \"on_chip\"", "kind = \"device\"\nbandwidth = { gb_per_s = 1, source = \"sheet\" }",
       "toy.toml:1:1: error: the file has 2 [[memory]] levels with kind = \"device\", not one"},
      {"mib = 4", "mb = 4",
       "toy.toml:35:10: error: unknown key 'mb' in 'memory[1].size'\n  hint: did you mean 'mib' or 'gb'?"},
      {"[[memory]]\nname = \"DRAM\"", "[power]\ntdp = 300\n\n[[memory]]\nname = \"DRAM\"",
       "toy.toml:25:7: error: 'power.tdp' must be a table, not a number"},
      {"[[memory]]\nname = \"DRAM\"",
       "[[emulation]]\ntype = \"f32\"\nwith = \"tf32\"\nproducts = 3\nsource = \"sheet\"\n\n[[memory]]\nname = "
       "\"DRAM\"",
       "toy.toml:26:8: error: 'emulation[0]' emulates with tf32, which 'matrix' lacks"},
      {"[matrix]", "[issue]\nslot = { per_unit = 128, source = \"sheet\" }\n\n[matrix]",
       "toy.toml:19:1: error: unknown key 'slot' in 'issue'\n  hint: did you mean 'slots'?"},
      {"[matrix]", "[issue]\nslots = { per_unit = 128 }\n\n[matrix]",
       "toy.toml:19:9: error: 'issue.slots' lacks 'source'"},
      {"[matrix]", "[issue]\nmax_min = { per_slot = 0, source = \"sheet\" }\n\n[matrix]",
       "toy.toml:19:24: error: 'issue.max_min.per_slot' must be a positive number, not 0"},
      {"[vector]", "absent = { types = [\"f16\"], source = \"sheet\" }\n\n[vector]",
       "toy.toml:21:20: error: 'matrix.absent' names f16, which 'matrix' has"},
      {"[vector]", "absent = { types = [\"fp8\"], source = \"sheet\" }\n\n[vector]",
       "toy.toml:21:20: error: 'fp8' in 'matrix.absent' is not a type that has rates\n  hint: did you mean 'f8'?"},
      {"[vector]", "absent = { types = [\"f8\"] }\n\n[vector]",
       "toy.toml:21:10: error: 'matrix.absent' lacks 'source'"},
      {"per_unit = 500, ", "per_unit = 500, values = 250, ",
       "toy.toml:19:25: error: unknown key 'values' in 'matrix.f16'\n  hint: one of: per_unit, per_clock, tflops, "
       "at_mhz, source"},
      {"per_unit = 100, ", "per_unit = 100, values = 101, ",
       "toy.toml:22:34: error: 'vector.f32' takes more values than it does operations\n  hint: a fused multiply-add is "
       "two operations on one value"},
      {"[vector]", "[matrix_instruction]\nleast_width = { rows = 8, source = \"sheet\" }\n\n[vector]",
       "toy.toml:22:17: error: unknown key 'rows' in 'matrix_instruction.least_width'\n  hint: one of: source, "
       "columns"},
      {"[vector]", "[matrix_instruction]\nblock_scales = { mxf8 = 32, source = \"sheet\" }\n\n[vector]",
       "toy.toml:22:18: error: 'mxf8' in 'matrix_instruction.block_scales' is not a type that has rates\n  hint: one "
       "of: source, f64, f32, tf32, f16, bf16, f8, f4, i64, i32, i16, i8, i4, b1"},
      {"[vector]", "[[pipe]]\nname = \"a\"\nunits = [\"tensor\"]\nsource = \"sheet\"\n\n[vector]",
       "toy.toml:23:9: error: 'tensor' in 'pipe[0].units' is not a unit\n  hint: one of: matrix, vector"},
      {"[vector]", "[[pipe]]\nname = \"a\"\nunits = [\"matrix\", \"matrix\"]\nsource = \"sheet\"\n\n[vector]",
       "toy.toml:23:9: error: two pipes have 'matrix'"},
      {"[vector]", "[[pipe]]\nname = \"a\"\nunits = []\nsource = \"sheet\"\n\n[vector]",
       "toy.toml:21:1: error: 'pipe[0]' lacks 'units'\n  hint: name units that take turns: \"matrix\", \"vector f64\""},
      {"size = { mib = 4, source = \"sheet\" }", "size = { mib = 4, source = \"sheet\" }\nresults = false",
       "toy.toml:36:11: error: 'memory[1].results' must be a table, not a boolean"},
      {"size = { gb = 8, source = \"sheet\" }",
       "size = { gb = 8, source = \"sheet\" }\nwritten = { bytes_per_clock = 8, source = \"sheet\" }",
       "toy.toml:28:11: error: 'memory[0].written' is for memory on the chip"},
  };
  for (const Broken& broken : cases) {
    std::string text(good);
    const size_t at = text.find(broken.from);
    ASSERT_NE(at, std::string::npos) << broken.from;
    text.replace(at, broken.from.size(), broken.to);
    const auto machine = parse_machine(text, "toy.toml");
    ASSERT_FALSE(machine.ok()) << broken.error;
    EXPECT_EQ(to_string(machine.error()), broken.error);
  }
}

TEST(MachineFile, HostileTextEndsInAnError) {
  std::string deep = "x = ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  const std::string texts[] = {"",
                               "name",
                               "name = ",
                               "= 3",
                               "[",
                               "[[memory]",
                               "name = \"a\"\nname = \"b\"",
                               deep,
                               std::string("name = \"\0\"", 10),
                               "\xff\xfe",
                               "x = 1e999",
                               "memory = 3",
                               "x = 99999999999999999999999",
                               std::string(1 << 16, '"')};
  for (const std::string& text : texts) {
    const auto machine = parse_machine(text, "bad.toml");
    ASSERT_FALSE(machine.ok()) << text.substr(0, 40);
    EXPECT_THAT(to_string(machine.error()), testing::StartsWith("bad.toml:"));
  }
}

TEST(MachineFile, APathIsAcceptedWhereANameIs) {
  const std::string path = testing::TempDir() + "toy_machine.toml";
  std::ofstream(path) << good;
  EXPECT_EQ(get(path).name, "Toy");
}

}  // namespace
}  // namespace lightline::machine
