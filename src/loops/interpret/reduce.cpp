#include "loops/interpret/reduce.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "loops/ir/element.h"

namespace lightline::loops::interpreter {
namespace {

template <class T>
struct Sum {
  static constexpr int empty = 0;
  static T combine(T a, T b) { return a + b; }
};
template <class T>
struct Product {
  static constexpr int empty = 1;
  static T combine(T a, T b) {
    if constexpr (std::same_as<T, Complex>)
      return scalar::multiply(a, b);
    else
      return a * b;
  }
};

// Folds each chunk in eight interleaved parts, and chunks in a balanced tree: rounding errors grow with the logarithm.
template <class T, class Lane, class Operation>
class TreeReducer final : public SegmentReducer {
 public:
  void begin() override { chunks_ = 0; }
  void add(const std::byte* lanes, int64_t first, int64_t count) override {
    const Lane* values = reinterpret_cast<const Lane*>(lanes) + first;
    T parts[8] = {T(Operation::empty), T(Operation::empty), T(Operation::empty), T(Operation::empty),
                  T(Operation::empty), T(Operation::empty), T(Operation::empty), T(Operation::empty)};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
      for (int64_t j = 0; j < 8; ++j) parts[j] = Operation::combine(parts[j], T(values[i + j]));
    for (int64_t j = 0; i < count; ++i, ++j) parts[j] = Operation::combine(parts[j], T(values[i]));
    for (int width = 4; width > 0; width /= 2)
      for (int j = 0; j < width; ++j) parts[j] = Operation::combine(parts[j], parts[j + width]);
    push(parts[0]);
  }
  void finish(std::byte* out, int64_t lane) override {
    T total = T(Operation::empty);
    for (int i = std::popcount(chunks_); i-- > 0;) total = Operation::combine(tree_[i], total);
    reinterpret_cast<Lane*>(out)[lane] = Lane(total);
  }

 private:
  // tree_ holds one value per set bit of chunks_, the largest subtree first.
  void push(T value) {
    int top = std::popcount(chunks_);
    for (uint64_t carry = chunks_; carry & 1; carry >>= 1) value = Operation::combine(tree_[--top], value);
    tree_[top] = value;
    ++chunks_;
  }
  uint64_t chunks_ = 0;
  T tree_[64];
};

// Rounds to the accumulator's type after every step, in order.
template <DType accumulator, class Operation>
class RoundedReducer final : public SegmentReducer {
 public:
  void begin() override { total_ = float(Operation::empty); }
  void add(const std::byte* lanes, int64_t first, int64_t count) override {
    const float* values = reinterpret_cast<const float*>(lanes) + first;
    for (int64_t i = 0; i < count; ++i) total_ = convert<accumulator>(Operation::combine(total_, values[i]));
  }
  void finish(std::byte* out, int64_t lane) override { reinterpret_cast<float*>(out)[lane] = total_; }

 private:
  float total_ = 0;
};

template <class T, bool greatest>
bool beats(T value, T best) {
  return is_nan(value) || (greatest ? value > best : value < best);
}

template <class T, bool greatest>
class ExtremeReducer final : public SegmentReducer {
 public:
  explicit ExtremeReducer(T empty) : empty_(empty) {}
  void begin() override { best_ = empty_; }
  void add(const std::byte* lanes, int64_t first, int64_t count) override {
    const T* values = reinterpret_cast<const T*>(lanes) + first;
    for (int64_t i = 0; i < count; ++i) best_ = beats<T, greatest>(values[i], best_) ? values[i] : best_;
  }
  void finish(std::byte* out, int64_t lane) override { reinterpret_cast<T*>(out)[lane] = best_; }

 private:
  T empty_;
  T best_{};
};

template <class T, bool greatest>
class PositionReducer final : public SegmentReducer {
 public:
  void begin() override { position_ = best_position_ = 0; }
  void add(const std::byte* lanes, int64_t first, int64_t count) override {
    const T* values = reinterpret_cast<const T*>(lanes) + first;
    for (int64_t i = 0; i < count; ++i, ++position_) {
      const bool wins = position_ == 0 || (best_ == best_ && beats<T, greatest>(values[i], best_));
      if (!wins) continue;
      best_ = values[i];
      best_position_ = position_;
    }
  }
  void finish(std::byte* out, int64_t lane) override { reinterpret_cast<int64_t*>(out)[lane] = best_position_; }

 private:
  T best_{};
  int64_t position_ = 0;
  int64_t best_position_ = 0;
};

template <bool all>
class LogicReducer final : public SegmentReducer {
 public:
  void begin() override { total_ = all; }
  void add(const std::byte* lanes, int64_t first, int64_t count) override {
    const int64_t* values = reinterpret_cast<const int64_t*>(lanes) + first;
    for (int64_t i = 0; i < count; ++i) total_ = all ? total_ & (values[i] != 0) : total_ | (values[i] != 0);
  }
  void finish(std::byte* out, int64_t lane) override { reinterpret_cast<int64_t*>(out)[lane] = total_; }

 private:
  int64_t total_ = all;
};

template <template <class> class Operation>
std::unique_ptr<SegmentReducer> make_fold(DType accumulator) {
  return with_dtype(accumulator, [&]<DType d>() -> std::unique_ptr<SegmentReducer> {
    using Lane = typename Element<d>::Lane;
    if constexpr (is_narrow_float(d))
      return std::make_unique<RoundedReducer<d, Operation<float>>>();
    else if constexpr (std::same_as<Lane, int64_t>)
      return std::make_unique<TreeReducer<uint64_t, Lane, Operation<uint64_t>>>();
    else
      return std::make_unique<TreeReducer<Lane, Lane, Operation<Lane>>>();
  });
}

int64_t extreme_integer(DType dtype, bool greatest) {
  return with_dtype(dtype, [&]<DType d>() -> int64_t {
    using Stored = typename Element<d>::Stored;
    if constexpr (d == DType::boolean)
      return greatest;
    else if constexpr (std::same_as<typename Element<d>::Lane, int64_t>)
      return greatest ? std::numeric_limits<Stored>::max() : std::numeric_limits<Stored>::min();
    else
      return greatest ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  });
}

template <bool greatest>
std::unique_ptr<SegmentReducer> make_extreme(DType accumulator, DType result) {
  constexpr double empty =
      greatest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  switch (compute_type(accumulator)) {
    case DType::f64: return std::make_unique<ExtremeReducer<double, greatest>>(empty);
    case DType::f32: return std::make_unique<ExtremeReducer<float, greatest>>(float(empty));
    default: return std::make_unique<ExtremeReducer<int64_t, greatest>>(extreme_integer(result, !greatest));
  }
}

template <bool greatest>
std::unique_ptr<SegmentReducer> make_position(DType accumulator) {
  switch (compute_type(accumulator)) {
    case DType::f64: return std::make_unique<PositionReducer<double, greatest>>();
    case DType::f32: return std::make_unique<PositionReducer<float, greatest>>();
    default: return std::make_unique<PositionReducer<int64_t, greatest>>();
  }
}

}  // namespace

std::unique_ptr<SegmentReducer> make_reducer(Reducer reducer, DType accumulator, DType result) {
  switch (reducer) {
    case Reducer::sum: return make_fold<Sum>(accumulator);
    case Reducer::prod: return make_fold<Product>(accumulator);
    case Reducer::max: return make_extreme<true>(accumulator, result);
    case Reducer::min: return make_extreme<false>(accumulator, result);
    case Reducer::all: return std::make_unique<LogicReducer<true>>();
    case Reducer::any: return std::make_unique<LogicReducer<false>>();
    case Reducer::argmax: return make_position<true>(accumulator);
    case Reducer::argmin: return make_position<false>(accumulator);
    default: break;
  }
  check_failed("a reducer of compute statements", __FILE__, __LINE__);
}

DType reduced_type(Reducer reducer, DType accumulator) {
  return reducer == Reducer::argmax || reducer == Reducer::argmin ? DType::i64 : compute_type(accumulator);
}

}  // namespace lightline::loops::interpreter
