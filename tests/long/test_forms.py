"""The two exported forms of one program have the same bounds: KernelBench, SOL-ExecBench, and the models of the zoo.

Written products are held against torch.utils.flop_counter, too. `--table [corpus] [zoo] [NAME...]` as a script prints
what differs and why, where `exceptions.toml` says so. Long: runs with LIGHTLINE_LONG=1 (make test-long); corpora are
read from the folder that LIGHTLINE_DATA names, ../shared/data if it does not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / folder) for folder in ("python", "tests/support", "tests/long")]

from lightline_under_test import BINARY, LONG, ROOT

if not LONG and __name__ != "__main__":
    pytest.skip("long: set LIGHTLINE_LONG=1 or run make test-long", allow_module_level=True)
torch = pytest.importorskip("torch")

import zoo  # noqa: E402

DATA = Path(os.environ.get("LIGHTLINE_DATA", ROOT.parent / "shared" / "data"))
CORPORA = [
    "kernelbench/level1.jsonl.xz",
    "kernelbench/level2.jsonl.xz",
    "sol-execbench/b200.jsonl.xz",
]
TOLERANCE = 0.01
EXCEPTIONS = tomllib.loads((Path(__file__).parent / "exceptions.toml").read_text())
WRITTEN = "written"  # the report's products as written; without it, those of its operators one by one


def analyses(path: Path, form: str) -> dict[str, dict[str, Any]]:
    command = [str(BINARY), "analyze", str(path), "--arch", "H200", "--json", "--form", form, "--top", "100000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    return {f"{place}:{report['program']}": report for place, report in enumerate(reports)}


def analysis(path: Path) -> dict[str, Any]:
    command = [str(BINARY), "analyze", str(path), "--arch", "H200", "--json", "--top", "100000"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def quantities(report: dict[str, Any]) -> dict[str, float]:
    """What both forms must agree on. The floor's products show in its time."""
    if "bounds_ms" not in report:
        return {}
    return {
        "products": sum(report["macs"].values()),
        "bytes of fused": report["bytes"]["fused"],
        "bytes of floor": report["bytes"]["floor"],
        "time of floor": report["bounds_ms"]["floor"],
    }


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    found = []
    mine, theirs = quantities(one), quantities(other)
    if bool(mine) != bool(theirs):
        return ["only one form has bounds"]
    for name, value in mine.items():
        if abs(value - theirs[name]) > TOLERANCE * max(value, theirs[name]):
            found.append(f"{name}: traced {value:.6g}, decomposed {theirs[name]:.6g}")
    if found:
        lost = [*one.get("given_up", []), "|", *other.get("given_up", [])]
        found.append(f"given up: {'; '.join(lost)}") if len(lost) > 1 else None
    return found


def written_products(report: dict[str, Any]) -> float:
    if WRITTEN in report:
        return report[WRITTEN]["macs"]
    return sum(operator["macs"] for operator in report["operators"])


def flop_gap(report: dict[str, Any], flops: int) -> str | None:
    """The counter sees matrix products, convolutions and attention; two operations are one product."""
    written = written_products(report)
    if abs(written - flops / 2) <= TOLERANCE * flops / 2:
        return None
    return f"written {written:.6g}, flop counter {flops / 2:.6g}"


def unexplained(report: dict[str, Any]) -> float:
    """Of the written products, what neither is needed nor has a reason."""
    written = report[WRITTEN]
    return written["macs"] - sum(reason["macs"] for reason in written["reasons"]) - written["needed"]


def corpus_rows(corpus: str) -> Iterator[tuple[str, list[str]]]:
    traced, decomposed = (analyses(DATA / corpus, form) for form in ("training", "core"))
    for name, report in traced.items():
        yield name, differences(report, decomposed[name]) if name in decomposed else ["no second form"]


@pytest.mark.parametrize("corpus", CORPORA)
def test_forms_of_a_corpus_agree(corpus: str) -> None:
    if not (DATA / corpus).exists():
        pytest.skip(f"{DATA / corpus} is not here")
    apart = {name for name, found in corpus_rows(corpus) if found}
    assert apart == set(EXCEPTIONS.get("corpus", {}).get(corpus, {}))


@pytest.fixture(params=zoo.MODELS, ids=lambda model: model.name)
def model_files(request: pytest.FixtureRequest) -> tuple[str, dict[str, Path]]:
    try:
        return request.param.name, zoo.captured(request.param)
    except zoo.NotInstalledError as error:
        pytest.skip(f"{request.param.name}: {error}")


def test_forms_of_a_model_agree(model_files: tuple[str, dict[str, Path]]) -> None:
    name, files = model_files
    found = differences(analysis(files["training"]), analysis(files["core"]))
    assert bool(found) == (name in EXCEPTIONS.get("forms", {})), found or "the forms agree, and are still listed"


def test_written_products_are_those_of_the_flop_counter(model_files: tuple[str, dict[str, Path]]) -> None:
    name, files = model_files
    gap = flop_gap(analysis(files["training"]), int(files["flops"].read_text()))
    assert bool(gap) == (name in EXCEPTIONS.get("flops", {})), gap or "they agree, and are still listed"


def test_written_products_less_the_reasons_are_the_needed_ones(model_files: tuple[str, dict[str, Path]]) -> None:
    _, files = model_files
    for form in ("training", "core"):
        report = analysis(files[form])
        assert abs(unexplained(report)) <= 1e-9 * report[WRITTEN]["macs"]


def print_corpora() -> None:
    for corpus in CORPORA:
        rows = list(corpus_rows(corpus))
        wrong = [(name, found) for name, found in rows if found]
        print(f"{corpus}: {len(rows)} pairs, {len(wrong)} differ")
        for name, found in wrong:
            print(f"  {name}: {'; '.join(found)}")


def print_zoo(wanted: list[str]) -> None:
    for model in zoo.MODELS:
        if wanted and model.name not in wanted:
            continue
        try:
            files = zoo.captured(model)
            traced, decomposed = analysis(files["training"]), analysis(files["core"])
        except subprocess.CalledProcessError as error:
            print(f"{model.name:20} analyze fails: {error.stderr.strip()[:200]}", flush=True)
            continue
        except Exception as error:
            print(f"{model.name:20} {type(error).__name__}: {str(error).splitlines()[0][:200]}", flush=True)
            continue
        found = differences(traced, decomposed)
        gap = flop_gap(traced, int(files["flops"].read_text()))
        print(
            f"{model.name:20} {sum(traced['macs'].values()):.5g} {'; '.join(found) or 'agree'} | {gap or 'as counted'}",
            flush=True,
        )


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    words = [word for word in sys.argv[1:] if word != "--table"]
    if "corpus" in words or not words:
        print_corpora()
    if words != ["corpus"]:
        print_zoo([word for word in words if word not in ("corpus", "zoo")])
