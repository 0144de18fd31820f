"""No tier asks for more than the best implementation that we know of, and fused for no less than is provably needed.

Every case of `least` is captured as its user would, in both exported forms, and priced. `--table` as a script prints
all of them. Skipped unless LIGHTLINE_LEAST is set.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / folder) for folder in ("python", "tests/support", "tests/bound")]

torch = pytest.importorskip("torch")

from least import (  # noqa: E402
    MODULES,
    compare,
)
from least.captured import program_files  # noqa: E402
from least.case import Case, Jax  # noqa: E402

CASES = {
    f"{module.__name__.rpartition('.')[2]}: {case.name}": (module, case) for module in MODULES for case in module.CASES
}
FORMS = [(name, form) for name, (_, case) in CASES.items() for form in case.forms]
ASKED = bool(os.environ.get("LIGHTLINE_LEAST"))


@pytest.fixture(scope="session")
def files() -> dict[str, dict[str, Path]]:
    """Name of a case to its captured forms, filled as cases ask."""
    return {}


@pytest.mark.skipif(not ASKED, reason="the least work by hand: set LIGHTLINE_LEAST=1")
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_least_work(files: dict[str, dict[str, Path]], name: str, form: str) -> None:
    module, case = CASES[name]
    if isinstance(case.program, Jax):
        pytest.importorskip("jax")
    if name not in files:
        files[name] = program_files(case, module)
    found = compare.findings(case, compare.analyze(case, files[name][form]))
    assert not found, "\n" + "\n".join(map(str, found))


def test_the_cases_do_not_contradict_themselves() -> None:
    for name, (_, case) in CASES.items():
        for low, high in ((case.at_least, case.least), (case.floor_at_least, case.floor)):
            for quantity in ("slots", "special", "bytes"):
                below, above = getattr(low, quantity), getattr(high, quantity)
                assert below is None or above is None or below <= above * (1 + case.tolerance), (name, quantity)
            if low.products is not None and high.products is not None:
                assert sum(low.products.values()) <= sum(high.products.values()) * (1 + case.tolerance), name


def print_table(wanted: list[str]) -> int:
    """One line per case and form: how many times the hand's time the fused bound is, and every finding."""
    wrong = 0
    for name, (module, case) in CASES.items():
        if wanted and not any(word in name for word in wanted):
            continue
        for form, line in rows(module, case):
            wrong += "too " in line or "fails" in line
            print(f"{name:58} {form:10} {line}", flush=True)
    print(f"{len(FORMS)} forms of {len(CASES)} cases, {wrong} with findings")
    return 1 if wrong else 0


def rows(module: ModuleType, case: Case) -> Any:
    try:
        paths = program_files(case, module)
    except Exception as error:
        yield "-", f"capture fails: {type(error).__name__}: {str(error).splitlines()[0]}"
        return
    for form, path in paths.items():
        try:
            got = compare.analyze(case, path)
        except RuntimeError as error:
            yield form, f"analyze fails: {error}"
            continue
        by_hand = compare.least_ms(case.least, case.arch)
        ratio = got.fused_ms / by_hand if by_hand else float("nan")
        yield form, f"{ratio:9.4g}  " + "; ".join(map(str, compare.findings(case, got)))


if __name__ == "__main__":
    sys.exit(print_table([word for word in sys.argv[1:] if word != "--table"]))
