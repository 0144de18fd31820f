#include "machine/probe_ptx.h"

#include <fmt/format.h>

namespace lightline::machine {
namespace {

using enum RateType;

std::string module(std::string_view version, std::string_view target, std::string_view name, std::string_view body) {
  return fmt::format(
      ".version {}\n.target {}\n.address_size 64\n"
      ".extern .shared .align 1024 .b8 shared[];\n"
      ".visible .entry {}(.param .u64 pa, .param .u64 pb, .param .u64 pn) {{\n"
      ".reg .pred p, q;\n.reg .u64 a, b, n, i, step, address;\n.reg .u32 thread, block, size, grid, word;\n"
      "ld.param.u64 a, [pa];\nld.param.u64 b, [pb];\nld.param.u64 n, [pn];\n"
      "mov.u32 thread, %tid.x;\nmov.u32 block, %ctaid.x;\nmov.u32 size, %ntid.x;\nmov.u32 grid, %nctaid.x;\n"
      "{}}}\n",
      version, target, name, body);
}

// A loop over the 16-byte words of a buffer, `unroll` of them in flight per thread.
PtxKernel memory_kernel(std::string name, bool reads, bool writes) {
  constexpr int unroll = 4;
  std::string body =
      ".reg .b32 w<16>;\n.reg .b32 sum;\n.reg .u64 stride;\n"
      "mad.lo.u32 word, block, size, thread;\ncvt.u64.u32 i, word;\nmul.wide.u32 step, grid, size;\nmul.lo.u64 stride, "
      "step, 16;\n"
      "mov.u32 sum, 0;\n";
  for (int k = 0; k < 4 * unroll; ++k) body += fmt::format("mov.u32 w{}, {};\n", k, 0x3F800000 + k);
  body += "loop:\nsetp.ge.u64 p, i, n;\n@p bra done;\nmad.lo.u64 address, i, 16, a;\n";
  const auto words = [](int k) {
    return fmt::format("{{w{}, w{}, w{}, w{}}}", 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3);
  };
  for (int k = 0; reads && k < unroll; ++k)
    body += fmt::format("ld.global.v4.u32 {}, [address];\nadd.u64 address, address, stride;\n", words(k));
  if (writes) {
    body += fmt::format("mad.lo.u64 address, i, 16, {};\n", reads ? "b" : "a");
    for (int k = 0; k < unroll; ++k)
      body += fmt::format("st.global.v4.u32 [address], {};\nadd.u64 address, address, stride;\n", words(k));
  } else {
    for (int k = 0; k < 4 * unroll; ++k) body += fmt::format("xor.b32 sum, sum, w{};\n", k);
  }
  body += fmt::format("mad.lo.u64 i, step, {}, i;\nbra loop;\ndone:\n", unroll);
  if (!writes) body += "setp.ne.u32 q, sum, 0x12345678;\n@q ret;\nst.global.u32 [b], sum;\n";
  body += "ret;\n";
  return {name, name, module("6.5", "sm_70", name, body), 512, 8, 0, 0};
}

// `steps` instructions on independent registers, `rounds` times per turn of a loop of n turns.
std::string chain_loop(std::string_view registers, int chains, int rounds, std::string_view start,
                       std::string_view step, std::string_view sink) {
  std::string body = fmt::format(".reg {} r<{}>;\n.reg {} x, y;\n{}", registers, chains, registers, start);
  for (int k = 0; k < chains; ++k) body += fmt::format("mov.b{} r{}, x;\n", registers == ".f64" ? 64 : 32, k);
  body += "loop:\nsetp.eq.u64 p, n, 0;\n@p bra done;\n";
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < chains; ++k) body += fmt::format(fmt::runtime(step), fmt::arg("r", fmt::format("r{}", k)));
  }
  body += "sub.u64 n, n, 1;\nbra loop;\ndone:\n";
  for (int k = 1; k < chains; ++k) body += fmt::format(fmt::runtime(sink), fmt::arg("r", fmt::format("r{}", k)));
  return body;
}

constexpr int chains = 8, rounds = 16, vector_threads = 512;

PtxKernel wgmma_kernel(RateType type) {
  struct Shape {
    std::string_view result, operand, suffix;
    int depth;
  };
  const Shape shape = type == f16    ? Shape{"f32", "f16.f16", ", 1, 1, 0, 0", 16}
                      : type == bf16 ? Shape{"f32", "bf16.bf16", ", 1, 1, 0, 0", 16}
                      : type == tf32 ? Shape{"f32", "tf32.tf32", ", 1, 1", 8}
                      : type == f8   ? Shape{"f32", "e4m3.e4m3", ", 1, 1", 32}
                                     : Shape{"s32", "s8.s8", "", 32};
  constexpr int results = 128, turns = 16, threads = 256;  // two groups of four warps, 64 x 256 results each
  const std::string_view kind = shape.result == "f32" ? ".f32" : ".b32";
  // Operands fill two times 64 and 256 rows of 32 bytes in core matrices of 8 rows by 16 bytes; random numbers near
  // one. Every turn takes others, since units that see the same numbers again draw less power than real products do.
  constexpr int set_bytes = (2 * 64 + 256) * 32;
  constexpr int shared_bytes = turns * set_bytes;
  const uint32_t mask = type == tf32   ? 0x80FFE000U
                        : type == f8   ? 0x87878787U
                        : type == i8   ? 0xFFFFFFFFU
                        : type == bf16 ? 0x80FF80FFU
                                       : 0x87FF87FFU;
  const uint32_t base = type == tf32   ? 0x3F000000U
                        : type == f8   ? 0x38383838U
                        : type == i8   ? 0
                        : type == bf16 ? 0x3F003F00U
                                       : 0x38003800U;
  std::string body =
      fmt::format(".reg {} d<{}>;\n.reg .b32 seed, s, where, group;\n.reg .u64 da, db;\n", kind, results);
  body +=
      "mov.u32 where, shared;\nmad.lo.u32 seed, block, 7919, thread;\nmad.lo.u32 seed, seed, 747796405, 2891336453;\n";
  // Each thread fills its words of shared memory.
  body += fmt::format(
      "mov.u32 word, thread;\nfill:\nmad.lo.u32 seed, seed, 1664525, 1013904223;\nshr.u32 s, seed, 5;\nxor.b32 s, s, "
      "seed;\nand.b32 s, s, {};\nor.b32 s, s, {};\n"
      "mad.lo.u32 group, word, 4, where;\nst.shared.b32 [group], s;\nadd.u32 word, word, {};\nsetp.lt.u32 p, word, "
      "{};\n@p bra fill;\n",
      mask, base, threads, shared_bytes / 4);
  body += "fence.proxy.async.shared::cta;\nbar.sync 0;\n";
  // Descriptors: address / 16; 128 bytes between core matrices along the depth, 256 along the rows; no swizzle.
  const uint64_t strides = (uint64_t(128 >> 4) << 16) | (uint64_t(256 >> 4) << 32);
  body += fmt::format(
      "shr.u32 group, thread, 7;\nmad.lo.u32 group, group, {}, where;\nshr.u32 s, group, 4;\nand.b32 s, s, "
      "0x3FFF;\ncvt.u64.u32 da, s;\nor.b64 da, da, {};\n"
      "add.u32 s, where, {};\nshr.u32 s, s, 4;\nand.b32 s, s, 0x3FFF;\ncvt.u64.u32 db, s;\nor.b64 db, db, {};\n"
      ".reg .u64 ta, tb;\n",
      64 * 32, strides, 2 * 64 * 32, strides);
  for (int k = 0; k < results; ++k) body += fmt::format("mov.b32 d{}, 0;\n", k);
  std::string list;
  for (int k = 0; k < results; ++k) list += fmt::format("{}d{}", k == 0 ? "" : ", ", k);
  body += "wgmma.fence.sync.aligned;\nsetp.ne.u64 q, a, 1;\nloop:\nsetp.eq.u64 p, n, 0;\n@p bra done;\n";
  for (int turn = 0; turn < turns; ++turn) {
    const int offset = turn * set_bytes / 16;
    body += fmt::format("add.u64 ta, da, {};\nadd.u64 tb, db, {};\n", offset, offset);
    body += fmt::format("wgmma.mma_async.sync.aligned.m64n256k{}.{}.{} {{{}}}, ta, tb, q{};\n", shape.depth,
                        shape.result, shape.operand, list, shape.suffix);
  }
  body +=
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;\nsub.u64 n, n, 1;\nbra "
      "loop;\ndone:\nwgmma.wait_group.sync.aligned 0;\n";
  for (int k = 1; k < results; ++k) body += fmt::format("add.{} d0, d0, d{};\n", shape.result, k);
  body += "mov.b32 s, d0;\nsetp.ne.u32 q, s, 0x12345678;\n@q ret;\nst.global.u32 [a], s;\nret;\n";
  const double operations = 2.0 * turns * (threads / 128) * 64 * 256 * shape.depth;
  return {"wgmma",
          fmt::format("wgmma m64n256k{} {}", shape.depth, shape.operand),
          module("8.0", "sm_90a", "wgmma", body),
          threads,
          1,
          shared_bytes,
          operations};
}

PtxKernel mma_kernel(RateType type) {
  struct Shape {
    std::string_view version, target, result, operand;
    int depth;
  };
  const Shape shape = type == f16    ? Shape{"7.0", "sm_80", "f32", "f16.f16", 16}
                      : type == bf16 ? Shape{"7.0", "sm_80", "f32", "bf16.bf16", 16}
                      : type == tf32 ? Shape{"7.0", "sm_80", "f32", "tf32.tf32", 8}
                      : type == f8   ? Shape{"8.4", "sm_89", "f32", "e4m3.e4m3", 32}
                                     : Shape{"7.0", "sm_80", "s32", "s8.s8", 32};
  constexpr int tiles = 8, repeats = 4, threads = 256;
  const bool integer = shape.result == "s32";
  std::string body = fmt::format(".reg {} d<{}>;\n.reg .b32 u<6>, s;\n", integer ? ".b32" : ".f32", 4 * tiles);
  body += "mad.lo.u32 s, block, 7919, thread;\n";
  for (int k = 0; k < 6; ++k)
    body += fmt::format(
        "mad.lo.u32 s, s, 1664525, 1013904223;\nand.b32 u{}, s, 0x007F007F;\nor.b32 u{}, u{}, 0x3F003F00;\n", k, k, k);
  for (int k = 0; k < 4 * tiles; ++k) body += fmt::format("mov.b32 d{}, 0;\n", k);
  body += "loop:\nsetp.eq.u64 p, n, 0;\n@p bra done;\n";
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int tile = 0; tile < tiles; ++tile) {
      const std::string d = fmt::format("{{d{}, d{}, d{}, d{}}}", 4 * tile, 4 * tile + 1, 4 * tile + 2, 4 * tile + 3);
      const std::string types(shape.operand);
      body += fmt::format("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{} {}, {{u0, u1, u2, u3}}, {{u4, u5}}, {};\n",
                          shape.depth, shape.result, types, shape.result, d, d);
    }
  }
  body += "sub.u64 n, n, 1;\nbra loop;\ndone:\n";
  for (int k = 1; k < 4 * tiles; ++k) body += fmt::format("add.{} d0, d0, d{};\n", integer ? "s32" : "f32", k);
  body += "mov.b32 s, d0;\nsetp.ne.u32 q, s, 0x12345678;\n@q ret;\nst.global.u32 [a], s;\nret;\n";
  const double operations = 2.0 * repeats * tiles * (threads / 32) * 16 * 8 * shape.depth;
  return {"mma",
          fmt::format("mma.sync m16n8k{} {}", shape.depth, shape.operand),
          module(shape.version, shape.target, "mma", body),
          threads,
          4,
          0,
          operations};
}

}  // namespace

PtxKernel read_kernel() { return memory_kernel("read", true, false); }
PtxKernel write_kernel() { return memory_kernel("write", false, true); }
PtxKernel copy_kernel() { return memory_kernel("copy", true, true); }

std::optional<PtxKernel> vector_kernel(RateType type, int capability) {
  struct Shape {
    std::string_view version, target, registers, instruction, sink;
    int lanes;
  };
  const auto starts = [](uint32_t x, uint32_t y) { return fmt::format("mov.b32 x, {};\nmov.b32 y, {};\n", x, y); };
  std::string start;
  Shape shape;
  if (type == f32) {
    start = starts(0x3F7FBE77, 0x3A83126F);
    shape = {"6.5", "sm_70", ".f32", "fma.rn.f32 {r}, {r}, x, y;\n", "add.f32 r0, r0, {r};\n", 1};
  } else if (type == f64) {
    start = "mov.f64 x, 0d3FEFF7CED916872B;\nmov.f64 y, 0d3F50624DD2F1A9FC;\n";
    shape = {"6.5", "sm_70", ".f64", "fma.rn.f64 {r}, {r}, x, y;\n", "add.f64 r0, r0, {r};\n", 1};
  } else if (type == f16) {
    start = starts(0x3BFF3BFF, 0x14001400);
    shape = {"6.5", "sm_70", ".b32", "fma.rn.f16x2 {r}, {r}, x, y;\n", "xor.b32 r0, r0, {r};\n", 2};
  } else if (type == bf16 && capability >= 80) {
    start = starts(0x3F7F3F7F, 0x3A803A80);
    shape = {"7.0", "sm_80", ".b32", "fma.rn.bf16x2 {r}, {r}, x, y;\n", "xor.b32 r0, r0, {r};\n", 2};
  } else if (type == i32) {
    start = starts(1664525, 1013904223);
    shape = {"6.5", "sm_70", ".b32", "mad.lo.u32 {r}, {r}, x, y;\n", "xor.b32 r0, r0, {r};\n", 1};
  } else {
    return std::nullopt;
  }
  std::string body = chain_loop(shape.registers, chains, rounds, start, shape.instruction, shape.sink);
  if (type == f64)
    body += ".reg .f32 narrow;\ncvt.rn.f32.f64 narrow, r0;\nmov.b32 word, narrow;\n";
  else
    body += "mov.b32 word, r0;\n";
  body += "setp.ne.u32 q, word, 0x12345678;\n@q ret;\nst.global.u32 [a], word;\nret;\n";
  const std::string instruction(shape.instruction.substr(0, shape.instruction.find(' ')));
  return PtxKernel{"vector", instruction, module(shape.version, shape.target, "vector", body), vector_threads,
                   4,        0,           2.0 * chains * rounds * shape.lanes * vector_threads};
}

PtxKernel exponential_kernel() {
  std::string body = chain_loop(".f32", chains, rounds, "mov.f32 x, 0fBF800000;\nmov.f32 y, 0f3F800000;\n",
                                "ex2.approx.ftz.f32 {r}, {r};\n", "add.f32 r0, r0, {r};\n");
  body += "mov.b32 word, r0;\nsetp.ne.u32 q, word, 0x12345678;\n@q ret;\nst.global.u32 [a], word;\nret;\n";
  return {"exponential",
          "ex2.approx.ftz.f32",
          module("6.5", "sm_70", "exponential", body),
          vector_threads,
          4,
          0,
          1.0 * chains * rounds * vector_threads};
}

std::optional<PtxKernel> matrix_kernel(RateType type, int capability) {
  const bool known = type == f16 || type == bf16 || type == tf32 || type == i8 || type == f8;
  if (!known || capability < 80 || (type == f8 && capability < 89)) return std::nullopt;
  if (capability == 90) return wgmma_kernel(type);
  const bool tensor_memory = capability >= 100 && capability < 120;
  if (tensor_memory) return std::nullopt;
  return mma_kernel(type);
}

}  // namespace lightline::machine
