"""A block of a diffusion model: convolutions modulated by the noise level, then attention over the pixels."""

import jax
import jax.numpy as jnp
from flax import nnx

batch, size, channels, heads = 2, 12, 16, 2


def embed(level: jax.Array) -> jax.Array:
    frequency = jnp.exp(-jnp.log(10000.0) * jnp.arange(channels // 2) / (channels // 2))
    angle = level[:, None] * frequency
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)


class Model(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.norms = nnx.List([nnx.GroupNorm(channels, num_groups=4, rngs=rngs) for _ in range(3)])
        self.first = nnx.Conv(channels, channels, (3, 3), rngs=rngs)
        self.second = nnx.Conv(channels, channels, (3, 3), rngs=rngs)
        self.modulation = nnx.Linear(channels, 2 * channels, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(heads, channels, decode=False, rngs=rngs)

    def __call__(self, x: jax.Array, level: jax.Array) -> jax.Array:
        scale, shift = jnp.split(self.modulation(nnx.silu(embed(level)))[:, None, None], 2, axis=-1)
        y = self.first(nnx.silu(self.norms[0](x)))
        y = self.second(nnx.silu(self.norms[1](y) * (1 + scale) + shift))
        x = x + y
        pixels = self.norms[2](x).reshape(batch, size * size, channels)
        return x + self.attention(pixels).reshape(x.shape)


def inputs(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    images, levels = jax.random.split(key)
    return jax.random.normal(images, (batch, size, size, channels)), jax.random.uniform(levels, (batch,)) * 1000
