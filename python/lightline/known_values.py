"""Values that a captured PyTorch program carries: its constants, its fixed buffers, and its integer inputs.

Parameters are never among them: they change. A buffer is left out where the program writes it, where it holds the
statistics of a normalisation, and where it belongs to the checkpoint and is all zeros: a place for what is loaded.
"""

from __future__ import annotations

import base64
import gzip
import math
import warnings
from dataclasses import dataclass, field
from typing import Any

MAX_LISTED_ELEMENTS = 4096  # more are written as compressed bytes
MAX_BYTES = 64 << 20  # of all values of a program
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


@dataclass
class KnownValues:
    """Values by the name they have in the graph, and what is to be said about those that are left out."""

    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def known_values(exported: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any], functional: Any) -> KnownValues:
    """What the exported program may be known to hold; small values first where there are too many. `functional` is the
    same program in a form that says which buffers it writes."""
    import torch

    found = KnownValues()
    with torch.no_grad():
        mutated = set(functional.graph_signature.buffers_to_mutate.values())
        chosen = constants_of(exported, mutated, found.notes) + integers_among(exported, inputs, kwargs)
        left = MAX_BYTES
        for name, tensor in sorted(chosen, key=lambda item: size_of(item[1])):
            if size_of(tensor) > left:
                found.notes.append(
                    f"the values of '{name}' ({size_of(tensor)} bytes) are not kept: a program has at most {MAX_BYTES}"
                )
                continue
            left -= size_of(tensor)
            found.values[name] = written(tensor)
    return found


def size_of(tensor: Any) -> int:
    return tensor.numel() * tensor.element_size()


def constants_of(exported: Any, mutated: set[str], notes: list[str]) -> list[tuple[str, Any]]:
    from lightline.deferred import value_of

    chosen = []
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name not in ("CONSTANT_TENSOR", "BUFFER"):
            continue
        if spec.target in mutated or spec.target.rpartition(".")[2] in STATISTICS:
            continue
        tensor = value_of(exported.constants.get(spec.target, exported.state_dict.get(spec.target)))
        if tensor is None:
            notes.append(f"the values of '{spec.target}' are not known: zeros among them are not seen")
            continue
        if spec.kind.name == "BUFFER" and spec.persistent and is_placeholder(tensor):
            notes.append(
                f"the buffer '{spec.target}' is all zeros and part of the checkpoint: its values are not relied on"
            )
            continue
        chosen.append((spec.arg.name, tensor))
    return chosen


def is_placeholder(tensor: Any) -> bool:
    import torch

    return tensor.dtype != torch.bool and tensor.numel() > 1 and not tensor.flatten().view(torch.uint8).any()


def integers_among(exported: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    """The inputs that may be indices or masks."""
    import torch
    from torch.utils._pytree import tree_leaves

    leaves = [leaf for leaf in tree_leaves((inputs, kwargs)) if leaf is not None]
    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    chosen = []
    for spec, leaf in zip(specs, leaves, strict=False):
        if not isinstance(leaf, torch.Tensor) or leaf.is_floating_point() or leaf.is_complex():
            continue
        if has_content(leaf):
            chosen.append((spec.arg.name, leaf))
    return chosen


def has_content(tensor: Any) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return not isinstance(tensor, FakeTensor) and tensor.device.type != "meta"


def written(tensor: Any) -> dict[str, Any]:
    """A tensor as JSON has it: a list of numbers ("inf", "-inf" and "nan" where they are none), or the bytes of its
    elements in row-major order, least significant first, compressed as gzip does and in base64."""
    import torch

    dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().flatten()
    entry: dict[str, Any] = {"shape": list(tensor.shape)}
    if dense.numel() > MAX_LISTED_ELEMENTS or dense.is_complex():
        raw = dense.view(torch.uint8).numpy().tobytes() if dense.numel() else b""
        entry["gzip"] = base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode()
    elif dense.is_floating_point():
        entry["data"] = [value if math.isfinite(value) else str(value) for value in dense.double().tolist()]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entry["data"] = dense.tolist()
    return entry
