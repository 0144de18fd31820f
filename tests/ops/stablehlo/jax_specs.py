"""What the inputs of a call look like, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

F32, F64, F16, BF16 = np.dtype("float32"), np.dtype("float64"), np.dtype("float16"), jnp.dtype("bfloat16")
I64, I32, I16, I8 = (np.dtype(f"int{bits}") for bits in (64, 32, 16, 8))
U8, U16, U32 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32))
BOOL, C64 = np.dtype("bool"), np.dtype("complex64")
FLOATS = (F32, BF16, F16, F64)
INTEGERS = (I32, I64)
NUMBERS = FLOATS + INTEGERS
ALL = (*NUMBERS, BOOL)

SHORT_NAMES = {
    F64: "f64", F32: "f32", F16: "f16", BF16: "bf16", I64: "i64", I32: "i32", I16: "i16", I8: "i8",
    U8: "u8", U16: "u16", U32: "u32", BOOL: "bool", C64: "c64",
}  # fmt: skip
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5)


@dataclass(frozen=True)
class Spec:
    """An input to draw. Without `dtype` it takes the dtype that the case enumerates."""

    shape: tuple[int, ...]
    dtype: Any = None
    low: float | None = None  # uniform in [low, high) instead of normal; integers in [low, high)
    high: float | None = None
    distinct: bool = False
    special: bool = False  # the first elements are NaN, infinities, signed zeros, halves
    values: Sequence[float] | None = None  # exactly these, row-major
    symmetric: bool = False  # positive definite in the last two dimensions
    full_range: bool = False  # integers over all their values

    def draw(self, default: Any, generator: np.random.Generator) -> np.ndarray:
        dtype = np.dtype(self.dtype or default)
        if self.values is not None:
            return np.array(self.values).reshape(self.shape).astype(dtype)
        if self.symmetric:
            square = generator.normal(size=self.shape)
            return (square @ np.swapaxes(square, -1, -2) + 2 * np.eye(self.shape[-1])).astype(dtype)
        if self.distinct:
            count = int(np.prod(self.shape))
            low = 0 if dtype.kind == "u" else -(count // 2)
            return (generator.permutation(count) + low).reshape(self.shape).astype(dtype)
        return self._draw(dtype, generator)

    def _draw(self, dtype: np.dtype, generator: np.random.Generator) -> np.ndarray:
        if dtype == BOOL:
            return generator.random(self.shape) < 0.5
        if dtype.kind in "iu":
            if self.full_range:
                limits = np.iinfo(dtype)
                return generator.integers(limits.min, limits.max, self.shape, dtype=dtype, endpoint=True)
            low = self.low if self.low is not None else (0 if dtype.kind == "u" else -10)
            return generator.integers(int(low), 11 if self.high is None else int(self.high), self.shape).astype(dtype)
        if self.low is not None or self.high is not None:
            low, high = -1.0 if self.low is None else self.low, 1.0 if self.high is None else self.high
            values = generator.uniform(low, high, self.shape)
        else:
            values = generator.normal(size=self.shape)
        if dtype.kind == "c":
            return (values + 1j * generator.normal(size=self.shape)).astype(dtype)
        values = np.asarray(values).astype(dtype)
        if self.special:
            flat = values.reshape(-1)
            count = min(flat.size, len(SPECIAL))
            flat[:count] = np.array(SPECIAL[:count]).astype(dtype)
            values = flat.reshape(self.shape)
        return values


def X(*shape: int, **options: Any) -> Spec:  # noqa: N802
    return Spec(tuple(shape), **options)


def draw(given: Any, dtype: Any, generator: np.random.Generator) -> Any:
    """The arguments with every Spec in them drawn."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf.draw(dtype, generator)) if isinstance(leaf, Spec) else leaf, given
    )
