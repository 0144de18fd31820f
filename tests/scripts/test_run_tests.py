"""scripts/run_tests reads the reports of both test programs: outcomes, and seconds per room."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from lightline_under_test import ROOT


@pytest.fixture(scope="module")
def run_tests() -> ModuleType:
    path = ROOT / "scripts" / "run_tests"
    loader = importlib.machinery.SourceFileLoader("run_tests", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    sys.modules["run_tests"] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


def gtest_case(name: str, file: str, seconds: str, **more: object) -> dict[str, object]:
    return {"name": name, "file": str(ROOT / file), "status": "RUN", "result": "COMPLETED", "time": seconds, **more}


def test_a_report_of_googletest(run_tests: ModuleType, tmp_path: Path) -> None:
    cases = [
        gtest_case("Passes", "tests/loops/ir/print_test.cpp", "0.25s"),
        gtest_case("Fails", "tests/loops/ir/print_test.cpp", "0.5s", failures=[{"failure": "1 is not 2"}]),
        gtest_case("Skips", "tests/loops/ir/print_test.cpp", "0s", result="SKIPPED"),
        gtest_case("IsLeftOut", "tests/loops/ir/print_test.cpp", "0s", status="NOTRUN"),
    ]
    other = [gtest_case("Passes", "tests/base/file_test.cpp", "0.125s")]
    suites = [
        {"name": "Print", "time": "2s", "testsuite": cases},
        {"name": "File", "time": "0.125s", "testsuite": other},
    ]
    report = tmp_path / "gtest.json"
    report.write_text(json.dumps({"testsuites": suites}))
    outcome = run_tests.read_gtest(report)
    assert (outcome.passed, outcome.failed, outcome.skipped) == (2, ["Print.Fails"], ["Print.Skips"])
    assert {name: (room.tests, room.seconds) for name, room in outcome.rooms.items()} == {
        "loops/ir": (3, 2.0),  # with 1.25 seconds that the suite spent for all of its tests
        "base": (1, 0.125),
    }


def test_a_report_of_pytest(run_tests: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "pytest.xml"
    report.write_text(
        "<testsuites><testsuite>"
        '<testcase classname="tests.cli.test_cli" name="test_passes" time="1.5"/>'
        '<testcase classname="tests.cli.test_cli.TestClass" name="test_fails" time="0.5"><failure/></testcase>'
        '<testcase classname="tests.frontend.fx.test_graphnet" name="test_breaks" time="0"><error/></testcase>'
        '<testcase classname="" name="tests.long.test_vision" time="0"><skipped message="long"/></testcase>'
        "</testsuite></testsuites>"
    )
    outcome = run_tests.read_junit(report)
    assert outcome.passed == 1
    assert len(outcome.failed) == 2
    assert outcome.skipped == ["tests.long.test_vision (long)"]
    assert {name: (room.tests, room.seconds) for name, room in outcome.rooms.items()} == {
        "cli": (2, 2.0),
        "frontend/fx": (1, 0.0),
        "long": (1, 0.0),
    }


def test_the_table_has_the_slowest_room_first(run_tests: ModuleType) -> None:
    rooms = {"base": run_tests.Room(12, 0.25), "loops/ir": run_tests.Room(3, 10)}
    assert run_tests.room_table(rooms, 12.34).splitlines() == [
        "room               tests  seconds",
        "loops/ir               3     10.0",
        "base                  12      0.2",
        "all, by the clock     15     12.3",
    ]
