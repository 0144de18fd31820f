"""Small programs as people write them: attention in blocks, decoders, losses, quantised products, samplers."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax_suite import BF16, F32, F64, I8, I32, U32, Suite, X

Array = jax.Array
LOOSE = (1e-3, 1e-3)


def cases(suite: Suite) -> None:
    networks(suite)
    sequences(suite)
    losses(suite)
    quantised(suite)
    sampling(suite)
    annotations(suite)


def networks(suite: Suite) -> None:
    suite.program("flash_attention", flash_attention, X(8, 4), X(12, 4), X(12, 4), grad=True, tolerance=LOOSE)
    suite.program(
        "selective_scan", selective_scan, X(6, 3), X(6, 3, low=0.1, high=1), X(3, 2), X(6, 2), X(6, 2), grad=True
    )
    suite.program(
        "graph_attention",
        graph_attention,
        X(5, 4),
        X(4, 4),
        X(9, dtype=I32, low=0, high=5),
        X(9, dtype=I32, low=0, high=5),
        grad=True,
    )
    suite.program("batch_norm", batch_norm, X(4, 5, 5, 3), X(3), X(3), grad=True, tolerance=LOOSE)
    suite.program(
        "group_query_cache", group_query_cache, X(2, 1, 4, 8), X(2, 6, 2, 8), X(2, 1, 2, 8), X(dtype=I32, low=0, high=6)
    )
    suite.program("depthwise_separable", depthwise_separable, X(2, 8, 8, 4), X(3, 3, 1, 4), X(1, 1, 4, 6), grad=True)
    suite.program("spectral_layer", spectral_layer, X(2, 8, 3), X(3, 3, 3), X(3, 3, 3))
    suite.program("rotary", rotary, X(2, 6, 2, 8), dtypes=(F32, BF16))
    suite.program("swin_shift", swin_shift, X(1, 8, 8, 3))
    suite.program(
        "pixel_shuffle",
        lambda x: x.reshape(2, 4, 4, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 8, 8, 3),
        X(2, 4, 4, 12),
        grad=True,
    )
    suite.program("resize_bilinear", lambda x: jax.image.resize(x, (7, 9, 3), "bilinear"), X(4, 5, 3), grad=True)
    suite.program("resize_nearest", lambda x: jax.image.resize(x, (8, 10, 3), "nearest"), X(4, 5, 3))
    suite.program("resize_cubic", lambda x: jax.image.resize(x, (8, 3, 3), "cubic"), X(4, 5, 3), tolerance=LOOSE)
    suite.program(
        "map_coordinates",
        lambda x, c: jax.scipy.ndimage.map_coordinates(x, c, order=1),
        X(6, 6),
        X(2, 9, low=0, high=5),
        grad=True,
    )


def flash_attention(query: Array, key: Array, value: Array) -> Array:
    """Softmax over blocks of keys with a running maximum."""

    def block(carry: tuple, part: tuple) -> tuple:
        best, total, mixed = carry
        keys, values = part
        scores = query @ keys.T
        top = jnp.maximum(best, scores.max(-1))
        weight = jnp.exp(scores - top[:, None])
        shrink = jnp.exp(best - top)
        return (top, total * shrink + weight.sum(-1), mixed * shrink[:, None] + weight @ values), None

    start = (jnp.full(query.shape[0], -jnp.inf), jnp.zeros(query.shape[0]), jnp.zeros_like(query))
    (_, total, mixed), _ = lax.scan(block, start, (key.reshape(3, 4, -1), value.reshape(3, 4, -1)))
    return mixed / total[:, None]


def selective_scan(x: Array, step: Array, rates: Array, write: Array, read: Array) -> Array:
    def advance(state: Array, now: tuple) -> tuple:
        value, delta, into, out = now
        state = jnp.exp(delta[:, None] * -jnp.exp(rates)) * state + (delta * value)[:, None] * into
        return state, state @ out

    return lax.scan(advance, jnp.zeros_like(rates), (x, step, write, read))[1]


def graph_attention(nodes: Array, weight: Array, senders: Array, receivers: Array) -> Array:
    hidden = nodes @ weight
    scores = jax.nn.leaky_relu((hidden[senders] * hidden[receivers]).sum(-1))
    top = jax.ops.segment_max(scores, receivers, 5)
    weights = jnp.exp(scores - top[receivers])
    total = jax.ops.segment_sum(weights, receivers, 5)
    return jax.ops.segment_sum(hidden[senders] * (weights / total[receivers])[:, None], receivers, 5)


def batch_norm(x: Array, scale: Array, shift: Array) -> Array:
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


def group_query_cache(query: Array, cache: Array, new: Array, position: Array) -> tuple:
    cache = lax.dynamic_update_slice(cache, new, (0, position, 0, 0))
    grouped = query.reshape(2, 1, 2, 2, 8)
    scores = jnp.einsum("bqgnd,bkgd->bgnqk", grouped, cache)
    scores = jnp.where(jnp.arange(6) <= position, scores, -1e9)
    return jnp.einsum("bgnqk,bkgd->bqgnd", jax.nn.softmax(scores), cache), cache


def depthwise_separable(x: Array, depth: Array, point: Array) -> Array:
    conv = partial(lax.conv_general_dilated, padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = conv(x, depth, window_strides=(2, 2), feature_group_count=4)
    return jax.nn.hard_swish(conv(x, point, window_strides=(1, 1)))


def spectral_layer(x: Array, real: Array, imaginary: Array) -> Array:
    modes = jnp.fft.rfft(x, axis=1)
    low = jnp.einsum("bmc,mco->bmo", modes[:, :3], real + 1j * imaginary)
    return jnp.fft.irfft(jnp.zeros_like(modes).at[:, :3].set(low), n=8, axis=1)


def rotary(x: Array) -> Array:
    angle = jnp.arange(6)[:, None] / 10000 ** (jnp.arange(0, 8, 2) / 8)
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    even, odd = x[..., ::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape).astype(x.dtype)


def swin_shift(x: Array) -> Array:
    rolled = jnp.roll(x, (-2, -2), (1, 2))
    windows = rolled.reshape(1, 2, 4, 2, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(4, 16, 3)
    return jax.nn.softmax(windows @ windows.swapaxes(1, 2)) @ windows


def sequences(suite: Suite) -> None:
    suite.program("dynamic_time_warping", dynamic_time_warping, X(5), X(6), grad=True)
    suite.program("viterbi", viterbi, X(6, 4), X(4, 4))
    suite.program("beam_search", beam_search, X(3, 7), X(7, 7))
    suite.program("kadane", kadane, X(9))
    suite.program(
        "run_lengths",
        lambda x: lax.associative_scan(lambda a, b: jnp.where(b == 0, 0, a + b), x),
        X(9, low=0, high=2),
        dtypes=(I32,),
    )
    suite.program(
        "convolution_scan",
        lambda x, w: lax.scan(lambda c, v: (jnp.roll(c, 1).at[0].set(v), c @ w), jnp.zeros(3), x)[1],
        X(7),
        X(3),
    )
    suite.program(
        "stacked_layers",
        lambda x, w: lax.scan(lambda h, layer: (jax.nn.relu(h @ layer), None), x, w)[0],
        X(2, 4),
        X(3, 4, 4),
        grad=True,
    )


def dynamic_time_warping(a: Array, b: Array) -> Array:
    distance = jnp.abs(a[:, None] - b)

    def row(above: Array, costs: Array) -> tuple:
        def cell(left: Array, now: tuple) -> tuple:
            cost, up, diagonal = now
            value = cost + jnp.minimum(jnp.minimum(left, up), diagonal)
            return value, value

        shifted = jnp.concatenate([jnp.full(1, jnp.inf), above[:-1]])
        _, values = lax.scan(cell, jnp.inf, (costs, above, shifted))
        return values, None

    first = jnp.cumsum(distance[0])
    return lax.scan(row, first, distance[1:])[0][-1]


def viterbi(emission: Array, transition: Array) -> tuple:
    def forward(score: Array, now: Array) -> tuple:
        joint = score[:, None] + transition
        return joint.max(0) + now, joint.argmax(0)

    score, back = lax.scan(forward, emission[0], emission[1:])
    last = score.argmax()
    _, path = lax.scan(lambda state, row: (row[state], row[state]), last, back, reverse=True)
    return score.max(), jnp.append(path, last)


def beam_search(start: Array, transition: Array) -> tuple:
    def step(carry: tuple, _: None) -> tuple:
        scores, tokens = carry
        joint = scores[:, None] + jax.nn.log_softmax(transition[tokens])
        best, flat = lax.top_k(joint.reshape(-1), 3)
        return (best, flat % 7), (flat // 7, flat % 7)

    scores, tokens = lax.top_k(start[0], 3)
    return lax.scan(step, (scores, tokens), None, length=4)


def kadane(x: Array) -> Array:
    def step(carry: tuple, value: Array) -> tuple:
        here, best = carry
        here = jnp.maximum(value, here + value)
        return (here, jnp.maximum(best, here)), None

    return lax.scan(step, (x[0], x[0]), x[1:])[0][1]


def losses(suite: Suite) -> None:
    labels = X(4, dtype=I32, low=0, high=5)
    suite.program(
        "cross_entropy",
        lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean(),
        X(4, 5),
        labels,
        grad=True,
    )
    suite.program(
        "label_smoothing",
        lambda x, y: -(jax.nn.one_hot(y, 5) * 0.9 + 0.02).ravel() @ jax.nn.log_softmax(x).ravel(),
        X(4, 5),
        labels,
        grad=True,
    )
    suite.program(
        "focal",
        lambda x, y: (jnp.square(1 - jax.nn.sigmoid(x)) * y * jax.nn.softplus(-x)).sum(),
        X(6),
        X(6, low=0, high=1),
        grad=True,
    )
    suite.program("contrastive", contrastive, X(4, 3), X(4, 3), grad=True)
    suite.program("huber", lambda x: jnp.where(jnp.abs(x) < 1, 0.5 * x**2, jnp.abs(x) - 0.5).sum(), X(9), grad=True)
    suite.program(
        "dice",
        lambda x, y: 1 - 2 * (x * y).sum() / (x.sum() + y.sum() + 1e-6),
        X(9, low=0, high=1),
        X(9, low=0, high=1),
        grad=True,
    )
    suite.program(
        "triplet",
        lambda a, p, n: jax.nn.relu(jnp.linalg.norm(a - p, axis=1) - jnp.linalg.norm(a - n, axis=1) + 1).mean(),
        X(4, 3),
        X(4, 3),
        X(4, 3),
        grad=True,
    )
    suite.program("adam_step", adam_step, X(5), X(5), X(5), X(5, low=0, high=1), X(dtype=I32, low=1, high=9))


def contrastive(a: Array, b: Array) -> Array:
    a, b = (x / jnp.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    logits = a @ b.T / 0.1
    return -jnp.diagonal(jax.nn.log_softmax(logits)).mean() - jnp.diagonal(jax.nn.log_softmax(logits.T)).mean()


def adam_step(value: Array, gradient: Array, first: Array, second: Array, count: Array) -> tuple:
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient**2
    scaled = first / (1 - 0.9**count) / (jnp.sqrt(second / (1 - 0.999**count)) + 1e-8)
    return value - 1e-2 * scaled, first, second


def quantised(suite: Suite) -> None:
    suite.program("int8_product", int8_product, X(3, 8), X(8, 4))
    suite.program(
        "int8_weights",
        lambda x, w, s: (x @ w.astype(x.dtype)) * s,
        X(3, 8),
        X(8, 4, dtype=I8),
        X(4, low=0.01, high=0.1),
        dtypes=(F32, BF16),
    )
    suite.program(
        "float8",
        lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32) + x.astype(jnp.float8_e5m2).astype(jnp.float32),
        X(9),
    )
    suite.program(
        "nibbles",
        lambda p: jnp.stack([p & 15, p >> 4], -1).reshape(-1).astype(jnp.int32) - 8,
        X(5, dtype=U32, low=0, high=255),
    )
    suite.program("straight_through", lambda x: x + lax.stop_gradient(jnp.round(x * 4) / 4 - x), X(9), grad=True)


def int8_product(x: Array, w: Array) -> Array:
    scale = jnp.abs(x).max(1, keepdims=True) / 127
    whole = jnp.round(x / scale).astype(jnp.int8)
    weights = jnp.round(w * 40).astype(jnp.int8)
    product = lax.dot_general(whole, weights, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return product.astype(jnp.float32) * scale / 40


def sampling(suite: Suite) -> None:
    key = X(2, dtype=U32, full_range=True)
    suite.program("top_k_sampling", top_k_sampling, key, X(3, 9, distinct=True))
    suite.program("nucleus", nucleus, X(3, 9))
    suite.program("diffusion_steps", diffusion_steps, key, X(2, 4), X(4, 4))
    suite.program(
        "typed_keys", lambda k: jax.random.uniform(jax.random.split(jax.random.wrap_key_data(k))[1], (3,)), key
    )
    suite.program("shuffled", lambda k, x: jax.random.permutation(k, x, independent=False), key, X(6, 2))
    suite.program("metropolis", metropolis, key, X(2))


def top_k_sampling(key: Array, logits: Array) -> Array:
    values, index = lax.top_k(logits, 3)
    choice = jax.random.categorical(key, values)
    return jnp.take_along_axis(index, choice[:, None], 1)


def nucleus(logits: Array) -> Array:
    order = jnp.argsort(logits, axis=-1)[:, ::-1]
    chance = jnp.take_along_axis(jax.nn.softmax(logits), order, 1)
    keep = jnp.cumsum(chance, -1) - chance < 0.8
    return jnp.where(keep, jnp.take_along_axis(logits, order, 1), -jnp.inf)


def diffusion_steps(key: Array, x: Array, weight: Array) -> Array:
    betas = jnp.linspace(1e-4, 0.02, 5)

    def step(carry: tuple, beta: Array) -> tuple:
        x, key = carry
        key, now = jax.random.split(key)
        x = (x - beta * jnp.tanh(x @ weight)) / jnp.sqrt(1 - beta) + jnp.sqrt(beta) * jax.random.normal(now, x.shape)
        return (x, key), None

    return lax.scan(step, (x, key), betas, reverse=True)[0][0]


def metropolis(key: Array, start: Array) -> tuple:
    def step(x: Array, key: Array) -> tuple:
        moving, choosing = jax.random.split(key)
        proposal = x + 0.5 * jax.random.normal(moving, x.shape)
        accept = jnp.log(jax.random.uniform(choosing)) < 0.5 * (x @ x - proposal @ proposal)
        x = jnp.where(accept, proposal, x)
        return x, x

    return lax.scan(step, start, jax.random.split(key, 6))


def annotations(suite: Suite) -> None:
    """What does not change a value: placements, barriers, names, remat, inner jits."""
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    placed = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    suite.program("sharding_constraint", lambda x: lax.with_sharding_constraint(x * 2, placed) + 1, X(4, 3))
    suite.program("barrier", lambda x: lax.optimization_barrier((x * 2, x + 1)), X(4))
    suite.program("named_scopes", jax.named_call(lambda x: jnp.sin(x) + 1, name="scope"), X(4))
    suite.program("shard_map", shard_mapped(mesh), X(4, 3), runs=False)  # a collective is opaque
    suite.program("nested_jit", nested_jit, X(4), grad=True)
    suite.program(
        "remat",
        jax.checkpoint(lambda x: jnp.tanh(x @ x.T).sum(), policy=jax.checkpoint_policies.dots_saveable),
        X(3, 3),
        grad=True,
    )
    suite.program(
        "mixed_precision",
        lambda x, w: jnp.dot(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=jnp.float32),
        X(3, 8),
        X(8, 4),
        dtypes=(F32, F64),
    )


def shard_mapped(mesh: Any) -> Any:
    spec = jax.sharding.PartitionSpec("x")
    return jax.shard_map(lambda x: x - lax.pmean(x.mean(), "x"), mesh=mesh, in_specs=spec, out_specs=spec)


@jax.jit
def nested_jit(x: Array) -> Array:
    inner = jax.jit(lambda v: jnp.sin(v) * 2)
    return inner(x) + inner(inner(x))
