"""Quantisation as arithmetic."""

from __future__ import annotations

import torch
import torch.ao.quantization.fx._decomposed  # defines the operators
from harness import BF16, F16, F32, F64, I8, I32, I64, U8, Suite, T


def cases(suite: Suite) -> None:
    per_tensor(suite)
    per_channel(suite)
    per_token(suite)
    chosen(suite)
    fake(suite)


LEVELS = ((-128, 127, I8), (0, 255, U8), (-7, 7, I8))


def per_tensor(suite: Suite) -> None:
    name = "quantized_decomposed.quantize_per_tensor"
    for low, high, dtype in LEVELS:
        suite.case(name, T(5, 7), 0.03, 3, low, high, dtype, dtypes=(F32, BF16, F16))
        tensors = T(1, dtype=F32, values=[0.07]), T(1, dtype=I64, values=[-2])
        suite.case(f"{name}.tensor", T(5, 7), *tensors, low, high, dtype)
        back = "quantized_decomposed.dequantize_per_tensor"
        values = T(5, 7, dtype=dtype, low=0 if dtype == U8 else -100, high=100)
        suite.case(back, values, 0.03, 3, low, high, dtype)
        suite.case(f"{back}.tensor", values, *tensors, low, high, dtype)


def per_channel(suite: Suite) -> None:
    for axis, channels in ((0, 5), (1, 7), (-1, 3)):
        scales, zeros = T(channels, dtype=F32, low=0.01, high=0.1), T(channels, dtype=I64)
        if axis >= 0:
            suite.case("quantized_decomposed.quantize_per_channel", T(5, 7, 3), scales, zeros, axis, -128, 127, I8)
        values = T(5, 7, 3, dtype=I8, low=-100, high=100)
        if axis >= 0:
            suite.case("quantized_decomposed.dequantize_per_channel", values, scales, zeros, axis, -128, 127, I8)
            suite.case("quantized_decomposed.dequantize_per_channel", values, scales, None, axis, -128, 127, I8)
    scales, zeros = T(4, 2, dtype=F32, low=0.01, high=0.1), T(4, 2, dtype=I32)
    suite.case("quantized_decomposed.quantize_per_channel_group", T(4, 8), scales, zeros, -8, 7, I8, 4)
    values = T(4, 8, dtype=I8, low=-8, high=7)
    suite.case("quantized_decomposed.dequantize_per_channel_group", values, scales, zeros, -8, 7, I8, 4, F32)
    suite.case("quantized_decomposed.dequantize_per_channel_group", values, scales, None, -8, 7, I8, 4, F32)


def per_token(suite: Suite) -> None:
    for dtype in (F32, F64):
        scales, zeros = T(2, 5, 1, dtype=dtype, low=0.01, high=0.1), T(2, 5, 1, dtype=I64)
        suite.case("quantized_decomposed.quantize_per_token", T(2, 5, 7), scales, zeros, -128, 127, I8)
        values = T(2, 5, 7, dtype=I8, low=-100, high=100)
        suite.case("quantized_decomposed.dequantize_per_token", values, scales, zeros, -128, 127, I8, F32)


def chosen(suite: Suite) -> None:
    for low, high, dtype in LEVELS:
        for name in ("choose_qparams", "choose_qparams_symmetric"):
            suite.case(f"quantized_decomposed.{name}.tensor", T(5, 7), low, high, 1e-6, dtype, dtypes=(F32,))
    suite.case("quantized_decomposed.choose_qparams.tensor", T(5, low=1, high=2), -128, 127, 1e-6, I8)
    suite.case("quantized_decomposed.choose_qparams_per_token", T(2, 5, 7), I8, dtypes=(F32, BF16, F16))
    suite.case("quantized_decomposed.choose_qparams_per_token_asymmetric", T(2, 5, 7), I8)


def fake(suite: Suite) -> None:
    for name in ("fake_quantize_per_tensor_affine", "fake_quantize_per_tensor_affine_cachemask"):
        suite.case(f"aten.{name}", T(5, 7), 0.05, 3, -20, 20, dtypes=(F32, F64))
        suite.case(f"aten.{name}", T(5, 7), 0.01, 0, 0, 255)
    suite.case(
        "aten.fake_quantize_per_tensor_affine.tensor_qparams",
        T(5, 7),
        T(1, dtype=F32, values=[0.04]),
        T(1, dtype=I32, values=[2]),
        -20,
        20,
    )
    for name in ("fake_quantize_per_channel_affine", "fake_quantize_per_channel_affine_cachemask"):
        for axis, channels in ((0, 5), (1, 7)):
            scales = T(channels, dtype=F32, low=0.01, high=0.1)
            suite.case(f"aten.{name}", T(5, 7, 2), scales, T(channels, dtype=I32), axis, -30, 30)
            suite.case(f"aten.{name}", T(5, 7, 2), scales, T(channels, dtype=F32), axis, -30, 30)
    mask = T(5, 7, dtype=torch.bool)
    suite.case("aten.fake_quantize_per_tensor_affine_cachemask_backward", T(5, 7), mask, dtypes=(F32, F64))
    suite.case("aten.fake_quantize_per_channel_affine_cachemask_backward", T(5, 7), mask)
