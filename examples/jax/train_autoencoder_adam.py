"""A training step of a variational autoencoder with Adam, with Flax nnx; the noise is drawn inside the program."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

batch, pixels, hidden, latent = 8, 64, 32, 4


class Autoencoder(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.encoder = nnx.Linear(pixels, hidden, rngs=rngs)
        self.moments = nnx.Linear(hidden, 2 * latent, rngs=rngs)
        self.decoder = nnx.Linear(latent, hidden, rngs=rngs)
        self.out = nnx.Linear(hidden, pixels, rngs=rngs)

    def __call__(self, x: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        mean, logvar = jnp.split(self.moments(nnx.relu(self.encoder(x))), 2, axis=-1)
        code = mean + jnp.exp(0.5 * logvar) * jax.random.normal(key, mean.shape)
        return self.out(nnx.relu(self.decoder(code))), mean, logvar


definition = nnx.graphdef(nnx.eval_shape(lambda: Autoencoder(rngs=nnx.Rngs(0))))
optimiser = optax.adam(1e-3)


def program(params: nnx.State, state: tuple, images: jax.Array, key: jax.Array) -> tuple:
    def loss(params: nnx.State) -> jax.Array:
        logits, mean, logvar = nnx.merge(definition, params)(images, key)
        reconstruction = optax.sigmoid_binary_cross_entropy(logits, images).sum(-1)
        divergence = 0.5 * (jnp.exp(logvar) + mean**2 - 1 - logvar).sum(-1)
        return (reconstruction + divergence).mean()

    value, gradient = jax.value_and_grad(loss)(params)
    updates, state = optimiser.update(gradient, state)
    return value, optax.apply_updates(params, updates), state


def inputs(key: jax.Array) -> tuple:
    params = nnx.state(Autoencoder(rngs=nnx.Rngs(params=key)))
    return params, optimiser.init(params), jax.random.uniform(key, (batch, pixels)), key
