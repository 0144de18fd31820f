"""Stereo matching: a volume of absolute differences, box sums, scan-line aggregation, and sub-pixel disparity."""

import jax
import jax.numpy as jnp

height, width, disparities, window = 24, 32, 8, 5
small_step, large_step = 0.1, 0.6


def cost_volume(left: jax.Array, right: jax.Array) -> jax.Array:
    def one(shift: jax.Array) -> jax.Array:
        shifted = jnp.roll(right, shift, axis=1)
        inside = jnp.arange(width) >= shift
        return jnp.where(inside, jnp.abs(left - shifted), 1.0)

    costs = jax.vmap(one)(jnp.arange(disparities))
    return jax.lax.reduce_window(costs, 0.0, jax.lax.add, (1, window, window), (1, 1, 1), "SAME") / window**2


def aggregate(costs: jax.Array) -> jax.Array:
    """Semi-global aggregation along a row: a change of disparity between neighbours has a price."""

    def step(before: jax.Array, cost: jax.Array) -> tuple:
        least = before.min(0)
        up = jnp.pad(before[1:], ((0, 1), (0, 0)), constant_values=jnp.inf) + small_step
        down = jnp.pad(before[:-1], ((1, 0), (0, 0)), constant_values=jnp.inf) + small_step
        best = jnp.minimum(jnp.minimum(before, least + large_step), jnp.minimum(up, down))
        total = cost + best - least
        return total, total

    columns = jnp.moveaxis(costs, 2, 0)
    _, forward = jax.lax.scan(step, columns[0], columns)
    _, backward = jax.lax.scan(step, columns[-1], columns, reverse=True)
    return jnp.moveaxis(forward + backward, 0, 2)


def program(left: jax.Array, right: jax.Array) -> tuple[jax.Array, jax.Array]:
    costs = aggregate(cost_volume(left, right))
    best = jnp.argmin(costs, axis=0)
    around = jnp.clip(best + jnp.arange(-1, 2)[:, None, None], 0, disparities - 1)
    below, middle, above = jnp.take_along_axis(costs, around, axis=0)
    curvature = below - 2 * middle + above
    offset = jnp.where(curvature > 1e-3, 0.5 * (below - above) / jnp.maximum(curvature, 1e-3), 0.0)
    return best, best + jnp.clip(offset, -0.5, 0.5)


def inputs(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    noise, texture = jax.random.split(key)
    right = jax.random.uniform(texture, (height, width))
    return jnp.roll(right, 3, axis=1) + 0.01 * jax.random.normal(noise, (height, width)), right
