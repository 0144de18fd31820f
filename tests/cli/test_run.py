"""lightline run from outside: inputs, outputs, both back ends, errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import ADD, lightline, refused, script
from lightline_under_test import BINARY, ROOT

np = pytest.importorskip("numpy")


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


def test_a_seed_that_nothing_draws_from_is_noted(add: Path, tmp_path: Path) -> None:
    constant = "program p() -> (y) {\n  y: f32[2] = for i: 1.0\n}\n"
    words = "note: --seed changes nothing: no input is random\n"
    assert lightline("run", "-", "--seed", "1", text=constant).stderr == words
    assert lightline("run", "-", text=constant).stderr == lightline("run", add, "--seed", "1").stderr == ""


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


def test_a_compiler_that_refuses_is_quoted(add: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = 'case "$*" in *--version*|*/dev/null*) exit 0 ;; esac; echo "bad code" >&2; exit 1'
    monkeypatch.setenv("LIGHTLINE_CC", str(script(tmp_path / "cc", refuse)))
    result = lightline("run", add, "--backend", "c")
    assert result.returncode == 3
    assert f"error: the C compiler '{tmp_path}/cc' refused the emitted code: bad code\n" in result.stderr


def test_a_file_that_may_not_grow_is_a_write_that_fails(tmp_path: Path) -> None:
    program, target = tmp_path / "large.lir", tmp_path / "out.npz"
    program.write_text("program large(x: f32[4096]) -> (y) {\n  y: f32[4096] = for i: x[i] * 2\n}\n")
    command = f'ulimit -f 8; exec "$0" run "{program}" -o "{target}"'
    result = subprocess.run(["sh", "-c", command, BINARY], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith(f"{target}: error: can not write the file: File too large\n")
    assert [path.name for path in tmp_path.iterdir()] == ["large.lir"]


ENDINGS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM]
MESS = "i=0; while :; do i=$((i+1)); : > {folder}/$i; done"  # files, one after the other, until it is killed


@contextmanager
def ended_by(ending: signal.Signals, command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen]:
    """A process that does not ignore the signal, as tests may under nohup; it does not outlive a test that fails."""
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(ending, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_takes_temporary_files_with_it(tmp_path: Path, ending: signal.Signals) -> None:
    """The program ends by the signal, and nothing is left of a compilation that is under way."""
    mess = MESS.format(folder="$TMPDIR")
    compiler = script(tmp_path / "cc", f'case "$*" in *--version*) echo cc 1 ;; *) {mess} ;; esac')
    cache, temporary = tmp_path / "cache", tmp_path / "tmp"
    temporary.mkdir()
    environment = {
        **os.environ,
        "LIGHTLINE_CC": str(compiler),
        "LIGHTLINE_CACHE": str(cache),
        "TMPDIR": str(temporary),
    }
    command = [str(BINARY), "run", str(ROOT / "examples/loops/matmul.lir"), "--backend", "c"]
    with ended_by(ending, command, environment) as process:
        for _ in range(200):
            if cache.is_dir() and list(cache.glob("*.tmp/*")):
                break
            time.sleep(0.05)
        assert list(cache.glob("*.tmp/*"))
        process.send_signal(ending)
        assert process.wait(timeout=30) == -ending
    assert not list(cache.iterdir())
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    ("ending", "first"), [*((ending, "") for ending in ENDINGS), (signal.SIGTERM, "kill -STOP $PPID; ")]
)
def test_a_signal_ends_the_framework_and_takes_its_files_with_it(
    tmp_path: Path, ending: signal.Signals, first: str
) -> None:
    """Also one that stops its supervisor."""
    mess = 'for folder; do :; done; echo $$ > "$0.pid"; ' + first + MESS.format(folder="$folder")
    framework = script(tmp_path / "python", mess)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "LIGHTLINE_PYTHON": str(framework), "TMPDIR": str(temporary)}
    command = [str(BINARY), "validate", str(ROOT / "examples/jax/gpt_block.py")]
    with ended_by(ending, command, environment) as process:
        for _ in range(200):
            if list(temporary.glob("*/1*")):
                break
            time.sleep(0.05)
        process.send_signal(ending)
        assert process.wait(timeout=30) == -ending
    assert not list(temporary.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "python.pid").read_text()), 0)


def test_a_framework_that_ends_without_results_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTLINE_PYTHON", str(script(tmp_path / "python", "exit 0")))
    result = lightline("validate", ROOT / "examples/jax/gpt_block.py")
    assert result.returncode == 2
    assert "error: the framework ended without results\n" in result.stderr


def test_a_full_disk_is_named_while_compiling(add: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = 'case "$*" in *--version*) echo cc 1 ;; *) echo "ld: No space left on device" >&2; exit 1 ;; esac'
    monkeypatch.setenv("LIGHTLINE_CC", str(script(tmp_path / "cc", full)))
    result = lightline("run", add, "--backend", "c")
    assert result.returncode == 2
    assert "error: ld: No space left on device\n  hint: free some space" in result.stderr


def test_a_cache_may_have_the_name_of_an_option(add: Path, tmp_path: Path) -> None:
    for name in ("-o", "-dash", "@file"):
        environment = {**os.environ, "LIGHTLINE_CACHE": name, "TMPDIR": name}
        command = [str(BINARY), "run", str(add), "--backend", "c"]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        assert len(list((tmp_path / name).glob("*.so"))) == 1


def test_code_is_compiled_without_an_environment(add: Path, tmp_path: Path) -> None:
    command = [str(BINARY), "run", str(add), "--backend", "c"]
    environment = {"LIGHTLINE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_a_corpus_with_a_program_that_fails_is_no_success(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"name": "b", "training": {"x": 1}}\n')
    for command in ("check", "import", "analyze"):
        result = lightline(command, corpus)
        assert result.returncode == 1, command
        assert f"{corpus}, line 1, b: error: the program has no 'graph_module'\n" in result.stderr


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_corpus_without_programs_is_bad_input(text: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(text)
    for command in ("check", "import", "analyze"):
        assert refused(command, corpus).startswith(f"{corpus}: error: there are no programs inside\n")


def test_a_name_does_not_break_a_message(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/a\nerror: b\xc2\x9b31m\xff.lir"
    done = subprocess.run([BINARY, "check", name], capture_output=True, timeout=120, check=False)
    shown = f"{tmp_path}/a\\x0aerror: b\\xc2\\x9b31m\\xff.lir"
    assert done.stderr.decode().splitlines()[0] == f"{shown}: error: can not open the file: No such file or directory"
    assert len(done.stderr.splitlines()) == 2
    Path(os.fsdecode(name)).write_text(ADD)
    done = subprocess.run([BINARY, "check", name], capture_output=True, timeout=120, check=False)
    assert done.stdout.decode().startswith(f"{shown}: ok, ")


def test_tables_escape_what_a_terminal_obeys(tmp_path: Path) -> None:
    program = tmp_path / "program.lir"
    program.write_text('program p(x: f32[2]) -> (y) {\n  @ "a\x1b[31m\x9b"\n  y: f32[2] = for i: x[i] * 2\n}\n')
    shown = lightline("analyze", program).stdout
    assert "a\\x1b[31m\\xc2\\x9b  " in shown and "\x1b" not in shown
