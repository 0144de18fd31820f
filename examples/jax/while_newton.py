"""Inverse kinematics of a planar arm for many goals: 20 damped Gauss-Newton steps, lax.while_loop with a counter."""

import jax
import jax.numpy as jnp

goals, joints, steps = 32, 4, 20
lengths = jnp.array([1.0, 0.8, 0.6, 0.4])


def hand(angles: jax.Array) -> jax.Array:
    heading = jnp.cumsum(angles)
    return jnp.stack([(lengths * jnp.cos(heading)).sum(), (lengths * jnp.sin(heading)).sum()])


def solve_two(matrix: jax.Array, right: jax.Array) -> jax.Array:
    (a, b), (c, d) = matrix
    return jnp.stack([d * right[0] - b * right[1], a * right[1] - c * right[0]]) / (a * d - b * c)


def reach(goal: jax.Array, start: jax.Array) -> jax.Array:
    def step(state: tuple) -> tuple:
        count, angles = state
        jacobian = jax.jacfwd(hand)(angles)
        error = goal - hand(angles)
        damped = jacobian @ jacobian.T + 0.05 * jnp.eye(2)
        return count + 1, angles + jacobian.T @ solve_two(damped, error)

    return jax.lax.while_loop(lambda state: state[0] < steps, step, (0, start))[1]


def program(targets: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
    angles = jax.vmap(reach, in_axes=(0, None))(targets, start)
    return angles, jax.vmap(hand)(angles)


def inputs(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    angle, radius = jax.random.uniform(key, (2, goals))
    direction = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    return direction * (1.2 + 0.8 * radius)[:, None], jnp.array([0.3, 0.4, 0.5, 0.2])
