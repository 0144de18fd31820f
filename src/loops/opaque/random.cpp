// random: draws by position, so that another language can reproduce them in a line.
//
// Draw i of seed s is u = splitmix64(s * 2^32 + i). uniform: element i is the top 24 bits of u times 2^-24, cut (not
// rounded, so that it stays below 1) to the digits of f16 or bf16. normal: Box and Muller,
// sqrt(-2 log(p)) * cos(2 pi q), from the top 24 bits of draw 2i, p = (bits + 1) * 2^-24, and of draw 2i + 1, q = bits
// * 2^-24.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "loops/opaque/builtin.h"

namespace lightline::loops::opaque {
namespace {

uint64_t draw(int64_t seed, int64_t position) { return splitmix64((uint64_t(seed) << 32) + uint64_t(position)); }
double top_bits(uint64_t u, int bits) { return std::ldexp(double(u >> (64 - bits)), -bits); }

int digits(DType dtype) {
  switch (dtype) {
    case DType::f16: return 11;
    case DType::bf16: return 8;
    default: return 24;
  }
}

double normal(int64_t seed, int64_t element) {
  const double p = top_bits(draw(seed, 2 * element), 24) + 0x1p-24;
  const double q = top_bits(draw(seed, 2 * element + 1), 24);
  return std::sqrt(-2 * std::log(p)) * std::cos(2 * std::numbers::pi * q);
}

}  // namespace

Status run_random(const Opaque& statement, const Operands&, const Results& results) {
  Tensor& result = *results[0];
  const int64_t seed = integer(statement, "seed", 0);
  const bool is_normal = text(statement, "distribution", "uniform") == "normal";
  const int bits = digits(result.dtype());
  for (int64_t i = 0; i < result.size(); ++i)
    result.set_f64(i, is_normal ? normal(seed, i) : top_bits(draw(seed, i), bits));
  return Ok{};
}

}  // namespace lightline::loops::opaque
