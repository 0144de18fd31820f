"""Special functions, divisors, parts of numbers, and functions of complex numbers."""

from __future__ import annotations

from harness import BOOL, C64, F32, F64, FLOATS, I8, I16, I32, I64, U8, Suite, T


def cases(suite: Suite) -> None:
    bessel(suite)
    normal_distribution(suite)
    zeta(suite)
    divisors(suite)
    complex_functions(suite)


def bessel(suite: Suite) -> None:
    for name in ("i0", "special_i0e", "special_i1", "special_i1e", "special_spherical_bessel_j0"):
        dtypes = (F32, F64) if "spherical" in name else FLOATS
        suite.case(f"aten.{name}", T(5, 7, low=-30, high=30), dtypes=dtypes)
        suite.case(f"aten.{name}", T(4, values=[0.0, 15.9, 16.1, -8.0]), dtypes=(F32, F64, I64))


def normal_distribution(suite: Suite) -> None:
    tails = T(8, values=[0.0, 1.0, 0.5, 1e-3, 1e-10, 1e-30, 0.99, 1.5])
    suite.case("aten.special_ndtri", tails, dtypes=(F32, F64))
    suite.case("aten.special_ndtri", T(40, low=0, high=1), dtypes=(F32, F64))
    for name in ("special_erfcx", "special_log_ndtr"):
        suite.case(f"aten.{name}", T(40, low=-8, high=20), dtypes=(F32,))
        suite.case(f"aten.{name}", T(20, low=-3, high=3), dtypes=(F32, F64, I64))


def zeta(suite: Suite) -> None:
    suite.case("aten.special_zeta", T(6, low=1.1, high=9), T(6, low=0.1, high=9), dtypes=(F32, F64))
    suite.case("aten.special_zeta", T(3, low=2, high=5), T(3, low=1, high=9), dtypes=(I64,))
    for order in (0, 1, 2, 4):
        suite.case("aten.polygamma", order, T(9, low=0.2, high=8), dtypes=(F32, F64), in_place=False)


def divisors(suite: Suite) -> None:
    for name in ("gcd", "lcm"):
        suite.case(f"aten.{name}", T(4, 5, low=-60, high=60, kind="int"), T(5, low=-60, high=60, kind="int"),
                   dtypes=(I64, I32, I16))  # fmt: skip
        suite.case(f"aten.{name}", T(6, low=0, high=15, kind="int"), T(6, low=0, high=15, kind="int"), dtypes=(U8, I8))
    neighbours = T(2, values=[4660046610375530309, 0]), T(2, values=[7540113804746346429, 0])  # of Fibonacci
    suite.case("aten.gcd", *neighbours, dtypes=(I64,))
    suite.case("aten.frexp.Tensor", T(4, 5, special=True, low=-900, high=900), dtypes=FLOATS)
    suite.case("aten.frexp.Tensor", T(5, values=[1e-42, -3e-40, 1.0, 0.5, 3e38]), dtypes=(F32, F64))


def complex_functions(suite: Suite) -> None:
    z = T(3, 5)
    for name in (
        "exp2 expm1 log2 log10 log1p rsqrt tan sinh cosh asin acos atan asinh acosh atanh sigmoid silu"
    ).split():
        suite.case(f"aten.{name}", z, dtypes=(C64,))
    suite.case("aten.logaddexp", z, T(5), dtypes=(C64,))
    suite.case("aten.ldexp.Tensor", z, T(5), dtypes=(C64,))
    for name in ("var", "std", "var_mean", "std_mean"):
        suite.case(f"aten.{name}.correction", z, [1], correction=1, dtypes=(C64,))
    suite.case("aten.logsumexp", z, [1], dtypes=(C64,))
    suite.case("aten.renorm", z, 2, 0, 1.0, dtypes=(C64,))
    suite.case("aten.l1_loss", z, T(3, 5), dtypes=(C64,))
    suite.case("aten.pairwise_distance", z, T(3, 5), dtypes=(C64,))
    suite.case("aten.constant_pad_nd", z, [1, 2], 1 + 2j, dtypes=(C64,))
    suite.case("aten.square", T(3, 4), dtypes=(BOOL, C64))
