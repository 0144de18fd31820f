"""An MLP-Mixer: perceptrons over patches and over channels in turn, with Flax nnx."""

import jax
from flax import nnx

batch, patches, width, token_hidden, channel_hidden, layers, classes = 2, 16, 32, 24, 64, 3, 10


class Perceptron(nnx.Module):
    def __init__(self, features: int, hidden: int, *, rngs: nnx.Rngs) -> None:
        self.up = nnx.Linear(features, hidden, rngs=rngs)
        self.down = nnx.Linear(hidden, features, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.down(nnx.gelu(self.up(x)))


class Block(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.token_norm = nnx.LayerNorm(width, rngs=rngs)
        self.tokens = Perceptron(patches, token_hidden, rngs=rngs)
        self.channel_norm = nnx.LayerNorm(width, rngs=rngs)
        self.channels = Perceptron(width, channel_hidden, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + self.tokens(self.token_norm(x).swapaxes(1, 2)).swapaxes(1, 2)
        return x + self.channels(self.channel_norm(x))


class Model(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Conv(3, width, (8, 8), strides=8, padding="VALID", rngs=rngs)
        self.blocks = nnx.List([Block(rngs=rngs) for _ in range(layers)])
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.head = nnx.Linear(width, classes, rngs=rngs)

    def __call__(self, images: jax.Array) -> jax.Array:
        x = self.embed(images)
        x = x.reshape(x.shape[0], -1, width)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def inputs(key: jax.Array) -> jax.Array:
    return jax.random.normal(key, (batch, 32, 32, 3))
