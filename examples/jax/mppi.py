"""Model predictive path integral control of a unicycle: sample controls, roll out, weight by cost, average."""

import jax
import jax.numpy as jnp

samples, horizon, dt, temperature = 64, 20, 0.1, 0.5
obstacles = jnp.array([[1.0, 0.5], [2.0, -0.3], [1.5, 1.2]])
goal = jnp.array([3.0, 1.0])


def step(state: jax.Array, control: jax.Array) -> jax.Array:
    _, _, heading = state
    speed, turn = jnp.clip(control, jnp.array([0.0, -2.0]), jnp.array([2.0, 2.0]))
    return state + dt * jnp.stack([speed * jnp.cos(heading), speed * jnp.sin(heading), turn])


def cost(state: jax.Array, control: jax.Array) -> jax.Array:
    distance = jnp.linalg.norm(state[:2] - obstacles, axis=-1)
    collision = jnp.where(distance < 0.3, 100.0, 0.0).sum()
    return jnp.sum((state[:2] - goal) ** 2) + 0.01 * jnp.sum(control**2) + collision + jnp.exp(-4 * distance).sum()


def rollout(state: jax.Array, controls: jax.Array) -> jax.Array:
    def advance(state: jax.Array, control: jax.Array) -> tuple:
        state = step(state, control)
        return state, cost(state, control)

    _, costs = jax.lax.scan(advance, state, controls)
    return costs.sum()


def program(state: jax.Array, plan: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    noise = 0.4 * jax.random.normal(key, (samples, horizon, 2))
    total = jax.vmap(rollout, in_axes=(None, 0))(state, plan + noise)
    weight = jax.nn.softmax(-(total - total.min()) / temperature)
    return plan + jnp.einsum("s,shc->hc", weight, noise), total


def inputs(key: jax.Array) -> tuple:
    plan = jnp.tile(jnp.array([1.0, 0.1]), (horizon, 1))
    return jnp.array([0.0, 0.0, 0.2]), plan, key
