"""Values that are narrower than their type, and products of unlike widths."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, bf16, boolean, c64, f8, f32, i8, i64, moved, u8
from least.zeros import product


def booleans(x: Any, w: Any) -> Any:
    return (x > 0).float() @ (w > 0).float()


def signs(x: Any, w: Any) -> Any:
    return torch.sign(x) @ torch.sign(w)


def mask_times_values(m: Any, x: Any) -> Any:
    return m.float() @ x.float()


def rounded(x: Any, w: Any) -> Any:
    """Quantised by the user, without integer types."""
    quantise = lambda t: torch.clamp(torch.round(t * 10), -127, 127)  # noqa: E731
    return quantise(x) @ quantise(w)


def scaled_bytes(x: Any, w: Any, s: Any) -> Any:
    return (x.float() @ w.float()) * s


def dequantised(x: Any, w: Any, zero: Any, s: Any) -> Any:
    """Bytes less their zero point, a 9-bit integer, are exact in 16 bits."""
    return x @ ((w.to(torch.bfloat16) - zero) * s)


def nibbles(x: Any, w: Any) -> Any:
    """Two 4-bit weights in a byte."""
    low, high = (w & 15).to(torch.bfloat16) - 8, (w >> 4).to(torch.bfloat16) - 8
    return x @ torch.stack([low, high], -1).flatten(1)


def widened(x: Any, w: Any) -> Any:
    return (x.float() @ w.float()).to(torch.bfloat16)


def half_widened(x: Any, w: Any) -> Any:
    return x.float() @ w


def plain_attention(q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v)


def differing_bits(a: Any, b: Any) -> Any:
    return (a[:, None, :] != b[None, :, :]).sum(-1)


def low_bits(a: Any, b: Any) -> Any:
    return (a & 1).float() @ (b % 2).float()


def hermitian(a: Any) -> Any:
    return a @ a.mH


def complex_times_real(z: Any, w: Any) -> Any:
    return z @ w.to(torch.complex64)


def real_part(x: Any, z: Any) -> Any:
    return (x.to(torch.complex64) @ z).real


def real_part_of_complex(a: Any, b: Any) -> Any:
    return (a @ b).real


def scaled_blocks(x: Any, sx: Any, w: Any, sw: Any) -> Any:
    """Blocks of 32 along the summed index share a scale."""
    left = (x.float().view(4096, 128, 32) * sx[:, :, None]).view(4096, 4096)
    right = (w.float().view(4096, 128, 32) * sw[:, :, None]).view(4096, 4096)
    return left @ right.T


def jax_counts(a: Any, b: Any) -> Any:
    import jax.numpy as jnp

    return a.astype(jnp.float32) @ b.astype(jnp.float32)


N = 4096
CUBE = N**3
SIDE, HALF, BITS, SMALL = f32(N, N), bf16(N, N), boolean(N, N), i8(N, N)
QUERY = bf16(4, 16, 4096, 64)

CASES = [
    Case(
        "comparisons as floats",
        Torch(booleans, (SIDE, SIDE)),
        product(CUBE, 3 * SIDE.bytes, "i8", slots=2 * N * N),
        Work(bytes=3 * SIDE.bytes),
    ),
    Case(
        "signs",
        Torch(signs, (SIDE, SIDE)),
        product(CUBE, 3 * SIDE.bytes, "i8", slots=4 * N * N),
        Work(bytes=3 * SIDE.bytes),
    ),
    Case(
        "a mask times 16-bit values",
        Torch(mask_times_values, (BITS, HALF)),
        product(CUBE, moved(BITS, HALF, SIDE), "bf16"),
        Work(bytes=moved(BITS, HALF, SIDE)),
    ),
    Case(
        "rounded and clamped",
        Torch(rounded, (SIDE, SIDE)),
        product(CUBE, 3 * SIDE.bytes, "i8", slots=6 * N * N),
        Work(bytes=3 * SIDE.bytes),
    ),
    Case(
        "bytes with a scale",
        Torch(scaled_bytes, (SMALL, SMALL, f32())),
        product(CUBE, moved(SMALL, SMALL, f32(), SIDE), "i8", slots=N * N),
        Work(products={"i8": CUBE}, bytes=moved(SMALL, SMALL, f32(), SIDE)),
    ),
    Case(
        "weights as bytes with zero point and scale",
        Torch(dequantised, (HALF, u8(N, N), bf16(N), bf16(N))),
        product(CUBE, moved(HALF, u8(N, N), bf16(N), bf16(N), HALF), "bf16", slots=2 * N * N),
        Work(bytes=moved(HALF, u8(N, N), bf16(N), bf16(N), HALF)),
    ),
    Case(
        "weights as nibbles",
        Torch(nibbles, (HALF, u8(N, N // 2))),
        product(CUBE, moved(HALF, u8(N, N // 2), HALF), "bf16", slots=2 * N * N),
        Work(bytes=moved(HALF, u8(N, N // 2), HALF)),
    ),
    Case(
        "16-bit values widened, result narrowed",
        Torch(widened, (HALF, HALF)),
        product(CUBE, 3 * HALF.bytes, "bf16"),
        Work(products={"bf16": CUBE}, bytes=3 * HALF.bytes),
    ),
    Case(  # an f32 is the sum of three 16-bit values: three products with a 16-bit operand
        "16-bit times f32, strictly",
        Torch(half_widened, (HALF, SIDE)),
        product(3 * CUBE, moved(HALF, SIDE, SIDE), "bf16"),
        Work(bytes=moved(HALF, SIDE, SIDE)),
        options=("--math", "strict"),
    ),
    Case(
        "attention in 16 bits",
        Torch(plain_attention, (QUERY,) * 3),
        Work(
            products={"bf16": 64 * 4096 * 4096 * 2 * 64},
            slots=64 * (3 * 4096 * 4096 + 4096 * 64),
            special=64 * (4096 * 4096 + 4096),
            bytes=4 * QUERY.bytes,
        ),
        Work(products={"bf16": 64 * 4096 * 4096 * 2 * 64}, bytes=4 * QUERY.bytes),
    ),
    Case(
        "where truths differ",
        Torch(differing_bits, (boolean(1024, 2048), boolean(1024, 2048))),
        product(1024 * 1024 * 2048, moved(boolean(1024, 2048), boolean(1024, 2048), i64(1024, 1024)), "bool"),
        Work(bytes=moved(boolean(1024, 2048), boolean(1024, 2048), i64(1024, 1024))),
    ),
    Case(
        "low bits",
        Torch(low_bits, (u8(N, N), u8(N, N))),
        product(CUBE, moved(u8(N, N), u8(N, N), SIDE), "bool"),
        Work(bytes=moved(u8(N, N), u8(N, N), SIDE)),
    ),
    Case(  # half of the result is the conjugate of the other
        "complex matrix times its adjoint",
        Torch(hermitian, (c64(2048, 1024),)),
        product(3 * 1024 * 2048 * 2049 // 2, moved(c64(2048, 1024), c64(2048, 2048))),
        Work(
            products={"f32": 3 * 1024 * 2048 * 2049 // 2},
            bytes=moved(c64(2048, 1024), c64(2048, 2048)),
        ),
    ),
    Case(  # real and imaginary parts, a real product each
        "complex times real",
        Torch(complex_times_real, (c64(2048, 2048), f32(2048, 2048))),
        product(2 * 2048**3, moved(c64(2048, 2048), f32(2048, 2048), c64(2048, 2048))),
        Work(bytes=moved(c64(2048, 2048), f32(2048, 2048), c64(2048, 2048))),
    ),
    Case(  # x @ z.real: of z, half the bytes; the result is written as a dense array of its own or as a view
        "real part of real times complex",
        Torch(real_part, (f32(2048, 2048), c64(2048, 2048))),
        product(2048**3, moved(f32(2048, 2048), c64(2048, 2048), c64(2048, 2048))),
        Work(bytes=moved(f32(2048, 2048), f32(2048, 2048), f32(2048, 2048))),
    ),
    Case(
        "real part of a complex product",
        Torch(real_part_of_complex, (c64(2048, 2048), c64(2048, 2048))),
        product(2 * 2048**3, 3 * c64(2048, 2048).bytes),
        Work(bytes=2 * c64(2048, 2048).bytes + 4 * 2048 * 2048),
    ),
    Case(  # the units of this part take a scale for each block of 32; scales of any value cost slots, not claimed
        "8-bit floats with block scales",
        Torch(scaled_blocks, (f8(N, N), f32(N, 128), f8(N, N), f32(N, 128))),
        Work(products={"f8": CUBE}, special=0, bytes=moved(f8(N, N), f8(N, N), f32(N, 128), f32(N, 128), SIDE)),
        Work(bytes=moved(f8(N, N), f8(N, N), f32(N, 128), f32(N, 128), SIDE)),
        arch="B200",
    ),
    Case(
        "jax booleans as floats",
        Jax(jax_counts, (BITS, BITS)),
        product(CUBE, moved(BITS, BITS, SIDE), "i8"),
        Work(bytes=moved(BITS, BITS, SIDE)),
    ),
]
