"""Capturing from the forms people keep programs in, without memory for tensors; what is captured can be imported."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lightline_under_test import BINARY

torch = pytest.importorskip("torch")

import lightline  # noqa: E402
from lightline.capture import main  # noqa: E402
from lightline.sources import SourceError  # noqa: E402

MODEL = """
import torch

batch_size = 4096
width = 65536

class Model(torch.nn.Module):
    def __init__(self, out_features):
        super().__init__()
        self.linear = torch.nn.Linear(width, out_features)
        self.table = torch.nn.Embedding(1000, out_features)

    def forward(self, x, ids):
        return torch.relu(self.linear(x)) + self.table(ids)

def get_inputs():
    return [torch.rand(batch_size, width), torch.arange(batch_size) % 7]

def get_init_inputs():
    return [width]
"""

FUNCTION = """
import torch

def attention(query, key, value):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)

def attention_inputs():
    return tuple(torch.randn(1, 4, 128, 32, dtype=torch.bfloat16) for _ in range(3))

def lonely(x):
    return x
"""

DEFINITION = {
    "name": "scaled_rows",
    "axes": {
        "rows": {"type": "var"},
        "columns": {"type": "const", "value": 64},
        "half": {"type": "expr", "expression": "columns // 2"},
    },
    "inputs": {
        "x": {"shape": ["rows", "columns"], "dtype": "bfloat16"},
        "index": {"shape": ["half"], "dtype": "int64"},
        "scale": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["rows", "half"], "dtype": "bfloat16"}},
    "reference": "import torch\n\ndef run(x, index, scale):\n    return x[:, index] * scale\n",
}
RANDOM = {"type": "random"}
WORKLOADS = [
    {"axes": {"rows": rows}, "inputs": {"x": RANDOM, "index": RANDOM, "scale": {"type": "scalar", "value": 0.5}}}
    for rows in (8, 32)
]


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command `python -m lightline.capture`, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        for name in ("model", "parts"):
            sys.modules.pop(name, None)
        code = main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Done(code, written.out, written.err)

    return run


def imported(path: Path, *options: str) -> dict[str, Any]:
    command = [BINARY, "import", str(path), "--stats", "--json", *options]
    stats = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert stats["imported"] == stats["programs"] == 1, stats
    assert not stats["not_executable"]
    return stats


def loops_of(path: Path) -> str:
    return subprocess.run([BINARY, "import", str(path)], capture_output=True, text=True, check=True).stdout


def shapes(program: dict[str, Any]) -> dict[str, list[int]]:
    tensors = program["graph_module"]["graph"]["tensor_values"]
    return {name: [size["as_int"] for size in meta["sizes"]] for name, meta in tensors.items()}


def test_a_kernelbench_file_of_any_size(tmp_path: Path, capture: Callable[..., Done]) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    # 16 GiB of weights and 1 GiB of input need no memory.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = capture("model.py", "-o", "model.jsonl")
    assert done.returncode == 0, done.stderr
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20
    line = json.loads((tmp_path / "model.jsonl").read_text())
    assert shapes(line["training"])["p_linear_weight"] == [65536, 65536]
    for form in ("training", "core"):
        imported(tmp_path / "model.jsonl", "--form", form)
        assert line[form]["lightline"]["values"]["ids"]["data"][:9] == [0, 1, 2, 3, 4, 5, 6, 0, 1]
        assert "x" not in line[form]["lightline"]["values"]


def test_sizes_can_be_scaled_down(tmp_path: Path, capture: Callable[..., Done]) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    done = capture("model.py", "--scale", "0.015625")
    assert done.returncode == 0, done.stderr
    assert shapes(json.loads(done.stdout))["x"] == [64, 1024]


def test_a_function_of_a_module(tmp_path: Path, capture: Callable[..., Done]) -> None:
    (tmp_path / "parts.py").write_text(FUNCTION)
    done = capture("parts:attention", "-o", "attention.json")
    assert done.returncode == 0, done.stderr
    imported(tmp_path / "attention.json")
    assert "bf16[1, 4, 128, 32]" in loops_of(tmp_path / "attention.json")


def test_a_definition_with_its_workloads(tmp_path: Path, capture: Callable[..., Done]) -> None:
    (tmp_path / "definition.json").write_text(json.dumps(DEFINITION))
    (tmp_path / "workload.jsonl").write_text("".join(json.dumps(line) + "\n" for line in WORKLOADS))
    for workload, rows in enumerate((8, 32)):
        done = capture("definition.json", "--workload", workload, "-o", "problem.json")
        assert done.returncode == 0, done.stderr
        program = json.loads((tmp_path / "problem.json").read_text())
        assert program["lightline"]["name"] == "scaled_rows"
        assert [value["shape"] for value in program["lightline"]["values"].values()] == [[32]]
        assert [rows, 64] in shapes(program).values()
        assert f"bf16[{rows}, 32]" in loops_of(tmp_path / "problem.json")
    done = capture("definition.json", "--workload", 2)
    assert done.returncode == 2
    assert "has 2 workloads, not 3" in done.stderr


def test_a_training_step_gives_the_loss_and_every_gradient(tmp_path: Path, capture: Callable[..., Done]) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    done = capture("model.py", "--backward", "-o", "step.json")
    assert done.returncode == 0, done.stderr
    stats = imported(tmp_path / "step.json")
    assert "mm" in stats["calls"]  # a product that only gradients need
    outputs = loops_of(tmp_path / "step.json").split("->", 1)[1].split("{", 1)[0]
    assert outputs.count(",") == 3  # the loss; the gradients of weight, bias and table


def test_a_training_step_may_have_parameters_without_gradients() -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 4)
            self.head = torch.nn.Linear(4, 10, bias=False)
            self.head.weight = self.table.weight
            self.unused = torch.nn.Linear(4, 4)
            self.reference = torch.nn.Linear(4, 4)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            hidden = self.table(tokens)
            with torch.no_grad():
                target = self.reference(hidden)
            return torch.nn.functional.cross_entropy(self.head(hidden + target), tokens)

    module = Tied()
    captured = lightline.capture(module, torch.tensor([1, 2, 3]), training=True)
    outputs = captured.program("training")["graph_module"]["graph"]["outputs"]
    assert len(outputs) == 2  # the loss, and the gradient of the tied weight
    assert captured.notes == ["parameters used without gradients: reference.weight, reference.bias"]
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_a_parameter_without_a_part_in_the_loss_is_said() -> None:
    class Detached(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.target = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (self.used(x) - self.target(x).detach()).square().mean()

    with pytest.raises(SourceError, match=r"takes no part in the loss; freeze it \(requires_grad_"):
        lightline.capture(Detached(), torch.randn(2, 4), training=True)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.py", "no such file"),
        ("empty.py", "it needs a class Model and a function get_inputs"),
        ("parts:nothing", "'parts' has no 'nothing'"),
        ("parts:lonely", "needs a function lonely_inputs or get_inputs"),
        ("absent:function", "there is no module 'absent' in this folder or on Python's path"),
        ("model.txt", "is not model.py, module:function or definition.json"),
    ],
)
def test_what_can_not_be_captured_is_said(
    source: str, message: str, tmp_path: Path, capture: Callable[..., Done]
) -> None:
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "parts.py").write_text(FUNCTION)
    done = capture(source)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_the_function_takes_modules_and_callables() -> None:
    captured = lightline.capture(torch.nn.Linear(4, 3), torch.randn(2, 4))
    assert captured.name == "Linear"
    assert shapes(captured.program("core"))["input"] == [2, 4]
    assert not captured.values

    def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return x * factor

    captured = lightline.capture(scaled, torch.arange(3), factor=3.0, core=False)
    assert captured.name == "scaled"
    assert [value["data"] for value in captured.values.values()] == [[0, 1, 2]]
    with pytest.raises(ValueError, match="without its core form"):
        captured.program("core")


def test_captured_programs_name_no_folder_of_this_machine() -> None:
    from lightline import capture

    captured = capture(torch.nn.Linear(4, 4), torch.zeros(2, 4))
    for form in ("training", "core"):
        text = json.dumps(captured.program(form))
        assert str(Path(torch.__file__).parent) not in text
        assert "stack_trace" not in text
