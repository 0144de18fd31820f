"""Every program in examples/jax agrees with JAX on the CPU."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from lightline_under_test import BINARY, ROOT, SEED

EXAMPLES = sorted((ROOT / "examples" / "jax").glob("*.py"))


def need_jax() -> None:
    for module in ("jax", "flax", "optax"):
        pytest.importorskip(module, reason=f"no {module}")


def validate(*arguments: str) -> dict:
    result = subprocess.run(
        [str(BINARY), "validate", *arguments, "--json"], capture_output=True, text=True, check=False
    )
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def test_there_are_enough_examples() -> None:
    assert len(EXAMPLES) >= 24


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_agrees(path: Path) -> None:
    need_jax()
    report = validate(str(path), "--seed", str(SEED))
    assert [run["form"] for run in report["runs"]] == ["stablehlo", "stablehlo"]
    assert report["agrees"], json.dumps(report, indent=1)


@pytest.mark.parametrize("name", ["mlp_mixer", "scan_gru"])
def test_training_step_agrees(name: str) -> None:
    need_jax()
    report = validate(str(ROOT / "examples" / "jax" / f"{name}.py"), "--backward")
    assert report["agrees"], json.dumps(report, indent=1)
