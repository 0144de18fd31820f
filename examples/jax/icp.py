"""Iterative closest point: ten rounds of nearest neighbours and a Gauss-Newton step over rotation and translation."""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve

source_points, target_points, rounds = 48, 64, 10


def skew(v: jax.Array) -> jax.Array:
    x, y, z = v
    zero = jnp.zeros_like(x)
    return jnp.stack([jnp.stack([zero, -z, y]), jnp.stack([z, zero, -x]), jnp.stack([-y, x, zero])])


def rotation(vector: jax.Array) -> jax.Array:
    """Rodrigues' formula, smooth at zero."""
    square = jnp.dot(vector, vector) + 1e-12
    angle = jnp.sqrt(square)
    cross = skew(vector)
    return jnp.eye(3) + jnp.sin(angle) / angle * cross + (1 - jnp.cos(angle)) / square * (cross @ cross)


def nearest(points: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
    squared = jnp.sum(points**2, -1)[:, None] - 2 * points @ targets.T + jnp.sum(targets**2, -1)
    index = jnp.argmin(squared, axis=1)
    return targets[index], index


def program(source: jax.Array, target: jax.Array) -> tuple:
    def align(_: int, pose: tuple) -> tuple:
        turn, shift = pose
        moved = source @ turn.T + shift
        matched, _ = nearest(moved, target)
        residual = (matched - moved).reshape(-1)
        jacobian = jnp.concatenate([-jax.vmap(skew)(moved), jnp.broadcast_to(jnp.eye(3), (source_points, 3, 3))], -1)
        jacobian = jacobian.reshape(-1, 6)
        normal = jacobian.T @ jacobian + 1e-4 * jnp.eye(6)
        change = cho_solve(cho_factor(normal), jacobian.T @ residual)
        step = rotation(change[:3])
        return step @ turn, step @ shift + change[3:]

    turn, shift = jax.lax.fori_loop(0, rounds, align, (jnp.eye(3), jnp.zeros(3)))
    matched, index = nearest(source @ turn.T + shift, target)
    return turn, shift, jnp.mean(jnp.sum((matched - source @ turn.T - shift) ** 2, -1)), index


def inputs(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    target = jax.random.normal(key, (target_points, 3))
    turn = rotation(jnp.array([0.04, -0.06, 0.05]))
    return (target[:source_points] - jnp.array([0.05, 0.02, -0.03])) @ turn, target
