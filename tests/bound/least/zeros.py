"""Zeros by structure: what updates leave untouched, blocks, products with identities, padding, zero-stuffing, gates."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, bf16, exactly, expected_rows, f32, i32, moved


def product(count: float, bytes: float, dtype: str = "f32", slots: float = 0) -> Work:
    """A program that only multiplies and adds."""
    return Work(products={dtype: count}, slots=slots, special=0, bytes=bytes)


def part_of_zeros(a: Any, b: Any) -> Any:
    z = torch.zeros(4096, 4096)
    z[:, :1024] = a
    return z @ b


def every_other_column(a: Any, b: Any) -> Any:
    z = torch.zeros(4096, 4096)
    z[:, 1::2] = a
    return z @ b


def blocks(a: Any, b: Any, c: Any, d: Any, x: Any) -> Any:
    return torch.block_diag(a, b, c, d) @ x


def rolled_blocks(a: Any, b: Any, x: Any) -> Any:
    return torch.roll(torch.block_diag(a, b), 512, 0) @ x


def identity_kron(w: Any, x: Any) -> Any:
    return torch.kron(torch.eye(16), w) @ x


def kron_of_two(a: Any, b: Any, x: Any) -> Any:
    return torch.kron(a, b) @ x


def padded_then_rolled(a: Any, b: Any) -> Any:
    return torch.roll(F.pad(a, (0, 3072)), 1024, -1) @ b


def unfolded_convolution(x: Any, w: Any) -> Any:
    return (w @ F.unfold(x, 3, padding=1)).view(8, 128, 56, 56)


def zero_stuffed_convolution(x: Any, w: Any) -> Any:
    up = x.new_zeros(8, 64, 112, 112)
    up[:, :, ::2, ::2] = x
    return F.conv2d(up, w, padding=1)


def triangles(a: Any, b: Any) -> Any:
    return torch.tril(a) @ torch.tril(b)


def reversed_rows(x: Any) -> Any:
    return torch.flip(torch.eye(4096), [0]) @ x


def scattered_gates(x: Any, router: Any, w: Any) -> Any:
    """Top 2 of 8 experts, all of them spelled out."""
    weight, choice = (x @ router).softmax(-1).topk(2, -1)
    gates = torch.zeros(4096, 8, dtype=x.dtype).scatter(1, choice, weight)
    hidden = torch.einsum("td,edf->tef", x, w)
    return (gates[:, :, None] * hidden).sum(1)


def scattered_diagonal(d: Any, x: Any) -> Any:
    row = torch.arange(4096)
    return torch.zeros(4096, 4096).index_put((row, row), d) @ x


def jax_block(a: Any, b: Any) -> Any:
    import jax.numpy as jnp

    return jnp.zeros((4096, 4096)).at[1024:2048, :2048].set(a) @ b


def jax_block_diag(a: Any, b: Any, x: Any) -> Any:
    import jax.scipy.linalg

    return jax.scipy.linalg.block_diag(a, b) @ x


def jax_one_hot(token: Any, table: Any) -> Any:
    import jax

    return jax.nn.one_hot(token, 1024) @ table


N = 4096
BIG, QUARTER, HALF = f32(N, N), f32(N, 1024), f32(N, 2048)
BLOCK, BLOCK2, WIDE = f32(1024, 1024), f32(2048, 2048), f32(N, 2048)
IMAGE = f32(8, 64, 56, 56)
# Of 56 x 3 taps in a dimension, one at either end falls into the padding.
INSIDE = (3 * 56 - 2) ** 2
# Every stuffed value u = 2m meets three taps, at results u + 1, u, u - 1; the last is outside for u = 0.
STUFFED = (3 * 56 - 1) ** 2
TOKENS, EXPERT_WIDTH, EXPERT_HIDDEN = 4096, 1024, 4096
ROUTER = TOKENS * EXPERT_WIDTH * 8
CHOSEN = TOKENS * 2 * EXPERT_WIDTH * EXPERT_HIDDEN
GATE_BYTES = moved(
    bf16(TOKENS, EXPERT_WIDTH),
    bf16(EXPERT_WIDTH, 8),
    bf16(8, EXPERT_WIDTH, EXPERT_HIDDEN),
    bf16(TOKENS, EXPERT_HIDDEN),
)

CASES = [
    exactly(  # rows of b beyond 1024 meet zeros only
        "quarter of the columns set",
        Torch(part_of_zeros, (QUARTER, BIG)),
        product(N * 1024 * N, moved(QUARTER, QUARTER, BIG)),
    ),
    exactly(
        "every other column set", Torch(every_other_column, (HALF, BIG)), product(N * 2048 * N, moved(HALF, HALF, BIG))
    ),
    exactly(
        "block_diag of four",
        Torch(blocks, (BLOCK, BLOCK, BLOCK, BLOCK, WIDE)),
        product(4 * 1024 * 1024 * 2048, moved(BLOCK, BLOCK, BLOCK, BLOCK, WIDE, WIDE)),
    ),
    exactly(
        "block_diag of two, rolled",
        Torch(rolled_blocks, (BLOCK2, BLOCK2, WIDE)),
        product(2 * 2048**3, moved(BLOCK2, BLOCK2, WIDE, WIDE)),
    ),
    exactly(
        "kron with the identity",
        Torch(identity_kron, (f32(256, 256), WIDE)),
        product(16 * 256 * 256 * 2048, moved(f32(256, 256), WIDE, WIDE)),
    ),
    exactly(  # x[(j, l), n] times b[k, l], then times a[i, j]: 64 products each per element of x
        "kron of two matrices, one after the other",
        Torch(kron_of_two, (f32(64, 64), f32(64, 64), WIDE)),
        product(2 * 64 * N * 2048, moved(f32(64, 64), f32(64, 64), WIDE, WIDE)),
    ),
    exactly(
        "padded, then rolled",
        Torch(padded_then_rolled, (QUARTER, BIG)),
        product(N * 1024 * N, moved(QUARTER, QUARTER, BIG)),
    ),
    exactly(
        "convolution by unfold, padding 1",
        Torch(unfolded_convolution, (IMAGE, f32(128, 576))),
        product(8 * 128 * 64 * INSIDE, moved(IMAGE, IMAGE, IMAGE, f32(128, 576))),
    ),
    exactly(
        "convolution over zero-stuffed rows",
        Torch(zero_stuffed_convolution, (IMAGE, f32(128, 64, 3, 3))),
        product(8 * 128 * 64 * STUFFED, moved(IMAGE, f32(8, 128, 112, 112), f32(128, 64, 3, 3))),
    ),
    exactly(  # k from j to i: i - j + 1 products for j <= i; the upper half of the result is written as zeros
        "product of triangles",
        Torch(triangles, (f32(2048, 2048), f32(2048, 2048))),
        product(2048 * 2049 * 2050 // 6, 2 * 4 * (2048 * 2049 // 2) + 4 * 2048 * 2048),
    ),
    Case(  # one product by 1 per result at most; nothing need be multiplied at all
        "rows reversed by a flipped identity",
        Torch(reversed_rows, (WIDE,)),
        product(N * 2048, 2 * WIDE.bytes),
        Work(bytes=2 * WIDE.bytes),
    ),
    Case(  # the router, two experts a token and their weighted sum; two random picks of 8 are 1.875 experts
        "gates of the top 2 by scatter",
        Torch(
            scattered_gates,
            (bf16(TOKENS, EXPERT_WIDTH), bf16(EXPERT_WIDTH, 8), bf16(8, EXPERT_WIDTH, EXPERT_HIDDEN)),
        ),
        Work(products={"bf16": ROUTER + CHOSEN + TOKENS * 2 * EXPERT_HIDDEN}, bytes=GATE_BYTES),
        Work(products={"bf16": ROUTER + CHOSEN * expected_rows(8, 2) / 2}, bytes=GATE_BYTES),
    ),
    exactly(
        "diagonal by index_put",
        Torch(scattered_diagonal, (f32(N), WIDE)),
        product(N * 2048, moved(f32(N), WIDE, WIDE)),
    ),
    exactly(  # the result has 1024 rows of numbers and 3072 rows of zeros, all written
        "jax block set in zeros",
        Jax(jax_block, (f32(1024, 2048), WIDE)),
        product(1024 * 2048 * 2048, moved(f32(1024, 2048), BLOCK2, WIDE)),
    ),
    exactly(
        "jax block_diag",
        Jax(jax_block_diag, (BLOCK2, BLOCK2, WIDE)),
        product(2 * 2048**3, moved(BLOCK2, BLOCK2, WIDE, WIDE)),
    ),
    Case(  # a look-up: a product by 1 per result at most; 65,536 tokens leave out none of 1024 rows
        "jax one-hot rows",
        Jax(jax_one_hot, (i32(65536), f32(1024, 512))),
        product(65536 * 512, moved(i32(65536), f32(1024, 512), f32(65536, 512))),
        Work(bytes=moved(i32(65536), f32(1024, 512), f32(65536, 512))),
    ),
]
