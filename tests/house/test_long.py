"""The long tests, which make test leaves out, can at least be collected: nothing that they need has gone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from lightline_under_test import ROOT

SKIPPED = pytest.ExitCode.NO_TESTS_COLLECTED  # where PyTorch is not installed


def test_long_tests_are_collected() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/long"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "LIGHTLINE_LONG": "1"},
        check=False,
    )
    assert result.returncode in (0, SKIPPED), result.stdout
