"""Hostile exported programs end in an error with exit code 2, within a second and 1 GiB."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lightline_under_test import BINARY, ROOT

PT2 = ROOT / "tests" / "frontend" / "data" / "linear_tied.pt2"
SECONDS = 10.0 if "debug" in str(BINARY) else 1.0  # sanitizers are slow
BYTES = (4 if "debug" in str(BINARY) else 1) << 30

# Runs the rest of its command line and prints the exit code, the processor time and the peak memory of it.
MEASURE = """
import json, os, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, done.stderr]))
"""


def tensor(*sizes: int) -> dict[str, Any]:
    return {"dtype": 7, "sizes": [{"as_int": size} for size in sizes], "strides": [], "layout": 7}


def argument(name: str) -> dict[str, Any]:
    return {"as_tensor": {"name": name}}


def unary(source: str, result: str) -> dict[str, Any]:
    return {
        "target": "torch.ops.aten.relu.default",
        "inputs": [{"name": "self", "arg": argument(source)}],
        "outputs": [argument(result)],
        "name": result,
    }


def graph(nodes: list[Any], tensors: dict[str, Any], output: str = "y") -> dict[str, Any]:
    return {"inputs": [argument("x")], "outputs": [argument(output)], "nodes": nodes, "tensor_values": tensors}


def program(top: dict[str, Any]) -> str:
    signature = {
        "input_specs": [{"user_input": {"arg": argument("x")}}],
        "output_specs": [{"user_output": {"arg": top["outputs"][0]}}],
    }
    return json.dumps({"graph_module": {"graph": top, "signature": signature}}, separators=(",", ":"))


def cyclic() -> str:
    return program(graph([unary("y", "z"), unary("z", "y")], {name: tensor(2) for name in "xyz"}))


def overflowing() -> str:
    return program(graph([unary("x", "y")], {name: tensor(1 << 62, 16) for name in "xy"}))


def negative() -> str:
    return program(graph([unary("x", "y")], {name: tensor(-3) for name in "xy"}))


def product_overflows() -> str:
    """Each tensor is allowed, but not what the operator makes of them."""
    node = unary("x", "y") | {"target": "torch.ops.aten.repeat.default"}
    node["inputs"].append({"name": "repeats", "arg": {"as_ints": [1 << 40, 1 << 40]}})
    return program(graph([node], {"x": tensor(1 << 20, 1 << 20), "y": tensor(2)}))


def million_nodes() -> str:
    return program(graph([unary("x", "y")] * 1_000_000, {name: tensor(2) for name in "xy"}))


def million_small_nodes() -> str:
    node = {"target": "a", "inputs": [], "outputs": []}
    return program(graph([node] * 1_000_000, {name: tensor(2) for name in "xy"}))


def dense_numbers() -> str:
    return "[" + "1," * 60_000_000 + "1]"


def deep_brackets() -> str:
    return '{"graph_module":' + "[" * 1_000_000


def deep_graphs() -> str:
    """Wrappers inside wrappers."""
    inner = graph([unary("x", "y")], {name: tensor(2) for name in "xy"})
    for _ in range(60):
        wrapper = {
            "target": "torch.ops.higher_order.wrap_with_set_grad_enabled",
            "inputs": [
                {"name": "", "arg": {"as_bool": False}},
                {"name": "", "arg": {"as_graph": {"name": "body", "graph": inner}}},
                {"name": "", "arg": argument("x")},
            ],
            "outputs": [argument("y")],
            "name": "wrap",
        }
        inner = graph([wrapper], {name: tensor(2) for name in "xy"})
    return program(inner)


def million_dimensions() -> str:
    return program(graph([unary("x", "y")], {name: tensor(*[1] * 1_000_000) for name in "xy"}))


CASES: dict[Callable[[], str], str] = {
    cyclic: "uses 'y' before it is defined",
    overflowing: "too many elements",
    negative: "a size is negative",
    product_overflows: "node 'y'",
    million_nodes: "limit",
    million_small_nodes: "the graph has 1000000 nodes; the limit is 400000",
    dense_numbers: "60000001 items; the limit is",
    deep_brackets: "not valid JSON",
    deep_graphs: "graphs nest more than",
    million_dimensions: "dimensions",
}


def refused(path: Path, message: str) -> None:
    command = [sys.executable, "-c", MEASURE, str(BINARY), "import", str(path)]
    code, seconds, peak, stderr = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    )
    assert code == 2, stderr
    assert message in stderr
    assert seconds < SECONDS
    assert peak < BYTES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_hostile_program(case: Callable[[], str], tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(case())
    refused(path, CASES[case])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_archive(share: float, tmp_path: Path) -> None:
    content = PT2.read_bytes()
    path = tmp_path / "cut.pt2"
    path.write_bytes(content[: int(len(content) * share)])
    refused(path, "the zip archive is broken: it has no end record")


def test_archive_that_grows(tmp_path: Path) -> None:
    """A few kilobytes that unpack to gigabytes."""
    path = tmp_path / "bomb.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("models/model.json", "w") as entry:
        for _ in range(256):
            entry.write(b" " * (1 << 20))
    refused(path, "'models/model.json' has 268435456 bytes, more than the 134217728 allowed")


def test_a_bad_line_of_a_corpus_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    good = program(graph([unary("x", "y")], {name: tensor(2) for name in "xy"}))
    lines = [
        f'{{"problem": "good", "training": {good}}}',
        "not JSON",
        f'{{"problem": "cyclic", "training": {cyclic()}}}',
    ]
    path.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [BINARY, "import", str(path), "--stats", "--json"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    stats = json.loads(done.stdout)
    assert (stats["programs"], stats["imported"]) == (3, 1)
