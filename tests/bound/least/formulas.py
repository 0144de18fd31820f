"""Products of which one operand is a formula of its indices, perhaps with data in it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, bf16, exactly, f32, moved
from least.zeros import product


def cosines(x: Any) -> Any:
    n = torch.arange(1024, dtype=torch.float32)
    return x @ torch.cos(torch.outer(n + 0.5, n) * (math.pi / 1024))


def cosines_of_data(x: Any, a: Any, b: Any) -> Any:
    return x @ torch.cos(torch.outer(a, b))


def random_features(x: Any, w: Any, b: Any) -> Any:
    """Fourier features: their product with themselves is an approximate kernel."""
    return torch.cos(x @ w + b) * math.sqrt(2 / 4096)


def toeplitz(r: Any, x: Any) -> Any:
    n = torch.arange(4096)
    return r[n[:, None] - n[None, :] + 4095] @ x


def causal_toeplitz(r: Any, x: Any) -> Any:
    n = torch.arange(4096)
    lag = n[:, None] - n[None, :]
    return torch.where(lag >= 0, r[lag.clamp(min=0)], 0.0) @ x


def sinusoids(x: Any) -> Any:
    place = torch.arange(1024, dtype=torch.float32)[:, None]
    rate = torch.exp(torch.arange(0, 512, 2, dtype=torch.float32) * (-math.log(10000.0) / 512))
    table = torch.zeros(1024, 512)
    table[:, 0::2] = torch.sin(place * rate)
    table[:, 1::2] = torch.cos(place * rate)
    return x @ table


def gaussian_blur(x: Any) -> Any:
    place = torch.arange(31, dtype=torch.float32) - 15
    bell = torch.exp(-(place[:, None] ** 2 + place[None, :] ** 2) / 50)
    bell = bell / bell.sum()
    return F.conv2d(x, bell.expand(3, 1, 31, 31), groups=3)


def smoothing_matrix(x: Any) -> Any:
    place = torch.arange(2048, dtype=torch.float32)
    return torch.exp(-((place[:, None] - place[None, :]) ** 2) / 1000) @ x


def hat_interpolation(x: Any) -> Any:
    """Linear interpolation of 1024 samples at 2048 places, as a matrix."""
    hat = F.relu(1 - (torch.arange(2048)[None, :] / 2 - torch.arange(1024)[:, None]).abs())
    return x @ hat


def rotary(x: Any) -> Any:
    place = torch.arange(4096, dtype=torch.float32)
    rate = 10000.0 ** (-torch.arange(0, 64, dtype=torch.float32) / 64)
    angle = torch.outer(place, rate)
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    first, second = x.float().chunk(2, -1)
    return (x.float() * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)


def decay(g: Any, x: Any) -> Any:
    """exp(g[i] - g[j]) is exp(g[i]) times exp(-g[j])."""
    return torch.exp(g[:, None] - g[None, :]) @ x


def jax_cosines(x: Any) -> Any:
    import jax.numpy as jnp

    n = jnp.arange(1024, dtype=jnp.float32)
    return x @ jnp.cos(jnp.outer(n + 0.5, n) * (jnp.pi / 1024))


SIGNAL = f32(4096, 1024)
TABLE = 1024 * 1024
IMAGES = f32(8, 3, 1054, 1054)
# Even places copy a sample; odd ones lie between two, but for the last, which has one neighbour.
HATS = 1024 + 2 * 1023 + 1
HEADS = bf16(4, 32, 4096, 128)
PAIR = f32(4096, 512)

CASES = [
    Case(  # nothing from below: transforms would avoid most of it, and folding the signal half of it
        "signal times cosines",
        Torch(cosines, (SIGNAL,)),
        Work(products={"f32": 4096 * TABLE}, slots=TABLE, special=TABLE, bytes=2 * SIGNAL.bytes),
        Work(bytes=2 * SIGNAL.bytes),
    ),
    exactly(
        "signal times cosines of an outer product",
        Torch(cosines_of_data, (SIGNAL, f32(1024), f32(1024))),
        Work(
            products={"f32": 4096 * TABLE},
            slots=TABLE,
            special=TABLE,
            bytes=moved(SIGNAL, SIGNAL, f32(1024), f32(1024)),
        ),
    ),
    exactly(
        "random features",
        Torch(random_features, (SIGNAL, f32(1024, 4096), f32(4096))),
        Work(
            products={"f32": 4096 * 1024 * 4096},
            slots=2 * 4096 * 4096,
            special=4096 * 4096,
            bytes=moved(SIGNAL, f32(1024, 4096), f32(4096), f32(4096, 4096)),
        ),
    ),
    exactly(  # every pair r[i - j], x[j] is another product
        "Toeplitz matrix by indices",
        Torch(toeplitz, (f32(8191), PAIR)),
        product(4096 * 4096 * 512, moved(f32(8191), PAIR, PAIR)),
    ),
    exactly(
        "causal Toeplitz matrix",
        Torch(causal_toeplitz, (f32(4096), PAIR)),
        product(4096 * 4097 // 2 * 512, moved(f32(4096), PAIR, PAIR)),
    ),
    Case(
        "signal times sinusoids",
        Torch(sinusoids, (SIGNAL,)),
        Work(
            products={"f32": 4096 * 1024 * 512},
            slots=1024 * 512,
            special=1024 * 512 + 512,
            bytes=moved(SIGNAL, f32(4096, 512)),
        ),
        Work(bytes=moved(SIGNAL, f32(4096, 512))),
    ),
    Case(  # exp of a sum is a product: 31 taps along each row of 1054, then 31 along each column
        "blur by a Gaussian made inside",
        Torch(gaussian_blur, (IMAGES,)),
        Work(
            products={"f32": 24 * 31 * (1054 * 1024 + 1024 * 1024)},
            slots=24 * 1024 * 1024,
            special=1000,
            bytes=moved(IMAGES, f32(8, 3, 1024, 1024)),
        ),
        Work(bytes=moved(IMAGES, f32(8, 3, 1024, 1024))),
    ),
    Case(  # 2048 distances
        "smoothing by a matrix of exponentials",
        Torch(smoothing_matrix, (f32(2048, 1024),)),
        Work(products={"f32": 2048 * 2048 * 1024}, slots=2048 * 2048, special=2048 * 2048, bytes=2 * 2048 * 1024 * 4),
        Work(bytes=2 * 2048 * 1024 * 4),
    ),
    Case(  # the copies are products by 1
        "interpolation by a matrix of hats",
        Torch(hat_interpolation, (SIGNAL,)),
        Work(products={"f32": 4096 * HATS}, slots=2048, special=0, bytes=moved(SIGNAL, f32(4096, 2048))),
        Work(bytes=moved(SIGNAL, f32(4096, 2048))),
    ),
    Case(  # a product and a multiply-add for each element; the table is the same for every head
        "rotary embedding by formula",
        Torch(rotary, (HEADS,)),
        Work(
            products={}, slots=2 * 4 * 32 * 4096 * 128 + 4096 * 128, special=2 * 4096 * 64 + 64, bytes=2 * HEADS.bytes
        ),
        Work(bytes=2 * HEADS.bytes),
    ),
    Case(  # the row's factor leaves the sum: one sum of 4096 terms per column, times exp(g[i])
        "exponentials of differences",
        Torch(decay, (f32(4096), f32(4096, 512))),
        Work(
            products={"f32": 2 * 4096 * 512},
            slots=3 * 4096 * 512,
            special=2 * 4096,
            bytes=moved(f32(4096), PAIR, PAIR),
        ),
        Work(bytes=moved(f32(4096), PAIR, PAIR)),
    ),
    Case(
        "jax signal times cosines",
        Jax(jax_cosines, (SIGNAL,)),
        Work(products={"f32": 4096 * TABLE}, slots=TABLE, special=TABLE, bytes=2 * SIGNAL.bytes),
        Work(bytes=2 * SIGNAL.bytes),
    ),
]
