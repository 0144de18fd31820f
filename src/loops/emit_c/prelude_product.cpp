#include "loops/emit_c/prelude.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace lightline::loops::c {
namespace {

// Panels of LL_MR rows and LL_NR columns lie packed, k-major. The smaller factor is packed once, the larger one block
// by block beside the thread that uses it: a column panel stays in the first cache, a block of rows in the second.
// How k is cut does not depend on the number of threads, so neither does the result.
constexpr std::string_view product_text = R"(#ifndef LL_MR
@REGISTERS@#define LL_KC (@PANEL_BYTES@ / (2 * LL_VECTOR_BYTES))
#define LL_PREPACKED ((int64_t)1 << @PACKED@) /* elements packed at once, at most */
LL_FN int64_t ll_blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }
/* The block size nearest to `most` that cuts evenly, in whole panels. */
LL_FN int64_t ll_even_block(int64_t size, int64_t most, int64_t panel) {
  const int64_t even = ll_blocks(size, ll_blocks(size, most));
  return ll_blocks(even, panel) * panel;
}
#endif
#define LL_WIDTH_@N@ (LL_VECTOR_BYTES / (int64_t)sizeof(@T@))
#define LL_NR_@N@ (2 * LL_WIDTH_@N@)
typedef @T@ ll_vector_@N@ __attribute__((vector_size(LL_VECTOR_BYTES)));

struct ll_product_@N@ {
  int64_t batch, m, n, k;
  const void* data;
  void (*pack_a)(const void* data, int64_t batch, int64_t from, int64_t to, int64_t k0, int64_t k1, @T@* out);
  void (*pack_b)(const void* data, int64_t batch, int64_t from, int64_t to, int64_t k0, int64_t k1, @T@* out);
  void (*store)(const void* data, int64_t batch, int64_t m0, int64_t m1, int64_t n0, int64_t n1, const @T@* c, int64_t width);
};

static __attribute__((noinline, unused)) void ll_kernel_@N@(int64_t k, const @T@* restrict a, const @T@* restrict b, @T@* restrict c, int64_t width, int adds) {
  ll_vector_@N@ sum[LL_MR][2];
#pragma GCC unroll 16
  for (int i = 0; i < LL_MR; ++i) sum[i][0] = sum[i][1] = (ll_vector_@N@){0};
  for (int64_t p = 0; p < k; ++p, a += LL_MR, b += LL_NR_@N@) {
    const ll_vector_@N@ b0 = *(const ll_vector_@N@*)b, b1 = *(const ll_vector_@N@*)(b + LL_WIDTH_@N@);
#pragma GCC unroll 16
    for (int i = 0; i < LL_MR; ++i) {
      const ll_vector_@N@ x = a[i] - (ll_vector_@N@){0};
      sum[i][0] += x * b0;
      sum[i][1] += x * b1;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < LL_MR; ++i) {
    ll_vector_@N@* c0 = (ll_vector_@N@*)(c + i * width);
    c0[0] = adds ? c0[0] + sum[i][0] : sum[i][0];
    c0[1] = adds ? c0[1] + sum[i][1] : sum[i][1];
  }
}

static __attribute__((noinline, unused)) int ll_multiply_@N@(const struct ll_host* H, const struct ll_product_@N@* P) {
  const int64_t m = P->m, n = P->n, k = P->k, nr = LL_NR_@N@;
  const int64_t kc = ll_blocks(k, ll_blocks(k, LL_KC));
  const int threads = (double)P->batch * m * n * k > @PARALLEL@ ? LL_THREADS : 1;
  const int64_t m_panels = ll_blocks(m, LL_MR), n_panels = ll_blocks(n, nr);
  const int small_a = m_panels * LL_MR <= n_panels * nr;
  const int64_t packed_size = P->batch * k * (small_a ? m_panels * LL_MR : n_panels * nr);
  const int prepacks = packed_size <= LL_PREPACKED;
  const int once_a = prepacks && small_a, once_b = prepacks && !small_a;
  int64_t mc = ll_even_block(m, once_b ? @ROWS_PACKED@ : @ROWS@, LL_MR), nc = ll_even_block(n, once_a ? @COLUMNS_PACKED@ : @COLUMNS@, nr);
  while (P->batch * ll_blocks(m, mc) * ll_blocks(n, nc) < @TASKS@ * threads && (nc > nr || mc > @PANELS@ * LL_MR)) {
    if (nc > nr && (nc >= mc || mc <= @PANELS@ * LL_MR)) nc = ll_blocks(nc / nr, 2) * nr;
    else mc = ll_blocks(mc / LL_MR, 2) * LL_MR;
  }
  const int64_t m_blocks = ll_blocks(m, mc), n_blocks = ll_blocks(n, nc), tasks = P->batch * m_blocks * n_blocks;
  const size_t own = (size_t)((once_a ? 0 : mc * kc) + (once_b ? 0 : nc * kc) + mc * nc + 64) * sizeof(@T@) + 192;
  char* memory = (char*)H->allocate(H->self, (prepacks ? (size_t)packed_size * sizeof(@T@) + 64 : 0) + own * threads);
  if (!memory) return 2;
  @T@* once = (@T@*)(memory + own * threads / 64 * 64 + 64);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    @T@* mine = (@T@*)(((uintptr_t)(memory + own * LL_THREAD) + 63) / 64 * 64);
    @T@* c = mine;
    @T@* own_a = c + (mc * nc + 15) / 16 * 16;
    @T@* own_b = once_a ? own_a : own_a + (mc * kc + 15) / 16 * 16;
    if (prepacks) {
      const int64_t panels = small_a ? m_panels : n_panels, lanes = small_a ? LL_MR : nr, extent = small_a ? m : n, k_blocks = ll_blocks(k, kc);
#pragma omp for schedule(static)
      for (int64_t task = 0; task < P->batch * k_blocks * panels; ++task) {
        const int64_t panel = task % panels, block = task / panels % k_blocks, batch = task / panels / k_blocks;
        const int64_t k0 = block * kc, k1 = ll_min_index(k, k0 + kc), from = panel * lanes;
        @T@* out = once + (batch * k + k0) * panels * lanes + from * (k1 - k0);
        (small_a ? P->pack_a : P->pack_b)(P->data, batch, from, ll_min_index(extent, from + lanes), k0, k1, out);
      }
    }
#pragma omp for schedule(dynamic)
    for (int64_t task = 0; task < tasks; ++task) {
      const int64_t n_block = task / m_blocks % n_blocks, m_block = task % m_blocks, batch = task / m_blocks / n_blocks;
      const int64_t m0 = m_block * mc, m1 = ll_min_index(m, m0 + mc), n0 = n_block * nc, n1 = ll_min_index(n, n0 + nc);
      for (int64_t k0 = 0; k0 < k; k0 += kc) {
        const int64_t k1 = ll_min_index(k, k0 + kc), depth = k1 - k0;
        const @T@ *a = own_a, *b = own_b;
        if (once_a) a = once + (batch * k + k0) * m_panels * LL_MR + m0 * depth;
        else P->pack_a(P->data, batch, m0, m1, k0, k1, own_a);
        if (once_b) b = once + (batch * k + k0) * n_panels * nr + n0 * depth;
        else P->pack_b(P->data, batch, n0, n1, k0, k1, own_b);
        for (int64_t j = 0; j < n1 - n0; j += nr)
          for (int64_t i = 0; i < m1 - m0; i += LL_MR) ll_kernel_@N@(depth, a + i * depth, b + j * depth, c + i * nc + j, nc, k0 > 0);
      }
      P->store(P->data, batch, m0, m1, n0, n1, c, nc);
    }
  }
  H->release(H->self, memory);
  return 0;
}

)";

std::string_view macro_of(std::string_view instruction_set) {
  if (instruction_set == "avx512") return "__AVX512F__";
  if (instruction_set == "avx") return "__AVX__";
  LL_CHECK(instruction_set == "neon");
  return "__aarch64__";
}

std::string register_text(const plan::ProductBlocking& blocking) {
  std::string text;
  for (const auto& [instruction_set, vector_bytes, rows] : blocking.registers) {
    text += instruction_set.empty()
                ? "#else\n"
                : fmt::format("#{} defined({})\n", text.empty() ? "if" : "elif", macro_of(instruction_set));
    text += fmt::format("#define LL_VECTOR_BYTES {}\n#define LL_MR {}\n", vector_bytes, rows);
  }
  return text + "#endif\n";
}

// What the text takes for granted of the figures: shifts, powers of ten, panels that start at whole vectors.
void check_figures(const plan::ProductBlocking& blocking) {
  constexpr int panel_alignment = 64;  // bytes
  for (const auto& registers : blocking.registers)
    LL_CHECK(std::has_single_bit(uint32_t(registers.vector_bytes)) && registers.vector_bytes <= panel_alignment);
  LL_CHECK(blocking.registers.back().instruction_set.empty());
  LL_CHECK(std::has_single_bit(uint64_t(blocking.most_packed_elements)));
  LL_CHECK(std::pow(10.0, std::round(std::log10(blocking.parallel_products))) == blocking.parallel_products);
}

}  // namespace

std::string product_prelude(const plan::ProductBlocking& blocking, std::string_view type, std::string_view suffix) {
  check_figures(blocking);
  const auto number = [](int64_t value) { return std::to_string(value); };
  const std::pair<std::string_view, std::string> values[] = {
      {"@REGISTERS@", register_text(blocking)},
      {"@PANEL_BYTES@", number(blocking.column_panel_bytes)},
      {"@PACKED@", number(std::countr_zero(uint64_t(blocking.most_packed_elements)))},
      {"@PARALLEL@", fmt::format("1e{}", std::lround(std::log10(blocking.parallel_products)))},
      {"@ROWS_PACKED@", number(blocking.block_rows_packed)},
      {"@ROWS@", number(blocking.block_rows)},
      {"@COLUMNS_PACKED@", number(blocking.block_columns_packed)},
      {"@COLUMNS@", number(blocking.block_columns)},
      {"@TASKS@", number(blocking.tasks_per_thread)},
      {"@PANELS@", number(blocking.fewest_row_panels)},
      {"@T@", std::string(type)},
      {"@N@", std::string(suffix)},
  };
  std::string text;
  for (size_t at = 0; at < product_text.size();) {
    const size_t mark = std::min(product_text.find('@', at), product_text.size());
    text += product_text.substr(at, mark - at);
    at = mark;
    if (at == product_text.size()) break;
    const auto known =
        std::ranges::find_if(values, [&](const auto& each) { return product_text.substr(at).starts_with(each.first); });
    LL_CHECK(known != std::end(values));
    text += known->second;
    at += known->first.size();
  }
  return text;
}

}  // namespace lightline::loops::c
