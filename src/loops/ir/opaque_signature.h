// What the built-in opaque operations take and give: operands, attributes and types. loops/opaque runs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/ir/program.h"

namespace lightline::loops {

bool has_opaque_builtin(std::string_view name);
// Checks operands, attributes and result types of a known built-in; unknown names pass.
Status check_opaque(const Program& program, const Opaque& statement);

namespace opaque {

// A use of a built-in, as far as types go. Operand and result counts and the kinds of attributes are right already.
struct BuiltinUse {
  const Opaque& statement;
  std::vector<TensorType> operands;
  std::vector<TensorType> results;
};

// Attributes, or what they are when not given.
int64_t integer(const Opaque& statement, std::string_view name, int64_t otherwise);
bool flag(const Opaque& statement, std::string_view name, bool otherwise);
std::string text(const Opaque& statement, std::string_view name, std::string_view otherwise);
// The attribute `dim`, counted from the front. The default is the last one.
int64_t dimension(const Opaque& statement, size_t rank);

// Counts, kinds of attributes and types; unknown names pass.
Status check_use(const BuiltinUse& use);
std::vector<std::string_view> builtin_names();

}  // namespace opaque
}  // namespace lightline::loops
