"""What a case is: a program as its user writes it, and the work of the best implementation that we know.

`least` is the work of an implementation that exists: the fused tier may not exceed it. `at_least` is what every
implementation of the fused tier's class must do, given only where that is provable: fused may not fall below it.
`floor` and `floor_at_least` say the same of the floor. A quantity that is not named is not claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

BYTES = {
    "bool": 1,
    "u8": 1,
    "i8": 1,
    "f8e4m3": 1,
    "i32": 4,
    "i64": 8,
    "bf16": 2,
    "f16": 2,
    "f32": 4,
    "f64": 8,
    "c64": 8,
}


@dataclass(frozen=True)
class Shape:
    """An input without values."""

    dtype: str
    extents: tuple[int, ...]

    @property
    def bytes(self) -> int:
        count = BYTES[self.dtype]
        for extent in self.extents:
            count *= extent
        return count


def of_type(dtype: str) -> Callable[..., Shape]:
    return lambda *extents: Shape(dtype, extents)


f64, f32, f16, bf16, f8 = map(of_type, ("f64", "f32", "f16", "bf16", "f8e4m3"))
i64, i32, i8, u8, boolean, c64 = map(of_type, ("i64", "i32", "i8", "u8", "bool", "c64"))


def moved(*shapes: Shape) -> int:
    """The bytes of arrays that move once each."""
    return sum(shape.bytes for shape in shapes)


@dataclass(frozen=True)
class Known:
    """An integer input whose values the program file carries."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class Work:
    """Products by dtype; issue slots of 32-bit lanes; transcendental results; bytes of device memory."""

    products: dict[str, float] | None = None
    slots: float | None = None
    special: float | None = None
    bytes: float | None = None


@dataclass(frozen=True)
class Torch:
    """A function, or with `build` what makes a module; with `real`, the module's tensors have values."""

    target: Callable[..., Any]
    inputs: tuple[Any, ...]
    build: bool = False
    real: bool = False
    training: bool = False


@dataclass(frozen=True)
class Jax:
    """A function of arrays; `donate` names the arguments that it may overwrite."""

    target: Callable[..., Any]
    inputs: tuple[Any, ...]
    donate: tuple[int, ...] = ()


@dataclass(frozen=True)
class Loops:
    """Loop text."""

    text: str


@dataclass(frozen=True)
class Case:
    name: str
    program: Torch | Jax | Loops
    least: Work
    at_least: Work = field(default_factory=Work)
    floor: Work = field(default_factory=Work)
    floor_at_least: Work = field(default_factory=Work)
    floor_ms: float | None = None  # where the floor's time takes several units at once
    options: tuple[str, ...] = ()
    arch: str = "H200"
    tolerance: float = 1e-6

    @property
    def forms(self) -> tuple[str, ...]:
        if isinstance(self.program, Loops):
            return ("loops",)
        if isinstance(self.program, Jax):
            return ("stablehlo",)
        return ("traced",) if self.program.training else ("traced", "decomposed")


def exactly(name: str, program: Torch | Jax | Loops, work: Work, **others: Any) -> Case:
    """A case whose least work is also provably needed: products and bytes both ways, the rest from above only."""
    return Case(name, program, work, Work(products=work.products, bytes=work.bytes), **others)


def expected_rows(rows: int, picks: float) -> float:
    """How many of `rows` rows random picks touch."""
    return rows * (1 - (1 - 1 / rows) ** picks)
