#include "machine/probe_cpu_kernels.h"

#include <algorithm>
#include <array>
#include <chrono>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lightline::machine {
namespace {

template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

bool always() { return true; }

// Any architecture: 128-bit vectors, a multiply and an add that the compiler may fuse.
template <class T>
void run_portable(int64_t iterations) {
  typedef T Vector __attribute__((vector_size(16)));
  constexpr int chains = 12;
  Vector sums[chains] = {}, factor, addend;
  for (size_t i = 0; i < 16 / sizeof(T); ++i) {
    factor[i] = T(0.999);
    addend[i] = T(1e-3);
  }
  keep(factor);
  for (int64_t n = 0; n < iterations; ++n) {
    for (Vector& sum : sums) sum = sum * factor + addend;
  }
  keep(sums);
}

#if defined(__x86_64__)

struct Features {
  bool avx2 = false, avx512 = false, bf16 = false, vnni = false, fp16 = false, amx_bf16 = false, amx_int8 = false;
};

uint64_t enabled_state() {
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t(high) << 32) | low;
}

// AMX needs the operating system's permission for its large register state.
bool amx_allowed() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

Features find_features() {
  Features found;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return found;
  const bool fma = (c & bit_FMA) != 0;
  const uint64_t state = enabled_state();
  const bool wide = (state & 0xE6) == 0xE6;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  found.avx2 = fma && (b & bit_AVX2) != 0 && (state & 6) == 6;
  found.avx512 = wide && (b & bit_AVX512F) != 0 && (b & (1U << 30)) != 0;  // bit 30: AVX512BW
  found.vnni = found.avx512 && (c & (1U << 11)) != 0;
  found.fp16 = found.avx512 && (d & (1U << 23)) != 0;
  const bool tiles =
      (d & (1U << 24)) != 0 && (state >> 17 & 3) == 3 && (d & ((1U << 22) | (1U << 25))) != 0 && amx_allowed();
  found.amx_bf16 = tiles && (d & (1U << 22)) != 0;
  found.amx_int8 = tiles && (d & (1U << 25)) != 0;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) found.bf16 = found.avx512 && (a & (1U << 5)) != 0;
  return found;
}

const Features& features() {
  static const Features found = find_features();
  return found;
}
bool has_avx2() { return features().avx2; }
bool has_avx512() { return features().avx512; }
bool has_bf16() { return features().bf16; }
bool has_vnni() { return features().vnni; }
bool has_fp16() { return features().fp16; }
bool has_amx_bf16() { return features().amx_bf16; }
bool has_amx_int8() { return features().amx_int8; }

// Twelve chains hide the latency of two units with four or five stages each, and leave registers for the operands.
constexpr int chains = 12;
#define LL_REPEAT12(step) \
  step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11)
#define LL_DECLARE(i) auto s##i = start;
#define LL_KEEP(i) keep(s##i);
// One loop over twelve registers, written out so that no optimisation level spills them.
#define LL_KERNEL(name, isa, zero, STEP)                       \
  __attribute__((target(isa))) void name(int64_t iterations) { \
    const auto start = zero;                                   \
    auto x = start, y = start;                                 \
    asm volatile("" : "+v"(x), "+v"(y));                       \
    LL_REPEAT12(LL_DECLARE)                                    \
    for (int64_t n = 0; n < iterations; ++n) {                 \
      LL_REPEAT12(STEP)                                        \
      asm volatile("" : "+v"(x), "+v"(y));                     \
    }                                                          \
    LL_REPEAT12(LL_KEEP)                                       \
  }

#define LL_STEP(i) s##i = _mm256_fmadd_ps(s##i, x, y);
LL_KERNEL(avx2_f32, "avx2,fma", _mm256_set1_ps(0.999F), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = _mm256_fmadd_pd(s##i, x, y);
LL_KERNEL(avx2_f64, "avx2,fma", _mm256_set1_pd(0.999), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = _mm512_fmadd_ps(s##i, x, y);
LL_KERNEL(avx512_f32, "avx512f", _mm512_set1_ps(0.999F), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = _mm512_fmadd_pd(s##i, x, y);
LL_KERNEL(avx512_f64, "avx512f", _mm512_set1_pd(0.999), LL_STEP)
#undef LL_STEP
// Some cores add beside their multiply-add units: every second chain only adds.
#define LL_STEP(i) s##i = (i) % 2 == 0 ? _mm256_fmadd_ps(s##i, x, y) : _mm256_add_ps(s##i, y);
LL_KERNEL(avx2_mixed_f32, "avx2,fma", _mm256_set1_ps(0.999F), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = (i) % 2 == 0 ? _mm256_fmadd_pd(s##i, x, y) : _mm256_add_pd(s##i, y);
LL_KERNEL(avx2_mixed_f64, "avx2,fma", _mm256_set1_pd(0.999), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = (i) % 2 == 0 ? _mm512_fmadd_ps(s##i, x, y) : _mm512_add_ps(s##i, y);
LL_KERNEL(avx512_mixed_f32, "avx512f", _mm512_set1_ps(0.999F), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = (i) % 2 == 0 ? _mm512_fmadd_pd(s##i, x, y) : _mm512_add_pd(s##i, y);
LL_KERNEL(avx512_mixed_f64, "avx512f", _mm512_set1_pd(0.999), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = _mm512_fmadd_ph(s##i, x, y);
LL_KERNEL(avx512_f16, "avx512fp16", _mm512_castsi512_ph(_mm512_set1_epi16(0x3BFF)), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = _mm512_dpbf16_ps(s##i, __m512bh(x), __m512bh(y));
LL_KERNEL(avx512_bf16, "avx512bf16,avx512f", _mm512_set1_ps(0.999F), LL_STEP)
#undef LL_STEP
#define LL_STEP(i) s##i = _mm512_dpbusd_epi32(s##i, x, y);
LL_KERNEL(avx512_i8, "avx512vnni,avx512f", _mm512_set1_epi32(0x01020304), LL_STEP)
#undef LL_STEP

// Four result tiles, two of each operand: 1 KiB each, 16 rows of 64 bytes.
struct alignas(64) TileSetup {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t columns[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

__attribute__((target("amx-tile"))) void set_up_tiles() {
  TileSetup setup;
  alignas(64) std::array<uint16_t, 512> data;
  for (size_t i = 0; i < data.size(); ++i) data[i] = uint16_t(0x3F80 + i % 97);
  // gcc 12 believes that these read one word of memory each.
  asm volatile("" : "+m"(setup), "+m"(data));
  _tile_loadconfig(&setup);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, data.data(), 64);
  _tile_loadd(5, data.data(), 64);
  _tile_loadd(6, data.data(), 64);
  _tile_loadd(7, data.data(), 64);
}

__attribute__((target("amx-tile,amx-bf16"))) void amx_bf16(int64_t iterations) {
  set_up_tiles();
  for (int64_t n = 0; n < iterations; ++n) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

__attribute__((target("amx-tile,amx-int8"))) void amx_int8(int64_t iterations) {
  set_up_tiles();
  for (int64_t n = 0; n < iterations; ++n) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_release();
}

__attribute__((target("avx2"))) void read_avx2(const float* a, size_t count) {
  __m256i sums[4] = {};
  for (size_t i = 0; i + 32 <= count; i += 32) {
    for (size_t j = 0; j < 4; ++j)
      sums[j] = _mm256_xor_si256(sums[j], _mm256_load_si256(reinterpret_cast<const __m256i*>(a + i + 8 * j)));
  }
  keep(sums);
}

__attribute__((target("avx2"))) void copy_avx2(float* a, const float* b, size_t count) {
  for (size_t i = 0; i + 8 <= count; i += 8) _mm256_stream_ps(a + i, _mm256_load_ps(b + i));
  _mm_sfence();
}

__attribute__((target("avx2,fma"))) void triad_avx2(float* a, const float* b, const float* c, size_t count) {
  const __m256 factor = _mm256_set1_ps(3);
  for (size_t i = 0; i + 8 <= count; i += 8)
    _mm256_stream_ps(a + i, _mm256_fmadd_ps(_mm256_load_ps(c + i), factor, _mm256_load_ps(b + i)));
  _mm_sfence();
}

#endif

using enum RateType;

constexpr CpuKernel kernels[] = {
    {"128-bit multiply and add", f32, false, 12 * 4 * 2, always, run_portable<float>},
    {"128-bit multiply and add", f64, false, 12 * 2 * 2, always, run_portable<double>},
#if defined(__x86_64__)
    {"AVX2 FMA", f32, false, chains * 8 * 2, has_avx2, avx2_f32},
    {"AVX2 FMA", f64, false, chains * 4 * 2, has_avx2, avx2_f64},
    {"AVX2 FMA beside additions", f32, false, chains * 8 * 1.5, has_avx2, avx2_mixed_f32},
    {"AVX2 FMA beside additions", f64, false, chains * 4 * 1.5, has_avx2, avx2_mixed_f64},
    {"AVX-512 FMA", f32, false, chains * 16 * 2, has_avx512, avx512_f32},
    {"AVX-512 FMA", f64, false, chains * 8 * 2, has_avx512, avx512_f64},
    {"AVX-512 FMA beside additions", f32, false, chains * 16 * 1.5, has_avx512, avx512_mixed_f32},
    {"AVX-512 FMA beside additions", f64, false, chains * 8 * 1.5, has_avx512, avx512_mixed_f64},
    {"AVX512-FP16 FMA", f16, false, chains * 32 * 2, has_fp16, avx512_f16},
    {"AVX2 FMA", f32, true, chains * 8 * 2, has_avx2, avx2_f32},
    {"AVX2 FMA", f64, true, chains * 4 * 2, has_avx2, avx2_f64},
    {"AVX-512 FMA", f32, true, chains * 16 * 2, has_avx512, avx512_f32},
    {"AVX-512 FMA", f64, true, chains * 8 * 2, has_avx512, avx512_f64},
    {"AVX512-BF16 VDPBF16PS", bf16, true, chains * 32 * 2, has_bf16, avx512_bf16},
    {"AVX512-VNNI VPDPBUSD", i8, true, chains * 64 * 2, has_vnni, avx512_i8},
    {"AMX TDPBF16PS", bf16, true, 4 * 16 * 16 * 32 * 2, has_amx_bf16, amx_bf16},
    {"AMX TDPBSSD", i8, true, 4 * 16 * 16 * 64 * 2, has_amx_int8, amx_int8},
#endif
};

}  // namespace

std::span<const CpuKernel> cpu_kernels() { return kernels; }

void stream_read(const float* a, size_t count) {
#if defined(__x86_64__)
  if (has_avx2()) return read_avx2(a, count);
#endif
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += a[i];
  keep(sum);
}

void stream_copy(float* a, const float* b, size_t count) {
#if defined(__x86_64__)
  if (has_avx2()) return copy_avx2(a, b, count);
#endif
  std::copy(b, b + count, a);
  keep(a[0]);
}

void stream_triad(float* a, const float* b, const float* c, size_t count) {
#if defined(__x86_64__)
  if (has_avx2()) return triad_avx2(a, b, c, count);
#endif
  for (size_t i = 0; i < count; ++i) a[i] = b[i] + 3 * c[i];
  keep(a[0]);
}

double measured_clock(double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr int links = 16;
  // imul takes three cycles on every x86-64 core since 2008, add one on ARM.
#if defined(__x86_64__)
  constexpr double cycles_per_link = 3;
#define LL_LINK "imul %0, %0\n\t"
#elif defined(__aarch64__)
  constexpr double cycles_per_link = 1;
#define LL_LINK "add %0, %0, %0\n\t"
#else
  return 0;
#endif
#if defined(LL_LINK)
  double best = 0;
  uint64_t value = 3;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto start = Clock::now();
    constexpr int64_t rounds = 20000;
    for (int64_t n = 0; n < rounds; ++n) {
      asm volatile(LL_LINK LL_LINK LL_LINK LL_LINK LL_LINK LL_LINK LL_LINK LL_LINK LL_LINK LL_LINK LL_LINK LL_LINK
                       LL_LINK LL_LINK LL_LINK LL_LINK
                   : "+r"(value));
    }
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, double(rounds) * links * cycles_per_link / elapsed);
  } while (Clock::now() < end);
  keep(value);
  return best;
#endif
}

}  // namespace lightline::machine
