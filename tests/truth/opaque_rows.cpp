#include "truth/opaque_rows.h"

#include <numeric>
#include <string_view>

#include "base/maths.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/opaque_signature.h"
#include "loops/ir/verify.h"

namespace lightline::truth {
namespace {

using namespace loops;

bool runs_along_rows(std::string_view name) { return name == "sort" || name == "topk" || name == "fft"; }
bool runs_on_matrices(std::string_view name) {
  return name == "cholesky" || name == "solve" || name == "triangular_solve";
}

uint64_t identity_of(const Opaque& opaque, size_t result, int64_t place) {
  uint64_t hash = mixed(std::hash<std::string>()(opaque.name), result);
  for (const auto& [name, value] : opaque.attributes) {
    if (name == "dim") continue;
    hash = mixed(hash, std::hash<std::string>()(name));
    if (const auto* number = std::get_if<int64_t>(&value)) hash = mixed(hash, uint64_t(*number));
    if (const auto* flag = std::get_if<bool>(&value)) hash = mixed(hash, uint64_t(*flag));
  }
  return mixed(hash, uint64_t(place));
}

int64_t product(const Shape& shape, size_t first, size_t last) {
  return std::accumulate(shape.begin() + int64_t(first), shape.begin() + int64_t(last), int64_t(1),
                         std::multiplies<>());
}

OpaqueRow row_along(const Program& program, const Opaque& opaque, size_t result, int64_t place) {
  const Shape& from = program.arrays[opaque.operands[0]].shape;
  const Shape& to = program.arrays[opaque.results[result]].shape;
  const auto dim = size_t(opaque::dimension(opaque, from.size()));
  const int64_t inner = product(from, dim + 1, from.size());
  OpaqueRow row;
  row.place = place / inner % to[dim];
  const int64_t outer = place / (inner * to[dim]);
  OpaqueRow::Operand operand{opaque.operands[0], {from[dim]}, {}};
  for (int64_t i = 0; i < from[dim]; ++i) operand.places.push_back((outer * from[dim] + i) * inner + place % inner);
  row.operands.push_back(std::move(operand));
  row.identity = identity_of(opaque, result, row.place);
  return row;
}

// Of a solution only the column of its right-hand side, and of a triangular matrix only the triangle.
OpaqueRow row_of_matrices(const Program& program, const Opaque& opaque, size_t result, int64_t place) {
  const Shape& matrix = program.arrays[opaque.operands[0]].shape;
  const int64_t n = matrix.back();
  const bool upper = opaque::flag(opaque, "upper", false), unit = opaque::flag(opaque, "unit", false);
  const bool half = opaque.name != "solve";
  const Shape& to = program.arrays[opaque.results[result]].shape;
  const int64_t columns = to.back(), batch = place / (n * columns);
  OpaqueRow row;
  OpaqueRow::Operand a{opaque.operands[0], {n, n}, {}};
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const bool read = !half || (opaque.name == "cholesky" ? j <= i : upper ? j >= i : j <= i);
      a.places.push_back(read && !(unit && half && i == j) ? (batch * n + i) * n + j : -1);
    }
  row.operands.push_back(std::move(a));
  row.place = place % (n * columns);
  if (opaque.operands.size() > 1) {
    OpaqueRow::Operand b{opaque.operands[1], {n, 1}, {}};
    for (int64_t i = 0; i < n; ++i) b.places.push_back((batch * n + i) * columns + place % columns);
    row.operands.push_back(std::move(b));
    row.place /= columns;
  }
  row.identity = identity_of(opaque, result, row.place);
  return row;
}

Shape row_shape(const Program& program, const Opaque& opaque, const OpaqueRow& row, size_t result) {
  const Shape& whole = program.arrays[opaque.results[result]].shape;
  if (runs_along_rows(opaque.name)) return {whole[size_t(opaque::dimension(opaque, whole.size()))]};
  if (runs_on_matrices(opaque.name)) return row.operands.back().shape;
  return whole;
}

}  // namespace

OpaqueRow opaque_row(const Program& program, const Opaque& opaque, size_t result, int64_t place) {
  if (runs_along_rows(opaque.name)) return row_along(program, opaque, result, place);
  if (runs_on_matrices(opaque.name)) return row_of_matrices(program, opaque, result, place);
  OpaqueRow row;
  row.place = place;
  row.identity = mixed(identity_of(opaque, result, place), opaque.results[result]);
  for (const ArrayId array : opaque.operands) {
    OpaqueRow::Operand operand{array, program.arrays[array].shape, {}};
    operand.places.resize(size_t(*element_count(operand.shape)));
    std::iota(operand.places.begin(), operand.places.end(), 0);
    row.operands.push_back(std::move(operand));
  }
  return row;
}

Result<Value> row_value(const Program& program, const Opaque& opaque, const OpaqueRow& row,
                        const std::vector<Tensor>& operands, size_t result) {
  const DType stored = program.arrays[opaque.results[result]].dtype;
  if (!has_opaque_builtin(opaque.name)) return Value::of(stored, double(row.identity % 1000) / 1000);
  Program alone;
  Opaque statement{.results = {}, .name = opaque.name, .operands = {}, .attributes = opaque.attributes};
  for (auto& [name, value] : statement.attributes)
    if (name == "dim") value = int64_t(0);
  for (size_t i = 0; i < operands.size(); ++i) {
    statement.operands.push_back(alone.add_array("x" + std::to_string(i), operands[i].dtype(), operands[i].shape()));
    alone.inputs.push_back(statement.operands.back());
  }
  for (size_t i = 0; i < opaque.results.size(); ++i) {
    statement.results.push_back(alone.add_array("y" + std::to_string(i), program.arrays[opaque.results[i]].dtype,
                                                row_shape(program, opaque, row, i)));
    alone.outputs.push_back({statement.results.back(), none});
  }
  alone.statements.push_back({std::move(statement)});
  LL_DO(verify(alone));
  std::vector<Tensor> inputs;
  for (const Tensor& operand : operands) inputs.push_back(Tensor::dense_copy(operand.view()));
  LL_TRY(auto results, interpret(alone, inputs));
  return Value::element(results[result], row.place);
}

}  // namespace lightline::truth
