"""Faults of meaning that PyTorch's own tests of its operators (test_opinfo.py) have shown."""

from __future__ import annotations

import torch
from harness import BOOL, F32, F64, FLOATS, I64, U8, Suite, T


def cases(suite: Suite) -> None:
    truth_values(suite)
    cropped_circles(suite)
    indices(suite)
    integers(suite)
    matrices(suite)
    attention_of_two_ranks(suite)


def truth_values(suite: Suite) -> None:
    mask = T(3, 4, dtype=BOOL)
    suite.case("aten.add.Tensor", mask, mask, alpha=False)
    suite.case("aten.add.Tensor", mask, mask, alpha=True)
    suite.case("aten.index_add", mask, 0, T(3, kind="indices", limit=3, dtype=I64), mask, alpha=False)
    suite.case("aten.addr", T(3, 4, dtype=BOOL), T(3, dtype=BOOL), T(4, dtype=BOOL))
    suite.case("aten.clamp_max.Tensor", mask, T(4, dtype=BOOL))
    suite.case("aten.clamp_min.Tensor", mask, T(4, dtype=BOOL))


def cropped_circles(suite: Suite) -> None:
    for pads in ([2, -1], [-1, 2], [-1, -2], [1, 2, -1, 0]):
        suite.case_module(
            lambda x, pads=pads: torch.nn.functional.pad(x, pads, mode="circular"),
            T(1, 2, 5, 6) if len(pads) == 4 else T(1, 2, 6),
            name="circular",
        )


def indices(suite: Suite) -> None:
    index = T(3, 2, values=[-1, 2, 0, -4, 1, 1], dtype=I64)
    suite.case("aten.take_along_dim", T(3, 4), index, 1)
    rows, offsets = T(6, values=[1, 0, 3, 2, 1, 0], dtype=I64), T(3, values=[0, 2, 6], dtype=I64)
    for mode in (0, 1, 2):
        suite.case("aten.embedding_bag", T(4, 3), rows, offsets, False, mode, False, None, True)
    suite.case("aten.sum_to_size", T(2, 3, 4), [3, 1], dtypes=(*FLOATS, I64, BOOL))


def integers(suite: Suite) -> None:
    suite.case("aten.sub.Tensor", T(9, dtype=U8), T(9, dtype=U8))
    suite.case("aten.diff", T(9), dtypes=(U8, I64, BOOL))
    suite.case("aten.hardtanh", T(9), -0.5, 2.5, dtypes=(I64,))
    suite.case("aten.margin_ranking_loss", T(9), T(9), T(9), 0.5, dtypes=(I64,))
    suite.case("aten.poisson_nll_loss", T(9, low=0), T(9, low=0), True, True, 1e-8, 1, dtypes=(I64,))
    suite.case("aten.cosine_embedding_loss", T(3, 4), T(3, 4), T(3, values=[1, -1, 1]), dtypes=(I64,))
    suite.case("aten.triplet_margin_loss", T(3, 4), T(3, 4), T(3, 4), dtypes=(I64,))
    suite.case("aten.native_dropout_backward", T(3, 4), T(3, 4, dtype=BOOL), 1.5, dtypes=(I64,))


def matrices(suite: Suite) -> None:
    for order in (1, -1, 2, float("inf"), "fro"):
        suite.case_module(
            lambda x, order=order: torch.linalg.norm(x * 0, ord=order if order != 2 else None, dim=(0, 1)),
            T(3, 4),
            name="norm_of_zeros",
        )
    solvable = T(3, 3, make=lambda dtype: torch.eye(3, dtype=dtype) * 4 + torch.rand(3, 3, dtype=dtype))
    symmetric = T(3, 3, make=lambda dtype: torch.eye(3, dtype=dtype) * 4 + torch.ones(3, 3, dtype=dtype))
    suite.case_module(torch.linalg.inv, solvable, name="inverse")
    suite.case_module(torch.linalg.solve, solvable, T(3, 2), name="solve")
    suite.case_module(torch.linalg.cholesky, symmetric, name="cholesky")
    for shape in ((4, 3), (3, 4), (2, 3, 3)):
        for mode in ("reduced", "complete"):
            suite.case("aten.linalg_qr", T(*shape), mode, dtypes=(F32, F64))
        suite.case("aten.geqrf", T(*shape))
    suite.case("aten.qr", T(4, 3), True)
    suite.case_module(lambda x: torch.linalg.householder_product(*torch.geqrf(x)), T(4, 3), name="householder")
    suite.case_module(lambda a: torch.linalg.tensorinv(a.reshape(2, 3, 6)), T(6, 6, make=diagonal), name="tensorinv")
    suite.case_module(
        lambda a, b: torch.linalg.tensorsolve(a.reshape(2, 3, 6), b),
        T(6, 6, make=diagonal),
        T(2, 3),
        name="tensorsolve",
    )


def diagonal(dtype: torch.dtype) -> torch.Tensor:
    return (torch.eye(6) * 5 + torch.rand(6, 6)).to(dtype)


def attention_of_two_ranks(suite: Suite) -> None:
    suite.case_module(
        torch.nn.functional.scaled_dot_product_attention, T(2, 3, 4), T(5, 2, 6, 4), T(5, 2, 6, 4), name="ranks"
    )
