"""Every key that is printed stands in its schema's section of docs/json.md, or for the terms of a program in
docs/demand.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import lightline
from lightline_under_test import ROOT

EXPORTED = ROOT / "examples" / "exported" / "convnet.json"
MATMUL = ROOT / "examples" / "loops" / "matmul.lir"
PAGE = (ROOT / "docs" / "json.md").read_text()
TERMS = (ROOT / "docs" / "demand.md").read_text()
LOOP_LANGUAGE = (ROOT / "docs" / "loop-ir.md").read_text()
BY_NAME = {"calls", "ops", "not_executable", "opaque", "macs"}  # keys of these are names of operators and dtypes


def code_of(text: str) -> set[str]:
    """The words between back quotes, and in blocks of code."""
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return set(re.findall(r"\w+", " ".join(blocks + spans)))


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for entry in value:
            yield from keys(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield key
            if key not in BY_NAME:
                yield from keys(entry)


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        (["run", MATMUL, "--json", "--backend", "c"], "run"),
        (["import", "corpus.jsonl"], "import"),
        (["import", EXPORTED, "--stats", "--json"], "import_stats"),
        (["operators", "--json"], "operators"),
        (["graph", EXPORTED, "--json"], "graph"),
        (["analyze", EXPORTED, "--json", "--explain", "--demand", "--measured", "10"], "analyze"),
        (["arch", "list", "--json"], "arch_list"),
        (["arch", "show", "B200", "--json"], "arch"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_printed_keys_are_documented(arguments: list[object], schema: str, tmp_path: Path) -> None:
    entry = {"problem": "p", "training": json.loads(EXPORTED.read_text())}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(entry) + "\n")
    printed = json.loads(lightline(*arguments, folder=tmp_path).stdout)
    assert printed["schema"] == f"lightline.{schema}"
    heading = f"## `lightline.{schema}`, version {printed['version']}\n"
    section = PAGE.split(heading)[1].split("\n## ")[0]
    named = code_of(section) | (code_of(TERMS) if schema == "analyze" else set())
    of_every_schema = {"schema", "version"}
    dtypes = code_of(LOOP_LANGUAGE.split("| dtypes |")[1].split("\n\n")[0])
    assert set(keys(printed)) - named - of_every_schema - dtypes == set()


ELEMENTS = "00002040" * 299 + "00008040"
CONSTANTS = f"""module @jit_f {{
  func.func public @main(%arg0: tensor<300xf32>) -> (tensor<300xf32>) {{
    %c = stablehlo.constant dense<"0x{ELEMENTS}"> : tensor<300xf32>
    %0 = stablehlo.add %arg0, %c : tensor<300xf32>
    return %0 : tensor<300xf32>
  }}
}}
"""


def test_sources_of_inputs_are_those_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "constants.mlir").write_text(CONSTANTS)
    printed = json.loads(lightline("run", "constants.mlir", "--json", folder=tmp_path).stdout)
    assert printed["file"] == "constants.mlir" and printed["program"] == "constants"
    sources = {entry["source"] for entry in printed["inputs"]}
    assert sources == {"random", "the program"}
    row = next(line for line in PAGE.splitlines() if line.startswith("| `inputs[].source`"))
    assert all(f'`"{source}"`' in row for source in sources)


@pytest.mark.parametrize(
    ("members", "called"),
    [
        ({}, "line 1"),
        ({"id": 7}, "7"),
        ({"id": "seven"}, "seven"),
        ({"name": "n", "id": 7}, "n"),
        ({"problem": "p", "name": "n"}, "p"),
        ({"id": 7.5}, "line 1"),
    ],
)
def test_entries_are_called_as_the_page_says(members: dict[str, Any], called: str, tmp_path: Path) -> None:
    entry = {**members, "training": json.loads(EXPORTED.read_text())}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(entry) + "\n")
    for command in (["import"], ["analyze", "--arch", "H200"]):
        assert json.loads(lightline(*command, "corpus.jsonl", folder=tmp_path).stdout)["program"] == called


def test_keys_of_an_entry_never_stand_for_ours(tmp_path: Path) -> None:
    theirs = ("ok", "error", "loops", "headroom", "measured_ms", "explain", "demand", "bounds_ms", "schema", "program")
    entry = {**dict.fromkeys(theirs, "theirs"), "sol_ms": 1.5, "training": json.loads(EXPORTED.read_text())}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(entry) + "\n")
    imported = json.loads(lightline("import", "corpus.jsonl", folder=tmp_path).stdout)
    analysed = json.loads(lightline("analyze", "corpus.jsonl", "--arch", "H200", folder=tmp_path).stdout)
    assert imported["sol_ms"] == analysed["sol_ms"] == 1.5
    assert (
        {"error", "loops"} & set(imported) == {"headroom", "measured_ms", "explain", "demand"} & set(analysed) == set()
    )
    assert imported["ok"] is True and imported["schema"] == "lightline.import" and analysed["bounds_ms"] != "theirs"
