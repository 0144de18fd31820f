#include "base/name_table.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>

#include "base/tensor.h"

namespace lightline {
namespace {

TEST(NameTable, FindsWhatWasInserted) {
  NameTable<int> table;
  EXPECT_EQ(table.find("a"), nullptr);
  EXPECT_TRUE(table.insert("a", 1));
  EXPECT_FALSE(table.insert("a", 2));
  ASSERT_NE(table.find("a"), nullptr);
  EXPECT_EQ(*table.find("a"), 1);
  EXPECT_EQ(table.find(""), nullptr);
  EXPECT_TRUE(table.insert("", 3));
  EXPECT_EQ(*table.find(""), 3);
  EXPECT_EQ(table.size(), 2u);
}

TEST(NameTable, AnErasedNameCanComeBack) {
  NameTable<int> table(4);
  table.erase("a");
  table.insert("a", 1);
  table.erase("a");
  EXPECT_EQ(table.find("a"), nullptr);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_TRUE(table.insert("a", 2));
  EXPECT_EQ(*table.find("a"), 2);
}

TEST(NameTable, IndexingMakesEmptyValues) {
  NameTable<std::string> table;
  table["x"] += "1";
  table["x"] += "2";
  EXPECT_EQ(*table.find("x"), "12");
  const NameTable<std::string> copy = table;  // hashes as the first one does, wherever it lives
  EXPECT_EQ(*copy.find("x"), "12");
}

// Blocks that open and close, as a parser has them: many more names erased than kept.
TEST(NameTable, AgreesWithTheStandardMap) {
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back("name_of_array_" + std::to_string(i % 1500 * 7));
  NameTable<int> table;
  std::unordered_map<std::string_view, int> expected;
  for (uint64_t step = 0; step < 100000; ++step) {
    const uint64_t random = splitmix64(step);
    const std::string& name = names[random % names.size()];
    if (random >> 40 & 1) {
      table.erase(name);
      expected.erase(name);
    } else {
      EXPECT_EQ(table.insert(name, int(step)), expected.emplace(name, int(step)).second);
    }
  }
  EXPECT_EQ(table.size(), expected.size());
  for (const std::string& name : names) {
    const auto found = expected.find(name);
    const int* own = table.find(name);
    ASSERT_EQ(own != nullptr, found != expected.end()) << name;
    if (own != nullptr) {
      EXPECT_EQ(*own, found->second) << name;
    }
  }
}

}  // namespace
}  // namespace lightline
