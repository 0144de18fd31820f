"""Running the program as a user does, and the small programs that its tests use."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lightline_under_test import BINARY, ROOT

EXAMPLES = sorted((ROOT / "examples" / "loops").glob("*.lir"))
MATMUL = ROOT / "examples" / "loops" / "matmul.lir"

ADD = """program add(x: f32[2, 3], y: f32[2, 3]) -> (z) {
  z: f32[2, 3] = for i, j: x[i, j] + y[i, j]
}
"""
# The read of x leaves its array at i = 3.
BROKEN = """program broken(x: f32[4]) -> (y) {
  y: f32[4] = for i: x[i + 1]
}
"""


def lightline(
    *arguments: object, text: str | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [BINARY, *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, timeout=120, check=False)


def refused(*arguments: object, text: str | None = None, folder: Path | None = None) -> str:
    """What is said of bad input; nothing may be printed."""
    result = lightline(*arguments, text=text, folder=folder)
    assert (result.returncode, result.stdout) == (2, "")
    return result.stderr


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path
