#include "loops/ir/functions.h"

#include <array>
#include <unordered_map>

namespace lightline::loops {
namespace {

constexpr std::array function_table = {
#define LL_FUNCTION(id, text, arity, signature, vector_ops, transcendental_ops) \
  FunctionInfo{Function::id, text, arity, Signature::signature, vector_ops, transcendental_ops},
#include "loops/ir/functions.def"
#undef LL_FUNCTION
};

constexpr std::array<std::pair<std::string_view, Reducer>, 9> reducer_table = {{
    {"sum", Reducer::sum},
    {"prod", Reducer::prod},
    {"max", Reducer::max},
    {"min", Reducer::min},
    {"and", Reducer::all},
    {"or", Reducer::any},
    {"argmax", Reducer::argmax},
    {"argmin", Reducer::argmin},
    {"set", Reducer::set},
}};

bool is_written_infix(std::string_view text) {
  const char first = text[0];
  return !(first >= 'a' && first <= 'z') || text == "div" || text == "mod" || text == "and" || text == "or" ||
         text == "not" || text == "neg";
}

}  // namespace

const FunctionInfo& info(Function function) { return function_table[size_t(function)]; }

std::optional<Function> function_from_name(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, Function> map;
    for (const FunctionInfo& row : function_table)
      if (!is_written_infix(row.text)) map.emplace(row.text, row.function);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? std::nullopt : std::optional(found->second);
}

std::string_view name(Reducer reducer) {
  for (const auto& [text, value] : reducer_table)
    if (value == reducer) return text;
  return "";
}

std::optional<Reducer> reducer_from_name(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const auto& [text, value] : reducer_table)
    if (text[0] == name[0] && text == name) return value;
  return std::nullopt;
}

Function combining_function(Reducer reducer) {
  switch (reducer) {
    case Reducer::sum: return Function::add;
    case Reducer::prod: return Function::mul;
    case Reducer::max: return Function::max;
    case Reducer::min: return Function::min;
    case Reducer::all: return Function::logical_and;
    default: return Function::logical_or;
  }
}

}  // namespace lightline::loops
