"""What the units of an H200 do at once, and what an instruction does besides its main operation."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, bf16, boolean, f32, f64, i32, moved, u8
from least.zeros import product


def multiply_add(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def hard_sigmoid(x: Any) -> Any:
    return torch.clamp(x / 6 + 0.5, 0, 1)


def clamped_sum(x: Any, y: Any) -> Any:
    return torch.clamp(2 * x.abs() - y, min=0.0, max=1.0)


def scaled_cast(x: Any) -> Any:
    return (-x.abs() * 0.5).to(torch.bfloat16)


def logic(a: Any, b: Any, c: Any) -> Any:
    return (a & b) | ~c


def count_both(a: Any, b: Any) -> Any:
    return (a & b).sum()


def add_three(a: Any, b: Any, c: Any) -> Any:
    return a + b + c


def largest_of_three(a: Any, b: Any, c: Any) -> Any:
    return torch.maximum(torch.maximum(a, b), c)


def brightest(frames: Any) -> Any:
    return frames.amax(0)


def half_multiply_add(a: Any, b: Any, c: Any) -> Any:
    return torch.addcmul(c, a, b)


def row_sums(x: Any) -> Any:
    return x.sum(-1)


def gated(x: Any, y: Any) -> Any:
    return torch.sigmoid(x) * y


def mish(x: Any) -> Any:
    return F.mish(x)


def gelu_by_tanh(x: Any) -> Any:
    return F.gelu(x, approximate="tanh")


def swish_by_hand(x: Any) -> Any:
    return x / (1 + torch.exp(-x))


def multiply(a: Any, b: Any) -> Any:
    return a @ b


def jax_silu(x: Any) -> Any:
    import jax

    return jax.nn.silu(x)


N = 8192
COUNT = N * N
SIDE = f32(N, N)
CLOCK = 132 * 1.98e9  # units times ticks per second


def elementwise(slots: float, bytes: float, special: float = 0) -> Work:
    return Work(products={}, slots=slots, special=special, bytes=bytes)


CASES = [
    Case(
        "multiply-add", Torch(multiply_add, (SIDE,) * 3), elementwise(COUNT, 4 * SIDE.bytes), Work(bytes=4 * SIDE.bytes)
    ),
    Case(  # a multiply-add that saturates
        "hard sigmoid", Torch(hard_sigmoid, (SIDE,)), elementwise(COUNT, 2 * SIDE.bytes), Work(bytes=2 * SIDE.bytes)
    ),
    Case(  # magnitude, sign and range are modifiers of one multiply-add
        "clamp of a difference of magnitudes",
        Torch(clamped_sum, (SIDE, SIDE)),
        elementwise(COUNT, 3 * SIDE.bytes),
        Work(bytes=3 * SIDE.bytes),
    ),
    Case(  # a product with modifiers; the conversion packs two
        "scale and narrow",
        Torch(scaled_cast, (SIDE,)),
        elementwise(1.5 * COUNT, moved(SIDE, bf16(N, N))),
        Work(bytes=moved(SIDE, bf16(N, N))),
    ),
    Case(  # four bytes to a word, and one instruction for any function of three words
        "logic on three masks",
        Torch(logic, (boolean(N, N),) * 3),
        elementwise(COUNT / 4, 4 * COUNT),
        Work(bytes=4 * COUNT),
    ),
    Case(  # and, then a dot product of four bytes with ones
        "count of a conjunction",
        Torch(count_both, (boolean(N, N),) * 2),
        Work(slots=COUNT / 2, special=0, bytes=2 * COUNT + 8),
        Work(bytes=2 * COUNT + 8),
    ),
    Case(
        "sum of three integers",
        Torch(add_three, (i32(N, N),) * 3),
        elementwise(COUNT, 4 * 4 * COUNT),
        Work(bytes=4 * 4 * COUNT),
    ),
    Case(
        "largest of three integers",
        Torch(largest_of_three, (i32(N, N),) * 3),
        elementwise(COUNT, 4 * 4 * COUNT),
        Work(bytes=4 * 4 * COUNT),
    ),
    Case(  # bytes as halves of 16 bits, two to a lane; the spreading of bytes included
        "brightest of 64 frames",
        Torch(brightest, (u8(64, 1024, 1024),)),
        elementwise(64 * 1024 * 1024, 65 * 1024 * 1024),
        Work(bytes=65 * 1024 * 1024),
    ),
    Case(
        "multiply-add in 16 bits",
        Torch(half_multiply_add, (bf16(N, N),) * 3),
        elementwise(COUNT / 2, 4 * bf16(N, N).bytes),
        Work(bytes=4 * bf16(N, N).bytes),
    ),
    Case(  # beside 128 lanes, the matrix units add 2048 / 8 values in a tick, against ones
        "sums of 16-bit rows",
        Torch(row_sums, (bf16(N, N),)),
        Work(slots=COUNT / 3, special=0, bytes=moved(bf16(N, N), bf16(N))),
        Work(bytes=moved(bf16(N, N), bf16(N))),
    ),
    Case(  # half of a tanh and a half; one multiply-add and one product around it
        "gate by sigmoid",
        Torch(gated, (SIDE, SIDE)),
        elementwise(3 * COUNT, 3 * SIDE.bytes, COUNT),
        Work(special=COUNT, bytes=3 * SIDE.bytes),
    ),
    Case(  # with t = exp(x): x (t t + 2 t) / (t t + 2 t + 2)
        "mish",
        Torch(mish, (SIDE,)),
        elementwise(5 * COUNT, 2 * SIDE.bytes, 2 * COUNT),
        Work(special=COUNT, bytes=2 * SIDE.bytes),
    ),
    Case(
        "gelu by tanh",
        Torch(gelu_by_tanh, (SIDE,)),
        elementwise(5 * COUNT, 2 * SIDE.bytes, COUNT),
        Work(special=COUNT, bytes=2 * SIDE.bytes),
    ),
    Case(  # x times a sigmoid
        "swish by hand",
        Torch(swish_by_hand, (SIDE,)),
        elementwise(3 * COUNT, 2 * SIDE.bytes, COUNT),
        Work(special=COUNT, bytes=2 * SIDE.bytes),
    ),
    Case(
        "jax silu",
        Jax(jax_silu, (SIDE,)),
        elementwise(3 * COUNT, 2 * SIDE.bytes, COUNT),
        Work(special=COUNT, bytes=2 * SIDE.bytes),
    ),
    Case(  # the floor: 1024 products of matrix units and 128 of vector lanes in a tick
        "f32 product on all units",
        Torch(multiply, (SIDE, SIDE)),
        product(N**3, 3 * SIDE.bytes),
        Work(products={"f32": N**3}, bytes=3 * SIDE.bytes),
        floor_ms=1e3 * N**3 / (CLOCK * (1024 + 128)),
    ),
    Case(
        "16-bit product on all units",
        Torch(multiply, (bf16(N, N), bf16(N, N))),
        product(N**3, 3 * bf16(N, N).bytes, "bf16"),
        Work(products={"bf16": N**3}, bytes=3 * bf16(N, N).bytes),
        floor_ms=1e3 * N**3 / (CLOCK * (2048 + 256)),
    ),
    Case(  # matrix and vector units share the pipe: 128 in a tick; slices in int8 are a little faster
        "f64 product",
        Torch(multiply, (f64(4096, 4096), f64(4096, 4096))),
        product(4096**3, 3 * f64(4096, 4096).bytes, "f64"),
        Work(bytes=3 * f64(4096, 4096).bytes),
        floor_ms=1e3 * 4096**3 / (CLOCK * 128),
    ),
]
