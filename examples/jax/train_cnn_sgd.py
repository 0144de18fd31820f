"""A training step of a convolutional network with batch norm: cross-entropy, SGD with momentum and weight decay."""

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

batch, size, width, classes = 8, 16, 8, 10


class Network(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for features in (width, 2 * width):
            x = nn.Conv(features, (3, 3), use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=False)(x))
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        return nn.Dense(classes)(x.reshape(x.shape[0], -1))


model = Network()
optimiser = optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(0.1, momentum=0.9, nesterov=True))


def program(params: dict, statistics: dict, state: tuple, images: jax.Array, labels: jax.Array) -> tuple:
    def loss(params: dict) -> tuple:
        variables = {"params": params, "batch_stats": statistics}
        logits, changed = model.apply(variables, images, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), changed["batch_stats"]

    (value, changed), gradient = jax.value_and_grad(loss, has_aux=True)(params)
    updates, state = optimiser.update(gradient, state, params)
    return value, optax.apply_updates(params, updates), changed, state


def inputs(key: jax.Array) -> tuple:
    keys = jax.random.split(key, 3)
    images = jax.random.normal(keys[0], (batch, size, size, 3))
    variables = model.init(keys[1], images)
    params = variables["params"]
    labels = jax.random.randint(keys[2], (batch,), 0, classes)
    return params, variables["batch_stats"], optimiser.init(params), images, jnp.asarray(labels)
