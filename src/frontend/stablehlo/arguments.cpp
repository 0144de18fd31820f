// Attributes as arguments of a node.
#include <fmt/format.h>

#include "frontend/stablehlo/graph_builder.h"

namespace lightline::frontend {
namespace {

using mlir::Attribute;
using Kind = Attribute::Kind;

constexpr int64_t max_list = 1 << 16;

void flatten(const Attribute& list, std::vector<const Attribute*>& into) {
  for (const Attribute& entry : list.list) {
    if (entry.kind == Kind::list)
      flatten(entry, into);
    else
      into.push_back(&entry);
  }
}

graph::Argument list_argument(const Attribute& attribute) {
  std::vector<const Attribute*> entries;
  flatten(attribute, entries);
  bool integers = true, words = !entries.empty();
  for (const Attribute* entry : entries) {
    integers &= entry->kind == Kind::integer || entry->kind == Kind::boolean;
    words &= entry->kind == Kind::word || entry->kind == Kind::text;
  }
  if (integers) {
    std::vector<int64_t> values;
    for (const Attribute* entry : entries) values.push_back(entry->integer);
    return values;
  }
  if (words) {
    std::string joined;
    for (const Attribute* entry : entries) joined += (joined.empty() ? "" : ",") + entry->text;
    return joined;
  }
  std::vector<double> values;
  for (const Attribute* entry : entries) {
    if (entry->kind != Kind::integer && entry->kind != Kind::real) return std::monostate{};
    values.push_back(entry->kind == Kind::real ? entry->real : double(entry->integer));
  }
  return values;
}

graph::Argument dense_argument(const mlir::Dense& dense) {
  const auto count = element_count(dense.type.shape);
  if (!count.ok() || *count > max_list) return std::monostate{};
  const auto at = [&](int64_t i) { return dense.splat ? 0 : i; };
  if (is_float(dense.type.dtype)) {
    std::vector<double> values;
    for (int64_t i = 0; i < *count; ++i) values.push_back(dense.data.get_f64(at(i)));
    return values;
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < *count; ++i) values.push_back(dense.data.get_i64(at(i)));
  return values;
}

bool is_dimension_numbers(std::string_view name) {
  return name == "dimension_numbers" || name == "scatter_dimension_numbers" || name == "dot_dimension_numbers" ||
         name == "ragged_dot_dimension_numbers";
}

}  // namespace

void add_arguments(const std::string& name, const Attribute& attribute, std::vector<graph::NamedArgument>& into) {
  switch (attribute.kind) {
    case Kind::unit:
    case Kind::boolean: into.push_back({name, attribute.kind == Kind::unit || attribute.integer != 0}); return;
    case Kind::integer: into.push_back({name, attribute.integer}); return;
    case Kind::real: into.push_back({name, attribute.real}); return;
    case Kind::text:
    case Kind::word: into.push_back({name, attribute.text}); return;
    case Kind::list: into.push_back({name, list_argument(attribute)}); return;
    case Kind::dense: into.push_back({name, dense_argument(*attribute.dense)}); return;
    case Kind::dictionary:
      for (const auto& [key, value] : attribute.dictionary)
        add_arguments(is_dimension_numbers(name) ? key : fmt::format("{}.{}", name, key), value, into);
      return;
    case Kind::other: return;
  }
}

}  // namespace lightline::frontend
