"""Programs of KernelBench in other words keep their tiers: 2,000 random respellings.

Long: runs with LIGHTLINE_LONG=1 (make test-long); the corpora are read from the folder that LIGHTLINE_DATA names,
../shared/data if it does not.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from lightline_under_test import BINARY, LONG, REPEAT, ROOT, SEED

if not LONG:
    pytest.skip("long: set LIGHTLINE_LONG=1 or run make test-long", allow_module_level=True)

DATA = Path(os.environ.get("LIGHTLINE_DATA", ROOT.parent / "shared" / "data"))
# A choice by data and a product in one sum: outlined, the floor sees the product.
MOVES = {"level1_98_KLDivLoss.lir"}


@pytest.mark.parametrize("level", ["level1", "level2"])
def test_other_words_keep_the_tiers(level: str, tmp_path: Path) -> None:
    corpus = DATA / "kernelbench" / f"{level}.jsonl.xz"
    if not corpus.exists():
        pytest.skip(f"{corpus} is not here")
    loops = tmp_path / "loops.jsonl"
    subprocess.run([str(BINARY), "import", str(corpus), "-o", str(loops)], check=True, capture_output=True)
    folder = tmp_path / "programs"
    folder.mkdir()
    for line in loops.read_text().splitlines():
        entry = json.loads(line)
        name = entry["program"].replace("/", "_") + ".lir"
        if entry.get("loops") and name not in MOVES:
            (folder / name).write_text(entry["loops"])
    command = [BINARY.parent / "tests" / "lightline_truth", "--corpus", folder, "--seed", SEED, "--count", 1000]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{REPEAT}"
