"""What the inputs of a conformance case look like, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
I64, I32, I16, I8, U8, BOOL, C64 = (
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
)
FLOATS = (F32, BF16, F16, F64)
INTEGERS = (I64, I32)
NUMBERS = FLOATS + INTEGERS
ALL = (*NUMBERS, BOOL)

SHORT_NAMES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "f8e4m3",
    torch.float8_e5m2: "f8e5m2",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
    torch.complex64: "c64",
}
SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5)


@dataclass
class TensorSpec:
    """An input to draw. Without `dtype` it takes the dtype that the case enumerates."""

    shape: tuple[int, ...]
    dtype: torch.dtype | None = None
    kind: str = ""  # normal, uniform, int, bool, indices, distinct; by dtype if empty
    low: float | None = None
    high: float | None = None
    limit: int = 0  # indices: 0 <= value < limit
    special: bool = False  # the first elements are NaN, infinities, signed zeros, halves
    values: Sequence[float] | None = None  # exactly these, row-major
    make: Callable[[torch.dtype], torch.Tensor] | None = None

    def draw(self, default: torch.dtype) -> torch.Tensor:
        dtype = self.dtype or default
        if self.make is not None:
            return self.make(dtype)
        if self.values is not None:
            return (
                torch.tensor(self.values, dtype=F64 if dtype.is_floating_point else dtype).reshape(self.shape).to(dtype)
            )
        tensor = self._draw(dtype).to(dtype)
        if self.special and dtype.is_floating_point:
            flat = tensor.reshape(-1)
            count = min(flat.numel(), len(SPECIAL))
            flat[:count] = torch.tensor(SPECIAL[:count], dtype=dtype)
            tensor = flat.reshape(self.shape)
        return tensor

    def _draw(self, dtype: torch.dtype) -> torch.Tensor:
        kind = self.kind or ("bool" if dtype == BOOL else "normal" if not is_integer(dtype) else "int")
        if kind == "bool":
            return torch.rand(self.shape) < 0.5
        if kind == "indices":
            return torch.randint(0, self.limit, self.shape)
        if kind == "distinct":
            count = _product(self.shape)
            return (torch.randperm(count) - count // 2).reshape(self.shape)
        if kind == "int":
            low = (0 if dtype == U8 else -10) if self.low is None else int(self.low)
            return torch.randint(low, (11 if self.high is None else int(self.high)), self.shape)
        if kind == "uniform" or self.low is not None or self.high is not None:
            low, high = -1.0 if self.low is None else self.low, 1.0 if self.high is None else self.high
            return torch.rand(self.shape, dtype=F64) * (high - low) + low
        if dtype.is_complex:
            return torch.randn(self.shape, dtype=dtype)
        return torch.randn(self.shape, dtype=F64)


def T(*shape: int, **options: Any) -> TensorSpec:  # noqa: N802
    return TensorSpec(tuple(shape), **options)


def is_integer(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex and dtype != BOOL


def _product(shape: Iterable[int]) -> int:
    result = 1
    for extent in shape:
        result *= extent
    return result


def draw(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, TensorSpec):
        return value.draw(dtype)
    if isinstance(value, list | tuple):
        return type(value)(draw(item, dtype) for item in value)
    return value
