"""Pointwise operators: arithmetic, comparisons, logic, choices and functions."""

from __future__ import annotations

from harness import ALL, BF16, BOOL, C64, F16, F32, F64, FLOATS, I8, I32, I64, INTEGERS, NUMBERS, U8, Suite, T

FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh "
    "erf erfc sigmoid reciprocal deg2rad rad2deg sinc digamma lgamma"
)
SPECIAL_FUNCTIONS = "expit exp2 expm1 erf erfc log1p gammaln psi digamma sinc entr ndtr"


def cases(suite: Suite) -> None:
    functions(suite)
    arithmetic(suite)
    division(suite)
    powers(suite)
    bounds(suite)
    comparisons(suite)
    logic(suite)
    choices(suite)
    complex_numbers(suite)
    symbols(suite)


def functions(suite: Suite) -> None:
    for name in FUNCTIONS.split():
        suite.case(f"aten.{name}", T(4, 5, special=True), dtypes=ALL)
        suite.case(f"aten.{name}", T(), dtypes=(F32, I64))
    for name in SPECIAL_FUNCTIONS.split():
        suite.case(f"aten.special_{name}", T(4, 5, special=True), dtypes=FLOATS)
    suite.case("aten.special_ndtri", T(4, 5, low=0.01, high=0.99), dtypes=(F32, F64))
    suite.case("aten.erfinv", T(4, 5, low=-0.99, high=0.99), dtypes=FLOATS)
    suite.case("aten.erfinv", T(5, values=[1.0, -1.0, 0.0, 1.5, float("nan")]))
    for name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"):
        suite.case(f"aten.{name}", T(3, 4), dtypes=(F32,))
    for name in ("floor", "ceil", "trunc", "round", "fix"):
        suite.case(f"aten.{name}", T(4, 5, special=True), dtypes=NUMBERS)
    suite.case("aten.round", T(6, values=[0.5, 1.5, 2.5, -0.5, -1.5, -2.5]), dtypes=FLOATS)
    suite.case("aten.round.decimals", T(4, 5), decimals=2, dtypes=(F32, F64))
    suite.case("aten.round.decimals", T(4, 5, low=-500, high=500), decimals=-2, dtypes=(F32, F64))
    suite.case("aten.frac", T(4, 5, special=True), dtypes=FLOATS)
    suite.case("aten.polygamma", 0, T(4, 5, low=0.2, high=5), dtypes=(F32, F64))
    suite.case("aten.polygamma", 1, T(4, 5, low=-3, high=5), dtypes=(F32, F64), tolerance={F32: (1e-3, 1e-3)})
    suite.case("aten.mvlgamma", T(4, 5, low=3, high=9), 4, dtypes=(F32, F64))
    suite.case("aten.logit", T(4, 5, low=0.01, high=0.99), dtypes=FLOATS)
    suite.case("aten.logit", T(4, 5, low=-0.2, high=1.2), 0.05, dtypes=FLOATS)
    for name in ("abs", "neg", "sign", "sgn", "square", "absolute", "negative", "positive"):
        suite.case(f"aten.{name}", T(4, 5, special=True), dtypes=(*NUMBERS, I8))
    suite.case("aten.sign", T(4, 5), dtypes=(BOOL,))
    suite.case("aten.square", T(4, 5), dtypes=(U8,))
    suite.case("aten.nan_to_num", T(4, 5, special=True), dtypes=(*NUMBERS, BOOL))
    suite.case("aten.nan_to_num", T(4, 5, special=True), 1.0, 2.0, -3.0, dtypes=FLOATS)


def arithmetic(suite: Suite) -> None:
    suite.case("aten.add.Tensor", T(3, 5), T(5), dtypes=(*ALL, U8, I8))
    suite.case("aten.add.Tensor", T(3, 1, 5), T(4, 1), alpha=2, dtypes=NUMBERS)
    suite.case("aten.add.Tensor", T(3, 5), T(dtype=F64), dtypes=(F32, BF16, I64))
    suite.case("aten.add.Tensor", T(3, 5), T(5, dtype=I32), dtypes=(F32, BF16, I64, BOOL))
    suite.case("aten.add.Tensor", T(3, 5, dtype=BF16), T(5, dtype=F16))
    suite.case("aten.add.Tensor", T(3, 5, dtype=U8), T(5, dtype=I8))
    suite.case("aten.add.Tensor", T(0, 5), T(5), dtypes=(F32,))
    suite.case("aten.add.Scalar", T(3, 5), 1.5, dtypes=NUMBERS)
    suite.case("aten.add.Scalar", T(3, 5), 3, 2, dtypes=NUMBERS)
    suite.case("aten.add.Tensor", T(3, 5), T(3, 5), alpha=0.5, dtypes=FLOATS)
    suite.case("aten.sub.Tensor", T(3, 5), T(5), dtypes=NUMBERS)
    suite.case("aten.sub.Tensor", T(3, 5), T(5), alpha=3, dtypes=NUMBERS)
    suite.case("aten.sub.Scalar", T(3, 5), 2, dtypes=NUMBERS)
    suite.case("aten.rsub.Scalar", T(3, 5), 1, dtypes=NUMBERS)
    suite.case("aten.rsub.Scalar", T(3, 5), 1.5, 2, dtypes=FLOATS)
    suite.case("aten.rsub.Tensor", T(3, 5), T(3, 5), alpha=2, dtypes=NUMBERS)
    suite.case("aten.subtract.Tensor", T(3, 5), T(3, 5), dtypes=(F32,))
    suite.case("aten.mul.Tensor", T(3, 5, special=True), T(5), dtypes=(*ALL, U8))
    suite.case("aten.mul.Scalar", T(3, 5), 0.5, dtypes=NUMBERS)
    suite.case("aten.mul.Scalar", T(3, 5), True, dtypes=ALL)
    suite.case("aten.multiply.Tensor", T(3, 5), T(5), dtypes=(F32,))
    for name in ("addcmul", "addcdiv"):
        dtypes = NUMBERS if name == "addcmul" else FLOATS
        suite.case(f"aten.{name}", T(3, 5), T(5), T(3, 5, low=1, high=5), dtypes=dtypes)
        suite.case(f"aten.{name}", T(3, 5), T(5), T(3, 5, low=1, high=5), value=2, dtypes=dtypes)
    suite.case("aten.addcmul", T(3, 5), T(3, 1), T(5), value=0.25, dtypes=FLOATS)
    suite.case("aten.lerp.Scalar", T(3, 5), T(3, 5), 0.3, dtypes=FLOATS)
    suite.case("aten.lerp.Scalar", T(3, 5), T(3, 5), 0.8, dtypes=FLOATS)
    suite.case("aten.lerp.Tensor", T(3, 5), T(5), T(3, 5, low=-0.5, high=1.5), dtypes=FLOATS)
    for name in ("atan2", "arctan2", "copysign.Tensor"):
        suite.case(f"aten.{name}", T(3, 5, special=True), T(5), dtypes=ALL)
    suite.case("aten.copysign.Scalar", T(3, 5), -1.5, dtypes=FLOATS)
    suite.case("aten.hypot", T(3, 5), T(5), dtypes=FLOATS)
    suite.case("aten.nextafter", T(3, 5), T(5), dtypes=(F32, F64), tolerance=(0, 0))
    suite.case("aten.ldexp.Tensor", T(3, 5), T(5, dtype=I64, low=-3, high=4), dtypes=(F32, F64))
    suite.case("aten.xlogy.Tensor", T(3, 5), T(5, low=0.1, high=3), dtypes=ALL)
    suite.case("aten.xlogy.Tensor", T(4, values=[0, 0, 1, 2]), T(4, values=[0, float("nan"), 0, 3]), dtypes=FLOATS)
    suite.case("aten.xlogy.Scalar_Other", T(3, 5), 2.5, dtypes=FLOATS)
    suite.case("aten.xlogy.Scalar_Self", 2.5, T(3, 5, low=0.1, high=3), dtypes=FLOATS)
    suite.case("aten.special_xlog1py", T(3, 5), T(5, low=0.1, high=3), dtypes=(F32, F64))
    suite.case("aten.logaddexp", T(3, 5, special=True), T(5), dtypes=FLOATS)
    suite.case("aten.logaddexp2", T(3, 5), T(5), dtypes=FLOATS)
    suite.case("aten.logaddexp", T(2, values=[float("inf"), -float("inf")]), T(2, values=[float("inf"), -float("inf")]))


def division(suite: Suite) -> None:
    positive = T(5, low=1, high=6)
    mixed = T(5, values=[1.5, -2.5, 3.0, -1.0, 0.75])
    whole = T(5, values=[1, -2, 3, -4, 7])
    suite.case("aten.div.Tensor", T(3, 5), positive, dtypes=ALL[:-1])
    suite.case("aten.div.Tensor", T(3, 5, dtype=BOOL), T(5, dtype=I64, low=1, high=4))
    suite.case("aten.div.Scalar", T(3, 5), 2.5, dtypes=NUMBERS)
    suite.case("aten.div.Scalar", T(3, 5), 4, dtypes=NUMBERS)
    suite.case("aten.divide.Tensor", T(3, 5), positive)
    suite.case("aten.true_divide.Tensor", T(3, 5), positive, dtypes=NUMBERS)
    for mode in ("floor", "trunc"):
        suite.case("aten.div.Tensor_mode", T(3, 5, special=True), mixed, rounding_mode=mode, dtypes=FLOATS)
        suite.case("aten.div.Tensor_mode", T(3, 5), whole, rounding_mode=mode, dtypes=INTEGERS)
        suite.case("aten.div.Scalar_mode", T(3, 5), 3, rounding_mode=mode, dtypes=NUMBERS)
        suite.case("aten.div.Scalar_mode", T(3, 5), -0.7, rounding_mode=mode, dtypes=FLOATS)
    suite.case("aten.div.Tensor_mode", T(3, 5), whole, rounding_mode=None, dtypes=NUMBERS)
    suite.case("aten.div.Tensor_mode", T(3), T(3, values=[0, 0, 0]), rounding_mode="floor", dtypes=FLOATS)
    suite.case("aten.floor_divide", T(3, 5), mixed, dtypes=FLOATS)
    suite.case("aten.floor_divide", T(3, 5), whole, dtypes=INTEGERS)
    suite.case("aten.floor_divide.Scalar", T(3, 5), 3, dtypes=NUMBERS)
    for name in ("remainder", "fmod"):
        suite.case(f"aten.{name}.Tensor", T(3, 5, special=True), mixed, dtypes=FLOATS)
        suite.case(f"aten.{name}.Tensor", T(3, 5), whole, dtypes=INTEGERS)
        suite.case(f"aten.{name}.Scalar", T(3, 5), 3, dtypes=NUMBERS)
        suite.case(f"aten.{name}.Scalar", T(3, 5), -1.5, dtypes=FLOATS)
    suite.case("aten.remainder.Scalar_Tensor", 7, whole, dtypes=INTEGERS)


def powers(suite: Suite) -> None:
    for exponent in (0, 1, 2, 3, 4, 0.5, -0.5, -1, -2, 1.7):
        suite.case("aten.pow.Tensor_Scalar", T(3, 5, low=0.2, high=3), exponent, dtypes=FLOATS)
    for exponent in (0, 1, 2, 3, 5):
        suite.case("aten.pow.Tensor_Scalar", T(3, 5), exponent, dtypes=(*INTEGERS, F32))
    suite.case("aten.pow.Tensor_Scalar", T(3, 5, low=1, high=5), 0.5, dtypes=INTEGERS)
    suite.case("aten.pow.Tensor_Scalar", T(3, 5, dtype=BOOL), 2)
    suite.case("aten.pow.Tensor_Tensor", T(3, 5, low=0.1, high=3), T(5), dtypes=FLOATS)
    suite.case("aten.pow.Tensor_Tensor", T(3, 5), T(5, low=0, high=5), dtypes=INTEGERS)
    suite.case("aten.pow.Tensor_Tensor", T(3, 5, special=True), T(5, values=[2, 3, 0, -1, 0.5]), dtypes=(F32, F64))
    suite.case("aten.pow.Scalar", 2, T(3, 5), dtypes=FLOATS)
    suite.case("aten.pow.Scalar", 1.5, T(3, 5), dtypes=NUMBERS)
    suite.case("aten.pow.Scalar", 1, T(3, 5), dtypes=NUMBERS)
    suite.case("aten.float_power.Tensor_Scalar", T(3, 5, low=0.1, high=3), 2.5, dtypes=(F32, I64), in_place=False)
    suite.case("aten.float_power.Tensor_Tensor", T(3, 5, low=0.1, high=3), T(5), dtypes=(F32,), in_place=False)


def bounds(suite: Suite) -> None:
    suite.case("aten.clamp", T(3, 5, special=True), -0.5, 0.5, dtypes=FLOATS)
    suite.case("aten.clamp", T(3, 5), -3, 4, dtypes=NUMBERS)
    suite.case("aten.clamp", T(3, 5), None, 1, dtypes=NUMBERS)
    suite.case("aten.clamp", T(3, 5), 0, dtypes=NUMBERS)
    suite.case("aten.clamp", T(3, 5), 0.5, dtypes=INTEGERS)
    suite.case("aten.clamp", T(3, 5), 2, -2, dtypes=NUMBERS)
    suite.case("aten.clamp.Tensor", T(3, 5), T(5, low=-1, high=0), T(3, 1, low=0, high=2), dtypes=NUMBERS)
    suite.case("aten.clamp.Tensor", T(3, 5), None, T(5), dtypes=NUMBERS)
    suite.case("aten.clamp_min", T(3, 5), -1, dtypes=NUMBERS)
    suite.case("aten.clamp_max", T(3, 5), 1, dtypes=NUMBERS)
    suite.case("aten.clamp_min.Tensor", T(3, 5), T(5), dtypes=NUMBERS)
    suite.case("aten.clamp_max.Tensor", T(3, 5), T(5), dtypes=NUMBERS)
    suite.case("aten.clip", T(3, 5), -1, 1, dtypes=NUMBERS)
    for name in ("maximum", "minimum", "fmax", "fmin"):
        suite.case(f"aten.{name}", T(3, 5, special=True), T(5), dtypes=ALL)
        suite.case(f"aten.{name}", T(5), T(3, 5, special=True), dtypes=FLOATS)
    suite.case("aten.max.other", T(3, 5), T(5), dtypes=NUMBERS)
    suite.case("aten.min.other", T(3, 5), T(5), dtypes=NUMBERS)


def comparisons(suite: Suite) -> None:
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        suite.case(f"aten.{name}.Tensor", T(3, 5, special=True), T(5, values=[0, 1, -1, 0, 1]), dtypes=NUMBERS)
        suite.case(f"aten.{name}.Tensor", T(3, 5), T(5), dtypes=(BOOL, U8))
        suite.case(f"aten.{name}.Scalar", T(3, 5, special=True), 0, dtypes=ALL)
        suite.case(f"aten.{name}.Scalar", T(4, values=[0.1, 0.2, 0.3, -0.1]), 0.1, dtypes=FLOATS)
        suite.case(f"aten.{name}.Tensor", T(4, values=[0.1, 0.2, 0.3, -0.1]), T(dtype=F32, values=[0.1]), dtypes=FLOATS)
        suite.case(f"aten.{name}.Tensor", T(3, 5), T(5, dtype=I64), dtypes=(F32, BOOL, I32))
    for name in ("not_equal", "less", "less_equal", "greater", "greater_equal"):
        suite.case(f"aten.{name}.Tensor", T(3, 5), T(5))
    for name in ("isnan", "isinf", "isposinf", "isneginf", "isfinite", "isreal", "signbit"):
        suite.case(f"aten.{name}", T(4, 5, special=True), dtypes=ALL)
    near = T(5, values=[1, 1.00001, float("nan"), float("inf"), 5])
    suite.case("aten.isclose", T(5, values=[1, 1, float("nan"), float("inf"), 6]), near, dtypes=(F32, F64))
    suite.case("aten.isclose", T(5, values=[1, 1, float("nan"), 2, 6]), near, 0.5, 0.1, True, dtypes=FLOATS)
    suite.case("aten.isclose", T(3, 5), T(3, 5), 0.5, 1.0, dtypes=INTEGERS)
    suite.case("aten.heaviside", T(4, 5, special=True), T(5), dtypes=ALL)


def logic(suite: Suite) -> None:
    for name in ("logical_and", "logical_or", "logical_xor"):
        suite.case(f"aten.{name}", T(3, 5, special=True), T(5), dtypes=ALL)
        suite.case(f"aten.{name}", T(3, 5, dtype=I64, low=-1, high=2), T(5, dtype=BOOL))
    suite.case("aten.logical_not", T(3, 5, special=True), dtypes=ALL)
    for name in ("and", "or", "xor"):
        suite.case(f"aten.bitwise_{name}.Tensor", T(3, 5), T(5), dtypes=(I64, I32, U8, I8, BOOL))
        suite.case(f"aten.bitwise_{name}.Scalar", T(3, 5), 6, dtypes=INTEGERS)
        suite.case(f"aten.__{name}__.Tensor", T(3, 5), T(5), dtypes=(I64, BOOL))
    suite.case("aten.bitwise_and.Scalar_Tensor", 6, T(3, 5), dtypes=INTEGERS)
    suite.case("aten.bitwise_not", T(3, 5), dtypes=(I64, I32, U8, BOOL))
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        suite.case(f"aten.{name}.Tensor", T(3, 5), T(5, low=0, high=6), dtypes=INTEGERS)
        suite.case(f"aten.{name}.Tensor_Scalar", T(3, 5), 2, dtypes=INTEGERS)
    suite.case("aten.__lshift__.Scalar", T(3, 5), 3, dtypes=INTEGERS)
    suite.case("aten.__rshift__.Tensor", T(3, 5), T(5, low=0, high=6), dtypes=INTEGERS)


def choices(suite: Suite) -> None:
    mask = T(3, 5, dtype=BOOL)
    suite.case("aten.where.self", mask, T(3, 5), T(5), dtypes=(*ALL, C64))
    suite.case("aten.where.self", T(3, 1, dtype=BOOL), T(5), T(2, 1, 1), dtypes=NUMBERS)
    suite.case("aten.where.self", mask, T(3, 5), T(5, dtype=I64), dtypes=(F32, BOOL))
    suite.case("aten.where.ScalarOther", mask, T(3, 5), 0.5, dtypes=NUMBERS)
    suite.case("aten.where.ScalarSelf", mask, -float("inf"), T(3, 5), dtypes=FLOATS)
    suite.case("aten.where.Scalar", mask, 1, 0)
    suite.case("aten.where.Scalar", mask, 1.0, 0.0)
    suite.case("aten.masked_fill.Scalar", T(3, 5), T(5, dtype=BOOL), -float("inf"), dtypes=FLOATS)
    suite.case("aten.masked_fill.Scalar", T(3, 5), mask, 7, dtypes=(*ALL, C64))
    suite.case("aten.masked_fill.Tensor", T(3, 5), mask, T(), dtypes=ALL)
    suite.case("aten.masked_fill.Scalar", T(5), mask, 7, dtypes=NUMBERS)


def complex_numbers(suite: Suite) -> None:
    z = T(3, 5, dtype=C64)
    for name in (
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tanh",
        "abs",
        "neg",
        "square",
        "reciprocal",
        "sgn",
        "conj_physical",
    ):
        suite.case(f"aten.{name}", z, dtypes=(C64,), in_place=False)
    for name in ("real", "imag", "angle", "view_as_real", "_conj", "isnan", "isreal", "isfinite"):
        suite.case(f"aten.{name}", z, dtypes=(C64,))
    suite.case("aten.angle", T(3, 5, special=True), dtypes=NUMBERS)
    suite.case("aten.real", T(3, 5))
    suite.case("aten.view_as_complex", T(3, 5, 2))
    suite.case("aten.complex", T(3, 5), T(5))
    suite.case("aten.polar", T(3, 5, low=0, high=2), T(5))
    for name in ("add", "sub", "mul", "div", "eq", "ne"):
        suite.case(f"aten.{name}.Tensor", z, T(5, dtype=C64), dtypes=(C64,))
        suite.case(f"aten.{name}.Tensor", z, T(5, dtype=F32), dtypes=(C64,))
    suite.case("aten.mul.Scalar", z, 2.5, dtypes=(C64,))
    suite.case("aten.mul.Scalar", z, 2.5 - 1j, dtypes=(C64,))
    suite.case("aten.pow.Tensor_Scalar", z, 2, dtypes=(C64,))
    suite.case("aten.pow.Tensor_Scalar", z, 1.5, dtypes=(C64,))
    suite.case("aten._to_copy", z, dtype=F32, dtypes=(C64,))
    suite.case("aten._to_copy", T(3, 5), dtype=C64, dtypes=(F32, I64))


def symbols(suite: Suite) -> None:
    suite.case_module(lambda x: x * x[0, 1].item(), T(2, 3), name="item_product", dtypes=(F32, I64))
    suite.case_module(
        lambda x, n: x[0] + n.item() * 2 - 1, T(2, 3), T(dtype=I64), name="item_arithmetic", dtypes=(F32, BF16)
    )
    suite.case_module(
        lambda x, n: x[0] * (n.item() // 3) + n.item() % 3 - (-n.item()),
        T(2, 3),
        T(dtype=I64),
        name="item_division",
    )
