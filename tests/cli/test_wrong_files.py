"""Files that are no program, or not one: what they are, and which commands take them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import lightline, refused
from lightline_under_test import ROOT

EXPORTED = ROOT / "examples" / "exported" / "convnet.json"
ELEMENTS = "00002040" * 299 + "00008040"
CONSTANTS = f"""module @jit_f {{
  func.func public @main(%arg0: tensor<300xf32>) -> (tensor<300xf32>) {{
    %c = stablehlo.constant dense<"0x{ELEMENTS}"> : tensor<300xf32>
    %0 = stablehlo.add %arg0, %c : tensor<300xf32>
    return %0 : tensor<300xf32>
  }}
}}
"""


@pytest.mark.parametrize("command", [["run"], ["emit", "--c"], ["fmt"]], ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("name", "what", "who"),
    [
        ("corpus.jsonl", "this is a corpus", "lightline import, analyze and check"),
        ("samples.tar", "this is a corpus", "lightline import, analyze and check"),
        ("machine.toml", "this is a machine file", "lightline analyze FILE --arch"),
        ("model.py", "this is Python source", "lightline validate"),
        ("x.npz", "this is tensors", "--input NAME=FILE"),
    ],
)
def test_a_file_of_another_kind_is_named(command: list[str], name: str, what: str, who: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(json.dumps({"training": {}}) + "\n")
    said = refused(*command, name, folder=tmp_path)
    assert said.startswith(f"{name}: error: {what}")
    assert who in said


def test_fmt_says_that_a_program_of_a_framework_is_none_of_loops() -> None:
    said = refused("fmt", EXPORTED)
    assert "this is a program of a framework, not loops" in said
    assert "lightline import" in said


def test_import_names_the_values_that_stay_behind_and_writes_them(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(CONSTANTS)
    plain = lightline("import", "m.mlir", "-o", "m.lir", folder=tmp_path)
    assert plain.returncode == 0
    assert (
        "the loops take as inputs what the file carries the values of: constant1; --values FILE writes them"
        in plain.stderr
    )
    written = lightline("import", "m.mlir", "-o", "m.lir", "--values", "m.npz", folder=tmp_path)
    assert (written.returncode, written.stderr) == (0, "")
    both = [
        json.loads(lightline("run", *words, "--json", folder=tmp_path).stdout)["outputs"][0]["checksum"]
        for words in (["m.mlir"], ["m.lir", "--inputs", "m.npz"])
    ]
    assert both[0] == both[1]
