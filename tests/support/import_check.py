"""Models that PyTorch exports must become loops, in both forms and every operator can be run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightline_under_test import BINARY

from lightline.capture import serialise

Forms = dict[str, torch.export.ExportedProgram]


def exported_or_skip(name: str, make_model: Callable[[], torch.nn.Module], inputs: tuple[Any, ...]) -> Forms:
    """What PyTorch can not build or export is not ours to judge. Nothing of ours may run in here."""
    try:
        with torch.no_grad():
            exported = torch.export.export(make_model().eval(), inputs, strict=False)
            return {"training": exported, "core": exported.run_decompositions()}
    except Exception as error:
        pytest.skip(f"{name} does not export here: {type(error).__name__}")


def check_import(name: str, exported: Forms, folder: Path) -> None:
    forms = {form: serialise(program) for form, program in exported.items()}
    corpus = folder / "model.jsonl"
    corpus.write_text(json.dumps({"problem": name, **forms}) + "\n")
    for form in forms:
        command = [str(BINARY), "import", str(corpus), "--form", form, "--stats", "--json"]
        stats = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert stats["imported"] == 1, stats["failures"]
        assert not stats["not_executable"], stats["not_executable"]
