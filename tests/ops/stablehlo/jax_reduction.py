"""Reductions, cumulated values and statistics."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax_suite import ALL, BF16, BOOL, C64, F16, F32, F64, FLOATS, I8, I32, I64, NUMBERS, U8, U32, Suite, X


def cases(suite: Suite) -> None:
    sums(suite)
    extremes(suite)
    positions(suite)
    ignoring_nans(suite)
    statistics(suite)
    cumulated(suite)
    lax_reductions(suite)


def sums(suite: Suite) -> None:
    suite.call("jnp.sum", X(3, 4, 5), dtypes=(*ALL, I8, U8, U32, C64), grad=True)
    suite.call("jnp.sum", X(3, 4, 5), axis=(0, 2), keepdims=True, dtypes=(F32, BF16))
    suite.call("jnp.sum", X(3, 4), axis=-1, where=X(3, 4, dtype=BOOL), initial=2.0)
    suite.call("jnp.sum", X(3, 0), axis=1)
    suite.call("jnp.prod", X(3, 4, low=0.5, high=1.5), axis=1, dtypes=(F32, F64, I32), grad=True)
    suite.call("jnp.mean", X(3, 4, 5), axis=(0, 1), dtypes=(*FLOATS, I32, BOOL), grad=True)
    suite.call("jnp.mean", X(3, 4), where=X(3, 4, dtype=BOOL))
    suite.call("jnp.average", X(3, 4), axis=1, weights=X(4, low=0.1, high=1), grad=True)
    suite.call("jnp.var", X(3, 4, 5), axis=1, dtypes=FLOATS, grad=True)
    suite.call("jnp.var", X(3, 4), ddof=1, keepdims=True)
    suite.call("jnp.var", X(3, 4), axis=0, dtypes=(C64,))
    suite.call("jnp.std", X(3, 4, 5), axis=(1, 2), dtypes=FLOATS, grad=True)
    suite.call("jnp.count_nonzero", X(3, 4, low=-1, high=2), axis=1, dtypes=(F32, I32, BOOL))
    suite.call("jnp.trace", X(4, 5), 1, dtypes=(F32, I32), grad=True)
    suite.call("jnp.trapezoid", X(3, 8), dx=0.5, grad=True)
    suite.call("jnp.trapezoid", X(8), X(8))


def extremes(suite: Suite) -> None:
    for name in ("max", "min"):
        suite.call(f"jnp.{name}", X(3, 4, 5, distinct=True), axis=1, dtypes=(*NUMBERS, I8, U8, U32), grad=True)
        suite.call(f"jnp.{name}", X(12, special=True), dtypes=(F32, BF16))
        suite.call(f"jnp.{name}", X(3, 4), axis=0, initial=0.5, where=X(3, 4, dtype=BOOL))
    for name in ("amax", "amin", "ptp"):
        suite.call(f"jnp.{name}", X(3, 4), axis=1, keepdims=True, dtypes=(F32, I32))
    for name in ("any", "all"):
        suite.call(f"jnp.{name}", X(3, 4), axis=1, dtypes=(BOOL, I32, F32))
        suite.call(f"jnp.{name}", X(3, 4, dtype=BOOL))


def positions(suite: Suite) -> None:
    for name in ("argmax", "argmin"):
        suite.call(f"jnp.{name}", X(3, 4, 5), axis=1, dtypes=(*NUMBERS, U8, U32))
        suite.call(f"jnp.{name}", X(3, 6, low=0, high=3), axis=1, keepdims=True, dtypes=(I32,))
        suite.call(f"jnp.{name}", X(3, 4))
        suite.call(f"jnp.{name}", X(12, special=True))
        suite.call(f"jnp.nan{name}", X(12, special=True))


def ignoring_nans(suite: Suite) -> None:
    for name in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd"):
        suite.call(f"jnp.{name}", X(2, 6, values=[1, jnp.nan, 2, 3, 4, 5, 1, 2, jnp.nan, jnp.nan, 0, 7]), axis=1)
        suite.call(f"jnp.{name}", X(3, 4), dtypes=(F32, F64))
    for name in ("nancumsum", "nancumprod"):
        suite.call(f"jnp.{name}", X(6, values=[1, jnp.nan, 2, 3, jnp.nan, 5]))
    for name in ("nanmedian",):
        suite.call(f"jnp.{name}", X(6, values=[1, jnp.nan, 2, 3, jnp.nan, 5]))
    for name in ("nanquantile", "nanpercentile"):
        suite.call(f"jnp.{name}", X(6, values=[1, jnp.nan, 2, 3, jnp.nan, 5]), 0.3)


def statistics(suite: Suite) -> None:
    suite.call("jnp.median", X(3, 7), axis=1, dtypes=(F32, F64))
    suite.call("jnp.median", X(3, 4))
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        suite.call("jnp.quantile", X(3, 7), 0.3, axis=1, method=method)
    suite.call("jnp.quantile", X(3, 7), X(3, low=0, high=1), axis=1, keepdims=True)
    suite.call("jnp.percentile", X(3, 7), 70.0, axis=0)
    suite.call("jnp.cov", X(3, 8))
    suite.call("jnp.cov", X(3, 8), rowvar=False, ddof=0)
    suite.call("jnp.corrcoef", X(3, 8))
    suite.call("jnp.histogram", X(20), bins=5, range=(-2.0, 2.0))
    suite.call("jnp.histogram", X(20), bins=X(4, values=[-1, 0, 0.5, 2]), weights=X(20))
    suite.call("jnp.histogram_bin_edges", X(20), bins=5)
    suite.call("jnp.histogram2d", X(20), X(20), bins=3, range=((-2.0, 2.0), (-2.0, 2.0)))
    suite.call("jnp.bincount", X(20, dtype=I32, low=0, high=7), length=8)
    suite.call("jnp.bincount", X(20, dtype=I32, low=0, high=7), weights=X(20), length=8)
    suite.call("jnp.digitize", X(20), X(4, values=[-1, 0, 0.5, 2]))
    suite.call("jnp.digitize", X(20), X(4, values=[2, 0.5, 0, -1]), right=True)


def cumulated(suite: Suite) -> None:
    # JAX rounds every step of a sum by halves to 16 bits
    coarse = {BF16: (0.2, 0.1), F16: (0.02, 0.01)}
    suite.call("jnp.cumsum", X(3, 40), axis=1, dtypes=(*FLOATS, I32, BOOL, U8), grad=True, tolerance=coarse)
    suite.call("jnp.cumsum", X(3, 4))
    suite.call("jnp.cumprod", X(3, 6, low=0.5, high=1.5), axis=0, dtypes=(F32, F64, I32), grad=True)
    suite.call("jnp.cumulative_sum", X(3, 6), axis=1, include_initial=True)
    suite.call("jnp.cumulative_prod", X(3, 6), axis=1)
    suite.call("jnp.diff", X(3, 6), n=2, dtypes=(F32, I32), grad=True)
    suite.call("jnp.diff", X(3, 6), axis=0, prepend=X(1, 6))
    suite.call("jnp.ediff1d", X(3, 6))
    suite.call("jnp.gradient", X(6, 5))
    suite.call("jnp.gradient", X(6), 0.5)


def lax_reductions(suite: Suite) -> None:
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for reverse in (False, True):
            suite.call(f"lax.{name}", X(3, 10), axis=1, reverse=reverse, dtypes=(F32, F64), grad=not reverse)
    for name in ("cumsum", "cummax", "cummin"):
        suite.call(f"lax.{name}", X(3, 10), axis=0, dtypes=(I32, I64))
    suite.call("lax.argmax", X(3, 4), 1, jnp.int32)
    suite.call("lax.argmin", X(3, 4), 0, jnp.int32)
    for name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod"):
        suite.call(f"lax.{name}", X(3, 4, 5), (0, 2), dtypes=(F32, BF16, I32))
    for name in ("reduce_and", "reduce_or", "reduce_xor"):
        suite.call(f"lax.{name}", X(3, 4, full_range=True), (1,), dtypes=(I32, BOOL))

    def smallest_with_weight(x: jnp.ndarray, y: jnp.ndarray) -> tuple:
        def better(a: tuple, b: tuple) -> tuple:
            keep = a[0] <= b[0]
            return jnp.where(keep, a[0], b[0]), jnp.where(keep, a[1], b[1])

        return lax.reduce((x, y), (jnp.float32(jnp.inf), jnp.float32(0)), better, (1,))

    suite.program("reduce_pair", smallest_with_weight, X(3, 6, distinct=True), X(3, 6))
    suite.program("reduce_sum_and_max", sum_and_max, X(3, 6), X(3, 6))
    suite.program("reduce_smooth_max", lambda x: lax.reduce(x, -jnp.inf, jnp.logaddexp, (1,)), X(3, 6))
    suite.program("reduce_constant", lambda x: lax.reduce(x, 1.0, lax.add, (0,)), X(3, 6))


def sum_and_max(x: jnp.ndarray, y: jnp.ndarray) -> tuple:
    both = lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1]))  # noqa: E731
    return lax.reduce((x, y), (jnp.float32(0), jnp.float32(-jnp.inf)), both, (0,))
