// sort and topk: values and i64 positions along a dimension. Equal values keep their order; NaN is the greatest.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "loops/ir/element.h"
#include "loops/opaque/builtin.h"

namespace lightline::loops::opaque {
namespace {

template <class T>
bool is_less(T a, T b) {
  return interpreter::is_nan(b) ? !interpreter::is_nan(a) : a < b;
}

// The first `keep` of each line in order, written to lines of that length.
template <DType dtype>
void order_lines(const Tensor& x, int64_t dim, int64_t keep, bool descending, Tensor& values, Tensor& positions) {
  using E = interpreter::Element<dtype>;
  const auto from = x.as<typename E::Stored>();
  const auto to = values.as<typename E::Stored>();
  const auto to_positions = positions.as<int64_t>();
  const Lines in(x.shape(), dim);
  const Lines out(values.shape(), dim);
  std::vector<typename E::Lane> keys(size_t(in.length));
  std::vector<int64_t> order(size_t(in.length));
  const auto comes_first = [&](int64_t a, int64_t b) {
    const auto p = keys[size_t(a)], q = keys[size_t(b)];
    if (descending ? is_less(q, p) : is_less(p, q)) return true;
    if (descending ? is_less(p, q) : is_less(q, p)) return false;
    return a < b;
  };
  if (keep == 0) return;
  for (int64_t line = 0; line < in.count; ++line) {
    for (int64_t j = 0; j < in.length; ++j) keys[size_t(j)] = E::load(from[size_t(in.start(line) + j * in.step)]);
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

Status run_order(const Opaque& statement, const Operands& operands, const Results& results, bool descending) {
  const Tensor& x = *operands[0];
  const int64_t dim = dimension(statement, x.shape().size());
  const int64_t keep = results[0]->shape()[size_t(dim)];
  interpreter::with_dtype(x.dtype(), [&]<DType dtype>() {
    if constexpr (dtype != DType::c64) order_lines<dtype>(x, dim, keep, descending, *results[0], *results[1]);
  });
  return Ok{};
}

}  // namespace

Status run_sort(const Opaque& statement, const Operands& operands, const Results& results) {
  return run_order(statement, operands, results, flag(statement, "descending", false));
}

Status run_topk(const Opaque& statement, const Operands& operands, const Results& results) {
  return run_order(statement, operands, results, flag(statement, "largest", true));
}

}  // namespace lightline::loops::opaque
