// Counts of bits, written with shifts and masks as StableHLO's popcnt is lowered. gcc 12 knows the pattern, and with
// AVX-512 it folds such counts of values that it knows to the values themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loops/emit_c/emit_c.h"
#include "loops/interpret/interpret.h"
#include "loops/run/compile.h"
#include "support/programs.h"
#include "support/seed.h"

namespace lightline::loops {
namespace {

std::string count_of_bits(std::string x) {
  x = fmt::format("({0} - bitand(ushr({0}, 1), {1}))", x, 0x5555555555555555);
  x = fmt::format("(bitand({0}, {1}) + bitand(ushr({0}, 2), {1}))", x, 0x3333333333333333);
  x = fmt::format("bitand({0} + ushr({0}, 4), {1})", x, 0x0F0F0F0F0F0F0F0F);
  return fmt::format("ushr({} * {}, 56)", x, 0x0101010101010101);
}

std::string count_in(const std::string& type, const std::string& element) {
  const int64_t width = bits(*dtype_from_name(type));
  const std::string wide =
      width == 64 ? element : fmt::format("bitand(i64({}), {})", element, (int64_t(1) << width) - 1);
  return fmt::format("{}({})", type, count_of_bits(wide));
}

// Values over the whole range of the type.
Tensor full_range(DType dtype, const Shape& shape, uint64_t own_seed) {
  Tensor values(dtype, shape);
  for (int64_t i = 0; i < values.size(); ++i) {
    const uint64_t drawn = splitmix64(testing_support::seed_of(own_seed) + uint64_t(i)) >> (64 - bits(dtype));
    values.set_i64(i, dtype == DType::u8 ? int64_t(drawn) : int64_t(drawn << (64 - bits(dtype))) >> (64 - bits(dtype)));
  }
  return values;
}

std::string table_of(const std::string& type, int64_t count) {
  const Tensor values = full_range(*dtype_from_name(type), {count}, 1);
  std::string list;
  for (int64_t i = 0; i < count; ++i) list += fmt::format("{}{}", i == 0 ? "" : ", ", values.get_i64(i));
  return list;
}

// y counts the bits of a table, z those of the table plus a position, and u those of an input.
std::string text_of(const std::string& type, int64_t count) {
  return fmt::format(
      "program p(x: {0}[{1}]) -> (y, z, u) {{\n"
      "  c: {0}[{1}] = const [{2}]\n"
      "  d: {0}[{1}] = for i: bitxor(c[i], {0}(i))\n"
      "  y: {0}[{1}] = for i: {3}\n"
      "  z: {0}[{1}] = for i: {4}\n"
      "  u: {0}[{1}] = for i: {5}\n}}\n",
      type, count, table_of(type, count), count_in(type, "c[i]"), count_in(type, "d[i]"), count_in(type, "x[i]"));
}

TEST(BitCounts, AgreeWithTheInterpreter) {
  SCOPED_TRACE(testing_support::seed_text());
  std::vector<Program> programs;
  for (const std::string type : {"i8", "u8", "i16", "i32", "i64"})
    for (const int64_t count : {2, 3, 6, 16, 17, 32, 48, 100}) {
      programs.push_back(testing_support::program_of(text_of(type, count)));
    }
  std::vector<const Program*> list;
  for (const Program& program : programs) list.push_back(&program);
  const auto compiled = compile(list);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  for (size_t i = 0; i < programs.size(); ++i) {
    const Array& input = programs[i].arrays[programs[i].inputs[0]];
    std::vector<Tensor> inputs;
    inputs.push_back(full_range(input.dtype, input.shape, 2));
    const auto expected = interpret(programs[i], inputs), actual = compiled->run(i, inputs);
    ASSERT_TRUE(expected.ok() && actual.ok());
    for (size_t output = 0; output < expected->size(); ++output)
      EXPECT_TRUE(compare((*actual)[output], (*expected)[output]).agree)
          << name(input.dtype) << to_string(input.shape) << ", output " << output;
  }
}

std::string emitted(const std::string& text) { return emit_c(testing_support::program_of(text)).value(); }

size_t occurrences(const std::string& text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

constexpr std::string_view hidden = "* ll_byte_ones", plain = "* 72340172838076673u";

TEST(BitCounts, OfKnownValuesHideTheirFactorFromTheCompiler) {
  const std::string code = emitted(text_of("i8", 32));
  EXPECT_EQ(occurrences(code, hidden), 2) << "y and z";
  EXPECT_EQ(occurrences(code, plain), 1) << "u";
  EXPECT_EQ(occurrences(code, "uint64_t ll_byte_ones = "), 1);
}

TEST(BitCounts, OfPositionsAreKnownToo) {
  const std::string code = emitted(fmt::format("program p() -> (y) {{ y: i64[6] = for i: {} }}", count_of_bits("i")));
  EXPECT_EQ(occurrences(code, hidden), 1);
  EXPECT_EQ(occurrences(code, plain), 0);
}

TEST(BitCounts, OfInputsAndWhatIsMadeOfThemAreLeftAlone) {
  const std::string code =
      emitted(fmt::format("program p(x: i64[6]) -> (y, z) {{\n"
                          "  c: i64[6] = const [1, 2, 3, 4, 5, 6]\n"
                          "  d: i64[6] = for i: c[i] * x[5 - i]\n"
                          "  y: i64[6] = for i: {}\n  z: i64[6] = for i: {}\n}}",
                          count_of_bits("bitxor(c[i], x[i])"), count_of_bits("d[i]")));
  EXPECT_EQ(occurrences(code, plain), 2);
  EXPECT_EQ(code.find("ll_byte_ones"), std::string::npos);
}

}  // namespace
}  // namespace lightline::loops
