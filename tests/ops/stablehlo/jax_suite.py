"""Functions of JAX against JAX: draws inputs, lowers each call to StableHLO, runs it on the CPU, and has
`lightline_conform` run the text with the interpreter and with emitted C.

usage: jax_suite.py [--build FOLDER] [--backend interpreter|normal|c] [-k TEXT] [--keep FOLDER] [NAME...]
       (NAME: elementwise for jax_elementwise.py; PYTHONPATH=python:tests/support:tests/ops/conformance)

A case file defines `def cases(suite: Suite) -> None` and calls

    suite.call("jnp.add", X(2, 3), X(3), dtypes=FLOATS + INTEGERS)
    suite.call("jnp.pad", X(2, 3), ((1, 1), (0, 2)), mode="edge", grad=True)    # also the gradient of the call
    suite.program("norm", lambda x: jnp.sqrt((x * x).sum()), X(8))

Arguments that are not X are static. LIGHTLINE_SEED chooses the random inputs and, where a call has many dtypes, which
of them are tried; LIGHTLINE_LONG tries them all.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import jax.scipy
import numpy as np
import runner
from jax import lax, nn
from jax import random as jrandom
from jax_specs import (
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
    U16,
    U32,
    X,
    draw,
)
from lightline_under_test import LONG
from runner import Case, Cases, Tolerance, tolerance_for

from lightline.jax_capture import Call, compile_in_haste, flatten

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
    "U16",
    "U32",
    "Suite",
    "X",
]

HERE = Path(__file__).resolve().parent
NAMESPACES = {"jnp": jnp, "nn": nn, "lax": lax, "random": jrandom, "jsp": jax.scipy}
CALLS_PER_COMPILATION = 24

OPERATOR_AND_TYPE = r"\b((?:stablehlo|chlo)\.[a-z_0-9]+)\b.*tensor<(?:\d+x)*([a-zA-Z0-9<>]+?)>+\)?(?: \{)?$"
TYPE_NAMES = {"i1": "bool", "ui8": "u8", "f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2", "complex<f32": "c64"}


@dataclass
class Pending:
    """A case that still has no expected outputs."""

    case: Case
    call: Call
    wide: bool


@dataclass
class Suite(Cases):
    """Cases of one file; none are refused, since no form is tried that nobody asked for."""

    framework: ClassVar[str] = "JAX"
    functions: set[str] = field(default_factory=set)  # of JAX's public names
    _pending: list[Pending] = field(default_factory=list)

    def call(
        self,
        target: str,
        *args: Any,
        dtypes: Sequence[Any] = (F32,),
        grad: bool = False,
        tolerance: Tolerance | dict[Any, Tolerance] | None = None,
        runs: bool = True,
        **kwargs: Any,
    ) -> None:
        """A call of a public function, by its dotted name; with `grad`, its gradient in the first dtype as well."""
        try:
            function = find(target)
        except AttributeError as error:
            self.is_broken(target, error)
            return
        self.functions.add(target)
        self._add(target, function, args, kwargs, dtypes, grad, tolerance, runs)

    def program(
        self,
        name: str,
        function: Callable[..., Any],
        *args: Any,
        dtypes: Sequence[Any] = (F32,),
        grad: bool = False,
        tolerance: Tolerance | dict[Any, Tolerance] | None = None,
        runs: bool = True,
    ) -> None:
        """A small program."""
        self._add(f"module {name}", function, args, {}, dtypes, grad, tolerance, runs)

    def _add(
        self,
        target: str,
        function: Callable[..., Any],
        args: tuple,
        kwargs: dict[str, Any],
        dtypes: Sequence[Any],
        grad: bool,
        tolerance: Tolerance | dict[Any, Tolerance] | None,
        runs: bool,
    ) -> None:
        count = self.count(target)
        variants = [(function, dtype, "") for dtype in self._chosen(target, count, dtypes)]
        if grad:
            variants.append((gradient(function), dtypes[0], " grad"))
        for variant, dtype, kind in variants:
            identity = f"{target} {SHORT_NAMES[dtype]} #{count}{kind}"
            if not self.wants(identity):
                continue
            own = tolerance_for(dtype, tolerance)
            generator = np.random.default_rng(self.seed_of(identity))
            wide = dtype in (F64, I64)
            try:
                with wide_types(wide):
                    given = draw((args, kwargs), dtype, generator)
                    call = flatten(variant, *given, trace_numbers=False)
                    text = call.text(target)
            except Exception as error:
                self.is_broken(identity, error)
                continue
            inputs = [np.asarray(array) for array in call.arrays]
            case = Case(identity, target, SHORT_NAMES[dtype], text, inputs, [], {}, own, runs)
            self._pending.append(Pending(case, call, wide))

    def _chosen(self, target: str, count: int, dtypes: Sequence[Any]) -> Sequence[Any]:
        """The first dtype and one more by the seed; all of them in a long run, or if some cases are asked for."""
        if len(dtypes) < 3 or self.only or LONG:
            return dtypes
        return dtypes[0], dtypes[1 + self.seed_of(f"{target} {count}") % (len(dtypes) - 1)]

    def finish(self) -> None:
        """Runs all calls in JAX, many to a compilation."""
        for wide in (False, True):
            group = [pending for pending in self._pending if pending.wide == wide]
            for start in range(0, len(group), CALLS_PER_COMPILATION):
                with wide_types(wide):
                    self._run_in_jax(group[start : start + CALLS_PER_COMPILATION])
        self.found = [pending.case for pending in self._pending]

    def _run_in_jax(self, group: list[Pending]) -> None:
        def together(arguments: list[list[Any]]) -> list[Any]:
            return [pending.call.function(*given) for pending, given in zip(group, arguments, strict=True)]

        arguments = [pending.call.arrays for pending in group]
        results = compile_in_haste(jax.jit(together).lower(arguments))(arguments)
        for pending, result in zip(group, results, strict=True):
            pending.case.outputs = [np.asarray(leaf) for leaf in jax.tree.leaves(result)]


def proved_operators(cases: Sequence[Case]) -> dict[str, set[str]]:
    """The StableHLO operators in programs that agree, and the element types of their results."""
    proved: dict[str, set[str]] = {}
    for case in cases:
        for operator, element in re.findall(OPERATOR_AND_TYPE, case.program, re.MULTILINE):
            proved.setdefault(operator, set()).add(TYPE_NAMES.get(element, element))
    return proved


def find(target: str) -> Callable[..., Any]:
    namespace, *path = target.split(".")
    found: Any = NAMESPACES[namespace]
    for name in path:
        found = getattr(found, name)
    return found


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a weighted sum of all floating results, for all floating arrays."""

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        moving = [i for i, leaf in enumerate(leaves) if is_floating(leaf)]

        def objective(values: list[Any]) -> Any:
            changed = list(leaves)
            for place, value in zip(moving, values, strict=True):
                changed[place] = value
            given, options = jax.tree.unflatten(tree, changed)
            results = [leaf for leaf in jax.tree.leaves(function(*given, **options)) if is_floating(leaf)]
            return sum((leaf * jnp.linspace(0.5, 1.5, leaf.size).reshape(leaf.shape)).sum() for leaf in results)

        return jax.grad(objective)([leaves[i] for i in moving])

    return call


def is_floating(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)


@contextlib.contextmanager
def wide_types(wide: bool) -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", wide)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def collect(name: str, seed: int, only: str = "") -> Suite:
    suite = Suite(name, seed, only)
    importlib.import_module(f"jax_{name}").cases(suite)
    suite.finish()
    return suite


def case_files() -> list[str]:
    return [name for name in runner.case_files(HERE, "jax_") if name not in ("suite", "specs")]


def main() -> int:
    functions: set[str] = set()

    def collect_and_count(name: str, seed: int, only: str) -> Suite:
        suite = collect(name, seed, only)
        functions.update(suite.functions)
        return suite

    failed = runner.command_line(__doc__, case_files(), collect_and_count)
    print(f"{len(functions)} functions")
    return failed


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent / "conformance"))
    import jax_suite  # the module that case files see, not this __main__

    sys.exit(jax_suite.main())
