"""Lightline for Python: the bridge between PyTorch or JAX and the C++ core.

`lightline.capture(module, *inputs)` captures a program; see `lightline.capture` for the command line.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["capture"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"lightline.{name}")
    raise AttributeError(f"module 'lightline' has no attribute '{name}'")
