"""Softmax and its kin."""

from __future__ import annotations

from math import inf

import torch
from harness import BF16, BOOL, F16, F32, F64, FLOATS, I64, Suite, T


def cases(suite: Suite) -> None:
    for name in ("softmax.int", "log_softmax.int", "_safe_softmax"):
        suite.case(f"aten.{name}", T(3, 5), 1, dtypes=FLOATS)
        suite.case(f"aten.{name}", T(3, 5, 2), -2)
        suite.case(f"aten.{name}", T(3, 5, 2), 0)
        suite.case(f"aten.{name}", T(), 0)
        suite.case(f"aten.{name}", T(3, 5), -1, F32, dtypes=(BF16, F16, I64))
        suite.case(f"aten.{name}", T(3, 5), -1, F64)
        suite.case(f"aten.{name}", T(2, 3, values=[-inf, -inf, -inf, 1, -inf, 2]), -1)
    for name in ("_softmax", "_log_softmax"):
        suite.case(f"aten.{name}", T(3, 5, 2), 1, False, dtypes=FLOATS)
        suite.case(f"aten.{name}", T(2, 3, values=[1000, 999, -1000, inf, 1, 2]), 1, False)
        suite.case(f"aten.{name}_backward_data", T(3, 5, 2), T(3, 5, 2, low=-1, high=0), 1, F32, dtypes=(F32,))
        for dtype in (BF16, F16, F64):
            suite.case(f"aten.{name}_backward_data", T(3, 5), T(3, 5, low=-1, high=0), -1, dtype, dtypes=(dtype,))
        suite.case(f"aten.{name}_backward_data", T(), T(), 0, F32)
    suite.case("aten._masked_softmax", T(2, 4), T(2, 4, dtype=BOOL, values=[0, 1, 0, 0, 1, 0, 0, 1]), 1, 2)
    suite.case_module(lambda x: torch.nn.functional.softmin(x, dim=0), T(3, 4), name="softmin")
