"""A gated recurrent unit written as lax.scan over 64 steps, and its gradient for the weights."""

import jax
import jax.numpy as jnp

steps, batch, width = 64, 4, 16


def cell(weights: dict, hidden: jax.Array, x: jax.Array) -> jax.Array:
    reset, update = jnp.split(jax.nn.sigmoid(x @ weights["gates_x"] + hidden @ weights["gates_h"]), 2, axis=-1)
    candidate = jnp.tanh(x @ weights["new_x"] + (reset * hidden) @ weights["new_h"])
    return update * hidden + (1 - update) * candidate


def program(weights: dict, sequence: jax.Array) -> tuple:
    def loss(weights: dict) -> tuple:
        def step(hidden: jax.Array, x: jax.Array) -> tuple:
            hidden = cell(weights, hidden, x)
            return hidden, hidden

        last, states = jax.lax.scan(step, jnp.zeros((batch, width)), sequence)
        return jnp.square(last).mean(), states

    (value, states), gradient = jax.value_and_grad(loss, has_aux=True)(weights)
    return value, states, gradient


def inputs(key: jax.Array) -> tuple:
    keys = jax.random.split(key, 5)
    shapes = {"gates_x": 2 * width, "gates_h": 2 * width, "new_x": width, "new_h": width}
    weights = {
        name: jax.random.normal(k, (width, columns)) * 0.2
        for (name, columns), k in zip(shapes.items(), keys[:4], strict=True)
    }
    return weights, jax.random.normal(keys[4], (steps, batch, width))
