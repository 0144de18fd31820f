"""Creation, random numbers, conversion and copies."""

from __future__ import annotations

import torch
from harness import ALL, BF16, BOOL, C64, F16, F32, F64, FLOATS, I8, I16, I32, I64, NUMBERS, U8, Suite, T

EVERY = (F32, F64, F16, BF16, I64, I32, I16, I8, U8, BOOL)


def cases(suite: Suite) -> None:
    filled(suite)
    sequences(suite)
    random_numbers(suite)
    conversions(suite)


def filled(suite: Suite) -> None:
    for name in ("zeros", "ones"):
        suite.case(f"aten.{name}", [2, 3])
        for dtype in EVERY:
            suite.case(f"aten.{name}", [2, 3], dtype=dtype)
        suite.case(f"aten.{name}_like", T(2, 3), dtypes=ALL)
        suite.case(f"aten.{name}_like", T(2, 3), dtype=I64, dtypes=(F32,))
        suite.case(f"aten.new_{name}", T(2, 3), [4], dtypes=ALL)
    for value in (3, 2.5, True):
        suite.case("aten.full", [2, 3], value)
        suite.case("aten.full_like", T(2, 3), value, dtypes=NUMBERS)
        suite.case("aten.new_full", T(2, 3), [2], value, dtypes=NUMBERS)
    suite.case("aten.full", [], -float("inf"))
    suite.case("aten.full", [2, 0], 1, dtype=BF16)
    suite.case("aten.fill.Scalar", T(2, 3), 2, dtypes=ALL)
    suite.case("aten.fill.Tensor", T(2, 3), T(), dtypes=ALL)
    suite.case("aten.zero_", T(2, 3), dtypes=ALL)
    suite.case("aten.scalar_tensor", 2.5)
    suite.case("aten.scalar_tensor", 2, dtype=I64)
    for name in ("empty.memory_format", "empty_permuted"):
        suite.case(f"aten.{name}", [2, 3], *([[0, 1]] if name == "empty_permuted" else []), runs=False)
    suite.case("aten.empty_like", T(2, 3), runs=False)
    suite.case("aten.new_empty", T(2, 3), [4], runs=False)
    suite.case("aten.empty_strided", [2, 3], [3, 1], runs=False)
    suite.case("aten.new_empty_strided", T(2, 3), [4], [1], runs=False)


def sequences(suite: Suite) -> None:
    for dtype in (None, F32, F64, BF16, I64, I32):
        suite.case("aten.arange", 7, dtype=dtype)
        suite.case("aten.arange.start", 2, 9, dtype=dtype)
        suite.case("aten.arange.start_step", 9, 2, -2, dtype=dtype)
    suite.case("aten.arange.start_step", 0.5, 3, 0.25)
    suite.case("aten.arange", 2.5)
    suite.case("aten.arange", 0)
    suite.case("aten.arange.start_step", 0, 10, 3)
    for dtype in (None, F64, BF16, F16):
        suite.case("aten.linspace", -1, 2.5, 8, dtype=dtype)
    for dtype in (I64, I32):
        suite.case("aten.linspace", -3, 11, 6, dtype=dtype)
    suite.case("aten.linspace", 2, 5, 1)
    suite.case("aten.linspace.Tensor_Tensor", T(), T(), 7)
    suite.case("aten.logspace", -1, 2, 7)
    suite.case("aten.logspace", 0, 5, 6, 2.0, dtype=F64)
    suite.case("aten.eye", 4)
    suite.case("aten.eye.m", 3, 5, dtype=I64)
    suite.case("aten.eye.m", 5, 3, dtype=BOOL)
    for name in ("tril_indices", "triu_indices"):
        for row, col, offset in (
            (4, 4, 0),
            (3, 5, 1),
            (5, 3, -1),
            (4, 6, 3),
            (6, 4, -4),
            (3, 3, 7),
            (3, 3, -7),
            (1, 1, 0),
        ):
            suite.case(f"aten.{name}", row, col, offset)
        suite.case(f"aten.{name}", 100, 70, -20)
    for name in ("hann", "hamming", "blackman", "bartlett"):
        suite.case(f"aten.{name}_window", 9)
        suite.case(f"aten.{name}_window.periodic", 8, False, dtype=F64)
        suite.case(f"aten.{name}_window", 1)
    suite.case("aten.hamming_window.periodic_alpha_beta", 7, True, 0.6, 0.3)
    suite.case("aten.one_hot", T(2, 3, dtype=I64, kind="indices", limit=5), 5)
    suite.case("aten.one_hot", T(4, dtype=I64, values=[0, 2, 1, 2]))


def random_numbers(suite: Suite) -> None:
    suite.case("aten.rand", [2, 3], runs=False)
    suite.case("aten.randn", [2, 3], dtype=BF16, runs=False)
    suite.case("aten.rand_like", T(2, 3), dtypes=FLOATS, runs=False)
    suite.case("aten.randn_like", T(2, 3), dtypes=FLOATS, runs=False)
    suite.case("aten.randint", 9, [2, 3], runs=False)
    suite.case("aten.randint.low", 2, 9, [2, 3], dtype=I32, runs=False)
    suite.case("aten.randint_like", T(2, 3), 5, runs=False)
    suite.case("aten.randperm", 5, runs=False)
    suite.case("aten.bernoulli", T(2, 3, low=0, high=1), runs=False)
    suite.case("aten.bernoulli.p", T(2, 3), 0.3, runs=False)
    suite.case("aten.multinomial", T(2, 6, low=0.1, high=1), 3, runs=False)
    suite.case("aten.normal.Tensor_float", T(2, 3), 2.0, runs=False)
    suite.case("aten.normal.float_float", 0.0, 1.0, [2, 3], runs=False)
    suite.case("aten.uniform_", T(2, 3), -1, 1, runs=False)
    suite.case("aten.normal_", T(2, 3), 1, 2, runs=False)
    suite.case("aten.exponential_", T(2, 3), runs=False)
    suite.case("aten.cauchy_", T(2, 3), runs=False)
    suite.case("aten.log_normal_", T(2, 3), runs=False)
    suite.case("aten.geometric_", T(2, 3), 0.25, runs=False)
    suite.case("aten.dropout", T(2, 3), 0.5, True, runs=False)
    suite.case("aten.native_dropout", T(2, 3), 0.5, True, runs=False)
    suite.case("aten.feature_dropout", T(2, 3, 4), 0.5, True, runs=False)
    suite.case("aten.alpha_dropout", T(2, 3), 0.5, True, runs=False)
    suite.case("aten.dropout", T(2, 3), 0.5, False, dtypes=FLOATS)
    suite.case("aten.feature_dropout", T(2, 3, 4), 0.5, False)
    suite.case("aten.alpha_dropout", T(2, 3), 0.5, False)
    suite.case("aten.native_dropout", T(2, 3), 0.5, False, dtypes=(F32, BF16))
    suite.case("aten.native_dropout_backward", T(2, 3), T(2, 3, dtype=BOOL), 2.0, dtypes=FLOATS)
    # what is random must not be wrong in what can be known: bounds, and the scale of what is kept
    suite.case_module(
        lambda x: (torch.rand_like(x) < 1).all() & (torch.rand_like(x) >= 0).all(), T(9), name="rand_range"
    )
    suite.case_module(lambda x: torch.sort(torch.randperm(12))[0] + x, T(12), name="randperm_is_a_permutation")


def conversions(suite: Suite) -> None:
    for target in EVERY:
        low = 0 if target == U8 else -9
        suite.case("aten._to_copy", T(3, 5, low=low, high=9), dtype=target, dtypes=EVERY)
    for target in FLOATS:
        suite.case("aten._to_copy", T(3, 5, special=True), dtype=target, dtypes=FLOATS)
    suite.case("aten._to_copy", T(3, 5, special=True), dtype=BOOL, dtypes=FLOATS)
    for target in (torch.float8_e4m3fn, torch.float8_e5m2):
        suite.case("aten._to_copy", T(3, 5, low=-300, high=300), dtype=target, dtypes=(F32, BF16))
        suite.case("aten._to_copy", T(3, 5, dtype=target), dtype=F32)
    suite.case("aten.to.dtype", T(3, 5), BF16, dtypes=(F32, BF16, I64))
    suite.case("aten.to.dtype", T(3, 5), F32, False, True, dtypes=(F32,))
    suite.case("aten.to.dtype_layout", T(3, 5), dtype=F64, dtypes=(F32,))
    suite.case("aten.to.device", T(3, 5), torch.device("cpu"), F16, dtypes=(F32,))
    suite.case("aten.to.other", T(3, 5), T(2, dtype=I32), dtypes=(F32,))
    suite.case("aten._cast_Float", T(3, 5), dtypes=(I64, F64))
    suite.case("aten._cast_Long", T(3, 5, low=-9, high=9), dtypes=(F32,))
    suite.case("aten.type_as", T(3, 5), T(2, dtype=F64), dtypes=(F32, I64))
    suite.case("aten.clone", T(3, 5), dtypes=(*ALL, C64))
    suite.case("aten.clone", T(2, 3, 4, 5), memory_format=torch.channels_last)
    suite.case("aten.lift_fresh_copy", T(3, 5), dtypes=(F32,))
    suite.case("aten.contiguous", T(3, 5), dtypes=ALL)
    suite.case("aten.detach", T(3, 5))
    suite.case("aten.alias", T(3, 5))
    suite.case("aten.copy", T(3, 5), T(3, 5, dtype=F32), dtypes=(F32, BF16, I64))
    suite.case("aten.copy", T(3, 5), T(5), dtypes=(F32, BF16, I64))
    suite.case("aten.view.dtype", T(3, 4), I32, runs=False)
    suite.case("aten.view.dtype", T(3, 4), I8, runs=False)
    suite.case("aten.view.dtype", T(3, 4), F32)
