"""A U-Net for segmentation: two levels down by pooling, two up by transposed convolutions, with skip connections."""

import jax
import jax.numpy as jnp
from flax import linen as nn

batch, size, width, classes = 2, 24, 8, 4


class Double(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for _ in range(2):
            x = nn.silu(nn.GroupNorm(num_groups=4)(nn.Conv(self.features, (3, 3))(x)))
        return x


class UNet(nn.Module):
    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        skips = []
        x = images
        for level in range(2):
            x = Double(width * 2**level)(x)
            skips.append(x)
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = Double(4 * width)(x)
        for level in (1, 0):
            x = nn.ConvTranspose(width * 2**level, (2, 2), strides=(2, 2))(x)
            x = Double(width * 2**level)(jnp.concatenate([x, skips[level]], axis=-1))
        return nn.Conv(classes, (1, 1))(x)


program = UNet()


def inputs(key: jax.Array) -> jax.Array:
    return jax.random.normal(key, (batch, size, size, 3))
