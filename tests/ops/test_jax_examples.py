"""Every program in examples/jax agrees with JAX on the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lightline_under_test import ROOT, SEED, validate

EXAMPLES = sorted((ROOT / "examples" / "jax").glob("*.py"))


def need_jax() -> None:
    for module in ("jax", "flax", "optax"):
        pytest.importorskip(module, reason=f"no {module}")


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
