"""Loops whose steps differ, whose carried values do not change or settle, of which early steps or parts are used."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from least.case import Case, Jax, Loops, Torch, Work, exactly, f32, moved

N = 1024
CUBE = N**3
SIDE = f32(N, N)


def work(products: float, bytes: float, tanhs: float) -> Work:
    """Steps of one product, one tanh and at most three additions for each element."""
    return Work(products={"f32": products}, slots=3 * tanhs, special=tanhs, bytes=bytes)


UNCHANGED = """program unchanged(x: f32[1024, 1024], w: f32[1024, 1024], start: f32[1024, 1024]) -> (total) {
  (total: f32[1024, 1024], last: f32[1024, 1024]) = repeat t in 64 carry (acc = start, same = x) {
    p: f32[1024, 1024] = for i, j: sum k in 1024: same[i, k] * w[k, j]
    next: f32[1024, 1024] = for i, j: acc[i, j] + tanh(p[i, j])
    yield (next, same)
  }
}
"""

# The state is `a` in the first step and `b` in all others.
SETTLES = """program settles(
  a: f32[1024, 1024], b: f32[1024, 1024], w: f32[1024, 1024], start: f32[1024, 1024]
) -> (total) {
  (total: f32[1024, 1024], last: f32[1024, 1024]) = repeat t in 64 carry (acc = start, state = a) {
    p: f32[1024, 1024] = for i, j: sum k in 1024: state[i, k] * w[k, j]
    next: f32[1024, 1024] = for i, j: acc[i, j] + tanh(p[i, j])
    then: f32[1024, 1024] = view i, j: b[i, j]
    yield (next, then)
  }
}
"""

GROUPS_OF_STEPS = """program groups(x: f32[8, 1024, 1024], w: f32[1024, 1024], start: f32[1024, 1024]) -> (total) {
  (total: f32[1024, 1024]) = repeat t in 64 carry (acc = start) {
    p: f32[1024, 1024] = for i, j: sum k in 1024: x[t div 8, i, k] * w[k, j]
    next: f32[1024, 1024] = for i, j: acc[i, j] + tanh(p[i, j])
    yield (next)
  }
}
"""

ALTERNATES = """program alternates(x: f32[1024, 1024], w: f32[2, 1024, 1024], start: f32[1024, 1024]) -> (total) {
  (total: f32[1024, 1024]) = repeat t in 64 carry (acc = start) {
    p: f32[1024, 1024] = for i, j: sum k in 1024: x[i, k] * w[t mod 2, k, j]
    next: f32[1024, 1024] = for i, j: acc[i, j] + tanh(p[i, j])
    yield (next)
  }
}
"""

# Two results of the loop each hold half of the last state.
PIECES = """program pieces(h0: f32[1024, 1024], w: f32[1024, 1024]) -> (left, right) {
  (h: f32[1024, 1024]) = repeat t in 16 carry (prev = h0) {
    p: f32[1024, 1024] = for i, j: sum k in 1024: prev[i, k] * w[k, j]
    next: f32[1024, 1024] = for i, j: tanh(p[i, j])
    yield (next)
  }
  left: f32[1024, 512] = for i, j: h[i, j] + 1
  right: f32[1024, 512] = for i, j: h[i, j + 512] - 1
}
"""


def jax_recurrence(h: Any, w: Any, xs: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(h @ w + x)
        return h, h

    return jax.lax.scan(step, h, xs)[1]


def jax_first_steps(h: Any, w: Any, xs: Any) -> Any:
    return jax_recurrence(h, w, xs)[:4]


def jax_some_steps(h: Any, w: Any, xs: Any) -> Any:
    states = jax_recurrence(h, w, xs)
    return states[3], states[15], states[31]


def jax_last_of_independent_steps(w: Any, xs: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return jax.lax.scan(lambda carry, x: (carry, jnp.tanh(x @ w)), 0.0, xs)[1][-1]


def jax_carried_weights(x: Any, w: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(t: Any, state: Any) -> Any:
        total, x, w = state
        return total + jnp.tanh(x @ w), x, w

    return jax.lax.fori_loop(0, 32, step, (jnp.zeros((N, N)), x, w))[0]


def jax_only_the_last_write(x: Any, w: Any) -> Any:
    """No step looks at the one before it."""
    import jax
    import jax.numpy as jnp

    return jax.lax.fori_loop(0, 32, lambda t, state: jnp.tanh(x[t] @ w), jnp.zeros((N, N)))


def overlapping_pieces(x: Any, w: Any) -> Any:
    h = x @ w
    return torch.tanh(h[:600]), torch.sigmoid(h[400:])


def jax_overlapping_pieces(h: Any, w: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(h: Any, _: Any) -> Any:
        h = jnp.tanh(h @ w)
        return h, (h[:600], h[400:])

    return jax.lax.scan(step, h, None, length=16)[1]


def power_iteration(a: Any, x: Any) -> Any:
    for _ in range(20):
        x = a @ x
        x = x / x.norm()
    return x


def jax_power_iteration(a: Any, x: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(t: Any, x: Any) -> Any:
        x = a @ x
        return x / jnp.linalg.norm(x)

    return jax.lax.fori_loop(0, 20, step, x)


class TiedDepth(nn.Module):
    """One layer applied twelve times."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(N, N, bias=False)

    def forward(self, x: Any) -> Any:
        for _ in range(12):
            x = torch.tanh(self.layer(x))
        return x


STEPS = f32(64, N, N)
TOTAL = moved(SIDE, SIDE, SIDE, SIDE)
COLUMN = f32(8192, 1)
MATRIX = f32(8192, 8192)

CASES = [
    exactly(
        "carried array that does not change",
        Loops(UNCHANGED),
        Work(products={"f32": CUBE}, slots=64 * N * N, special=N * N, bytes=TOTAL),
    ),
    exactly(
        "state that settles after one step",
        Loops(SETTLES),
        Work(products={"f32": 2 * CUBE}, slots=64 * N * N, special=2 * N * N, bytes=TOTAL + SIDE.bytes),
    ),
    exactly(
        "eight steps on each slice",
        Loops(GROUPS_OF_STEPS),
        Work(products={"f32": 8 * CUBE}, slots=64 * N * N, special=8 * N * N, bytes=TOTAL + 7 * SIDE.bytes),
    ),
    exactly(
        "two weights in turn",
        Loops(ALTERNATES),
        Work(products={"f32": 2 * CUBE}, slots=64 * N * N, special=2 * N * N, bytes=TOTAL + SIDE.bytes),
    ),
    exactly("two halves of the last state", Loops(PIECES), work(16 * CUBE, 3 * SIDE.bytes, 16 * N * N)),
    exactly(  # the rows from 400 to 600 are in both results
        "overlapping pieces of a product",
        Torch(overlapping_pieces, (SIDE, SIDE)),
        Work(products={"f32": CUBE}, slots=2 * 1224 * N, special=1224 * N, bytes=moved(SIDE, SIDE, f32(1224, N))),
    ),
    Case(  # the rows that both hold need be written once, or twice
        "jax overlapping pieces of every state",
        Jax(jax_overlapping_pieces, (SIDE, SIDE)),
        work(16 * CUBE, moved(SIDE, SIDE, f32(16, 1224, N)), 16 * N * N),
        Work(products={"f32": 16 * CUBE}, bytes=moved(SIDE, SIDE, f32(16, N, N))),
    ),
    exactly(  # every step depends on the one before it through tanh
        "jax recurrence",
        Jax(jax_recurrence, (SIDE, SIDE, STEPS)),
        work(64 * CUBE, moved(SIDE, SIDE, STEPS, STEPS), 64 * N * N),
    ),
    exactly(
        "jax recurrence, four of 64 states",
        Jax(jax_first_steps, (SIDE, SIDE, STEPS)),
        work(4 * CUBE, moved(SIDE, SIDE) + 8 * SIDE.bytes, 4 * N * N),
    ),
    exactly(  # the later states pass through the earlier ones
        "jax recurrence, three of 64 states",
        Jax(jax_some_steps, (SIDE, SIDE, STEPS)),
        work(32 * CUBE, moved(SIDE, SIDE) + (32 + 3) * SIDE.bytes, 32 * N * N),
    ),
    exactly(
        "jax last of independent steps",
        Jax(jax_last_of_independent_steps, (SIDE, STEPS)),
        work(CUBE, 3 * SIDE.bytes, N * N),
    ),
    exactly(
        "jax weights among the carried",
        Jax(jax_carried_weights, (SIDE, SIDE)),
        Work(products={"f32": CUBE}, slots=32 * N * N, special=N * N, bytes=3 * SIDE.bytes),
    ),
    exactly(
        "jax loop that forgets",
        Jax(jax_only_the_last_write, (f32(32, N, N), SIDE)),
        work(CUBE, 3 * SIDE.bytes, N * N),
    ),
    Case(  # norms are squares and their sum; scaling may wait until the end, in exact arithmetic
        "power iteration",
        Torch(power_iteration, (MATRIX, COLUMN)),
        Work(
            products={"f32": 20 * 8192 * (8192 + 1)},
            slots=2 * 20 * 8192,
            special=40,
            bytes=moved(MATRIX, COLUMN, COLUMN),
        ),
        Work(products={"f32": 20 * 8192 * 8192}, bytes=moved(MATRIX, COLUMN, COLUMN)),
    ),
    Case(
        "jax power iteration",
        Jax(jax_power_iteration, (MATRIX, COLUMN)),
        Work(
            products={"f32": 20 * 8192 * (8192 + 1)},
            slots=2 * 20 * 8192,
            special=40,
            bytes=moved(MATRIX, COLUMN, COLUMN),
        ),
        Work(products={"f32": 20 * 8192 * 8192}, bytes=moved(MATRIX, COLUMN, COLUMN)),
    ),
    exactly(
        "one layer twelve times",
        Torch(TiedDepth, (SIDE,), build=True),
        work(12 * CUBE, 3 * SIDE.bytes, 12 * N * N),
    ),
]
