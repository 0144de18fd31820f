"""ResNet-50 at inference: 50 layers in bottleneck blocks of 3, 4, 6 and 3, here narrow and for small images."""

from functools import partial

import jax
from flax import linen as nn

batch, size, width, classes = 2, 32, 8, 10
stages = (3, 4, 6, 3)


class Bottleneck(nn.Module):
    features: int
    stride: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        conv = partial(nn.Conv, use_bias=False)
        norm = partial(nn.BatchNorm, use_running_average=True)
        y = nn.relu(norm()(conv(self.features, (1, 1))(x)))
        y = nn.relu(norm()(conv(self.features, (3, 3), strides=self.stride)(y)))
        y = norm()(conv(4 * self.features, (1, 1))(y))
        if x.shape != y.shape:
            x = norm()(conv(4 * self.features, (1, 1), strides=self.stride)(x))
        return nn.relu(x + y)


class ResNet50(nn.Module):
    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        x = nn.Conv(width, (7, 7), strides=2, use_bias=False)(images)
        x = nn.relu(nn.BatchNorm(use_running_average=True)(x))
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        for stage, blocks in enumerate(stages):
            for block in range(blocks):
                x = Bottleneck(width * 2**stage, 2 if stage and not block else 1)(x)
        return nn.Dense(classes)(x.mean((1, 2)))


program = ResNet50()


def inputs(key: jax.Array) -> jax.Array:
    return jax.random.normal(key, (batch, size, size, 3))
