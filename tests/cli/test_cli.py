"""The command line from outside: every command but run, its exit codes, its texts, its files."""

from __future__ import annotations

import gzip
import json
import math
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from command_line import ADD, BROKEN, EXAMPLES, MATMUL, lightline
from lightline_under_test import BINARY, ROOT

COMMANDS = re.findall(
    r"^  (\w+) {2,}", lightline("--help").stdout.split("Subcommands:")[1].split("Examples:")[0], re.MULTILINE
)

# ---- the program as a whole ----


def test_version_is_the_one_in_the_files() -> None:
    version = (ROOT / "VERSION").read_text().strip()
    assert lightline("--version").stdout == f"lightline {version}\n"
    assert f'__version__ = "{version}"' in (ROOT / "python" / "lightline" / "__init__.py").read_text()


def test_help_names_every_command_and_exit_code() -> None:
    result = lightline("--help")
    assert result.returncode == 0 and result.stderr == ""
    assert len(COMMANDS) >= 10 and set(COMMANDS) >= {"check", "import", "analyze", "arch", "completion"}
    for word in ("Examples:", "Exit codes: 0 done, 1"):
        assert word in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str) -> None:
    result = lightline(command, "--help")
    assert result.returncode == 0
    assert f"Usage: lightline {command}" in result.stdout
    assert len(re.findall(rf"^  .*lightline {command}", result.stdout.split("Examples:")[1], re.MULTILINE)) >= 2


@pytest.mark.parametrize("command", ["check", "run", "emit", "import", "analyze"])
def test_help_names_every_kind_of_program(command: str) -> None:
    text = " ".join(lightline(command, "--help").stdout.split())
    for kind in ("exported program (.pt2 or JSON)", "StableHLO text", "GraphNet sample", "standard input"):
        assert kind in text
    assert ("a corpus" in text) == (command not in ("run", "emit"))
    assert ("Loops, an" in text) == (command != "import")


def test_no_command_prints_help_to_stderr() -> None:
    result = lightline()
    assert result.returncode == 2 and result.stdout == "" and "Usage: lightline" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["chek"], "error: unknown command 'chek'\n  hint: did you mean 'check'?\n"),
        (["rnu", "x.lir"], "error: unknown command 'rnu'\n  hint: did you mean 'run'?\n"),
        (["frobnicate"], "error: unknown command 'frobnicate'\n  hint: see lightline --help\n"),
        (["run", "x.lir", "--sede", "3"], "error: unknown option '--sede'\n  hint: did you mean '--seed'?\n"),
        (["run", "x.lir", "y.lir"], "error: unexpected argument 'y.lir'\n  hint: see lightline run --help\n"),
        (["check"], "error: FILE is required\n  hint: see lightline check --help\n"),
        (
            ["emit", "x.lir"],
            "error: one of --c, --schedule, --plan and --normal-form is required\n  hint: see lightline emit --help\n",
        ),
    ],
)
def test_usage_errors(arguments: list[str], expected: str) -> None:
    result = lightline(*arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", expected)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", MATMUL, "--backend", "fortran"],
        ["run", MATMUL, "--repeat", "0"],
        ["run", MATMUL, "--seed", "-1"],
        ["run", MATMUL, "--threads", "many"],
        ["completion", "tcsh"],
        ["fmt", MATMUL, "--check", "--write"],
    ],
)
def test_bad_option_values(arguments: list[object]) -> None:
    result = lightline(*arguments)
    assert result.returncode == 2 and result.stdout == "" and result.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["emit", MATMUL, "--c", "--with-schedule", ""], "--with-schedule"),
        (["emit", MATMUL, "--c", "-o", ""], "--output"),
        (["emit", MATMUL, "--c", "--output="], "--output"),
        (["run", MATMUL, "-o", ""], "--output"),
        (["run", MATMUL, "--output=", "--json"], "--output"),
        (["run", MATMUL, "--inputs", ""], "--inputs"),
        (["run", MATMUL, "-i", ""], "--input"),
        (["run", MATMUL, "--seed", ""], "--seed"),
        (["run", MATMUL, "--backend", ""], "--backend"),
        (["import", MATMUL, "-o", ""], "--output"),
        (["analyze", MATMUL, "--clock", ""], "--clock"),
        (["analyze", MATMUL, "--retype", ""], "--retype"),
        (["analyze", MATMUL, "--measured", ""], "--measured"),
        (["arch", "show", "H200", "--clock", ""], "--clock"),
        (["operators", ""], "TARGET"),
        (["check", MATMUL, ""], "FILE"),
        (["fmt", ""], "FILE"),
    ],
    ids=lambda value: " ".join(str(word) for word in value[:1] + value[2:]) if isinstance(value, list) else value,
)
def test_empty_values_are_refused(arguments: list[object], name: str) -> None:
    result = lightline(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {name}: the value is empty\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyze", "--top", "-1"], "--top: '-1' is not a whole number that is not negative"),
        (["analyze", "--top", "99999999999999999999"], "--top: 99999999999999999999 is not within 0 to 1000000"),
        (["analyze", "--top", "1000001"], "--top: 1000001 is not within 0 to 1000000"),
        (["analyze", "--top", "0x10"], "--top: '0x10' is not a whole number that is not negative"),
        (["analyze", "--measured", "nan"], "--measured: nan is not within 1e-09 to 1000000000000"),
        (["analyze", "--measured", "inf"], "--measured: inf is not within 1e-09 to 1000000000000"),
        (["analyze", "--measured", "1e308"], "--measured: 1e+308 is not within 1e-09 to 1000000000000"),
        (["analyze", "--measured", "1e400"], "--measured: 1e400 is not within 1e-09 to 1000000000000"),
        (["analyze", "--measured", "0"], "--measured: 0 is not within 1e-09 to 1000000000000"),
        (["analyze", "--measured", "1ms"], "--measured: '1ms' is not a number"),
        (["analyze", "--math", "f32"], "--math: 'f32' is not one of strict, tf32, fast16"),
        (["validate", "--scale", "nan"], "--scale: nan is not within 0.0001 to 1"),
        (["validate", "--workload", "-1"], "--workload: '-1' is not a whole number that is not negative"),
        (["validate", "--seed", "-1"], "--seed: '-1' is not a whole number that is not negative"),
        (["validate", "--seed", "9007199254740993"], "--seed: 9007199254740993 is not within 0 to 9007199254740992"),
        (["run", "--seed", "-1"], "--seed: '-1' is not a whole number that is not negative"),
        (["run", "--threads", "4097"], "--threads: 4097 is not within 0 to 4096"),
        (["run", "--repeat", "0"], "--repeat: 0 is not within 1 to 1000000"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_values_obey_the_rules_of_the_library(arguments: list[str], message: str) -> None:
    result = lightline(arguments[0], MATMUL, *arguments[1:])
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {message}\n")


def test_numbers_are_decimal() -> None:
    largest = 2**53
    assert f"seed {largest}\n" in lightline("run", MATMUL, "--seed", largest).stdout
    assert "seed 10\n" in lightline("run", MATMUL, "--seed", "010").stdout


def test_import_takes_no_loops(add: Path) -> None:
    add.write_text("# What it is.\n\n" + add.read_text())
    result = lightline("import", add)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"{add}: error: this is a loop program already\n")


def test_a_full_disk_is_noticed() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with Path("/dev/full").open("w") as full:
        result = subprocess.run([BINARY, "fmt", MATMUL], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 2 and "can not write to standard output" in result.stderr


# ---- check ----


def test_check_accepts_all_examples() -> None:
    result = lightline("check", *EXAMPLES)
    assert result.returncode == 0 and result.stderr == ""
    assert len(EXAMPLES) == 12 and result.stdout.count(": ok, program ") == 12


def test_check_says_what_it_saw(add: Path) -> None:
    expected = f"{add}: ok, program add with 2 inputs, 1 output and 1 statement\n"
    assert lightline("check", add).stdout == expected
    assert lightline("check", "--quiet", add).stdout == ""


def test_check_points_at_the_mistake(broken: Path) -> None:
    result = lightline("check", broken.name, folder=broken.parent)
    assert result.returncode == 2 and result.stdout == ""
    first, source, caret = result.stderr.splitlines()[:3]
    assert first.startswith("broken.lir:2:") and ": error: " in first
    assert source == "    2 |   y: f32[4] = for i: x[i + 1]"
    column = int(first.split(":")[2])
    assert caret == "      | " + " " * (column - 1) + "^"


def test_check_goes_on_after_a_bad_file(add: Path, broken: Path, tmp_path: Path) -> None:
    result = lightline("check", broken, add)
    assert result.returncode == 2 and "add.lir: ok" in result.stdout
    assert lightline("check", broken, tmp_path / "missing.lir", add).returncode == 2


def test_check_reads_standard_input() -> None:
    assert lightline("check", "-", text=ADD).stdout.startswith("<stdin>: ok")
    result = lightline("check", "-", text=BROKEN)
    assert result.returncode == 2 and result.stderr.startswith("<stdin>:2:")


def test_missing_and_binary_files_are_bad_input(tmp_path: Path) -> None:
    result = lightline("check", tmp_path / "missing.lir")
    assert result.returncode == 2 and "missing.lir" in result.stderr and "error: " in result.stderr
    (tmp_path / "binary.lir").write_bytes(bytes(range(256)))
    assert lightline("check", tmp_path / "binary.lir").returncode == 2
    assert lightline("check", tmp_path).returncode == 2


def test_a_long_source_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "long.lir"
    path.write_text("program p(x: f32[4]) -> (x) { " + " " * 5000 + "? }\n")
    result = lightline("check", path)
    assert result.returncode == 2
    assert max(map(len, result.stderr.splitlines()[1:])) < 200


def on_terminal(environment: dict[str, str], *arguments: object) -> str:
    """What the program writes to a terminal on stderr."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([BINARY, *map(str, arguments)], stderr=theirs, env={**os.environ, **environment}) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            written += chunk
        process.wait(timeout=60)
    os.close(ours)
    return written.decode()


def test_colours_only_on_a_terminal(broken: Path) -> None:
    assert "\033[" not in lightline("check", broken).stderr
    assert "\033[" in on_terminal({"NO_COLOR": "", "TERM": "xterm"}, "check", broken)
    assert "\033[" not in on_terminal({"NO_COLOR": "1", "TERM": "xterm"}, "check", broken)
    assert "\033[" not in on_terminal({"NO_COLOR": "", "TERM": "dumb"}, "check", broken)


# ---- fmt ----

UGLY = "program  add(x:f32[2,3],y:f32[2,3])->(z){z:f32[2,3]=for i,j:((x[i,j])+y[i,j])}"


def test_fmt_prints_canonical_form(tmp_path: Path) -> None:
    path = tmp_path / "ugly.lir"
    path.write_text(UGLY)
    assert lightline("fmt", path).stdout == ADD
    assert lightline("fmt", "-", text=UGLY).stdout == ADD
    assert path.read_text() == UGLY


def test_fmt_check_and_write(tmp_path: Path, add: Path) -> None:
    path = tmp_path / "ugly.lir"
    path.write_text(UGLY)
    result = lightline("fmt", "--check", path, add)
    assert (result.returncode, result.stdout) == (1, f"{path}: not in canonical form\n")
    before = add.stat().st_mtime_ns
    result = lightline("fmt", "-w", path, "-", text=UGLY)
    assert result.returncode == 2 and path.read_text() == UGLY
    result = lightline("fmt", "-w", path, add)
    assert (result.returncode, result.stdout) == (0, f"{path}: rewritten\n")
    assert path.read_text() == ADD and add.stat().st_mtime_ns == before
    assert lightline("fmt", "--check", path, add).returncode == 0


def test_fmt_keeps_comments() -> None:
    text = "# What it is.\n" + ADD.replace("y[i, j]\n", "y[i, j]  # the sum\n")
    assert lightline("fmt", "-", text=text).stdout == text


def test_fmt_rejects_what_it_can_not_parse(tmp_path: Path) -> None:
    path = tmp_path / "bad.lir"
    path.write_text("program p( -> ()")
    result = lightline("fmt", "--write", path)
    assert result.returncode == 2 and f"{path}:1:" in result.stderr and path.read_text() == "program p( -> ()"
    assert lightline("fmt", "--write", "-", text=ADD).returncode == 2
    packed = tmp_path / "packed.lir.gz"
    packed.write_bytes(gzip.compress(b"program   p(x: f32[2]) -> (y) { y: f32[2] = for i: x[i]+1 }"))
    before = packed.read_bytes()
    refused = lightline("fmt", "--write", packed)
    assert (refused.returncode, "is compressed" in refused.stderr) == (2, True)
    assert packed.read_bytes() == before


def test_examples_are_canonical() -> None:
    assert lightline("fmt", "--check", *EXAMPLES).returncode == 0


# ---- emit ----


def test_emit_prints_c_that_compiles(tmp_path: Path) -> None:
    result = lightline("emit", MATMUL, "--c")
    assert result.returncode == 0 and "lightline_main" in result.stdout
    out = tmp_path / "matmul.c"
    assert lightline("emit", MATMUL, "--c", "-o", out).stdout == ""
    assert out.read_text() == result.stdout
    subprocess.run(["cc", "-std=gnu11", "-c", out, "-o", tmp_path / "matmul.o"], check=True)
    assert lightline("emit", "-", "--c", text=ADD).returncode == 0


def test_emit_prints_a_schedule_or_a_plan() -> None:
    schedule = "schedule matmul {\n  kernel product {\n    c: for i, j, k\n  }\n}\n"
    assert lightline("emit", MATMUL, "--schedule").stdout == schedule
    plan = lightline("emit", MATMUL, "--plan").stdout
    assert plan.startswith("plan matmul on cpu {\n") and "on blocks i by any, blocks j by any, lanes j" in plan
    for flags in (["--c", "--plan"], ["--c", "--schedule"], ["--schedule", "--plan"]):
        result = lightline("emit", MATMUL, *flags)
        assert (result.returncode, result.stdout) == (2, "") and "error: " in result.stderr


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda path: Path(path).stem)
def test_emit_prints_a_normal_form_that_gives_the_same(program: Path, tmp_path: Path) -> None:
    normal = tmp_path / "normal.lir"
    assert lightline("emit", program, "--normal-form", "-o", normal).returncode == 0
    assert lightline("check", normal).returncode == 0
    original = json.loads(lightline("run", program, "--seed", "3", "--json").stdout)["outputs"]
    again = json.loads(lightline("run", normal, "--seed", "3", "--json").stdout)["outputs"]
    assert [output["name"] for output in again] == [output["name"] for output in original]
    for before, after in zip(original, again, strict=True):
        assert (after["dtype"], after["shape"]) == (before["dtype"], before["shape"])
        assert math.isclose(after["mean"], before["mean"], rel_tol=1e-3, abs_tol=1e-5)


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda path: Path(path).stem)
def test_emit_follows_the_schedule_it_printed(program: Path, tmp_path: Path) -> None:
    schedule = tmp_path / "schedule"
    assert lightline("emit", program, "--schedule", "-o", schedule).returncode == 0
    followed = lightline("emit", program, "--c", "--with-schedule", schedule)
    assert followed.returncode == 0 and followed.stdout == lightline("emit", program, "--c").stdout


def test_emit_follows_another_schedule(tmp_path: Path) -> None:
    loops = "schedule matmul {\n  kernel {\n    c: for i, j, k\n  }\n}\n"
    result = lightline("emit", MATMUL, "--c", "--with-schedule", "-", text=loops)
    assert result.returncode == 0 and "ll_multiply" not in result.stdout
    assert "ll_multiply" in lightline("emit", MATMUL, "--c").stdout
    assert "--with-schedule" in complete_in_bash(["lightline", "emit", "--wi"])


def test_emit_refuses_bad_schedules(tmp_path: Path) -> None:
    schedule = tmp_path / "bad"
    cases = {
        "schedule matmul {\n  kernel {\n    c: for i, j, q\n  }\n}\n": ":3:18: error: ",
        "schedule matmul {\n  kernel {\n    c: for i, j\n  }\n}\n": ":3:5: error: 'c' needs a loop over",
        "schedule matmul {\n  kernel {\n    c: for k, i, j\n  }\n}\n": ":3:5: error: 'c' has an order of loops that",
    }
    for text, message in cases.items():
        schedule.write_text(text)
        result = lightline("emit", MATMUL, "--c", "--with-schedule", schedule)
        assert (result.returncode, result.stdout) == (2, "") and result.stderr.startswith(f"{schedule}{message}")
    unused = [["--c", "--with-schedule", tmp_path / "none"], ["--with-schedule", schedule]]
    for arguments in [*unused, ["--plan", "--with-schedule", schedule]]:
        assert lightline("emit", MATMUL, *arguments).returncode == 2
    assert lightline("emit", "-", "--c", "--with-schedule", "-", text=ADD).returncode == 2


def test_emit_failures(broken: Path, tmp_path: Path) -> None:
    assert lightline("emit", broken, "--c").returncode == 2
    result = lightline("emit", MATMUL, "--c", "-o", tmp_path / "no" / "folder.c")
    assert result.returncode == 2 and "error: " in result.stderr


# ---- completion ----


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell: str) -> None:
    script = lightline("completion", shell).stdout
    for word in ("check", "fmt", "run", "emit", "completion", "backend", "seed", "interp c", "bash zsh fish"):
        assert word in script


def complete_in_bash(line: list[str]) -> list[str]:
    script = lightline("completion", "bash").stdout
    words = " ".join(f"'{word}'" for word in line)
    probe = (
        f'{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _lightline; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    return subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completion_works() -> None:
    assert complete_in_bash(["lightline", "ch"]) == ["check"]
    assert complete_in_bash(["lightline", "run", "--ba"]) == ["--backend"]
    assert complete_in_bash(["lightline", "run", "x.lir", "--backend", ""]) == ["interp", "c"]
    assert complete_in_bash(["lightline", "completion", "f"]) == ["fish"]
    assert complete_in_bash(["lightline", "check", str(MATMUL)[:-1]]) == [str(MATMUL)]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "frontend" / "data").glob("*.pt2")), ids=lambda path: path.stem
)
def test_imported_programs_are_canonical_text(path: Path) -> None:
    imported = lightline("import", path)
    assert imported.returncode == 0, imported.stderr
    assert lightline("check", "-", text=imported.stdout).returncode == 0
    assert lightline("fmt", "-", text=imported.stdout).stdout == imported.stdout


# ---- what an analysis says beside its bounds ----


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--retype", "f32=bf16"], "the program is priced as if written with f32=bf16"),
        (["--retype", "f16=bf16"], "retype f16=bf16 changes nothing: the program has no f16 tensors"),
        (["--values"], "values changes nothing: the program file carries no values of integer inputs"),
    ],
)
def test_analyze_says_what_options_changed(options: list[str], words: str) -> None:
    assert f"assumption: {words}\n" in lightline("analyze", MATMUL, *options).stdout


def test_analyze_says_where_it_gave_up() -> None:
    assert "given up: nothing\n" in lightline("analyze", MATMUL, "--explain").stdout
    assert "given up" not in lightline("analyze", MATMUL).stdout
    text = lightline("analyze", MATMUL, "--explain", "--json").stdout
    assert json.loads(text)["explain"] == []


def test_analyze_lists_the_demand_of_terms() -> None:
    document = json.loads(lightline("analyze", MATMUL, "--demand", "--json").stdout)
    products = [term for term in document["demand"] if "macs" in term["work"]]
    assert sum(sum(term["work"]["macs"].values()) for term in products) == sum(document["macs"].values())
    inputs = {term["term"]: term["elements"] for term in document["demand"] if term["kind"] == "input"}
    assert {read["term"]: read["elements"] for read in products[0]["reads"]} == inputs
    assert "MAC" in lightline("analyze", MATMUL, "--demand").stdout


def test_completion_and_help_know_the_options_of_analyze() -> None:
    for shell in ("bash", "zsh", "fish"):
        script = lightline("completion", shell).stdout
        assert "explain" in script and "demand" in script, shell
    text = lightline("analyze", "--help").stdout
    assert "--explain" in text and "--demand" in text
