"""Operators against PyTorch: draws inputs, runs the real operator, writes the program torch.export would write, and
has `lightline_conform` run it with the interpreter and with emitted C.

usage: harness.py [--build FOLDER] [--backend interpreter|normal|c] [-k TEXT] [--keep FOLDER] [NAME...]
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import runner
import torch
from programs import exported, find_operator, in_place_form, one_node
from runner import Case, Cases, Tolerance, tolerance_for
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
class Suite(Cases):
    """Cases of one file; those that are refused are in-place forms."""

    framework: ClassVar[str] = "PyTorch"

    def case(
        self,
        target: str,
        *args: Any,
        dtypes: Sequence[torch.dtype] = (F32,),
        tolerance: Tolerance | dict[torch.dtype, Tolerance] | None = None,
        in_place: bool = True,
        runs: bool = True,
        **kwargs: Any,
    ) -> None:
        """One call of an operator. Where the in-place form exists, the first dtype is tried in place as well: on an
        input, and through a view of one (`in_place=False` leaves this out). `tolerance` is (absolute, relative)."""
        count = self.count(target)
        for position, dtype in enumerate(dtypes):
            own = tolerance_for(dtype, tolerance)
            identity = f"{target} {SHORT_NAMES[dtype]} #{count}"
            variants: list[tuple[str, str, bool]] = [(target, identity, False)]
            mutated = in_place_form(target) if in_place and position == 0 else None
            if mutated:
                variants += [(mutated, identity + " _", False), (mutated, identity + " view_", True)]
            for name, variant, through_view in variants:
                if not self.wants(variant):
                    continue
                self._seed(variant)
                try:
                    found = one_node(find_operator(name), args, kwargs, dtype, through_view, expect_same=name != target)
                except Exception as error:
                    self.is_broken(variant, error)
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
        tolerance: Tolerance | None = None,
        name: str = "",
        forms: Sequence[str] = ("training", "core"),
        runs: bool = True,
    ) -> None:
        """A small program, exported by torch.export as traced and after run_decompositions()."""
        name = name or getattr(function, "__name__", type(function).__name__)
        count = self.count(f"module {name}")
        for dtype in dtypes:
            for form in forms:
                identity = f"module {name} {SHORT_NAMES[dtype]} {form} #{count}"
                if not self.wants(identity):
                    continue
                self._seed(identity)
                try:
                    found = exported(function, inputs, dtype, form)
                except Exception as error:
                    self.is_broken(identity, error)
                    continue
                name_and_type = f"module {name}", SHORT_NAMES[dtype]
                self.found.append(Case(identity, *name_and_type, *found, tolerance=tolerance, runs=runs))

    def _seed(self, identity: str) -> None:
        torch.manual_seed(self.seed_of(identity))
        random.seed(self.seed_of(identity))


# ---- running ----


def collect(name: str, seed: int, only: str = "") -> Suite:
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    suite = Suite(name, seed, only)
    importlib.import_module(f"cases_{name}").cases(suite)
    return suite


def case_files() -> list[str]:
    return runner.case_files(HERE, "cases_")


def main() -> int:
    return runner.command_line(__doc__, case_files(), collect)


if __name__ == "__main__":
    import harness  # the module that case files see, not this __main__

    sys.exit(harness.main())
