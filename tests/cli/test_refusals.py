"""What is refused in words, with exit code 2: options without an effect, endless inputs, pipes as outputs."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest
from command_line import ADD, MATMUL, lightline
from lightline_under_test import BINARY, ROOT

EXPORTED = ROOT / "examples" / "exported" / "convnet.json"


def refused(*arguments: object, text: str | None = None, folder: Path | None = None) -> str:
    result = lightline(*arguments, text=text, folder=folder)
    assert (result.returncode, result.stdout) == (2, "")
    return result.stderr


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
