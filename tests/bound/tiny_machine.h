// A machine with round figures, so that every time in a test can be worked out by hand.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "machine/machine_file.h"

namespace lightline::testing_support {

// Per second: 9e11 products of tf32, 1.8e12 of f16, 3e11 of f32 (three of tf32 each); 8e10 vector operations;
// 2e10 transcendentals of 16 bits, a quarter of them on the vector units at 16 slots each and a quarter looked up;
// 1e11 bytes. On chip: 1024 bytes.
inline constexpr std::string_view tiny_machine_text = R"(
name = "Tiny"
vendor = "nobody"
kind = "gpu"
[sources]
test = "made for tests"
[clock]
max = { mhz = 1000, source = "test" }
[units]
name = "core"
count = 1
source = "test"
[matrix]
tf32 = { per_unit = 900, source = "test" }
f16 = { per_unit = 1800, source = "test" }
absent = { types = ["f64", "f32", "bf16", "f8", "f4", "i64", "i32", "i16", "i8", "i4", "b1"], source = "test" }
[[pipe]]
name = "matrix units"
units = ["matrix"]
source = "test"
[[emulation]]
type = "f32"
with = "tf32"
products = 3
source = "test"
[matrix_instruction]
least_width = { columns = 8, source = "test" }
[issue]
slots = { per_unit = 80, source = "test" }
[vector]
f32 = { per_unit = 160, values = 80, values_per_slot = 1, source = "test" }
absent = { types = ["f64", "f16", "bf16", "f8", "f4", "i64", "i32", "i16", "i8", "i4", "b1"], source = "test" }
[transcendental]
f32 = { per_unit = 10, source = "test" }
absent = { types = ["f16", "bf16", "f8", "f4"], source = "test" }
emulation = { slots = 16, source = "test" }
lookup = { per_unit = 5, source = "test" }
[[memory]]
name = "DRAM"
kind = "device"
size = { gb = 1, source = "test" }
bandwidth = { gb_per_s = 100, source = "test" }
[[memory]]
name = "cache"
kind = "on_chip"
usable = true
size = { bytes = 768, source = "test" }
[[memory]]
name = "registers"
kind = "on_chip"
size = { bytes = 256, source = "test" }
[measured]
bandwidth = { gb_per_s = 50, source = "test" }
[measured.matrix]
tf32 = { tflops = 0.9, source = "test" }
f16 = { tflops = 99, source = "test; above the nominal rate, which it does not raise" }
)";

inline machine::Machine tiny_machine() {
  auto machine = machine::parse_machine(tiny_machine_text, "tiny.toml");
  EXPECT_TRUE(machine.ok()) << to_string(machine.error());
  return machine.ok() ? *machine : machine::Machine{};
}

}  // namespace lightline::testing_support
