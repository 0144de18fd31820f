"""Conformance cases as files, what `lightline_conform` says of them, and the report. Knows no framework."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from lightline_under_test import ROOT, SEED

from lightline.tensor_files import write_safetensors

BACKENDS = ("interpreter", "normal", "c")
Tolerance = tuple[float, float]  # absolute, relative


@dataclass
class Case:
    id: str
    operator: str
    dtype: str
    program: dict[str, Any] | str  # JSON of torch.export, or StableHLO text
    inputs: list[Any]
    outputs: list[Any]  # None: no such result
    written: dict[int, Any]  # inputs that are written in place, as they are afterwards
    tolerance: Tolerance | None = None
    runs: bool = True  # False: has a part that can not run, so only shapes and dtypes are checked


@dataclass
class Cases:
    """Cases of one file. `only` keeps the cases whose id contains it."""

    framework: ClassVar[str]
    name: str
    seed: int
    only: str = ""
    found: list[Case] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # cases that the framework itself does not accept
    refused: list[str] = field(default_factory=list)  # the same for forms that nobody asked for, which is no failure
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, target: str) -> int:
        """How many calls of `target` came before."""
        self.counts[target] = self.counts.get(target, -1) + 1
        return self.counts[target]

    def wants(self, identity: str) -> bool:
        return self.only in identity

    def seed_of(self, identity: str) -> int:
        return zlib.crc32(f"{self.seed} {identity}".encode())

    def is_broken(self, identity: str, error: Exception) -> None:
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = str(error).partition(chr(10))[0]
        self.broken.append(
            f"{identity}: {type(error).__name__}: {message} ({Path(place.filename).name}:{place.lineno})"
        )


def tolerance_for(dtype: Any, tolerance: Tolerance | dict[Any, Tolerance] | None) -> Tolerance | None:
    return tolerance.get(dtype) if isinstance(tolerance, dict) else tolerance


def case_files(folder: Path, prefix: str) -> list[str]:
    return sorted(path.stem.removeprefix(prefix) for path in folder.glob(f"{prefix}*.py"))


@dataclass
class Report:
    """What came of one case file."""

    name: str
    seed: int
    triples: int = 0  # cases, each an (operator, dtype, attributes) triple, that agree on every backend
    refused: int = 0  # forms that the framework does not accept and nobody asked for
    lowered: int = 0  # further cases that can not run, and whose shapes and dtypes agree
    spelled: int = 0  # cases with statements that their normal form leaves as they are
    failures: list[str] = field(default_factory=list)
    proved: dict[str, set[str]] = field(default_factory=dict)  # operator to dtypes without a failure
    agreed: list[Case] = field(default_factory=list)

    def summary(self) -> str:
        more = f", {self.lowered} lowered only" if self.lowered else ""
        more += f", {self.spelled} with statements that the normal form leaves as spelled" if self.spelled else ""
        more += f", {self.refused} in-place forms refused by the framework" if self.refused else ""
        return f"{self.name}: {self.triples} cases pass{more}, {len(self.failures)} fail (LIGHTLINE_SEED={self.seed})"


def write(suite: Cases, folder: Path) -> None:
    """cases.jsonl and data.safetensors, as lightline_conform reads them."""
    tensors: dict[str, Any] = {}
    with (folder / "cases.jsonl").open("w") as lines:
        for number, case in enumerate(suite.found):
            names: dict[str, Any] = {"inputs": [], "outputs": [], "written": {}}
            for kind, values in (("inputs", case.inputs), ("outputs", case.outputs)):
                for i, value in enumerate(values):
                    key = f"{number}.{kind}.{i}"
                    names[kind].append(key if value is not None else None)
                    if value is not None:
                        tensors[key] = value
            for i, value in case.written.items():
                names["written"][str(i)] = f"{number}.written.{i}"
                tensors[f"{number}.written.{i}"] = value
            line: dict[str, Any] = {"id": case.id, "runs": case.runs, **names, "program": case.program}
            if case.tolerance:
                line["tolerance"] = list(case.tolerance)
            lines.write(json.dumps(line) + "\n")
    write_safetensors(folder / "data.safetensors", tensors)


def run(suite: Cases, tool: Path, folder: Path, backends: Sequence[str] = BACKENDS) -> Report:
    write(suite, folder)
    command = [str(tool), str(folder), *(backends if len(backends) == 1 else ())]
    # compiled code of the tests stays out of the user's cache
    environment = {"LIGHTLINE_CACHE": str(tool.parent / "conformance-cache"), **os.environ}
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    report = Report(suite.name, suite.seed, refused=len(suite.refused))
    report.failures += [f"not accepted by {suite.framework}: {text}" for text in suite.broken]
    passed: dict[str, set[str]] = {}
    failed: dict[str, str] = {}
    for line in process.stdout.splitlines():
        result = json.loads(line)
        if result["pass"]:
            passed.setdefault(result["id"], set()).add(result["backend"])
            report.spelled += result["backend"] == "normal" and bool(result["message"])
        else:
            failed[result["id"]] = failed.get(result["id"], "") + f"\n    {result['backend']}: {result['message']}"
    disproved: set[tuple[str, str]] = set()
    for case in suite.found:
        wanted = set(backends) if case.runs else {"lowering"}
        if case.id not in failed and passed.get(case.id, set()) >= wanted:
            report.agreed.append(case)
            report.triples += case.runs
            report.lowered += not case.runs
            if case.runs and not case.operator.startswith("module "):
                report.proved.setdefault(case.operator, set()).add(case.dtype)
        else:
            reason = failed.get(case.id, f"\n    no result; lightline_conform ended with code {process.returncode}")
            report.failures.append(f"{case.id}{reason}")
            disproved.add((case.operator, case.dtype))
    for name, dtype in disproved:
        report.proved.get(name, set()).discard(dtype)
    report.proved = {name: dtypes for name, dtypes in report.proved.items() if dtypes}
    return report


def record(build: Path, family: str, triples: int, proved: dict[str, set[str]]) -> None:
    """build/conformance.json: for each operator the dtypes that its definition was proved for."""
    path = build / "conformance.json"
    summary = json.loads(path.read_text()) if path.exists() else {"schema": "lightline.conformance", "version": 1}
    families = summary.setdefault("families", {})
    families[family] = {
        "triples": triples,
        "operators": {name: sorted(dtypes) for name, dtypes in sorted(proved.items())},
    }
    summary["families"] = dict(sorted(families.items()))
    path.write_text(json.dumps(summary, indent=1) + "\n")


def command_line(description: str | None, case_files: Sequence[str], collect: Callable[[str, int, str], Cases]) -> int:
    """Runs case files, all of them or those that are named, and prints what comes of each."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("-k", dest="only", default="")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="one backend only")
    parser.add_argument("--keep", type=Path, help="write cases.jsonl and data.safetensors here and leave them")
    options = parser.parse_args()
    failed = False
    for name in options.names or case_files:
        suite = collect(name, SEED, options.only)
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            report = run(suite, options.build / "tests" / "lightline_conform", folder, options.backend or BACKENDS)
        for failure in report.failures:
            print("FAIL", failure)
        print(report.summary(), f"{len(report.proved)} operators")
        failed |= bool(report.failures)
    return 1 if failed else 0
