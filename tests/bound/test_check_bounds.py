"""No bound exceeds a time that was measured, and scripts/check_bounds would say so if one did."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from lightline_under_test import BINARY, ROOT

MEASURED = Path(__file__).resolve().parent / "data" / "h200.jsonl"


def check_bounds(kernels: Path) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts" / "check_bounds"), str(BINARY), str(kernels)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def scaled(target: Path, factor: float, *numbers: int) -> Path:
    """The measured times, those of the rows `numbers` (all if there are none) times `factor`."""
    rows = [json.loads(line) for line in MEASURED.read_text().splitlines()]
    for number in numbers or range(len(rows)):
        rows[number]["min_ms"] *= factor
    target.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return target


def test_no_bound_exceeds_a_measured_time() -> None:
    done = check_bounds(MEASURED)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = len(MEASURED.read_text().splitlines())
    assert f"{rows} programs, 0 violations" in done.stdout


def test_a_time_below_its_bound_is_a_violation(tmp_path: Path) -> None:
    done = check_bounds(scaled(tmp_path / "one.jsonl", 0.5, 0))
    assert done.returncode == 1, done.stdout + done.stderr
    assert ", 1 violations" in done.stdout
    assert "gemm bf16 4096x4096x4096  (matrix bf16)" in done.stdout.splitlines()[1]


def test_the_bounds_are_tight_enough_to_be_violated_by_a_tenth(tmp_path: Path) -> None:
    """A bound that were far too low would pass every other test here."""
    done = check_bounds(scaled(tmp_path / "all.jsonl", 0.1))
    assert done.returncode == 1
    rows = len(MEASURED.read_text().splitlines())
    assert f"{rows} programs, {rows} violations" in done.stdout
