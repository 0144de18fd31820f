// Programs as text and tensors as lists of numbers, for tests of the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/parse.h"

namespace lightline::loops::testing {

using Values = std::vector<double>;

inline Tensor tensor(DType dtype, const Shape& shape, const Values& values) {
  Tensor result(dtype, shape);
  EXPECT_EQ(size_t(result.size()), values.size());
  for (int64_t i = 0; i < result.size(); ++i) result.set_f64(i, values[size_t(i)]);
  return result;
}
inline Tensor integers(DType dtype, const Shape& shape, const std::vector<int64_t>& values) {
  Tensor result(dtype, shape);
  EXPECT_EQ(size_t(result.size()), values.size());
  for (int64_t i = 0; i < result.size(); ++i) result.set_i64(i, values[size_t(i)]);
  return result;
}
inline Tensor list(DType dtype, const Values& values) { return tensor(dtype, {int64_t(values.size())}, values); }

inline Values numbers(const Tensor& tensor) {
  Values result;
  for (int64_t i = 0; i < tensor.size(); ++i) result.push_back(tensor.get_f64(i));
  return result;
}
inline std::vector<int64_t> whole(const Tensor& tensor) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < tensor.size(); ++i) result.push_back(tensor.get_i64(i));
  return result;
}

template <class... Tensors>
Result<std::vector<Tensor>> attempt(const std::string& text, Tensors... inputs) {
  std::vector<Tensor> list;
  (list.push_back(std::move(inputs)), ...);
  auto program = parse_and_verify(text);
  if (!program.ok()) return std::move(program).error();
  return interpret(*program, list);
}

// The outputs of a program that must run.
template <class... Tensors>
std::vector<Tensor> run(const std::string& text, Tensors... inputs) {
  auto result = attempt(text, std::move(inputs)...);
  if (result.ok()) return std::move(result).value();
  ADD_FAILURE() << to_string(result.error()) << "\n" << text;
  return std::vector<Tensor>(8);
}

// The error of a program that must not run: "code: message" and, below it, the hint.
template <class... Tensors>
std::string error_of(const std::string& text, Tensors... inputs) {
  auto result = attempt(text, std::move(inputs)...);
  if (result.ok()) return "it ran";
  const Error& error = result.error();
  return std::string(name(error.code)) + ": " + error.message + (error.hint.empty() ? "" : "\n" + error.hint);
}

}  // namespace lightline::loops::testing
