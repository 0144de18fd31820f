"""The virtual environment that scripts/setup makes, and makes again where it does not work."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import script
from lightline_under_test import ROOT

WORKS = 'mkdir -p .venv/bin; printf "#!/bin/sh\\n" >.venv/bin/python; chmod 700 .venv/bin/python'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clone whose environment was complete; the python3 beside it makes one in which everything is installed."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup", tmp_path / "scripts")
    (tmp_path / "programs").mkdir()
    made = f'[ "$*" = "-m venv --clear .venv" ] || exit 0\necho made >>made\nrm -rf .venv/*; {WORKS}'
    script(tmp_path / "programs" / "python3", made)
    set_up(tmp_path)
    assert (tmp_path / "made").read_text() == "made\n"
    return tmp_path


def set_up(folder: Path) -> None:
    path = f"{folder / 'programs'}:{os.environ['PATH']}"
    result = subprocess.run(
        ["scripts/setup", "python"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_what_works_stays(folder: Path) -> None:
    set_up(folder)
    assert (folder / "made").read_text() == "made\n"


@pytest.mark.parametrize("kind", ["missing", "dangling link", "not executable", "failing"])
def test_what_does_not_work_is_made_again(kind: str, folder: Path) -> None:
    python = folder / ".venv/bin/python"
    if kind == "failing":
        script(python, "exit 1")
    elif kind == "not executable":
        python.chmod(0o600)
    else:
        python.unlink()
    if kind == "dangling link":
        python.symlink_to("gone")
    set_up(folder)
    assert (folder / "made").read_text() == "made\nmade\n"
    subprocess.run([python], check=True)
