"""Indexing by tensors: gathers, scatters, embeddings, masks, histograms and sorted boundaries."""

from __future__ import annotations

import torch
from harness import ALL, BF16, BOOL, C64, F32, F64, FLOATS, I16, I32, I64, INTEGERS, NUMBERS, U8, Suite, T, TensorSpec


def cases(suite: Suite) -> None:
    index(suite)
    index_put(suite)
    masked_index(suite)
    along_dim(suite)
    scatter(suite)
    slices(suite)
    flat(suite)
    masks(suite)
    embedding(suite)
    embedding_bag(suite)
    counting(suite)
    histograms(suite)
    boundaries(suite)


def places(*shape: int, limit: int, dtype: torch.dtype = I64) -> TensorSpec:
    return T(*shape, dtype=dtype, kind="indices", limit=limit)


def wrapped(*shape: int, limit: int) -> TensorSpec:
    """From the front or from the end."""
    return T(*shape, dtype=I64, kind="int", low=-limit, high=limit)


def distinct(*shape: int, limit: int) -> TensorSpec:
    count = int(torch.tensor(shape).prod()) if shape else 1
    return T(make=lambda _: torch.randperm(limit)[:count].reshape(shape))


def distinct_along(*shape: int, dim: int, limit: int) -> TensorSpec:
    """Positions of which no two are equal along `dim`."""
    full = (*shape[:dim], limit, *shape[dim + 1 :])
    return T(make=lambda _: torch.rand(full).argsort(dim).narrow(dim, 0, shape[dim]).contiguous())


def mask(*shape: int) -> TensorSpec:
    return T(*shape, dtype=BOOL)


def index(suite: Suite) -> None:
    for name in ("index.Tensor", "_unsafe_index.Tensor"):
        suite.case(f"aten.{name}", T(5, 4), [wrapped(3, limit=5)], dtypes=(*ALL, C64, I16, U8))
        suite.case(f"aten.{name}", T(5, 4), [None, wrapped(3, limit=4)])
        suite.case(f"aten.{name}", T(5, 4), [places(2, 3, limit=5), places(3, limit=4)], dtypes=(F32, BF16, I64))
        suite.case(f"aten.{name}", T(5, 4, 3), [wrapped(2, 1, limit=5), None, wrapped(1, 3, limit=3)])
        suite.case(f"aten.{name}", T(2, 5, 4, 3), [None, wrapped(2, limit=5), wrapped(2, limit=4)])
        suite.case(f"aten.{name}", T(2, 5, 4, 3), [None, wrapped(6, limit=5), None, places(6, limit=3)])
        suite.case(f"aten.{name}", T(2, 5, 4, 3), [places(limit=2), None, places(2, 2, limit=4)])
        suite.case(f"aten.{name}", T(5, 4), [places(limit=5)])
        suite.case(f"aten.{name}", T(5, 4), [places(0, limit=5)])
        suite.case(f"aten.{name}", T(5, 4), [places(3, limit=5, dtype=I32)])
    suite.case("aten.index.Tensor", T(5, 4), [mask(5)], runs=False)
    suite.case("aten.index.Tensor", T(5, 4), [mask(5, 4)], runs=False)
    suite.case_module(lambda x, i: x.transpose(0, 1)[i, :, i], T(4, 5, 5), wrapped(3, limit=4), name="index_view")
    suite.case_module(lambda x, i: x.view(4, 6)[:, i] + 1, T(4, 2, 3), wrapped(2, 2, limit=6), name="index_reshaped")


def index_put(suite: Suite) -> None:
    for name in ("index_put", "_unsafe_index_put"):
        suite.case(f"aten.{name}", T(5, 4), [distinct(3, limit=5)], T(3, 4), dtypes=(*ALL, C64))
        suite.case(f"aten.{name}", T(5, 4), [distinct(3, limit=5)], T(4))
        suite.case(f"aten.{name}", T(5, 4), [None, distinct(3, limit=4)], T())
        suite.case(f"aten.{name}", T(6, 4), [wrapped(5, limit=6)], T(5, 4), True, dtypes=(F32, F64, I64, I32, BOOL))
        suite.case(f"aten.{name}", T(6, 4), [places(2, 3, limit=6), places(3, limit=4)], T(2, 3), True)
        suite.case(f"aten.{name}", T(2, 5, 4, 3), [None, distinct(2, limit=5), None, distinct(2, limit=3)], T(2, 2, 4))
    suite.case("aten.index_put", T(6, 4), [distinct(5, limit=6)], T(5, 4), True, dtypes=(BF16,))
    suite.case("aten.index_put", T(6, 4), [places(0, limit=6)], T(0, 4))
    for accumulate in (False, True):
        suite.case("aten.index_put", T(5, 4), [mask(5, 4)], T(), accumulate, dtypes=(*ALL, C64))
        suite.case("aten.index_put", T(5, 4), [mask(5)], T(4), accumulate)
        suite.case("aten.index_put", T(2, 5, 4), [None, mask(5)], T(2, 1, 4), accumulate, dtypes=(F32, BF16))
        suite.case("aten.index_put", T(3, 2, 4), [T(3, 2, dtype=BOOL, values=[1, 0, 0, 1, 1, 0])], T(3, 4), accumulate)
    suite.case("aten._index_put_impl_", T(5, 4), [distinct(3, limit=5)], T(3, 4))
    suite.case("aten._index_put_impl_", T(5, 4), [wrapped(7, limit=5)], T(7, 4), True)
    suite.case_module(_assign, T(5, 4), distinct(2, limit=5), name="assign_rows")
    suite.case_module(_assign_masked, T(5, 4), name="assign_masked")


def _assign(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.t()[1:3, i] = 7.0
    return y


def _assign_masked(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[y < 0] = -1.0
    return y


def masked_index(suite: Suite) -> None:
    any_place = T(3, dtype=I64, values=[9, 2, -7])
    seen = T(3, 1, dtype=BOOL, values=[0, 1, 0])
    suite.case("aten._unsafe_masked_index", T(5, 4), seen, [any_place], 1.5, dtypes=FLOATS)
    suite.case("aten._unsafe_masked_index", T(5, 4), mask(3, 4), [places(3, limit=5)], 0, dtypes=(F32, I64))
    suite.case("aten._unsafe_masked_index_put_accumulate", T(5, 4), mask(3, 4), [places(3, limit=5)], T(3, 4))


def along_dim(suite: Suite) -> None:
    suite.case("aten.index_select", T(4, 5), 1, places(3, limit=5), dtypes=(*ALL, C64))
    suite.case("aten.index_select", T(4, 5), -2, places(6, limit=4, dtype=I32))
    suite.case("aten.index_select", T(4, 5), 0, places(limit=4))
    suite.case("aten.index_select", T(), 0, places(1, limit=1))
    suite.case("aten.gather", T(4, 5), 1, places(4, 3, limit=5), dtypes=(*ALL, C64))
    suite.case("aten.gather", T(4, 5), 0, places(7, 2, limit=4))
    suite.case("aten.gather", T(2, 3, 4), -1, places(1, 3, 2, limit=4))
    suite.case("aten.gather", T(), 0, places(limit=1))
    suite.case("aten.gather", T(3), 0, places(limit=3))
    suite.case("aten.gather", T(4, 5), 0, places(0, limit=4))
    suite.case("aten.take_along_dim", T(4, 5), places(4, 2, limit=5), 1, dtypes=ALL)
    suite.case("aten.take_along_dim", T(4, 1), places(1, 3, limit=4), 0)
    suite.case("aten.take_along_dim", T(4, 5), places(2, 3, limit=20))
    suite.case("aten.take", T(4, 5), wrapped(2, 3, limit=20), dtypes=ALL)
    suite.case("aten.take", T(4, 5), wrapped(limit=20))


def scatter(suite: Suite) -> None:
    unique = distinct_along(3, 5, dim=0, limit=4)
    suite.case("aten.scatter.src", T(4, 5), 0, unique, T(3, 5), dtypes=(*ALL, C64))
    suite.case("aten.scatter.src", T(4, 5), 0, distinct_along(2, 3, dim=0, limit=4), T(3, 5))
    suite.case("aten.scatter.value", T(4, 5), -1, places(4, 3, limit=5), 2, dtypes=ALL)
    suite.case("aten.scatter.value", T(4, 5), 1, places(4, 3, limit=5), 1.5, dtypes=FLOATS)
    suite.case("aten.scatter.value", T(), 0, places(limit=1), 3.0)
    suite.case("aten.scatter.src", T(4, 5), 0, places(0, limit=4), T(3, 5))
    for reduce in ("add", "multiply"):
        suite.case("aten.scatter.reduce", T(4, 5), 0, places(6, 5, limit=4), T(6, 5), reduce=reduce, dtypes=NUMBERS)
        suite.case("aten.scatter.value_reduce", T(4, 5), 0, places(3, 5, limit=4), 2, reduce=reduce)
    suite.case("aten.scatter_add", T(4, 5), 0, places(7, 5, limit=4), T(7, 5), dtypes=(*ALL, C64))
    suite.case("aten.scatter_add", T(2, 3, 4), 1, places(2, 6, 3, limit=3), T(2, 6, 4))
    suite.case("aten.scatter_add", T(), 0, places(limit=1), T())
    for include in (True, False):
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            suite.case(
                "aten.scatter_reduce.two",
                T(4, 5),
                0,
                places(7, 5, limit=4),
                T(7, 5),
                reduce,
                include_self=include,
                dtypes=NUMBERS,
            )
            suite.case(
                "aten.scatter_reduce.two",
                T(2, 6),
                1,
                places(2, 3, limit=6),
                T(2, 3, special=True),
                reduce,
                include_self=include,
            )
    for reduce in ("sum", "prod", "amax", "amin"):
        suite.case("aten.scatter_reduce.two", T(4, 5), 0, places(7, 5, limit=4), T(7, 5), reduce, dtypes=(BOOL,))


def slices(suite: Suite) -> None:
    suite.case("aten.index_add", T(4, 5), 1, places(3, limit=5), T(4, 3), dtypes=(*ALL, C64))
    suite.case("aten.index_add", T(4, 5), 0, places(6, limit=4), T(6, 5), alpha=2, dtypes=(F32, I64))
    suite.case("aten.index_add", T(4, 5), 0, places(6, limit=4), T(6, 5), alpha=-0.5, dtypes=(F32, F64))
    suite.case("aten.index_add", T(4), 0, places(limit=4), T(1))
    suite.case("aten.index_add", T(), 0, places(limit=1), T())
    suite.case("aten.index_copy", T(4, 5), 1, distinct(3, limit=5), T(4, 3), dtypes=(*ALL, C64))
    suite.case("aten.index_copy", T(4), 0, places(limit=4), T())
    suite.case("aten.index_fill.int_Scalar", T(4, 5), 1, wrapped(3, limit=5), 2, dtypes=ALL)
    suite.case("aten.index_fill.int_Scalar", T(4, 5), 0, wrapped(limit=4), 1.5, dtypes=FLOATS)
    suite.case("aten.index_fill.int_Tensor", T(4, 5), 0, wrapped(2, limit=4), T())
    for reduce in ("prod", "mean", "amax", "amin"):
        for include in (True, False):
            suite.case(
                "aten.index_reduce",
                T(4, 5),
                0,
                places(6, limit=4),
                T(6, 5),
                reduce,
                include_self=include,
                dtypes=(F32, F64, I64),
            )


def flat(suite: Suite) -> None:
    suite.case("aten.put", T(4, 5), distinct(2, 3, limit=20), T(6), dtypes=ALL)
    suite.case("aten.put", T(4, 5), wrapped(8, limit=20), T(8), True, dtypes=(F32, I64))
    suite.case("aten.as_strided_scatter", T(4, 5), T(2, 3), [2, 3], [7, 2], 1, dtypes=(F32, I64))
    suite.case("aten.as_strided_scatter", T(4, 5), T(3), [3], [6])


def masks(suite: Suite) -> None:
    suite.case("aten.masked_scatter", T(4, 5), mask(4, 5), T(30), dtypes=ALL)
    suite.case("aten.masked_scatter", T(3, 1), mask(4), T(3, 5))
    suite.case("aten.masked_scatter", T(4, 5), mask(5), T(20), in_place=True)
    suite.case("aten.masked_scatter_backward", T(4, 5), mask(4, 5), [3, 8])
    suite.case("aten.nonzero_static", T(3, 4, kind="int", low=0, high=2), size=5, dtypes=(F32, I64, BOOL))
    suite.case("aten.nonzero_static", T(2, 2, 2, kind="int", low=0, high=2), size=20, fill_value=-7)


def embedding(suite: Suite) -> None:
    suite.case("aten.embedding", T(10, 4), places(3, limit=10), dtypes=FLOATS)
    suite.case("aten.embedding", T(10, 4), places(2, 3, limit=10, dtype=I32), 1)
    suite.case("aten.embedding", T(10, 4), places(limit=10), -1, True)
    for p in (2.0, 1.0):
        suite.case("aten.embedding_renorm_", T(6, 4), places(3, limit=6), 1.0, p, dtypes=(F32, F64))
    module = torch.nn.Embedding(10, 4, padding_idx=2)
    suite.case_module(module, places(2, 5, limit=10), name="embedding_module", dtypes=(F32, BF16))


def embedding_bag(suite: Suite) -> None:
    rows = places(9, limit=6)
    starts = T(4, dtype=I64, values=[0, 3, 3, 7])
    for mode in (0, 1, 2):
        for name in ("_embedding_bag", "_embedding_bag_forward_only", "embedding_bag"):
            suite.case(f"aten.{name}", T(6, 3), rows, starts, mode=mode, dtypes=(F32, F64))
        closed = T(4, dtype=I64, values=[0, 3, 3, 9])
        suite.case("aten._embedding_bag", T(6, 3), rows, closed, mode=mode, include_last_offset=True)
        suite.case("aten._embedding_bag", T(6, 3), rows, starts, mode=mode, padding_idx=2)
        suite.case("aten.embedding_bag.padding_idx", T(6, 3), rows, starts, False, mode, False, None, False, -1)
        suite.case(
            "aten._embedding_bag", T(6, 3), places(9, limit=6, dtype=I32), T(3, dtype=I32, values=[0, 2, 9]), mode=mode
        )
        suite.case_module(
            lambda w, i, o, mode=mode: torch.ops.aten._embedding_bag(w, i, o, mode=mode)[0],
            T(6, 3),
            rows,
            starts,
            dtypes=FLOATS,
            name="bag",
        )
    suite.case("aten._embedding_bag", T(6, 3), rows, starts, per_sample_weights=T(9), dtypes=(F32, F64))
    for mode in ("sum", "mean", "max"):
        suite.case_module(torch.nn.EmbeddingBag(6, 3, mode=mode), places(4, 5, limit=6), name=f"bag_{mode}")


def counting(suite: Suite) -> None:
    suite.case("aten.bincount", T(20, kind="indices", limit=6), dtypes=(I64, I32, U8))
    suite.case("aten.bincount", places(20, limit=6), T(20), dtypes=(F32, F64, I64))
    suite.case("aten.bincount", places(20, limit=6), None, 10)
    suite.case("aten.isin.Tensor_Tensor", T(4, 5, kind="int"), T(2, 3, kind="int"), dtypes=NUMBERS)
    suite.case("aten.isin.Tensor_Tensor", T(6, kind="int"), T(3, kind="int"), invert=True)
    suite.case("aten.isin.Tensor_Scalar", T(20, kind="int"), 3, dtypes=NUMBERS)
    suite.case("aten.isin.Scalar_Tensor", 3, T(20, kind="int"))
    suite.case("aten.isin.Tensor_Tensor", T(6, kind="int"), T(0))


def histograms(suite: Suite) -> None:
    for size in (200, 1):
        suite.case("aten.histc", T(size), 10, dtypes=FLOATS)
        suite.case("aten.histc", T(size), 7, -1, 2)
        suite.case("aten.histogram.bin_ct", T(size), 10, dtypes=(F32, F64))
    suite.case("aten.histc", T(20, 3), 4, 1, 1)
    suite.case("aten.histogram.bin_ct", T(20, 3), 6, range=[0.25, 0.25])
    suite.case("aten.histogram.bin_ct", T(0), 4)
    suite.case("aten.histc", T(40, special=True), 5, -1.5, 2.5)
    for density in (False, True):
        suite.case("aten.histogram.bin_ct", T(20, 3), 6, range=[-1.0, 1.5], weight=T(20, 3), density=density)
        suite.case("aten.histogram.bins_tensor", T(50), T(5, values=[-1, -0.25, 0, 1.0, 1.5]), density=density)
    suite.case("aten.histogram.bins_tensor", T(50), T(3, values=[-1, 0, 1]), weight=T(50), dtypes=(F32, F64))


def boundaries(suite: Suite) -> None:
    steps = T(6, make=lambda dtype: torch.tensor([-6, -2, 0, 0, 3, 8]).to(dtype))
    for right in (False, True):
        suite.case("aten.bucketize.Tensor", T(4, 5, kind="int"), steps, right=right, dtypes=NUMBERS)
        suite.case("aten.bucketize.Tensor", T(11, special=True), steps, right=right, out_int32=True, dtypes=FLOATS)
        suite.case("aten.bucketize.Scalar", 3, steps, right=right)
        suite.case("aten.searchsorted.Tensor", steps, T(4, 5, kind="int"), right=right, dtypes=NUMBERS)
        suite.case("aten.searchsorted.Scalar", steps, 0, right=right)
    rows = T(3, 6, make=lambda dtype: torch.randn(3, 6).sort(-1).values.to(dtype))
    for side in ("left", "right"):
        suite.case("aten.searchsorted.Tensor", rows, T(3, 4), side=side, dtypes=(F32, F64))
    suite.case("aten.searchsorted.Tensor", rows, T(3, 4), out_int32=True)
    suite.case_module(_search_unsorted, T(3, 6), T(3, 4), name="searchsorted_with_sorter")
    suite.case("aten.searchsorted.Tensor", T(0), T(3), dtypes=INTEGERS)


def _search_unsorted(x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.searchsorted(x, values, sorter=x.argsort(-1))
