"""A vision transformer: patches by a strided convolution, a class token, pre-norm blocks with multi-head attention."""

import jax
import jax.numpy as jnp
from flax import linen as nn

batch, size, patch, width, heads, layers, classes = 2, 32, 8, 32, 4, 3, 10


class Block(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + nn.MultiHeadDotProductAttention(heads)(nn.LayerNorm()(x))
        hidden = nn.gelu(nn.Dense(4 * width)(nn.LayerNorm()(x)))
        return x + nn.Dense(width)(hidden)


class VisionTransformer(nn.Module):
    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        x = nn.Conv(width, (patch, patch), strides=patch, padding="VALID")(images)
        x = x.reshape(x.shape[0], -1, width)
        token = self.param("token", nn.initializers.normal(0.02), (1, 1, width))
        x = jnp.concatenate([jnp.broadcast_to(token, (x.shape[0], 1, width)), x], axis=1)
        x = x + self.param("position", nn.initializers.normal(0.02), (1, x.shape[1], width))
        for _ in range(layers):
            x = Block()(x)
        return nn.Dense(classes)(nn.LayerNorm()(x)[:, 0])


program = VisionTransformer()


def inputs(key: jax.Array) -> jax.Array:
    return jax.random.normal(key, (batch, size, size, 3))
