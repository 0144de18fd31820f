"""Every test starts from the same random state, and a failure says how to come back to it."""

from __future__ import annotations

import random
import sys
import zlib

import pytest
from lightline_under_test import REPEAT, SEED


@pytest.fixture(autouse=True)
def seeded(request: pytest.FixtureRequest) -> None:
    """Seeds the generators that tests draw from without naming one; each test has a sequence of its own."""
    own = zlib.crc32(f"{SEED} {request.node.nodeid}".encode())
    random.seed(own)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(own)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(own)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(REPEAT)
