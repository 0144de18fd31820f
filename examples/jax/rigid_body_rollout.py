"""A rollout of free rigid bodies: Euler's equations with quaternions, 40 Runge-Kutta steps, many bodies at once."""

import jax
import jax.numpy as jnp

bodies, steps, dt = 8, 40, 0.01


def multiply(a: jax.Array, b: jax.Array) -> jax.Array:
    scalar = a[0] * b[0] - jnp.dot(a[1:], b[1:])
    vector = a[0] * b[1:] + b[0] * a[1:] + jnp.cross(a[1:], b[1:])
    return jnp.concatenate([scalar[None], vector])


def rotate(attitude: jax.Array, vector: jax.Array) -> jax.Array:
    twice = 2 * jnp.cross(attitude[1:], vector)
    return vector + attitude[0] * twice + jnp.cross(attitude[1:], twice)


def derivative(state: dict, inertia: jax.Array, thrust: jax.Array, torque: jax.Array) -> dict:
    spin = state["spin"]
    return {
        "position": state["velocity"],
        "velocity": rotate(state["attitude"], thrust) + jnp.array([0.0, 0.0, -9.81]),
        "attitude": 0.5 * multiply(state["attitude"], jnp.concatenate([jnp.zeros(1), spin])),
        "spin": (torque - jnp.cross(spin, inertia * spin)) / inertia,
    }


def advance(state: dict, inertia: jax.Array, thrust: jax.Array, torque: jax.Array) -> dict:
    def moved(slope: dict, distance: float) -> dict:
        return jax.tree.map(lambda value, change: value + distance * change, state, slope)

    first = derivative(state, inertia, thrust, torque)
    second = derivative(moved(first, dt / 2), inertia, thrust, torque)
    third = derivative(moved(second, dt / 2), inertia, thrust, torque)
    fourth = derivative(moved(third, dt), inertia, thrust, torque)
    mean = jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, first, second, third, fourth)
    state = moved(mean, dt)
    return state | {"attitude": state["attitude"] / jnp.linalg.norm(state["attitude"])}


def rollout(state: dict, inertia: jax.Array, thrusts: jax.Array, torques: jax.Array) -> tuple[dict, jax.Array]:
    def step(state: dict, control: tuple) -> tuple:
        state = advance(state, inertia, *control)
        return state, state["position"]

    return jax.lax.scan(step, state, (thrusts, torques))


def program(states: dict, inertia: jax.Array, thrusts: jax.Array, torques: jax.Array) -> tuple[dict, jax.Array]:
    return jax.vmap(rollout)(states, inertia, thrusts, torques)


def inputs(key: jax.Array) -> tuple:
    keys = jax.random.split(key, 6)
    attitude = jax.random.normal(keys[0], (bodies, 4))
    states = {
        "position": jnp.zeros((bodies, 3)),
        "velocity": jax.random.normal(keys[1], (bodies, 3)),
        "attitude": attitude / jnp.linalg.norm(attitude, axis=-1, keepdims=True),
        "spin": jax.random.normal(keys[2], (bodies, 3)),
    }
    inertia = 0.5 + jax.random.uniform(keys[3], (bodies, 3))
    thrusts = 10 + jax.random.normal(keys[4], (bodies, steps, 3))
    return states, inertia, thrusts, jax.random.normal(keys[5], (bodies, steps, 3))
