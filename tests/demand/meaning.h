// Whether the normal form of a program, written as a program, still means the same and costs the same.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/internal_error.h"
#include "base/tensor.h"
#include "demand/analysis.h"
#include "demand/normal_program.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/parse.h"
#include "loops/ir/print.h"

namespace lightline::demand::testing {

inline std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(Tensor::dense_copy(tensor.view()));
  return result;
}

// Casts are facts: what is computed in between may have been rounded to any type that the program has.
inline Tolerance tolerance_of(const loops::Program& program, DType output) {
  Tolerance widest = tolerance(output);
  if (is_integer(output) || output == DType::boolean) return widest;
  const auto see = [&](DType type) {
    const Tolerance own = tolerance(type);
    widest = {std::max(widest.absolute, own.absolute), std::max(widest.relative, own.relative)};
  };
  for (const loops::Array& array : program.arrays) see(array.dtype);
  for (const loops::Expr& expr : program.exprs)
    if (expr.kind == loops::ExprKind::cast) see(expr.target);
  return widest;
}

struct Normalised {
  NormalProgram normal;
  std::string fault;  // empty if there is none
};

// The normal form of a program; it must print, and verify again as what it is.
inline Normalised normalised(const loops::Program& program, const KnownValues& known = {}) {
  Normalised result;
  try {
    NormalForm form = normal_form(program, known);
    result.normal = as_program(form);
  } catch (const InternalError& defect) {
    result.fault = defect.what();
    return result;
  }
  const std::string text = to_text(result.normal, program);
  auto again = loops::parse_and_verify(text, "normal");
  if (!again.ok()) {
    result.fault = to_string(again.error()) + "\n" + text;
    return result;
  }
  again->comments.clear();
  result.normal.program = std::move(*again);  // what was read again is what runs
  return result;
}

// Data are taken to be finite: infinities are those that the program spells. Says whether there were others.
inline bool make_finite(std::vector<Tensor>& inputs) {
  bool found = false;
  for (Tensor& input : inputs)
    for (int64_t e = 0; is_float(input.dtype()) && e < input.size(); ++e)
      if (const double number = input.get_f64(e); !std::isfinite(number)) {
        input.set_f64(e, number > 0 ? 1.25 : number < 0 ? -1.5 : 0.75);
        found = true;
      }
  return found;
}

// A loop that ends by its data stands there as an operator that does not run.
inline bool runs(const loops::Program& normal) {
  bool can = true;
  loops::for_each_statement(normal.statements, [&](const loops::Statement& statement) {
    const auto* opaque = std::get_if<loops::Opaque>(&statement.node);
    can &= opaque == nullptr || opaque->name != "while";
  });
  return can;
}

// What is wrong with the normal form, as far as these inputs tell.
inline std::string difference_for(const loops::Program& program, const NormalProgram& normal,
                                  const std::vector<Tensor>& inputs) {
  if (!runs(normal.program)) return "";
  const auto expected = loops::interpret(program, copies(inputs));
  if (!expected.ok()) return "";  // nothing to compare with
  const auto actual = loops::interpret(normal.program, copies(inputs));
  if (!actual.ok()) return to_string(actual.error());
  for (size_t i = 0; i < expected->size(); ++i) {
    const Tensor &wanted = (*expected)[i], &found = (*actual)[i];
    Tolerance allowed = tolerance_of(program, wanted.dtype());
    if (is_float(wanted.dtype())) {  // what cancels in between is about as large as the largest element
      double largest = 0;
      for (int64_t e = 0; e < wanted.size(); ++e)
        if (std::isfinite(wanted.get_f64(e))) largest = std::max(largest, std::abs(wanted.get_f64(e)));
      allowed.absolute *= 1 + largest;
    }
    // 0 * x and x - x are 0, whatever x is: what is no number may become one.
    Tensor numbers = Tensor::dense_copy(found.view());
    if (is_float(wanted.dtype()))
      for (int64_t e = 0; e < wanted.size(); ++e)
        if (std::isnan(wanted.get_f64(e))) numbers.set_f64(e, NAN);
    const Comparison comparison = compare(numbers, wanted, allowed);
    if (!comparison.agree)
      return fmt::format("{}: {}", program.arrays[program.outputs[i].array].name, comparison.reason);
  }
  return "";
}

// The same, where inputs that are infinite show nothing that finite ones do not.
inline std::string difference_of_meaning(const loops::Program& program, const NormalProgram& normal,
                                         const std::vector<Tensor>& inputs) {
  const std::string difference = difference_for(program, normal, inputs);
  std::vector<Tensor> finite = copies(inputs);
  return difference.empty() || !make_finite(finite) ? difference : difference_for(program, normal, finite);
}

struct Meaning {
  std::string fault;   // empty if there is none
  std::string text;    // of the normal form
  size_t spelled = 0;  // statements that stay as they are
};

// Makes the normal form, prints it, reads it again and runs it. The values of `known` inputs are given to it.
inline Meaning meaning_of_normal_form(const loops::Program& program, const std::vector<Tensor>& inputs,
                                      const std::set<loops::ArrayId>& known = {}) {
  KnownValues values;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (known.contains(program.inputs[i])) values[program.inputs[i]] = &inputs[i];
  const Normalised made = normalised(program, values);
  if (!made.fault.empty()) return {made.fault, "", 0};
  Meaning result{difference_of_meaning(program, made.normal, inputs), to_text(made.normal, program), 0};
  for (const StatementFact& fact : made.normal.facts) result.spelled += fact.origin == Origin::spelled;
  return result;
}

}  // namespace lightline::demand::testing
