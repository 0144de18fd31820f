"""Safetensors files for the C++ side, from NumPy arrays (with the narrow floats of ml_dtypes) and torch tensors."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from lightline.sources import SourceError

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8",
    "bool": "BOOL", "complex64": "C64",
}  # fmt: skip

# NumPy types that Lightline does not have, and the type in whose bits its front end keeps such values.
WIDENED = {"uint16": "int16", "uint32": "int32", "uint64": "int64", "int4": "int8", "uint4": "uint8"}


def write_safetensors(path: Path, tensors: dict[str, Any]) -> None:
    header: dict[str, Any] = {}
    chunks: list[bytes] = []
    offset = 0
    for name, tensor in tensors.items():
        dtype, data = tensor_bytes(name, tensor)
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + len(data)]}
        chunks.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def tensor_bytes(name: str, tensor: Any) -> tuple[str, bytes]:
    """The safetensors dtype and the elements in row-major order."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype in WIDENED:
        tensor = tensor.astype(WIDENED[dtype])
        dtype = WIDENED[dtype]
    if dtype not in DTYPES:
        raise SourceError(f"'{name}' is {dtype}, which Lightline does not have")
    if hasattr(tensor, "detach"):
        import torch

        dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        return DTYPES[dtype], dense.reshape(-1).view(torch.uint8).numpy().tobytes() if dense.numel() else b""
    return DTYPES[dtype], tensor.tobytes()
