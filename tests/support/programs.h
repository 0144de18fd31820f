// Loop programs from text, for tests that are about something else.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "loops/ir/parse.h"

namespace lightline::testing_support {

// The test fails, and the program is empty, if the text is not right.
inline loops::Program program_of(const std::string& text) {
  auto program = loops::parse_and_verify(text, "test");
  if (program.ok()) return std::move(*program);
  ADD_FAILURE() << to_string(program.error()) << "\n" << text;
  return {};
}

}  // namespace lightline::testing_support
