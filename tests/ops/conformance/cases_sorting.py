"""Sorting."""

from __future__ import annotations

import torch
from harness import ALL, F32, FLOATS, I16, NUMBERS, U8, Suite, T


def cases(suite: Suite) -> None:
    sorts(suite)
    largest(suite)


def sorts(suite: Suite) -> None:
    distinct = T(4, 5, kind="distinct")
    suite.case("aten.sort", distinct, dtypes=(*NUMBERS, I16))
    suite.case("aten.sort", distinct, 0, True)
    suite.case("aten.sort", T())
    suite.case("aten.sort", T(2, 3, 4), 1, dtypes=FLOATS)
    suite.case("aten.sort", T(0, 3), 0)
    for descending in (False, True):
        ties = T(3, 7, kind="int", low=0, high=3)
        suite.case("aten.sort.stable", ties, stable=True, dim=1, descending=descending, dtypes=(*ALL, U8))
        suite.case("aten.sort.stable", T(11, special=True), stable=True, descending=descending, dtypes=FLOATS)
        suite.case("aten.argsort", distinct, -1, descending, dtypes=NUMBERS)
        suite.case("aten.argsort.stable", ties, stable=True, dim=0, descending=descending)
    suite.case("aten.msort", T(4, 5), dtypes=ALL)
    suite.case_module(_sorted_rows, T(4, 5), name="sort_of_view")


def _sorted_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, order = x.t().sort(-1, descending=True)
    return values[:, :2] + 1, order


def largest(suite: Suite) -> None:
    distinct = T(4, 6, kind="distinct")
    suite.case("aten.topk", distinct, 3, dtypes=NUMBERS)
    suite.case("aten.topk", distinct, 2, 0, False, dtypes=(F32,))
    suite.case("aten.topk", distinct, 6)
    suite.case("aten.topk", distinct, 0)
    suite.case("aten.topk", T(), 1)
    suite.case("aten.topk", T(8, values=[3, torch.nan, 1, torch.inf, -1, -torch.inf, 7, 0]), 4, dtypes=FLOATS)
    suite.case("aten.topk", T(8, values=[3, torch.nan, 1, torch.inf, -1, -torch.inf, 7, 0]), 8, largest=False)
    suite.case_module(_routing, T(6, 8, kind="distinct"), name="routing")


def _routing(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weights, experts = scores.mul(0.1).softmax(-1).topk(2, dim=-1)
    return weights / weights.sum(-1, keepdim=True), torch.nn.functional.one_hot(experts, 8)
