"""Every operator definition against PyTorch, by the interpreter and by emitted C: one test per family of cases."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lightline_under_test import BINARY, SEED
from runner import case_files, record, run

HERE = Path(__file__).resolve().parent
BUILD = BINARY.parent
FAMILIES = case_files(HERE / "conformance", "cases_")


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no torch")
    sys.path.insert(0, str(HERE / "conformance"))
    import harness

    tool = BUILD / "tests" / "lightline_conform"
    assert tool.exists(), f"{tool} was not built"
    report = run(harness.collect(family, SEED), tool, tmp_path)
    record(BUILD, family, report.triples, report.proved)
    print(report.summary())
    assert report.triples > 0
    assert not report.failures, "\n".join([report.summary(), *report.failures[:40]])
