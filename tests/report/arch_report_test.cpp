#include "report/arch_report.h"

#include <gtest/gtest.h>

#include "bound/tiny_machine.h"
#include "machine/catalogue.h"
#include "report/operators_report.h"
#include "report/report_testing.h"

namespace lightline::report {
namespace {

using testing_support::tiny_machine;

TEST(ArchReport, List) {
  machine::Machine dated = tiny_machine();
  dated.year = 2024;
  dated.tdp_watts.value = 7.5;
  EXPECT_EQ(
      arch_list_table({dated}),
      "name  vendor  kind  year     clock   f32  tf32  bf16   f8  memory  bandwidth  on chip  power\n"
      "Tiny  nobody  gpu   2024  1000 MHz  0.16   1.8   1.8  3.6    1 GB   100 GB/s    1 KiB  7.5 W\n"
      "1 machines; tera-operations per second, dense, at the highest clock: f32 on vector units, tf32, bf16 and f8 "
      "products on the best unit\n");
  const std::string text = arch_list_json({tiny_machine(), tiny_machine()});
  expect_document(text, "lightline.arch_list", 1);
  const Json json = parsed(text);
  ASSERT_EQ(json["machines"].size(), 2);
  EXPECT_EQ(json["machines"][0]["name"], "Tiny");
  EXPECT_EQ(json["machines"][0]["on_chip_bytes"], 1024);
  EXPECT_TRUE(json["machines"][0]["price_usd"].is_null());
}

TEST(ArchReport, Json) {
  machine::Machine machine = tiny_machine();
  machine.notes = "a \"quoted\" note\nof two lines";
  expect_document(arch_json(machine), "lightline.arch", 1);
  const Json json = parsed(arch_json(machine));
  EXPECT_EQ(json["notes"], machine.notes);
  EXPECT_TRUE(json["clock_mhz"]["base"].is_null()) << "not known";
  EXPECT_EQ(json["clock_mhz"]["max"]["value"], 1000);
  EXPECT_EQ(json["matrix"][0]["type"], "tf32");
  EXPECT_EQ(json["matrix"][0]["tera_per_s"], 1.8);
  EXPECT_EQ(json["bounds"]["products"]["strict"]["f32"]["unit"], "3 x tf32");
  EXPECT_DOUBLE_EQ(json["bounds"]["products"]["strict"]["f32"]["tera_per_s"].get<double>(), 0.6);
  EXPECT_EQ(json["bounds"]["bandwidth_bytes_per_s"], 1e11);
  EXPECT_EQ(json["measured"]["bytes_per_s"]["value"], 5e10);
}

TEST(ArchReport, WhatIsSharedAndIssuedIsShown) {
  const auto h200 = machine::find_machine("H200");
  ASSERT_TRUE(h200.ok());
  const std::string text = arch_table(*h200);
  for (const std::string_view line :
       {"\n16896 issue slots per clock [", "\n2 maxima or minima per slot [", "\na transcendental as 4 slots [",
        "\na matrix instruction computes 8 columns at least [", "\nno block scales [",
        "\nmatrix, vector f64 take turns (tensor cores and f64 units) [", "\nno vector f8 f4 i4 [",
        ", results stay in 60 MiB at 4.917 TB/s\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  const Json json = parsed(arch_json(*h200));
  EXPECT_EQ(json["issue"]["slots_per_clock"]["value"], 16896);
  EXPECT_EQ(json["pipes"][0]["units"], Json({"matrix", "vector f64"}));
  EXPECT_EQ(json["matrix_instruction"]["least_width"]["value"], 8);
  EXPECT_TRUE(json["matrix_instruction"]["block_scales"]["blocks"].empty()) << "known to have none";
  EXPECT_EQ(json["bounds"]["products_all_units"]["tf32"]["bf16"]["unit"], "matrix bf16 + vector bf16");
  EXPECT_EQ(json["bounds"]["result_cache"]["bytes"], 60 << 20);
}

TEST(ArchReport, WhatIsNotStatedIsNull) {
  machine::Machine bare = tiny_machine();
  bare.issue = {};
  bare.absent_matrix = {};
  const Json json = parsed(arch_json(bare));
  EXPECT_TRUE(json["issue"]["slots_per_clock"].is_null());
  EXPECT_TRUE(json["matrix_instruction"]["block_scales"].is_null());
  EXPECT_TRUE(json["absent"]["matrix"].is_null());
  EXPECT_TRUE(json["bounds"]["result_cache"]["bytes_per_s"].is_null()) << "no known limit";
  EXPECT_NE(arch_table(tiny_machine()).find("results stay in 1 KiB at no known limit"), std::string::npos);
}

TEST(ArchReport, EveryBundledMachineGivesValidJson) {
  const auto machines = machine::all_machines();
  ASSERT_TRUE(machines.ok());
  for (const machine::Machine& machine : *machines) expect_document(arch_json(machine), "lightline.arch", 1);
}

TEST(ArchReport, DifferenceIsTheSecondOverTheFirst) {
  machine::Machine fast = tiny_machine();
  fast.name = "Fast";
  fast.clocks.max.value *= 2;
  const std::string text = arch_diff_table(tiny_machine(), fast);
  EXPECT_TRUE(
      text.starts_with("                                     Tiny      Fast  ratio\n"
                       "clock                            1000 MHz  2000 MHz  2.00x\n"
                       "units                              1 core    1 core  1.00x\n"
                       "products f64, tera/s                  0.6       1.2  2.00x\n"))
      << text;
  EXPECT_NE(text.find("\nbandwidth                        100 GB/s  100 GB/s  1.00x\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nridge bf16, operations per byte        18        36  2.00x\n"), std::string::npos) << text;
}

TEST(OperatorsReport, Json) {
  const std::string text = operators_json({{"relu", {"f32", "bf16"}}});
  expect_document(text, "lightline.operators", 1);
  int proved = 0;
  const Json json = parsed(text);
  for (const Json& entry : json["operators"]) {
    if (entry["name"] == "relu") {
      EXPECT_EQ(entry["proved"], Json::array({"f32", "bf16"}));
    }
    proved += entry["proved"].empty() ? 0 : 1;
  }
  EXPECT_EQ(proved, 1);
  EXPECT_NE(operators_markdown({{"relu", {"f32", "bf16"}}}).find("| f32 bf16 |\n"), std::string::npos);
  EXPECT_NE(operators_markdown({{"relu", {"f32"}}}).find(", 1 of them are proved"), std::string::npos);
}

}  // namespace
}  // namespace lightline::report
