"""Functions of jax.nn, of jax.numpy.fft, and random numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax_suite import BF16, BOOL, C64, F32, F64, FLOATS, I32, U32, Suite, X

KEY = X(2, dtype=U32, full_range=True)


def cases(suite: Suite) -> None:
    activations(suite)
    normalisations(suite)
    attention(suite)
    transforms(suite)
    random_numbers(suite)


def activations(suite: Suite) -> None:
    names = (
        "relu relu6 sigmoid softplus sparse_plus sparse_sigmoid soft_sign silu swish log_sigmoid leaky_relu "
        "hard_sigmoid hard_silu hard_swish hard_tanh elu celu selu squareplus mish tanh identity"
    )
    for name in names.split():
        suite.call(f"nn.{name}", X(3, 4, low=-4, high=4), dtypes=FLOATS, grad=True)
    for name in ("relu", "sigmoid", "softplus", "silu", "elu", "log_sigmoid"):
        suite.call(f"nn.{name}", X(11, special=True), dtypes=(F32,))
    suite.call("nn.gelu", X(3, 4), dtypes=FLOATS, grad=True)
    suite.call("nn.gelu", X(3, 4), approximate=False, dtypes=FLOATS, grad=True)
    suite.call("nn.glu", X(3, 4), dtypes=FLOATS, grad=True)
    suite.call("nn.glu", X(4, 3), axis=0)
    suite.call("nn.leaky_relu", X(3, 4), 0.2)
    suite.call("nn.elu", X(3, 4), 0.5)
    suite.call("nn.celu", X(3, 4), 0.5)


def normalisations(suite: Suite) -> None:
    for name in ("softmax", "log_softmax"):
        suite.call(f"nn.{name}", X(3, 4), dtypes=FLOATS, grad=True)
        suite.call(f"nn.{name}", X(3, 4, 2), axis=(0, 1))
        suite.call(f"nn.{name}", X(3, 4), where=X(3, 4, dtype=BOOL), axis=0)
    suite.call("nn.logsumexp", X(3, 4), axis=0, keepdims=True, dtypes=FLOATS, grad=True)
    suite.call("nn.logsumexp", X(3, 4), b=X(3, 4, low=0.1, high=1))
    suite.call("nn.logmeanexp", X(3, 4), axis=1, grad=True)
    suite.call("nn.log1mexp", X(3, 4, low=0.1, high=3), grad=True)
    suite.call("nn.standardize", X(3, 4), dtypes=FLOATS, grad=True)
    suite.call("nn.one_hot", X(5, dtype=I32, low=-1, high=4), 4)
    suite.call("nn.one_hot", X(5, dtype=I32, low=-1, high=4), 4, axis=0, dtype=jnp.int32)


def attention(suite: Suite) -> None:
    query, key = X(2, 5, 4, 8), X(2, 6, 2, 8)
    suite.call("nn.dot_product_attention", query, key, key, dtypes=(F32, BF16), grad=True)
    suite.call("nn.dot_product_attention", query, X(2, 5, 4, 8), X(2, 5, 4, 8), is_causal=True, grad=True)
    suite.call(
        "nn.dot_product_attention", query, key, key, bias=X(2, 4, 5, 6), mask=X(2, 1, 5, 6, dtype=BOOL), scale=0.3
    )
    suite.call("nn.dot_product_attention", query, query, query, local_window_size=(2, 1))


def transforms(suite: Suite) -> None:
    for name in ("fft", "ifft"):
        suite.call(f"jnp.fft.{name}", X(3, 8), dtypes=(C64, F32))
        suite.call(f"jnp.fft.{name}", X(3, 8), n=5, axis=0, norm="ortho", dtypes=(C64,))
    for name in ("fft2", "ifft2", "fftn", "ifftn"):
        suite.call(f"jnp.fft.{name}", X(2, 4, 6), dtypes=(C64,))
    suite.call("jnp.fft.rfft", X(3, 8))
    as_f32 = (1e-5, 1e-5)  # complex numbers are two f32
    suite.program(
        "real_transforms", lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2), X(3, 8), dtypes=(F64,), tolerance=as_f32
    )
    suite.program("power_spectrum", lambda x: jnp.abs(jnp.fft.rfft(x)) ** 2, X(3, 8), grad=True)
    suite.call("jnp.fft.rfft", X(3, 7))
    suite.call("jnp.fft.irfft", X(3, 5), dtypes=(C64,))
    suite.call("jnp.fft.irfft", X(3, 5), n=9, dtypes=(C64,))
    for name in ("rfft2", "rfftn"):
        suite.call(f"jnp.fft.{name}", X(2, 4, 6))
    for name in ("irfft2", "irfftn"):
        suite.call(f"jnp.fft.{name}", X(2, 4, 4), dtypes=(C64,))
    suite.call("jnp.fft.hfft", X(5), dtypes=(C64,))
    suite.call("jnp.fft.ihfft", X(8))
    for name in ("fftfreq", "rfftfreq"):
        suite.call(f"jnp.fft.{name}", 8, d=0.5)
    for name in ("fftshift", "ifftshift"):
        suite.call(f"jnp.fft.{name}", X(3, 5))


def random_numbers(suite: Suite) -> None:
    """The default generator is integer arithmetic, so that the numbers themselves agree."""
    suite.call("random.bits", KEY, (5,))
    suite.call("random.bits", KEY, (5,), jnp.uint8)
    suite.call("random.uniform", KEY, (3, 5))
    suite.call("random.uniform", KEY, (3, 5), jnp.bfloat16)
    suite.call("random.uniform", KEY, (5,), minval=-2.0, maxval=X(5, low=1, high=2))
    suite.call("random.normal", KEY, (3, 5))
    suite.call("random.randint", KEY, (7,), 0, 10)
    suite.call("random.randint", KEY, (7,), -5, 1000)
    suite.call("random.bernoulli", KEY, 0.3, (9,))
    suite.call("random.categorical", KEY, X(3, 5))
    for name in ("gumbel", "exponential", "laplace", "logistic", "cauchy", "rademacher"):
        suite.call(f"random.{name}", KEY, (6,))
    suite.call("random.truncated_normal", KEY, -1.0, 2.0, (6,))
    suite.call("random.split", KEY, 3)
    suite.call("random.fold_in", KEY, 7)
    suite.call("random.permutation", KEY, 9)
    suite.call("random.permutation", KEY, X(5, 2))
    suite.call("random.choice", KEY, 9, (4,))
    suite.call("random.choice", KEY, 9, (4,), replace=False)
    suite.call("random.choice", KEY, X(9), (4,), p=X(9, values=[0.1] * 8 + [0.2]))
    suite.call("random.multivariate_normal", KEY, X(3), X(3, 3, symmetric=True), (4,), tolerance=(1e-3, 1e-3))
    suite.call("random.dirichlet", KEY, X(3, low=1, high=3), (2,))
    suite.call("random.gamma", KEY, 2.5, (6,))
    suite.call("random.poisson", KEY, 3.0, (6,))
    suite.program(
        "dropout",
        lambda key, x: jnp.where(jax.random.bernoulli(key, 0.8, x.shape), x / 0.8, 0),
        KEY,
        X(3, 8),
        dtypes=(F32, F64),
    )
