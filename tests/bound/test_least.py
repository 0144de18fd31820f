"""No tier asks for more than the best implementation that we know of, and fused for no less than is provably needed.

Every case of `least` is captured as its user would, in both exported forms, and priced. `--table` as a script prints
all of them. Skipped unless LIGHTLINE_LEAST is set.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / folder) for folder in ("python", "tests/support", "tests/bound")]

torch = pytest.importorskip("torch")

from least import MODULES, compare  # noqa: E402
from least.captured import capture_together, program_files  # noqa: E402
from least.case import Case, Jax  # noqa: E402

CASES = {
    f"{module.__name__.rpartition('.')[2]}: {case.name}": (module, case) for module in MODULES for case in module.CASES
}
FORMS = [(name, form) for name, (_, case) in CASES.items() for form in case.forms]
ASKED = bool(os.environ.get("LIGHTLINE_LEAST"))


@pytest.fixture(scope="session")
def captures(request: pytest.FixtureRequest) -> None:
    """All cases that this session asks for are captured together."""
    asked = dict.fromkeys(item.callspec.params["name"] for item in request.session.items if hasattr(item, "callspec"))
    capture_together([CASES[name] for name in asked if name in CASES])


def wanted_files(name: str) -> dict[str, Path]:
    module, case = CASES[name]
    if isinstance(case.program, Jax):
        pytest.importorskip("jax")
    return program_files(case, module)


@pytest.mark.usefixtures("captures")
@pytest.mark.skipif(not ASKED, reason="the least work by hand: set LIGHTLINE_LEAST=1")
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_least_work(name: str, form: str) -> None:
    case = CASES[name][1]
    found = compare.findings(case, compare.analyze(case, wanted_files(name)[form]))
    assert not found, "\n" + "\n".join(map(str, found))


@pytest.mark.usefixtures("captures")
@pytest.mark.skipif(not ASKED, reason="the least work by hand: set LIGHTLINE_LEAST=1")
@pytest.mark.parametrize("name", [name for name, (_, case) in CASES.items() if len(case.forms) == 2])
def test_both_forms_agree(name: str) -> None:
    case = CASES[name][1]
    traced, decomposed = (compare.analyze(case, path) for path in wanted_files(name).values())
    for quantity in ("products", "matrix_ms", "special", "bytes", "fused_ms", "floor_bytes", "floor_ms"):
        one, other = getattr(traced, quantity), getattr(decomposed, quantity)
        assert abs(one - other) <= 0.01 * max(one, other), f"{quantity}: traced {one:.6g}, decomposed {other:.6g}"


def test_the_cases_do_not_contradict_themselves() -> None:
    for name, (_, case) in CASES.items():
        for low, high in ((case.at_least, case.least), (case.floor_at_least, case.floor)):
            for quantity in ("slots", "special", "bytes"):
                below, above = getattr(low, quantity), getattr(high, quantity)
                assert below is None or above is None or below <= above * (1 + case.tolerance), (name, quantity)
            if low.products is not None and high.products is not None:
                assert sum(low.products.values()) <= sum(high.products.values()) * (1 + case.tolerance), name


def print_table(wanted: list[str]) -> int:
    """One line per case and form: how many times the hand's time the fused bound is, and every finding; then a line
    per kind of knowledge."""
    chosen = [name for name in CASES if not wanted or any(word in name for word in wanted)]
    capture_together([CASES[name] for name in chosen])
    kinds: dict[str, list[tuple[float, str]]] = {}
    for name in chosen:
        for form, ratio, text in rows(*CASES[name]):
            print(f"{name:58} {form:10} {ratio:9.4g}  {text}", flush=True)
            kinds.setdefault(name.partition(":")[0], []).append((ratio, text))
    print(f"\n{'':14} forms  too high  too low   most  least (fused time over the hand's)")
    for kind, found in kinds.items():
        high, low = (sum(word in text for _, text in found) for word in (" too high", " too low"))
        ratios = [ratio for ratio, _ in found if ratio == ratio]
        print(f"{kind:14} {len(found):5}  {high:8}  {low:7}  {max(ratios):5.4g}  {min(ratios):.3g}")
    wrong = sum(bool(text) for found in kinds.values() for _, text in found)
    print(f"{sum(map(len, kinds.values()))} forms of {len(chosen)} cases, {wrong} with findings")
    return 1 if wrong else 0


def rows(module: ModuleType, case: Case) -> Iterator[tuple[str, float, str]]:
    try:
        paths = program_files(case, module)
    except Exception as error:
        yield "-", math.nan, f"capture fails: {type(error).__name__}: {str(error).splitlines()[0]}"
        return
    for form, path in paths.items():
        try:
            got = compare.analyze(case, path)
        except RuntimeError as error:
            yield form, math.nan, f"analyze fails: {error}"
            continue
        by_hand = compare.least_ms(case.least, case.arch)
        yield form, got.fused_ms / by_hand if by_hand else math.nan, "; ".join(map(str, compare.findings(case, got)))


if __name__ == "__main__":
    sys.exit(print_table([word for word in sys.argv[1:] if word != "--table"]))
