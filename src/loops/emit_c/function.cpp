#include "loops/emit_c/function.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::loops::c {
namespace {

bool is_rounded(DType accumulator) { return compute_type(accumulator) != accumulator; }

std::string integer_limit(DType type, bool greatest) {
  switch (type) {
    case DType::i64: return greatest ? "INT64_MAX" : "INT64_MIN";
    case DType::i32: return greatest ? "INT32_MAX" : "INT32_MIN";
    case DType::i16: return greatest ? "INT16_MAX" : "INT16_MIN";
    case DType::i8: return greatest ? "INT8_MAX" : "INT8_MIN";
    default: return greatest ? "UINT8_MAX" : "0";
  }
}

}  // namespace

StepFunction wrap_function(const Program& program, const std::string& name, const Writer& writer,
                           const std::vector<ArrayId>& written, const std::string& body) {
  StepFunction function;
  function.arrays = writer.arrays();
  for (const ArrayId array : written)
    if (std::ranges::find(function.arrays, array) == function.arrays.end()) function.arrays.push_back(array);
  function.counters.assign(writer.outer_vars().begin(), writer.outer_vars().end());
  std::ranges::sort(function.counters);
  std::string parameters = "const struct ll_host* H";
  for (const ArrayId array : function.arrays) {
    const bool is_written = std::ranges::find(written, array) != written.end();
    parameters += fmt::format(", {}{}* restrict {}", is_written ? "" : "const ",
                              storage_type(program.arrays[array].dtype), array_name(array));
  }
  for (const VarId var : function.counters) parameters += fmt::format(", int64_t {}", var_name(var));
  function.text = fmt::format("LL_STEP int {}({}) {{\n(void)H;\n{}return {};\n}}\n\n", name, parameters, body,
                              writer.has_checks() ? "*H->failed" : "0");
  return function;
}

std::string empty_value(Reducer reducer, DType accumulator, DType result) {
  const bool is_real = is_float(accumulator);
  switch (reducer) {
    case Reducer::sum: return accumulator == DType::c64 ? "__builtin_complex(0.0f, 0.0f)" : "0";
    case Reducer::prod: return accumulator == DType::c64 ? "__builtin_complex(1.0f, 0.0f)" : "1";
    case Reducer::max: return is_real ? "-__builtin_inf()" : integer_limit(result, false);
    case Reducer::min: return is_real ? "__builtin_inf()" : integer_limit(result, true);
    case Reducer::all: return "1";
    default: return "0";
  }
}

std::string_view accumulator_type(DType accumulator) {
  switch (accumulator) {
    case DType::i64: return "int64_t";
    case DType::i32: return "int32_t";
    case DType::boolean: return "int";
    default: return value_type(accumulator);
  }
}

std::string combine_text(Reducer reducer, DType accumulator, const std::string& total, const std::string& value) {
  std::string text;
  switch (reducer) {
    case Reducer::sum: text = call_text(Function::add, compute_type(accumulator), total, value, ""); break;
    case Reducer::prod: text = call_text(Function::mul, compute_type(accumulator), total, value, ""); break;
    case Reducer::max:
      text = is_float(accumulator) ? fmt::format("ll_max_{}({}, {})", suffix(compute_type(accumulator)), total, value)
                                   : fmt::format("{} > {} ? {} : {}", value, total, value, total);
      break;
    case Reducer::min:
      text = is_float(accumulator) ? fmt::format("ll_min_{}({}, {})", suffix(compute_type(accumulator)), total, value)
                                   : fmt::format("{} < {} ? {} : {}", value, total, value, total);
      break;
    case Reducer::all: text = fmt::format("{} & {}", total, value); break;
    case Reducer::any: text = fmt::format("{} | {}", total, value); break;
    default: text = value;
  }
  return is_rounded(accumulator) ? cast_text(compute_type(accumulator), accumulator, text) : text;
}

bool keeps_nan(Reducer reducer, DType accumulator) {
  return is_float(accumulator) && (reducer == Reducer::max || reducer == Reducer::min);
}

std::string reduction_clause(Reducer reducer, DType accumulator, const std::string& total) {
  if (!combines_in_any_order(reducer, accumulator)) return "";
  std::string_view operation;
  switch (reducer) {
    case Reducer::sum: operation = "+"; break;
    case Reducer::prod: operation = "*"; break;
    case Reducer::max: operation = "max"; break;
    case Reducer::min: operation = "min"; break;
    case Reducer::all: operation = "&"; break;
    case Reducer::any: operation = "|"; break;
    default: return "";
  }
  return fmt::format(" reduction({}:{}){}", operation, total,
                     keeps_nan(reducer, accumulator) ? fmt::format(" reduction(|:{}_nan)", total) : "");
}

}  // namespace lightline::loops::c
