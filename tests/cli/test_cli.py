"""The command line from outside: every command, its exit codes, its texts, its files."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from lightline_under_test import BINARY, ROOT

np = pytest.importorskip("numpy")

EXAMPLES = sorted((ROOT / "examples" / "loops").glob("*.lir"))
MATMUL = ROOT / "examples" / "loops" / "matmul.lir"

ADD = """program add(x: f32[2, 3], y: f32[2, 3]) -> (z) {
  z: f32[2, 3] = for i, j: x[i, j] + y[i, j]
}
"""
# The read of x leaves its array at i = 3.
BROKEN = """program broken(x: f32[4]) -> (y) {
  y: f32[4] = for i: x[i + 1]
}
"""

Completed = subprocess.CompletedProcess


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTLINE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def lightline(*arguments: object, text: str | None = None, folder: Path | None = None) -> Completed[str]:
    command = [BINARY, *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, timeout=120, check=False)


@pytest.fixture
def add(tmp_path: Path) -> Path:
    path = tmp_path / "add.lir"
    path.write_text(ADD)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.lir"
    path.write_text(BROKEN)
    return path


# ---- the program as a whole ----


def test_version_is_the_one_in_the_files() -> None:
    version = (ROOT / "VERSION").read_text().strip()
    assert lightline("--version").stdout == f"lightline {version}\n"
    assert f'__version__ = "{version}"' in (ROOT / "python" / "lightline" / "__init__.py").read_text()


def test_help_names_every_command_and_exit_code() -> None:
    result = lightline("--help")
    assert result.returncode == 0 and result.stderr == ""
    for word in ("check", "fmt", "run", "emit", "completion", "Examples:", "Exit codes: 0 done, 1"):
        assert word in result.stdout


@pytest.mark.parametrize("command", ["check", "fmt", "run", "emit", "completion"])
def test_every_command_has_help_with_examples(command: str) -> None:
    result = lightline(command, "--help")
    assert result.returncode == 0
    assert f"Usage: lightline {command}" in result.stdout
    assert len(re.findall(rf"^  .*lightline {command}", result.stdout.split("Examples:")[1], re.MULTILINE)) >= 2


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
            "error: one of --c, --schedule and --plan is required\n  hint: see lightline emit --help\n",
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


def test_examples_are_canonical() -> None:
    assert lightline("fmt", "--check", *EXAMPLES).returncode == 0


# ---- run ----


def run_json(*arguments: object, text: str | None = None) -> dict:
    result = lightline("run", *arguments, "--json", text=text)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def splitmix64(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        z = x + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def random_f32(shape: tuple[int, ...], seed: int) -> np.ndarray:
    u = splitmix64(np.uint64(seed << 32) + np.arange(np.prod(shape), dtype=np.uint64))
    return ((u >> np.uint64(40)).astype(np.float64) * 2.0**-24 * 2 - 1).astype(np.float32).reshape(shape)


def test_run_prints_an_aligned_table(add: Path) -> None:
    result = lightline("run", add, "--seed", 3)
    assert result.returncode == 0 and result.stderr == ""
    title, header, row, time = result.stdout.splitlines()
    assert title == "program add, backend interp, seed 3"
    assert header.split() == ["output", "type", "checksum", "mean", "min", "max"]
    assert re.fullmatch(r"z +f32\[2, 3\] +[0-9a-f]{16}( +-?[0-9.e+-]+){3}", row)
    assert header.index("checksum") == row.index(row.split("]")[1].strip().split()[0])
    assert re.fullmatch(r"time [0-9.e+]+ (us|ms|s)", time)


def test_run_json_follows_its_schema(add: Path) -> None:
    report = run_json(add, "--seed", 5, "--repeat", 3)
    assert list(report) == ["schema", "version", "file", "program", "backend", "seed", "inputs", "outputs", "time_ms"]
    assert (report["schema"], report["version"]) == ("lightline.run", 1)
    assert (report["file"], report["program"], report["backend"], report["seed"]) == (str(add), "add", "interp", 5)
    assert [entry["name"] for entry in report["inputs"]] == ["x", "y"]
    assert list(report["inputs"][0]) == ["name", "dtype", "shape", "checksum", "source"]
    (output,) = report["outputs"]
    assert list(output) == ["name", "dtype", "shape", "checksum", "mean", "min", "max"]
    assert (output["dtype"], output["shape"]) == ("f32", [2, 3])
    assert len(report["time_ms"]["runs"]) == 3 and report["time_ms"]["best"] == min(report["time_ms"]["runs"])


def test_random_inputs_can_be_reproduced_elsewhere(add: Path, tmp_path: Path) -> None:
    report = run_json(add, "--seed", 7, "-o", tmp_path / "z.npz")
    expected = random_f32((2, 3), 7000) + random_f32((2, 3), 7001)
    with np.load(tmp_path / "z.npz") as outputs:
        np.testing.assert_array_equal(outputs["z"], expected)
    assert report["outputs"][0]["mean"] == pytest.approx(expected.mean(dtype=np.float64), rel=1e-12)
    assert report["outputs"][0]["min"] == expected.min() and report["outputs"][0]["max"] == expected.max()
    assert run_json(add, "--seed", 7)["outputs"] == report["outputs"]
    assert run_json(add, "--seed", 8)["outputs"] != report["outputs"]


def test_inputs_from_npy_npz_and_keys(add: Path, tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "both.npz", x=x, y=10 * x, other=x)
    out = tmp_path / "out.npy"
    report = run_json(add, "--input", f"x={tmp_path}/x.npy", "--input", f"y={tmp_path}/both.npz", "-o", out)
    np.testing.assert_array_equal(np.load(out), 11 * x)
    assert [entry["source"] for entry in report["inputs"]] == [f"{tmp_path}/x.npy", f"{tmp_path}/both.npz"]
    run_json(add, "--input", f"x={tmp_path}/both.npz:y", "--input", f"y={tmp_path}/both.npz:y", "-o", out)
    np.testing.assert_array_equal(np.load(out), 20 * x)
    result = lightline("run", add, "--inputs", tmp_path / "both.npz", "-o", out)
    assert result.returncode == 0 and "'other' is not an input" in result.stderr
    np.testing.assert_array_equal(np.load(out), 11 * x)
    run_json(add, "--inputs", tmp_path / "both.npz", "--input", f"y={tmp_path}/x.npy", "-o", out)
    np.testing.assert_array_equal(np.load(out), 2 * x)


def test_safetensors_go_out_and_come_back(add: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.lir"
    copy.write_text("program copy(z: f32[2, 3]) -> (z) {\n}\n")
    first = run_json(add, "-o", tmp_path / "z.safetensors")
    second = run_json(copy, "--inputs", tmp_path / "z.safetensors")
    assert second["outputs"] == first["outputs"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("w={}/x.npy", "the program has no input 'w'"),
        ("x={}/missing.npy", "missing.npy"),
        ("x={}/wrong.npy", "input 'x' is f32[2, 3], but {}/wrong.npy holds f32[3, 2]"),
        ("x={}/double.npy", "input 'x' is f32[2, 3], but {}/double.npy holds f64[2, 3]"),
        ("x={}/pair.npz", "no array 'x' in {}/pair.npz"),
        ("x={}/pair.npz:c", "no array 'c' in {}/pair.npz"),
        ("x={}/garbage.npy", "garbage.npy"),
        ("x", "--input 'x' is not of the form NAME=FILE"),
        ("x={}/text.txt", "text.txt"),
    ],
)
def test_bad_inputs(add: Path, tmp_path: Path, option: str, message: str) -> None:
    x = np.zeros((2, 3), np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "wrong.npy", x.T)
    np.save(tmp_path / "double.npy", x.astype(np.float64))
    np.savez(tmp_path / "pair.npz", a=x, b=x)
    (tmp_path / "garbage.npy").write_bytes(b"\x93NUMPY" + bytes(50))
    (tmp_path / "text.txt").write_text("hello")
    result = lightline("run", add, "--input", option.replace("{}", str(tmp_path)))
    assert result.returncode == 2 and result.stdout == ""
    assert message.replace("{}", str(tmp_path)) in result.stderr


def test_an_input_is_given_once(add: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    option = f"x={tmp_path}/x.npy"
    result = lightline("run", add, "-i", option, "-i", option)
    assert result.returncode == 2 and "--input x is given twice" in result.stderr


def test_random_subscripts_stay_inside(tmp_path: Path) -> None:
    path = tmp_path / "gather.lir"
    path.write_text(
        "program gather(table: f32[3, 2], row: i64[50], value: i32[50]) -> (y, n, value) {\n"
        "  y: f32[50, 2] = for i, j: table[row[i], j]\n"
        "  n: f32[4] = scatter sum i in 50 into 0: [row[i]] <- 1\n"
        "}\n"
    )
    report = run_json(path)
    assert report["outputs"][1]["max"] > 0
    assert report["outputs"][2]["max"] == 9 and report["outputs"][2]["min"] == 0


def test_a_subscript_outside_is_an_error_at_run_time(tmp_path: Path) -> None:
    path = tmp_path / "gather.lir"
    path.write_text("program gather(table: f32[3], row: i64[2]) -> (y) {\n  y: f32[2] = for i: table[row[i]]\n}\n")
    np.save(tmp_path / "row.npy", np.array([0, 3]))
    for backend in ("interp", "c"):
        result = lightline("run", path, "--input", f"row={tmp_path}/row.npy", "--backend", backend)
        assert result.returncode == 2 and result.stdout == "" and "error: " in result.stderr


def test_numbers_that_json_lacks(tmp_path: Path) -> None:
    path = tmp_path / "odd.lir"
    path.write_text(
        "program odd() -> (a, b, c, d) {\n"
        "  a: f32[2] = const [nan, 1]\n"
        "  b: f32[2] = const [inf, 1]\n"
        "  c: f32[0] = for i: 1\n"
        "  d: c64[2] = for i: complex(3, 1)\n"
        "}\n"
    )
    outputs = run_json(path)["outputs"]
    keys = ("mean", "min", "max")
    assert [tuple(entry[key] for key in keys) for entry in outputs] == [
        ("nan", "nan", "nan"),
        ("inf", 1.0, "inf"),
        (None, None, None),
        (3.0, None, None),
    ]


def test_run_reads_the_program_from_standard_input() -> None:
    assert run_json("-", text=ADD)["file"] == "<stdin>"


def test_run_rejects_bad_programs_with_code_2(broken: Path) -> None:
    result = lightline("run", broken)
    assert result.returncode == 2 and result.stdout == "" and "    2 |   y: f32[4]" in result.stderr


def test_output_files_are_checked_before_the_run(tmp_path: Path) -> None:
    pooling = ROOT / "examples" / "loops" / "pooling.lir"
    result = lightline("run", pooling, "-o", tmp_path / "out.npy")
    assert result.returncode == 2 and "holds one array, but the program has 2 outputs" in result.stderr
    result = lightline("run", pooling, "-o", tmp_path / "out.txt")
    assert result.returncode == 2 and "is not a tensor file" in result.stderr
    assert lightline("run", pooling, "-o", tmp_path / "no" / "folder.npz").returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_leaves_the_old_output_whole(add: Path, broken: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    run_json(add, "-o", out)
    before = out.read_bytes()
    assert lightline("run", broken, "-o", out).returncode == 2
    assert out.read_bytes() == before
    run_json(add, "--seed", 1, "-o", out)
    assert out.read_bytes() != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["add.lir", "broken.lir", "out.npz"]


def test_backend_c_is_compiled_once(add: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTLINE_CACHE", str(tmp_path / "cache"))
    reference = run_json(add)
    first = run_json(add, "--backend", "c", "--threads", 1)
    second = run_json(add, "--backend", "c", "--threads", 1)
    assert (first["compile"]["from_cache"], second["compile"]["from_cache"]) == (False, True)
    assert first["outputs"] == second["outputs"] == reference["outputs"]
    assert "compiled in" in lightline("run", add, "--backend", "c", "--repeat", 2).stdout


def test_a_missing_compiler_is_reported(add: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTLINE_CC", str(tmp_path / "no-such-compiler"))
    monkeypatch.setenv("LIGHTLINE_CACHE", str(tmp_path / "cache"))
    result = lightline("run", add, "--backend", "c")
    assert result.returncode == 2 and "no-such-compiler" in result.stderr


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def test_a_compiler_that_refuses_is_quoted(add: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = 'case "$*" in *--version*) exit 0 ;; esac; echo "bad code" >&2; exit 1'
    monkeypatch.setenv("LIGHTLINE_CC", str(script(tmp_path / "cc", refuse)))
    result = lightline("run", add, "--backend", "c")
    assert result.returncode == 3
    assert f"error: the C compiler '{tmp_path}/cc' refused the emitted code: bad code\n" in result.stderr


# ---- validate ----


@pytest.mark.parametrize(
    ("framework", "message"),
    [
        ("echo noise; echo trace >&2; echo 'error: no such thing' >&2; exit 2", "model.py: error: no such thing\n"),
        ("echo only here; exit 1", "model.py: error: only here\n"),
        ("exit 1", "model.py: error: the framework could not run the program\n"),
        ("kill -SEGV $$", "model.py: error: the framework could not run the program\n"),
        (
            "echo 'ModuleNotFoundError: No module named torch' >&2; exit 1",
            "model.py: error: ModuleNotFoundError: No module named torch\n"
            "  hint: install the framework in the Python that LIGHTLINE_PYTHON names\n",
        ),
    ],
)
def test_validate_repeats_the_last_words_of_the_framework(
    framework: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTLINE_PYTHON", str(script(tmp_path / "python", framework)))
    result = lightline("validate", "model.py")
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message)


def test_validate_adds_our_package_to_the_path_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTLINE_PYTHON", str(script(tmp_path / "python", 'echo "$PYTHONPATH"; exit 1')))
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    ours = Path(BINARY).resolve().parent.parent / "python"
    expected = f"{ours}:/theirs" if (ours / "lightline").exists() else "/theirs"
    assert lightline("validate", "model.py").stderr == f"model.py: error: {expected}\n"


def test_validate_without_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTLINE_PYTHON", str(tmp_path / "none"))
    result = lightline("validate", "model.py")
    assert result.returncode == 2
    assert result.stderr == f"error: '{tmp_path}/none' can not be started: No such file or directory\n"


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
