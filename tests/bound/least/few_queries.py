"""Few queries over keys and values that are projected here, as in latent attention and attention pooling.

Keys and values are read once and linearly, so that their weights meet the query and the result: with b sequences of L
latent rows of c numbers, and h heads of n, that takes b * h * n * c products before, b * h * L * c for each of scores
and values, and b * h * n * c behind, instead of 2 * b * L * h * n * c for the keys and values alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Torch, Work, bf16, exactly, moved

WIDTH, HEADS, HEAD, LATENT, LENGTH, TURNED = 1024, 16, 64, 256, 4096, 32
INNER = HEADS * HEAD

Projection = Callable[..., tuple[Any, Any]]


def by_head(c: Any, w: Any) -> tuple[Any, Any]:
    return F.linear(c, w).view(*c.shape[:2], HEADS, 2 * HEAD).transpose(1, 2).split(HEAD, -1)


def by_chunk(c: Any, w: Any) -> tuple[Any, Any]:
    return F.linear(c, w).view(*c.shape[:2], HEADS, -1).transpose(1, 2).chunk(2, -1)


def by_half(c: Any, w: Any) -> tuple[Any, Any]:
    return F.linear(c, w).view(*c.shape[:2], 2, HEADS, HEAD).permute(2, 0, 3, 1, 4).unbind(0)


def by_last(c: Any, w: Any) -> tuple[Any, Any]:
    return F.linear(c, w).view(*c.shape[:2], HEADS, HEAD, 2).transpose(1, 2).unbind(-1)


def apart(c: Any, wk: Any, wv: Any) -> tuple[Any, Any]:
    k, v = (F.linear(c, w).view(*c.shape[:2], HEADS, HEAD).transpose(1, 2) for w in (wk, wv))
    return k, v


def made_query(project: Projection) -> Callable[..., Any]:
    def attend(x: Any, wq: Any, c: Any, *w: Any) -> Any:
        q = F.linear(x, wq).view(x.shape[0], 1, HEADS, HEAD).transpose(1, 2)
        return F.scaled_dot_product_attention(q, *project(c, *w))

    return attend


def given_query(project: Projection) -> Callable[..., Any]:
    def attend(q: Any, c: Any, *w: Any) -> Any:
        return F.scaled_dot_product_attention(q, *project(c, *w))

    return attend


def latent(name: str, project: Projection, batch: int = 8, given: bool = False) -> Case:
    inner = bf16(INNER, LATENT)
    weights = (inner, inner) if project is apart else (bf16(2 * INNER, LATENT),)
    context, result = bf16(batch, LENGTH, LATENT), bf16(batch, HEADS, 1, HEAD)
    asked = (result,) if given else (bf16(batch, 1, WIDTH), bf16(INNER, WIDTH))
    query = 0 if given else WIDTH * INNER
    products = batch * (query + 2 * INNER * LATENT + 2 * HEADS * LENGTH * LATENT)
    inputs = (*asked, context, *weights)
    function = (given_query if given else made_query)(project)
    return exactly(name, Torch(function, inputs), Work({"bf16": products}, bytes=moved(*inputs, result)))


class Turned(nn.Module):
    """Latent attention as DeepSeek has it: parts of the query and of the keys that are turned stand beside."""

    def __init__(self, rank: int = 384) -> None:
        super().__init__()
        linear = lambda i, o: nn.Linear(i, o, bias=False, dtype=torch.bfloat16)  # noqa: E731
        self.down, self.norm = linear(WIDTH, rank), nn.RMSNorm(rank, dtype=torch.bfloat16)
        self.up, self.spread = linear(rank, HEADS * (HEAD + TURNED)), linear(LATENT, 2 * INNER)
        self.out = linear(INNER, WIDTH)

    def forward(self, x: Any, c: Any, keys: Any) -> Any:
        q = self.up(self.norm(self.down(x))).view(x.shape[0], 1, HEADS, -1).transpose(1, 2)
        plain, turned = q.split([HEAD, TURNED], -1)
        angles = (c.shape[1] - 1.0) / 10000 ** (torch.arange(TURNED // 2) / (TURNED // 2))
        cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
        a, b = turned.chunk(2, -1)
        q = torch.cat([plain, a * cos - b * sin, a * sin + b * cos], -1)
        k, v = by_head(c, self.spread.weight)
        k = torch.cat([k, keys[:, None].expand(-1, HEADS, -1, -1)], -1)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape[0], 1, -1))


def turned(batch: int, rank: int = 384) -> Case:
    inputs = (bf16(batch, 1, WIDTH), bf16(batch, LENGTH, LATENT), bf16(batch, LENGTH, TURNED))
    weights = WIDTH * rank + rank * HEADS * (HEAD + TURNED) + INNER * WIDTH
    products = weights + 2 * INNER * LATENT + HEADS * LENGTH * (2 * LATENT + TURNED)
    held = (bf16(weights), bf16(rank), bf16(2 * INNER, LATENT), bf16(batch, 1, WIDTH))
    return exactly(
        f"latent attention with turned parts, {batch} sequences",
        Torch(Turned, inputs, build=True),
        Work({"bf16": batch * products}, bytes=moved(*inputs, *held)),
        tolerance=1e-3,  # statistics of the norm are products too
    )


def scores_apart(x: Any, wq: Any, cache: Any, w: Any) -> Any:
    plain, turned = F.linear(x, wq).view(x.shape[0], 1, 128, -1).transpose(1, 2).split([128, 64], -1)
    c, keys = cache.split([512, 64], -1)
    k, v = F.linear(c, w).view(x.shape[0], -1, 128, 256).transpose(1, 2).chunk(2, -1)
    scores = plain @ k.transpose(-1, -2) + turned @ keys[:, None].transpose(-1, -2)
    return scores.softmax(-1) @ v


LARGE = (bf16(32, 1, 1536), bf16(128 * 192, 1536), bf16(32, LENGTH, 576), bf16(128 * 256, 512))
LARGE_PRODUCTS = 32 * (1536 * 128 * 192 + 2 * 128 * 128 * 512 + 128 * LENGTH * (2 * 512 + 64))


class Pool(nn.Module):
    """One learned query."""

    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Parameter(torch.zeros(1, 1, WIDTH, dtype=torch.bfloat16))
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, dtype=torch.bfloat16)

    def forward(self, c: Any) -> Any:
        return self.attention(self.q.expand(c.shape[0], -1, -1), c, c, need_weights=False)[0]


class PoolByHand(Pool):
    def forward(self, c: Any) -> Any:
        wq, w = self.attention.in_proj_weight.split([INNER, 2 * INNER])
        bq, b = self.attention.in_proj_bias.split([INNER, 2 * INNER])
        q = F.linear(self.q.expand(c.shape[0], -1, -1), wq, bq).view(-1, 1, HEADS, HEAD).transpose(1, 2)
        k, v = F.linear(c, w, b).view(*c.shape[:2], 2, HEADS, HEAD).permute(2, 0, 3, 1, 4)
        pooled = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, 1, INNER)
        return self.attention.out_proj(pooled)


def pooled(name: str, module: type[nn.Module]) -> Case:
    """The query and what it makes of the keys' weights are the same for all."""
    context = bf16(8, 1024, WIDTH)
    once = WIDTH * INNER + INNER * WIDTH
    each = 2 * HEADS * 1024 * WIDTH + INNER * WIDTH + INNER * WIDTH
    held = (bf16(4 * WIDTH, WIDTH), bf16(1, 1, WIDTH), bf16(4 * WIDTH), bf16(8, 1, WIDTH))
    # Biases of the keys move all scores of a query alike, which nobody has to find.
    return exactly(
        name,
        Torch(module, (context,), build=True),
        Work({"bf16": once + 8 * each}, bytes=moved(context, *held)),
        tolerance=1e-3,
    )


CASES = [
    latent("keys and values by head", by_head),
    latent("keys and values by head, one sequence", by_head, batch=1),
    latent("keys and values by chunk", by_chunk),
    latent("keys and values by half", by_half),
    latent("keys and values by half, one sequence", by_half, batch=1),
    latent("keys and values by turns", by_last),
    latent("keys and values by weights of their own", apart),
    latent("keys and values by weights of their own, one sequence", apart, batch=1),
    latent("keys and values by head, query given", by_head, given=True),
    latent("keys and values by half, query given", by_half, given=True),
    turned(1),
    turned(8),
    exactly(
        "latent attention of 128 heads",
        Torch(scores_apart, LARGE),
        Work({"bf16": LARGE_PRODUCTS}, bytes=moved(*LARGE, bf16(32, 128, 1, 128))),
    ),
    pooled("attention pooling by a module", Pool),
    pooled("attention pooling by hand", PoolByHand),
]
