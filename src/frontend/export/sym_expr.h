// Symbolic sizes as torch.export writes them: "FloorDiv(Add(Symbol('s0', integer=True), Integer(1)), Integer(2))".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lightline::frontend {

// The value under `symbol_value`; nothing if the text is not understood, a symbol has no value, or it is not an
// integer.
std::optional<int64_t> evaluate_sym_expr(
    std::string_view text, const std::function<std::optional<int64_t>(std::string_view symbol)>& symbol_value);

}  // namespace lightline::frontend
