"""What the Python tests share: where the project and the program under test are, and the seed of random inputs."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("LIGHTLINE_BINARY", ROOT / "build" / "lightline")).resolve()
LONG = bool(os.environ.get("LIGHTLINE_LONG"))


def chosen_seed() -> int:
    """LIGHTLINE_SEED if it is set; else always the same, or a fresh one for the long tests. seed.h does the same."""
    if given := os.environ.get("LIGHTLINE_SEED"):
        return int(given)
    return random.SystemRandom().randrange(1, 2**31) if LONG else 0


SEED = chosen_seed()
REPEAT = f"LIGHTLINE_SEED={SEED} repeats the random inputs"


def validate(*arguments: str) -> dict:
    """What `lightline validate` reports: whether a program agrees with its framework."""
    result = subprocess.run(
        [str(BINARY), "validate", *arguments, "--json"], capture_output=True, text=True, check=False
    )
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)
