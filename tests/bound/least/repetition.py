"""Values that only repeat: copies, tiles, overlapping windows, look-ups in small tables, functions of bytes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Loops, Torch, Work, bf16, exactly, f32, i64, moved, u8
from least.zeros import product


def repeated_rows(x: Any, w: Any) -> Any:
    return x.repeat(2, 1) @ w


def tiled_columns(x: Any, w: Any) -> Any:
    return x.tile(1, 4) @ w


def interleaved_rows(x: Any, w: Any) -> Any:
    return x.repeat_interleave(4, dim=0) @ w


def doubled_batch(x: Any, w: Any) -> Any:
    return torch.cat([x, x]) @ w


class GuidedStep(nn.Module):
    """A guidance batch: the image goes in twice, and only the text differs."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = nn.Linear(1024, 4096, bias=False), nn.Linear(768, 4096, bias=False)

    def forward(self, x: Any, text: Any) -> Any:
        return torch.tanh(self.image(torch.cat([x, x]))) * self.text(text)


class TokenFeatures(nn.Module):
    """A small vocabulary, many tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(1000, 512)
        self.layers = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))

    def forward(self, token: Any) -> Any:
        return self.layers(self.table(token))


def upsample_then_mix(x: Any, w: Any) -> Any:
    return F.conv2d(F.interpolate(x, scale_factor=2, mode="nearest"), w)


def upsample_then_convolve(x: Any, w: Any) -> Any:
    return F.conv2d(F.interpolate(x, scale_factor=2, mode="nearest"), w, padding=1)


def frames_then_layer(x: Any, w: Any) -> Any:
    """Frames of 512 samples, 128 apart; every sample has 64 features."""
    return F.relu(x.unfold(0, 512, 128).transpose(1, 2) @ w)


def cyclic_positions(table: Any, w: Any) -> Any:
    return table[torch.arange(8192) % 512] @ w


def function_of_bytes(image: Any) -> Any:
    return F.gelu(image.float() / 255)


def guided_heads(q: Any, k: Any) -> Any:
    """Scores of 32 query heads against 4 key heads, repeated for their queries before a projection-free rotation."""
    return torch.exp(k).repeat_interleave(8, dim=1) * q


def jax_tiled(x: Any, w: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tile(x, (4, 1)) @ w


def jax_repeated(x: Any, w: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tanh(jnp.repeat(x, 8, axis=0) @ w)


def jax_same_in_every_step(x: Any, w: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(total: Any, t: Any) -> Any:
        return total + jnp.tanh(x @ w) * t, None

    return jax.lax.scan(step, jnp.zeros((2048, 2048)), jnp.arange(16.0))[0]


CYCLIC = """program cyclic(x: f32[512, 1024], w: f32[1024, 1024]) -> (y) {
  big: f32[4096, 1024] = for i, k: x[i mod 512, k]
  y: f32[4096, 1024] = for i, j: sum k in 1024: big[i, k] * w[k, j]
}
"""

X, W = f32(2048, 2048), f32(2048, 2048)
CUBE = 2048**3
PICTURE = bf16(8, 256, 64, 64)
WINDOWS = (65536 - 512) // 128 + 1

CASES = [
    exactly("repeat of rows", Torch(repeated_rows, (X, W)), product(CUBE, moved(X, W, f32(4096, 2048)))),
    Case(  # w's four parts add up first: three additions for each of 2048 * 2048
        "tile along the summed index",
        Torch(tiled_columns, (X, f32(8192, 2048))),
        product(CUBE, moved(X, f32(8192, 2048), W), slots=3 * 2048 * 2048),
        Work(products={"f32": CUBE}, bytes=moved(X, f32(8192, 2048), W)),
    ),
    exactly("repeat_interleave of rows", Torch(interleaved_rows, (X, W)), product(CUBE, moved(X, W, f32(8192, 2048)))),
    exactly("a batch next to itself", Torch(doubled_batch, (X, W)), product(CUBE, moved(X, W, f32(4096, 2048)))),
    exactly(
        "guidance batch",
        Torch(GuidedStep, (f32(4096, 1024), f32(8192, 768)), build=True),
        Work(
            products={"f32": 4096 * 1024 * 4096 + 8192 * 768 * 4096},
            slots=8192 * 4096,
            special=4096 * 4096,
            bytes=moved(f32(4096, 1024), f32(8192, 768), f32(1024, 4096), f32(768, 4096), f32(8192, 4096)),
        ),
    ),
    exactly(  # 262,144 tokens leave out none of 1000 rows; two biases and a clamp for each of 1000
        "layers on a table of 1000 tokens",
        Torch(TokenFeatures, (i64(262144),), build=True),
        product(
            1000 * 2 * 512 * 2048,
            moved(i64(262144), f32(1000, 512), f32(512, 2048), f32(2048, 512), f32(2560), f32(262144, 512)),
            slots=1000 * 2560,
        ),
    ),
    exactly(
        "upsample, then mix channels",
        Torch(upsample_then_mix, (PICTURE, bf16(256, 256, 1, 1))),
        product(8 * 64 * 64 * 256 * 256, moved(PICTURE, bf16(256, 256), bf16(8, 256, 128, 128)), "bf16"),
    ),
    Case(  # nine products for each pixel before upsampling, then eight additions for each result
        "upsample, then convolve",
        Torch(upsample_then_convolve, (PICTURE, bf16(256, 256, 3, 3))),
        product(
            8 * 64 * 64 * 9 * 256 * 256,
            moved(PICTURE, bf16(256, 256, 3, 3), bf16(8, 256, 128, 128)),
            "bf16",
            slots=8 * 8 * 256 * 128 * 128,
        ),
        Work(bytes=moved(PICTURE, bf16(256, 256, 3, 3), bf16(8, 256, 128, 128))),
    ),
    exactly(  # 65,536 samples are all in some frame
        "layer on overlapping frames",
        Torch(frames_then_layer, (f32(65536, 64), f32(64, 256))),
        product(65536 * 64 * 256, moved(f32(65536, 64), f32(64, 256), f32(WINDOWS, 512, 256)), slots=65536 * 256),
    ),
    exactly(
        "positions modulo 512",
        Torch(cyclic_positions, (f32(512, 1024), f32(1024, 1024))),
        product(512 * 1024 * 1024, moved(f32(512, 1024), f32(1024, 1024), f32(8192, 1024))),
    ),
    Case(  # a table of 256 results
        "function of bytes",
        Torch(function_of_bytes, (u8(32, 3, 1024, 1024),)),
        Work(products={}, slots=2048, special=256, bytes=5 * 32 * 3 * 1024 * 1024),
        Work(bytes=5 * 32 * 3 * 1024 * 1024),
    ),
    Case(
        "exponentials of keys that eight queries share",
        Torch(guided_heads, (f32(8, 32, 4096, 128), f32(8, 4, 4096, 128))),
        Work(
            products={},
            slots=8 * 32 * 4096 * 128,
            special=8 * 4 * 4096 * 128,
            bytes=moved(f32(8, 32, 4096, 128), f32(8, 32, 4096, 128), f32(8, 4, 4096, 128)),
        ),
        Work(bytes=moved(f32(8, 32, 4096, 128), f32(8, 32, 4096, 128), f32(8, 4, 4096, 128))),
    ),
    exactly("jax tile of rows", Jax(jax_tiled, (X, W)), product(CUBE, moved(X, W, f32(8192, 2048)))),
    exactly(
        "jax repeat, product, tanh",
        Jax(jax_repeated, (X, W)),
        Work(products={"f32": CUBE}, slots=0, special=2048 * 2048, bytes=moved(X, W, f32(16384, 2048))),
    ),
    exactly(  # the steps' factors add up to 120
        "jax scan over the same product",
        Jax(jax_same_in_every_step, (X, W)),
        Work(products={"f32": CUBE}, slots=16 * 2048 * 2048, special=2048 * 2048, bytes=moved(X, W, W)),
    ),
    exactly(
        "rows modulo 512",
        Loops(CYCLIC),
        product(512 * 1024 * 1024, moved(f32(512, 1024), f32(1024, 1024), f32(4096, 1024))),
    ),
]
