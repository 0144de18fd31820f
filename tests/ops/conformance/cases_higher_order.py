"""Operators that run a graph of their own."""

from __future__ import annotations

import torch
from harness import F32, F64, Suite, T
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


def cases(suite: Suite) -> None:
    suite.case_module(_running, T(5, 4), T(4), name="scan", dtypes=(F32, F64))
    suite.case_module(_state_space, T(6, 2, 3, low=0, high=1), T(6, 2, 3), T(2, 3), T(3), name="state_space")
    suite.case_module(_nested, T(3, 4, 2), T(2), name="nested_scan")
    suite.case_module(_kept, T(5, 4), T(4), name="scan_keeps_carry")
    suite.case_module(_counted, T(3, 4), T(4, 4), name="while_loop", dtypes=(F32, F64))
    suite.case_module(_counted_down, T(3), name="while_loop_down")
    suite.case_module(_never, T(3), name="while_loop_never")


def _running(x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    def step(carry: torch.Tensor, now: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        following = torch.tanh(carry + now)
        return following, following * 2

    return scan(step, h, x)


def _state_space(decay: torch.Tensor, x: torch.Tensor, state: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    def step(carry: torch.Tensor, now: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        following = now[0] * carry + now[1]
        return following, following @ out

    return scan(step, state, (decay, x))[1]


def _nested(x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    def inner(carry: torch.Tensor, now: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return carry + now, carry * now

    def outer(carry: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        last, products = scan(inner, carry, rows)
        return last * 0.5, products.sum(0)

    return scan(outer, h, x)[1]


def _kept(x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    def step(carry: torch.Tensor, now: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return carry.clone(), now.flip(0)

    return scan(step, h, x)


def _counted(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    def below(i: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return i < 7

    def step(i: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i + 2, torch.tanh(h @ w + i)

    return while_loop(below, step, (torch.zeros((), dtype=torch.int64), x))[1]


def _counted_down(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    def above(i: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return i >= -3

    def step(i: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i - 3, h * 0.5 + i

    return while_loop(above, step, (torch.full((), 5), x))


def _never(x: torch.Tensor) -> torch.Tensor:
    def below(i: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return i < 1

    def step(i: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i + 1, h * 2

    return while_loop(below, step, (torch.ones((), dtype=torch.int64), x))[1] + 1
