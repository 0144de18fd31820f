"""A GPT block in bfloat16: rotary positions, causal grouped-query attention, a gated perceptron, with Flax nnx."""

import jax
import jax.numpy as jnp
from flax import nnx

batch, words, width, heads, groups, depth, hidden = 2, 24, 32, 4, 2, 8, 64


def rotate(x: jax.Array) -> jax.Array:
    """Rotates pairs of channels by angles that grow with the position."""
    frequency = 10000.0 ** (-jnp.arange(0, depth, 2) / depth)
    angle = jnp.arange(x.shape[1])[:, None] * frequency
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    even, odd = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([even * cos - odd * sin, even * sin + odd * cos], axis=-1).astype(x.dtype)


class Model(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs) -> None:
        def linear(rows: int, columns: int) -> nnx.Linear:
            return nnx.Linear(rows, columns, use_bias=False, param_dtype=jnp.bfloat16, dtype=jnp.bfloat16, rngs=rngs)

        self.attention_norm = nnx.RMSNorm(width, dtype=jnp.bfloat16, rngs=rngs)
        self.query = linear(width, heads * depth)
        self.key_value = linear(width, 2 * groups * depth)
        self.out = linear(heads * depth, width)
        self.mlp_norm = nnx.RMSNorm(width, dtype=jnp.bfloat16, rngs=rngs)
        self.gate, self.up, self.down = linear(width, hidden), linear(width, hidden), linear(hidden, width)

    def __call__(self, x: jax.Array) -> jax.Array:
        y = self.attention_norm(x)
        query = rotate(self.query(y).reshape(batch, words, heads, depth))
        key, value = jnp.split(self.key_value(y).reshape(batch, words, 2 * groups, depth), 2, axis=2)
        attended = jax.nn.dot_product_attention(query, rotate(key), value, is_causal=True)
        x = x + self.out(attended.reshape(batch, words, heads * depth))
        y = self.mlp_norm(x)
        return x + self.down(jax.nn.silu(self.gate(y)) * self.up(y))


def inputs(key: jax.Array) -> jax.Array:
    return jax.random.normal(key, (batch, words, width), jnp.bfloat16)
