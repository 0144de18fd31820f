"""What captured programs record of their results, where it says more or less than it should."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lightline_under_test import BINARY

torch = pytest.importorskip("torch", reason="no torch")

from lightline.capture import export, serialise  # noqa: E402


def imported(program: dict[str, Any], folder: Path) -> str:
    path = folder / "program.json"
    path.write_text(json.dumps(program))
    result = subprocess.run([str(BINARY), "import", str(path)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def reported(program: dict[str, Any], folder: Path) -> list[str]:
    """The assumptions of an analysis."""
    imported(program, folder)
    command = [str(BINARY), "analyze", str(folder / "program.json"), "--arch", "H200", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["assumptions"]


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 8, num_layers=2)

    def forward(self, x: Any) -> Any:
        out, (hidden, cell) = self.lstm(x)
        return out, hidden + 1, cell


def test_last_states_of_an_lstm_have_a_spare_dimension(tmp_path: Path) -> None:
    program = serialise(export(Recurrent(), (torch.randn(5, 3, 4),), {}))
    graph = program["graph_module"]["graph"]
    node = next(node for node in graph["nodes"] if node["target"].startswith("torch.ops.aten.lstm."))
    for result in node["outputs"][1:]:
        meta = graph["tensor_values"][result["as_tensor"]["name"]]
        meta["sizes"].insert(1, {"as_int": 1})
        meta["strides"].insert(1, {"as_int": 24})
    said = [text for text in reported(program, tmp_path) if "lstm" in text]
    assert len(said) == 2
    assert said[0].endswith("is recorded as f32[2, 1, 3, 8] and taken as f32[2, 3, 8]")


class Packed(torch.nn.Module):
    def forward(self, x: Any, ends: Any) -> Any:
        end = ends[-1].item()
        torch._check(end >= 2)
        torch._check(end <= x.shape[0])
        return x[:end] * 2


def test_the_end_of_a_slice_is_the_least_that_it_can_be(tmp_path: Path) -> None:
    program = serialise(export(Packed(), (torch.randn(9, 3), torch.tensor([0, 3, 7])), {}))
    graph = program["graph_module"]["graph"]
    for meta in graph["tensor_values"].values():  # as later versions record it: a size of its own
        for size in meta["sizes"]:
            if "as_expr" in size:
                size["as_expr"]["expr_str"] = size["as_expr"]["expr_str"].replace("u0", "u1")
    program["range_constraints"]["u1"] = {"min_val": 2, "max_val": 9}
    assert "x[i, j] * 2.0" in imported(program, tmp_path)
    said = [text for text in reported(program, tmp_path) if "not known before" in text]
    assert said == [
        "the size u1 is not known before the program runs; taken as 2",
        "the size u0 is not known before the program runs; taken as 2",
    ]
