"""Fixtures of the command-line tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ADD, BROKEN


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTLINE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def add(tmp_path: Path) -> Path:
    path = tmp_path / "add.lir"
    path.write_text(ADD)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.lir"
    path.write_text(BROKEN)
    return path
