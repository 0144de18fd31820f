"""Finds training inside of `forward` that torch.export would lose without a word."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

from lightline.sources import SourceError


@dataclass
class Calls:
    backward: int = 0

    def notes(self, exported: Any) -> list[str]:
        """What is lost: gradients that `backward` leaves in `.grad` and that nothing in the program uses."""
        if not self.backward or not any(is_unused(node) for node in exported.graph.nodes):
            return []
        return [
            "forward calls backward(), and gradients that it leaves in .grad count only where forward uses them; "
            "return them, or capture forward and backward together with training=True (--backward)"
        ]


def is_unused(node: Any) -> bool:
    """Whether a node has no effect and nothing takes its result."""
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and not node.users and schema is not None and not schema.is_mutable


@contextlib.contextmanager
def watched() -> Iterator[Calls]:
    """Around an export: counts calls of `backward`, and refuses an optimizer's step, which holds other parameters than
    those that are traced."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    calls = Calls()
    original = torch.autograd.backward

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.backward += 1
        return original(*args, **kwargs)

    def refuse(optimizer: Any, *_: Any) -> None:
        raise SourceError(
            f"forward calls {type(optimizer).__name__}.step(), which can not be captured: the optimizer holds the "
            "parameters themselves, not those that are traced; write the update in forward (p -= rate * p.grad), or "
            "capture forward and backward with training=True (--backward)"
        )

    hook = register_optimizer_step_pre_hook(refuse)
    try:
        with mock.patch.object(torch.autograd, "backward", counted):
            yield calls
    finally:
        hook.remove()
