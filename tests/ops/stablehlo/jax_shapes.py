"""Shapes, joins, creation and padding."""

from __future__ import annotations

import jax.numpy as jnp
from jax_suite import ALL, BF16, BOOL, C64, F32, F64, I8, I32, U8, U32, Suite, X

MIXED = (F32, BF16, I32, BOOL)


def cases(suite: Suite) -> None:
    views(suite)
    joins(suite)
    repetition(suite)
    padding(suite)
    creation(suite)
    windows(suite)
    grids(suite)
    lax_shapes(suite)


def views(suite: Suite) -> None:
    suite.call("jnp.reshape", X(3, 4, 5), (5, -1), dtypes=(*ALL, C64, I8, U8, U32), grad=True)
    suite.call("jnp.reshape", X(3, 4), (2, 6), order="F")
    suite.call("jnp.ravel", X(3, 4), dtypes=MIXED)
    suite.call("jnp.transpose", X(3, 4, 5), (2, 0, 1), dtypes=MIXED, grad=True)
    suite.call("jnp.transpose", X(3, 4))
    suite.call("jnp.permute_dims", X(3, 4, 5), (1, 0, 2))
    suite.call("jnp.matrix_transpose", X(3, 4, 5))
    suite.call("jnp.swapaxes", X(3, 4, 5), 0, 2)
    suite.call("jnp.moveaxis", X(3, 4, 5), (0, 1), (-1, 0))
    suite.call("jnp.rollaxis", X(3, 4, 5), 2)
    suite.call("jnp.squeeze", X(3, 1, 5), 1)
    suite.call("jnp.expand_dims", X(3, 5), (0, 2))
    suite.call("jnp.broadcast_to", X(3, 1), (2, 3, 4), dtypes=MIXED, grad=True)
    suite.call("jnp.broadcast_arrays", X(3, 1), X(4))
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        suite.call(f"jnp.{name}", X(3, 4))
        suite.call(f"jnp.{name}", X())
    for name in ("flip", "flipud", "fliplr"):
        suite.call(f"jnp.{name}", X(3, 4), dtypes=(F32, I32), grad=name == "flip")
    suite.call("jnp.flip", X(3, 4, 5), axis=(0, 2))
    for turns in (1, 2, 3):
        suite.call("jnp.rot90", X(3, 4), turns)
    suite.call("jnp.diagonal", X(4, 5), 1, grad=True)
    suite.call("jnp.diagonal", X(3, 4, 5), -1, 1, 2)


def joins(suite: Suite) -> None:
    pair = [X(3, 4), X(3, 4)]
    for name in ("concatenate", "concat"):
        suite.call(f"jnp.{name}", [X(3, 2), X(3, 4), X(3, 1)], axis=1, dtypes=(*MIXED, F64, U32), grad=True)
    suite.call("jnp.concatenate", pair, axis=None)
    suite.call("jnp.stack", pair, axis=1, dtypes=MIXED, grad=True)
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        suite.call(f"jnp.{name}", pair)
        suite.call(f"jnp.{name}", [X(4), X(4)])
    suite.call("jnp.append", X(3, 4), X(2, 4), axis=0)
    suite.call("jnp.block", [[X(2, 2), X(2, 3)], [X(1, 2), X(1, 3)]])
    suite.call("jnp.split", X(6, 4), 3, dtypes=(F32, I32))
    suite.call("jnp.split", X(6, 4), [1, 4], axis=0)
    suite.call("jnp.array_split", X(7, 4), 3)
    suite.call("jnp.hsplit", X(4, 6), 2)
    suite.call("jnp.vsplit", X(4, 6), 2)
    suite.call("jnp.dsplit", X(2, 3, 4), 2)
    suite.call("jnp.unstack", X(3, 4), axis=1)
    suite.call("jnp.insert", X(6), 2, 9.0)
    suite.call("jnp.insert", X(3, 6), X(2, dtype=I32, values=[1, 3]), X(3, 2), axis=1)
    suite.call("jnp.delete", X(6), 2)
    suite.call("jnp.delete", X(3, 6), slice(1, 5, 2), axis=1)


def repetition(suite: Suite) -> None:
    suite.call("jnp.tile", X(3, 4), (2, 1, 2), dtypes=MIXED, grad=True)
    suite.call("jnp.repeat", X(3, 4), 2, axis=1, dtypes=MIXED, grad=True)
    suite.call("jnp.repeat", X(3, 4), 2)
    suite.call("jnp.repeat", X(3), X(3, dtype=I32, low=0, high=3), total_repeat_length=6)
    suite.call("jnp.roll", X(3, 4), 1, dtypes=MIXED)
    suite.call("jnp.roll", X(3, 4, 5), (1, -2), axis=(0, 2), grad=True)
    suite.call("jnp.roll", X(3, 4), X(dtype=I32, low=0, high=4), axis=1)
    suite.call("jnp.resize", X(3, 4), (2, 7))


def padding(suite: Suite) -> None:
    widths = ((1, 2), (0, 3))
    for mode in ("edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "minimum", "median"):
        suite.call("jnp.pad", X(4, 5), widths, mode=mode)
    suite.call("jnp.pad", X(4, 5), widths, constant_values=2, dtypes=(*MIXED, F64), grad=True)
    suite.call("jnp.pad", X(4, 5), widths, mode="reflect", reflect_type="odd", grad=True)
    suite.call("lax.pad", X(4, 5), 1.5, ((1, 2, 0), (0, 3, 1)), dtypes=(F32,), grad=True)
    suite.call("lax.pad", X(6, 7), 0.0, ((-1, -2, 0), (-1, 3, 2)), grad=True)
    suite.call("lax.pad", X(6), 0.0, ((-2, -1, 1),))


def creation(suite: Suite) -> None:
    for name in ("zeros", "ones", "empty"):
        suite.call(f"jnp.{name}", (3, 4), jnp.int32)
        suite.call(f"jnp.{name}", (3, 4))
        suite.call(f"jnp.{name}_like", X(3, 4), dtypes=(F32, I32, BOOL))
    suite.call("jnp.full", (3, 4), 2.5)
    suite.call("jnp.full_like", X(3, 4), 2, dtypes=(F32, I32))
    suite.call("jnp.full", (3, 4), X())
    suite.call("jnp.eye", 3, 4, k=1)
    suite.call("jnp.identity", 4, jnp.int32)
    suite.call("jnp.arange", 2, 20, 3)
    suite.call("jnp.arange", 0.0, 1.0, 0.1)
    suite.call("jnp.linspace", 0.0, 1.0, 7)
    suite.call("jnp.linspace", X(3), X(3), 5, endpoint=False)
    suite.call("jnp.logspace", 0.0, 2.0, 7)
    suite.call("jnp.geomspace", 1.0, 100.0, 7)
    suite.call("jnp.tri", 3, 4, 1)
    for name in ("tril", "triu"):
        suite.call(f"jnp.{name}", X(2, 4, 5), 1, dtypes=(F32, I32, BOOL), grad=True)
        suite.call(f"jnp.{name}", X(4, 5), -1)
        suite.call(f"jnp.{name}_indices", 4)
        suite.call(f"jnp.{name}_indices_from", X(4, 4))
    suite.call("jnp.diag", X(4), 1, dtypes=(F32, I32), grad=True)
    suite.call("jnp.diag", X(4, 5), -1)
    suite.call("jnp.diagflat", X(2, 2))
    suite.call("jnp.diag_indices", 4)
    suite.call("jnp.fill_diagonal", X(4, 4), 2.0, inplace=False)
    suite.call("jnp.vander", X(4), 3)
    suite.call("jnp.copy", X(3, 4), dtypes=(F32, I32))
    suite.call("jnp.array", X(3, 4))
    suite.call("jnp.asarray", X(3, 4))


def windows(suite: Suite) -> None:
    for name in ("hamming", "hanning", "blackman", "bartlett"):
        suite.call(f"jnp.{name}", 9)
    suite.call("jnp.kaiser", 9, 3.0)


def grids(suite: Suite) -> None:
    suite.call("jnp.meshgrid", X(3), X(4))
    suite.call("jnp.meshgrid", X(3), X(4), indexing="ij", sparse=True)
    suite.call("jnp.indices", (3, 4))
    suite.call("jnp.ix_", X(3, dtype=I32), X(4, dtype=I32))
    suite.call("jnp.fromfunction", lambda i, j: i * 2 + j, (3, 4))


def lax_shapes(suite: Suite) -> None:
    suite.call("lax.broadcast", X(3, 4), (2,))
    suite.call("lax.broadcast_in_dim", X(3, 1), (2, 3, 4), (1, 2), grad=True)
    suite.call("lax.broadcasted_iota", jnp.int32, (3, 4), 1)
    suite.call("lax.iota", jnp.float32, 5)
    suite.call("lax.iota", jnp.uint8, 5)
    suite.call("lax.collapse", X(2, 3, 4), 0, 2)
    suite.call("lax.concatenate", [X(3, 2), X(3, 4)], 1)
    suite.call("lax.expand_dims", X(3, 4), (0,))
    suite.call("lax.squeeze", X(3, 1, 4), (1,))
    suite.call("lax.reshape", X(3, 4), (4, 3))
    suite.call("lax.reshape", X(3, 4), (6, 2), dimensions=(1, 0))
    suite.call("lax.rev", X(3, 4), (0, 1))
    suite.call("lax.transpose", X(3, 4, 5), (1, 2, 0))
    suite.call("lax.split", X(6, 4), (1, 2, 3))
    suite.call("lax.full", (2, 3), 1.5)
    suite.call("lax.full_like", X(2, 3), 2)
    suite.call("lax.tile", X(2, 3), (2, 2))
