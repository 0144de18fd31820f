"""Matrix products, einsum, distances, quantised products."""

from __future__ import annotations

import torch
from harness import BF16, C64, F16, F32, F64, FLOATS, I8, I32, I64, NUMBERS, Suite, T

F8E4M3, F8E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
MATMUL = (*FLOATS, I64, I32, C64)
# PyTorch rounds some intermediate values that are not rounded here.
ROUNDED = {BF16: (0.06, 0.03), F16: (0.01, 0.01)}


def cases(suite: Suite) -> None:
    products(suite)
    sums_with_products(suite)
    vectors(suite)
    einsums(suite)
    chains(suite)
    distances(suite)
    quantised(suite)
    grouped(suite)


def products(suite: Suite) -> None:
    suite.case("aten.mm", T(5, 7), T(7, 3), dtypes=MATMUL)
    suite.case("aten.mm", T(5, 0), T(0, 3), dtypes=(F32, BF16))
    suite.case("aten.mm", T(0, 4), T(4, 3))
    suite.case("aten.mm", T(1, 1), T(1, 1))
    suite.case("aten.mm", T(3, 4, special=True), T(4, 3))
    suite.case("aten.bmm", T(2, 5, 7), T(2, 7, 3), dtypes=MATMUL)
    suite.case("aten.bmm", T(0, 5, 7), T(0, 7, 3))
    for left, right in (
        ((4,), (4,)),
        ((4,), (4, 3)),
        ((5, 4), (4,)),
        ((5, 4), (4, 3)),
        ((4,), (2, 4, 3)),
        ((2, 5, 4), (4,)),
        ((2, 5, 4), (4, 3)),
        ((5, 4), (2, 4, 3)),
        ((2, 1, 5, 4), (3, 4, 2)),
        ((2, 3, 5, 4), (1, 3, 4, 2)),
        ((2, 3, 1, 5, 4), (3, 6, 4, 2)),
        ((1, 5, 4), (7, 4, 1)),
    ):
        suite.case("aten.matmul", T(*left), T(*right), dtypes=(*FLOATS, I64) if len(left) != len(right) else FLOATS)
    suite.case("aten.linalg_matmul", T(2, 5, 4), T(4, 3), dtypes=FLOATS)
    suite.case("aten.linear", T(5, 4), T(3, 4), T(3), dtypes=FLOATS)
    suite.case("aten.linear", T(2, 5, 4), T(3, 4), dtypes=FLOATS)
    suite.case("aten.linear", T(2, 3, 5, 4), T(3, 4), T(3), dtypes=FLOATS)
    suite.case("aten.linear", T(4), T(3, 4), T(3), dtypes=FLOATS)
    suite.case("aten.linear", T(5, 4), T(4))
    suite.case("aten.linear", T(5, 0), T(3, 0), T(3))
    suite.case_module(
        lambda x, w, b: torch.nn.functional.linear(x.transpose(0, 1), w[:, 1:], b[2:]),
        T(5, 2, 4),
        T(3, 5),
        T(5),
        name="linear of views",
    )


def sums_with_products(suite: Suite) -> None:
    suite.case("aten.addmm", T(5, 3), T(5, 7), T(7, 3), dtypes=NUMBERS, tolerance=ROUNDED)
    suite.case("aten.addmm", T(3), T(5, 7), T(7, 3), dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.addmm", T(), T(5, 7), T(7, 3))
    suite.case("aten.addmm", T(5, 1), T(5, 7), T(7, 3), beta=0.5, alpha=-2, dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.addmm", T(5, 3, special=True), T(5, 7), T(7, 3), beta=0, dtypes=(F32,))
    suite.case("aten.addmm", T(5, 3), T(5, 7), T(7, 3), beta=2, alpha=3, dtypes=(I64, I32))
    suite.case("aten.addmm", T(5, 3), T(5, 0), T(0, 3), beta=2)
    suite.case("aten.baddbmm", T(2, 5, 3), T(2, 5, 7), T(2, 7, 3), dtypes=NUMBERS, tolerance=ROUNDED)
    suite.case("aten.baddbmm", T(3), T(2, 5, 7), T(2, 7, 3), beta=0.5, alpha=2, dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.baddbmm", T(2, 1, 1), T(2, 5, 7), T(2, 7, 3), beta=0)
    suite.case("aten.addbmm", T(5, 3), T(2, 5, 7), T(2, 7, 3), dtypes=NUMBERS, tolerance=ROUNDED)
    suite.case(
        "aten.addbmm", T(3), T(2, 5, 7), T(2, 7, 3), beta=0.5, alpha=2, dtypes=FLOATS, tolerance=ROUNDED, in_place=False
    )
    suite.case("aten.addmv", T(5), T(5, 7), T(7), dtypes=NUMBERS, tolerance=ROUNDED)
    suite.case("aten.addmv", T(1), T(5, 7), T(7), beta=0.5, alpha=2, dtypes=(F32, F64))
    suite.case("aten.addr", T(5, 3), T(5), T(3), dtypes=NUMBERS, tolerance=ROUNDED)
    suite.case("aten.addr", T(3), T(5), T(3), beta=0.5, alpha=2, dtypes=(F32, F64))
    suite.case("aten._addmm_activation", T(3), T(5, 7), T(7, 3), dtypes=(F32, F64))
    suite.case("aten._addmm_activation", T(3), T(5, 7), T(7, 3), use_gelu=True, beta=2, alpha=0.5)


def vectors(suite: Suite) -> None:
    suite.case("aten.mv", T(5, 7), T(7), dtypes=NUMBERS)
    suite.case("aten.dot", T(7), T(7), dtypes=MATMUL)
    suite.case("aten.dot", T(0), T(0))
    suite.case("aten.vdot", T(7), T(7), dtypes=MATMUL)
    suite.case("aten.linalg_vecdot", T(2, 7), T(7), dtypes=(*FLOATS, C64))
    suite.case("aten.linalg_vecdot", T(2, 7, 3), T(2, 7, 3), dim=1)
    suite.case("aten.inner", T(2, 5), T(3, 4, 5), dtypes=NUMBERS)
    suite.case("aten.inner", T(5), T(5), dtypes=FLOATS)
    suite.case("aten.inner", T(), T(3, 5))
    suite.case("aten.outer", T(5), T(3), dtypes=(*MATMUL, torch.bool))
    suite.case("aten.ger", T(5), T(3), dtypes=(F32, I64))
    suite.case("aten.outer", T(5, dtype=F32), T(3, dtype=I64))
    suite.case("aten.tensordot", T(2, 3, 4), T(4, 3, 5), [1, 2], [1, 0], dtypes=MATMUL)
    suite.case("aten.tensordot", T(2, 3), T(4, 5), [], [])
    suite.case("aten.tensordot", T(2, 3, 4), T(2, 3, 4), [0, 1, 2], [0, 1, 2])
    suite.case("aten.tensordot", T(2, 3, 4), T(4, 5), [-1], [-2], dtypes=FLOATS)


def einsums(suite: Suite) -> None:
    for equation, shapes in (
        ("ij,jk->ik", ((3, 4), (4, 5))),
        ("ij,jk", ((3, 4), (4, 5))),
        ("ij,jk->ki", ((3, 4), (4, 5))),
        ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
        ("...ij,...jk->...ik", ((2, 1, 3, 4), (6, 4, 5))),
        ("...ij,jk", ((2, 3, 4), (4, 5))),
        ("i...j,...jk->...ik", ((3, 2, 4), (2, 4, 5))),
        ("bhid,bhjd->bhij", ((2, 3, 4, 5), (2, 3, 6, 5))),
        ("ii->i", ((4, 4),)),
        ("ii", ((4, 4),)),
        ("iij->j", ((3, 3, 4),)),
        ("ij->ji", ((3, 4),)),
        ("ba", ((3, 4),)),
        ("ij->", ((3, 4),)),
        ("ijk->j", ((3, 4, 5),)),
        ("...i->...", ((3, 4, 5),)),
        ("ij,kj->i", ((3, 4), (5, 4))),
        ("ij,kl->il", ((3, 4), (5, 6))),
        ("i,j->ij", ((3,), (4,))),
        ("i,i->", ((3,), (3,))),
        ("i,i->i", ((3,), (3,))),
        ("ii,ij->j", ((3, 3), (3, 4))),
        ("ij,ij,ij->i", ((3, 4), (3, 4), (3, 4))),
        ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 6))),
        ("bn,anm,bm->ba", ((2, 5), (3, 5, 7), (2, 7))),
        ("ab,bc,cd,de->ae", ((2, 3), (3, 4), (4, 5), (5, 6))),
        ("Ab,bC", ((2, 3), (3, 4))),
        (",ij->ij", ((), (3, 4))),
        ("ij,jk->ik", ((3, 1), (4, 5))),
        (" i j , j k -> i k ", ((3, 4), (4, 5))),
        ("bijl,lk->bijk", ((2, 3, 4, 5), (5, 6))),
        ("...,...->...", ((3, 4), (4,))),
        ("nctv,kvw->nctw", ((2, 3, 4, 5), (2, 5, 5))),
    ):
        dtypes = FLOATS if len(shapes) <= 2 else (F32, F64)
        suite.case("aten.einsum", equation, [T(*shape) for shape in shapes], dtypes=dtypes, tolerance=ROUNDED)
    suite.case("aten.einsum", "ij,jk->ik", [T(3, 4), T(4, 5)], dtypes=(I64, C64))
    suite.case("aten.einsum", "ij,jk,kl->il", [T(3, 4), T(4, 5), T(5, 6)], path=[1, 2, 0, 1])
    suite.case("aten.einsum", "ab,bc,cd,de->ae", [T(2, 3), T(3, 4), T(4, 5), T(5, 6)], path=[0, 1, 0, 1, 0, 1])


def chains(suite: Suite) -> None:
    suite.case("aten.bilinear", T(5, 3), T(5, 4), T(2, 3, 4), T(2), dtypes=(F32, F64))
    suite.case("aten.bilinear", T(2, 5, 3), T(2, 5, 4), T(2, 3, 4))
    suite.case("aten._trilinear", T(5, 3), T(2, 3, 4), T(5, 4), [1, 3], [0], [1, 2], [2, 3])
    suite.case("aten._trilinear", T(5, 3), T(2, 3, 4), T(5, 4), [1, 3], [0], [1, 2], [3], dtypes=(F32, F64))
    chain = [T(3, 8), T(8, 2), T(2, 9), T(9, 4)]
    suite.case("aten.linalg_multi_dot", chain, dtypes=(F32, F64))
    suite.case("aten.linalg_multi_dot", [T(3), T(3, 5), T(5)])
    suite.case("aten.linalg_multi_dot", [T(3), T(3, 5), T(5, 4)])
    suite.case("aten.linalg_multi_dot", [T(4, 3), T(3, 5), T(5)])
    suite.case("aten.chain_matmul", chain)
    suite.case("aten.kron", T(2, 3), T(4, 5), dtypes=NUMBERS)
    suite.case("aten.kron", T(3), T(2, 4, 5))
    suite.case("aten.kron", T(2, 3, 2), T(4))
    for n in (0, 1, 2, 3, 5, 8):
        suite.case("aten.matrix_power", T(4, 4), n, dtypes=(F32, F64), tolerance={F32: (1e-2, 1e-4)})
    suite.case("aten.linalg_matrix_power", T(2, 3, 3), 3)
    well = T(3, 3, make=lambda dtype: torch.eye(3, dtype=dtype) * 2 + torch.rand(3, 3, dtype=dtype) / 2)
    suite.case("aten.matrix_power", well, -2, dtypes=(F32, F64))


def distances(suite: Suite) -> None:
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, float("inf")):
        suite.case("aten.cdist", T(5, 3), T(4, 3), p, dtypes=(F32, F64))
    suite.case("aten.cdist", T(2, 1, 5, 3), T(3, 4, 3))
    suite.case("aten.cdist", T(30, 3), T(28, 3), dtypes=(F32, F64), tolerance=(1e-4, 1e-4))
    suite.case("aten.cdist", T(30, 3), T(28, 3), 2.0, 2)
    suite.case("aten.cdist", T(5, 3), T(4, 3), 2.0, 1, tolerance=(1e-4, 1e-4))
    suite.case("aten.cdist", T(5, 0), T(4, 0))
    suite.case("aten._cdist_forward", T(5, 3), T(4, 3), 1.0, None)
    suite.case("aten._euclidean_dist", T(5, 3), T(4, 3), dtypes=(F32, F64), tolerance=(1e-4, 1e-4))
    for p in (0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
        suite.case_module(
            lambda grad, x, y, p=p: torch.ops.aten._cdist_backward(
                grad, x, y, p, torch.ops.aten._cdist_forward(x, y, p, 2)
            ),
            T(5, 4),
            T(5, 3),
            T(4, 3),
            name="cdist_backward",
            forms=("training",),
            tolerance=(1e-4, 1e-4),
        )
    suite.case("aten.pdist", T(6, 3), dtypes=(F32, F64))
    suite.case("aten._pdist_forward", T(6, 3), 1.0)
    suite.case("aten.pdist", T(1, 3))
    for p in (1.0, 2.0, 3.0, float("inf")):
        suite.case("aten.pairwise_distance", T(5, 3), T(5, 3), p, dtypes=(F32, F64))
    suite.case("aten.pairwise_distance", T(5, 3), T(3), 2.0, 1e-6, True, dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.cosine_similarity", T(5, 3), T(5, 3), dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.cosine_similarity", T(5, 3, 4), T(3, 1), -1, 1e-6)
    suite.case("aten.cosine_similarity", T(5, 3, 4), T(5, 3, 4), 0)
    suite.case("aten.cosine_similarity", T(3, values=[0, 0, 0]), T(3), 0)


def quantised(suite: Suite) -> None:
    suite.case("aten._int_mm", T(20, 16, dtype=I8), T(16, 24, dtype=I8))
    suite.case("aten._weight_int8pack_mm", T(5, 16), T(8, 16, dtype=I8), T(8), dtypes=(BF16,), tolerance=(0.5, 0.05))
    scale = T(1, dtype=F32, low=0.1, high=1)
    for left in (F8E4M3, F8E5M2):
        a, b = T(16, 32, dtype=left), T(32, 16, dtype=F8E4M3)
        suite.case("aten._scaled_mm", a, b, scale, scale, out_dtype=BF16)
        suite.case("aten._scaled_mm", a, b, scale, scale, T(16, dtype=BF16), out_dtype=BF16, tolerance=(0.1, 0.02))
    a, b = T(16, 32, dtype=F8E4M3), T(32, 16, dtype=F8E4M3)
    suite.case("aten._scaled_mm", a, b, scale, scale, out_dtype=F32)
    rows, columns = T(16, 1, dtype=F32, low=0.1, high=1), T(1, 16, dtype=F32, low=0.1, high=1)
    suite.case("aten._scaled_mm", a, b, rows, columns, out_dtype=BF16)


def grouped(suite: Suite) -> None:
    ends = T(3, dtype=I32, values=[2, 5, 9])
    tolerance = (0.1, 0.02)
    suite.case("aten._grouped_mm", T(9, 16), T(3, 16, 8), ends, dtypes=(BF16,), tolerance=tolerance)
    last = T(3, dtype=I32, values=[2, 5, 16])
    suite.case("aten._grouped_mm", T(8, 16), T(16, 16), last, dtypes=(BF16,), tolerance=tolerance)
    suite.case("aten._grouped_mm", T(3, 8, 16), T(16, 16), last, dtypes=(BF16,), tolerance=tolerance)
    suite.case("aten._grouped_mm", T(3, 8, 16), T(3, 16, 8), dtypes=(BF16,), tolerance=tolerance)
    if not hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        schema = "(Tensor input, Tensor weight, Tensor offs) -> Tensor"
        torch.library.custom_op("transformers::grouped_mm_fallback", by_groups, mutates_args=(), schema=schema)
    fallback = "transformers.grouped_mm_fallback"
    suite.case(fallback, T(9, 16), T(3, 16, 8), ends, dtypes=(F32, BF16), tolerance={BF16: tolerance})
    suite.case(fallback, T(9, 16), T(3, 16, 8), T(3, dtype=I64, values=[4, 4, 9]))


def by_groups(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    """What the transformers library registers for mixtures of experts."""
    starts = [0, *offs.tolist()]
    parts = [input[a:b] @ matrix for a, b, matrix in zip(starts, starts[1:], weight, strict=False)]
    return torch.cat(parts)
