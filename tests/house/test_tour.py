"""Every line of the tour in README.md works as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from lightline_under_test import BINARY, ROOT

TOUR = (ROOT / "README.md").read_text().split("## A tour in ten lines")[1].split("## ")[0]
LINES = re.findall(r"^    (.*?)  +#", TOUR, re.MULTILINE)


def test_the_tour_has_ten_lines() -> None:
    assert len(LINES) == 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all lines: some read what those before wrote."""
    folder = tmp_path_factory.mktemp("tour")
    for path in (*(ROOT / name for name in ("examples", "python", "docs", ".venv")), BINARY.parent):
        (folder / ("build" if path == BINARY.parent else path.name)).symlink_to(path)
    return folder


@pytest.mark.parametrize("line", LINES)
def test_the_line_works(line: str, folder: Path) -> None:
    if ".venv" in line or "model.json" in line or " validate " in line:
        pytest.importorskip("torch", reason="no torch")
        pytest.importorskip("jax", reason="no jax")
    environment = {**os.environ, "LIGHTLINE_CACHE": str(folder / "cache")}
    result = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    assert result.returncode == 0, f"{line}\n{result.stdout}\n{result.stderr}"
