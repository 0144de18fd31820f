// torch.autocast: between its markers, products run in 16 bits and delicate functions in f32.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace lightline::ops {

class Autocast {
 public:
  void enter(bool enabled, DType dtype) { scopes_.push_back({enabled, dtype}); }
  void exit() {
    if (!scopes_.empty()) scopes_.pop_back();
  }
  bool active() const { return !scopes_.empty() && scopes_.back().enabled; }

  // What the floating tensors of a call are converted to: the region's dtype, f32, or the widest among them.
  enum class Policy : uint8_t { none, lower, full, widest };
  Policy policy(std::string_view operator_name) const;
  DType dtype() const { return scopes_.back().dtype; }

 private:
  struct Scope {
    bool enabled;
    DType dtype;
  };
  std::vector<Scope> scopes_;
};

}  // namespace lightline::ops
