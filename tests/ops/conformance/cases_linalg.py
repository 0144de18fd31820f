"""Systems of equations, factors of matrices, cross products and covariances."""

from __future__ import annotations

from collections.abc import Callable

import torch
from harness import C64, F32, F64, FLOATS, I32, I64, NUMBERS, Suite, T, TensorSpec

DTYPES = (F32, F64)
LOOSE = {F32: (1e-4, 1e-3), F64: (1e-10, 1e-8)}


def made(make: Callable[[], torch.Tensor]) -> TensorSpec:
    return T(make=lambda dtype: make().to(dtype))


def regular(*shape: int) -> TensorSpec:
    """Far from singular, but with row exchanges."""
    return made(lambda: (torch.randn(*shape, dtype=F64) + 3 * torch.eye(shape[-1], dtype=F64)).flip(-2))


def positive(*shape: int) -> TensorSpec:
    def make() -> torch.Tensor:
        a = torch.randn(*shape, dtype=F64)
        return a @ a.mT + shape[-1] * torch.eye(shape[-1], dtype=F64)

    return made(make)


def triangle(*shape: int) -> TensorSpec:
    """Both triangles hold numbers; only one is to be read."""
    return made(lambda: torch.randn(*shape, dtype=F64) + 4 * torch.eye(shape[-1], dtype=F64))


def cases(suite: Suite) -> None:
    cholesky(suite)
    triangles(suite)
    systems(suite)
    determinants(suite)
    factors(suite)
    cross(suite)
    statistics(suite)
    opaque(suite)


def cholesky(suite: Suite) -> None:
    for upper in (False, True):
        for name in ("linalg_cholesky", "linalg_cholesky_ex"):
            suite.case(f"aten.{name}", positive(2, 4, 4), upper=upper, dtypes=DTYPES, tolerance=LOOSE)
        suite.case("aten.cholesky", positive(3, 3), upper, dtypes=DTYPES, tolerance=LOOSE)
        suite.case("aten.cholesky_solve", T(4, 2), triangle(4, 4), upper, dtypes=DTYPES, tolerance=LOOSE)
        suite.case("aten.cholesky_inverse", triangle(2, 4, 4), upper, dtypes=DTYPES, tolerance=LOOSE)


def triangles(suite: Suite) -> None:
    for upper in (False, True):
        for unit in (False, True):
            suite.case(
                "aten.linalg_solve_triangular",
                triangle(4, 4),
                T(4, 3),
                upper=upper,
                unitriangular=unit,
                dtypes=DTYPES,
                tolerance=LOOSE,
            )
            suite.case(
                "aten.linalg_solve_triangular",
                triangle(2, 4, 4),
                T(3, 4),
                upper=upper,
                left=False,
                unitriangular=unit,
                tolerance=LOOSE,
            )
            for transpose in (False, True):
                suite.case("aten.triangular_solve", T(4, 3), triangle(4, 4), upper, transpose, unit, tolerance=LOOSE)
    suite.case("aten.linalg_solve_triangular", triangle(1, 4, 4), T(2, 4, 3), upper=True, tolerance=LOOSE)


def systems(suite: Suite) -> None:
    for name in ("linalg_solve", "linalg_solve_ex", "_linalg_solve_ex"):
        suite.case(f"aten.{name}", regular(4, 4), T(4, 3), dtypes=DTYPES, tolerance=LOOSE)
        suite.case(f"aten.{name}", regular(2, 4, 4), T(4, 3), tolerance=LOOSE)
        suite.case(f"aten.{name}", regular(2, 4, 4), T(2, 4), tolerance=LOOSE)
        suite.case(f"aten.{name}", regular(4, 4), T(4), tolerance=LOOSE)
        suite.case(f"aten.{name}", regular(4, 4), T(3, 4), left=False, tolerance=LOOSE)
    for name in ("linalg_inv", "linalg_inv_ex", "inverse"):
        suite.case(f"aten.{name}", regular(2, 4, 4), dtypes=DTYPES, tolerance=LOOSE)
        suite.case(f"aten.{name}", regular(1, 1), tolerance=LOOSE)
    suite.case("aten.linalg_inv", regular(3, 3), dtypes=(C64,), runs=False)
    suite.case("aten.linalg_solve", regular(3, 3), T(3, 2), dtypes=(C64,), runs=False)


def determinants(suite: Suite) -> None:
    for name in ("linalg_det", "det", "_linalg_det", "linalg_slogdet", "slogdet", "_linalg_slogdet", "logdet"):
        suite.case(f"aten.{name}", regular(2, 4, 4), dtypes=DTYPES, tolerance=LOOSE)
        suite.case(f"aten.{name}", T(5, 5), dtypes=DTYPES, tolerance=LOOSE)
        suite.case(f"aten.{name}", T(1, 1), tolerance=LOOSE)
    suite.case("aten.det", T(3, 3, values=[1, 2, 3, 2, 4, 6, 1, 0, 1]), tolerance=(1e-5, 0))
    suite.case("aten.det", T(0, 0))
    suite.case("aten.det", T(2, 2, values=[0, 1, 1, 0]))


def factors(suite: Suite) -> None:
    for name in ("linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu"):
        suite.case(f"aten.{name}", T(2, 4, 4), dtypes=DTYPES, tolerance=LOOSE)
        suite.case(f"aten.{name}", T(3, 5), tolerance=LOOSE)
        suite.case(f"aten.{name}", T(5, 3), tolerance=LOOSE)
    suite.case("aten.lu_unpack", T(2, 3, 3), T(2, 3, dtype=I32, values=[2, 3, 3, 1, 3, 3]), dtypes=DTYPES)
    for left in (True, False):
        for adjoint in (True, False):
            suite.case(
                "aten.linalg_lu_solve",
                triangle(2, 3, 3),
                T(2, 3, dtype=I32, values=[2, 3, 3, 1, 3, 3]),
                T(2, 3, 3),
                left=left,
                adjoint=adjoint,
                dtypes=DTYPES,
                tolerance=LOOSE,
            )
    suite.case("aten.lu_solve", T(3, 2), triangle(3, 3), T(3, dtype=I32, values=[3, 2, 3]), tolerance=LOOSE)


def cross(suite: Suite) -> None:
    suite.case("aten.linalg_cross", T(4, 3), T(4, 3), dtypes=NUMBERS)
    suite.case("aten.linalg_cross", T(3, 1, 4), T(3, 2, 4), dim=0)
    suite.case("aten.cross", T(2, 3, 3), T(2, 3, 3), dtypes=(F32, C64))
    suite.case("aten.cross", T(4, 3), T(4, 3), -1)


def statistics(suite: Suite) -> None:
    counts, shares = T(8, dtype=I64, kind="int", low=1, high=4), T(8, low=0.5, high=2)
    suite.case("aten.cov", T(3, 8), dtypes=(*FLOATS, I64))
    suite.case("aten.cov", T(8))
    suite.case("aten.cov", T(3, 8), correction=0, fweights=counts)
    suite.case("aten.cov", T(3, 8), aweights=shares)
    suite.case("aten.cov", T(3, 8), fweights=counts, aweights=shares, dtypes=DTYPES)
    suite.case("aten.cov", T(3, 8), dtypes=(C64,))
    suite.case("aten.corrcoef", T(3, 8), dtypes=DTYPES)
    suite.case("aten.corrcoef", T(8))
    suite.case("aten.linalg_vander", T(2, 4, low=-2, high=2), dtypes=(F32, F64, I64))
    suite.case("aten.linalg_vander", T(4, low=-2, high=2), N=3)


def opaque(suite: Suite) -> None:
    for name in (
        "linalg_svd",
        "_linalg_svd",
        "linalg_eigh",
        "_linalg_eigh",
        "linalg_eig",
        "linalg_eigvals",
        "linalg_svdvals",
        "linalg_matrix_exp",
    ):
        suite.case(f"aten.{name}", positive(3, 3), runs=False)
    suite.case("aten.linalg_lstsq", T(4, 3), T(4, 2), runs=False)
