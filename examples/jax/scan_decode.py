"""Greedy decoding with a key-value cache: lax.scan over positions, each writing one row of the cache."""

import jax
import jax.numpy as jnp

batch, length, vocabulary, width, heads = 2, 12, 30, 16, 2
depth = width // heads


def attend(weights: dict, cache: tuple, x: jax.Array, position: jax.Array) -> tuple:
    query, key, value = jnp.split(x @ weights["qkv"], 3, axis=-1)
    keys, values = (
        jax.lax.dynamic_update_slice(store, new.reshape(batch, 1, heads, depth), (0, position, 0, 0))
        for store, new in zip(cache, (key, value), strict=True)
    )
    scores = jnp.einsum("bhd,bkhd->bhk", query.reshape(batch, heads, depth), keys) / jnp.sqrt(depth)
    scores = jnp.where(jnp.arange(length) <= position, scores, -jnp.inf)
    mixed = jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(scores), values)
    return mixed.reshape(batch, width) @ weights["out"], (keys, values)


def program(weights: dict, first: jax.Array) -> tuple[jax.Array, jax.Array]:
    def step(carry: tuple, position: jax.Array) -> tuple:
        token, cache = carry
        x = weights["embedding"][token]
        attended, cache = attend(weights, cache, x, position)
        logits = (x + attended) @ weights["embedding"].T
        token = jnp.argmax(logits, axis=-1)
        return (token, cache), (token, logits)

    empty = jnp.zeros((batch, length, heads, depth))
    _, (tokens, logits) = jax.lax.scan(step, (first, (empty, empty)), jnp.arange(length))
    return tokens.T, logits


def inputs(key: jax.Array) -> tuple:
    keys = jax.random.split(key, 4)
    weights = {
        "embedding": jax.random.normal(keys[0], (vocabulary, width)),
        "qkv": jax.random.normal(keys[1], (width, 3 * width)) * 0.3,
        "out": jax.random.normal(keys[2], (width, width)) * 0.3,
    }
    return weights, jax.random.randint(keys[3], (batch,), 0, vocabulary)
