"""A two-layer LSTM over embedded words, scanned by Flax, with a distribution over the next word."""

import jax
from flax import linen as nn

batch, words, vocabulary, width = 3, 20, 50, 16


class Language(nn.Module):
    @nn.compact
    def __call__(self, ids: jax.Array) -> jax.Array:
        x = nn.Embed(vocabulary, width)(ids)
        for _ in range(2):
            x = nn.RNN(nn.OptimizedLSTMCell(width))(x)
        return nn.log_softmax(nn.Dense(vocabulary)(x))


program = Language()


def inputs(key: jax.Array) -> jax.Array:
    return jax.random.randint(key, (batch, words), 0, vocabulary)
