"""GraphNet samples: a folder with a model.py that torch.fx printed, and metadata of every tensor it takes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from lightline.sources import SourceError

SPREAD = 0.2  # of the recorded standard deviation, so that deep networks stay finite
UNKNOWN_SPREAD = 0.05  # where the metadata say that all elements are equal, to tell them apart


def is_sample(path: Path) -> bool:
    return path.is_dir() and (path / "model.py").exists()


def load_namespace(path: Path) -> dict[str, Any]:
    """Runs a file of the sample with every device mapped to the CPU."""
    import torch

    text = path.read_text() if path.exists() else ""
    text = re.sub(r"\btorch\.device\(", "device(", text)
    text = re.sub(r"_enter_autocast\(\s*[\"']cuda[\"']", '_enter_autocast("cpu"', text).replace(".cuda(", ".cpu(")
    namespace: dict[str, Any] = {}
    try:
        exec(compile(text, str(path), "exec"), namespace)
    except Exception as error:
        raise SourceError(f"'{path}' does not run: {error}") from error
    namespace["device"] = lambda *_, **__: torch.device("cpu")
    return namespace


def read_metas(folder: Path) -> dict[str, Any]:
    """The metadata classes of the sample by the names of their tensors."""
    metas: dict[str, Any] = {}
    for file in ("input_meta.py", "weight_meta.py"):
        for value in load_namespace(folder / file).values():
            if inspect.isclass(value) and hasattr(value, "shape") and hasattr(value, "dtype"):
                metas[value.name] = value
    return metas


def make_tensor(meta: Any, generator: Any) -> Any:
    """A tensor as the metadata describe it; what they state exactly is taken exactly."""
    import torch

    dtype = getattr(torch, meta.dtype.removeprefix("torch."))
    shape = list(meta.shape)
    count = 1
    for extent in shape:
        count *= extent
    data = getattr(meta, "data", None)
    if isinstance(data, list) and len(data) == count:
        return torch.tensor(data).reshape(shape).to(dtype)
    low, high = getattr(meta, "min_val", None), getattr(meta, "max_val", None)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(
            int(low or 0), int(1 if high is None else high) + 1, shape, generator=generator, dtype=dtype
        )
    mean, std = getattr(meta, "mean", None) or 0.0, getattr(meta, "std", None) or 0.0
    if count == 1 and std == 0:
        return torch.full(shape, mean, dtype=dtype)
    spread = SPREAD * std if std else UNKNOWN_SPREAD
    values = torch.randn(shape, generator=generator, dtype=torch.float32) * spread + mean
    if low is not None or high is not None:
        values = values.abs() if low == 0 and high is None else values.clamp(low, high)
    return values.to(dtype)


def load_sample(folder: Path, seed: int) -> tuple[Any, dict[str, Any]]:
    """The module of a sample and its arguments by name, in order."""
    import torch

    namespace = load_namespace(folder / "model.py")
    modules = [v for v in namespace.values() if inspect.isclass(v) and issubclass(v, torch.nn.Module)]
    if not modules:
        raise SourceError(f"'{folder}/model.py' has no module")
    module = modules[-1]()
    metas = read_metas(folder)
    generator = torch.Generator().manual_seed(seed)
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(module.forward).parameters.items():
        if name not in metas:
            raise SourceError(f"the parameter '{name}' has no entry in weight_meta.py")
        tensor = make_tensor(metas[name], generator)
        symbolic = "SymInt" in str(parameter.annotation)
        arguments[name] = int(tensor) if symbolic else tensor
    return module, arguments


def run_sample(folder: Path, seed: int) -> dict[str, Any]:
    """Runs a sample; gives what it took by name and what it returned by position."""
    import torch
    from torch.utils._pytree import tree_leaves

    module, arguments = load_sample(folder, seed)
    tensors = {f"in.{name}": value.clone() for name, value in arguments.items() if isinstance(value, torch.Tensor)}
    with torch.no_grad():
        outputs = module.eval()(*arguments.values())
    results = [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]
    tensors.update({f"out.{i}": leaf for i, leaf in enumerate(results)})
    return tensors
