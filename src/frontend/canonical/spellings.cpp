#include "frontend/canonical/spellings.h"

#include <deque>
#include <string>
#include <unordered_map>

#include "base/internal_error.h"
#include "base/words.h"
#include "frontend/canonical/spelling_text.h"

namespace lightline::frontend {
namespace {

using graph::OperatorSignature;

// Without the source's prefix: the part that names the operator.
std::string_view without_prefix(std::string_view target) {
  static constexpr std::string_view prefixes[] = {"torch.ops.aten.",
                                                  "torch.ops.prims.",
                                                  "torch.ops.quantized_decomposed.",
                                                  "quantized_decomposed.",
                                                  "torch.ops.",
                                                  "aten.",
                                                  "prims.",
                                                  "torch.nn.functional.",
                                                  "torch._C._nn.",
                                                  "torch.functional.",
                                                  "torch.special.",
                                                  "torch.linalg.",
                                                  "torch._C._linalg.",
                                                  "torch._C._special.",
                                                  "torch._C._fft.",
                                                  "torch._C._VariableFunctions.",
                                                  "torch._VF.",
                                                  "torch.Tensor.",
                                                  "Tensor.",
                                                  "torch."};
  for (const std::string_view prefix : prefixes)
    if (target.starts_with(prefix)) return target.substr(prefix.size());
  return target;
}

struct Table {
  struct Entry {
    const OperatorSignature* op = nullptr;
    const Form* form = nullptr;
  };
  std::unordered_map<std::string_view, Entry> entries;
  std::deque<Form> forms;

  Table() {
    for (const OperatorSignature& op : graph::operator_list()) {
      entries.emplace(op.name, Entry{&op, nullptr});
      for (const std::string_view name : op.names) entries.emplace(name, Entry{&op, nullptr});
    }
    read_forms();
  }

  // A form replaces what the list says of its spelling; its other names follow.
  void read_forms() {
    std::string_view text = spelling_text;
    while (!text.empty()) {
      const std::string_view line = take_until(text, "\n");
      if (line.empty() || line.starts_with('#')) continue;
      const size_t equals = line.find(") = ");
      LL_CHECK(equals != std::string_view::npos);
      const std::string_view left = line.substr(0, equals + 1), right = trimmed(line.substr(equals + 4));
      read_form(left, right);
    }
  }

  void read_form(std::string_view left, std::string_view right) {
    const size_t open = right.find('(');
    const OperatorSignature* op = graph::find_operator(right.substr(0, open));
    LL_CHECK(op != nullptr);
    const std::string line = std::string(left) + " -> none";
    signatures.push_back(line);
    auto parsed = graph::parse_operator_list(signatures.back(), "spellings.txt");
    LL_CHECK(parsed.ok() && parsed->size() == 1);
    Form form;
    form.parameters = std::move((*parsed)[0].parameters);
    const std::string_view name = (*parsed)[0].name;
    std::string_view rest = right.substr(open + 1, right.rfind(')') - open - 1);
    while (!trimmed(rest).empty()) form.arguments.push_back(source_of(take_until(rest, ","), form.parameters));
    for (size_t i = form.arguments.size(); i < op->parameters.size(); ++i) {
      if (!op->parameters[i].fallback)
        throw InternalError("spellings.txt leaves an argument open: " + std::string(left));
      form.arguments.push_back({SIZE_MAX, *op->parameters[i].fallback});
    }
    forms.push_back(std::move(form));
    const Entry entry{op, &forms.back()};
    if (const OperatorSignature* own = graph::find_operator(name))
      for (const std::string_view other : own->names) entries[other] = entry;
    entries[name] = entry;
  }

  static Form::Source source_of(std::string_view word, const std::vector<graph::Parameter>& parameters) {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == word) return {i, {}};
    const auto value = graph::argument_from(word);
    LL_CHECK(value.has_value());
    return {SIZE_MAX, *value};
  }

  std::deque<std::string> signatures;  // names of parameters view into them
};

const Table& table() {
  static const Table table;
  return table;
}

}  // namespace

Spelling find_spelling(std::string_view target) {
  const auto look = [&](std::string_view name) -> const Table::Entry* {
    const auto found = table().entries.find(name);
    return found == table().entries.end() ? nullptr : &found->second;
  };
  const auto found = [&](const Table::Entry* entry, bool in_place) {
    return Spelling{entry->op, entry->form, in_place};
  };
  if (const auto* entry = look(target)) return found(entry, false);
  const std::string_view name = without_prefix(target);
  if (const auto* entry = look(name)) return found(entry, false);
  for (const auto& [module, prefix] : {std::pair<std::string_view, std::string>{"torch.special.", "special_"},
                                       {"torch.linalg.", "linalg_"},
                                       {"torch.fft.", "fft_"}})
    if (target.starts_with(module))
      if (const auto* entry = look(prefix + std::string(target.substr(module.size())))) return found(entry, false);
  const std::string_view stem = name.substr(0, name.find('.'));
  if (const auto* entry = look(stem)) return found(entry, false);
  if (stem.size() > 1 && stem.back() == '_' && !stem.starts_with("__")) {
    const std::string_view functional = stem.substr(0, stem.size() - 1);
    const std::string with_overload = std::string(functional) + std::string(name.substr(stem.size()));
    if (const auto* entry = look(with_overload)) return found(entry, true);
    if (const auto* entry = look(functional)) return found(entry, true);
  }
  return {};
}

}  // namespace lightline::frontend
