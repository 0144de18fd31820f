"""Contractions that are spelled over several statements, or not as bare products."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Loops, Torch, Work, bf16, boolean, exactly, f32, i64, moved
from least.zeros import product


def multiply_then_sum(a: Any, b: Any) -> Any:
    return (a[:, None] * b).sum(-1)


def multiply_then_mean(a: Any, b: Any) -> Any:
    return (a[:, None, :] * b[None, :, :]).mean(-1)


def scaled_inside(a: Any, b: Any) -> Any:
    return (a[:, None] * b / 8).sum(-1)


def cast_inside(a: Any, b: Any) -> Any:
    return (a[:, None].float() * b.float()).sum(-1).to(torch.bfloat16)


def two_at_once(a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a[:, None] * b + c[:, None] * d).sum(-1)


def cost_volume(a: Any, b: Any) -> Any:
    """As optical flow has it: every place of one image times those around it in the other."""
    padded = F.pad(b, (4, 4, 4, 4))
    places = [(i, j) for i in range(9) for j in range(9)]
    return torch.stack([(a * padded[:, :, i : i + 64, j : j + 64]).mean(1) for i, j in places], 1)


def chosen_then_sum(m: Any, x: Any) -> Any:
    return torch.where(m[:, None], x, 0).sum(-1)


def both_then_count(a: Any, b: Any) -> Any:
    return (a[:, None] & b).sum(-1)


def both_then_any(a: Any, b: Any) -> Any:
    return (a[:, None] & b).any(-1)


def rank_one_updates(a: Any, b: Any) -> Any:
    c = torch.zeros(4096, 4096)
    for k in range(16):
        c = c + a[:, k : k + 1] * b[k : k + 1, :]
    return c


def causal_taps(x: Any, w: Any) -> Any:
    padded = F.pad(x, (0, 0, 3, 0))
    return sum(padded[:, i : i + 1024] @ w[i] for i in range(4))


def forward_algorithm(e: Any, t: Any) -> Any:
    """Of a chain of labels: a step of it is a sum over the labels before."""
    a = e[:, 0]
    for step in range(1, 8):
        a = torch.logsumexp(a[:, :, None] + t, 1) + e[:, step]
    return a


def shifted_convolution(x: Any, w: Any) -> Any:
    padded = F.pad(x, (1, 1, 1, 1))
    y = 0
    for r in range(3):
        for s in range(3):
            y = y + torch.einsum("nchw,oc->nohw", padded[:, :, r : r + 56, s : s + 56], w[:, :, r, s])
    return y


def vector_last(a: Any, b: Any, c: Any) -> Any:
    return (a @ b) @ c


def low_rank_sum(x: Any, w: Any, a: Any, b: Any) -> Any:
    return x @ (w + a @ b)


def sum_of_a_product(x: Any, w: Any) -> Any:
    return (x @ w).sum(-1)


def trace_of_a_product(a: Any, b: Any) -> Any:
    return torch.trace(a @ b)


def three_way(a: Any, b: Any, c: Any) -> Any:
    return torch.einsum("ik,kj,jl->il", a, b, c)


def state_in_a_loop(q: Any, k: Any, v: Any) -> Any:
    state = torch.zeros(128, 128)
    for t in range(16):
        state = state + torch.outer(k[t], v[t])
    return q @ state


def jax_scanned_state(k: Any, v: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(state: Any, row: Any) -> Any:
        return state + jnp.outer(row[0], row[1]), None

    return jax.lax.scan(step, jnp.zeros((1024, 1024)), (k, v))[0]


def jax_multiply_then_sum(a: Any, b: Any) -> Any:
    return (a[:, None, :] * b[None, :, :]).sum(-1)


def jax_loop_over_columns(a: Any, b: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(k: Any, c: Any) -> Any:
        return c + a[:, k][:, None] * b[k][None, :]

    return jax.lax.fori_loop(0, 256, step, jnp.zeros((2048, 2048)))


SPLIT = """program split(a: f32[2048, 1024], b: f32[2048, 1024]) -> (y) {
  p: f32[2048, 2048, 1024] = for i, j, k: a[i, k] * b[j, k]
  half: f32[2048, 2048, 32] = for i, j, o: sum k in 32: p[i, j, 32 * o + k]
  y: f32[2048, 2048] = for i, j: sum o in 32: half[i, j, o]
}
"""

ROWS = f32(2048, 1024)
HALVES = bf16(2048, 1024)
BITS = boolean(2048, 1024)
RESULT, HALF_RESULT = f32(2048, 2048), bf16(2048, 2048)
CUBE = 2048 * 2048 * 1024
SIDE = f32(4096, 4096)
INSIDE = (3 * 56 - 2) ** 2  # taps that meet the image, as in zeros.py

CASES = [
    exactly("multiply, then sum", Torch(multiply_then_sum, (ROWS, ROWS)), product(CUBE, moved(ROWS, ROWS, RESULT))),
    exactly(  # the division by the count is a scaling of the result
        "multiply, then mean",
        Torch(multiply_then_mean, (ROWS, ROWS)),
        product(CUBE, moved(ROWS, ROWS, RESULT), slots=2048**2),
    ),
    exactly(
        "a * b / 8, then sum",
        Torch(scaled_inside, (ROWS, ROWS)),
        product(CUBE, moved(ROWS, ROWS, RESULT), slots=2048**2),
    ),
    exactly(
        "cast up, multiply, sum, cast down",
        Torch(cast_inside, (HALVES, HALVES)),
        product(CUBE, moved(HALVES, HALVES, HALF_RESULT), "bf16"),
    ),
    exactly(
        "a * b + c * d, then sum",
        Torch(two_at_once, (ROWS,) * 4),
        product(2 * CUBE, moved(ROWS, ROWS, ROWS, ROWS, RESULT)),
    ),
    exactly(
        "where(mask, x, 0), then sum",
        Torch(chosen_then_sum, (BITS, HALVES)),
        product(CUBE, moved(BITS, HALVES, HALF_RESULT), "bf16"),
    ),
    # Booleans may also be packed, 32 to a word, and counted on the vector units: nothing is claimed from below.
    Case(
        "and, then count",
        Torch(both_then_count, (BITS, BITS)),
        product(CUBE, moved(BITS, BITS, i64(2048, 2048)), "i8", slots=2048**2),
    ),
    Case(
        "and, then any",
        Torch(both_then_any, (BITS, BITS)),
        product(CUBE, moved(BITS, BITS, boolean(2048, 2048)), "i8", slots=2048**2),
    ),
    exactly(
        "16 updates of rank 1",
        Torch(rank_one_updates, (f32(4096, 16), f32(16, 4096))),
        product(4096 * 4096 * 16, moved(f32(4096, 16), f32(16, 4096), SIDE)),
    ),
    exactly(
        "convolution by nine shifts",
        Torch(shifted_convolution, (bf16(8, 64, 56, 56), bf16(128, 64, 3, 3))),
        product(8 * 128 * 64 * INSIDE, moved(bf16(8, 64, 56, 56), bf16(128, 64, 3, 3), bf16(8, 128, 56, 56)), "bf16"),
    ),
    Case(  # by transforms one product in four, and three rows at the border
        "causal convolution by four shifts",
        Torch(causal_taps, (f32(32, 1024, 256), f32(4, 256, 1024))),
        product(
            32 * 256 * 1024 * (4 * 1024 - 6),
            moved(f32(32, 1024, 256), f32(4, 256, 1024), f32(32, 1024, 1024)),
        ),
        Work(products={"f32": 32 * 256 * 1024 * (4 * 1024 - 6)}),
        floor=Work(
            products={"f32": 32 * 256 * 1024 * (1024 + 3)},
            bytes=moved(f32(32, 1024, 256), f32(4, 256, 1024), f32(32, 1024, 1024)),
        ),
    ),
    Case(  # an addition and half a maximum a pair, four additions a label; exponentials of both sides, and logarithms
        "forward algorithm by logarithms",
        Torch(forward_algorithm, (f32(256, 8, 64), f32(64, 64))),
        Work(
            products={"f32": 7 * 256 * 64 * 64},
            slots=7 * 256 * 64 * (1.5 * 64 + 4),
            special=7 * 256 * 64 * 3 + 64 * 64,
            bytes=moved(f32(256, 8, 64), f32(64, 64), f32(256, 64)),
        ),
        Work(slots=7 * 256 * 64 * 1.5 * 63),
    ),
    exactly(  # from the right: two matrices times one vector
        "product of matrices times a vector",
        Torch(vector_last, (SIDE, SIDE, f32(4096, 1))),
        product(2 * 4096 * 4096, moved(SIDE, SIDE, f32(4096, 1), f32(4096, 1))),
    ),
    Case(  # x @ w + (x @ a) @ b; merging the weights first would take 4096 * 16 * 4096 instead of the last two
        "low rank added to weights",
        Torch(low_rank_sum, (bf16(256, 4096), bf16(4096, 4096), bf16(4096, 16), bf16(16, 4096))),
        product(
            256 * 4096 * (4096 + 16 + 16),
            moved(bf16(256, 4096), bf16(4096, 4096), bf16(4096, 16), bf16(16, 4096), bf16(256, 4096)),
            "bf16",
        ),
        Work(products={"bf16": 256 * 4096 * 4096}),
    ),
    Case(  # x @ w.sum(-1)
        "sum over the columns of a product",
        Torch(sum_of_a_product, (SIDE, SIDE)),
        product(4096 * 4096, moved(SIDE, SIDE, f32(4096)), slots=4096 * 4096),
        Work(products={"f32": 4096 * 4096}, bytes=moved(SIDE, SIDE, f32(4096))),
    ),
    exactly(  # along each side 64 places meet 9, but for 4 + 3 + 2 + 1 beyond each end
        "cost volume",
        Torch(cost_volume, (f32(2, 128, 64, 64), f32(2, 128, 64, 64))),
        product(2 * 128 * (64 * 9 - 20) ** 2, moved(f32(2, 128, 64, 64), f32(2, 128, 64, 64), f32(2, 81, 64, 64))),
    ),
    exactly(
        "trace of a product", Torch(trace_of_a_product, (SIDE, SIDE)), product(4096 * 4096, moved(SIDE, SIDE, f32()))
    ),
    exactly(  # (a b) c takes 64 * 64 * (4096 + 4096), a (b c) takes 4096 * 64 * (4096 + 64)
        "three matrices in the cheaper order",
        Torch(three_way, (f32(64, 4096), f32(4096, 64), f32(64, 4096))),
        product(64 * 64 * (4096 + 4096), moved(f32(64, 4096), f32(4096, 64), f32(64, 4096), f32(64, 4096))),
    ),
    Case(  # either the state, then the query times it; or scores of all 16 tokens, then their values: less
        "outer products summed in a loop",
        Torch(state_in_a_loop, (f32(4096, 128), f32(16, 128), f32(16, 128))),
        product(2 * 4096 * 16 * 128, moved(f32(4096, 128), f32(16, 128), f32(16, 128), f32(4096, 128))),
        Work(bytes=moved(f32(4096, 128), f32(16, 128), f32(16, 128), f32(4096, 128))),
    ),
    exactly(
        "jax scan over outer products",
        Jax(jax_scanned_state, (f32(4096, 1024), f32(4096, 1024))),
        product(4096 * 1024 * 1024, moved(f32(4096, 1024), f32(4096, 1024), f32(1024, 1024))),
    ),
    exactly(
        "jax multiply, then sum", Jax(jax_multiply_then_sum, (ROWS, ROWS)), product(CUBE, moved(ROWS, ROWS, RESULT))
    ),
    exactly(
        "jax loop over columns",
        Jax(jax_loop_over_columns, (f32(2048, 256), f32(256, 2048))),
        product(2048 * 2048 * 256, moved(f32(2048, 256), f32(256, 2048), RESULT)),
    ),
    exactly("product, then sum in two steps", Loops(SPLIT), product(CUBE, moved(ROWS, ROWS, RESULT))),
]
