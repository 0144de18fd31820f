// torch.autocast: between its markers, products run in 16 bits and delicate functions in f32.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace lightline::ops {

class Autocast {
 public:
  void enter(bool enabled, DType dtype) { regions_.push_back({enabled, dtype}); }
  void exit() {
    if (!regions_.empty()) regions_.pop_back();
  }
  bool active() const { return !regions_.empty() && regions_.back().enabled; }

  // What the floating tensors of a call are converted to: the region's dtype, f32, or the widest among them.
  enum class Policy : uint8_t { none, lower, full, widest };
  Policy policy(std::string_view operator_name) const;
  DType dtype() const { return regions_.back().dtype; }

 private:
  struct Region {
    bool enabled;
    DType dtype;
  };
  std::vector<Region> regions_;
};

}  // namespace lightline::ops
