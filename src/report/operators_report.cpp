#include "report/operators_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/catalogue/catalogue.h"
#include "report/json.h"

namespace lightline::report {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view separator, std::string_view quote = "") {
  std::string text;
  for (const std::string& word : words)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : separator, quote, word, quote);
  return text;
}

std::vector<const ops::Operator*> sorted_operators() {
  std::vector<const ops::Operator*> list;
  for (const ops::Operator& op : ops::all_operators().operators()) list.push_back(&op);
  std::sort(list.begin(), list.end(),
            [](const auto* a, const auto* b) { return std::tie(a->family, a->name) < std::tie(b->family, b->name); });
  return list;
}

const std::vector<std::string>& proved_for(const ProvedTypes& proved, const std::string& name) {
  static const std::vector<std::string> nothing;
  const auto found = proved.find(name);
  return found == proved.end() ? nothing : found->second;
}

}  // namespace

Result<ProvedTypes> parse_proved_types(const std::string& text, const std::string& file) {
  ProvedTypes proved;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("families") || !json["families"].is_object())
    return Error{ErrorCode::parse,
                 "not the summary of a conformance run",
                 "run make test first; it writes build/conformance.json",
                 {file}};
  for (const auto& [family, summary] : json["families"].items()) {
    if (!summary.is_object() || !summary.contains("operators") || !summary["operators"].is_object()) continue;
    for (const auto& [name, types] : summary["operators"].items()) {
      // The summary speaks of targets; the registry says which operator that is.
      const ops::Registry::Match match = ops::all_operators().find(name);
      if (match.op == nullptr || !types.is_array()) continue;
      auto& list = proved[match.op->name];
      for (const auto& type : types)
        if (type.is_string() && std::find(list.begin(), list.end(), type.get<std::string>()) == list.end())
          list.push_back(type.get<std::string>());
    }
  }
  return proved;
}

std::string operators_markdown(const ProvedTypes& proved) {
  const auto operators = sorted_operators();
  const auto count = std::count_if(operators.begin(), operators.end(),
                                   [&](const auto* op) { return !proved_for(proved, op->name).empty(); });
  std::string text = "# Operators\n\nPrinted by `lightline operators --markdown --conformance FILE`; do not edit. ";
  const auto opaque = std::count_if(operators.begin(), operators.end(), [](const auto* op) { return op->opaque; });
  text += fmt::format("{} operators have a definition, {} of them are proved by running against PyTorch. ",
                      int64_t(operators.size()) - opaque, count);
  text += fmt::format("{} more are opaque: their types and bytes are known, and they can not run.\n", opaque);
  text +=
      "\nAn operator is found under its name in every source: `relu` is `aten.relu.default`, `aten.relu_.default`, "
      "`torch.relu`, `torch.nn.functional.relu`\n"
      "and `Tensor.relu`. Further names are listed. \"Proved\" names the dtypes of the first tensor argument for which "
      "the interpreter and the emitted C agree with PyTorch.\n";
  std::string family;
  for (const ops::Operator* op : operators) {
    if (op->family != family) {
      family = op->family;
      text += fmt::format("\n## {}\n\n| operator | parameters | further names | proved |\n|---|---|---|---|\n", family);
    }
    text += fmt::format("| `{}` | {} | {} | {} |\n", op->name, op->parameters, joined(op->aliases, " ", "`"),
                        op->opaque ? "opaque" : joined(proved_for(proved, op->name), " "));
  }
  return text;
}

std::string operators_json(const ProvedTypes& proved) {
  Json json = document("lightline.operators", 1);
  json["operators"] = Json::array();
  for (const ops::Operator* op : sorted_operators()) {
    Json entry;
    entry["name"] = op->name;
    entry["family"] = op->family;
    entry["parameters"] = op->parameters;
    entry["aliases"] = op->aliases;
    entry["opaque"] = op->opaque;
    entry["proved"] = proved_for(proved, op->name);
    json["operators"].push_back(entry);
  }
  return to_text(json);
}

}  // namespace lightline::report
