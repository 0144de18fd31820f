"""The greatest eigenvalue of a symmetric matrix by 50 steps of power iteration, as lax.fori_loop."""

import jax
import jax.numpy as jnp

size, steps = 32, 50


def program(matrix: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
    def step(_: int, vector: jax.Array) -> jax.Array:
        vector = matrix @ vector
        return vector / jnp.linalg.norm(vector)

    vector = jax.lax.fori_loop(0, steps, step, start)
    return vector @ matrix @ vector, vector


def inputs(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    left, right = jax.random.split(key)
    square = jax.random.normal(left, (size, size))
    # a gap below the greatest eigenvalue, so that the vector is well conditioned
    ones = jnp.ones((size, size)) / size
    return square @ square.T / size + 8 * ones, jax.random.uniform(right, (size,)) + 0.5
