#include "ops/build/annotations.h"

#include <algorithm>

namespace lightline::ops {
namespace {

struct Annotation {
  std::string_view name;
  bool typed;   // in exported programs
  bool python;  // in Python source, where autocast has a meaning of its own
};
constexpr Annotation annotations[] = {
    {"_assert_tensor_metadata", true, true},
    {"_assert_scalar", true, true},
    {"_assert_async", true, true},
    {"_assert_async.msg", false, true},
    {"_assert", true, true},
    {"_check", false, true},
    {"_check_is_size", true, true},
    {"_check_with", false, true},
    {"sym_constrain_range", true, true},
    {"sym_constrain_range_for_size", true, true},
    {"_log_api_usage_once", true, true},
    {"_set_grad_enabled", true, true},
    {"set_grad_enabled", false, true},
    {"_enter_autocast", true, false},
    {"_exit_autocast", true, false},
    {"_enter_inference_mode", false, true},
    {"_exit_inference_mode", false, true},
    {"lazy_load_decompositions", true, true},
    {"promote_types", true, false},
    {"_vmap_increment_nesting", false, true},
    {"_vmap_decrement_nesting", false, true},
    {"FunctionCtx", false, true},
    {"set_deterministic_debug_mode", false, true},
    {"_set_deterministic_algorithms", false, true},
    {"_saved_tensors_hooks_disable", false, true},
    {"_saved_tensors_hooks_enable", false, true},
    {"mark_dynamic", false, true},
    {"graph_break", false, true},
    {"synchronize", false, true},
    {"__setattr__", false, true},
    {"register_hook", false, true},
};

// Between dots, or the ends of the text.
bool has_part(std::string_view target, std::string_view name) {
  const size_t at = target.find(name);
  return at != std::string_view::npos && (at == 0 || target[at - 1] == '.') &&
         (at + name.size() == target.size() || target[at + name.size()] == '.');
}

bool ends_with_part(std::string_view target, std::string_view name) {
  return target.size() > name.size() && target.ends_with(name) && target[target.size() - name.size() - 1] == '.';
}

}  // namespace

bool is_typed_annotation(std::string_view target) {
  return std::ranges::any_of(annotations, [&](const Annotation& a) { return a.typed && has_part(target, a.name); });
}

bool is_python_annotation(std::string_view target) {
  if (target.ends_with(".default")) target.remove_suffix(8);
  return std::ranges::any_of(annotations,
                             [&](const Annotation& a) { return a.python && ends_with_part(target, a.name); });
}

}  // namespace lightline::ops
