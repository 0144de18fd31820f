"""Equal computations: symmetric products, the same product transposed or commuted, parts computed again."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Loops, Torch, Work, bf16, exactly, f32, moved
from least.zeros import product


def gram(x: Any) -> Any:
    return x @ x.T


def batched_gram(x: Any) -> Any:
    """The style of an image: products of its channels."""
    flat = x.flatten(2)
    return torch.bmm(flat, flat.transpose(1, 2)) / 4096


def covariance(x: Any) -> Any:
    centred = x - x.mean(1, keepdim=True)
    return centred @ centred.T / 8191


def weighted_gram(x: Any, s: Any) -> Any:
    return (x * s) @ x.T


def distances(x: Any) -> Any:
    return torch.cdist(x, x)


def both_ways(a: Any, b: Any) -> Any:
    return a @ b.T, b @ a.T


def contrast(a: Any, b: Any) -> Any:
    """Two-sided contrastive loss: the second matrix of scores is the first one transposed."""
    target = torch.arange(4096)
    return F.cross_entropy(a @ b.T, target) + F.cross_entropy(b @ a.T, target)


def part_again(x: Any, w: Any) -> Any:
    return torch.tanh(x @ w), torch.sigmoid(x[:1024] @ w[:, :1024])


def commuted(a: Any, b: Any, c: Any) -> Any:
    return (a * b) @ c + (b * a) @ c


def softmax_twice(x: Any) -> Any:
    return torch.softmax(x, -1), torch.log_softmax(x, -1)


def statistics_twice(x: Any) -> Any:
    return F.layer_norm(x, (4096,)), x.var(-1, unbiased=False), x.mean(-1)


class TiedLayer(nn.Module):
    """Its training step has the forward product and the gradients of the weights."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2048, 2048, bias=False)

    def forward(self, x: Any) -> Any:
        return torch.tanh(self.layer(x))


def overlaps(x1: Any, y1: Any, x2: Any, y2: Any) -> Any:
    """Which boxes overlap another one by more than half, as before suppressing them."""
    wide = (torch.minimum(x2[:, None], x2[None]) - torch.maximum(x1[:, None], x1[None])).clamp(min=0)
    high = (torch.minimum(y2[:, None], y2[None]) - torch.maximum(y1[:, None], y1[None])).clamp(min=0)
    common, area = wide * high, (x2 - x1) * (y2 - y1)
    return (common / (area[:, None] + area[None] - common) > 0.5).any(1)


def greater(a: Any) -> Any:
    return torch.exp(torch.maximum(a[:, None], a[None])).sum(1)


def jax_greater(a: Any) -> Any:
    import jax.numpy as jnp

    return jnp.exp(jnp.maximum(a[:, None], a[None])).sum(1)


def turned(x: Any) -> Any:
    """Rotated by its position, as rotary embeddings are."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def grouped(x: Any, wq: Any, wk: Any) -> Any:
    """Scores of heads in groups that share their keys."""
    q = turned((x @ wq).view(512, 8, 16).transpose(0, 1))
    k = turned((x @ wk).view(512, 2, 16).transpose(0, 1)).repeat_interleave(4, 0)
    return torch.exp(q @ k.transpose(1, 2))


def jax_gram(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.einsum("id,jd->ij", x, x)


def jax_kernel(x: Any) -> Any:
    import jax.numpy as jnp

    square = (x**2).sum(-1)
    return jnp.exp(-(square[:, None] + square[None, :] - 2 * x @ x.T))


HALVES = """program halves(x: f32[2048, 512]) -> (y) {
  upper: f32[2048, 2048] = for i, j: sum k in 512: x[i, k] * x[j, k]
  lower: f32[2048, 2048] = for i, j: sum k in 512: x[j, k] * x[i, k]
  y: f32[2048, 2048] = for i, j: upper[i, j] + lower[i, j]
}
"""

N, D = 4096, 1024
ROWS, SCORES = f32(N, D), f32(N, N)
HALF = N * (N + 1) // 2
SIDE = f32(2048, 2048)

CASES = [
    exactly("x @ x.T", Torch(gram, (ROWS,)), product(HALF * D, moved(ROWS, SCORES))),
    exactly(
        "products of channels",
        Torch(batched_gram, (bf16(16, 512, 64, 64),)),
        product(
            16 * (512 * 513 // 2) * 4096,
            moved(bf16(16, 512, 64, 64), bf16(16, 512, 512)),
            "bf16",
            slots=16 * 512 * 513 // 2,
        ),
    ),
    Case(  # means of the rows, differences, half of the products
        "covariance",
        Torch(covariance, (f32(2048, 8192),)),
        product(2048 * 2049 // 2 * 8192, moved(f32(2048, 8192), SIDE), slots=2 * 2048 * 8192 + 2048 * 2048),
        Work(products={"f32": 2048 * 2049 // 2 * 8192}, bytes=moved(f32(2048, 8192), SIDE)),
    ),
    exactly(
        "x times weights @ x.T",
        Torch(weighted_gram, (ROWS, f32(D))),
        product(HALF * D, moved(ROWS, f32(D), SCORES), slots=N * D),
    ),
    Case(  # squares of the rows and half of a product, as torch itself does it
        "distances of rows to each other",
        Torch(distances, (f32(2048, 512),)),
        Work(
            products={"f32": (2048 * 2049 // 2 + 2048) * 512},
            slots=3 * 2048 * 2049 // 2,
            special=2048 * 2049 // 2,
            bytes=moved(f32(2048, 512), SIDE),
        ),
        Work(bytes=moved(f32(2048, 512), SIDE)),
    ),
    exactly(  # the second result is a view of the first
        "a product and its transpose", Torch(both_ways, (ROWS, ROWS)), product(N * N * D, moved(ROWS, ROWS, SCORES))
    ),
    exactly(  # exponentials along rows and along columns: largest, difference and total for each
        "contrastive loss both ways",
        Torch(contrast, (ROWS, ROWS)),
        Work(
            products={"f32": N * N * D},
            slots=2 * 3 * N * N,
            special=2 * N * (N + 1),
            bytes=moved(ROWS, ROWS, f32()),
        ),
    ),
    exactly(
        "part of a product again",
        Torch(part_again, (SIDE, SIDE)),
        Work(
            products={"f32": 2048**3},
            slots=1024 * 1024,
            special=2048**2 + 1024**2,
            bytes=moved(SIDE, SIDE, SIDE, f32(1024, 1024)),
        ),
    ),
    exactly(  # the result doubled
        "commuted factors",
        Torch(commuted, (SIDE, SIDE, SIDE)),
        product(2048**3, 4 * SIDE.bytes, slots=2 * 2048**2),
    ),
    Case(  # one exponential for each element; a quotient and a logarithm for each row
        "softmax and its logarithm",
        Torch(softmax_twice, (SCORES,)),
        Work(products={}, slots=5 * N * N, special=N * N + 2 * N, bytes=3 * SCORES.bytes),
        Work(bytes=3 * SCORES.bytes),
    ),
    Case(  # mean and variance once: a sum, a difference and a square, and a product
        "norm and its statistics",
        Torch(statistics_twice, (SCORES,)),
        Work(products={"f32": N * N}, slots=4 * N * N, special=N, bytes=2 * SCORES.bytes + 2 * N * 4),
        Work(bytes=2 * SCORES.bytes + 2 * N * 4),
    ),
    Case(  # x @ w and its gradient for w; tanh is kept, its slope is 1 - y * y; the loss is a mean of squares
        "training step of a layer",
        Torch(TiedLayer, (f32(4096, 2048),), build=True, training=True),
        Work(
            products={"f32": 2 * 4096 * 2048 * 2048 + 4096 * 2048},
            slots=6 * 4096 * 2048,
            special=4096 * 2048,
            bytes=moved(f32(4096, 2048), SIDE, SIDE, f32()),
        ),
        Work(products={"f32": 2 * 4096 * 2048 * 2048}, bytes=moved(f32(4096, 2048), SIDE, SIDE, f32())),
    ),
    exactly("jax gram by einsum", Jax(jax_gram, (ROWS,)), product(HALF * D, moved(ROWS, SCORES))),
    Case(  # the squares are the diagonal; everything is symmetric
        "jax Gaussian kernel",
        Jax(jax_kernel, (ROWS,)),
        Work(products={"f32": HALF * D + N * D}, slots=2 * HALF, special=HALF, bytes=moved(ROWS, SCORES)),
        Work(products={"f32": HALF * D}, bytes=moved(ROWS, SCORES)),
    ),
    Case(  # a pair: two largest and two least share slots, differences, a product, two sums, a quotient, a comparison
        "overlaps of boxes with each other",
        Torch(overlaps, (f32(8192),) * 4),
        Work(products={}, slots=8 * (8192 * 8193 // 2) + 8192 * 8192 // 32, bytes=moved(*(f32(8192),) * 4) + 8192),
        Work(bytes=8192),
    ),
    *(
        Case(  # one exponential for a pair, half a slot for its largest; all are added
            f"{name}exponentials of the greater of two",
            of,
            Work(
                products={},
                slots=8192 * 8191 + 8192 * 8191 // 4,
                special=8192 * 8193 // 2,
                bytes=2 * 8192 * 4,
            ),
            Work(bytes=2 * 8192 * 4),
        )
        for name, of in (("", Torch(greater, (f32(8192),))), ("jax ", Jax(jax_greater, (f32(8192),))))
    ),
    Case(
        "scores of groups of heads, rotated",
        Torch(grouped, (f32(512, 256), f32(256, 128), f32(256, 32))),
        Work(
            products={"f32": 512 * 256 * 160 + 8 * 512 * 512 * 16},
            slots=3 * 512 * 160,
            special=8 * 512 * 512,
            bytes=moved(f32(512, 256), f32(256, 128), f32(256, 32), f32(8, 512, 512)),
        ),
        Work(bytes=moved(f32(512, 256), f32(256, 128), f32(256, 32), f32(8, 512, 512))),
    ),
    exactly(
        "both halves spelled out",
        Loops(HALVES),
        product(2048 * 2049 // 2 * 512, moved(f32(2048, 512), SIDE), slots=2048 * 2048),
    ),
]
