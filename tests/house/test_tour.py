"""Every line of the tour in README.md works as it stands there."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest
from lightline_under_test import BINARY, ROOT

TOUR = (ROOT / "README.md").read_text().split("## A tour in ten lines")[1].split("## ")[0]
LINES = re.findall(r"^    (.*?)  +#", TOUR, re.MULTILINE)


def test_the_tour_has_ten_lines() -> None:
    assert len(LINES) == 10


def test_the_tour_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (*(ROOT / name for name in ("examples", "python", "docs", ".venv")), BINARY.parent):
        (tmp_path / ("build" if path == BINARY.parent else path.name)).symlink_to(path)
    monkeypatch.setenv("LIGHTLINE_CACHE", str(tmp_path / "cache"))
    frameworks = all(importlib.util.find_spec(name) for name in ("torch", "jax"))
    for line in LINES:
        needs_frameworks = ".venv" in line or "model.json" in line or " validate " in line
        if needs_frameworks and not frameworks:
            continue
        result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert result.returncode == 0, f"{line}\n{result.stdout}\n{result.stderr}"
