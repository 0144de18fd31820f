"""scripts/compare_outputs finds one changed byte, wherever it is printed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lightline_under_test import BINARY, ROOT

pytestmark = pytest.mark.skipif(not BINARY.exists(), reason=f"{BINARY.name} is not built")

CHANGING_WRAPPER = f"""#!/bin/bash
binary={BINARY}
case $* in
  "emit examples/loops/matmul.lir --c") "$binary" "$@" | sed '1s/$/ /' ;;
  "check examples/loops/matmul.lir") echo changed >&2; "$binary" "$@" ;;
  "fmt examples/loops/matmul.lir") "$binary" "$@"; exit 1 ;;
  *) exec "$binary" "$@" ;;
esac
"""


def compare(new: Path, keep: Path) -> subprocess.CompletedProcess[str]:
    command = [ROOT / "scripts" / "compare_outputs", BINARY, new, "--keep", keep]
    options = ["--only", "examples/loops", "--data", keep.parent / "none"]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def test_finds_what_changed_and_nothing_else(tmp_path: Path) -> None:
    keep = tmp_path / "outputs.json"
    itself = compare(BINARY, keep)
    assert itself.returncode == 0, itself.stdout + itself.stderr
    assert "run 36" in itself.stdout
    assert "96 equal, 0 different; 96 of the old ones run" in itself.stdout

    wrapper = tmp_path / "changed"
    wrapper.write_text(CHANGING_WRAPPER)
    wrapper.chmod(0o755)
    found = compare(wrapper, keep)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "93 equal, 3 different; 0 of the old ones run" in found.stdout
    told = {text.split(" ")[0]: text for text in found.stdout.split("different: lightline ")[1:]}
    assert "--- output before" in told["emit"]
    assert "--- errors before" in told["check"]
    assert "+changed" in told["check"]
    assert "exit code 0, now 1" in told["fmt"]
