"""Forward kinematics of a seven-joint arm for many poses, and the Jacobian of the hand by forward differentiation."""

import jax
import jax.numpy as jnp

poses, joints = 16, 7
# Denavit-Hartenberg: twist, length, offset of each link
links = jnp.array(
    [
        [-jnp.pi / 2, 0.0, 0.36],
        [jnp.pi / 2, 0.0, 0.0],
        [jnp.pi / 2, 0.0, 0.42],
        [-jnp.pi / 2, 0.0, 0.0],
        [-jnp.pi / 2, 0.0, 0.40],
        [jnp.pi / 2, 0.0, 0.0],
        [0.0, 0.0, 0.126],
    ]
)


def link_transform(angle: jax.Array, link: jax.Array) -> jax.Array:
    twist, length, offset = link
    c, s, ct, st = jnp.cos(angle), jnp.sin(angle), jnp.cos(twist), jnp.sin(twist)
    zero, one = jnp.zeros_like(c), jnp.ones_like(c)
    rows = [
        [c, -s * ct, s * st, length * c],
        [s, c * ct, -c * st, length * s],
        [zero, st, ct, offset],
        [zero, zero, zero, one],
    ]
    return jnp.stack([jnp.stack(row) for row in rows])


def hand(angles: jax.Array) -> jax.Array:
    transforms = jax.vmap(link_transform)(angles, links)
    pose, _ = jax.lax.scan(lambda pose, transform: (pose @ transform, None), jnp.eye(4), transforms)
    return pose


def program(angles: jax.Array) -> tuple[jax.Array, jax.Array]:
    jacobian = jax.vmap(jax.jacfwd(lambda q: hand(q)[:3, 3]))(angles)
    return jax.vmap(hand)(angles), jacobian


def inputs(key: jax.Array) -> jax.Array:
    return jax.random.uniform(key, (poses, joints), minval=-jnp.pi, maxval=jnp.pi)
