#include "loops/emit_c/prelude.h"

namespace lightline::loops::c {

// Panels of LL_MR rows and LL_NR columns lie packed, k-major. The smaller factor is packed once, the larger one block by
// block beside the thread that uses it: a column panel stays in the first cache, a block of rows in the second.
// How k is cut does not depend on the number of threads, so neither does the result.
const std::string_view prelude_product = R"(#ifndef LL_MR
#if defined(__AVX512F__)
#define LL_VECTOR_BYTES 64
#define LL_MR 8
#elif defined(__AVX__)
#define LL_VECTOR_BYTES 32
#define LL_MR 6
#elif defined(__aarch64__)
#define LL_VECTOR_BYTES 16
#define LL_MR 8
#else
#define LL_VECTOR_BYTES 16
#define LL_MR 4
#endif
#define LL_KC (24576 / (2 * LL_VECTOR_BYTES))
#define LL_PREPACKED ((int64_t)1 << 26) /* elements packed at once, at most */
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
  const int threads = (double)P->batch * m * n * k > 1e6 ? LL_THREADS : 1;
  const int64_t m_panels = ll_blocks(m, LL_MR), n_panels = ll_blocks(n, nr);
  const int small_a = m_panels * LL_MR <= n_panels * nr;
  const int64_t packed_size = P->batch * k * (small_a ? m_panels * LL_MR : n_panels * nr);
  const int prepacks = packed_size <= LL_PREPACKED;
  const int once_a = prepacks && small_a, once_b = prepacks && !small_a;
  int64_t mc = ll_even_block(m, once_b ? 128 : 336, LL_MR), nc = ll_even_block(n, once_a ? 128 : 320, nr);
  while (P->batch * ll_blocks(m, mc) * ll_blocks(n, nc) < 4 * threads && (nc > nr || mc > 8 * LL_MR)) {
    if (nc > nr && (nc >= mc || mc <= 8 * LL_MR)) nc = ll_blocks(nc / nr, 2) * nr;
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

}  // namespace lightline::loops::c
