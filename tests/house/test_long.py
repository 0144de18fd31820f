"""The long tests, which make test leaves out, can at least be collected: nothing that they need has gone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from lightline_under_test import ROOT


def test_long_tests_are_collected() -> None:
    pytest.importorskip("torch", reason="no torch")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/long"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "LIGHTLINE_LONG": "1"},
        check=False,
    )
    assert result.returncode == 0, result.stdout
