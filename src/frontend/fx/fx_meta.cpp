#include "frontend/fx/fx_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/shown.h"

namespace lightline::frontend {
namespace {

using python::Expr;
using python::ExprId;
using python::ExprKind;
using python::Module;

constexpr size_t max_rank = 64;
constexpr int64_t max_known = int64_t(1) << 22;
constexpr int64_t max_elements = int64_t(1) << 56;

class MetaReader {
 public:
  MetaReader(const Module& module, std::string_view file) : module_(module), file_(file) {}

  Status read(const python::Class& from, TensorMetas& into) {
    std::unordered_map<std::string_view, ExprId> fields;
    for (const python::Statement& field : from.fields) {
      if (field.kind != python::StatementKind::assign) continue;
      for (const ExprId target : field.targets)
        if (module_.at(target).kind == ExprKind::name) fields[module_.at(target).text] = field.value;
    }
    if (!fields.contains("shape") || !fields.contains("dtype")) return Ok{};
    if (!fields.contains("name"))
      return error(from.line, 1, "the class has no name of its tensor", "add name = \"...\"");
    const Expr& name = module_.at(fields["name"]);
    if (name.kind != ExprKind::string) return error(name, "the name of a tensor should be a string");
    TensorMeta meta;
    LL_TRY(meta.type.dtype, read_dtype(module_.at(fields["dtype"])));
    LL_TRY(meta.type.shape, read_shape(module_.at(fields["shape"])));
    LL_DO(read_known(fields, meta));
    into.insert_or_assign(string_value(name), std::move(meta));
    return Ok{};
  }

 private:
  Error error(int line, int column, std::string message, std::string hint) const {
    return {ErrorCode::parse, std::move(message), std::move(hint), {std::string(file_), line, column}};
  }
  Error error(const Expr& at, std::string message,
              std::string hint = "the file should be the weight_meta.py that GraphNet writes") const {
    return error(at.line, at.column, std::move(message), std::move(hint));
  }

  Result<DType> read_dtype(const Expr& expr) const {
    if (expr.kind != ExprKind::string) return error(expr, "a dtype should be a string such as \"torch.float32\"");
    std::string_view name = expr.text;
    if (name.starts_with("torch.")) name.remove_prefix(6);
    if (const auto dtype = torch_dtype(name)) return *dtype;
    Error failure = error(expr, fmt::format("Lightline does not have the dtype '{}'", shown(name)),
                          "convert the tensor to a supported dtype");
    failure.code = ErrorCode::unsupported;
    return failure;
  }

  Result<Shape> read_shape(const Expr& expr) const {
    if (expr.kind != ExprKind::list && expr.kind != ExprKind::tuple)
      return error(expr, "a shape should be a list of integers");
    if (expr.count > max_rank) return error(expr, fmt::format("a shape has {} dimensions", expr.count));
    Shape shape;
    for (const ExprId part : module_.children_of(expr)) {
      const Expr& extent = module_.at(part);
      if (extent.kind != ExprKind::integer)
        return error(extent, "a shape should be a list of sizes that are not negative");
      LL_TRY(const int64_t value, python::integer_value(extent, false, file_));
      shape.push_back(value);
    }
    const auto count = element_count(shape);
    if (!count.ok() || *count > max_elements)
      return error(expr, fmt::format("a tensor of shape {} has too many elements", to_string(shape)));
    return shape;
  }

  // A number, inf, nan, True, False, float("inf"), with a sign or without.
  std::optional<double> number(ExprId id) const {
    const Expr& expr = module_.at(id);
    const auto children = module_.children_of(expr);
    switch (expr.kind) {
      case ExprKind::integer:
      case ExprKind::real: {
        double value = 0;
        const auto [end, code] = std::from_chars(expr.text.data(), expr.text.data() + expr.text.size(), value);
        return end == expr.text.data() + expr.text.size() && code != std::errc::invalid_argument ? std::optional(value)
                                                                                                 : std::nullopt;
      }
      case ExprKind::name:
      case ExprKind::string:
        if (expr.text == "True") return 1;
        if (expr.text == "False") return 0;
        if (expr.text == "inf" || expr.text == "-inf") return expr.text == "inf" ? HUGE_VAL : -HUGE_VAL;
        return expr.text == "nan" ? std::optional(std::nan("")) : std::nullopt;
      case ExprKind::unary: {
        const auto value = number(children[0]);
        return value && expr.text == "-" ? std::optional(-*value) : expr.text == "+" ? value : std::nullopt;
      }
      case ExprKind::call: {
        const Expr& function = module_.at(children[0]);
        return function.text == "float" && children.size() == 2 ? number(children[1]) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }
  std::optional<int64_t> integer(ExprId id) const {
    const Expr& expr = module_.at(id);
    const bool negative = expr.kind == ExprKind::unary && expr.text == "-";
    const Expr& digits = negative ? module_.at(module_.children_of(expr)[0]) : expr;
    if (digits.kind == ExprKind::integer) {
      const auto value = python::integer_value(digits, negative, file_);
      return value.ok() ? std::optional(*value) : std::nullopt;
    }
    const auto value = number(id);
    return value && std::isfinite(*value) && std::fabs(*value) < 9e18 ? std::optional(int64_t(*value)) : std::nullopt;
  }

  Status read_known(const std::unordered_map<std::string_view, ExprId>& fields, TensorMeta& meta) const {
    const int64_t count = *element_count(meta.type.shape);
    const auto data = fields.find("data");
    if (data != fields.end() && module_.at(data->second).kind == ExprKind::list) {
      if (module_.at(data->second).count == count && count <= max_known) return read_data(data->second, meta);
      return Ok{};  // an excerpt
    }
    const auto mean = fields.find("mean"), std = fields.find("std");
    if (count != 1 || mean == fields.end() || std == fields.end()) return Ok{};
    const auto value = number(mean->second), spread = number(std->second);
    if (!value || (spread && *spread != 0)) return Ok{};
    meta.known.emplace(meta.type.dtype, meta.type.shape);
    meta.known->set_f64(0, *value);
    meta.rounded = true;
    return Ok{};
  }
  Status read_data(ExprId list, TensorMeta& meta) const {
    Tensor known(meta.type.dtype, meta.type.shape);
    int64_t i = 0;
    for (const ExprId part : module_.children_of(module_.at(list))) {
      if (is_integer(meta.type.dtype)) {
        const auto value = integer(part);
        if (!value) return error(module_.at(part), "an element of the data is not an integer");
        known.set_i64(i++, *value);
      } else {
        const auto value = number(part);
        if (!value) return error(module_.at(part), "an element of the data is not a number");
        known.set_f64(i++, *value);
      }
    }
    meta.known = std::move(known);
    return Ok{};
  }

  const Module& module_;
  std::string_view file_;
};

}  // namespace

std::optional<DType> torch_dtype(std::string_view name) {
  static const std::unordered_map<std::string_view, DType> dtypes = {{"float32", DType::f32},
                                                                     {"float", DType::f32},
                                                                     {"float64", DType::f64},
                                                                     {"double", DType::f64},
                                                                     {"float16", DType::f16},
                                                                     {"half", DType::f16},
                                                                     {"bfloat16", DType::bf16},
                                                                     {"int64", DType::i64},
                                                                     {"long", DType::i64},
                                                                     {"int32", DType::i32},
                                                                     {"int", DType::i32},
                                                                     {"int16", DType::i16},
                                                                     {"short", DType::i16},
                                                                     {"int8", DType::i8},
                                                                     {"uint8", DType::u8},
                                                                     {"bool", DType::boolean},
                                                                     {"complex64", DType::c64},
                                                                     {"cfloat", DType::c64},
                                                                     {"float8_e4m3fn", DType::f8e4m3},
                                                                     {"float8_e5m2", DType::f8e5m2}};
  const auto found = dtypes.find(name);
  return found == dtypes.end() ? std::nullopt : std::optional(found->second);
}

bool is_foreign_dtype(std::string_view name) {
  static constexpr std::string_view names[] = {"complex128",      "cdouble",         "complex32",     "chalf", "uint16",
                                               "uint32",          "uint64",          "quint8",        "qint8", "qint32",
                                               "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"};
  return std::ranges::find(names, name) != std::end(names);
}

Status read_tensor_metas(const Module& module, std::string_view file, TensorMetas& into) {
  MetaReader reader(module, file);
  for (const python::Class& one : module.classes)
    if (one.methods.empty()) LL_DO(reader.read(one, into));
  return Ok{};
}

}  // namespace lightline::frontend
