"""Results that need everything upstream, though demand that is passed on as hulls or single rows loses most of it:
pooling and resizing to odd sizes, scans of which the last value is used, shifted windows."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, exactly, f32, moved


class Features(nn.Module):
    """A convolution and a clamp, then what the case does with the image."""

    def __init__(self, after: Any) -> None:
        super().__init__()
        self.convolution, self.after = nn.Conv2d(256, 512, 3, padding=1, bias=False), after

    def forward(self, x: Any) -> Any:
        return self.after(F.relu(self.convolution(x)))


def features(name: str, after: Any, size: int, results: tuple[int, int], slots: float) -> Case:
    """Every pixel of the image is used, so that the whole convolution is needed."""
    taps = (3 * size - 2) ** 2
    work = Work(
        products={"f32": 8 * 512 * 256 * taps},
        bytes=moved(f32(8, 256, size, size), f32(512, 256, 3, 3), f32(8, 512, *results)),
        special=0,
        slots=slots,
    )
    return exactly(name, Torch(lambda: Features(after), (f32(8, 256, size, size),), build=True), work)


def interpolate(*size: int, **options: Any) -> Any:
    return lambda x: F.interpolate(x, size=size, **options)


def jax_linear_recurrence(x: Any, wa: Any, wb: Any) -> Any:
    import jax

    def join(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    return jax.lax.associative_scan(join, (jax.nn.sigmoid(x @ wa), x @ wb))[1][-1]


def jax_states(x: Any, wa: Any, wb: Any) -> Any:
    import jax

    def join(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    return jax.lax.associative_scan(join, (jax.nn.sigmoid(x @ wa), x @ wb))[1]


def jax_selective_states(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def join(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    made = jnp.exp(dt[:, :, None] * a), (dt * x)[:, :, None] * b[:, None, :]
    return (jax.lax.associative_scan(join, made)[1] * c[:, None, :]).sum(-1)


def jax_last_running_sum(x: Any, w: Any) -> Any:
    import jax.numpy as jnp

    return jnp.cumsum(jnp.tanh(x @ w), axis=0)[-1]


def last_running_sum(x: Any, w: Any) -> Any:
    return torch.tanh(x @ w).cumsum(0)[-1]


def jax_last_running_maximum(x: Any, w: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return jax.lax.associative_scan(jnp.maximum, x @ w)[-1]


SIDE, WINDOW, CHANNELS, HEADS = 56, 7, 96, 3


class ShiftedWindows(nn.Module):
    """Attention within windows of 7 x 7 of an image that is rolled by 3, then rolled back."""

    def __init__(self, shift: int) -> None:
        super().__init__()
        self.shift = shift
        self.qkv, self.out = nn.Linear(CHANNELS, 3 * CHANNELS, bias=False), nn.Linear(CHANNELS, CHANNELS, bias=False)

    def forward(self, x: Any) -> Any:
        n, per = WINDOW, SIDE // WINDOW
        x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = x.view(-1, per, n, per, n, CHANNELS).transpose(2, 3).reshape(-1, n * n, CHANNELS)
        q, k, v = self.qkv(x).view(-1, n * n, 3, HEADS, CHANNELS // HEADS).permute(2, 0, 3, 1, 4)
        y = torch.softmax(q @ k.transpose(-1, -2) / 32**0.5, -1) @ v
        y = self.out(y.transpose(1, 2).reshape(-1, n * n, CHANNELS))
        y = y.view(-1, per, per, n, n, CHANNELS).transpose(2, 3).reshape(-1, SIDE, SIDE, CHANNELS)
        return torch.roll(y, (self.shift, self.shift), (1, 2))


PIXELS = 32 * SIDE * SIDE
IMAGE = f32(32, SIDE, SIDE, CHANNELS)
WINDOWS = Work(
    products={"f32": PIXELS * (4 * CHANNELS**2 + 2 * WINDOW**2 * CHANNELS)},
    slots=PIXELS * (3 * WINDOW**2 * HEADS + CHANNELS),
    special=PIXELS * HEADS * (WINDOW**2 + 1),
    bytes=2 * IMAGE.bytes + 4 * CHANNELS**2 * 4,
)
STEPS, WIDTH = 4096, 1024
SEQUENCE, SQUARE = f32(STEPS, WIDTH), f32(WIDTH, WIDTH)
LAST = Work(
    products={"f32": STEPS * WIDTH * WIDTH},
    slots=STEPS * WIDTH,
    special=STEPS * WIDTH,
    bytes=moved(SEQUENCE, SQUARE, f32(WIDTH)),
)

CASES = [
    # Windows of 13 pixels in 6 parts overlap by one; sums of rows first, then of columns.
    features("pooled to an odd part", lambda x: F.adaptive_avg_pool2d(x, 6), 13, (6, 6), 8 * 512 * 13 * 13 * 4),
    features("pooled to 1 x 1", lambda x: F.adaptive_avg_pool2d(x, 1), 15, (1, 1), 8 * 512 * 15 * 15 * 2),
    features("largest of odd parts", lambda x: F.adaptive_max_pool2d(x, 5), 13, (5, 5), 8 * 512 * 13 * 13 * 6),
    # Enlarged: every pixel is a neighbour of some result. Two products along rows, then two along columns.
    features(
        "enlarged to an odd size, bilinear",
        interpolate(75, 53, mode="bilinear"),
        32,
        (75, 53),
        8 * 512 * (2 * 32 * 53 + 2 * 75 * 53) + 8 * 512 * 32 * 32,
    ),
    features("enlarged to an odd size, nearest", interpolate(75, 53, mode="nearest"), 32, (75, 53), 8 * 512 * 32 * 32),
    # Antialiased: each result is a mean over all pixels that it covers.
    features(
        "reduced to an odd size, antialiased",
        interpolate(11, 13, mode="bilinear", antialias=True),
        32,
        (11, 13),
        8 * 512 * (32 * 13 * 6 + 11 * 13 * 6) + 8 * 512 * 32 * 32,
    ),
    Case(  # two layers, then a product and a multiply-add for each step; the first gate meets no state
        "jax last of a linear recurrence",
        Jax(jax_linear_recurrence, (SEQUENCE, SQUARE, SQUARE)),
        Work(
            products={"f32": 2 * STEPS * WIDTH * WIDTH},
            slots=4 * STEPS * WIDTH,
            special=STEPS * WIDTH,
            bytes=moved(SEQUENCE, SQUARE, SQUARE, f32(WIDTH)),
        ),
        Work(
            products={"f32": (2 * STEPS - 1) * WIDTH * WIDTH},
            special=(STEPS - 1) * WIDTH,
            bytes=moved(SEQUENCE, SQUARE, SQUARE, f32(WIDTH)),
        ),
    ),
    Case(
        "jax states of a linear recurrence",
        Jax(jax_states, (f32(512, WIDTH), SQUARE, SQUARE)),
        Work(
            products={"f32": 2 * 512 * WIDTH * WIDTH},
            slots=4 * 512 * WIDTH,
            special=512 * WIDTH,
            bytes=moved(f32(512, WIDTH), SQUARE, SQUARE, f32(512, WIDTH)),
        ),
        Work(
            products={"f32": (2 * 512 - 1) * WIDTH * WIDTH},
            bytes=moved(f32(512, WIDTH), SQUARE, SQUARE, f32(512, WIDTH)),
        ),
    ),
    Case(  # a state of 16 numbers for each of the channels; all that is made on the way may stay on chip
        "jax selective states",
        Jax(jax_selective_states, (*2 * [f32(2048, WIDTH)], f32(WIDTH, 16), *2 * [f32(2048, 16)])),
        Work(
            products={"f32": 2 * 2048 * WIDTH * 16},
            slots=4 * 2048 * WIDTH * 16,
            special=2048 * WIDTH * 16,
            bytes=moved(*3 * [f32(2048, WIDTH)], f32(WIDTH, 16), *2 * [f32(2048, 16)]),
        ),
        Work(bytes=moved(*3 * [f32(2048, WIDTH)], f32(WIDTH, 16), *2 * [f32(2048, 16)])),
        tolerance=0.001,
    ),
    exactly("jax last of a running sum", Jax(jax_last_running_sum, (SEQUENCE, SQUARE)), LAST),
    exactly("last of a running sum", Torch(last_running_sum, (SEQUENCE, SQUARE)), LAST),
    exactly(
        "jax last of a running maximum",
        Jax(jax_last_running_maximum, (SEQUENCE, SQUARE)),
        Work(LAST.products, LAST.slots, 0, LAST.bytes),
    ),
    exactly("shifted windows", Torch(lambda: ShiftedWindows(3), (IMAGE,), build=True), WINDOWS),
    exactly("windows without a shift", Torch(lambda: ShiftedWindows(0), (IMAGE,), build=True), WINDOWS),
]
