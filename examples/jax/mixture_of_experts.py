"""A mixture of experts with a fixed capacity: the two best of eight experts per token, dispatched by one-hot masks."""

import jax
import jax.numpy as jnp
from flax import linen as nn

tokens, width, hidden, experts, chosen, capacity = 24, 16, 32, 8, 2, 8


class MixtureOfExperts(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        gates = nn.softmax(nn.Dense(experts, use_bias=False)(x))
        weight, index = jax.lax.top_k(gates, chosen)
        weight = weight / weight.sum(-1, keepdims=True)
        mask = jax.nn.one_hot(index, experts)  # token, choice, expert
        place = jnp.cumsum(mask.reshape(-1, experts), axis=0).reshape(mask.shape) * mask - 1
        slot = jax.nn.one_hot(place.astype(jnp.int32), capacity) * mask[..., None]  # full experts drop tokens
        dispatch = slot.sum(1)
        combine = (slot * weight[..., None, None]).sum(1)
        up = self.param("up", nn.initializers.lecun_normal(), (experts, width, hidden))
        down = self.param("down", nn.initializers.lecun_normal(), (experts, hidden, width))
        given = jnp.einsum("tec,tw->ecw", dispatch, x)
        result = jnp.einsum("ech,ehw->ecw", nn.silu(jnp.einsum("ecw,ewh->ech", given, up)), down)
        balance = experts * jnp.sum(mask.sum((0, 1)) / tokens * gates.mean(0))
        return jnp.einsum("tec,ecw->tw", combine, result), balance


program = MixtureOfExperts()


def inputs(key: jax.Array) -> jax.Array:
    return jax.random.normal(key, (tokens, width))
