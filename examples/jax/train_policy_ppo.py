"""A step of proximal policy optimisation: advantages by a reverse scan, the clipped objective, Lion as optimiser."""

import jax
import jax.numpy as jnp
import optax

steps, robots, observed, actions, hidden = 16, 4, 6, 2, 24
discount, smoothing, clip = 0.99, 0.95, 0.2
optimiser = optax.chain(optax.clip_by_global_norm(0.5), optax.lion(1e-4))


def network(params: dict, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The mean action and the value of a state."""
    x = jnp.tanh(observation @ params["in"] + params["bias"])
    return x @ params["policy"], (x @ params["value"])[..., 0]


def log_density(params: dict, mean: jax.Array, action: jax.Array) -> jax.Array:
    scaled = (action - mean) * jnp.exp(-params["log_std"])
    return (-0.5 * scaled**2 - params["log_std"] - 0.5 * jnp.log(2 * jnp.pi)).sum(-1)


def advantages(values: jax.Array, rewards: jax.Array, last: jax.Array) -> jax.Array:
    def backward(carry: tuple, now: tuple) -> tuple:
        following, advantage = carry
        value, reward = now
        advantage = reward + discount * following - value + discount * smoothing * advantage
        return (value, advantage), advantage

    _, found = jax.lax.scan(backward, (last, jnp.zeros_like(last)), (values, rewards), reverse=True)
    return found


def program(
    params: dict, state: tuple, observations: jax.Array, taken: jax.Array, rewards: jax.Array, old: jax.Array
) -> tuple:
    _, values = network(params, observations)
    advantage = advantages(values[:-1], rewards, values[-1])
    targets = advantage + values[:-1]
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)

    def loss(params: dict) -> jax.Array:
        mean, value = network(params, observations[:-1])
        ratio = jnp.exp(log_density(params, mean, taken) - old)
        gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)
        entropy = params["log_std"].sum()
        return -gain.mean() + 0.5 * jnp.square(value - targets).mean() - 0.01 * entropy

    value, gradient = jax.value_and_grad(loss)(params)
    updates, state = optimiser.update(gradient, state, params)
    return value, optax.apply_updates(params, updates), state


def inputs(key: jax.Array) -> tuple:
    keys = jax.random.split(key, 8)
    params = {
        "in": jax.random.normal(keys[0], (observed, hidden)) * 0.3,
        "bias": jnp.zeros(hidden),
        "policy": jax.random.normal(keys[1], (hidden, actions)) * 0.2,
        "value": jax.random.normal(keys[2], (hidden, 1)) * 0.2,
        "log_std": jnp.full((actions,), -0.5),
    }
    observations = jax.random.normal(keys[3], (steps + 1, robots, observed))
    taken = jax.random.normal(keys[4], (steps, robots, actions))
    rewards = jax.random.normal(keys[5], (steps, robots))
    old = -jax.random.uniform(keys[6], (steps, robots)) * 3
    return params, optimiser.init(params), observations, taken, rewards, old
