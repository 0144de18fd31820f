"""Operators against PyTorch: draws inputs, runs the real operator, writes the program torch.export would write, and
has `lightline_conform` run it with the interpreter and with emitted C.

usage: harness.py [--build FOLDER] [--backend interpreter|c] [-k TEXT] [--keep FOLDER] [NAME...]
       (NAME: elementwise for cases_elementwise.py; PYTHONPATH=python:tests/support)

A case file defines `def cases(suite: Suite) -> None` and calls

    suite.case("aten.add.Tensor", T(2, 3), T(3), alpha=2, dtypes=FLOATS + INTEGERS)
    suite.case_module(lambda x: x.relu() + 1, T(2, 3))

LIGHTLINE_SEED chooses the random inputs.
"""

from __future__ import annotations

import importlib
import random
import sys
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from programs import exported, find_operator, in_place_form, one_node
from runner import Case, command_line
from specs import (
    ALL,
    BF16,
    BOOL,
    C64,
    F16,
    F32,
    F64,
    FLOATS,
    I8,
    I16,
    I32,
    I64,
    INTEGERS,
    NUMBERS,
    SHORT_NAMES,
    U8,
    T,
    TensorSpec,
)

__all__ = [
    "ALL",
    "BF16",
    "BOOL",
    "C64",
    "F16",
    "F32",
    "F64",
    "FLOATS",
    "I8",
    "I16",
    "I32",
    "I64",
    "INTEGERS",
    "NUMBERS",
    "U8",
    "Suite",
    "T",
    "TensorSpec",
]

HERE = Path(__file__).resolve().parent


@dataclass
class Suite:
    """Cases of one file. `only` keeps the cases whose id contains it."""

    name: str
    seed: int
    only: str = ""
    found: list[Case] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)  # cases that PyTorch itself does not accept
    refused: list[str] = field(default_factory=list)  # in-place forms, asked for by nobody, that it does not accept
    framework: str = "PyTorch"

    def case(
        self,
        target: str,
        *args: Any,
        dtypes: Sequence[torch.dtype] = (F32,),
        tolerance: tuple[float, float] | dict[torch.dtype, tuple[float, float]] | None = None,
        in_place: bool = True,
        runs: bool = True,
        **kwargs: Any,
    ) -> None:
        """One call of an operator. Where the in-place form exists, the first dtype is tried in place as well: on an
        input, and through a view of one (`in_place=False` leaves this out). `tolerance` is (absolute, relative)."""
        count = self._count(target)
        for position, dtype in enumerate(dtypes):
            own = tolerance.get(dtype) if isinstance(tolerance, dict) else tolerance
            identity = f"{target} {SHORT_NAMES[dtype]} #{count}"
            variants: list[tuple[str, str, bool]] = [(target, identity, False)]
            mutated = in_place_form(target) if in_place and position == 0 else None
            if mutated:
                variants += [(mutated, identity + " _", False), (mutated, identity + " view_", True)]
            for name, variant, through_view in variants:
                if self.only and self.only not in variant:
                    continue
                self._seed(variant)
                try:
                    found = one_node(find_operator(name), args, kwargs, dtype, through_view, expect_same=name != target)
                except Exception as error:
                    self.broken.append(f"{variant}: {_first_line(error)}")
                    continue
                if found is None:
                    self.refused.append(variant)
                else:
                    self.found.append(Case(variant, target, SHORT_NAMES[dtype], *found, tolerance=own, runs=runs))

    def case_module(
        self,
        function: Callable[..., Any] | torch.nn.Module,
        *inputs: Any,
        dtypes: Sequence[torch.dtype] = (F32,),
        tolerance: tuple[float, float] | None = None,
        name: str = "",
        forms: Sequence[str] = ("training", "core"),
        runs: bool = True,
    ) -> None:
        """A small program, exported by torch.export as traced and after run_decompositions()."""
        name = name or getattr(function, "__name__", type(function).__name__)
        count = self._count(f"module {name}")
        for dtype in dtypes:
            for form in forms:
                identity = f"module {name} {SHORT_NAMES[dtype]} {form} #{count}"
                if self.only and self.only not in identity:
                    continue
                self._seed(identity)
                try:
                    found = exported(function, inputs, dtype, form)
                except Exception as error:
                    self.broken.append(f"{identity}: {_first_line(error)}")
                    continue
                name_and_type = f"module {name}", SHORT_NAMES[dtype]
                self.found.append(Case(identity, *name_and_type, *found, tolerance=tolerance, runs=runs))

    def _count(self, operator_name: str) -> int:
        self.counts[operator_name] = self.counts.get(operator_name, -1) + 1
        return self.counts[operator_name]

    def _seed(self, identity: str) -> None:
        seed = zlib.crc32(f"{self.seed} {identity}".encode())
        torch.manual_seed(seed)
        random.seed(seed)


def _first_line(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]} ({Path(place.filename).name}:{place.lineno})"


# ---- running ----


def collect(name: str, seed: int, only: str = "") -> Suite:
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    suite = Suite(name, seed, only)
    importlib.import_module(f"cases_{name}").cases(suite)
    return suite


def case_files() -> list[str]:
    return sorted(path.stem.removeprefix("cases_") for path in HERE.glob("cases_*.py"))


def main() -> int:
    return command_line(__doc__, case_files(), collect)


if __name__ == "__main__":
    import harness  # the module that case files see, not this __main__

    sys.exit(harness.main())
