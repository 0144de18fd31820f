"""Values that depend on no input: masks in buffers, index tables, positions, constants. What is not folded is lost in
either direction: masks hide nothing, and look-ups count as one row."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Known, Torch, Work, bf16, exactly, f32, i64, moved
from least.zeros import product

BATCH, HEADS, WIDTH = 8, 12, 64


def attention(name: str, program: Torch | Jax, length: int, pairs: int, mask: int = 0) -> Case:
    """A mask that the file carries may be read, or be known by its structure. Rows that see one token need no score."""
    heads = BATCH * HEADS
    products = {"bf16": heads * pairs * 2 * WIDTH}
    bytes = 4 * moved(bf16(BATCH, HEADS, length, WIDTH))
    slots, special = heads * (3 * pairs + length * WIDTH), heads * (pairs + length)
    return Case(
        name, program, Work(products, slots, special, bytes + mask), Work(products, bytes=bytes), tolerance=1e-4
    )


class MaskedAttention(nn.Module):
    """A mask that the model carries, larger than what it is used for."""

    def __init__(self, mask: Any) -> None:
        super().__init__()
        self.register_buffer("bias", mask)

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        n = q.shape[-2]
        scores = q @ k.transpose(-1, -2) / 8
        scores = torch.where(self.bias[:n, :n], scores, torch.finfo(scores.dtype).min)
        return torch.softmax(scores, -1) @ v


def triangle(n: int) -> Any:
    return torch.tril(torch.ones(n, n, dtype=torch.bool))


def strided_blocks(n: int) -> Any:
    """Tokens see their block of 64 and every eighth block before it."""
    block = torch.arange(n) // 64
    apart = block[:, None] - block[None, :]
    return (apart >= 0) & (apart % 8 == 0)


def position_mask(q: Any, k: Any, v: Any) -> Any:
    """As decoder models build it from the positions in their cache."""
    n = 2048
    place = torch.arange(n)
    bias = torch.full((n, n), torch.finfo(q.dtype).min, dtype=q.dtype).triu(1)
    bias = bias * (torch.arange(n) > place.reshape(-1, 1))
    bias = bias[None, None].expand(BATCH, 1, -1, -1).clone()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def packed_triangle(entries: Any, x: Any) -> Any:
    row, column = torch.tril_indices(2048, 2048)
    full = torch.zeros(2048, 2048)
    full[row, column] = entries
    return full @ x


def upper_pairs(z: Any) -> Any:
    i, j = torch.triu_indices(27, 27, 1)
    return torch.bmm(z, z.transpose(1, 2))[:, i, j]


def column_order(x: Any, w: Any) -> Any:
    """The pixels of a 64 x 64 image, column by column."""
    order = torch.arange(4096).view(64, 64).T.flatten()
    return F.relu(x @ w)[order] + 1


def every_other_row(x: Any, w: Any) -> Any:
    return F.relu(x @ w)[torch.arange(0, 4096, 2)]


def listed_channels(x: Any, w: Any) -> Any:
    return torch.tanh(x @ w)[:, torch.tensor([5, 3, 3, 1000, 5, 7])]


def edges(x: Any) -> Any:
    sobel = torch.tensor([[[[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]], [[[1.0, 2, 1], [0, 0, 0], [-1, -2, -1]]]])
    return F.conv2d(x, sobel)


def segments(x: Any) -> Any:
    member = F.one_hot(torch.arange(65536) % 64, 64).float()
    return member.T @ x


def given_rows(x: Any, w: Any, row: Any) -> Any:
    return F.relu(x @ w)[row]


def jax_constant_mask(q: Any, k: Any, v: Any) -> Any:
    import jax
    import jax.numpy as jnp
    import numpy as np

    seen = np.tril(np.ones((1024, 1024), bool))
    scores = jnp.einsum("bhid,bhjd->bhij", q, k).astype(jnp.float32) / 8
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhij,bhjd->bhid", weights.astype(q.dtype), v)


def jax_packed_triangle(entries: Any, x: Any) -> Any:
    import jax.numpy as jnp

    row, column = jnp.tril_indices(2048)
    return jnp.zeros((2048, 2048)).at[row, column].set(entries) @ x


SHORT = bf16(BATCH, HEADS, 256, WIDTH)
MIDDLE = bf16(BATCH, HEADS, 1024, WIDTH)
LONG = bf16(BATCH, HEADS, 2048, WIDTH)
TRIANGLE = 2048 * 2049 // 2
# Block b of 32 sees b // 8 + 1 blocks of 64 x 64: eight blocks each of 1, 2, 3, 4.
STRIDED = 8 * (1 + 2 + 3 + 4) * 64 * 64
SIDE, TALL = f32(1024, 1024), f32(4096, 1024)
PHOTOS = f32(16, 1, 1026, 1026)

CASES = [
    attention(
        "causal mask in a small buffer",
        Torch(lambda: MaskedAttention(triangle(256)), (SHORT,) * 3, build=True, real=True),
        256,
        256 * 257 // 2,
        mask=256 * 256,
    ),
    attention(
        "causal mask in a buffer of 1024 x 1024",
        Torch(lambda: MaskedAttention(triangle(1024)), (MIDDLE,) * 3, build=True, real=True),
        1024,
        1024 * 1025 // 2,
        mask=1024 * 1024,
    ),
    attention(
        "block mask in a buffer",
        Torch(lambda: MaskedAttention(strided_blocks(2048)), (LONG,) * 3, build=True, real=True),
        2048,
        STRIDED,
        mask=2048 * 2048,
    ),
    attention("mask from positions", Torch(position_mask, (LONG,) * 3), 2048, TRIANGLE),
    exactly(
        "triangle from packed entries",
        Torch(packed_triangle, (f32(TRIANGLE), f32(2048, 1024))),
        product(TRIANGLE * 1024, moved(f32(TRIANGLE), f32(2048, 1024), f32(2048, 1024))),
    ),
    exactly(
        "pairs above the diagonal",
        Torch(upper_pairs, (f32(8192, 27, 128),)),
        product(8192 * 351 * 128, moved(f32(8192, 27, 128), f32(8192, 351))),
    ),
    exactly(
        "rows of a product in a known order",
        Torch(column_order, (TALL, SIDE)),
        product(4096 * 1024 * 1024, moved(TALL, SIDE, TALL), slots=2 * 4096 * 1024),
    ),
    exactly(
        "every other row by arange",
        Torch(every_other_row, (TALL, SIDE)),
        product(2048 * 1024 * 1024, moved(f32(2048, 1024), SIDE, f32(2048, 1024)), slots=2048 * 1024),
    ),
    exactly(  # four distinct columns
        "channels by a list",
        Torch(listed_channels, (TALL, SIDE)),
        Work(
            products={"f32": 4096 * 1024 * 4},
            slots=0,
            special=4096 * 4,
            bytes=moved(TALL, f32(1024, 4), f32(4096, 6)),
        ),
        tolerance=1e-5,  # the list itself may be read
    ),
    Case(  # six taps each that are not zero
        "edges by constant filters",
        Torch(edges, (PHOTOS,)),
        Work(
            products={"f32": 16 * 2 * 6 * 1024 * 1024},
            special=0,
            slots=16 * 2 * 6 * 1024 * 1024,
            bytes=moved(PHOTOS, f32(16, 2, 1024, 1024)) + 72,
        ),
        Work(bytes=moved(PHOTOS, f32(16, 2, 1024, 1024))),
    ),
    Case(  # one addition for each element
        "sums of residue classes by one-hot rows",
        Torch(segments, (f32(65536, 256),)),
        Work(products={"f32": 65536 * 256}, special=0, slots=65536 * 256, bytes=moved(f32(65536, 256), f32(64, 256))),
        Work(bytes=moved(f32(65536, 256), f32(64, 256))),
    ),
    exactly(
        "rows whose places are given",
        Torch(given_rows, (TALL, SIDE, Known((5, 9, 5, 4000, 77, 9, 9, 1)))),
        product(5 * 1024 * 1024, moved(f32(5, 1024), SIDE, i64(8), f32(8, 1024)), slots=5 * 1024),
        options=("--values",),
    ),
    attention(
        "jax causal mask as a constant",
        Jax(jax_constant_mask, (MIDDLE,) * 3),
        1024,
        1024 * 1025 // 2,
        mask=1024 * 1024,
    ),
    exactly(
        "jax triangle from packed entries",
        Jax(jax_packed_triangle, (f32(TRIANGLE), f32(2048, 1024))),
        product(TRIANGLE * 1024, moved(f32(TRIANGLE), f32(2048, 1024), f32(2048, 1024))),
    ),
]
