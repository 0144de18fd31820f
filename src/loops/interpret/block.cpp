#include "loops/interpret/block.h"

#include <fmt/format.h>

#include <cstring>

#include "base/maths.h"

namespace lightline::loops::interpreter {
namespace {

// The form at the first point of a run.
int64_t at_run(const LinearForm& form, int64_t fixed_part, const Block& block, size_t run) {
  const int64_t* coordinates = block.coordinates.data() + run * block.rank;
  int64_t value = fixed_part;
  for (const auto& [dimension, coefficient] : form.terms)
    value = wrapping_add(value, wrapping_mul(coefficient, coordinates[dimension]));
  return value;
}

struct LaneRange {
  int64_t begin;
  int64_t end;
};

// The lanes l of a run for which 0 <= value + step * l < extent.
LaneRange inside(int64_t value, int64_t step, int64_t extent, LaneRange lanes) {
  if (step == 0) return value >= 0 && value < extent ? lanes : LaneRange{lanes.begin, lanes.begin};
  if (step < 0) {  // mirrored: 0 <= (extent - 1 - value) + (-step) * l < extent
    value = extent - 1 - value;
    step = -step;
  }
  const auto steps_to = [&](int64_t distance) { return step == 1 ? distance : ceil_div(distance, step); };
  const int64_t begin = value < 0 ? steps_to(-value) : 0;
  const int64_t end = value < extent ? steps_to(extent - value) : 0;
  lanes.begin = std::max(lanes.begin, std::min(begin, lanes.end));
  lanes.end = std::max(lanes.begin, std::min(lanes.end, end));
  return lanes;
}

void fill_lanes(std::byte* out, const std::byte* fill, int64_t bytes, int64_t begin, int64_t end) {
  if (begin < end) std::memcpy(out + begin * bytes, fill, size_t((end - begin) * bytes));
}

}  // namespace

void LaneDomain::next(int64_t count, Block& block) {
  block.count = count;
  block.rank = extents_.size();
  block.runs.clear();
  block.coordinates.clear();
  const size_t last = extents_.size() - 1;
  for (int64_t lane = 0; lane < count;) {
    const int64_t length = std::min(count - lane, extents_[last] - position_[last]);
    block.runs.push_back({lane, length});
    block.coordinates.insert(block.coordinates.end(), position_.begin(), position_.end());
    lane += length;
    position_[last] += length;
    for (size_t d = last; d > 0 && position_[d] == extents_[d]; --d) {
      position_[d] = 0;
      ++position_[d - 1];
    }
  }
}

BlockMachine::BlockMachine(const Program& program)
    : arrays(program.arrays.size(), nullptr), indices(program.indices.size(), 0), program_(program) {}

void BlockMachine::prepare(const Code& code) {
  if (code.register_count > register_capacity_) {
    register_capacity_ = std::max(code.register_count, 2 * register_capacity_);
    registers_.reset(static_cast<std::byte*>(
        ::operator new[](size_t(register_capacity_) * size_t(register_bytes), std::align_val_t(64))));
  }
  for (const auto& known : code.constants) broadcast(reg(known.reg), known.type, known.literal);
}

Status BlockMachine::run(const Code& code, const Block& block, ArrayId statement) {
  for (const Instruction& instruction : code.instructions) {
    std::byte* out = reg(instruction.out);
    switch (instruction.kind) {
      case Instruction::Kind::call: {
        const uint32_t* operands = instruction.operands;
        const std::byte* unused = registers_.get();
        instruction.function(out, operands[0] == none ? unused : reg(operands[0]),
                             operands[1] == none ? unused : reg(operands[1]),
                             operands[2] == none ? unused : reg(operands[2]), block.count);
        break;
      }
      case Instruction::Kind::form:
        run_form(code.forms[instruction.detail], block, reinterpret_cast<int64_t*>(out));
        break;
      case Instruction::Kind::read: LL_DO(run_read(code.reads[instruction.detail], block, out, statement)); break;
    }
  }
  return Ok{};
}

int64_t BlockMachine::fixed_part(const LinearForm& form) const {
  int64_t value = form.constant;
  for (const auto& [index, coefficient] : form.fixed)
    value = wrapping_add(value, wrapping_mul(coefficient, indices[index]));
  return value;
}

void BlockMachine::run_form(const LinearForm& form, const Block& block, int64_t* out) const {
  const int64_t fixed = fixed_part(form);
  const int64_t step = form.step;
  for (size_t r = 0; r < block.runs.size(); ++r) {
    const auto [first, length] = block.runs[r];
    const int64_t start = at_run(form, fixed, block, r);
    for (int64_t l = 0; l < length; ++l) out[first + l] = wrapping_add(start, wrapping_mul(step, l));
  }
}

Status BlockMachine::run_read(const ReadCode& read, const Block& block, std::byte* out, ArrayId statement) {
  checked_parts_.clear();
  for (const auto& checked : read.checked) checked_parts_.push_back(fixed_part(checked.form));
  return read.general.empty() ? read_runs(read, block, out, statement) : read_lanes(read, block, out, statement);
}

// All subscripts affine: in each run, the lanes inside the array are an interval.
Status BlockMachine::read_runs(const ReadCode& read, const Block& block, std::byte* out, ArrayId statement) {
  const Tensor& array = *arrays[read.array];
  const auto load = element_access(array.dtype()).load;
  const int64_t fixed = fixed_part(read.position);
  const int64_t step = read.position.step;
  for (size_t r = 0; r < block.runs.size(); ++r) {
    const auto [first, length] = block.runs[r];
    LaneRange lanes{0, length};
    for (size_t i = 0; i < read.checked.size(); ++i) {
      const auto& checked = read.checked[i];
      const int64_t start = at_run(checked.form, checked_parts_[i], block, r);
      const int64_t checked_step = checked.form.step;
      lanes = inside(start, checked_step, checked.extent, lanes);
      if (!read.has_fill && lanes.end - lanes.begin != length)
        return outside(read, statement, checked.dimension, start + checked_step * (lanes.begin > 0 ? 0 : lanes.end));
    }
    std::byte* to = out + first * read.value_bytes;
    if (read.has_fill) {
      fill_lanes(to, reg(read.fill), read.value_bytes, 0, lanes.begin);
      fill_lanes(to, reg(read.fill), read.value_bytes, lanes.end, length);
    }
    if (lanes.begin < lanes.end)
      load(to + lanes.begin * read.value_bytes, array.data(),
           wrapping_add(at_run(read.position, fixed, block, r), wrapping_mul(step, lanes.begin)), step,
           lanes.end - lanes.begin);
  }
  return Ok{};
}

// Some subscript is computed: every lane has its own position.
Status BlockMachine::read_lanes(const ReadCode& read, const Block& block, std::byte* out, ArrayId statement) {
  const Tensor& array = *arrays[read.array];
  run_form(read.position, block, positions_);
  std::fill_n(valid_, block.count, uint8_t(1));
  for (size_t i = 0; i < read.checked.size(); ++i) {
    const auto& checked = read.checked[i];
    for (size_t r = 0; r < block.runs.size(); ++r) {
      const auto [first, length] = block.runs[r];
      const int64_t start = at_run(checked.form, checked_parts_[i], block, r);
      const int64_t step = checked.form.step;
      const LaneRange lanes = inside(start, step, checked.extent, {0, length});
      if (!read.has_fill && lanes.end - lanes.begin != length)
        return outside(read, statement, checked.dimension, start + step * (lanes.begin > 0 ? 0 : lanes.end));
      std::fill(valid_ + first, valid_ + first + lanes.begin, uint8_t(0));
      std::fill(valid_ + first + lanes.end, valid_ + first + length, uint8_t(0));
    }
  }
  for (const auto& general : read.general) {
    const int64_t* value = reinterpret_cast<const int64_t*>(reg(general.value));
    for (int64_t l = 0; l < block.count; ++l) {
      const bool is_inside = uint64_t(value[l]) < uint64_t(general.extent);
      if (!is_inside && !read.has_fill) return outside(read, statement, general.dimension, value[l]);
      valid_[l] &= uint8_t(is_inside);
      positions_[l] = wrapping_add(positions_[l], wrapping_mul(general.stride, value[l]));
    }
  }
  if (!read.has_fill) {
    element_access(array.dtype()).gather(out, array.data(), positions_, block.count);
    return Ok{};
  }
  if (array.size() > 0) {
    for (int64_t l = 0; l < block.count; ++l) positions_[l] = valid_[l] ? positions_[l] : 0;
    element_access(array.dtype()).gather(out, array.data(), positions_, block.count);
  }
  for (int64_t l = 0; l < block.count; ++l)
    if (!valid_[l]) fill_lanes(out, reg(read.fill), read.value_bytes, l, l + 1);
  return Ok{};
}

Error BlockMachine::outside(const ReadCode& read, ArrayId statement, int dimension, int64_t value) const {
  const Array& array = program_.arrays[read.array];
  return Error{.code = ErrorCode::range,
               .message = fmt::format("in '{}': subscript {} of '{}' is {}, but its extent is {}",
                                      program_.arrays[statement].name, dimension, array.name, value,
                                      array.shape[size_t(dimension)]),
               .hint = fmt::format("say what is read outside with a fill: {}[... | 0]", array.name)};
}

}  // namespace lightline::loops::interpreter
