// Expression trees as straight-line code over registers, for one statement's domain.
//
// The domain's indices are the lanes: code runs on blocks of consecutive points, row-major. Other indices (a scan, the
// counters of repeats) are fixed while a block runs. Subscripts that are affine become linear forms of both.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loops/interpret/lane_functions.h"
#include "loops/ir/affine.h"
#include "loops/ir/program.h"

namespace lightline::loops::interpreter {

struct LinearForm {
  int64_t constant = 0;
  std::vector<int64_t> lanes;  // a coefficient per dimension of the lane domain
  std::vector<std::pair<IndexId, int64_t>> fixed;
  // Set by CodeBuilder::finish: the coefficients that are not 0, and that of the innermost dimension.
  std::vector<std::pair<uint32_t, int64_t>> terms;
  int64_t step = 0;
};

struct ReadCode {
  struct General {  // a subscript that is not affine: its value is in a register
    uint32_t value;
    int64_t stride;
    int dimension;
    int64_t extent;
  };
  struct Checked {  // an affine subscript that can leave the array
    LinearForm form;
    int dimension;
    int64_t extent;
  };
  ArrayId array = none;
  LinearForm position;  // the affine subscripts' part of the flat position
  std::vector<General> general;
  std::vector<Checked> checked;
  bool has_fill = false;
  uint32_t fill = none;
  int64_t value_bytes = 0;
};

struct Instruction {
  enum class Kind : uint8_t { call, form, read };
  Kind kind = Kind::call;
  LaneFunction function = nullptr;
  uint32_t out = none;
  uint32_t operands[3] = {none, none, none};
  uint32_t detail = none;  // into Code::forms or Code::reads
};

struct Code {
  struct ConstantValue {
    uint32_t reg;
    DType type;
    Literal literal;
  };
  std::vector<int64_t> lane_extents;  // never empty
  std::vector<Instruction> instructions;
  std::vector<LinearForm> forms;
  std::vector<ReadCode> reads;
  std::vector<ConstantValue> constants;
  std::vector<uint32_t> results;  // the registers of the values asked for
  uint32_t register_count = 0;
};

class CodeBuilder {
 public:
  CodeBuilder(const Program& program, const std::vector<IndexId>& lanes);

  // The value of an expression, and a value converted to a type; both as numbers to give to `finish`.
  uint32_t value(ExprId expr);
  uint32_t cast(uint32_t value, DType from, DType target);
  Code finish(const std::vector<uint32_t>& results);

 private:
  uint32_t constant(DType type, const Literal& literal);
  uint32_t emit(Instruction instruction);
  uint32_t read(const Expr& expr);
  LinearForm linear(const Affine& affine) const;
  struct Bounds {
    __int128 low = 0;
    __int128 high = 0;
  };
  Bounds bounds(const Affine& affine) const;
  std::vector<LinearForm*> all_forms();
  void merge_dimensions();
  void assign_registers(const std::vector<uint32_t>& results);

  const Program& program_;
  std::vector<IndexId> lanes_;
  Code code_;
  uint32_t value_count_ = 0;
  std::unordered_map<ExprId, uint32_t> values_;
};

}  // namespace lightline::loops::interpreter
