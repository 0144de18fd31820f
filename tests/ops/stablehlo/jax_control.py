"""Loops, branches, transformations and nested calls."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax_suite import BF16, F32, F64, I32, Suite, X


def cases(suite: Suite) -> None:
    loops(suite)
    scans(suite)
    branches(suite)
    transformations(suite)


def loops(suite: Suite) -> None:
    suite.program(
        "fori", lambda x: lax.fori_loop(0, 5, lambda i, v: v * 0.5 + i, x), X(4), dtypes=(F32, F64), grad=True
    )
    suite.program("fori_from", lambda x: lax.fori_loop(2, 9, lambda i, v: v + i * x, jnp.zeros_like(x)), X(4))
    suite.program("fori_none", lambda x: lax.fori_loop(3, 3, lambda i, v: v * 0.5, x), X(4))
    suite.program("fori_reads", lambda x: lax.fori_loop(0, 4, lambda i, v: v + x[i], 0.0), X(4))
    suite.program("fori_writes", lambda x: lax.fori_loop(0, 4, lambda i, v: v.at[i].set(v[i - 1] + x[i]), x), X(4))
    suite.program("fori_nested", nested, X(3, 4))
    suite.program(
        "while_step", lambda x: lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 3, s[1] * 1.1), (1, x))[1], X(4)
    )
    suite.program(
        "while_down", lambda x: lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] + s[0]), (5, x))[1], X(4)
    )
    suite.program(
        "while_data",
        lambda x: lax.while_loop(lambda v: jnp.sum(v) > 1, lambda v: v * 0.5, x),
        X(4, low=1, high=2),
    )
    never = partial(lax.while_loop, lambda v: jnp.sum(v) > 1e9, lambda v: v * 0.5)
    suite.program("while_never", lambda x: never(x) + 1, X(4))
    suite.program("while_rows", jax.vmap(collatz), X(6, dtype=I32, low=1, high=30))
    suite.program("while_nested", while_nested, X(4, low=1, high=2), dtypes=(F32, F64))
    suite.program("conjugate_gradient", solve_by_gradients, X(4, 4, symmetric=True), X(4), tolerance=(1e-3, 1e-3))
    suite.program("while_batched", jax.vmap(lambda x: lax.fori_loop(0, 3, lambda i, v: v * v - 0.5, x)), X(3, 4))
    suite.call("lax.fori_loop", 0, 5, lambda i, v: jnp.sin(v) + i, X(4), dtypes=(F32,))


def collatz(n: jax.Array) -> list[jax.Array]:
    def step(state: list[jax.Array]) -> list[jax.Array]:
        n, steps, _last = state
        return [jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1, n]

    return lax.while_loop(lambda state: state[0] != 1, step, [n, jnp.int32(0), jnp.int32(-1)])


# The carried arrays change places, and one loop ends inside another.
def while_nested(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    def halve(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        a, b = state
        return b, lax.while_loop(lambda v: jnp.max(v) > 0.5 * jnp.max(b), lambda v: v * 0.75, a)

    return lax.while_loop(lambda state: jnp.max(state[0]) > 0.1, halve, (x, x * 0.9))


def solve_by_gradients(a: jax.Array, b: jax.Array) -> jax.Array:
    return jax.scipy.sparse.linalg.cg(lambda v: a @ v, b, tol=1e-6)[0]


def nested(x: jax.Array) -> jax.Array:
    def outer(i: int, total: jax.Array) -> jax.Array:
        return lax.fori_loop(0, 4, lambda j, v: v + x[i, j] * (i + 1), total)

    return lax.fori_loop(0, 3, outer, 0.0)


def scans(suite: Suite) -> None:
    def running(carry: jax.Array, x: jax.Array) -> tuple:
        carry = jnp.tanh(carry + x)
        return carry, carry * 2

    suite.call("lax.scan", running, X(4), X(6, 4), dtypes=(F32, BF16, F64), grad=True)
    suite.call("lax.scan", running, X(4), X(6, 4), reverse=True, grad=True)
    suite.call("lax.scan", running, X(4), X(6, 4), unroll=2)
    suite.call("lax.scan", lambda c, _: (c * 0.9, c), X(4), None, length=5)
    suite.program(
        "scan_matrix",
        lambda w, h, xs: lax.scan(lambda c, x: (jnp.tanh(c @ w + x), c), h, xs),
        X(4, 4),
        X(2, 4),
        X(6, 2, 4),
        grad=True,
    )
    suite.program(
        "scan_two",
        lambda a, b: lax.scan(lambda c, x: (c + x[0] * x[1], x[0] - c), jnp.zeros(3), (a, b)),
        X(5, 3),
        X(5, 3),
    )
    suite.program("scan_batched", jax.vmap(lambda h, xs: lax.scan(running, h, xs)), X(3, 4), X(3, 6, 4))
    suite.program(
        "scan_nested",
        lambda xs: lax.scan(lambda c, x: (lax.scan(lambda d, y: (d + y, d), c, x)[0], c), 0.0, xs),
        X(3, 4),
    )
    suite.program("scan_checkpointed", lambda h, xs: lax.scan(jax.checkpoint(running), h, xs), X(4), X(6, 4), grad=True)
    suite.program("scan_counter", lambda x: lax.scan(lambda c, i: (c + x[i], c * i), 0.0, jnp.arange(5)), X(5))
    suite.call("lax.map", jnp.sin, X(5, 3))
    suite.call("lax.map", lambda x: x @ x.T, X(5, 3, 2), batch_size=2)
    suite.call("lax.associative_scan", jnp.add, X(9, 2), dtypes=(F32, I32), grad=True)
    suite.call("lax.associative_scan", jnp.maximum, X(8), reverse=True)


def branches(suite: Suite) -> None:
    flag = X(dtype=jnp.bool_)
    suite.call("lax.cond", flag, lambda x: x * 2, lambda x: x - 1, X(4), grad=True)
    suite.call("lax.switch", X(dtype=I32, low=-1, high=4), [jnp.sin, jnp.cos, jnp.exp], X(4))
    suite.program("cond_computed", lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), X(4))
    suite.program("cond_batched", jax.vmap(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x)), X(4))
    suite.program(
        "cond_nested", lambda x: lax.cond(x[0] > 0, lambda v: lax.cond(v[1] > 0, jnp.sin, jnp.cos, v), jnp.exp, x), X(4)
    )
    suite.program(
        "cond_in_scan",
        lambda xs: lax.scan(lambda c, x: (lax.cond(x > 0, lambda: c + x, lambda: c * 0.5), c), 0.0, xs),
        X(6),
    )


def transformations(suite: Suite) -> None:
    suite.program("jacobian", jax.jacrev(lambda x: jnp.sin(x) * x.sum()), X(4))
    suite.program("jacobian_forward", jax.jacfwd(lambda x: jnp.sin(x) * x.sum()), X(4))
    suite.program("hessian", jax.hessian(lambda x: jnp.sum(x**3) * jnp.prod(x)), X(3))
    suite.program("vmap_vmap", jax.vmap(jax.vmap(jnp.dot, (0, None)), (None, 0)), X(3, 4), X(5, 4))
    suite.program("jit_twice", lambda x: (jax.jit(jnp.sin)(x), jax.jit(jnp.sin)(x * 2)), X(4))
    suite.program("custom_gradient", custom_gradient, X(4), grad=True)
    suite.program("checkpoint", jax.checkpoint(lambda x: jnp.sin(jnp.cos(x))), X(4), grad=True)
    suite.program("linearize", lambda x, t: jax.jvp(jnp.tanh, (x,), (t,)), X(4), X(4))
    suite.program("unused_argument", lambda x, y: x + 1, X(4), X(3))
    suite.program("same_result_twice", lambda x: (x + 1, x, x), X(4))
    suite.program("constant_result", lambda x: (jnp.arange(3), 2.0, x.shape[0]), X(4))
    suite.program("no_elements", lambda x: (x * 2, x.sum(), x.T), X(0, 3))
    suite.program("vectorized", jnp.vectorize(jnp.dot, signature="(n),(n)->()"), X(3, 4), X(4))
    suite.program("along_axis", lambda x: jnp.apply_along_axis(jnp.cumsum, 1, x), X(3, 4))
    suite.program("over_axes", lambda x: jnp.apply_over_axes(jnp.sum, x, (0, 2)), X(2, 3, 4))


@jax.custom_vjp
def custom_gradient(x: jax.Array) -> jax.Array:
    return jnp.sin(x)


custom_gradient.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) * 1.5,))
