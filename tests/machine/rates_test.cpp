#include "machine/rates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "machine/catalogue.h"
#include "machine/machine_file.h"

namespace lightline::machine {
namespace {

using enum RateType;
constexpr MathMode strict = MathMode::strict, usual = MathMode::tf32, fast16 = MathMode::fast16;

Machine known(const std::string& name) {
  auto machine = find_machine(name);
  EXPECT_TRUE(machine.ok()) << to_string(machine.error());
  return machine.ok() ? *machine : Machine{};
}

Machine parsed_machine(const std::string& text) {
  auto machine = parse_machine(text, "round.toml");
  EXPECT_TRUE(machine.ok()) << to_string(machine.error());
  return machine.ok() ? *machine : Machine{};
}

// One tick per second, so that every rate is a figure of the file: 100 slots; f16 products 1000 on the matrix unit and
// 100 on packed lanes, f32 ones 60.
const std::string round_text = R"(name = "Round"
vendor = "nobody"
kind = "gpu"
[sources]
test = "made for tests"
[clock]
max = { mhz = 1, source = "test" }
[units]
name = "core"
count = 1
source = "test"
[issue]
slots = { per_unit = 100, source = "test" }
max_min = { per_slot = 1, source = "test" }
logic = { per_slot = 2, source = "test" }
integer_add = { per_slot = 2, source = "test" }
[matrix]
f64 = { per_unit = 40, source = "test" }
tf32 = { per_unit = 500, source = "test" }
f16 = { per_unit = 1000, source = "test" }
bf16 = { per_unit = 900, source = "test" }
i8 = { per_unit = 2000, source = "test" }
b1 = { per_unit = 16000, source = "test" }
absent = { types = ["f32", "f8", "f4", "i64", "i32", "i16", "i4"], source = "test" }
[matrix_instruction]
least_width = { columns = 8, source = "test" }
block_scales = { f16 = 32, source = "test" }
[[emulation]]
type = "f32"
with = "tf32"
products = 3
source = "test"
[[emulation]]
type = "f32"
with = "bf16"
products = 6
source = "test"
[vector]
f64 = { per_unit = 20, values = 10, values_per_slot = 1, source = "test" }
f32 = { per_unit = 120, values = 60, values_per_slot = 1, source = "test" }
f16 = { per_unit = 200, values = 100, values_per_slot = 2, source = "test" }
i32 = { per_unit = 80, values = 40, values_per_slot = 1, source = "test" }
i8 = { per_unit = 320, values = 160, values_per_slot = 4, source = "test" }
b1 = { per_unit = 2560, values = 1280, values_per_slot = 32, source = "test" }
absent = { types = ["bf16", "f8", "f4", "i64", "i16", "i4"], source = "test" }
[transcendental]
f32 = { per_unit = 16, source = "test" }
f16 = { per_unit = 32, source = "test" }
absent = { types = ["bf16", "f8", "f4"], source = "test" }
emulation = { slots = 4, source = "test" }
lookup = { per_unit = 30, source = "test" }
[[pipe]]
name = "matrix unit and f64"
units = ["matrix", "vector f64"]
source = "test"
[[memory]]
name = "DRAM"
kind = "device"
size = { gb = 1, source = "test" }
bandwidth = { gb_per_s = 1, source = "test" }
[[memory]]
name = "cache"
kind = "on_chip"
usable = true
size = { bytes = 768, source = "test" }
bandwidth = { bytes_per_clock = 9000, source = "test" }
written = { bytes_per_clock = 3000, source = "test" }
[[memory]]
name = "registers"
kind = "on_chip"
results = { kept = false, source = "test" }
size = { bytes = 256, source = "test" }
)";

double per_tick(double rate) { return rate / 1e6; }
double together(const Machine& machine, RateType left, RateType right, MathMode mode = usual) {
  return per_tick(contraction_rate_all_units(machine, left, right, mode).macs_per_second);
}
double alone(const Machine& machine, RateType left, RateType right, MathMode mode = usual) {
  return per_tick(contraction_rate_one_unit(machine, left, right, mode).macs_per_second);
}

// The file without the part between two texts; the second stays.
std::string without(const std::string& from, const std::string& to = "\n") {
  const size_t begin = round_text.find(from), end = round_text.find(to, begin);
  EXPECT_NE(begin, std::string::npos) << from;
  EXPECT_NE(end, std::string::npos) << to;
  std::string text = round_text;
  return text.erase(begin, end - begin);
}

// ---- products ----

TEST(Rates, PipesAddUpAsFarAsTheyCanBeIssuedFor) {
  const Machine round = parsed_machine(round_text);
  // 1000 on the matrix unit; 100 in pairs with 50 slots; the other 50 slots for 50 of 60 as f32.
  EXPECT_DOUBLE_EQ(together(round, f16, f16), 1000 + 100 + 50);
  EXPECT_EQ(contraction_rate_all_units(round, f16, f16, usual).unit, "matrix f16 + vector f16 + vector f32");
  EXPECT_DOUBLE_EQ(alone(round, f16, f16), 1000);
  // No bf16 lanes: as f32 on all 60.
  EXPECT_DOUBLE_EQ(together(round, bf16, bf16), 900 + 60);
  EXPECT_DOUBLE_EQ(together(round, f32, f32), 500 + 60);
  EXPECT_DOUBLE_EQ(together(round, f32, f32, fast16), 1000 + 100 + 50);
  EXPECT_DOUBLE_EQ(together(round, f32, f32, strict), 500.0 / 3 + 60);
  // i8 in fours on 40 slots; then f16 pairs on 50 of the 60 left; then f32 on 10.
  EXPECT_DOUBLE_EQ(together(round, i8, i8), 2000 + 160 + 100 + 10);
}

TEST(Rates, WhatSharesAPipeTakesTurns) {
  EXPECT_DOUBLE_EQ(together(parsed_machine(round_text), f64, f64), 40);
  EXPECT_DOUBLE_EQ(together(parsed_machine(without("[[pipe]]", "[[memory]]")), f64, f64), 40 + 10);
}

TEST(Rates, UnlikeFactorsTakeAsManyProductsAsTheWiderHasPieces) {
  const Machine round = parsed_machine(round_text);
  // f32 against f32: 3 of tf32 (two pieces a side) or 6 of bf16 (three pieces a side).
  EXPECT_DOUBLE_EQ(alone(round, f32, f32, strict), 500.0 / 3);
  EXPECT_DOUBLE_EQ(alone(round, f32, bf16, strict), 900.0 / 3);
  EXPECT_DOUBLE_EQ(alone(round, bf16, f32, strict), 900.0 / 3);
  EXPECT_DOUBLE_EQ(alone(round, f32, f16, strict), 500.0 / 2);
  EXPECT_DOUBLE_EQ(alone(round, f32, bf16, usual), 500);
  EXPECT_DOUBLE_EQ(alone(round, f16, i8), 1000);
  // Digits of 8 bits: nine products for 32 by 32 bits, four for 32 by 8.
  EXPECT_DOUBLE_EQ(alone(round, i32, i32), 2000.0 / 9);
  EXPECT_DOUBLE_EQ(alone(round, i32, i8), 2000.0 / 4);
  // Bits: four planes of an i4 against bits, sixteen against an i4, where i8 is better.
  EXPECT_DOUBLE_EQ(alone(round, i4, b1), 16000.0 / 4);
  EXPECT_DOUBLE_EQ(alone(round, i4, i4), 2000);
  EXPECT_DOUBLE_EQ(alone(round, b1, b1), 16000);
}

TEST(Rates, BooleansAreBits) {
  const Machine round = parsed_machine(round_text);
  EXPECT_EQ(narrow_rate_type(DType::boolean), b1);
  EXPECT_EQ(narrow_rate_type(DType::u8), i8);
  // Bits of words on 40 slots, then i8 in fours on 40, then f16 pairs on the last 20.
  EXPECT_DOUBLE_EQ(per_tick(contraction_rate_all_units(round, DType::boolean, usual).macs_per_second),
                   16000 + 1280 + 160 + 40);
}

// ---- sums, slots, functions ----

TEST(Rates, SumsRunOnMatrixUnitsAgainstOnes) {
  const Machine round = parsed_machine(round_text);
  EXPECT_DOUBLE_EQ(per_tick(sum_rate(round, f16, usual)), 1000.0 / 8 + 100 + 50);
  EXPECT_DOUBLE_EQ(per_tick(sum_rate(round, f32, usual)), 500.0 / 8 + 60);
  // Ones fit every piece: three of bf16 make an f32.
  EXPECT_DOUBLE_EQ(per_tick(sum_rate(round, f32, strict)), 900.0 / 3 / 8 + 60);
  // Four digits against ones; IADD3-like additions are two a slot.
  EXPECT_DOUBLE_EQ(per_tick(sum_rate(round, i32, usual)), 2000.0 / 4 / 8 + 2 * 40);
}

TEST(Rates, SlotsAndPipesAreTwoLimits) {
  const Machine round = parsed_machine(round_text);
  // 100 in pairs and 60 and 10 beside them, of which 100 + 50 can be issued.
  EXPECT_DOUBLE_EQ(per_tick(slot_rate(round, f32)), 60 + 10);
  const VectorWork mixed[] = {{f32, 60e6}, {i32, 60e6}};
  const VectorTime time = vector_time(round, mixed);
  EXPECT_DOUBLE_EQ(time.issue_seconds, 120.0 / 100);
  // i32 on its own 40 and the 10 of f64.
  EXPECT_DOUBLE_EQ(time.pipe_seconds, 60.0 / 50);
  const VectorWork packed[] = {{f16, 100e6}, {i8, 160e6}};
  EXPECT_DOUBLE_EQ(vector_time(round, packed).issue_seconds, (100.0 / 2 + 160.0 / 4) / 100);
  EXPECT_EQ(vector_time(round, {}).seconds(), 0);
}

TEST(Rates, WorkOfOnePipeAddsUp) {
  // Everything on one pipe: f32 and i32 take turns.
  std::string text = round_text;
  const std::string units = R"(["matrix", "vector f64"])";
  text.replace(text.find(units), units.size(), R"(["matrix", "vector"])");
  const Machine round = parsed_machine(text);
  const VectorWork mixed[] = {{f32, 30e6}, {i32, 20e6}};
  EXPECT_DOUBLE_EQ(vector_time(round, mixed).pipe_seconds, 30.0 / 60 + 20.0 / 40);
  EXPECT_DOUBLE_EQ(together(round, f16, f16), 1000) << "and so do products";
}

TEST(Rates, ChainsOfThreeInputs) {
  const Machine round = parsed_machine(round_text);
  EXPECT_EQ(operations_per_slot(round, Chain::max_min), 1);
  EXPECT_EQ(operations_per_slot(round, Chain::logic), 2);
  EXPECT_EQ(operations_per_slot(round, Chain::integer_add), 2);
}

TEST(Rates, FunctionsTakeEveryUnitThatCanAnswer) {
  const Machine round = parsed_machine(round_text);
  EXPECT_DOUBLE_EQ(per_tick(transcendental_rate_with_emulation(round, f32)), 16 + 70.0 / 4);
  // 100 + 60 + 10 lanes would do 170 values, and 100 slots issue as many and more.
  EXPECT_DOUBLE_EQ(per_tick(transcendental_rate_with_emulation(round, f16)), 32 + 170.0 / 4 + 30);
  EXPECT_DOUBLE_EQ(per_tick(transcendental_rate_with_emulation(round, f64)), 10.0 / 4);
}

TEST(Rates, ResultsMayStayInTheLastLevelCache) {
  const ResultCache cache = last_level_cache(parsed_machine(round_text));
  EXPECT_EQ(cache.bytes, 768);
  EXPECT_DOUBLE_EQ(cache.bytes_per_second, 3000e6);
  // A cache that is slower than the memory behind it slows nothing.
  std::string slow = round_text;
  slow.replace(slow.find("gb_per_s = 1,"), 13, "gb_per_s = 5,");
  EXPECT_DOUBLE_EQ(last_level_cache(parsed_machine(slow)).bytes_per_second, 5e9);
}

// ---- a fact that is not stated ----

// Every rate that this room has, in one list.
std::vector<double> every_rate(const Machine& machine) {
  std::vector<double> rates;
  for (int i = 0; i < rate_type_count; ++i) {
    const RateType type = RateType(i);
    for (const MathMode mode : {strict, usual, fast16}) {
      rates.push_back(sum_rate(machine, type, mode));
      for (int j = 0; j < rate_type_count; ++j) {
        rates.push_back(contraction_rate_one_unit(machine, type, RateType(j), mode).macs_per_second);
        rates.push_back(contraction_rate_all_units(machine, type, RateType(j), mode).macs_per_second);
      }
    }
    if (type == tf32) continue;
    rates.push_back(slot_rate(machine, type));
    rates.push_back(transcendental_rate_with_emulation(machine, type));
    for (int j = 0; j < rate_type_count; ++j) {
      const VectorWork mixed[] = {{type, 1}, {RateType(j == int(tf32) ? int(f32) : j), 1}};
      rates.push_back(1 / vector_time(machine, mixed).seconds());
    }
  }
  for (const Chain chain : {Chain::max_min, Chain::logic, Chain::integer_add})
    rates.push_back(operations_per_slot(machine, chain));
  rates.push_back(last_level_cache(machine).bytes);
  rates.push_back(last_level_cache(machine).bytes_per_second);
  return rates;
}

void expect_no_rate_falls(const Machine& stated, const Machine& silent, const std::string& what) {
  const std::vector<double> before = every_rate(stated), after = every_rate(silent);
  bool rises = false;
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_GE(after[i], before[i] * (1 - 1e-12)) << what << ", rate " << i;
    rises = rises || after[i] > before[i] * (1 + 1e-12);
  }
  EXPECT_TRUE(rises) << what << " changes nothing: the test sees too little";
}

TEST(Rates, AFieldThatIsNotStatedLowersNothing) {
  const Machine stated = parsed_machine(round_text);
  const std::pair<std::string, std::string> parts[] = {
      {"slots = {", "max_min"},
      {"max_min = {", "logic"},
      {"emulation = {", "lookup"},
      {"lookup = {", "[[pipe]]"},
      {"[[pipe]]", "[[memory]]"},
      {"least_width = {", "block_scales"},
      {"[matrix_instruction]", "[[emulation]]"},
      {R"(absent = { types = ["f32", "f8")", "[matrix_instruction]"},
      {R"(absent = { types = ["bf16", "f8", "f4", "i64")", "[transcendental]"},
      {R"(absent = { types = ["bf16", "f8", "f4"])", "emulation"},
      {" values = 60, values_per_slot = 1,", " source"},
      {" values = 160, values_per_slot = 4,", " source"},
      {"written = {", "[[memory]]"},
      {R"(results = { kept)", "size"},
  };
  for (const auto& [from, to] : parts) expect_no_rate_falls(stated, parsed_machine(without(from, to)), from);
}

// What can be left out of a file without lowering a rate is every line but those that say what a unit has.
TEST(Rates, NoBundledFileLosesByForgetting) {
  auto machines = all_machines();
  ASSERT_TRUE(machines.ok());
  for (const Machine& machine : *machines) {
    Machine silent = machine;
    silent.issue = {};
    silent.matrix_instruction = {};
    silent.pipes.clear();
    silent.absent_matrix = silent.absent_vector = silent.absent_special = {};
    for (Rate& rate : silent.vector) rate.values_per_clock = rate.values_per_slot = 0;
    expect_no_rate_falls(machine, silent, machine.name);
  }
}

TEST(Rates, TypesThatAFileForgetsAreTakenAsFastAsTheirWidthAllows) {
  const Machine round = parsed_machine(without("absent = { types = [\"f32\", \"f8\"", "[matrix_instruction]"));
  EXPECT_DOUBLE_EQ(alone(round, f8, f8), 2000) << "as i8, of the same width";
  EXPECT_DOUBLE_EQ(alone(round, f32, f32, strict), 500) << "as tf32, the next narrower";
  EXPECT_DOUBLE_EQ(alone(round, f4, f4), 4000) << "four times f16, the narrowest float";
  const Machine plain = parsed_machine(without("b1 = { per_unit = 16000", "[matrix_instruction]"));
  EXPECT_DOUBLE_EQ(alone(plain, b1, b1), 16000) << "eight times i8";
}

// ---- bundled machines ----

TEST(Rates, AllUnitsAreNoSlowerThanTheBest) {
  auto machines = all_machines();
  ASSERT_TRUE(machines.ok());
  for (const Machine& machine : *machines) {
    for (int i = 0; i < dtype_count; ++i) {
      for (const MathMode mode : {strict, usual, fast16}) {
        SCOPED_TRACE(machine.name + " " + std::string(name(DType(i))));
        const RateType type = rate_type(DType(i));
        const double best = contraction_rate(machine, DType(i), mode).macs_per_second;
        const double one = contraction_rate_one_unit(machine, type, type, mode).macs_per_second;
        EXPECT_GE(one, best * (1 - 1e-12));
        EXPECT_GE(contraction_rate_all_units(machine, DType(i), mode).macs_per_second, one * (1 - 1e-12));
      }
    }
  }
}

TEST(Rates, EveryBundledMachineStatesWhatBoundsNeed) {
  auto machines = all_machines();
  ASSERT_TRUE(machines.ok());
  for (const Machine& machine : *machines) {
    SCOPED_TRACE(machine.name);
    EXPECT_FALSE(machine.pipes.empty());
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8})
      EXPECT_GE(slot_rate(machine, rate_type(dtype)), machine.vector_rate(dtype) / 2 * (1 - 1e-12)) << name(dtype);
    EXPECT_FALSE(machine.absent_matrix.source.empty());
    EXPECT_GT(machine.issue.emulated_slots.value, 0);
    EXPECT_GT(machine.issue.lookups.value, 0);
    EXPECT_TRUE(std::isfinite(last_level_cache(machine).bytes_per_second));
    EXPECT_GE(last_level_cache(machine).bytes_per_second, machine.bandwidth());
    if (machine.vendor != "NVIDIA") continue;
    EXPECT_GE(machine.issue.slots.value, 128 * machine.units.value);
    EXPECT_EQ(machine.matrix_instruction.least_width.value, 8);
    EXPECT_NE(machine.find_matrix(b1), nullptr);
  }
}

TEST(Rates, H200) {
  const Machine h200 = with_clock(known("H200"), 1e6);
  const auto per_sm = [&](RateType left, RateType right, MathMode mode = usual) {
    return together(h200, left, right, mode) / 132;
  };
  EXPECT_DOUBLE_EQ(per_sm(f16, f16), 2048 + 256);  // pairs on all 128 slots
  EXPECT_DOUBLE_EQ(per_sm(f32, f32), 1024 + 128);  // tf32
  EXPECT_DOUBLE_EQ(per_sm(f32, f32, strict), 1024.0 / 3 + 128);
  EXPECT_DOUBLE_EQ(per_sm(f64, f64), 4096.0 / 28);  // one pipe: slices beat 128 of f64
  EXPECT_DOUBLE_EQ(per_sm(i8, i8), 4096 + 512);
  EXPECT_DOUBLE_EQ(per_sm(b1, b1), 32768 + 2048 + 256);  // 64 slots of words, 64 of i8
  EXPECT_DOUBLE_EQ(per_tick(sum_rate(h200, bf16, usual)) / 132, 2048.0 / 8 + 256);
  EXPECT_DOUBLE_EQ(per_tick(transcendental_rate_with_emulation(h200, f32)) / 132, 16 + 128.0 / 4);
  EXPECT_DOUBLE_EQ(per_tick(transcendental_rate_with_emulation(h200, bf16)) / 132, 32 + 256.0 / 4 + 32);
  // Measured: into the cache no faster than into memory.
  const ResultCache cache = last_level_cache(known("H200"));
  EXPECT_EQ(cache.bytes, 60.0 * 1024 * 1024);
  EXPECT_EQ(cache.bytes_per_second, known("H200").bandwidth());
}

TEST(Rates, PairsOfBlackwellLeaveSlotsFree) {
  const Machine b200 = with_clock(known("B200"), 1e6), h200 = with_clock(known("H200"), 1e6);
  const VectorWork mixed[] = {{f32, 1e6}, {i32, 0.5e6}};
  // 128 f32 and 64 i32 per clock: all of 128 slots on the B200 twice over, not on the H200.
  EXPECT_DOUBLE_EQ(148 * vector_time(b200, mixed).issue_seconds, (0.5 + 0.5) / 128);
  EXPECT_DOUBLE_EQ(132 * vector_time(h200, mixed).issue_seconds, (1 + 0.5) / 128);
}

TEST(Rates, Others) {
  const Machine a100 = with_clock(known("A100-80GB"), 1e6), epyc = with_clock(known("EPYC-9654"), 1e6);
  EXPECT_DOUBLE_EQ(alone(a100, i4, i4) / 108, 4096);
  EXPECT_DOUBLE_EQ(alone(a100, b1, b1) / 108, 16384);
  EXPECT_DOUBLE_EQ(together(epyc, f32, f32, strict) / 96,
                   16);                                       // two multiply-adds of 8 lanes, whatever they are called
  EXPECT_DOUBLE_EQ(per_tick(slot_rate(epyc, f32)) / 96, 32);  // and two adds beside them
  EXPECT_EQ(last_level_cache(known("TPU-v5e")).bytes, 0);
  EXPECT_DOUBLE_EQ(last_level_cache(known("MI300X")).bytes, 256.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(last_level_cache(known("MI300X")).bytes_per_second, 8192 * 2100e6);
}

}  // namespace
}  // namespace lightline::machine
