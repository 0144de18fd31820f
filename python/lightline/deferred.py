"""Values of fake tensors: what was done to them is written down, so that the few that matter can be computed later.

A model is made without memory for its parameters, but its masks and tables are part of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

MAX_BYTES = 256 << 20  # of any tensor on the way to a value


@dataclass
class Step:
    operator: Any
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    result: Any


class Record(TorchDispatchMode):
    """Writes down every operator that makes or changes a fake tensor; to be entered inside of the fake mode."""

    def __init__(self, mode: Any) -> None:
        super().__init__()
        self.steps: list[Step] = []
        mode.lightline_record = self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if str(func) == "aten._local_scalar_dense.default" and isinstance(args[0], FakeTensor):
            number = self.value_of(args[0])  # such as a rate of dropped paths
            if number is not None:
                with _disable_current_modes():
                    return number.item()
        result = func(*args, **kwargs)
        self.steps.append(Step(func, args, kwargs, result))
        return result

    def value_of(self, wanted: FakeTensor) -> Any:
        """The value of a tensor, or None where it is random, too large on the way, or of unknown origin."""
        import torch

        steps = self.steps_for(wanted)
        if steps is None:
            return None
        values: dict[int, Any] = {}

        def value(leaf: Any) -> Any:
            if isinstance(leaf, torch.device):
                return torch.device("cpu")
            if isinstance(leaf, torch.Tensor) and not isinstance(leaf, FakeTensor):
                return values.setdefault(id(leaf), leaf.clone())  # a later step may write it
            return values[id(leaf)] if isinstance(leaf, FakeTensor) else leaf

        try:
            with torch.no_grad(), _disable_current_modes():  # it may be asked for while the model is made
                for step in steps:
                    arguments, options = tree_map(value, (step.arguments, step.options))
                    result = step.operator(*arguments, **options)
                    for fake, real in zip(tree_leaves(step.result), tree_leaves(result), strict=True):
                        values[id(fake)] = real
        except (KeyError, RuntimeError, NotImplementedError):
            return None  # no value: whoever asks names the buffer
        return next((values[id(leaf)] for leaf in results_of(reversed(steps)) if is_same(leaf, wanted)), None)

    def steps_for(self, wanted: FakeTensor) -> list[Step] | None:
        """What the tensor needs, first to last: all that touched its memory, and what those steps needed."""
        import torch

        needed = {memory_of(wanted)}
        chosen: list[Step] = []
        for step in reversed(self.steps):
            results = results_of([step])
            if not any(memory_of(leaf) in needed for leaf in results):
                continue
            if torch.Tag.nondeterministic_seeded in step.operator.tags or any(is_large(leaf) for leaf in results):
                return None
            given = tree_leaves((step.arguments, step.options))
            needed.update(memory_of(leaf) for leaf in given if isinstance(leaf, FakeTensor))
            chosen.append(step)
        return chosen[::-1]


def results_of(steps: Iterable[Step]) -> list[FakeTensor]:
    return [leaf for step in steps for leaf in tree_leaves(step.result) if isinstance(leaf, FakeTensor)]


def is_same(one: FakeTensor, other: FakeTensor) -> bool:
    """Whether two tensors are the same elements of the same memory."""
    return (
        memory_of(one) == memory_of(other)
        and one.dtype == other.dtype
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.storage_offset() == other.storage_offset()
    )


def memory_of(tensor: FakeTensor) -> int:
    return tensor.untyped_storage()._cdata


def is_large(tensor: FakeTensor) -> bool:
    return tensor.untyped_storage().nbytes() > MAX_BYTES


def value_of(tensor: Any) -> Any:
    """The tensor itself where it has content; of a fake one, what its record says; otherwise None."""
    if isinstance(tensor, FakeTensor):
        record = getattr(tensor.fake_mode, "lightline_record", None)
        return None if record is None else record.value_of(tensor)
    return None if tensor is None or not hasattr(tensor, "device") or tensor.device.type == "meta" else tensor
