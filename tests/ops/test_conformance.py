"""Every operator definition against PyTorch, by the interpreter and by emitted C: one test per family of cases."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = Path(os.environ.get("LIGHTLINE_BINARY", ROOT / "build" / "lightline")).resolve().parent
FAMILIES = sorted(path.stem.removeprefix("cases_") for path in (HERE / "conformance").glob("cases_*.py"))


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no torch")
    sys.path.insert(0, str(HERE / "conformance"))
    import harness

    tool = BUILD / "tests" / "lightline_conform"
    assert tool.exists(), f"{tool} was not built"
    report = harness.run(harness.collect(family, harness.fresh_seed()), tool, tmp_path)
    record(family, report.triples, report.proved)
    print(report.summary())
    assert not report.failures, "\n".join([report.summary(), *report.failures[:40]])


def record(family: str, triples: int, proved: dict[str, set[str]]) -> None:
    """build/conformance.json: for each operator the dtypes that its definition was proved for."""
    path = BUILD / "conformance.json"
    summary = json.loads(path.read_text()) if path.exists() else {"schema": "lightline.conformance", "version": 1}
    families = summary.setdefault("families", {})
    families[family] = {
        "triples": triples,
        "operators": {name: sorted(dtypes) for name, dtypes in sorted(proved.items())},
    }
    summary["families"] = dict(sorted(families.items()))
    path.write_text(json.dumps(summary, indent=1) + "\n")
