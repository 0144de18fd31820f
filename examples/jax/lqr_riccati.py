"""A linear-quadratic regulator by Riccati iteration backwards in time, then the closed loop forwards."""

import jax
import jax.numpy as jnp

states, controls, horizon = 8, 3, 30


def gain(value: jax.Array, a: jax.Array, b: jax.Array, r: jax.Array) -> jax.Array:
    return jnp.linalg.solve(r + b.T @ value @ b, b.T @ value @ a)


def program(a: jax.Array, b: jax.Array, q: jax.Array, r: jax.Array, start: jax.Array) -> tuple:
    def backward(value: jax.Array, _: None) -> tuple:
        k = gain(value, a, b, r)
        value = q + a.T @ value @ (a - b @ k)
        return 0.5 * (value + value.T), k

    value, gains = jax.lax.scan(backward, q, None, length=horizon)

    def forward(state: jax.Array, k: jax.Array) -> tuple:
        control = -k @ state
        state = a @ state + b @ control
        return state, (state, control)

    _, (path, applied) = jax.lax.scan(forward, start, gains[::-1])
    return start @ value @ start, path, applied


def inputs(key: jax.Array) -> tuple:
    keys = jax.random.split(key, 3)
    a = jnp.eye(states) + 0.1 * jax.random.normal(keys[0], (states, states))
    b = jax.random.normal(keys[1], (states, controls))
    return a, b, jnp.eye(states), 0.5 * jnp.eye(controls), jax.random.normal(keys[2], (states,))
