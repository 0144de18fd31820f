"""Pools, their positions and their gradients."""

from __future__ import annotations

from math import inf

import torch
from harness import BF16, F32, F64, FLOATS, I32, I64, Suite, T


def cases(suite: Suite) -> None:
    maximum(suite)
    average(suite)
    adaptive(suite)
    unpooling(suite)
    backward(suite)


def maximum(suite: Suite) -> None:
    for name in ("max_pool1d", "max_pool1d_with_indices"):
        suite.case(f"aten.{name}", T(2, 3, 9), [3], dtypes=(F32, F64))
        suite.case(f"aten.{name}", T(3, 10), [3], [2], [1], [2], True)
    for name in ("max_pool2d", "max_pool2d_with_indices"):
        suite.case(f"aten.{name}", T(2, 3, 8, 7), [3, 2], dtypes=(*FLOATS, I64, I32))
        suite.case(f"aten.{name}", T(2, 3, 8, 7), [3, 3], [2, 2], [1, 1], dtypes=FLOATS)
        suite.case(f"aten.{name}", T(2, 3, 8, 7, low=-9, high=9, kind="int"), [3, 3], [2, 2], [1, 1], dtypes=(I32,))
        suite.case(f"aten.{name}", T(3, 8, 7), [2, 2], [1, 1])
        suite.case(f"aten.{name}", T(2, 3, 9, 10), [3, 3], [2, 3], [1, 0], [2, 1], True)
        suite.case(f"aten.{name}", T(1, 2, 7, 7), [2, 2], [2, 2], [1, 1], [1, 1], True)
        suite.case(f"aten.{name}", T(1, 1, 4, 4, values=[-inf] * 16), [3, 3], [1, 1], [1, 1])
        suite.case(f"aten.{name}", T(1, 1, 3, 3, values=[1, torch.nan, 3, 2, 5, 4, 7, 6, 0]), [2, 2], [1, 1])
        suite.case(f"aten.{name}", T(1, 1, 9, 9), [3], [2], [1])
    for name in ("max_pool3d", "max_pool3d_with_indices"):
        suite.case(f"aten.{name}", T(2, 2, 5, 6, 4), [2, 3, 2], dtypes=(F32, BF16))
        suite.case(f"aten.{name}", T(2, 5, 6, 7), [2, 2, 2], [2, 2, 2], [1, 1, 1], [1, 2, 1], True)


def average(suite: Suite) -> None:
    suite.case("aten.avg_pool1d", T(2, 3, 9), [3], dtypes=FLOATS)
    suite.case("aten.avg_pool1d", T(3, 9), [3], [2], [1], True, False)
    suite.case("aten.avg_pool2d", T(2, 3, 8, 7), [3, 2], dtypes=FLOATS)
    suite.case("aten.avg_pool2d", T(2, 3, 8, 7), [2, 2], dtypes=(I64,))
    suite.case("aten.avg_pool2d", T(3, 8, 7), [3, 3], [1, 2])
    for ceil_mode in (False, True):
        for include in (False, True):
            suite.case("aten.avg_pool2d", T(2, 2, 8, 7), [3, 3], [2, 2], [1, 1], ceil_mode, include)
            suite.case("aten.avg_pool2d", T(2, 2, 8, 7), [3, 4], [2, 3], [0, 2], ceil_mode, include)
            suite.case("aten.avg_pool3d", T(2, 5, 6, 7), [2, 3, 2], [2, 2, 2], [1, 1, 0], ceil_mode, include)
    suite.case("aten.avg_pool2d", T(2, 2, 8, 7), [3, 3], [2, 2], [1, 1], True, True, 5)
    suite.case("aten.avg_pool3d", T(2, 2, 5, 6, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, 3, dtypes=(F32, F64))


def adaptive(suite: Suite) -> None:
    for size in ([1, 1], [4, 3], [3, 5], [8, 6], [5, 9]):
        suite.case("aten.adaptive_avg_pool2d", T(2, 3, 8, 6), size, dtypes=FLOATS if size == [3, 5] else (F32,))
        suite.case("aten._adaptive_avg_pool2d", T(3, 8, 6), size)
        suite.case("aten.adaptive_max_pool2d", T(2, 3, 8, 6), size, dtypes=FLOATS if size == [3, 5] else (F32,))
    suite.case("aten.adaptive_avg_pool1d", T(2, 3, 10), [4], dtypes=FLOATS)
    suite.case("aten.adaptive_avg_pool1d", T(3, 10), [7])
    suite.case("aten.adaptive_max_pool1d", T(2, 3, 10), [4], dtypes=(F32, F64))
    for name in ("adaptive_avg_pool3d", "_adaptive_avg_pool3d", "adaptive_max_pool3d"):
        suite.case(f"aten.{name}", T(2, 2, 5, 6, 4), [3, 4, 2], dtypes=(F32, F64))
        suite.case(f"aten.{name}", T(2, 2, 5, 6, 4), [1, 1, 1])
    suite.case("aten.adaptive_max_pool2d", T(1, 1, 3, 3, values=[-inf] * 9), [2, 2])
    suite.case_module(torch.nn.AdaptiveAvgPool2d((None, 3)), T(1, 2, 4, 7), name="AdaptiveAvgPool2d")
    suite.case_module(torch.nn.LPPool2d(2, 3, stride=2), T(1, 2, 8, 7), name="LPPool2d")
    suite.case_module(torch.nn.LPPool1d(3.0, 2), T(1, 2, 8, low=0.1, high=1), name="LPPool1d")


def positions(*shape: int, limit: int) -> T:
    """Distinct positions in every plane of the last two or three dimensions."""
    count = torch.Size(shape[2:]).numel()

    def make(_: torch.dtype) -> torch.Tensor:
        planes = [torch.randperm(limit)[:count] for _ in range(shape[0] * shape[1])]
        return torch.stack(planes).reshape(shape)

    return T(*shape, make=make)


def unpooling(suite: Suite) -> None:
    suite.case("aten.max_unpool2d", T(2, 3, 2, 3), positions(2, 3, 2, 3, limit=30), [5, 6], dtypes=(F32, F64))
    suite.case(
        "aten.max_unpool3d", T(2, 3, 2, 2, 2), positions(2, 3, 2, 2, 2, limit=64), [4, 4, 4], [2, 2, 2], [0, 0, 0]
    )
    suite.case_module(
        lambda x: torch.nn.functional.max_unpool2d(*torch.nn.functional.max_pool2d(x, 2, return_indices=True), 2),
        T(1, 2, 4, 6),
        name="unpool",
    )
    suite.case("aten.fractional_max_pool2d", T(2, 3, 8, 8), [2, 2], [4, 4], T(2, 3, 2, low=0, high=1), runs=False)
    suite.case(
        "aten.fractional_max_pool3d", T(2, 3, 8, 8, 8), [2, 2, 2], [4, 4, 4], T(2, 3, 3, low=0, high=1), runs=False
    )


def backward(suite: Suite) -> None:
    window = ([3, 3], [2, 2], [1, 1])
    suite.case(
        "aten.max_pool2d_with_indices_backward",
        *(T(2, 3, 4, 4), T(2, 3, 8, 7), *window, [1, 1], False, T(2, 3, 4, 4, dtype=I64, kind="indices", limit=56)),
        dtypes=FLOATS,
    )
    suite.case(
        "aten.max_pool3d_with_indices_backward",
        *(T(2, 2, 2, 3, 2), T(2, 2, 4, 6, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False),
        T(2, 2, 2, 3, 2, dtype=I64, kind="indices", limit=96),
        dtypes=(F32, F64),
    )
    for ceil_mode in (False, True):
        for include in (False, True):
            shape = (2, 3, 5, 4) if ceil_mode else (2, 3, 4, 4)
            suite.case("aten.avg_pool2d_backward", T(*shape), T(2, 3, 8, 7), *window, ceil_mode, include, None)
    suite.case(
        "aten.avg_pool2d_backward", T(2, 3, 4, 4), T(2, 3, 8, 7), *window, False, True, 7, dtypes=(F32, F64, BF16)
    )
    suite.case(
        "aten.avg_pool3d_backward",
        *(T(2, 2, 2, 3, 2), T(2, 2, 4, 6, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None),
    )
    for size in ((1, 1), (4, 3), (3, 5), (5, 9)):
        suite.case("aten._adaptive_avg_pool2d_backward", T(2, 3, *size), T(2, 3, 8, 6), dtypes=(F32, F64))
    suite.case("aten._adaptive_avg_pool3d_backward", T(2, 3, 3, 2, 4), T(2, 3, 5, 6, 4))
    suite.case(
        "aten.adaptive_max_pool2d_backward",
        T(2, 3, 4, 3),
        T(2, 3, 8, 6),
        T(2, 3, 4, 3, dtype=I64, kind="indices", limit=48),
    )
    suite.case(
        "aten.adaptive_max_pool3d_backward",
        *(T(2, 3, 2, 2, 2), T(2, 3, 4, 4, 4), T(2, 3, 2, 2, 2, dtype=I64, kind="indices", limit=64)),
    )
