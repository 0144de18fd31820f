"""Reductions, norms, order statistics and cumulative operators."""

from __future__ import annotations

from math import inf

import torch
from harness import ALL, BF16, BOOL, C64, F16, F32, F64, FLOATS, I16, I32, I64, INTEGERS, NUMBERS, U8, Suite, T


def cases(suite: Suite) -> None:
    sums(suite)
    extremes(suite)
    truth(suite)
    moments(suite)
    norms(suite)
    order(suite)
    cumulative(suite)
    areas(suite)


def sums(suite: Suite) -> None:
    for name in ("sum", "prod", "mean", "nansum", "nanmean"):
        dtypes = FLOATS if "mean" in name else ALL
        suite.case(f"aten.{name}", T(3, 4), dtypes=dtypes)
        suite.case(f"aten.{name}", T(), dtypes=dtypes)
        suite.case(f"aten.{name}", T(4, special=True), dtypes=FLOATS)
    for name in ("sum.dim_IntList", "mean.dim", "nansum", "nanmean"):
        dtypes = FLOATS if "mean" in name else ALL
        suite.case(f"aten.{name}", T(2, 3, 4), [1], dtypes=dtypes)
        suite.case(f"aten.{name}", T(2, 3, 4), [-1, 0], True, dtypes=(F32, BF16))
        suite.case(f"aten.{name}", T(2, 3), [], dtypes=(F32,))
        suite.case(f"aten.{name}", T(2, 3), None, True, dtypes=(F32,))
        suite.case(f"aten.{name}", T(), [-1], dtypes=(F32,))
        suite.case(f"aten.{name}", T(2, 0, 3), [1])
        suite.case(f"aten.{name}", T(2, 3), [0], dtype=F64, dtypes=(F32, F16))
        suite.case(f"aten.{name}", T(2, 3), [0], dtype=BF16, dtypes=(F32,))
    suite.case("aten.sum", T(3, 4), dtype=F32, dtypes=INTEGERS)
    suite.case("aten.sum", T(3, 4), dtype=I32, dtypes=(I64, BOOL))
    suite.case("aten.sum.dim_IntList", T(40, 300), [1], dtypes=(F32, BF16, F16))
    suite.case("aten.mean.dim", T(3, 4), [0], dtype=F32, dtypes=INTEGERS)
    suite.case("aten.prod.dim_int", T(2, 3, 4), 1, dtypes=ALL)
    suite.case("aten.prod.dim_int", T(2, 3, 4), -1, True, dtype=F64)
    suite.case("aten.sum.dim_IntList", T(2, 3), [1], dtypes=(C64,))
    suite.case("aten.mean.dim", T(2, 3), [1], dtypes=(C64,))
    suite.case("aten.logsumexp", T(3, 4), [1], dtypes=FLOATS)
    suite.case("aten.logsumexp", T(3, 4), [0, 1], True, dtypes=(F32, I64))
    suite.case("aten.logsumexp", T(2, 4, values=[-inf] * 4 + [inf, 1, 2, -inf]), [1])
    suite.case("aten.count_nonzero", T(3, 4, low=0, high=2, kind="int"), dtypes=ALL)
    suite.case("aten.count_nonzero", T(3, 4, low=0, high=2, kind="int"), 1, dtypes=ALL)
    suite.case("aten.count_nonzero.dim_IntList", T(3, 4, 2, low=0, high=2, kind="int"), [0, 2])


def extremes(suite: Suite) -> None:
    for name in ("max", "min"):
        suite.case(f"aten.{name}", T(3, 4), dtypes=ALL)
        suite.case(f"aten.{name}", T(3, 4, special=True), dtypes=FLOATS)
        suite.case(f"aten.{name}", T(), dtypes=(F32, I64))
        suite.case(f"aten.{name}.other", T(3, 4, special=True), T(4), dtypes=ALL)
        suite.case(f"aten.{name}.dim", T(3, 4, 2), 1, dtypes=ALL)
        suite.case(f"aten.{name}.dim", T(3, 4, 2), -1, True, dtypes=(F32,))
        suite.case(f"aten.{name}.dim", T(4, 4, special=True), 1, dtypes=FLOATS)
        suite.case(f"aten.{name}.dim", T(), 0)
        suite.case(f"aten.a{name}", T(3, 4, 2), [0, 2], dtypes=ALL)
        suite.case(f"aten.a{name}", T(3, 4, 2), [-1], True)
        suite.case(f"aten.a{name}", T(3, 4), [])
        suite.case(f"aten.arg{name}", T(3, 4), dtypes=NUMBERS)
        suite.case(f"aten.arg{name}", T(3, 4), None, True)
        suite.case(f"aten.arg{name}", T(3, 4, 2, special=True), 1, dtypes=NUMBERS)
        suite.case(f"aten.arg{name}", T(3, 4), -1, True)
        suite.case(f"aten.arg{name}", T(), -1)
    suite.case("aten.aminmax", T(3, 4), dtypes=ALL)
    suite.case("aten.aminmax", T(3, 4), dim=1, keepdim=True)


def truth(suite: Suite) -> None:
    for name in ("all", "any"):
        sparse = T(4, 3, low=0, high=2, kind="int")
        suite.case(f"aten.{name}", sparse, dtypes=(*ALL, U8))
        suite.case(f"aten.{name}.dim", sparse, 1, dtypes=(*ALL, U8))
        suite.case(f"aten.{name}.dim", sparse, 0, True)
        suite.case(f"aten.{name}.dims", sparse, [0, 1])
        suite.case(f"aten.{name}.dims", sparse, None, True)
        suite.case(f"aten.{name}.dims", sparse, [])
        suite.case(f"aten.{name}", T(0), dtypes=(F32, BOOL))
    suite.case("aten._is_all_true", T(4), dtypes=(BOOL,))
    suite.case("aten._is_any_true", T(4), dtypes=(BOOL,))


def moments(suite: Suite) -> None:
    for name in ("var", "std", "var_mean", "std_mean"):
        suite.case(f"aten.{name}", T(3, 4), dtypes=FLOATS)
        suite.case(f"aten.{name}", T(3, 4), False)
        suite.case(f"aten.{name}.dim", T(2, 3, 4), [1], dtypes=FLOATS)
        suite.case(f"aten.{name}.dim", T(2, 3, 4), [0, 2], False, True)
        suite.case(f"aten.{name}.dim", T(2, 3), None)
        suite.case(f"aten.{name}.correction", T(2, 3, 4), [-1], dtypes=FLOATS)
        suite.case(f"aten.{name}.correction", T(2, 3, 4), [1], correction=0, keepdim=True)
        suite.case(f"aten.{name}.correction", T(2, 5), [1], correction=2.5)
        suite.case(f"aten.{name}.correction", T(2, 3), None, correction=1)
        suite.case(f"aten.{name}.correction", T(3, 1), [1], correction=1)
        suite.case(f"aten.{name}.correction", T(3, 2), [1], correction=3)
    suite.case("aten.var", T(3, 4, make=lambda dtype: torch.randn(3, 4).add(1000).to(dtype)), dtypes=(F32, F64))


def norms(suite: Suite) -> None:
    for p in (2, 1, 0, 3.0, 0.5, inf, -inf):
        suite.case("aten.linalg_vector_norm", T(3, 4), p, dtypes=FLOATS)
        suite.case("aten.linalg_vector_norm", T(3, 4, 2), p, [0, -1], True)
        suite.case("aten.norm.ScalarOpt_dim", T(3, 4), p, [1])
    suite.case("aten.linalg_vector_norm", T(3, 4), 2, None, True)
    suite.case("aten.linalg_vector_norm", T(3, 4), 2, [1], dtype=F64, dtypes=(F32, F16))
    suite.case("aten.linalg_vector_norm", T(3, 4), 2, [1], dtypes=(C64,))
    suite.case("aten.linalg_vector_norm", T(3, 4), 1, [1], dtypes=(C64,))
    suite.case("aten.linalg_vector_norm", T())
    suite.case("aten.norm.Scalar", T(3, 4), dtypes=FLOATS)
    suite.case("aten.norm.ScalarOpt_dtype", T(3, 4), 2, dtype=F64)
    suite.case("aten.norm.ScalarOpt_dim_dtype", T(3, 4), 2, [1], True, dtype=F64)
    for order in (1, -1, inf, -inf):
        suite.case("aten.linalg_matrix_norm", T(2, 3, 4), order, dtypes=(F32, F64))
    suite.case("aten.linalg_matrix_norm", T(4, 2, 3), 1, [2, 0], True)
    suite.case("aten.linalg_matrix_norm.str_ord", T(2, 3, 4), "fro", dtypes=(F32, BF16))
    suite.case("aten.linalg_matrix_norm.str_ord", T(3, 4), "nuc", runs=False)
    suite.case("aten.linalg_matrix_norm", T(2, 3, 4), 2, [0, 2], runs=False)
    suite.case("aten.linalg_norm", T(3, 4), dtypes=(F32, BF16))
    suite.case("aten.linalg_norm", T(2, 3, 4), None, [1, 2], True)
    suite.case("aten.linalg_norm", T(3, 4), 1)
    suite.case("aten.linalg_norm", T(5), 3)
    suite.case("aten.linalg_norm", T(3, 4), 1, [1])
    suite.case("aten.linalg_norm.ord_str", T(3, 4), "fro")
    suite.case("aten.frobenius_norm.dim", T(3, 4, 2), [1, 2], True)
    suite.case("aten.nuclear_norm", T(3, 4), runs=False)
    for p in (2, 1, inf, 0, 3):
        suite.case("aten.dist", T(3, 4), T(4), p)
    suite.case("aten.dist", T(3, 4), T(3, 4), dtypes=FLOATS)
    for p in (2, 1, 3):
        suite.case("aten.renorm", T(3, 4, 2), p, 1, 2.0, dtypes=(F32, F64))
    suite.case_module(lambda x: torch.nn.functional.normalize(x, dim=-1), T(3, 4), dtypes=(F32, BF16), name="normalize")


def order(suite: Suite) -> None:
    distinct = T(3, 5, kind="distinct")
    for name in ("median", "nanmedian"):
        suite.case(f"aten.{name}", T(3, 4, kind="distinct"), dtypes=NUMBERS)
        suite.case(f"aten.{name}", T(6, values=[1, torch.nan, 3, 2, 5, 4]))
        suite.case(f"aten.{name}", T(3, values=[torch.nan] * 3))
        suite.case(f"aten.{name}.dim", distinct, 1, dtypes=NUMBERS)
        suite.case(f"aten.{name}.dim", T(4, 3, kind="distinct"), 0, True)
        suite.case(f"aten.{name}.dim", T(2, 3, values=[3, torch.nan, 1, 2, 5, 4]), 1)
        suite.case(f"aten.{name}.dim", T(), 0)
    suite.case("aten.kthvalue", distinct, 2, dtypes=NUMBERS)
    suite.case("aten.kthvalue", distinct, 3, 0, True)
    suite.case("aten.mode", T(3, 7, low=0, high=4, kind="int"), dtypes=(*NUMBERS, BOOL))
    suite.case("aten.mode", T(7, 2, low=0, high=4, kind="int"), 0, True)
    for name in ("quantile", "nanquantile"):
        for how in ("linear", "lower", "higher", "midpoint", "nearest"):
            suite.case(f"aten.{name}", T(3, 6), T(4, low=0, high=1), 1, interpolation=how, dtypes=(F32, F64))
        suite.case(f"aten.{name}.scalar", T(3, 6), 0.3, 0, True)
        suite.case(f"aten.{name}.scalar", T(3, 6), 0.75)
        suite.case(f"aten.{name}.scalar", T(3, 6), 0.75, None, True)
        suite.case(f"aten.{name}", T(3, 6), T(values=[0.25]))
        suite.case(f"aten.{name}.scalar", T(2, 4, values=[1, torch.nan, 3, 2, 5, 4, 7, 6]), 0.5, 1)
    for name in ("_unique2", "nonzero", "unique_consecutive"):
        suite.case(f"aten.{name}", T(4, 3, low=0, high=3, kind="int"), runs=False)
    suite.case("aten.unique_dim", T(4, 3, low=0, high=3, kind="int"), 0, runs=False)
    suite.case("aten.masked_select", T(4, 3), T(4, 3, dtype=BOOL), runs=False)


def cumulative(suite: Suite) -> None:
    for name in ("cumsum", "cumprod"):
        suite.case(f"aten.{name}", T(3, 4, 2), 1, dtypes=ALL)
        suite.case(f"aten.{name}", T(3, 4), -1, dtype=F64, dtypes=(F32, I32))
        suite.case(f"aten.{name}", T(), 0, dtypes=(F32, I64))
        suite.case(f"aten.{name}", T(0, 3), 0)
    suite.case("aten.cumsum", T(2, 400), 1, dtypes=(F32, BF16))
    for name in ("cummax", "cummin"):
        suite.case(f"aten.{name}", T(3, 6), 1, dtypes=(*ALL, I16, U8))
        suite.case(f"aten.{name}", T(6, 2), 0)
        suite.case(f"aten.{name}", T(12, special=True), 0, dtypes=FLOATS)
        suite.case(f"aten.{name}", T(), 0)
    suite.case("aten.logcumsumexp", T(3, 6), 1, dtypes=FLOATS)
    suite.case("aten.logcumsumexp", T(5, values=[-inf, -inf, 1, 2, inf]), 0)


def areas(suite: Suite) -> None:
    suite.case("aten.diff", T(3, 5), dtypes=ALL)
    suite.case("aten.diff", T(5, 3), 2, 0)
    suite.case("aten.diff", T(2, 3), 5)
    suite.case("aten.diff", T(3, 5), 1, -1, T(3, 2), T(3, 1), dtypes=(F32, I64))
    for name in ("trapezoid", "cumulative_trapezoid"):
        suite.case(f"aten.{name}.dx", T(3, 5), dtypes=(F32, F64))
        suite.case(f"aten.{name}.dx", T(3, 5), dx=0.5, dim=0)
        suite.case(f"aten.{name}.x", T(3, 5), T(5))
        suite.case(f"aten.{name}.x", T(3, 5), T(3), dim=0)
        suite.case(f"aten.{name}.x", T(3, 5), T(3, 5))
