"""Functions of jax.numpy, jax.nn and jax.lax against JAX on the CPU, through the StableHLO that JAX makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lightline_under_test import BINARY, SEED

HERE = Path(__file__).resolve().parent
BUILD = BINARY.parent
FAMILIES = (
    "contraction",
    "control",
    "elementwise",
    "indexing",
    "networks",
    "programs",
    "reduction",
    "robotics",
    "shapes",
)
LEAST_FUNCTIONS = 500


@pytest.mark.parametrize("family", FAMILIES)
def test_functions(family: str, tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="no jax")
    import jax_suite
    import runner

    tool = BUILD / "tests" / "lightline_conform"
    assert tool.exists(), f"{tool} was not built"
    suite = jax_suite.collect(family, SEED)
    report = runner.run(suite, tool, tmp_path)
    runner.record(BUILD, f"stablehlo_{family}", report.triples, jax_suite.proved_operators(report.agreed))
    print(report.summary(), f"{len(suite.functions)} functions")
    assert report.triples > 0
    assert not report.failures, "\n".join([report.summary(), *report.failures[:40]])


def test_every_file_of_cases_is_run() -> None:
    found = {path.stem.removeprefix("jax_") for path in (HERE / "stablehlo").glob("jax_*.py")}
    assert found == {*FAMILIES, "suite", "specs"}


def test_there_are_enough_functions() -> None:
    """Counts the names in the case files, without running them."""
    pytest.importorskip("jax", reason="no jax")
    import jax_suite

    class Counting(jax_suite.Suite):
        def _add(self, *_: object) -> None:
            pass

    suite = Counting("count", 0)
    for family in FAMILIES:
        __import__(f"jax_{family}").cases(suite)
    assert not suite.broken
    assert len(suite.functions) >= LEAST_FUNCTIONS
