"""A step of trajectory optimisation: a cart-pole swing-up by shooting through 30 steps, with Adam on the gradient."""

import jax
import jax.numpy as jnp
import optax

horizon, dt = 30, 0.05
cart, pole, length, gravity = 1.0, 0.2, 0.5, 9.81
optimiser = optax.adam(0.1)


def dynamics(state: jax.Array, force: jax.Array) -> jax.Array:
    _, angle, velocity, spin = state
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    total = cart + pole * sin**2
    acceleration = (force + pole * sin * (length * spin**2 + gravity * cos)) / total
    twist = (-force * cos - pole * length * spin**2 * cos * sin - (cart + pole) * gravity * sin) / (length * total)
    return jnp.stack([velocity, spin, acceleration, twist])


def rollout(start: jax.Array, forces: jax.Array) -> jax.Array:
    def step(state: jax.Array, force: jax.Array) -> tuple:
        middle = state + 0.5 * dt * dynamics(state, force)
        state = state + dt * dynamics(middle, force)
        return state, state

    return jax.lax.scan(step, start, forces)[1]


def cost(forces: jax.Array, start: jax.Array) -> jax.Array:
    path = rollout(start, forces)
    upright = 1 + jnp.cos(path[:, 1])
    running = 0.1 * jnp.sum(path[:, 0] ** 2) + jnp.sum(upright**2) + 0.01 * jnp.sum(path[:, 2:] ** 2)
    return running + 0.001 * jnp.sum(forces**2) + 10 * upright[-1] ** 2


def program(forces: jax.Array, state: tuple, start: jax.Array) -> tuple:
    value, gradient = jax.value_and_grad(cost)(forces, start)
    updates, state = optimiser.update(gradient, state)
    return value, optax.apply_updates(forces, updates), state


def inputs(key: jax.Array) -> tuple:
    forces = jax.random.normal(key, (horizon,))
    return forces, optimiser.init(forces), jnp.array([0.0, 0.1, 0.0, 0.0])
