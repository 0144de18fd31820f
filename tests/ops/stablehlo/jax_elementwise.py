"""Elementwise functions of jax.numpy, jax.lax and jax.scipy.special."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax_suite import (
    ALL,
    BF16,
    BOOL,
    C64,
    F16,
    F32,
    F64,
    FLOATS,
    I8,
    I16,
    I32,
    I64,
    INTEGERS,
    NUMBERS,
    U8,
    U16,
    U32,
    Suite,
    X,
)

INF, NAN = float("inf"), float("nan")
NARROW = (I8, U8, I16, U16, U32)


def cases(suite: Suite) -> None:
    unary(suite)
    tests(suite)
    binary(suite)
    comparisons(suite)
    bits(suite)
    complex_numbers(suite)
    choices(suite)
    special_functions(suite)
    lax_functions(suite)


def unary(suite: Suite) -> None:
    smooth = (
        "exp exp2 expm1 sin cos tan arctan sinh cosh tanh arcsinh sinc cbrt square degrees radians deg2rad rad2deg "
        "atan asinh"
    )
    for name in smooth.split():
        suite.call(f"jnp.{name}", X(3, 4), dtypes=(*FLOATS, I32), grad=True)
    for name in ("sin", "cos", "tanh", "exp", "arctan", "cbrt", "expm1"):
        suite.call(f"jnp.{name}", X(12, special=True), dtypes=(F32, F64))
    for name in ("log", "log2", "log10", "log1p", "sqrt", "reciprocal"):
        suite.call(f"jnp.{name}", X(3, 4, low=0.1, high=5), dtypes=FLOATS, grad=True)
        suite.call(f"jnp.{name}", X(12, special=True), dtypes=(F32,))
    for name in ("arcsin", "arccos", "arctanh", "asin", "acos", "atanh"):
        suite.call(f"jnp.{name}", X(3, 4, low=-0.95, high=0.95), dtypes=FLOATS, grad=True)
    for name in ("arccosh", "acosh"):
        suite.call(f"jnp.{name}", X(3, 4, low=1.1, high=5), dtypes=FLOATS, grad=True)
    for name in ("floor", "ceil", "trunc", "rint"):
        suite.call(f"jnp.{name}", X(3, 4, low=-5, high=5), dtypes=FLOATS)
        suite.call(f"jnp.{name}", X(12, special=True))
    for name in ("abs", "absolute", "negative", "positive", "sign"):
        suite.call(f"jnp.{name}", X(3, 4), dtypes=(*NUMBERS, I8, U8, U16, U32), grad=True)
        suite.call(f"jnp.{name}", X(12, special=True))
    suite.call("jnp.fabs", X(3, 4), dtypes=(*FLOATS, I32))
    suite.call("jnp.round", X(3, 4, low=-5, high=5), dtypes=(*FLOATS, I32))
    suite.call("jnp.round", X(3, 4, low=-5, high=5), 2)
    suite.call("jnp.around", X(3, 4, low=-500, high=500), -2, dtypes=(F32, F64))
    suite.call("jnp.i0", X(3, 4, low=-4, high=4), dtypes=(F32, F64))
    suite.call("jnp.modf", X(3, 4, low=-5, high=5), dtypes=(F32, F64))
    suite.call("jnp.frexp", X(3, 4, low=-50, high=50), dtypes=(F32, F64))
    suite.call("jnp.nan_to_num", X(12, special=True), dtypes=FLOATS)
    suite.call("jnp.nan_to_num", X(12, special=True), nan=1.5, posinf=9.0, neginf=-9.0)
    suite.call("jnp.unwrap", X(3, 8, low=-6, high=6))
    suite.call("jnp.spacing", X(3, 4), dtypes=(F32, F64))
    suite.call("jnp.astype", X(3, 4, low=-5, high=5), jnp.int32, dtypes=(F32, F64, BF16, I8, BOOL))
    for target in (jnp.float16, jnp.bfloat16, jnp.int8, jnp.uint8, jnp.uint32, jnp.bool_, jnp.complex64):
        suite.call("jnp.astype", X(3, 4, low=0, high=5), target, dtypes=(F32, I32))


def tests(suite: Suite) -> None:
    for name in ("isnan", "isinf", "isfinite", "isneginf", "isposinf", "signbit"):
        suite.call(f"jnp.{name}", X(14, special=True), dtypes=FLOATS)
    for name in ("isnan", "isfinite"):
        suite.call(f"jnp.{name}", X(4), dtypes=(I32, BOOL))
    suite.call("jnp.logical_not", X(3, 4), dtypes=ALL)


def binary(suite: Suite) -> None:
    for name in ("add", "subtract", "multiply"):
        suite.call(f"jnp.{name}", X(3, 4), X(4), dtypes=(*NUMBERS, C64), grad=True)
        suite.call(f"jnp.{name}", X(3, 4, full_range=True), X(3, 4, full_range=True), dtypes=(I32, I64, *NARROW))
    suite.call("jnp.add", X(3, 4), X(4), dtypes=(BOOL,))
    suite.call("jnp.multiply", X(3, 1), X(4), dtypes=(BOOL,))
    for name in ("divide", "true_divide"):
        suite.call(f"jnp.{name}", X(3, 4), X(4, low=0.5, high=2), dtypes=FLOATS, grad=True)
        suite.call(f"jnp.{name}", X(12, special=True), X(12), dtypes=(F32,))
        suite.call(f"jnp.{name}", X(3, 4), X(4, low=1, high=5), dtypes=INTEGERS)
    for name in ("floor_divide", "mod", "remainder", "fmod", "divmod"):
        suite.call(f"jnp.{name}", X(3, 4, low=-9, high=9), X(4, low=1, high=4), dtypes=(F32, F64, *INTEGERS, I8))
        suite.call(f"jnp.{name}", X(3, 4, low=-9, high=9), X(4, low=-4, high=-1), dtypes=(F32, *INTEGERS))
        suite.call(f"jnp.{name}", X(3, 4, full_range=True), X(4, low=1, high=4), dtypes=(U8, U16, U32))
    for name in ("power", "pow", "float_power"):
        suite.call(f"jnp.{name}", X(3, 4, low=0.5, high=3), X(4, low=-2, high=2), dtypes=(F32, F64, BF16), grad=True)
    suite.call("jnp.power", X(3, 4), 3, dtypes=(*NUMBERS, I8), grad=True)
    suite.call("jnp.power", X(3, 4, low=-3, high=4), X(4, low=0, high=5), dtypes=INTEGERS)
    suite.call("jnp.power", X(12, special=True), 2.0)
    suite.call("jnp.power", X(12, special=True), -1, dtypes=(F32,))
    for name in ("maximum", "minimum", "fmax", "fmin"):
        suite.call(f"jnp.{name}", X(3, 4), X(4), dtypes=(*ALL, *NARROW), grad=name[0] == "m")
        suite.call(f"jnp.{name}", X(12, special=True), X(12), dtypes=(F32, BF16))
    for name in ("arctan2", "atan2", "hypot", "logaddexp", "logaddexp2", "copysign"):
        suite.call(f"jnp.{name}", X(3, 4), X(4), dtypes=FLOATS, grad=True)
    suite.call("jnp.arctan2", X(12, special=True), X(12, values=[0, -0.0, 1, -1, 2, 0, 0, 1, -1, 1, 1, -1]))
    suite.call("jnp.nextafter", X(3, 4), X(4), dtypes=(F32, F64))
    suite.call("jnp.ldexp", X(3, 4), X(4, dtype=I32, low=-5, high=5), dtypes=(F32, F64))
    suite.call("jnp.heaviside", X(3, 4, values=[-1, 0, 1, 2] * 3), X(4), dtypes=(F32, F64))
    suite.call("jnp.gcd", X(3, 4, low=-40, high=40), X(4, low=-40, high=40), dtypes=(I32, I64))
    suite.call("jnp.lcm", X(3, 4, low=1, high=9), X(4, low=1, high=9), dtypes=(I32, I64))


def comparisons(suite: Suite) -> None:
    for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"):
        suite.call(f"jnp.{name}", X(3, 4, low=-2, high=3), X(4, low=-2, high=3), dtypes=(*ALL, *NARROW))
        suite.call(f"jnp.{name}", X(12, special=True), X(12, special=True))
        suite.call(f"jnp.{name}", X(12, full_range=True), X(12, full_range=True), dtypes=(U32, I32, I64))
    for name in ("logical_and", "logical_or", "logical_xor"):
        suite.call(f"jnp.{name}", X(3, 4), X(4), dtypes=(BOOL, F32, I32))
    for name in ("isclose", "allclose"):
        suite.call(f"jnp.{name}", X(12, special=True), X(12, special=True), dtypes=(F32, F64))
        suite.call(f"jnp.{name}", X(12, special=True), X(12, special=True), equal_nan=True)
    suite.call("jnp.array_equal", X(12, low=0, high=2), X(12, low=0, high=2), dtypes=(F32, I32))
    suite.call("jnp.array_equal", X(12, special=True), X(12, special=True), equal_nan=True)
    suite.call("jnp.array_equiv", X(3, 4), X(4), dtypes=(F32, I32))


def bits(suite: Suite) -> None:
    whole = X(3, 4, full_range=True)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        suite.call(f"jnp.{name}", whole, whole, dtypes=(*INTEGERS, *NARROW, BOOL))
    for name in ("bitwise_not", "invert", "bitwise_invert"):
        suite.call(f"jnp.{name}", whole, dtypes=(*INTEGERS, *NARROW, BOOL))
    suite.call("jnp.bitwise_count", whole, dtypes=(*INTEGERS, U8, U16, U32))
    for name in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift"):
        suite.call(f"jnp.{name}", whole, X(4, low=0, high=9), dtypes=(*INTEGERS, U8, U32))
    for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical"):
        suite.call(f"lax.{name}", whole, X(3, 4, low=0, high=40), dtypes=(*INTEGERS, I8, U8, U16, U32))
    suite.call("lax.clz", whole, dtypes=(*INTEGERS, U8, U32))
    suite.call("lax.population_count", whole, dtypes=(*INTEGERS, U8, U32))
    table = jnp.asarray([(i * 2654435761) & 0xFFFFFFFF for i in range(64)], jnp.uint32)
    for name in ("clz", "population_count"):
        counts = partial(counts_of_a_table, getattr(lax, name), table)
        suite.program(f"{name}_of_a_table", counts, X(64, full_range=True), dtypes=(U32,))
    suite.call("lax.mulhi", whole, whole, dtypes=(*INTEGERS, I8, U8, I16, U16, U32))
    for name in ("int4", "uint4"):
        narrow = partial(narrow_arithmetic, getattr(jnp, name))
        suite.program(f"arithmetic of {name}", narrow, X(16, full_range=True), X(16, full_range=True), dtypes=(I8,))
    suite.call("jnp.packbits", X(3, 16), dtypes=(BOOL,))
    suite.call("jnp.packbits", X(3, 11), axis=0, bitorder="little", dtypes=(BOOL,))
    suite.call("jnp.unpackbits", X(3, 4, full_range=True), dtypes=(U8,))
    suite.call("jnp.unpackbits", X(3, 4, full_range=True), axis=0, bitorder="little", dtypes=(U8,))
    suite.call("lax.bitcast_convert_type", X(3, 4), jnp.int32, dtypes=(F32,))
    suite.call("lax.bitcast_convert_type", X(3, 4), jnp.uint32, dtypes=(F32,))
    suite.call("lax.bitcast_convert_type", X(3, 4, low=0, high=2**30), jnp.float32, dtypes=(I32,))
    suite.call("lax.bitcast_convert_type", X(3, 4, full_range=True), jnp.uint8, dtypes=(U32,))
    suite.call("lax.bitcast_convert_type", X(3, 4, full_range=True), jnp.uint32, dtypes=(U8,))


# Far from 1 and near it, on the cuts of the inverse functions and beside them.
FAR = (
    *(1e5 + 1j, -1e5 + 1j, 1e5 - 1j, -1e5 - 1j, 70 - 3j, -80 + 2j, 1e-6 - 1e6j, 1e-9 + 1e-9j, 1.0000002 + 1e-6j),
    *(complex(2, 0), complex(2, -0.0), complex(-2, 0), complex(-2, -0.0), complex(0, 2), complex(-0.0, -2), 0.5 + 0j),
)


def counts_of_a_table(count: Callable, table: jax.Array, x: jax.Array) -> jax.Array:
    return count(table) * x + count(table ^ x)


def narrow_arithmetic(dtype: Any, x: jax.Array, y: jax.Array) -> list[jax.Array]:
    a, b = x.astype(dtype), y.astype(dtype)
    bits = [a & b, a | b, ~a, lax.shift_left(a, b & 3), lax.shift_right_logical(a, b & 3)]
    counts = [lax.clz(a), lax.shift_right_arithmetic(a, b & 3)]
    total = lax.reduce(a, jnp.zeros((), dtype), lax.add, (0,))
    product = jnp.dot(a.reshape(4, 4), b.reshape(4, 4), preferred_element_type=dtype)
    places = lax.iota(dtype, 16)
    results = [product, places, a + b, a - b, a * b, lax.max(a, b), total, jnp.cumsum(a), *bits, *counts]
    return [each.astype(jnp.int32) for each in results]


def complex_numbers(suite: Suite) -> None:
    for name in ("real", "imag", "conj", "conjugate", "angle", "abs", "iscomplex", "isreal", "exp", "square"):
        suite.call(f"jnp.{name}", X(3, 4), dtypes=(C64, F32))
    for name in ("log", "sqrt", "sin", "cos", "tanh", "negative", "sign"):
        suite.call(f"jnp.{name}", X(3, 4), dtypes=(C64,))
    far = X(len(FAR), values=FAR)
    for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "exp", "sinh", "cosh", "tan", "log"):
        suite.call(f"jnp.{name}", far, dtypes=(C64,))
        suite.call(f"jnp.{name}", X(3, 4), dtypes=(C64,))
    suite.call("jnp.log1p", X(4, values=(-0.3 + 0.2j, 3e4 - 2e5j, 1e-5 + 1e-4j, -1.5 - 1e-3j)), dtypes=(C64,))
    suite.call("jnp.divide", X(3, 4), X(4), dtypes=(C64,))
    suite.call("jnp.power", X(3, 4), 3, dtypes=(C64,))
    suite.call("jnp.equal", X(3, 4), X(4), dtypes=(C64,))
    suite.call("lax.complex", X(3, 4), X(3, 4))


def choices(suite: Suite) -> None:
    mask = X(3, 4, dtype=BOOL)
    suite.call("jnp.where", mask, X(3, 4), X(4), dtypes=(*ALL, C64, *NARROW), grad=True)
    suite.call("jnp.where", mask, X(3, 4), 0.0)
    suite.call("jnp.select", [mask, X(3, 4, dtype=BOOL)], [X(3, 4), X(4)], 2.0, dtypes=(F32, F64))
    suite.call("jnp.clip", X(3, 4), -0.5, 0.5, dtypes=FLOATS, grad=True)
    suite.call("jnp.clip", X(3, 4), 1, 5, dtypes=(*INTEGERS, U8))
    suite.call("jnp.clip", X(3, 4), X(4), None)
    suite.call("jnp.clip", X(12, special=True), -1.0, 1.0)
    suite.call("lax.clamp", -0.5, X(3, 4), 0.5)
    suite.call("lax.clamp", X(), X(3, 4), X())
    suite.call("lax.select", mask, X(3, 4), X(3, 4), dtypes=(F32, I32))
    suite.call("lax.select_n", X(3, 4, dtype=I32, low=0, high=3), X(3, 4), X(3, 4), X(3, 4))
    suite.program("piecewise", lambda x: jnp.piecewise(x, [x < 0, x > 1], [lambda v: -v, 2.0, lambda v: v * v]), X(12))


def special_functions(suite: Suite) -> None:
    special = "jsp.special"
    for name in ("erf", "erfc", "expit", "ndtr", "log_ndtr"):
        suite.call(f"{special}.{name}", X(3, 4, low=-3, high=3), dtypes=(F32, F64), grad=True)
    for name in ("i0e", "i0"):
        suite.call(f"{special}.{name}", X(3, 4, low=-3, high=3), dtypes=(F32, F64))
    for name in ("i1e", "i1"):
        suite.call(f"{special}.{name}", X(3, 4, low=-3, high=3), dtypes=(F32, F64))
    for name in ("erfinv", "entr", "ndtri", "logit"):
        suite.call(f"{special}.{name}", X(3, 4, low=0.05, high=0.95), dtypes=(F32, F64))
    for name in ("gammaln", "digamma", "gamma", "factorial"):
        suite.call(f"{special}.{name}", X(3, 4, low=0.3, high=6), dtypes=(F32, F64))
    for name in ("xlogy", "xlog1py", "rel_entr", "kl_div", "betaln"):
        suite.call(f"{special}.{name}", X(3, 4, low=0.2, high=3), X(4, low=0.2, high=3), grad=name[0] == "x")
    suite.call(f"{special}.multigammaln", X(3, 4, low=3, high=6), 2)
    suite.call(f"{special}.logsumexp", X(3, 4), axis=1, dtypes=FLOATS, grad=True)
    suite.call(f"{special}.softmax", X(3, 4), axis=1)
    suite.call(f"{special}.log_softmax", X(3, 4), axis=1)
    suite.call(f"{special}.polygamma", 1, X(3, 4, low=0.5, high=4))
    suite.call(f"{special}.zeta", X(3, 4, low=1.5, high=4), X(4, low=0.5, high=4))
    for name in ("gammainc", "gammaincc"):
        suite.call(f"{special}.{name}", X(3, 4, low=0.5, high=4), X(4, low=0.5, high=4), dtypes=(F32, F64))
    sizes = X(3, 4, low=0.5, high=4), X(4, low=0.5, high=4)
    suite.call(f"{special}.betainc", *sizes, X(4, low=0.1, high=0.9), dtypes=(F32, F64))


def lax_functions(suite: Suite) -> None:
    smooth = "sin cos tan tanh sinh cosh asinh atan exp exp2 expm1 logistic cbrt square erf erfc"
    for name in smooth.split():
        suite.call(f"lax.{name}", X(3, 4), dtypes=(F32, BF16, F64))
    for name in ("log", "log1p", "sqrt", "rsqrt", "lgamma", "digamma", "reciprocal"):
        suite.call(f"lax.{name}", X(3, 4, low=0.2, high=5), dtypes=(F32, BF16, F64))
    for name in ("asin", "acos", "atanh", "erf_inv"):
        suite.call(f"lax.{name}", X(3, 4, low=-0.9, high=0.9), dtypes=(F32, F64))
    suite.call("lax.acosh", X(3, 4, low=1.1, high=4), dtypes=(F32, F64))
    suite.call("lax.bessel_i0e", X(3, 4, low=-4, high=4), dtypes=(F32, F64))
    suite.call("lax.bessel_i1e", X(3, 4, low=-4, high=4), dtypes=(F32, F64))
    suite.call("lax.bessel_i1e", X(8, values=(-900, -30, -8, -1e-6, 0, 7.999, 8.001, 50)), dtypes=(F32, F64))
    for name in ("abs", "neg", "sign", "floor", "ceil", "is_finite"):
        suite.call(f"lax.{name}", X(11, special=True), dtypes=(F32, BF16, F64))
    suite.call("lax.sign", X(12), dtypes=(I32, I8, U8))
    suite.call("lax.round", X(12, low=-5, high=5), jnp.array(0).item(), dtypes=(F32,))
    for name in ("add", "sub", "mul", "max", "min"):
        suite.call(f"lax.{name}", X(3, 4), X(3, 4), dtypes=(F32, I32, U8))
    suite.call("lax.div", X(3, 4, low=-9, high=9), X(3, 4, low=1, high=4), dtypes=(F32, I32, I64, U32))
    suite.call("lax.rem", X(3, 4, low=-9, high=9), X(3, 4, low=1, high=4), dtypes=(F32, I32, I64, U32))
    suite.call("lax.div", X(6, values=[7, -7, 7, -7, 5, 0]), X(6, values=[2, 2, -2, -2, 0, 0]), dtypes=(I32, I64))
    suite.call("lax.rem", X(6, values=[7, -7, 7, -7, 5, 0]), X(6, values=[2, 2, -2, -2, 0, 0]), dtypes=(I32, I64))
    suite.call("lax.pow", X(3, 4, low=0.2, high=3), X(3, 4), dtypes=(F32, BF16, F64))
    suite.call("lax.integer_pow", X(3, 4), 5, dtypes=(F32, I32), grad=True)
    suite.call("lax.integer_pow", X(3, 4, low=0.5, high=2), -3)
    suite.call("lax.atan2", X(3, 4), X(3, 4), dtypes=(F32, F64))
    suite.call("lax.nextafter", X(3, 4), X(3, 4), dtypes=(F32, F64))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        suite.call(f"lax.{name}", X(3, 4, low=-2, high=3), X(3, 4, low=-2, high=3), dtypes=(F32, I32, U8, BOOL))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        suite.call(f"lax.{name}", X(3, 4, full_range=True), X(3, 4, full_range=True), dtypes=(I32, U32, BOOL))
    suite.call("lax.bitwise_not", X(3, 4, full_range=True), dtypes=(I32, U32, BOOL))
    suite.call("lax.reduce_precision", X(3, 4), 8, 7)
    suite.call("lax.reduce_precision", X(3, 4), 5, 10)
    small = X(8, values=(6.2e-5, 6.1e-5, -6.05e-5, 3e-6, 6e-8, -1e-9, 65000.0, -65504.0))
    for exponent, mantissa in ((5, 10), (5, 2), (8, 3), (4, 3), (8, 7)):
        suite.call("lax.reduce_precision", small, exponent, mantissa, dtypes=(F32, F16, BF16, F64))
    suite.call("lax.reduce_precision", X(4, values=(65519.0, -65520.0, INF, NAN)), 5, 10, dtypes=(F32, BF16, F64))
    suite.call("lax.reduce_precision", X(4, values=(1e-40, -1e-38, 1e39, 1.1)), 8, 23, dtypes=(F64,))
    suite.program("reduced_constant", lambda x: x + lax.reduce_precision(jnp.asarray(1.1), 5, 4), X(3))
    suite.call("lax.convert_element_type", X(3, 4, low=-5, high=5), jnp.int8, dtypes=(F32, I32))
    suite.call("lax.stop_gradient", X(3, 4), dtypes=(F32, I32))
    suite.call("lax.igamma", X(3, 4, low=0.5, high=4), X(3, 4, low=0.5, high=4), dtypes=(F32, F64))
    suite.call("lax.random_gamma_grad", X(3, 4, low=0.5, high=4), X(3, 4, low=0.5, high=4))
    suite.call("lax.real", X(3, 4), dtypes=(C64,))
    suite.call("lax.imag", X(3, 4), dtypes=(C64,))
    suite.call("lax.conj", X(3, 4), dtypes=(C64,))
