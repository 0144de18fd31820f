#include "loops/ir/opaque_signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/ir/source.h"

namespace lightline::loops {
namespace opaque {
namespace {

struct AttributeRule {
  enum class Kind : uint8_t { integer, flag, text };
  std::string_view name;
  Kind kind;
  bool required = false;
};

struct Signature {
  std::string_view name;
  std::vector<std::string_view> operands;
  size_t result_count;
  std::vector<AttributeRule> attributes;
  Status (*check)(const BuiltinUse& use);
};

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

const Attribute* attribute(const Opaque& statement, std::string_view name) {
  for (const auto& [given, value] : statement.attributes)
    if (given == name) return &value;
  return nullptr;
}

}  // namespace

int64_t integer(const Opaque& statement, std::string_view name, int64_t otherwise) {
  const Attribute* value = attribute(statement, name);
  return value == nullptr ? otherwise : std::get<int64_t>(*value);
}

bool flag(const Opaque& statement, std::string_view name, bool otherwise) {
  const Attribute* value = attribute(statement, name);
  return value == nullptr ? otherwise : std::get<bool>(*value);
}

std::string text(const Opaque& statement, std::string_view name, std::string_view otherwise) {
  const Attribute* value = attribute(statement, name);
  return value == nullptr ? std::string(otherwise) : std::get<std::string>(*value);
}

int64_t dimension(const Opaque& statement, size_t rank) {
  const int64_t given = integer(statement, "dim", -1);
  return given < 0 ? given + int64_t(rank) : given;
}

namespace {

Status check_dimension(const BuiltinUse& use) {
  const size_t rank = use.operands[0].shape.size();
  if (rank == 0)
    return Error{
        ErrorCode::shape, fmt::format("{} needs an operand with at least one dimension", use.statement.name), "", {}};
  const int64_t at = dimension(use.statement, rank);
  if (at >= 0 && at < int64_t(rank)) return Ok{};
  return Error{ErrorCode::range,
               fmt::format("attribute 'dim' of {} is {}, but the operand has {}", use.statement.name,
                           integer(use.statement, "dim", -1), counted(rank, "dimension")),
               "count from 0, or from -1 backwards",
               {}};
}

Status check_result(const BuiltinUse& use, size_t number, const TensorType& expected) {
  const TensorType& declared = use.results[number];
  if (declared == expected) return Ok{};
  return Error{declared.dtype == expected.dtype ? ErrorCode::shape : ErrorCode::type,
               fmt::format("result {} of {} is {}, but {} is declared", number, use.statement.name, to_string(expected),
                           to_string(declared)),
               "",
               {}};
}

// ---- sort, topk ----
Status check_order(const BuiltinUse& use, int64_t keep) {
  const TensorType& x = use.operands[0];
  Shape shape = x.shape;
  shape[size_t(dimension(use.statement, shape.size()))] = keep;
  LL_DO(check_result(use, 0, {x.dtype, shape}));
  return check_result(use, 1, {DType::i64, shape});
}

Status check_ordered(const BuiltinUse& use) {
  LL_DO(check_dimension(use));
  if (use.operands[0].dtype == DType::c64)
    return Error{ErrorCode::type,
                 fmt::format("{} needs ordered values, not c64", use.statement.name),
                 "order real(...) or abs(...)",
                 {}};
  return Ok{};
}

Status check_sort(const BuiltinUse& use) {
  LL_DO(check_ordered(use));
  const Shape& shape = use.operands[0].shape;
  return check_order(use, shape[size_t(dimension(use.statement, shape.size()))]);
}

Status check_topk(const BuiltinUse& use) {
  LL_DO(check_ordered(use));
  const Shape& shape = use.operands[0].shape;
  const int64_t extent = shape[size_t(dimension(use.statement, shape.size()))];
  const int64_t k = integer(use.statement, "k", 0);
  if (k < 0 || k > extent)
    return Error{ErrorCode::range,
                 fmt::format("attribute 'k' of topk is {}, but the dimension has {} elements", k, extent),
                 fmt::format("k lies between 0 and {}", extent),
                 {}};
  return check_order(use, k);
}

// ---- fft ----
Status check_fft(const BuiltinUse& use) {
  LL_DO(check_dimension(use));
  if (use.operands[0].dtype != DType::c64)
    return Error{ErrorCode::type,
                 fmt::format("fft needs c64, not {}", name(use.operands[0].dtype)),
                 "convert with c64(...)",
                 {}};
  return check_result(use, 0, use.operands[0]);
}

// ---- cholesky, solve, triangular_solve ----
Status check_float(const BuiltinUse& use) {
  const DType dtype = use.operands[0].dtype;
  if (dtype == DType::f32 || dtype == DType::f64) return Ok{};
  if (dtype == DType::c64 && use.statement.name == "triangular_solve") return Ok{};
  return Error{ErrorCode::type, fmt::format("{} needs f32 or f64, not {}", use.statement.name, name(dtype)), "", {}};
}

Status check_square(const BuiltinUse& use) {
  LL_DO(check_float(use));
  const TensorType& a = use.operands[0];
  const size_t rank = a.shape.size();
  if (rank >= 2 && a.shape[rank - 1] == a.shape[rank - 2]) return Ok{};
  return Error{ErrorCode::shape,
               fmt::format("{} needs square matrices, not {}", use.statement.name, to_string(a)),
               "the shape of operand a is [..., n, n]",
               {}};
}

Status check_cholesky(const BuiltinUse& use) {
  LL_DO(check_square(use));
  return check_result(use, 0, use.operands[0]);
}

Status check_solve(const BuiltinUse& use) {
  LL_DO(check_square(use));
  const TensorType &a = use.operands[0], &b = use.operands[1];
  if (a.dtype != b.dtype)
    return Error{
        ErrorCode::type,
        fmt::format("{} needs operands of one dtype, not {} and {}", use.statement.name, name(a.dtype), name(b.dtype)),
        "",
        {}};
  const size_t rank = a.shape.size();
  if (b.shape.size() != rank || !std::equal(a.shape.begin(), a.shape.end() - 1, b.shape.begin()))
    return Error{ErrorCode::shape,
                 fmt::format("{} can not take a = {} with b = {}", use.statement.name, to_string(a), to_string(b)),
                 "the shapes are [..., n, n] and [..., n, m]",
                 {}};
  return check_result(use, 0, b);
}

// ---- lu ----
Status check_lu(const BuiltinUse& use) {
  LL_DO(check_float(use));
  const TensorType& a = use.operands[0];
  const size_t rank = a.shape.size();
  if (rank < 2)
    return Error{ErrorCode::shape,
                 fmt::format("lu needs matrices, not {}", to_string(a)),
                 "the shape of operand a is [..., m, n]",
                 {}};
  Shape pivots(a.shape.begin(), a.shape.end() - 1);
  pivots.back() = std::min(pivots.back(), a.shape.back());
  LL_DO(check_result(use, 0, a));
  return check_result(use, 1, {DType::i32, pivots});
}

// ---- random ----
Status check_random(const BuiltinUse& use) {
  const DType dtype = use.results[0].dtype;
  if (dtype != DType::f64 && dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
    return Error{ErrorCode::type, fmt::format("random gives f64, f32, f16 or bf16, not {}", name(dtype)), "", {}};
  const std::string distribution = text(use.statement, "distribution", "uniform");
  if (distribution == "uniform" || distribution == "normal") return Ok{};
  return Error{ErrorCode::name,
               fmt::format("random has no distribution \"{}\"", distribution),
               "there are \"uniform\" and \"normal\"",
               {}};
}

const std::vector<Signature>& signatures() {
  using Kind = AttributeRule::Kind;
  static const std::vector<Signature> table = {
      {"sort", {"x"}, 2, {{"dim", Kind::integer}, {"descending", Kind::flag}, {"total", Kind::flag}}, check_sort},
      {"topk",
       {"x"},
       2,
       {{"k", Kind::integer, true}, {"dim", Kind::integer}, {"largest", Kind::flag}, {"total", Kind::flag}},
       check_topk},
      {"fft", {"x"}, 1, {{"dim", Kind::integer}, {"inverse", Kind::flag}}, check_fft},
      {"cholesky", {"a"}, 1, {{"upper", Kind::flag}}, check_cholesky},
      {"solve", {"a", "b"}, 1, {}, check_solve},
      {"triangular_solve", {"a", "b"}, 1, {{"upper", Kind::flag}, {"unit", Kind::flag}}, check_solve},
      {"lu", {"a"}, 2, {}, check_lu},
      {"random", {}, 1, {{"seed", Kind::integer}, {"distribution", Kind::text}}, check_random},
  };
  return table;
}

const Signature* find(std::string_view name) {
  for (const Signature& signature : signatures())
    if (signature.name == name) return &signature;
  return nullptr;
}

Status check_attributes(const Signature& signature, const Opaque& statement) {
  std::vector<std::string_view> names;
  for (const AttributeRule& rule : signature.attributes) names.push_back(rule.name);
  for (size_t i = 0; i < statement.attributes.size(); ++i) {
    const auto& [given, value] = statement.attributes[i];
    const auto rule = std::find_if(signature.attributes.begin(), signature.attributes.end(),
                                   [&](const AttributeRule& r) { return r.name == given; });
    if (rule == signature.attributes.end())
      return Error{ErrorCode::name,
                   fmt::format("{} has no attribute '{}'", signature.name, given),
                   names.empty() ? "it has none" : fmt::format("it has {}", joined(names)),
                   {}};
    if (attribute(statement, given) != &value)
      return Error{ErrorCode::name, fmt::format("attribute '{}' of {} is given twice", given, signature.name), "", {}};
    if (!has_kind(value, rule->kind))
      return Error{ErrorCode::type,
                   fmt::format("attribute '{}' of {} is not {}", given, signature.name, kind_in_words(rule->kind)),
                   "",
                   {}};
  }
  for (const AttributeRule& rule : signature.attributes)
    if (rule.required && attribute(statement, rule.name) == nullptr)
      return Error{ErrorCode::name,
                   fmt::format("{} needs the attribute '{}'", signature.name, rule.name),
                   fmt::format("add {} = ...", rule.name),
                   {}};
  return Ok{};
}

Status check_use(const Signature& signature, const BuiltinUse& use) {
  if (use.operands.size() != signature.operands.size())
    return Error{
        ErrorCode::usage,
        fmt::format("{} takes {}, not {}", signature.name, counted(signature.operands.size(), "operand"),
                    use.operands.size()),
        signature.operands.empty() ? "" : fmt::format("write {}({})", signature.name, joined(signature.operands)),
        {}};
  if (use.results.size() != signature.result_count)
    return Error{ErrorCode::usage,
                 fmt::format("{} gives {}, not {}", signature.name, counted(signature.result_count, "result"),
                             use.results.size()),
                 signature.name == "lu"        ? "declare the factors and their i32 pivots"
                 : signature.result_count == 2 ? "declare the values and their i64 positions"
                                               : "",
                 {}};
  LL_DO(check_attributes(signature, use.statement));
  return signature.check(use);
}

}  // namespace

std::vector<std::string_view> builtin_names() {
  std::vector<std::string_view> names;
  for (const Signature& signature : signatures()) names.push_back(signature.name);
  return names;
}

Status check_use(const BuiltinUse& use) {
  const Signature* signature = find(use.statement.name);
  return signature == nullptr ? Status(Ok{}) : check_use(*signature, use);
}

}  // namespace opaque

bool has_opaque_builtin(std::string_view name) { return opaque::find(name) != nullptr; }

Status check_opaque(const Program& program, const Opaque& statement) {
  opaque::BuiltinUse use{statement, {}, {}};
  for (const ArrayId id : statement.operands)
    use.operands.push_back({program.arrays[id].dtype, program.arrays[id].shape});
  for (const ArrayId id : statement.results)
    use.results.push_back({program.arrays[id].dtype, program.arrays[id].shape});
  return opaque::check_use(use);
}

}  // namespace lightline::loops
