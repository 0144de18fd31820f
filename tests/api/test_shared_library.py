"""liblightline.so: C programs link it, and it shows its own names alone."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from lightline_under_test import BINARY, ROOT

BUILD = BINARY.parent
EXAMPLE = ROOT / "examples" / "loops" / "attention.lir"


# The hosts here are no programs of ours: a library with the address sanitizer in it must not insist on coming first.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "verify_asan_link_order=0"}


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], env=ENVIRONMENT, capture_output=True, text=True, check=False)


def test_a_c_program_says_what_the_command_says() -> None:
    program = run(BUILD / "tests" / "c_program", EXAMPLE)
    assert program.returncode == 0, program.stderr
    command = run(BUILD / "lightline", "analyze", EXAMPLE, "--json")
    assert json.loads(program.stdout) == [json.loads(command.stdout)]


def test_errors_come_with_the_command_s_words(tmp_path: Path) -> None:
    missing = tmp_path / "missing.lir"
    program = run(BUILD / "tests" / "c_program", missing)
    command = run(BUILD / "lightline", "analyze", missing)
    assert program.returncode == command.returncode == 2
    assert program.stderr == command.stderr


def test_only_the_interface_is_shown() -> None:
    names = run("nm", "-D", "--defined-only", BUILD / "liblightline.so").stdout.split("\n")
    shown = {line.split()[-1].split("@")[0] for line in names if line}
    assert "lightline_load" in shown
    assert all(name.startswith("lightline_") or name.startswith("LIGHTLINE_") for name in shown), shown


def test_it_needs_no_python() -> None:
    needed = run("ldd", BUILD / "liblightline.so").stdout
    assert "libstdc++" in needed
    assert "python" not in needed


def test_it_can_be_loaded_late(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "LIGHTLINE_CACHE": str(tmp_path)}
    command = [BUILD / "tests" / "dlopen_program", BUILD / "liblightline.so"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_file_that_may_not_grow_does_not_end_the_host(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "LIGHTLINE_CACHE": str(tmp_path)}
    command = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", BUILD / "tests" / "dlopen_program"]
    done = subprocess.run(
        [*command, BUILD / "liblightline.so"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.returncode  # an error, not a signal
    assert done.stderr
    assert not list(tmp_path.iterdir())
