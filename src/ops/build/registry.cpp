#include "ops/build/registry.h"

#include "base/internal_error.h"

namespace lightline::ops {
namespace {

// The part of a target that names the operator: without the source's prefix.
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

}  // namespace

Operator& Registry::add(std::string name, std::string parameters, Definition define, std::vector<std::string> aliases) {
  const size_t index = operators_.size();
  const auto claim = [&](const std::string& word) {
    if (!by_name_.emplace(word, index).second) throw InternalError("two operators claim the name '" + word + "'");
  };
  claim(name);
  for (const std::string& alias : aliases) claim(alias);
  operators_.push_back({std::move(name), family, std::move(parameters), std::move(define), std::move(aliases), false});
  return operators_.back();
}

Registry::Match Registry::find(std::string_view target) const {
  const auto look = [&](std::string_view name) -> const Operator* {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &operators_[found->second];
  };
  if (const Operator* op = look(target)) return {op, false};
  const std::string_view name = without_prefix(target);
  if (const Operator* op = look(name)) return {op, false};
  for (const auto& [module, prefix] : {std::pair<std::string_view, std::string>{"torch.special.", "special_"},
                                       {"torch.linalg.", "linalg_"},
                                       {"torch.fft.", "fft_"}})
    if (target.starts_with(module))
      if (const Operator* op = look(prefix + std::string(target.substr(module.size())))) return {op, false};
  const std::string_view stem = name.substr(0, name.find('.'));
  if (const Operator* op = look(stem)) return {op, false};
  if (stem.size() > 1 && stem.back() == '_' && !stem.starts_with("__")) {
    const std::string_view functional = stem.substr(0, stem.size() - 1);
    const std::string with_overload = std::string(functional) + std::string(name.substr(stem.size()));
    if (const Operator* op = look(with_overload)) return {op, true};
    if (const Operator* op = look(functional)) return {op, true};
  }
  return {};
}

}  // namespace lightline::ops
