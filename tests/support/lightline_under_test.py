"""What the Python tests share: where the project and the program under test are."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("LIGHTLINE_BINARY", ROOT / "build" / "lightline")).resolve()
