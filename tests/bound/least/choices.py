"""Choices by data, updates in place, opaque operators of which a part is used, memory without values, zero states."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from least.case import Case, Jax, Torch, Work, bf16, boolean, exactly, f32, i64, moved, u8
from least.masks import BATCH, HEADS, WIDTH, attend, attention_work
from least.zeros import product


def either_product(m: Any, x: Any, a: Any, b: Any) -> Any:
    return torch.where(m[:, None], x @ a, x @ b)


def any_positive(x: Any) -> Any:
    return (x > 0).any()


def all_finite(x: Any) -> Any:
    return torch.isfinite(x).all()


def largest_byte(x: Any) -> Any:
    return x.amax()


def exponentials_that_are_seen(x: Any, m: Any, w: Any) -> Any:
    return torch.exp(x.masked_fill(m, float("-inf"))) @ w


def positive_that_are_seen(x: Any, m: Any, w: Any) -> Any:
    return torch.relu(torch.where(m, x, -1e9)) @ w


def padded_keys(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """As transformers hide padding: whole numbers, of which those that are 0 become a huge number below zero."""
    hidden = (1.0 - mask[:, None, None, :].to(q.dtype)) * torch.finfo(q.dtype).min
    return torch.softmax(q @ k.transpose(-1, -2) + hidden, -1) @ v


def rows_without_scores(q: Any, k: Any, v: Any) -> Any:
    """As decomposed attention treats rows that see nothing."""
    scores = q @ k.transpose(-1, -2)
    seen = torch.any(scores != float("-inf"), -1, keepdim=True)
    return torch.where(seen, torch.softmax(scores, -1), 0.0) @ v


def clear_diagonal(x: Any) -> None:
    x.fill_diagonal_(0)


def keep_triangle(x: Any) -> None:
    x.tril_()


def hide_in_place(x: Any, m: Any) -> None:
    x.masked_fill_(m, 0.0)


def copy_where(x: Any, m: Any, y: Any) -> None:
    x.copy_(torch.where(m, y, x))


def branch(chosen: Any, x: Any, a: Any, b: Any) -> Any:
    return torch.cond(chosen, lambda x, a, b: x @ a, lambda x, a, b: x @ b, (x, a, b))


def branch_or_nothing(chosen: Any, x: Any, a: Any) -> Any:
    return torch.cond(chosen, lambda x, a: torch.tanh(x @ a), lambda x, a: x + 1, (x, a))


def jax_branch(chosen: Any, x: Any, a: Any, b: Any) -> Any:
    import jax

    return jax.lax.cond(chosen, lambda: x @ a, lambda: x @ b)


def medians_of_some_rows(x: Any) -> Any:
    return x.median(-1).values[:16]


def best_of_some_rows(x: Any, w: Any) -> Any:
    return torch.topk(x @ w, 8).values[:64]


def sorted_of_some_rows(x: Any, w: Any) -> Any:
    return (x @ w).sort(-1).values[100:200]


def solve_triangle(a: Any, b: Any) -> Any:
    return torch.linalg.solve_triangular(a, b, upper=False)


def factor(a: Any) -> Any:
    return torch.linalg.cholesky(a)


def partly_filled(x: Any) -> Any:
    y = torch.empty_like(x)
    y[:, :1024] = x[:, :1024]
    return y


def fresh_cache(q: Any, k: Any, v: Any) -> Any:
    """A cache for 8192 tokens, of which 1024 are there; the rest is memory without values, and hidden."""
    keys, values = (torch.empty(BATCH, HEADS, 8192, WIDTH, dtype=q.dtype) for _ in range(2))
    keys[:, :, :1024] = k
    values[:, :, :1024] = v
    return attend(q, keys, values, torch.arange(8192) >= 1024)


def fresh_cache_part(q: Any, k: Any, v: Any) -> Any:
    keys, values = (torch.empty(BATCH, HEADS, 8192, WIDTH, dtype=q.dtype) for _ in range(2))
    keys[:, :, :1024] = k
    values[:, :, :1024] = v
    return torch.softmax(q @ keys[:, :, :1024].transpose(-1, -2) / 8, -1) @ values[:, :, :1024]


def zero_cache(q: Any, k: Any, v: Any) -> Any:
    """Of 8192 tokens 7168 are zeros that nothing hides: their scores are 0 and their values add nothing."""
    keys, values = (torch.zeros(BATCH, HEADS, 8192, WIDTH, dtype=q.dtype) for _ in range(2))
    keys[:, :, :1024] = k
    values[:, :, :1024] = v
    return torch.softmax(q @ keys.transpose(-1, -2) / 8, -1) @ values


def jax_from_zeros(w: Any, xs: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(h: Any, x: Any) -> Any:
        return jnp.tanh(h @ w + x), None

    return jax.lax.scan(step, jnp.zeros((1024, 1024)), xs)[0]


class LastState(nn.Module):
    """A recurrent network that starts from zeros."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.net = kind(1024, 1024)

    def forward(self, x: Any) -> Any:
        return self.net(x)[0]


N = 4096
SQUARE = f32(N, N)
HEAD = f32(4, 8, 1024, 64)
CUBE = N**3
RUN = 8
# Of the first step: no product with the zero state, and no forget gate, which meets a zero cell.
LSTM_PRODUCTS = 256 * 1024 * (RUN * 4 * 1024 - 1024 + (RUN - 1) * 4 * 1024)
TRIANGLE = N * (N + 1) // 2

CASES = [
    Case(  # fused computes both; on data that suit it (all true), the floor needs neither b nor its product
        "where of two products",
        Torch(either_product, (boolean(N), SQUARE, SQUARE, SQUARE)),
        product(2 * CUBE, moved(boolean(N), SQUARE, SQUARE, SQUARE, SQUARE), slots=N * N),
        Work(bytes=moved(boolean(N), SQUARE, SQUARE, SQUARE)),
        floor=Work(products={"f32": CUBE}, bytes=moved(boolean(N), SQUARE, SQUARE, SQUARE)),
    ),
    Case(  # all may be hidden
        "exponentials by data",
        Torch(exponentials_that_are_seen, (SQUARE, boolean(N), SQUARE)),
        Work(products={"f32": CUBE}, slots=N * N, special=N * N, bytes=moved(boolean(N), SQUARE, SQUARE, SQUARE)),
        Work(products={"f32": CUBE}, bytes=moved(boolean(N), SQUARE, SQUARE, SQUARE)),
        floor=Work(products={"f32": 0}, bytes=moved(boolean(N), SQUARE)),
        floor_at_least=Work(bytes=moved(boolean(N), SQUARE)),
    ),
    Case(
        "positive numbers by data",
        Torch(positive_that_are_seen, (SQUARE, boolean(N), SQUARE)),
        product(CUBE, moved(boolean(N), SQUARE, SQUARE, SQUARE), slots=2 * N * N),
        Work(products={"f32": CUBE}, bytes=moved(boolean(N), SQUARE, SQUARE, SQUARE)),
        floor=Work(products={"f32": 0}, bytes=moved(boolean(N), SQUARE)),
        floor_at_least=Work(bytes=moved(boolean(N), SQUARE)),
    ),
    Case(
        "padded keys",
        Torch(padded_keys, (HEAD, HEAD, HEAD, i64(4, 1024))),
        Work(products={"f32": 4 * 8 * 1024 * 1024 * 128}, bytes=moved(HEAD, HEAD, HEAD, HEAD, i64(4, 1024))),
        Work(products={"f32": 4 * 8 * 1024 * 1024 * 128}, bytes=moved(HEAD, HEAD, HEAD, HEAD, i64(4, 1024))),
        floor=Work(products={"f32": 0}, bytes=moved(HEAD, i64(4, 1024))),
        floor_at_least=Work(bytes=moved(HEAD)),
    ),
    Case(  # a row always has scores: arithmetic on data gives finite numbers
        "rows without scores",
        Torch(rows_without_scores, (HEAD, HEAD, HEAD)),
        Work(products={"f32": 4 * 8 * 1024 * 1024 * 128}, bytes=moved(HEAD, HEAD, HEAD, HEAD)),
        Work(products={"f32": 4 * 8 * 1024 * 1024 * 128}, bytes=moved(HEAD, HEAD, HEAD, HEAD)),
        floor=Work(products={"f32": 4 * 8 * 1024 * 1024 * 128}, bytes=moved(HEAD, HEAD, HEAD, HEAD)),
        floor_at_least=Work(products={"f32": 4 * 8 * 1024 * 1024 * 128}, bytes=moved(HEAD, HEAD, HEAD, HEAD)),
    ),
    Case(  # one positive element proves the result
        "any positive",
        Torch(any_positive, (SQUARE,)),
        Work(products={}, slots=2 * N * N, special=0, bytes=SQUARE.bytes + 1),
        Work(bytes=SQUARE.bytes + 1),
        floor=Work(bytes=4 + 1),
        floor_at_least=Work(bytes=1),
    ),
    Case(  # so does one that is not finite
        "all finite",
        Torch(all_finite, (SQUARE,)),
        Work(products={}, slots=2 * N * N, special=0, bytes=SQUARE.bytes + 1),
        Work(bytes=SQUARE.bytes + 1),
        floor=Work(bytes=4 + 1),
        floor_at_least=Work(bytes=1),
    ),
    Case(  # a byte of 255 is the largest
        "largest byte",
        Torch(largest_byte, (u8(64, 1024, 1024),)),
        Work(products={}, slots=64 * 1024 * 1024 / 2, special=0, bytes=64 * 1024 * 1024 + 1),
        Work(bytes=64 * 1024 * 1024 + 1),
        floor=Work(bytes=2),
    ),
    exactly("fill_diagonal_", Torch(clear_diagonal, (SQUARE,)), product(0, 4 * N)),
    exactly("tril_", Torch(keep_triangle, (SQUARE,)), product(0, 4 * N * (N - 1) // 2)),
    Case(  # the floor's mask hides nothing
        "masked_fill_",
        Torch(hide_in_place, (SQUARE, boolean(N, N))),
        Work(products={}, slots=N * N, special=0, bytes=2 * SQUARE.bytes + N * N),
        Work(bytes=N * N),
        floor=Work(bytes=N * N),
    ),
    Case(
        "copy_ of a where",
        Torch(copy_where, (SQUARE, boolean(N, N), SQUARE)),
        Work(products={}, slots=N * N, special=0, bytes=3 * SQUARE.bytes + N * N),
        Work(bytes=N * N + SQUARE.bytes),
        floor=Work(bytes=N * N),
    ),
    exactly(
        "cond of two products",
        Torch(branch, (boolean(), SQUARE, SQUARE, SQUARE)),
        product(CUBE, moved(boolean(), SQUARE, SQUARE, SQUARE)),
    ),
    exactly(
        "cond of a product or next to nothing",
        Torch(branch_or_nothing, (boolean(), SQUARE, SQUARE)),
        product(0, moved(boolean(), SQUARE, SQUARE), slots=N * N),
    ),
    exactly(
        "jax cond of two products",
        Jax(jax_branch, (boolean(), SQUARE, SQUARE, SQUARE)),
        product(CUBE, moved(boolean(), SQUARE, SQUARE, SQUARE)),
    ),
    Case(
        "medians of 16 rows",
        Torch(medians_of_some_rows, (f32(8192, N),)),
        Work(products={}, special=0, bytes=moved(f32(16, N), f32(16))),
        Work(bytes=moved(f32(16, N), f32(16))),
    ),
    exactly(
        "top 8 of 64 rows of a product",
        Torch(best_of_some_rows, (SQUARE, SQUARE)),
        Work(products={"f32": 64 * N * N}, special=0, bytes=moved(f32(64, N), SQUARE, f32(64, 8))),
    ),
    exactly(
        "100 sorted rows of a product",
        Torch(sorted_of_some_rows, (SQUARE, SQUARE)),
        Work(products={"f32": 100 * N * N}, special=0, bytes=moved(f32(100, N), SQUARE, f32(100, N))),
    ),
    Case(
        "triangular solve",
        Torch(solve_triangle, (SQUARE, f32(N, 512))),
        Work(bytes=4 * TRIANGLE + 2 * N * 512 * 4),
        Work(bytes=4 * TRIANGLE + 2 * N * 512 * 4),
    ),
    Case(  # the upper half of the result is written as zeros
        "cholesky",
        Torch(factor, (SQUARE,)),
        Work(bytes=4 * TRIANGLE + 4 * N * N),
        Work(bytes=4 * TRIANGLE + 4 * TRIANGLE),
    ),
    exactly("result of which a quarter has values", Torch(partly_filled, (SQUARE,)), product(0, 2 * N * 1024 * 4)),
    exactly(
        "cache from empty, the rest hidden",
        Torch(fresh_cache, (bf16(BATCH, HEADS, 1024, WIDTH),) * 3),
        attention_work(1024 * 1024, 1024, 1024),
    ),
    exactly(
        "cache from empty, of which a part is read",
        Torch(fresh_cache_part, (bf16(BATCH, HEADS, 1024, WIDTH),) * 3),
        attention_work(1024 * 1024, 1024, 1024),
    ),
    exactly(
        "cache of zeros that nothing hides",
        Torch(zero_cache, (bf16(BATCH, HEADS, 1024, WIDTH),) * 3),
        attention_work(1024 * 1026, 1024, 1024),
        tolerance=3e-3,  # a row has one exponential more, and some additions
    ),
    exactly(  # the first step has no product
        "jax recurrence from zeros",
        Jax(jax_from_zeros, (f32(1024, 1024), f32(8, 1024, 1024))),
        Work(
            products={"f32": 7 * 1024**3},
            slots=8 * 1024**2,
            special=8 * 1024**2,
            bytes=moved(f32(1024, 1024), f32(8, 1024, 1024), f32(1024, 1024)),
        ),
    ),
    exactly(  # one step: neither recurrent weights nor the forget gate; three gates and the cell
        "LSTM, one step from zeros",
        Torch(lambda: LastState(nn.LSTM), (f32(1, 256, 1024),), build=True),
        Work(
            products={"f32": 256 * 3 * 1024 * 1024},
            slots=256 * 1024 * 12,
            special=256 * 1024 * 4,
            bytes=moved(f32(256, 1024), f32(3 * 1024, 1024), f32(2 * 3 * 1024), f32(256, 1024)),
        ),
    ),
    exactly(  # the reset gate still scales the recurrent bias
        "GRU, one step from zeros",
        Torch(lambda: LastState(nn.GRU), (f32(1, 256, 1024),), build=True),
        Work(
            products={"f32": 256 * 3 * 1024 * 1024},
            slots=256 * 1024 * 12,
            special=256 * 1024 * 3,
            bytes=moved(f32(256, 1024), f32(3 * 1024, 1024), f32(2 * 3 * 1024), f32(256, 1024)),
        ),
    ),
    exactly(
        "LSTM, 8 steps from zeros",
        Torch(lambda: LastState(nn.LSTM), (f32(RUN, 256, 1024),), build=True),
        Work(
            products={"f32": LSTM_PRODUCTS},
            slots=RUN * 256 * 1024 * 15,
            special=RUN * 256 * 1024 * 5,
            bytes=moved(f32(2, RUN, 256, 1024), f32(2, 4 * 1024, 1024), f32(2 * 4 * 1024)),
        ),
    ),
]
