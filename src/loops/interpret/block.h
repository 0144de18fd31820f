// Runs code on blocks of a domain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/interpret/code.h"

namespace lightline::loops::interpreter {

// Consecutive points of a domain, cut where the innermost coordinate starts over.
struct Block {
  struct Run {
    int64_t first;  // lane
    int64_t length;
  };
  int64_t count = 0;
  std::vector<Run> runs;
  std::vector<int64_t> coordinates;  // of each run's first point, `rank` apiece
  size_t rank = 0;
};

// Walks a domain in row-major order.
class LaneDomain {
 public:
  explicit LaneDomain(std::vector<int64_t> extents) : extents_(std::move(extents)), position_(extents_.size(), 0) {}
  void restart() { std::fill(position_.begin(), position_.end(), 0); }
  void next(int64_t count, Block& block);

 private:
  std::vector<int64_t> extents_;
  std::vector<int64_t> position_;
};

class BlockMachine {
 public:
  explicit BlockMachine(const Program& program);

  // What reads see: set by the interpreter as statements run.
  std::vector<const Tensor*> arrays;
  std::vector<int64_t> indices;  // the fixed ones

  // Makes room for the code's registers and sets its constants. Once before its blocks.
  void prepare(const Code& code);
  // `statement` is the array being defined, for errors.
  Status run(const Code& code, const Block& block, ArrayId statement);
  std::byte* reg(uint32_t number) { return registers_.get() + int64_t(number) * register_bytes; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t(64)); }
  };
  int64_t fixed_part(const LinearForm& form) const;
  void run_form(const LinearForm& form, const Block& block, int64_t* out) const;
  Status run_read(const ReadCode& read, const Block& block, std::byte* out, ArrayId statement);
  Status read_runs(const ReadCode& read, const Block& block, std::byte* out, ArrayId statement);
  Status read_lanes(const ReadCode& read, const Block& block, std::byte* out, ArrayId statement);
  Error outside(const ReadCode& read, ArrayId statement, int dimension, int64_t value) const;

  const Program& program_;
  std::unique_ptr<std::byte[], Free> registers_;
  uint32_t register_capacity_ = 0;
  std::vector<int64_t> checked_parts_;  // scratch: the fixed parts of a read's checked subscripts
  int64_t positions_[block_lanes];
  uint8_t valid_[block_lanes];
};

}  // namespace lightline::loops::interpreter
