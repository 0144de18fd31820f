"""Running and sliding sums and maxima, however they are spelled: a few operations per result, not one per term."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Loops, Torch, Work, bf16, f32, moved


def additions(slots: float, bytes: float) -> Work:
    """No product needs a matrix unit."""
    return Work(products={}, slots=slots, special=0, bytes=bytes)


def box_filter(x: Any) -> Any:
    return F.conv2d(x, torch.ones(1, 1, 9, 9))


def box_filter_of_channels(x: Any) -> Any:
    """Sums over 9 x 9 places and 16 channels, the same in each of 32 results."""
    return F.conv2d(x, torch.ones(32, 16, 9, 9))


def triangle_of_ones(x: Any) -> Any:
    return torch.tril(torch.ones(8192, 8192)) @ x


def masked_sum(x: Any) -> Any:
    i = torch.arange(2048)
    return torch.where((i[None, :] <= i[:, None])[:, :, None], x[None], 0.0).sum(1)


def band_of_ones(x: Any) -> Any:
    i = torch.arange(8192)
    return ((i[:, None] - i[None, :]).abs() <= 32).float() @ x


def running_mean(x: Any) -> Any:
    seen = torch.tril(torch.ones(8192, 8192))
    return (seen / seen.sum(-1, keepdim=True)) @ x


def moving_average(x: Any) -> Any:
    return F.avg_pool1d(x, 64, stride=1)


def half_overlapping_frames(x: Any) -> Any:
    return x.unfold(-1, 64, 32).sum(-1)


def largest_of_a_window(x: Any) -> Any:
    return F.max_pool2d(x, 9, stride=1)


def summed_area(x: Any) -> Any:
    return x.cumsum(-1).cumsum(-2)


def linear_attention(q: Any, k: Any, v: Any) -> Any:
    return torch.tril(q @ k.transpose(-1, -2)) @ v


def jax_window_sum(x: Any) -> Any:
    import jax

    return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 33), (1, 1), "VALID")


def jax_triangle_of_ones(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tril(jnp.ones((8192, 8192))) @ x


def jax_stacked_prefixes(x: Any) -> Any:
    """The sum of the first 1, 2, ..., 64 rows, each from the start."""
    import jax.numpy as jnp

    return jnp.stack([x[: i + 1].sum(0) for i in range(64)])


PREFIXES = """program prefixes(x: f32[4096, 1024]) -> (y) {
  y: f32[4096, 1024] = for i, c: sum j in 4096: if(j <= i, x[j, c], 0)
}
"""

PHOTO = f32(8, 1, 1032, 1032)
FRAMED = f32(8, 16, 1032, 1032)
PIXELS = 8 * 1024 * 1024
COLUMNS = f32(8192, 1024)
WAVE = f32(256, 65536)
SEQUENCE = bf16(4, 16, 8192, 64)
HEADS, STEPS, CHUNK = 4 * 16, 8192, 16

CASES = [
    Case(  # sums from a block's start and to its end, then of both: three slots per dimension
        "9 x 9 sums by a convolution with ones",
        Torch(box_filter, (PHOTO,)),
        additions(3 * 8 * 1032 * 1032 + 3 * 8 * 1032 * 1024, moved(PHOTO, f32(8, 1, 1024, 1024))),
        Work(bytes=moved(PHOTO, f32(8, 1, 1024, 1024))),
    ),
    Case(  # the channels first, then one image as above
        "9 x 9 sums over channels, in 32 equal results",
        Torch(box_filter_of_channels, (FRAMED,)),
        additions(8 * 1032 * 1032 * (15 + 6), moved(FRAMED, f32(8, 32, 1024, 1024))),
        Work(bytes=moved(FRAMED, f32(8, 32, 1024, 1024))),
    ),
    Case(
        "running sum by a triangle of ones",
        Torch(triangle_of_ones, (COLUMNS,)),
        additions(8192 * 1024, 2 * COLUMNS.bytes),
        Work(bytes=2 * COLUMNS.bytes),
    ),
    Case(
        "running sum by masked terms",
        Torch(masked_sum, (f32(2048, 1024),)),
        additions(2048 * 1024, 2 * 2048 * 1024 * 4),
        Work(bytes=2 * 2048 * 1024 * 4),
    ),
    Case(  # as above, in one dimension
        "band of ones",
        Torch(band_of_ones, (COLUMNS,)),
        additions(3 * 8192 * 1024, 2 * COLUMNS.bytes),
        Work(bytes=2 * COLUMNS.bytes),
    ),
    Case(  # a running sum and a product with 1 / (i + 1)
        "running mean by a normalised triangle",
        Torch(running_mean, (COLUMNS,)),
        Work(products={}, slots=2 * 8192 * 1024, special=8192, bytes=2 * COLUMNS.bytes),
        Work(bytes=2 * COLUMNS.bytes),
    ),
    Case(
        "moving average of 64",
        Torch(moving_average, (f32(256, 1, 65536),)),
        additions(3 * 256 * 65536, moved(WAVE, f32(256, 65536 - 63))),
        Work(bytes=moved(WAVE, f32(256, 65536 - 63))),
    ),
    Case(  # halves of 32 once each, then two halves per frame
        "sums of frames that overlap by half",
        Torch(half_overlapping_frames, (WAVE,)),
        additions(256 * (65536 + 2047), moved(WAVE, f32(256, 2047))),
        Work(bytes=moved(WAVE, f32(256, 2047))),
    ),
    Case(
        "largest of 9 x 9 at every place",
        Torch(largest_of_a_window, (PHOTO,)),
        additions(3 * 8 * 1032 * 1032 + 3 * 8 * 1032 * 1024, moved(PHOTO, f32(8, 1, 1024, 1024))),
        Work(bytes=moved(PHOTO, f32(8, 1, 1024, 1024))),
    ),
    Case(
        "summed area",
        Torch(summed_area, (f32(8, 1024, 1024),)),
        additions(2 * PIXELS, 2 * 4 * PIXELS),
        Work(slots=PIXELS / 2, bytes=2 * 4 * PIXELS),
    ),
    Case(  # a state of 64 x 64 that grows by 16 tokens at a time, and triangles of 16 tokens
        "causal linear attention by a triangle",
        Torch(linear_attention, (SEQUENCE,) * 3),
        Work(
            products={"bf16": HEADS * STEPS * (2 * 64 * 64 + (CHUNK + 1) * 64)},
            special=0,
            bytes=4 * SEQUENCE.bytes,
        ),
        Work(bytes=4 * SEQUENCE.bytes),
    ),
    Case(
        "jax sliding sum of 33",
        Jax(jax_window_sum, (WAVE,)),
        additions(3 * 256 * 65536, moved(WAVE, f32(256, 65536 - 32))),
        Work(bytes=moved(WAVE, f32(256, 65536 - 32))),
    ),
    Case(
        "jax running sum by a triangle of ones",
        Jax(jax_triangle_of_ones, (COLUMNS,)),
        additions(8192 * 1024, 2 * COLUMNS.bytes),
        Work(bytes=2 * COLUMNS.bytes),
    ),
    Case(
        "jax prefixes summed one by one",
        Jax(jax_stacked_prefixes, (f32(64, 65536),)),
        additions(64 * 65536, 2 * 64 * 65536 * 4),
        Work(bytes=2 * 64 * 65536 * 4),
    ),
    Case(
        "prefix sums by a condition",
        Loops(PREFIXES),
        additions(4096 * 1024, 2 * 4096 * 1024 * 4),
        Work(bytes=2 * 4096 * 1024 * 4),
    ),
]
