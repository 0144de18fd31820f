"""Masks that are formulas of positions, in the spellings that libraries use."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, bf16, exactly, f32, moved

BATCH, HEADS, LENGTH, WIDTH = 2, 16, 4096, 64
QUERY = bf16(BATCH, HEADS, LENGTH, WIDTH)
CAUSAL = LENGTH * (LENGTH + 1) // 2


def attention_work(pairs: int, queries: int = LENGTH, keys: int = LENGTH) -> Work:
    """Flash attention over the allowed pairs of each head: a score and a weighted value, an exponential, and three
    slots (largest, difference, total); every result is divided once. Fused can not do with fewer products."""
    heads = BATCH * HEADS
    return Work(
        products={"bf16": heads * pairs * 2 * WIDTH},
        slots=heads * (3 * pairs + queries * WIDTH),
        special=heads * (pairs + queries),
        bytes=moved(bf16(BATCH, HEADS, 2 * queries + 2 * keys, WIDTH)),
    )


def attention(name: str, program: Torch | Jax, pairs: int, **others: Any) -> Case:
    """Rows that see one token need neither score nor weight; they are at most 8 in a million pairs."""
    return exactly(name, program, attention_work(pairs, **others), tolerance=1e-5)


def attend(q: Any, k: Any, v: Any, hidden: Any) -> Any:
    scores = (q @ k.transpose(-1, -2)) / 8
    return torch.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ v


def places() -> tuple[Any, Any]:
    row = torch.arange(LENGTH)
    return row[:, None], row[None, :]


def boolean_triangle(q: Any, k: Any, v: Any) -> Any:
    return attend(q, k, v, torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1))


def additive_triangle(q: Any, k: Any, v: Any) -> Any:
    bias = torch.full((LENGTH, LENGTH), float("-inf"), dtype=q.dtype).triu(1)
    return torch.softmax(q @ k.transpose(-1, -2) / 8 + bias, -1) @ v


def band(q: Any, k: Any, v: Any) -> Any:
    i, j = places()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(i - j).abs() < 256)


def causal_documents(q: Any, k: Any, v: Any) -> Any:
    i, j = places()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(i // 1024 == j // 1024) & (i >= j))


def window_or_sink(q: Any, k: Any, v: Any) -> Any:
    i, j = places()
    return attend(q, k, v, ~((j <= i) & ((i - j < 512) | (j < 4))))


def multiplied(q: Any, k: Any, v: Any) -> Any:
    seen = torch.tril(torch.ones(LENGTH, LENGTH))
    scores = (q @ k.transpose(-1, -2)).float() / 8
    return torch.softmax(scores * seen - 1e9 * (1 - seen), -1).to(v.dtype) @ v


def prefix_by_hstack(q: Any, k: Any, v: Any) -> Any:
    seen = torch.hstack([torch.ones(LENGTH, 512), torch.tril(torch.ones(LENGTH, LENGTH))])
    return attend(q, k, v, seen == 0)


def float_positions(q: Any, k: Any, v: Any) -> Any:
    place = torch.arange(LENGTH, dtype=torch.float32)
    return attend(q, k, v, place[:, None] < place[None, :])


def counted_positions(q: Any, k: Any, v: Any) -> Any:
    place = torch.ones(LENGTH, dtype=torch.int64).cumsum(0) - 1
    bias = torch.where(place[None, :] > place[:, None], torch.finfo(torch.float32).min, 0.0)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))


def neighbourhood(q: Any, k: Any, v: Any) -> Any:
    """Tokens of a 64 x 64 image see those within 3 rows and 3 columns."""
    i, j = places()
    near = ((i // 64 - j // 64).abs() <= 3) & ((i % 64 - j % 64).abs() <= 3)
    return attend(q, k, v, ~near)


def dilated(q: Any, k: Any, v: Any) -> Any:
    """Every eighth earlier token, counted from the own place."""
    i, j = places()
    return attend(q, k, v, ~((j <= i) & ((i - j) % 8 == 0)))


def jax_causal(q: Any, k: Any, v: Any) -> Any:
    import jax

    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def jax_window(q: Any, k: Any, v: Any) -> Any:
    import jax

    return jax.nn.dot_product_attention(q, k, v, local_window_size=(127, 127))


def jax_causal_window(q: Any, k: Any, v: Any) -> Any:
    import jax

    return jax.nn.dot_product_attention(q, k, v, is_causal=True, local_window_size=(255, 0))


def triangle_of_a_product(a: Any, b: Any) -> Any:
    i, j = torch.meshgrid(torch.arange(4096), torch.arange(4096), indexing="ij")
    return torch.where(i >= j, a @ b, 0.0)


def band_pairs(n: int, reach: int) -> int:
    """Pairs at most `reach` apart: n at distance 0, and n - t at distance t on either side."""
    return n * (2 * reach + 1) - reach * (reach + 1)


def causal_window_pairs(n: int, width: int) -> int:
    """The first `width` rows are a triangle, the others see `width` each."""
    return width * (width + 1) // 2 + (n - width) * width


# Beyond the window of 512, row 512 + r sees the first min(4, r + 1) tokens: 1, 2, 3, 4, 4, ...
SINKS = 4 * (LENGTH - 512) - (3 + 2 + 1)
# Row i of the dilated mask sees i // 8 + 1 tokens: 8 rows each of 1, 2, ..., LENGTH / 8.
DILATED = 8 * (LENGTH // 8) * (LENGTH // 8 + 1) // 2
HEADS_LAST = bf16(BATCH, LENGTH, HEADS, WIDTH)
LONGER = bf16(BATCH, HEADS, LENGTH + 512, WIDTH)
SQUARE = f32(4096, 4096)

CASES = [
    attention("boolean triangle", Torch(boolean_triangle, (QUERY,) * 3), CAUSAL),
    attention("-inf above the diagonal, added", Torch(additive_triangle, (QUERY,) * 3), CAUSAL),
    attention("band by abs", Torch(band, (QUERY,) * 3), band_pairs(LENGTH, 255)),
    attention(
        "causal within documents of 1024",
        Torch(causal_documents, (QUERY,) * 3),
        LENGTH // 1024 * (1024 * 1025 // 2),
    ),
    attention("window or sink tokens", Torch(window_or_sink, (QUERY,) * 3), causal_window_pairs(LENGTH, 512) + SINKS),
    attention("scores times mask less 1e9", Torch(multiplied, (QUERY,) * 3), CAUSAL),
    attention(
        "prefix by hstack of masks",
        Torch(prefix_by_hstack, (QUERY, LONGER, LONGER)),
        LENGTH * 512 + CAUSAL,
        keys=LENGTH + 512,
    ),
    attention("positions as floats", Torch(float_positions, (QUERY,) * 3), CAUSAL),
    attention("positions by a running sum of ones", Torch(counted_positions, (QUERY,) * 3), CAUSAL),
    attention("neighbourhood in an image", Torch(neighbourhood, (QUERY,) * 3), band_pairs(64, 3) ** 2),
    attention("every eighth token", Torch(dilated, (QUERY,) * 3), DILATED),
    attention("jax causal flag", Jax(jax_causal, (HEADS_LAST,) * 3), CAUSAL),
    attention("jax window both ways", Jax(jax_window, (HEADS_LAST,) * 3), band_pairs(LENGTH, 127)),
    attention(
        "jax causal window",
        Jax(jax_causal_window, (HEADS_LAST,) * 3),
        causal_window_pairs(LENGTH, 256),
    ),
    exactly(  # one entry of the triangle is one dot product; the last row needs all of b, the last rows all of a
        "triangle of a product by meshgrid",
        Torch(triangle_of_a_product, (SQUARE, SQUARE)),
        Work(products={"f32": 4096 * (4096 * 4097 // 2)}, slots=0, special=0, bytes=3 * SQUARE.bytes),
    ),
]
