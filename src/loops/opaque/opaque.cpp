#include "loops/opaque/opaque.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/opaque/builtin.h"

namespace lightline::loops {
namespace opaque {
namespace {

struct Builtin {
  std::string_view name;
  Status (*run)(const Opaque& statement, const Operands& operands, const Results& results);
};

constexpr Builtin builtins[] = {
    {"sort", run_sort},   {"topk", run_topk},
    {"fft", run_fft},     {"cholesky", run_cholesky},
    {"solve", run_solve}, {"triangular_solve", run_triangular_solve},
    {"lu", run_lu},       {"random", run_random},
};

const Builtin* find(std::string_view name) {
  for (const Builtin& builtin : builtins)
    if (builtin.name == name) return &builtin;
  return nullptr;
}

}  // namespace

Lines::Lines(const Shape& shape, int64_t dimension) : length(shape[size_t(dimension)]), step(1) {
  int64_t outer = 1;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    if (d < dimension) outer *= shape[size_t(d)];
    if (d > dimension) step *= shape[size_t(d)];
  }
  count = outer * step;
}

}  // namespace opaque

Status run_opaque(const Opaque& statement, const std::vector<const Tensor*>& operands,
                  const std::vector<Tensor*>& results) {
  const opaque::Builtin* builtin = opaque::find(statement.name);
  if (builtin == nullptr)
    return Error{ErrorCode::unsupported,
                 fmt::format("opaque operation '{}' can not run", statement.name),
                 fmt::format("those that can are {}", fmt::join(opaque::builtin_names(), ", ")),
                 {}};
  opaque::BuiltinUse use{statement, {}, {}};
  for (const Tensor* operand : operands) use.operands.push_back({operand->dtype(), operand->shape()});
  for (const Tensor* result : results) use.results.push_back({result->dtype(), result->shape()});
  LL_DO(opaque::check_use(use));
  return builtin->run(statement, operands, results);
}

}  // namespace lightline::loops
