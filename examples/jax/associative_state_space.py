"""A diagonal state-space layer: the recurrence of 32 steps by lax.associative_scan, then a gated projection."""

import jax
import jax.numpy as jnp

batch, length, width, states = 2, 32, 8, 4


def combine(left: tuple, right: tuple) -> tuple:
    (decay_left, value_left), (decay_right, value_right) = left, right
    return decay_left * decay_right, value_left * decay_right + value_right


def program(x: jax.Array, rates: jax.Array, read: jax.Array, write: jax.Array, gate: jax.Array) -> jax.Array:
    step = jax.nn.softplus(x)
    decay = jnp.exp(-step[..., None] * jnp.exp(rates))
    drive = (step * x)[..., None] * write
    _, hidden = jax.lax.associative_scan(combine, (decay, drive), axis=1)
    return jnp.einsum("blws,ws->blw", hidden, read) * jax.nn.silu(x @ gate)


def inputs(key: jax.Array) -> tuple:
    keys = jax.random.split(key, 5)
    small = [jax.random.normal(k, (width, states)) * 0.5 for k in keys[1:4]]
    return jax.random.normal(keys[0], (batch, length, width)), *small, jax.random.normal(keys[4], (width, width))
