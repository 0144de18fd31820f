"""A training step of a small language model: next-word loss, clipped gradients, AdamW with a cosine schedule."""

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

batch, words, vocabulary, width, heads = 2, 16, 40, 16, 2


class Language(nn.Module):
    @nn.compact
    def __call__(self, ids: jax.Array) -> jax.Array:
        embedding = nn.Embed(vocabulary, width)
        x = embedding(ids) + nn.Embed(words, width)(jnp.arange(words))
        mask = nn.make_causal_mask(ids)
        for _ in range(2):
            x = x + nn.MultiHeadDotProductAttention(heads)(nn.LayerNorm()(x), mask=mask)
            x = x + nn.Dense(width)(nn.gelu(nn.Dense(4 * width)(nn.LayerNorm()(x))))
        return embedding.attend(nn.LayerNorm()(x))


model = Language()
schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, warmup_steps=10, decay_steps=100)
optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.1))


def program(params: dict, state: tuple, ids: jax.Array) -> tuple:
    def loss(params: dict) -> jax.Array:
        logits = model.apply(params, ids)[:, :-1]
        return optax.softmax_cross_entropy_with_integer_labels(logits, ids[:, 1:]).mean()

    value, gradient = jax.value_and_grad(loss)(params)
    updates, state = optimiser.update(gradient, state, params)
    return value, optax.apply_updates(params, updates), state


def inputs(key: jax.Array) -> tuple:
    ids = jax.random.randint(key, (batch, words), 0, vocabulary)
    params = model.init(key, ids)
    return params, optimiser.init(params), ids
