"""What is refused in words, with exit code 2: options without an effect, endless inputs, pipes as outputs."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest
from command_line import ADD, MATMUL, lightline, refused
from lightline_under_test import BINARY, ROOT

EXPORTED = ROOT / "examples" / "exported" / "convnet.json"


# ---- options ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["operators", "relu", "--json"], "--json excludes TARGET"),
        (["operators", "relu", "--markdown"], "--markdown excludes TARGET"),
        (["operators", "--json", "--markdown"], "--json excludes --markdown"),
        (["operators", "--conformance", "none"], "--conformance requires --markdown or --json"),
        (["operators", "relu", "--conformance", "none"], "--conformance requires --markdown or --json"),
        (["import", EXPORTED, "--json"], "--json requires --stats"),
        (["import", EXPORTED, "--form", "core"], "--form chooses between the forms of a .jsonl corpus; this is none"),
        (["analyze", MATMUL, "--form", "core"], "--form chooses between the forms of a .jsonl corpus; this is none"),
        (["check", MATMUL, "--form", "core"], "--form chooses between the forms of a .jsonl corpus; this is none"),
        (["run", MATMUL, "--threads", "2"], "threads are for the backend c; the interpreter uses one"),
        (["run", MATMUL, "--threads", "0"], "threads are for the backend c; the interpreter uses one"),
        (["analyze", MATMUL, "--arch", "H200,H200"], "the machine 'H200' is there twice"),
        (["analyze", MATMUL, "--arch", "H200,B200,h200-sxm"], "the machine 'h200-sxm' is there twice"),
        (["analyze", MATMUL, "--arch", ","], "a name is missing in ','"),
        (["analyze", MATMUL, "--arch", "H200,"], "a name is missing in 'H200,'"),
        (["analyze", MATMUL, "--retype", "f32=f32"], "'f32=f32' changes nothing"),
        (["arch", "show", "H200", "--toml", "--json"], "--json excludes --toml"),
        (["analyze", MATMUL, "--top", "1", "--top", "2"], "--top is given more than once"),
        (["run", MATMUL, "--seed"], "--seed needs a value"),
        (["analyze", MATMUL, "--json=3"], "--json takes no value"),
    ],
    ids=lambda value: " ".join(str(word) for word in value if word != MATMUL) if isinstance(value, list) else "",
)
def test_options_without_an_effect(arguments: list[object], message: str) -> None:
    words = set(message.split())
    first, *hint = refused(*arguments).splitlines()
    assert len(hint) == 1 and hint[0].startswith("  hint: ")
    exclusion = "excludes" in words  # either of the two may be named first
    assert words == set(first.split(": ")[-1].split()) if exclusion else first.endswith(f"error: {message}")


def test_one_corpus_gives_the_form_a_meaning(tmp_path: Path, add: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"problem": "p", "core": json.loads(EXPORTED.read_text())}) + "\n")
    assert lightline("check", add, corpus, "--form", "core").returncode == 0
    for pack in ("gzip", "xz"):
        packed = subprocess.run([pack, "-c", corpus], capture_output=True, check=True).stdout
        archive = tmp_path / f"corpus.jsonl.{'gz' if pack == 'gzip' else 'xz'}"
        archive.write_bytes(packed)
        assert lightline("check", archive, "--form", "core").returncode == 0
    assert "there is no program in training form" in lightline("check", corpus).stderr


def test_statistics_of_a_corpus_leave_its_loops_in_the_output(tmp_path: Path) -> None:
    corpus, loops = tmp_path / "corpus.jsonl", tmp_path / "loops.jsonl"
    corpus.write_text(json.dumps({"problem": "p", "training": json.loads(EXPORTED.read_text())}) + "\n")
    assert lightline("import", corpus, "-o", loops).returncode == 0
    expected = loops.read_text()
    result = lightline("import", corpus, "--stats", "-o", loops)
    assert result.returncode == 0 and result.stdout == lightline("import", corpus, "--stats").stdout
    assert loops.read_text() == expected != ""


# ---- inputs ----


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full", "/dev/null"])
def test_devices_are_not_read(device: str, tmp_path: Path) -> None:
    message = "error: this is a device, which may have no end\n"
    for command in (["check"], ["import"], ["emit", "--c"], ["run", MATMUL, "--inputs"]):
        if command[0] == "run":
            tensors = tmp_path / "tensors.npz"
            tensors.unlink(missing_ok=True)
            tensors.symlink_to(device)
            assert refused(*command, tensors).startswith(f"{tensors}: {message}")
        else:
            assert refused(*command, device).startswith(f"{device}: {message}")
    corpus = tmp_path / "corpus.jsonl"
    corpus.symlink_to(device)
    assert refused("import", corpus).startswith(f"{corpus}: {message}")
    with Path(device).open("rb") as endless:
        result = subprocess.run([BINARY, "fmt", "-"], stdin=endless, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2 and result.stderr.startswith(f"<stdin>: {message}")


def test_endless_pipes_end(tmp_path: Path) -> None:
    """Also where the memory is less than what would come."""
    if "debug" in str(BINARY):
        pytest.skip("sanitizers need more memory than the limit")

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as endless:
        result = subprocess.run(
            [BINARY, "fmt", "-"],
            stdin=endless.stdout,
            capture_output=True,
            text=True,
            timeout=300,
            preexec_fn=limit_memory,
        )
        endless.kill()
    assert result.returncode == 2
    assert result.stderr == "<stdin>: error: the text is larger than 512 MiB\n  hint: only archives may be larger\n"


def test_want_of_memory_is_no_defect() -> None:
    if "debug" in str(BINARY):
        pytest.skip("sanitizers need more memory than the limit")

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))

    result = subprocess.run(
        [BINARY, "fmt", "-"],
        input=b"#" * (300 << 20),
        capture_output=True,
        timeout=300,
        preexec_fn=limit_memory,
    )
    assert result.returncode == 2
    assert b"error: there is no memory for the content\n" in result.stderr


def test_standard_input_may_be_compressed(add: Path) -> None:
    packed = subprocess.run(["gzip", "-c", add], capture_output=True, check=True).stdout
    assert subprocess.run([BINARY, "fmt", "-"], input=packed, capture_output=True, check=True).stdout.decode() == ADD


@pytest.mark.parametrize("command", ["check", "fmt", "import"])
def test_a_byte_order_mark_is_named(command: str, tmp_path: Path) -> None:
    path = tmp_path / "marked.lir"
    path.write_text("\ufeff" + ADD)
    stderr = refused(command, path)
    assert stderr.startswith(f"{path}:1:1: error: the text begins with a byte order mark\n")
    assert stderr.endswith("  hint: save it as UTF-8 without one\n")


# ---- outputs ----


def test_nothing_waits_for_the_reader_of_a_pipe(tmp_path: Path, add: Path) -> None:
    pipe = tmp_path / "pipe.npz"
    os.mkfifo(pipe)
    message = f"{pipe}: error: can not write the file: it is a pipe\n"
    for arguments in (["run", add, "-o"], ["emit", add, "--c", "-o"], ["import", EXPORTED, "-o"], ["fmt", "--write"]):
        assert refused(*arguments, pipe).startswith(message)


def test_a_folder_is_refused_before_the_run(tmp_path: Path, add: Path) -> None:
    folder = tmp_path / "folder.npz"
    folder.mkdir()
    assert refused("run", add, "-o", folder).startswith(f"{folder}: error: can not write the file: Is a directory\n")


def test_a_pipe_without_a_name_is_written(add: Path) -> None:
    assert lightline("emit", add, "--c", "-o", "/dev/stdout").stdout == lightline("emit", add, "--c").stdout
