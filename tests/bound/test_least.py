"""No tier asks for more than the best implementation that we know of, and fused for no less than is provably needed.

Every case of `least` is captured as its user would, in both exported forms, and priced. What is known to be wrong is
listed in `least/expected.toml` with its direction and the reason: a case that is wrong in another way fails, and so
does a listed one that has become right. `--table` as a script prints all of them.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / folder) for folder in ("python", "tests/support", "tests/bound")]

torch = pytest.importorskip("torch")

from least import MODULES, compare  # noqa: E402
from least.captured import capture_together, program_files  # noqa: E402
from least.case import Case, Jax, Loops, Work  # noqa: E402

CASES = {
    f"{module.__name__.rpartition('.')[2]}: {case.name}": (module, case) for module in MODULES for case in module.CASES
}
FORMS = [(name, form) for name, (_, case) in CASES.items() for form in case.forms]
PAIRS = [name for name, (_, case) in CASES.items() if len(case.forms) == 2]
DIRECTIONS = {"high", "low", "differ"}


@functools.cache
def expected() -> dict[tuple[str, str], set[str]]:
    """Case and form to the directions in which it is known to be wrong; the form of a pair that differs is `pair`."""
    listed: dict[tuple[str, str], set[str]] = {}
    for entry in tomllib.loads((Path(__file__).parent / "least" / "expected.toml").read_text())["wrong"]:
        assert entry["reason"] and set(entry["directions"]) <= DIRECTIONS, entry
        for form in entry["forms"]:
            assert (entry["case"], form) not in listed, entry
            listed[entry["case"], form] = set(entry["directions"])
    return listed


@pytest.fixture(scope="session")
def captures(request: pytest.FixtureRequest) -> None:
    """All cases that this session asks for are captured and priced together."""
    asked = dict.fromkeys(
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == Path(__file__) and hasattr(item, "callspec")
    )
    cases = [(name, form) for name in asked if name in CASES for form in CASES[name][1].forms]
    capture_together([CASES[name] for name in asked if name in CASES])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(priced_or_error, *zip(*cases, strict=True)))


@functools.cache
def priced_or_error(name: str, form: str) -> compare.Reported | Exception:
    module, case = CASES[name]
    try:
        return compare.analyze(case, program_files(case, module)[form])
    except Exception as error:
        return error


def priced(name: str, form: str) -> compare.Reported:
    if isinstance(CASES[name][1].program, Jax):
        pytest.importorskip("jax")
    report = priced_or_error(name, form)
    if isinstance(report, Exception):
        raise report
    return report


def check_expected(name: str, form: str, directions: set[str], found: str) -> None:
    listed = expected().get((name, form), set())
    assert directions == listed, (
        f"\n{found}" if directions else "it is right, and still in expected.toml"
    ) + f"\nexpected.toml says {sorted(listed) or 'nothing'}"


@pytest.mark.usefixtures("captures")
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_least_work(name: str, form: str) -> None:
    found = compare.findings(CASES[name][1], priced(name, form))
    check_expected(name, form, {one.direction for one in found}, "\n".join(map(str, found)))


@pytest.mark.usefixtures("captures")
@pytest.mark.parametrize("name", PAIRS)
def test_both_forms_agree(name: str) -> None:
    traced, decomposed = (priced(name, form) for form in CASES[name][1].forms)
    apart = []
    for quantity in ("products", "matrix_ms", "special", "bytes", "fused_ms", "floor_bytes", "floor_ms"):
        one, other = getattr(traced, quantity), getattr(decomposed, quantity)
        if abs(one - other) > 0.01 * max(one, other):
            apart.append(f"{quantity}: traced {one:.6g}, decomposed {other:.6g}")
    check_expected(name, "pair", {"differ"} if apart else set(), "\n".join(apart))


def test_expected_names_cases() -> None:
    known = {*FORMS, *((name, "pair") for name in PAIRS)}
    assert set(expected()) <= known, set(expected()) - known


def test_the_cases_do_not_contradict_themselves() -> None:
    for name, (_, case) in CASES.items():
        for low, high in ((case.at_least, case.least), (case.floor_at_least, case.floor)):
            for quantity in ("slots", "special", "bytes"):
                below, above = getattr(low, quantity), getattr(high, quantity)
                assert below is None or above is None or below <= above * (1 + case.tolerance), (name, quantity)
            if low.products is not None and high.products is not None:
                assert sum(low.products.values()) <= sum(high.products.values()) * (1 + case.tolerance), name


def test_both_versions_of_the_report_read_alike() -> None:
    old = {
        "version": 1,
        "macs": {"bf16": 3.0, "f32": 4.0},
        "vector_ops": 5.0,
        "transcendental_ops": 6.0,
        "resources_ms": {"matrix": 0.5, "vector": 2.0, "transcendental": 0.25, "memory": 1.0},
        "bytes": {"algebraic": 10.0, "fused": 20.0, "unfused": 40.0},
        "bounds_ms": {"algebraic": 1.0, "fused": 2.0, "unfused": 4.0},
    }
    tiers = {"floor": "algebraic", "fused": "fused", "unfused": "unfused"}
    new = {**old, "version": 2}
    for key in ("bytes", "bounds_ms"):
        new[key] = {tier: old[key][was] for tier, was in tiers.items()}
    report = compare.read_report(new, "H200")
    assert report == compare.read_report(old, "H200")
    assert (report.products, report.floor_bytes, report.fused_ms) == (7.0, 10.0, 2.0)
    assert report.slots == pytest.approx(2e-3 * 132 * 128 * 1.98e9)


def test_what_is_too_high_or_too_low_is_found() -> None:
    case = Case("one", Loops(""), Work({"f32": 100.0}, bytes=1000.0), Work({"f32": 100.0}, bytes=1000.0))
    time = compare.matrix_ms({"f32": 100.0}, "H200")
    fits = compare.Reported(100.0, time, 0.0, 0.0, 1000.0, 1.0, 500.0, 0.5)
    assert compare.findings(case, fits) == []
    heavy = compare.findings(case, replace(fits, products=200.0, matrix_ms=2 * time))
    assert [(found.quantity, found.direction, found.factor) for found in heavy] == [
        ("products", "high", 2.0),
        ("products' time", "high", 2.0),
    ]
    light = compare.findings(case, replace(fits, bytes=600.0))
    assert [(found.quantity, found.direction) for found in light] == [("bytes", "low")]
    crossed = compare.findings(case, replace(fits, floor_ms=1.5))
    assert [(found.quantity, found.direction) for found in crossed] == [("floor time beside fused", "high")]


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
