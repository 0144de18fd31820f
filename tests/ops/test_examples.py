"""Every program in examples/pytorch agrees with PyTorch, in both forms; the transformer block also when training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lightline_under_test import ROOT, SEED, validate

pytest.importorskip("torch")

EXAMPLES = sorted((ROOT / "examples" / "pytorch").glob("*.py"))


def test_there_are_enough_examples() -> None:
    assert len(EXAMPLES) >= 24


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_agrees(path: Path) -> None:
    report = validate(str(path), "--seed", str(SEED))
    assert report["agrees"], json.dumps(report, indent=1)


@pytest.mark.parametrize("name", ["transformer_block", "resnet_block"])
def test_training_step_agrees(name: str) -> None:
    report = validate(str(ROOT / "examples" / "pytorch" / f"{name}.py"), "--backward", "--form", "training")
    assert report["agrees"], json.dumps(report, indent=1)
