"""A particle filter for a robot among beacons: 15 rounds of motion, range weights and systematic resampling."""

import jax
import jax.numpy as jnp

particles, rounds = 64, 15
beacons = jnp.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])


def resample(key: jax.Array, weights: jax.Array) -> jax.Array:
    """Indices of the survivors: evenly spaced points on the cumulated weights."""
    points = (jnp.arange(particles) + jax.random.uniform(key)) / particles
    cumulated = jnp.cumsum(weights)
    return jnp.clip(jnp.sum(cumulated[None] < points[:, None], axis=1), 0, particles - 1)


def program(key: jax.Array, cloud: jax.Array, controls: jax.Array, ranges: jax.Array) -> tuple:
    def step(cloud: jax.Array, now: tuple) -> tuple:
        key, control, measured = now
        moving, choosing = jax.random.split(key)
        cloud = cloud + control + 0.05 * jax.random.normal(moving, cloud.shape)
        expected = jnp.linalg.norm(cloud[:, None] - beacons, axis=-1)
        log_weight = -0.5 * jnp.sum(((measured - expected) / 0.3) ** 2, axis=-1)
        weight = jax.nn.softmax(log_weight)
        mean = weight @ cloud
        return cloud[resample(choosing, weight)], (mean, 1 / jnp.sum(weight**2))

    return jax.lax.scan(step, cloud, (jax.random.split(key, rounds), controls, ranges))


def inputs(key: jax.Array) -> tuple:
    keys = jax.random.split(key, 3)
    cloud = 1.0 + 0.3 * jax.random.normal(keys[0], (particles, 2))
    controls = 0.1 + 0.02 * jax.random.normal(keys[1], (rounds, 2))
    path = 1.0 + jnp.cumsum(controls, axis=0)
    ranges = jnp.linalg.norm(path[:, None] - beacons, axis=-1)
    return key, cloud, controls, ranges + 0.05 * jax.random.normal(keys[2], ranges.shape)
