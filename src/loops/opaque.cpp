#include "loops/opaque.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/opaque_builtin.h"

namespace lightline::loops {
namespace opaque {
namespace {

struct AttributeRule {
  enum class Kind : uint8_t { integer, flag, text };
  std::string_view name;
  Kind kind;
  bool required = false;
};

struct Builtin {
  std::string_view name;
  std::vector<std::string_view> operands;
  size_t result_count;
  std::vector<AttributeRule> attributes;
  Status (*check)(const Use& use);
  Status (*run)(const Opaque& operation, const Operands& operands, const Results& results);
};

const std::vector<Builtin>& builtins() {
  using Kind = AttributeRule::Kind;
  static const std::vector<Builtin> table = {
      {"sort", {"x"}, 2, {{"dim", Kind::integer}, {"descending", Kind::flag}}, check_sort, run_sort},
      {"topk",
       {"x"},
       2,
       {{"k", Kind::integer, true}, {"dim", Kind::integer}, {"largest", Kind::flag}},
       check_topk,
       run_topk},
      {"fft", {"x"}, 1, {{"dim", Kind::integer}, {"inverse", Kind::flag}}, check_fft, run_fft},
      {"cholesky", {"a"}, 1, {{"upper", Kind::flag}}, check_cholesky, run_cholesky},
      {"solve", {"a", "b"}, 1, {}, check_solve, run_solve},
      {"triangular_solve",
       {"a", "b"},
       1,
       {{"upper", Kind::flag}, {"unit", Kind::flag}},
       check_solve,
       run_triangular_solve},
      {"random", {}, 1, {{"seed", Kind::integer}, {"distribution", Kind::text}}, check_random, run_random},
  };
  return table;
}

const Builtin* find(std::string_view name) {
  for (const Builtin& builtin : builtins())
    if (builtin.name == name) return &builtin;
  return nullptr;
}

std::string_view kind_in_words(AttributeRule::Kind kind) {
  switch (kind) {
    case AttributeRule::Kind::integer: return "an integer";
    case AttributeRule::Kind::flag: return "true or false";
    case AttributeRule::Kind::text: return "a string";
  }
  return "";
}

bool has_kind(const Attribute& value, AttributeRule::Kind kind) {
  switch (kind) {
    case AttributeRule::Kind::integer: return std::holds_alternative<int64_t>(value);
    case AttributeRule::Kind::flag: return std::holds_alternative<bool>(value);
    case AttributeRule::Kind::text: return std::holds_alternative<std::string>(value);
  }
  return false;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string line;
  for (const std::string_view word : words) line.append(line.empty() ? "" : ", ").append(word);
  return line;
}

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

const Attribute* attribute(const Opaque& operation, std::string_view name) {
  for (const auto& [given, value] : operation.attributes)
    if (given == name) return &value;
  return nullptr;
}

Status check_attributes(const Builtin& builtin, const Opaque& operation) {
  std::vector<std::string_view> names;
  for (const AttributeRule& rule : builtin.attributes) names.push_back(rule.name);
  for (size_t i = 0; i < operation.attributes.size(); ++i) {
    const auto& [given, value] = operation.attributes[i];
    const auto rule = std::find_if(builtin.attributes.begin(), builtin.attributes.end(),
                                   [&](const AttributeRule& r) { return r.name == given; });
    if (rule == builtin.attributes.end())
      return Error{ErrorCode::name,
                   fmt::format("{} has no attribute '{}'", builtin.name, given),
                   names.empty() ? "it has none" : fmt::format("it has {}", joined(names)),
                   {}};
    if (attribute(operation, given) != &value)
      return Error{ErrorCode::name, fmt::format("attribute '{}' of {} is given twice", given, builtin.name), "", {}};
    if (!has_kind(value, rule->kind))
      return Error{ErrorCode::type,
                   fmt::format("attribute '{}' of {} is not {}", given, builtin.name, kind_in_words(rule->kind)),
                   "",
                   {}};
  }
  for (const AttributeRule& rule : builtin.attributes)
    if (rule.required && attribute(operation, rule.name) == nullptr)
      return Error{ErrorCode::name,
                   fmt::format("{} needs the attribute '{}'", builtin.name, rule.name),
                   fmt::format("add {} = ...", rule.name),
                   {}};
  return Ok{};
}

Status check_use(const Builtin& builtin, const Use& use) {
  if (use.operands.size() != builtin.operands.size())
    return Error{ErrorCode::usage,
                 fmt::format("{} takes {}, not {}", builtin.name, counted(builtin.operands.size(), "operand"),
                             use.operands.size()),
                 builtin.operands.empty() ? "" : fmt::format("write {}({})", builtin.name, joined(builtin.operands)),
                 {}};
  if (use.results.size() != builtin.result_count)
    return Error{
        ErrorCode::usage,
        fmt::format("{} gives {}, not {}", builtin.name, counted(builtin.result_count, "result"), use.results.size()),
        builtin.result_count == 2 ? "declare the values and their i64 positions" : "",
        {}};
  LL_DO(check_attributes(builtin, use.operation));
  return builtin.check(use);
}

}  // namespace

std::string to_string(const ArrayType& type) {
  return fmt::format("{}{}", name(type.dtype), lightline::to_string(type.shape));
}

int64_t integer(const Opaque& operation, std::string_view name, int64_t otherwise) {
  const Attribute* value = attribute(operation, name);
  return value == nullptr ? otherwise : std::get<int64_t>(*value);
}

bool flag(const Opaque& operation, std::string_view name, bool otherwise) {
  const Attribute* value = attribute(operation, name);
  return value == nullptr ? otherwise : std::get<bool>(*value);
}

std::string text(const Opaque& operation, std::string_view name, std::string_view otherwise) {
  const Attribute* value = attribute(operation, name);
  return value == nullptr ? std::string(otherwise) : std::get<std::string>(*value);
}

int64_t dimension(const Opaque& operation, size_t rank) {
  const int64_t given = integer(operation, "dim", -1);
  return given < 0 ? given + int64_t(rank) : given;
}

Status check_dimension(const Use& use) {
  const size_t rank = use.operands[0].shape.size();
  if (rank == 0)
    return Error{
        ErrorCode::shape, fmt::format("{} needs an operand with at least one dimension", use.operation.name), "", {}};
  const int64_t at = dimension(use.operation, rank);
  if (at >= 0 && at < int64_t(rank)) return Ok{};
  return Error{ErrorCode::range,
               fmt::format("attribute 'dim' of {} is {}, but the operand has {}", use.operation.name,
                           integer(use.operation, "dim", -1), counted(rank, "dimension")),
               "count from 0, or from -1 backwards",
               {}};
}

Status check_result(const Use& use, size_t number, const ArrayType& expected) {
  const ArrayType& declared = use.results[number];
  if (declared.dtype == expected.dtype && declared.shape == expected.shape) return Ok{};
  return Error{declared.dtype == expected.dtype ? ErrorCode::shape : ErrorCode::type,
               fmt::format("result {} of {} is {}, but {} is declared", number, use.operation.name, to_string(expected),
                           to_string(declared)),
               "",
               {}};
}

Lines::Lines(const Shape& shape, int64_t dimension) : length(shape[size_t(dimension)]), step(1) {
  int64_t outer = 1;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    if (d < dimension) outer *= shape[size_t(d)];
    if (d > dimension) step *= shape[size_t(d)];
  }
  count = outer * step;
}

}  // namespace opaque

bool has_opaque_builtin(std::string_view name) { return opaque::find(name) != nullptr; }

Status check_opaque(const Program& program, const Opaque& operation) {
  const opaque::Builtin* builtin = opaque::find(operation.name);
  if (builtin == nullptr) return Ok{};
  opaque::Use use{operation, {}, {}};
  for (const ArrayId id : operation.operands)
    use.operands.push_back({program.arrays[id].dtype, program.arrays[id].shape});
  for (const ArrayId id : operation.results)
    use.results.push_back({program.arrays[id].dtype, program.arrays[id].shape});
  return opaque::check_use(*builtin, use);
}

Status run_opaque(const Opaque& operation, const std::vector<const Tensor*>& operands,
                  const std::vector<Tensor*>& results) {
  const opaque::Builtin* builtin = opaque::find(operation.name);
  if (builtin == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& known : opaque::builtins()) names.push_back(known.name);
    return Error{ErrorCode::unsupported,
                 fmt::format("opaque operation '{}' can not run", operation.name),
                 fmt::format("those that can are {}", opaque::joined(names)),
                 {}};
  }
  opaque::Use use{operation, {}, {}};
  for (const Tensor* operand : operands) use.operands.push_back({operand->dtype(), operand->shape()});
  for (const Tensor* result : results) use.results.push_back({result->dtype(), result->shape()});
  LL_DO(opaque::check_use(*builtin, use));
  return builtin->run(operation, operands, results);
}

}  // namespace lightline::loops
