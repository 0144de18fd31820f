// sort and topk: values and i64 positions along a dimension. Equal values keep their order; NaN is the greatest. With
// `total`, floats have the order of their bits: NaN by its sign at either end, and -0 before 0.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "loops/ir/element.h"
#include "loops/opaque/builtin.h"

namespace lightline::loops::opaque {
namespace {

template <class T>
bool is_less(T a, T b) {
  return interpreter::is_nan(b) ? !interpreter::is_nan(a) : a < b;
}

// Integers that are ordered as the floats are.
int64_t total_key(double x) {
  const auto bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? INT64_MIN - (bits + 1) : bits;
}
int32_t total_key(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  return bits < 0 ? INT32_MIN - (bits + 1) : bits;
}

struct Order {
  bool descending = false;
  bool total = false;
};

// The first `keep` of each line in order, written to lines of that length.
template <DType dtype, auto key_of>
void order_lines(const Tensor& x, int64_t dim, int64_t keep, bool descending, Tensor& values, Tensor& positions) {
  using E = interpreter::Element<dtype>;
  const auto from = x.as<typename E::Stored>();
  const auto to = values.as<typename E::Stored>();
  const auto to_positions = positions.as<int64_t>();
  const Lines in(x.shape(), dim);
  const Lines out(values.shape(), dim);
  std::vector<decltype(key_of(typename E::Lane()))> keys(size_t(in.length));
  std::vector<int64_t> order(size_t(in.length));
  const auto comes_first = [&](int64_t a, int64_t b) {
    const auto p = keys[size_t(a)], q = keys[size_t(b)];
    if (descending ? is_less(q, p) : is_less(p, q)) return true;
    if (descending ? is_less(p, q) : is_less(q, p)) return false;
    return a < b;
  };
  if (keep == 0) return;
  for (int64_t line = 0; line < in.count; ++line) {
    for (int64_t j = 0; j < in.length; ++j)
      keys[size_t(j)] = key_of(E::load(from[size_t(in.start(line) + j * in.step)]));
    std::iota(order.begin(), order.end(), 0);
    if (keep == in.length)
      std::sort(order.begin(), order.end(), comes_first);
    else
      std::partial_sort(order.begin(), order.begin() + keep, order.end(), comes_first);
    for (int64_t j = 0; j < keep; ++j) {
      const size_t at = size_t(out.start(line) + j * out.step);
      to[at] = from[size_t(in.start(line) + order[size_t(j)] * in.step)];
      to_positions[at] = order[size_t(j)];
    }
  }
}

Status run_order(const Opaque& statement, const Operands& operands, const Results& results, Order order) {
  const Tensor& x = *operands[0];
  const int64_t dim = dimension(statement, x.shape().size());
  const int64_t keep = results[0]->shape()[size_t(dim)];
  interpreter::with_dtype(x.dtype(), [&]<DType dtype>() {
    constexpr auto itself = [](auto value) { return value; };
    constexpr auto by_bits = [](auto value) { return total_key(value); };
    if constexpr (std::is_floating_point_v<typename interpreter::Element<dtype>::Lane>) {
      if (order.total) return order_lines<dtype, by_bits>(x, dim, keep, order.descending, *results[0], *results[1]);
    }
    if constexpr (dtype != DType::c64)
      order_lines<dtype, itself>(x, dim, keep, order.descending, *results[0], *results[1]);
  });
  return Ok{};
}

}  // namespace

Status run_sort(const Opaque& statement, const Operands& operands, const Results& results) {
  return run_order(statement, operands, results,
                   {flag(statement, "descending", false), flag(statement, "total", false)});
}

Status run_topk(const Opaque& statement, const Operands& operands, const Results& results) {
  return run_order(statement, operands, results, {flag(statement, "largest", true), flag(statement, "total", false)});
}

}  // namespace lightline::loops::opaque
