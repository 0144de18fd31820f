#include "report/table.h"

#include <gtest/gtest.h>

#include "base/internal_error.h"

namespace lightline::report {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({{"name"}, {"n", Align::right}, {"note"}});
  table.add_row({"a", "1", "short"});
  table.add_row({"longest", "12345", ""});
  table.add_row({"", "-7", "last"});
  EXPECT_EQ(table.text(),
            "name         n  note\n"
            "a            1  short\n"
            "longest  12345\n"
            "            -7  last\n");
}

TEST(Table, WithoutRowsThereAreTitles) { EXPECT_EQ(Table({{"a"}, {"b", Align::right}}).text(), "a  b\n"); }

TEST(Table, CountsCharactersAndNotBytes) {
  EXPECT_EQ(display_width("µs"), 2);
  EXPECT_EQ(display_width("Größe"), 5);
  Table table({{"Größe"}, {"time", Align::right}});
  table.add_row({"a", "1 µs"});
  table.add_row({"abcdef", "10 s"});
  EXPECT_EQ(table.text(),
            "Größe   time\n"
            "a       1 µs\n"
            "abcdef  10 s\n");
}

TEST(Table, ARowOfAnotherLengthIsADefect) {
  Table table({{"a"}, {"b"}});
  EXPECT_THROW(table.add_row({"1"}), InternalError);
  EXPECT_THROW(table.add_row({"1", "2", "3"}), InternalError);
}

}  // namespace
}  // namespace lightline::report
