"""Pointwise operators."""

from __future__ import annotations

from harness import ALL, FLOATS, NUMBERS, Suite, T


def cases(suite: Suite) -> None:
    for name in ("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf"):
        suite.case(f"aten.{name}", T(3, 5, special=True), dtypes=ALL)
    suite.case("aten.relu", T(3, 5, special=True), dtypes=NUMBERS)
    suite.case("aten.add.Tensor", T(3, 5), T(5), dtypes=ALL)
    suite.case("aten.add.Tensor", T(3, 5), T(5), alpha=2, dtypes=NUMBERS)
    suite.case("aten.add.Scalar", T(3, 5), 1.5, dtypes=FLOATS)
    suite.case_module(lambda x, y: (x + y).sin(), T(3, 5), T(5), name="add_sin")
