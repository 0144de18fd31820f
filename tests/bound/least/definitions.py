"""Operators whose definition spells one algorithm among better ones: their meaning counts, not that spelling."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, f32, i32, i64, moved


def search(table: Any, x: Any) -> Any:
    return torch.searchsorted(table, x)


def search_rows(table: Any, x: Any) -> Any:
    return torch.searchsorted(table, x)


def bucket(x: Any, edges: Any) -> Any:
    return torch.bucketize(x, edges)


def member(x: Any, wanted: Any) -> Any:
    return torch.isin(x, wanted)


def bins_of_numbers(x: Any) -> Any:
    edges = torch.arange(41) * 0.1
    return ((x[:, None] >= edges[:-1]) & (x[:, None] < edges[1:])).sum(0)


def bins_in_a_loop(x: Any) -> Any:
    return torch.stack([((x >= 0.1 * i) & (x < 0.1 * i + 0.1)).sum() for i in range(20)])


def histogram(x: Any) -> Any:
    return torch.histc(x, 256, 0, 1)


def counted_classes(label: Any) -> Any:
    return F.one_hot(label, 1024).sum(0)


def confusion(label: Any, guess: Any) -> Any:
    return torch.zeros(4096, dtype=torch.int64).index_add(0, label * 64 + guess, torch.ones_like(label))


def jax_search(table: Any, x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.searchsorted(table, x)


def jax_member(x: Any, wanted: Any) -> Any:
    import jax.numpy as jnp

    return jnp.isin(x, wanted)


def jax_digitize(x: Any, edges: Any) -> Any:
    import jax.numpy as jnp

    return jnp.digitize(x, edges)


def jax_interpolate(x: Any, place: Any, value: Any) -> Any:
    import jax.numpy as jnp

    return jnp.interp(x, place, value)


def jax_counts(label: Any) -> Any:
    import jax.numpy as jnp

    return jnp.bincount(label, length=1024)


MANY = 1 << 24
LONG = 1 << 20
LABELS = i64(LONG)


def meaning(bytes: float, slots: float) -> Work:
    return Work(products={}, slots=slots, bytes=bytes)


CASES = [
    Case(  # 21 comparisons find one of 2^20 + 1 places, and read no more
        "searchsorted, few queries",
        Torch(search, (f32(LONG), f32(4096))),
        meaning(4096 * (4 * 21 + 4 + 8), 4096 * 21),
        Work(bytes=4096 * (4 + 8)),
    ),
    Case(
        "searchsorted by rows",
        Torch(search_rows, (f32(512, 8192), f32(512, 8192))),
        meaning(512 * 8192 * (4 + 4 + 8), 512 * 8192 * 14),
        Work(bytes=512 * 8192 * (4 + 8)),
    ),
    Case(  # 8 comparisons among 255 edges
        "bucketize",
        Torch(bucket, (f32(MANY), f32(255))),
        meaning(MANY * (4 + 8) + 255 * 4, 8 * MANY),
        Work(bytes=MANY * (4 + 8)),
    ),
    Case(  # sort the 4096, then search; 64-bit comparisons take two slots
        "isin",
        Torch(member, (i64(LONG), i64(4096))),
        meaning(LONG * (8 + 1) + 4096 * 8, 2 * 13 * (LONG + 4096)),
        Work(bytes=LONG * (8 + 1)),
    ),
    Case(  # scale, round, two tests of the range and an addition
        "histogram of 256 bins",
        Torch(histogram, (f32(MANY),)),
        meaning(MANY * 4 + 256 * 4, 5 * MANY),
        Work(bytes=MANY * 4 + 256 * 4),
    ),
    Case(  # as above
        "counts between 41 numbers",
        Torch(bins_of_numbers, (f32(MANY),)),
        meaning(MANY * 4 + 40 * 8, 5 * MANY),
        Work(bytes=MANY * 4 + 40 * 8),
    ),
    Case(
        "counts between numbers, one bin at a time",
        Torch(bins_in_a_loop, (f32(MANY),)),
        meaning(MANY * 4 + 20 * 8, 5 * MANY),
        Work(bytes=MANY * 4 + 20 * 8),
    ),
    Case(
        "class counts by one-hot rows",
        Torch(counted_classes, (LABELS,)),
        meaning(LONG * 8 + 1024 * 8, 2 * LONG),
        Work(bytes=LONG * 8 + 1024 * 8),
    ),
    Case(  # joining two labels is arithmetic on 64-bit integers
        "confusion matrix by index_add",
        Torch(confusion, (LABELS, LABELS)),
        meaning(LONG * 16 + 4096 * 8, 6 * LONG),
        Work(bytes=LONG * 16 + 4096 * 8),
    ),
    Case(
        "jax searchsorted, few queries",
        Jax(jax_search, (f32(LONG), f32(4096))),
        meaning(4096 * (4 * 21 + 4 + 4), 4096 * 21 * 4),
        Work(bytes=4096 * (4 + 4)),
    ),
    Case(
        "jax isin",
        Jax(jax_member, (i32(LONG), i32(4096))),
        meaning(LONG * (4 + 1) + 4096 * 4, 13 * (LONG + 4096)),
        Work(bytes=LONG * (4 + 1)),
    ),
    Case(
        "jax digitize",
        Jax(jax_digitize, (f32(MANY), f32(255))),
        meaning(MANY * (4 + 4) + 255 * 4, 8 * 4 * MANY),
        Work(bytes=MANY * (4 + 4)),
    ),
    Case(  # 11 comparisons, a slope from a table of 1024, a difference and a multiply-add
        "jax interp",
        Jax(jax_interpolate, (f32(MANY), f32(1024), f32(1024))),
        meaning(2 * MANY * 4 + moved(f32(1024), f32(1024)), MANY * (11 * 4 + 8)),
        Work(bytes=2 * MANY * 4),
    ),
    Case(
        "jax bincount",
        Jax(jax_counts, (i32(LONG),)),
        meaning(LONG * 4 + 1024 * 4, 4 * LONG),
        Work(bytes=LONG * 4 + 1024 * 4),
    ),
]
