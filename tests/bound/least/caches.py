"""Decode steps: a cache that is updated in place and read in full. Far too low where the update hides the read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, bf16, expected_rows, i32, i64, moved

BATCH, GROUPS, QUERIES, LENGTH, WIDTH = 16, 8, 32, 4096, 128
CACHE = bf16(BATCH, GROUPS, LENGTH, WIDTH)
TOKEN = bf16(BATCH, GROUPS, 1, WIDTH)
QUERY = bf16(BATCH, QUERIES, 1, WIDTH)
PLACE = i64(1)
PAIRS = BATCH * QUERIES * LENGTH
INPUTS = (QUERY, TOKEN, TOKEN, CACHE, CACHE, PLACE)


def decode_case(name: str, program: Torch | Jax, place: int = 8, copied: bool = False) -> Case:
    """Both caches are read but for the token that is replaced; the new token is read, and written to its place, or
    with `copied` the caches are results of their own."""
    fixed = 2 * QUERY.bytes + 2 * TOKEN.bytes + place + 2 * (CACHE.bytes if copied else TOKEN.bytes)
    old = 2 * (CACHE.bytes - TOKEN.bytes)
    products = {"bf16": 2 * PAIRS * WIDTH}
    return Case(
        name,
        program,
        Work(products, slots=4 * PAIRS, special=PAIRS + BATCH * QUERIES, bytes=old + 2 * TOKEN.bytes + fixed),
        Work(products, special=PAIRS - BATCH * QUERIES, bytes=old + fixed),
        tolerance=2e-4,  # the new token's products with its weights are a sum of one, which need not count as products
    )


def attend(q: Any, keys: Any, values: Any) -> Any:
    return F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)


def by_index_copy(q: Any, k: Any, v: Any, keys: Any, values: Any, place: Any) -> Any:
    keys.index_copy_(2, place, k)
    values.index_copy_(2, place, v)
    return attend(q, keys, values)


def by_index(q: Any, k: Any, v: Any, keys: Any, values: Any, place: Any) -> Any:
    keys[:, :, place] = k
    values[:, :, place] = v
    return attend(q, keys, values)


def by_slice(q: Any, k: Any, v: Any, keys: Any, values: Any) -> Any:
    keys[:, :, 4095:4096] = k
    values[:, :, 4095:4096] = v
    return attend(q, keys, values)


def by_narrow(q: Any, k: Any, v: Any, keys: Any, values: Any) -> Any:
    keys.narrow(2, 100, 1).copy_(k)
    values.narrow(2, 100, 1).copy_(v)
    return attend(q, keys, values)


def by_scatter(q: Any, k: Any, v: Any, keys: Any, values: Any, place: Any) -> Any:
    at = place.view(1, 1, 1, 1).expand_as(k)
    keys.scatter_(2, at, k)
    values.scatter_(2, at, v)
    return attend(q, keys, values)


def by_cat(q: Any, k: Any, v: Any, keys: Any, values: Any) -> Any:
    keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
    return attend(q, keys, values), keys, values


class Decoder(nn.Module):
    """Keeps its caches as buffers, as static caches do."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(CACHE.extents, dtype=torch.bfloat16))

    def forward(self, q: Any, k: Any, v: Any, place: Any) -> Any:
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        return attend(q, self.keys, self.values)


MODEL, HIDDEN = QUERIES * WIDTH, 14336


class LlamaLayer(nn.Module):
    """A layer of an 8-billion-parameter model, one token for each of 16 sequences."""

    def __init__(self) -> None:
        super().__init__()
        linear = lambda a, b: nn.Linear(a, b, bias=False, dtype=torch.bfloat16)  # noqa: E731
        self.q, self.k, self.v = linear(MODEL, MODEL), linear(MODEL, 1024), linear(MODEL, 1024)
        self.o = linear(MODEL, MODEL)
        self.gate, self.up, self.down = linear(MODEL, HIDDEN), linear(MODEL, HIDDEN), linear(HIDDEN, MODEL)
        self.norms = nn.ModuleList(nn.RMSNorm(MODEL, dtype=torch.bfloat16) for _ in range(2))

    def forward(self, x: Any, keys: Any, values: Any, place: Any) -> Any:
        h = self.norms[0](x)
        heads = lambda t: t.view(BATCH, 1, -1, WIDTH).transpose(1, 2)  # noqa: E731
        angle = place.float()[:, None] * 10000.0 ** (-torch.arange(0, WIDTH, 2).float() / WIDTH)
        cos, sin = (torch.cat([f(angle)] * 2, -1).to(x.dtype) for f in (torch.cos, torch.sin))
        turn = lambda t: t * cos + torch.cat([-t[..., 64:], t[..., :64]], -1) * sin  # noqa: E731
        keys.index_copy_(2, place, turn(heads(self.k(h))))
        values.index_copy_(2, place, heads(self.v(h)))
        x = x + self.o(attend(turn(heads(self.q(h))), keys, values).transpose(1, 2).reshape(BATCH, 1, MODEL))
        h = self.norms[1](x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


LLAMA_WEIGHTS = 2 * MODEL * MODEL + 2 * MODEL * 1024 + 3 * MODEL * HIDDEN
LLAMA_BYTES = 2 * (LLAMA_WEIGHTS + 2 * MODEL + 2 * BATCH * MODEL) + 8 + 2 * TOKEN.bytes + 2 * CACHE.bytes


def jax_attend(q: Any, keys: Any, values: Any) -> Any:
    import jax.numpy as jnp

    q = q.reshape(BATCH, GROUPS, QUERIES // GROUPS, WIDTH)
    scores = jnp.einsum("bgqd,bgld->bgql", q, keys).astype(jnp.float32) / WIDTH**0.5
    weights = jnp.exp(scores - scores.max(-1, keepdims=True))
    weights = (weights / weights.sum(-1, keepdims=True)).astype(q.dtype)
    return jnp.einsum("bgql,bgld->bgqd", weights, values).reshape(BATCH, QUERIES, 1, WIDTH)


def jax_update_slice(q: Any, k: Any, v: Any, keys: Any, values: Any, place: Any) -> Any:
    import jax

    keys = jax.lax.dynamic_update_slice(keys, k, (0, 0, place, 0))
    values = jax.lax.dynamic_update_slice(values, v, (0, 0, place, 0))
    return jax_attend(q, keys, values), keys, values


def jax_at_set(q: Any, k: Any, v: Any, keys: Any, values: Any, place: Any) -> Any:
    keys = keys.at[:, :, place].set(k[:, :, 0])
    values = values.at[:, :, place].set(v[:, :, 0])
    return jax_attend(q, keys, values), keys, values


def paged(q: Any, keys: Any, values: Any, table: Any) -> Any:
    """Pages of 16 tokens, 256 for each sequence, in a pool of 4096."""
    k, v = (pool[table].view(BATCH, LENGTH, GROUPS, WIDTH).transpose(1, 2) for pool in (keys, values))
    return attend(q, k, v)


def reordered_beams(keys: Any, values: Any, beam: Any) -> Any:
    return keys.index_select(0, beam), values.index_select(0, beam)


POOL = bf16(4096, 16, GROUPS, WIDTH)
PAGE = bf16(16, GROUPS, WIDTH).bytes
PAGES = expected_rows(4096, BATCH * 256)
# Pages that a sequence draws twice have one score.
PAGES_OF_ONE = expected_rows(4096, 256)
BEAMS = bf16(64, GROUPS, LENGTH, WIDTH)


def jax_case(name: str, function: Callable[..., Any], donate: tuple[int, ...]) -> Case:
    inputs = (*INPUTS[:5], i32())
    return decode_case(name, Jax(function, inputs, donate=donate), place=4, copied=not donate)


CASES = [
    decode_case("decode by index_copy_", Torch(by_index_copy, INPUTS)),
    decode_case("decode by indexed assignment", Torch(by_index, INPUTS)),
    decode_case("decode by slice assignment", Torch(by_slice, INPUTS[:5]), place=0),
    decode_case("decode by narrow and copy_", Torch(by_narrow, INPUTS[:5]), place=0),
    decode_case("decode by scatter_", Torch(by_scatter, INPUTS)),
    Case(  # the old caches hold 4095 tokens, the new ones are results
        "decode by cat",
        Torch(by_cat, (QUERY, TOKEN, TOKEN, *(bf16(BATCH, GROUPS, LENGTH - 1, WIDTH),) * 2)),
        Work({"bf16": 2 * PAIRS * WIDTH}, special=PAIRS + BATCH * QUERIES, bytes=4 * CACHE.bytes + 2 * QUERY.bytes),
        Work({"bf16": 2 * PAIRS * WIDTH}, bytes=4 * CACHE.bytes + 2 * QUERY.bytes),
    ),
    decode_case("decode with caches as buffers", Torch(Decoder, (QUERY, TOKEN, TOKEN, PLACE), build=True)),
    Case(
        "layer of a Llama, one token",
        Torch(LlamaLayer, (bf16(BATCH, 1, MODEL), CACHE, CACHE, PLACE), build=True),
        Work({"bf16": BATCH * LLAMA_WEIGHTS + 2 * PAIRS * WIDTH}, bytes=LLAMA_BYTES),
        Work({"bf16": BATCH * LLAMA_WEIGHTS + 2 * PAIRS * WIDTH}, bytes=LLAMA_BYTES - 2 * TOKEN.bytes),
        tolerance=1e-3,  # statistics of the norms are products too
    ),
    jax_case("jax decode by dynamic_update_slice, donated", jax_update_slice, (3, 4)),
    jax_case("jax decode by at[].set, donated", jax_at_set, (3, 4)),
    jax_case("jax decode by dynamic_update_slice, copied", jax_update_slice, ()),
    Case(
        "decode from pages",
        Torch(paged, (QUERY, POOL, POOL, i64(BATCH, 256))),
        Work(
            {"bf16": 2 * PAIRS * WIDTH},
            special=PAIRS + BATCH * QUERIES,
            bytes=2 * PAGES * PAGE + 2 * QUERY.bytes + 8 * BATCH * 256,
        ),
        Work(
            {"bf16": 2 * BATCH * QUERIES * WIDTH * 16 * PAGES_OF_ONE},
            bytes=2 * PAGES * PAGE + 2 * QUERY.bytes + 8 * BATCH * 256,
        ),
        floor=Work(bytes=2 * PAGE + 2 * QUERY.bytes + 8 * BATCH * 256),
        floor_at_least=Work(bytes=2 * QUERY.bytes + 8 * BATCH * 256),
    ),
    Case(
        "beams put in a new order",
        Torch(reordered_beams, (BEAMS, BEAMS, i64(64))),
        Work({}, slots=0, bytes=2 * BEAMS.bytes * (1 + expected_rows(64, 64) / 64) + 8 * 64),
        Work({}, bytes=2 * BEAMS.bytes * (1 + expected_rows(64, 64) / 64) + 8 * 64),
        floor=Work(bytes=2 * BEAMS.bytes * (1 + 1 / 64) + 8 * 64),
        floor_at_least=Work(bytes=moved(BEAMS, BEAMS)),
    ),
]
