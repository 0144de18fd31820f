#include "loops/interpret/code.h"

#include <algorithm>

#include "base/error.h"
#include "base/maths.h"

namespace lightline::loops::interpreter {
namespace {

// Subscripts that stay within it can be compared with extents without overflow.
constexpr int64_t half_range = int64_t(1) << 62;

void add_scaled(LinearForm& sum, const LinearForm& form, int64_t scale) {
  sum.constant = wrapping_add(sum.constant, wrapping_mul(scale, form.constant));
  for (size_t i = 0; i < form.lanes.size(); ++i)
    sum.lanes[i] = wrapping_add(sum.lanes[i], wrapping_mul(scale, form.lanes[i]));
  for (const auto& [index, coefficient] : form.fixed) sum.fixed.emplace_back(index, wrapping_mul(scale, coefficient));
}

}  // namespace

CodeBuilder::CodeBuilder(const Program& program, const std::vector<IndexId>& lanes) : program_(program) {
  for (const IndexId index : lanes) {
    if (program.indices[index].extent == 1) continue;
    lanes_.push_back(index);
    code_.lane_extents.push_back(program.indices[index].extent);
  }
  if (lanes_.empty()) {  // a single point
    lanes_.push_back(none);
    code_.lane_extents.push_back(1);
  }
}

LinearForm CodeBuilder::linear(const Affine& affine) const {
  LinearForm form;
  form.constant = affine.constant;
  form.lanes.assign(lanes_.size(), 0);
  for (const auto& [index, coefficient] : affine.terms) {
    const auto lane = std::find(lanes_.begin(), lanes_.end(), index);
    if (lane != lanes_.end())
      form.lanes[size_t(lane - lanes_.begin())] = coefficient;
    else if (program_.indices[index].extent != 1)
      form.fixed.emplace_back(index, coefficient);
  }
  return form;
}

CodeBuilder::Bounds CodeBuilder::bounds(const Affine& affine) const {
  Bounds bounds{affine.constant, affine.constant};
  for (const auto& [index, coefficient] : affine.terms)
    (coefficient < 0 ? bounds.low : bounds.high) += __int128(coefficient) * (program_.indices[index].extent - 1);
  return bounds;
}

uint32_t CodeBuilder::emit(Instruction instruction) {
  instruction.out = value_count_++;
  code_.instructions.push_back(instruction);
  return instruction.out;
}

uint32_t CodeBuilder::constant(DType type, const Literal& literal) {
  for (const auto& known : code_.constants)
    if (known.type == type && same(known.literal, literal)) return known.reg;
  code_.constants.push_back({value_count_, type, literal});
  return value_count_++;
}

uint32_t CodeBuilder::cast(uint32_t value, DType from, DType target) {
  const LaneFunction function = lane_cast(from, target);
  if (function == nullptr) return value;
  return emit({.kind = Instruction::Kind::call, .function = function, .operands = {value, none, none}});
}

uint32_t CodeBuilder::read(const Expr& expr) {
  const Array& array = program_.arrays[expr.args[0]];
  ReadCode read;
  read.array = expr.args[0];
  read.position.lanes.assign(lanes_.size(), 0);
  read.has_fill = expr.has_fill;
  read.value_bytes = lane_bytes(array.dtype);
  int64_t stride = 1;
  for (int d = int(array.shape.size()) - 1; d >= 0; --d) {
    const ExprId subscript = subscripts_of(program_, expr)[d];
    const int64_t extent = array.shape[size_t(d)];
    const auto affine = affine_of(program_, subscript);
    const auto [low, high] = affine ? bounds(*affine) : Bounds{};
    if (affine && low > -half_range && high < half_range) {
      const LinearForm form = linear(*affine);
      add_scaled(read.position, form, stride);
      if (low < 0 || high >= extent) read.checked.push_back({form, d, extent});
    } else {
      read.general.push_back({value(subscript), stride, d, extent});
    }
    stride *= extent;
  }
  if (expr.has_fill) read.fill = constant(compute_type(array.dtype), expr.literal);
  code_.reads.push_back(std::move(read));
  return emit({.kind = Instruction::Kind::read, .detail = uint32_t(code_.reads.size() - 1)});
}

uint32_t CodeBuilder::value(ExprId id) {
  if (const auto known = values_.find(id); known != values_.end()) return known->second;
  const Expr& expr = program_.exprs[id];
  uint32_t result = none;
  if (expr.kind == ExprKind::literal) {
    result = constant(expr.type, expr.literal);
  } else if (const auto affine = expr.type == DType::i64 ? affine_of(program_, id) : std::nullopt) {
    code_.forms.push_back(linear(*affine));
    result = emit({.kind = Instruction::Kind::form, .detail = uint32_t(code_.forms.size() - 1)});
  } else if (expr.kind == ExprKind::read) {
    result = read(expr);
  } else if (expr.kind == ExprKind::cast) {
    const uint32_t operand = value(expr.args[0]);
    result = cast(operand, program_.exprs[expr.args[0]].type, expr.target);
  } else {
    LL_CHECK(expr.kind == ExprKind::call);
    const int arity = info(expr.function).arity;
    Instruction call;
    for (int i = 0; i < arity; ++i) call.operands[i] = value(expr.args[i]);
    call.function = lane_function(expr.function, program_.exprs[expr.args[arity - 1]].type);
    LL_CHECK(call.function != nullptr);
    result = emit(call);
  }
  values_.emplace(id, result);
  return result;
}

std::vector<LinearForm*> CodeBuilder::all_forms() {
  std::vector<LinearForm*> forms;
  for (LinearForm& form : code_.forms) forms.push_back(&form);
  for (ReadCode& read : code_.reads) {
    forms.push_back(&read.position);
    for (auto& checked : read.checked) forms.push_back(&checked.form);
  }
  return forms;
}

// Two neighbouring dimensions are one if every form steps through them evenly.
void CodeBuilder::merge_dimensions() {
  const auto forms = all_forms();
  auto& extents = code_.lane_extents;
  for (size_t d = extents.size() - 1; d-- > 0;) {
    const int64_t inner = extents[d + 1];
    const bool even = std::all_of(forms.begin(), forms.end(), [&](const LinearForm* form) {
      return form->lanes[d] == wrapping_mul(form->lanes[d + 1], inner);
    });
    if (!even) continue;
    extents[d + 1] *= extents[d];
    extents.erase(extents.begin() + ptrdiff_t(d));
    for (LinearForm* form : forms) form->lanes.erase(form->lanes.begin() + ptrdiff_t(d));
  }
}

// From one number per value to registers that are used again after a value's last use. Constants keep theirs.
void CodeBuilder::assign_registers(const std::vector<uint32_t>& results) {
  constexpr size_t forever = SIZE_MAX;
  std::vector<size_t> last_use(value_count_, 0);
  auto for_each_operand = [&](Instruction& instruction, auto use) {
    for (uint32_t& operand : instruction.operands)
      if (operand != none) use(operand);
    if (instruction.kind != Instruction::Kind::read) return;
    ReadCode& read = code_.reads[instruction.detail];
    for (auto& general : read.general) use(general.value);
    if (read.has_fill) use(read.fill);
  };
  for (size_t i = 0; i < code_.instructions.size(); ++i)
    for_each_operand(code_.instructions[i], [&](uint32_t value) { last_use[value] = i; });
  for (const uint32_t value : results) last_use[value] = forever;

  std::vector<uint32_t> reg(value_count_, none);
  std::vector<uint32_t> free;
  for (auto& known : code_.constants) {
    last_use[known.reg] = forever;
    known.reg = reg[known.reg] = code_.register_count++;
  }
  for (size_t i = 0; i < code_.instructions.size(); ++i) {
    Instruction& instruction = code_.instructions[i];
    const uint32_t value = instruction.out;
    if (free.empty()) free.push_back(code_.register_count++);
    instruction.out = reg[value] = free.back();
    free.pop_back();
    for_each_operand(instruction, [&](uint32_t& operand) {
      const uint32_t old = operand;
      operand = reg[old];
      if (last_use[old] != i) return;
      free.push_back(reg[old]);
      last_use[old] = forever;  // an operand named twice is freed once
    });
  }
  for (const uint32_t value : results) code_.results.push_back(reg[value]);
}

Code CodeBuilder::finish(const std::vector<uint32_t>& results) {
  merge_dimensions();
  for (LinearForm* form : all_forms()) {
    form->step = form->lanes.back();
    for (uint32_t d = 0; d < form->lanes.size(); ++d)
      if (form->lanes[d] != 0) form->terms.emplace_back(d, form->lanes[d]);
  }
  assign_registers(results);
  return std::move(code_);
}

}  // namespace lightline::loops::interpreter
