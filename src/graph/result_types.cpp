#include "graph/result_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"
#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

const TypeRules& rules() {
  static const TypeRules rules = [] {
    TypeRules all;
    add_elementwise_rules(all);
    add_reduction_rules(all);
    add_view_rules(all);
    add_rearranging_rules(all);
    add_product_rules(all);
    add_window_rules(all);
    add_indexing_rules(all);
    add_creation_rules(all);
    add_network_rules(all);
    add_spectral_rules(all);
    return all;
  }();
  return rules;
}

// One result of the list: a rule or a parameter, what stands in its brackets, and the words after "as".
struct ResultText {
  std::string_view rule;
  std::string_view words;
  bool optional = false;
};

std::vector<ResultText> parts_of(std::string_view text) {
  std::vector<ResultText> parts;
  while (!text.empty()) {
    size_t end = 0;
    for (int depth = 0; end < text.size() && (text[end] != ',' || depth > 0); ++end)
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t as = one.find(" as ");
    ResultText part{trimmed(one.substr(0, as)), as == std::string_view::npos ? "" : trimmed(one.substr(as + 4))};
    if (part.rule.ends_with('?')) {
      part.optional = true;
      part.rule.remove_suffix(1);
    }
    parts.push_back(part);
  }
  return parts;
}

DType with_word(DType dtype, std::string_view word, const TypeCall& call) {
  if (word == "floating") return floating_type(dtype);
  if (word == "total") return category(dtype) <= Category::integer ? DType::i64 : dtype;
  if (word == "counted") return dtype == DType::boolean ? DType::i64 : dtype;
  if (word == "truth") return dtype == DType::u8 ? DType::u8 : DType::boolean;
  if (word == "real") return dtype == DType::c64 ? DType::f32 : dtype;
  if (word == "complex") return DType::c64;
  if (word == "dtype" || word == "out_dtype") return call.dtype(word).value_or(dtype);
  if (const auto named = dtype_from_name(word)) return *named;
  refuse(fmt::format("the list of operators says 'as {}', which means nothing", word), ErrorCode::internal);
}

void apply_words(std::vector<TensorType>& types, std::string_view words, const TypeCall& call) {
  while (!words.empty()) {
    const std::string_view word = take_until(words, " ");
    for (TensorType& type : types) type.dtype = with_word(type.dtype, word, call);
  }
}

std::string_view without_brackets(std::string_view rule) { return rule.substr(0, rule.find('(')); }

std::vector<std::string_view> in_brackets(std::string_view rule) {
  std::vector<std::string_view> words;
  const size_t open = rule.find('('), close = rule.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos) return words;
  std::string_view rest = rule.substr(open + 1, close - open - 1);
  while (!rest.empty()) words.push_back(take_until(rest, ","));
  return words;
}

bool is_parameter(const OperatorSignature& op, std::string_view name) {
  return std::ranges::any_of(op.parameters, [&](const Parameter& one) { return one.name == name; });
}

std::vector<TensorType> types_of(const ResultText& part, TypeCall& call) {
  std::vector<TensorType> types;
  if (part.rule == "given") {
    for (size_t i = 0; i < call.result_count(); ++i) {
      const TensorType* type = call.recorded(i);
      if (!type) refuse("only the source knows the types of what this operator gives", ErrorCode::unsupported);
      types.push_back(*type);
    }
  } else if (is_parameter(call.op(), part.rule)) {
    if (const TensorType* type = call.tensor_if(part.rule))
      types.push_back(*type);
    else if (const auto number = call.operand_if(part.rule); number && !part.optional)
      types.push_back({default_dtype(number->number), {}});
    else if (!part.optional)
      refuse(fmt::format("the tensor argument '{}' is missing", part.rule));
  } else {
    const auto found = rules().find(without_brackets(part.rule));
    if (found == rules().end())
      refuse(fmt::format("the list of operators names the rule '{}', which does not exist", part.rule),
             ErrorCode::internal);
    call.words = in_brackets(part.rule);
    types = found->second(call);
  }
  apply_words(types, part.words, call);
  return types;
}

}  // namespace

Result<std::vector<TensorType>> result_types(const OperatorSignature& op, const Graph& graph, const Node& node) {
  try {
    TypeCall call(op, graph, node);
    std::vector<TensorType> types;
    for (const ResultText& part : parts_of(op.results))
      for (TensorType& type : types_of(part, call)) types.push_back(std::move(type));
    return types;
  } catch (TypeError& error) {
    return Error{error.code, fmt::format("'{}': {}", op.name, error.message), "", {}};
  }
}

std::string unknown_rule(const OperatorSignature& op) {
  for (const ResultText& part : parts_of(op.results))
    if (part.rule != "given" && !is_parameter(op, part.rule) && !rules().contains(without_brackets(part.rule)))
      return std::string(part.rule);
  return "";
}

}  // namespace lightline::graph
