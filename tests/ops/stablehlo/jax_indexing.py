"""Indexing, gather, scatter, sorting and sets of a known size."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax_suite import ALL, BF16, BOOL, C64, F32, F64, FLOATS, I8, I32, I64, NUMBERS, U8, U16, U32, Suite, X

INF, NAN = float("inf"), float("nan")
ROWS = X(5, dtype=I32, low=0, high=6)


def cases(suite: Suite) -> None:
    takes(suite)
    subscripts(suite)
    updates(suite)
    lax_gathers(suite)
    slices(suite)
    searches(suite)
    sorts(suite)
    sets(suite)


def takes(suite: Suite) -> None:
    suite.call("jnp.take", X(6, 4), ROWS, axis=0, dtypes=(*ALL, U32), grad=True)
    for mode in ("fill", "wrap", "clip"):
        suite.call("jnp.take", X(6, 4), X(5, dtype=I32, low=-9, high=9), axis=0, mode=mode)
    suite.call("jnp.take", X(6, 4), X(2, 3, dtype=I32, low=0, high=20))
    suite.call("jnp.take_along_axis", X(6, 4), X(6, 2, dtype=I32, low=0, high=4), axis=1, dtypes=(F32, I32), grad=True)
    suite.call("jnp.put_along_axis", X(6, 4), X(6, 1, dtype=I32, low=0, high=4), 2.0, axis=1, inplace=False)
    suite.call("jnp.choose", X(5, dtype=I32, low=0, high=3), [X(5), X(5), X(5)], mode="clip")
    suite.call("jnp.compress", X(6, dtype=BOOL), X(6, 4), axis=0, size=3)
    suite.call("jnp.extract", X(6, dtype=BOOL), X(6), size=4)
    suite.call("jnp.put", X(6), X(2, values=[4, 1], dtype=I32), X(2), inplace=False)
    suite.call("jnp.place", X(6), X(6, dtype=BOOL), X(6), inplace=False)
    suite.call("jnp.unravel_index", X(5, dtype=I32, low=0, high=12), (3, 4))
    suite.call(
        "jnp.ravel_multi_index", (X(5, dtype=I32, low=0, high=3), X(5, dtype=I32, low=0, high=4)), (3, 4), mode="clip"
    )


def subscripts(suite: Suite) -> None:
    suite.program("index_int", lambda x: x[2], X(6, 4), dtypes=(F32, I32))
    suite.program("index_negative", lambda x: x[-1, :, None], X(6, 4), grad=True)
    suite.program("index_slice", lambda x: x[1:5:2, ::-1], X(6, 4), dtypes=(F32, BF16), grad=True)
    suite.program("index_array", lambda x, i: x[i], X(6, 4), ROWS, grad=True)
    suite.program("index_two_arrays", lambda x, i, j: x[i, j], X(6, 4), ROWS, X(5, dtype=I32, low=-4, high=4))
    suite.program("index_mixed", lambda x, i: x[:, i, 1:3], X(2, 6, 4), ROWS, grad=True)
    suite.program("index_outer", lambda x, i, j: x[i[:, None], j], X(6, 4), ROWS, X(3, dtype=I32, low=0, high=4))
    suite.program("index_traced", lambda x, i: x[i, 1], X(6, 4), X(dtype=I32, low=-6, high=6))
    suite.program("index_split", lambda x, i: x[i, :, i], X(6, 4, 6), ROWS)
    suite.program(
        "index_fill", lambda x, i: x.at[i].get(mode="fill", fill_value=-1.0), X(6, 4), X(5, dtype=I32, low=0, high=9)
    )
    suite.program("index_u8", lambda x, i: x[i], X(6, 4), X(5, dtype=U8, low=0, high=6))


def updates(suite: Suite) -> None:
    wide = X(5, dtype=I32, low=-9, high=9)
    for method in ("set", "add", "multiply", "min", "max", "subtract", "divide", "power"):
        for index in (ROWS, wide) if method != "set" else (X(4, dtype=I32, values=[5, 0, 3, 1]),):
            suite.program(
                f"at_{method}",
                lambda x, i, v, m=method: getattr(x.at[i], m)(v),
                X(6, 4, low=0.5, high=2),
                index,
                X(*index.shape, 4, low=0.5, high=2),
            )
    suite.program("at_add_scalar", lambda x, i: x.at[i].add(1), X(6), ROWS, dtypes=(F32, I32, F64, BF16))
    suite.program("at_add_grad", lambda x, i, v: x.at[i].add(v), X(6, 4), ROWS, X(5, 4), grad=True)
    suite.program(
        "at_set_slice", lambda x, v: x.at[1:3, ::2].set(v), X(6, 4), X(2, 2), dtypes=(F32, I32, BOOL), grad=True
    )
    suite.program("at_set_one", lambda x: x.at[2, -1].set(7), X(6, 4), dtypes=(F32, I32))
    suite.program(
        "at_set_column", lambda x, i, v: x.at[:, i].set(v), X(2, 6), X(3, dtype=I32, values=[4, 0, 2]), X(2, 3)
    )
    suite.program("at_apply", lambda x, i: x.at[i].apply(jnp.sin), X(6), X(3, dtype=I32, values=[4, 0, 2]))
    suite.program("at_set_drop", lambda x, i: x.at[i].set(3, mode="drop"), X(6), X(3, dtype=I32, values=[4, 9, 2]))
    suite.program("at_set_clip", lambda x, i: x.at[i].add(3, mode="clip"), X(6), X(3, dtype=I32, values=[4, 9, 2]))
    suite.program(
        "segment_sum", lambda v, i: jax.ops.segment_sum(v, i, 6), X(9, 3), X(9, dtype=I32, low=0, high=6), grad=True
    )
    suite.program("segment_max", lambda v, i: jax.ops.segment_max(v, i, 6), X(9, 3), X(9, dtype=I32, low=0, high=6))
    suite.program("segment_prod", lambda v, i: jax.ops.segment_prod(v, i, 6), X(9), X(9, dtype=I32, low=0, high=6))


def lax_gathers(suite: Suite) -> None:
    rows = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    windows = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))
    corners = X(5, 2, dtype=I32, low=-2, high=6)
    for mode in ("clip", "fill"):
        suite.call("lax.gather", X(6, 4), X(5, 1, dtype=I32, low=-2, high=8), rows, (1, 4), mode=mode)
        suite.call("lax.gather", X(6, 4), corners, windows, (2, 3), mode=mode, grad=True)
    batched = lax.GatherDimensionNumbers(
        offset_dims=(1,),
        collapsed_slice_dims=(),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )
    suite.call("lax.gather", X(3, 6), X(3, 1, dtype=I32, low=0, high=4), batched, (1, 2), grad=True)
    into_rows = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    index = X(3, 1, dtype=I32, values=[4, 0, 2])
    for name in ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter_sub"):
        suite.call(f"lax.{name}", X(6, 4), index, X(3, 4), into_rows, dtypes=(F32, F64))
        suite.call(f"lax.{name}", X(6, 4), index, X(3, 4), into_rows, mode="clip", indices_are_sorted=False)
    suite.call(
        "lax.scatter_add", X(6, 4), X(9, 1, dtype=I32, low=-2, high=8), X(9, 4), into_rows, dtypes=(F32, I32), grad=True
    )
    suite.call(
        "lax.scatter_apply",
        X(6),
        X(3, 1, dtype=I32, values=[4, 0, 2]),
        jnp.cos,
        lax.ScatterDimensionNumbers((), (0,), (0,)),
        update_shape=(3,),
    )


def slices(suite: Suite) -> None:
    place = X(dtype=I32, low=-2, high=8)
    suite.call("lax.slice", X(6, 4), (1, 0), (5, 4), (2, 1), dtypes=(F32, I32), grad=True)
    suite.call("lax.slice_in_dim", X(6, 4), 1, 5, 2, 0)
    suite.call("lax.index_in_dim", X(6, 4), 2, 1)
    suite.call("lax.dynamic_slice", X(6, 4), (place, place), (2, 3), dtypes=(F32, I32, BOOL), grad=True)
    suite.call("lax.dynamic_slice_in_dim", X(6, 4), place, 3, 0)
    suite.call("lax.dynamic_index_in_dim", X(6, 4), place, 0)
    suite.call("lax.dynamic_update_slice", X(6, 4), X(2, 3), (place, place), dtypes=(F32, I32, BOOL), grad=True)
    suite.call("lax.dynamic_update_slice_in_dim", X(6, 4), X(2, 4), place, 0)
    suite.call("lax.dynamic_update_index_in_dim", X(6, 4), X(4), place, 0)
    suite.program(
        "slice_vmapped",
        jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))),
        X(3, 6),
        X(3, dtype=I32, low=0, high=5),
    )
    suite.program(
        "update_vmapped",
        jax.vmap(lambda x, i: lax.dynamic_update_slice(x, jnp.ones(2), (i,))),
        X(3, 6),
        X(3, dtype=I32, low=0, high=5),
    )


def searches(suite: Suite) -> None:
    table = X(8, values=[-2, -1, -0.5, 0, 0, 0.7, 1, 3])
    for method in ("scan", "scan_unrolled", "sort", "compare_all"):
        suite.call("jnp.searchsorted", table, X(10), method=method)
    suite.call("jnp.searchsorted", table, X(10), side="right", dtypes=(F32, F64))
    suite.call("jnp.nonzero", X(8, dtype=BOOL), size=5)
    suite.call("jnp.nonzero", X(3, 4, dtype=BOOL), size=5, fill_value=-1)
    suite.call("jnp.flatnonzero", X(3, 4, dtype=BOOL), size=6)
    suite.call("jnp.argwhere", X(3, 4, dtype=BOOL), size=6)
    suite.call("jnp.interp", X(10, low=-2, high=4), X(5, values=[-1, 0, 1, 2, 3]), X(5), grad=True)
    suite.call("jnp.isin", X(10, low=0, high=9), X(3, low=0, high=9), dtypes=(I32,))


def sorts(suite: Suite) -> None:
    for name in ("sort", "argsort"):
        suite.call(f"jnp.{name}", X(4, 7, distinct=True), axis=1, dtypes=(*NUMBERS, I8, U8, U32))
        suite.call(f"jnp.{name}", X(4, 7, low=0, high=3), axis=0, dtypes=(I32, I64))
        suite.call(f"jnp.{name}", X(12, special=True), dtypes=FLOATS)
        suite.call(f"jnp.{name}", X(4, 7), descending=True)
    suite.call("jnp.sort", X(4, 7), grad=True)
    suite.call("jnp.argsort", X(4, 7, low=0, high=3), descending=True, stable=False, dtypes=(I32,))
    suite.call("jnp.sort", X(9), dtypes=(BOOL,))
    suite.call("jnp.lexsort", (X(9, low=0, high=3, dtype=I32), X(9, low=0, high=3, dtype=I32)))
    suite.call("jnp.partition", X(9, distinct=True), 3)
    suite.call("jnp.argpartition", X(9, distinct=True), 3)
    suite.call("lax.sort", X(3, 5, distinct=True), dimension=0)
    suite.call("lax.sort", (X(9, low=0, high=3, dtype=I32), X(9), X(9)), num_keys=1)
    suite.call("lax.sort", (X(9, low=0, high=3, dtype=I32), X(9), X(9)), num_keys=2, is_stable=False)
    suite.call("lax.sort_key_val", X(9, distinct=True), X(9), grad=True)
    suite.call("lax.top_k", X(4, 7, distinct=True), 3, dtypes=(F32, BF16, I32), grad=True)
    for dtype in (U8, U16, U32):
        suite.call("lax.top_k", X(4, 7, full_range=True), 3, dtypes=(dtype,))
        suite.call("jnp.sort", X(4, 7, full_range=True), dtypes=(dtype,))
    signs = X(9, values=(0.0, -0.0, NAN, -NAN, 2.0, INF, -INF, -NAN, 0.0))
    suite.program("top_k_of_signs", lambda x: lax.top_k(x, 9)[1], signs, dtypes=(F32, BF16, F64))
    suite.program("sort_of_signs", lambda x: jnp.argsort(x), signs, dtypes=(F32, BF16, F64))
    suite.call("jnp.sort", X(4, 7), dtypes=(C64,))
    suite.call("jnp.argsort", X(6, values=(1 + 2j, 1 - 1j, 0 + 3j, 1 + 2j, -1 + 0j, 1 + 0j)), dtypes=(C64,))
    suite.call("lax.approx_max_k", X(4, 9, distinct=True), 3, recall_target=1.0)
    suite.call("lax.approx_min_k", X(4, 9, distinct=True), 3, recall_target=1.0)


def sets(suite: Suite) -> None:
    few = X(9, low=0, high=5, dtype=I32)
    suite.call("jnp.unique", few, size=6)
    suite.call("jnp.unique", few, size=6, return_inverse=True, return_counts=True, return_index=True)
    suite.call("jnp.unique_values", few, size=6)
    suite.call("jnp.unique_counts", few, size=6)
    suite.call("jnp.intersect1d", few, few, size=5)
    suite.call("jnp.union1d", few, few, size=8)
    suite.call("jnp.setdiff1d", few, X(2, low=0, high=5, dtype=I32), size=6)
    suite.call("jnp.setxor1d", few, X(2, low=0, high=5, dtype=I32), size=9)
    suite.program("rank", lambda x: jnp.argsort(jnp.argsort(x)), X(9), dtypes=(F32, F64))
