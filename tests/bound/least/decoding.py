"""A step of a GPT and of a Llama, two layers at the width of the real ones, with the head: one token for each sequence,
the caches updated in every way that people write. Counted from the sizes alone, to 2 %: norms, rotations and biases
are left out of the products."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Shape, Torch, Work, bf16, expected_rows, i32, i64

LAYERS = 2


class Sizes:
    """Of a decoder: its width, heads and groups of keys, hidden width, vocabulary, and the step at hand."""

    def __init__(self, width: int, heads: int, groups: int, hidden: int, words: int, batch: int, length: int) -> None:
        self.width, self.heads, self.groups, self.hidden, self.words = width, heads, groups, hidden, words
        self.batch, self.length, self.head = batch, length, width // heads

    def cache(self, length: int) -> Shape:
        return bf16(self.batch, self.groups, length, self.head)


GPT = Sizes(1024, 16, 16, 4096, 50257, batch=8, length=1024)
LLAMA = Sizes(4096, 32, 8, 14336, 128256, batch=4, length=4096)
GPT_LAYER = 12 * GPT.width**2
LLAMA_LAYER = 2 * LLAMA.width**2 + 2 * LLAMA.width * LLAMA.groups * LLAMA.head + 3 * LLAMA.width * LLAMA.hidden

Update = Callable[[Any, Any, Any], Any]


def by_cat(cache: Any, new: Any, place: Any) -> Any:
    return torch.cat([cache, new], 2)


def by_index_copy(cache: Any, new: Any, place: Any) -> Any:
    return cache.index_copy_(2, place, new)


def by_assignment(cache: Any, new: Any, place: Any) -> Any:
    cache[:, :, place] = new
    return cache


def by_slice(cache: Any, new: Any, place: Any) -> Any:
    cache[:, :, cache.shape[2] - 1 :] = new
    return cache


def by_where(cache: Any, new: Any, place: Any) -> Any:
    return cache.copy_(torch.where((torch.arange(cache.shape[2]) == place)[:, None], new, cache))


def by_scatter(cache: Any, new: Any, place: Any) -> Any:
    return cache.scatter_(2, place.view(1, 1, 1, 1).expand_as(new), new)


class Step(nn.Module):
    """What both have in common: caches come in pairs, one for each layer, after the tokens and their place."""

    def __init__(self, update: Update, sizes: Sizes) -> None:
        super().__init__()
        self.update, self.sizes = update, sizes
        self.layers = nn.ModuleList(self.layer() for _ in range(LAYERS))
        self.words = nn.Embedding(sizes.words, sizes.width, dtype=torch.bfloat16)

    def layer(self) -> nn.Module:
        raise NotImplementedError

    def split(self, x: Any) -> Any:
        return x.view(self.sizes.batch, 1, -1, self.sizes.head).transpose(1, 2)

    def attend(self, q: Any, k: Any, v: Any, place: Any, caches: list[Any], made: list[Any]) -> Any:
        keys = self.update(caches.pop(0), k, place)
        values = self.update(caches.pop(0), v, place)
        made += [keys, values]
        mixed = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        return mixed.transpose(1, 2).reshape(self.sizes.batch, 1, self.sizes.width)

    def results(self, scores: Any, made: list[Any]) -> Any:
        return (scores, *made) if self.update is by_cat else scores


def linear(a: int, b: int, bias: bool) -> nn.Linear:
    return nn.Linear(a, b, bias=bias, dtype=torch.bfloat16)


class Gpt(Step):
    def __init__(self, update: Update) -> None:
        super().__init__(update, GPT)
        self.places = nn.Embedding(GPT.length, GPT.width, dtype=torch.bfloat16)
        self.norm = nn.LayerNorm(GPT.width, dtype=torch.bfloat16)

    def layer(self) -> nn.Module:
        d = GPT.width
        parts = {"qkv": linear(d, 3 * d, True), "out": linear(d, d, True)}
        parts |= {"up": linear(d, GPT.hidden, True), "down": linear(GPT.hidden, d, True)}
        return nn.ModuleDict({**parts, **{n: nn.LayerNorm(d, dtype=torch.bfloat16) for n in ("first", "second")}})

    def forward(self, token: Any, place: Any, *caches: Any) -> Any:
        rest, made = list(caches), []
        x = self.words(token) + self.places(place)
        for layer in self.layers:
            q, k, v = (self.split(part) for part in layer["qkv"](layer["first"](x)).chunk(3, -1))
            x = x + layer["out"](self.attend(q, k, v, place, rest, made))
            x = x + layer["down"](F.gelu(layer["up"](layer["second"](x))))
        return self.results(self.norm(x) @ self.words.weight.T, made)


class Llama(Step):
    def __init__(self, update: Update) -> None:
        super().__init__(update, LLAMA)
        self.norm = nn.RMSNorm(LLAMA.width, dtype=torch.bfloat16)
        self.head = linear(LLAMA.width, LLAMA.words, False)

    def layer(self) -> nn.Module:
        d, g = LLAMA.width, LLAMA.groups * LLAMA.head
        outs = {"q": (d, d), "k": (d, g), "v": (d, g), "o": (d, d), "gate": (d, LLAMA.hidden), "up": (d, LLAMA.hidden)}
        parts = {name: linear(*sizes, False) for name, sizes in (outs | {"down": (LLAMA.hidden, d)}).items()}
        return nn.ModuleDict({**parts, **{n: nn.RMSNorm(d, dtype=torch.bfloat16) for n in ("first", "second")}})

    def forward(self, token: Any, place: Any, *caches: Any) -> Any:
        rest, made = list(caches), []
        x, half = self.words(token), LLAMA.head // 2
        angle = place.float()[:, None] * 500000.0 ** (-torch.arange(0, LLAMA.head, 2).float() / LLAMA.head)
        cos, sin = (torch.cat([f(angle)] * 2, -1).to(x.dtype) for f in (torch.cos, torch.sin))
        turn = lambda t: t * cos + torch.cat([-t[..., half:], t[..., :half]], -1) * sin  # noqa: E731
        for layer in self.layers:
            h = layer["first"](x)
            q, k, v = (self.split(layer[name](h)) for name in "qkv")
            x = x + layer["o"](self.attend(turn(q), turn(k), v, place, rest, made))
            h = layer["second"](x)
            x = x + layer["down"](F.silu(layer["gate"](h)) * layer["up"](h))
        return self.results(self.head(self.norm(x)), made)


def jax_normed(x: Any, scale: Any, centred: bool) -> Any:
    import jax.numpy as jnp

    y = x.astype(jnp.float32)
    y = y - y.mean(-1, keepdims=True) if centred else y
    return (y / jnp.sqrt((y * y).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * scale


def jax_by_slice(cache: Any, new: Any, place: Any) -> Any:
    import jax

    return jax.lax.dynamic_update_slice(cache, new[:, :, None], (0, 0, place, 0))


def jax_by_set(cache: Any, new: Any, place: Any) -> Any:
    return cache.at[:, :, place].set(new)


def jax_by_where(cache: Any, new: Any, place: Any) -> Any:
    import jax.numpy as jnp

    return jnp.where((jnp.arange(cache.shape[2]) == place)[:, None], new[:, :, None], cache)


def jax_by_concatenate(cache: Any, new: Any, place: Any) -> Any:
    import jax.numpy as jnp

    return jnp.concatenate([cache, new[:, :, None]], 2)


def jax_attend(
    update: Update, sizes: Sizes, q: Any, k: Any, v: Any, place: Any, caches: list[Any], made: list[Any]
) -> Any:
    import jax
    import jax.numpy as jnp

    split = lambda t: t.reshape(sizes.batch, -1, sizes.head)  # noqa: E731
    keys, values = (update(caches.pop(0), split(new), place) for new in (k, v))
    made += [keys, values]
    q = split(q).reshape(sizes.batch, sizes.groups, sizes.heads // sizes.groups, sizes.head)
    scores = jnp.einsum("bgqd,bgld->bgql", q, keys).astype(jnp.float32) / sizes.head**0.5
    weights = jax.nn.softmax(scores, -1).astype(q.dtype)
    return jnp.einsum("bgql,bgld->bgqd", weights, values).reshape(sizes.batch, sizes.width)


def jax_gpt(update: Update, token: Any, place: Any, words: Any, places: Any, *rest: Any) -> Any:
    import jax
    import jax.numpy as jnp

    weights, caches, made = list(rest[: 6 * LAYERS]), list(rest[6 * LAYERS :]), []
    x = words[token] + places[place]
    for _ in range(LAYERS):
        first, qkv, out, second, up, down = (weights.pop(0) for _ in range(6))
        q, k, v = jnp.split(jax_normed(x, first, True) @ qkv, 3, -1)
        x = x + jax_attend(update, GPT, q, k, v, place, caches, made) @ out
        x = x + jax.nn.gelu(jax_normed(x, second, True) @ up) @ down
    return (x @ words.T, *made)


def jax_llama(update: Update, token: Any, place: Any, words: Any, head: Any, *rest: Any) -> Any:
    import jax
    import jax.numpy as jnp

    weights, caches, made = list(rest[: 9 * LAYERS]), list(rest[9 * LAYERS :]), []
    x, half = words[token], LLAMA.head // 2
    angle = place * 500000.0 ** (-jnp.arange(0, LLAMA.head, 2) / LLAMA.head)
    cos, sin = (jnp.concatenate([f(angle)] * 2, -1).astype(x.dtype) for f in (jnp.cos, jnp.sin))

    def turn(t: Any) -> Any:
        t = t.reshape(LLAMA.batch, -1, LLAMA.head)
        return t * cos + jnp.concatenate([-t[..., half:], t[..., :half]], -1) * sin

    for _ in range(LAYERS):
        first, q, k, v, o, second, gate, up, down = (weights.pop(0) for _ in range(9))
        h = jax_normed(x, first, False)
        x = x + jax_attend(update, LLAMA, turn(h @ q), turn(h @ k), h @ v, place, caches, made) @ o
        h = jax_normed(x, second, False)
        x = x + (jax.nn.silu(h @ gate) * (h @ up)) @ down
    return (x @ head, *made)


def step_work(sizes: Sizes, layer_weights: int, tables: float, copied: bool) -> tuple[Work, Work]:
    """`tables`: bytes of what is read of the embeddings and the head. A cache is read in full, but for the token that
    is replaced, and is written where it changes, or `copied` as a whole."""
    whole, new = 2 * LAYERS * sizes.cache(sizes.length).bytes, 2 * LAYERS * sizes.cache(1).bytes
    weights = LAYERS * layer_weights
    pairs = LAYERS * sizes.batch * sizes.heads * sizes.length * sizes.head
    products = {"bf16": sizes.batch * (weights + sizes.words * sizes.width) + 2 * pairs}
    scores = 2 * sizes.batch * sizes.words
    moved = 2 * weights + tables + scores + whole + (whole if copied else new)
    return Work(products, bytes=moved), Work(products, bytes=moved - 2 * new)


def step_case(
    name: str, program: Torch | Jax, sizes: Sizes, layer_weights: int, tables: float, copied: bool = False
) -> Case:
    return Case(name, program, *step_work(sizes, layer_weights, tables, copied), tolerance=0.02)


GPT_TABLES = 2 * GPT.words * GPT.width
LLAMA_TABLES = 2 * LLAMA.width * (LLAMA.words + expected_rows(LLAMA.words, LLAMA.batch))


def torch_case(name: str, kind: type[Step], sizes: Sizes, update: Update, layer: int, tables: float) -> Case:
    copied = update is by_cat
    caches = [sizes.cache(sizes.length - copied)] * (2 * LAYERS)
    program = Torch(lambda: kind(update), (i64(sizes.batch, 1), i64(1), *caches), build=True)
    return step_case(name, program, sizes, layer, tables, copied)


def jax_case(
    name: str,
    step: Callable[..., Any],
    update: Update,
    sizes: Sizes,
    shapes: list[Shape],
    layer: int,
    tables: float,
) -> Case:
    """The caches, which come last, are given away where they are replaced."""
    copied = update is jax_by_concatenate
    caches = [sizes.cache(sizes.length - copied)] * (2 * LAYERS)
    inputs = (i32(sizes.batch), i32(), *shapes, *caches)
    donated = () if copied else tuple(range(len(inputs) - len(caches), len(inputs)))
    return step_case(name, Jax(partial(step, update), inputs, donate=donated), sizes, layer, tables, copied)


def square(*sizes: tuple[int, ...]) -> list[Shape]:
    return [bf16(*extents) for extents in sizes]


D, M, G, H = GPT.width, LLAMA.width, LLAMA.groups * LLAMA.head, LLAMA.hidden
GPT_SHAPES = square((GPT.words, D), (GPT.length, D)) + LAYERS * square(
    (D,), (D, 3 * D), (D, D), (D,), (D, GPT.hidden), (GPT.hidden, D)
)
LLAMA_SHAPES = square((LLAMA.words, M), (M, LLAMA.words)) + LAYERS * square(
    (M,), (M, M), (M, G), (M, G), (M, M), (M,), (M, H), (M, H), (H, M)
)
UPDATES = {"cat": by_cat, "index_copy_": by_index_copy, "cache[:, :, p] = k": by_assignment, "a slice": by_slice}
UPDATES |= {"where": by_where, "scatter_": by_scatter}
JAX_UPDATES = {"dynamic_update_slice": jax_by_slice, "at[].set": jax_by_set, "where": jax_by_where}
JAX_UPDATES |= {"concatenate": jax_by_concatenate}

CASES = [
    *(torch_case(f"GPT by {n}", Gpt, GPT, update, GPT_LAYER, GPT_TABLES) for n, update in UPDATES.items()),
    *(torch_case(f"Llama by {n}", Llama, LLAMA, update, LLAMA_LAYER, LLAMA_TABLES) for n, update in UPDATES.items()),
    *(
        jax_case(f"jax GPT by {n}", jax_gpt, update, GPT, GPT_SHAPES, GPT_LAYER, GPT_TABLES)
        for n, update in JAX_UPDATES.items()
    ),
    *(
        jax_case(f"jax Llama by {n}", jax_llama, update, LLAMA, LLAMA_SHAPES, LLAMA_LAYER, LLAMA_TABLES)
        for n, update in JAX_UPDATES.items()
    ),
]
