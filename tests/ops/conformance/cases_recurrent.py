"""Recurrent networks and their cells."""

from __future__ import annotations

import torch
from harness import BF16, F32, F64, Suite, T

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def cases(suite: Suite) -> None:
    for kind in GATES:
        networks(suite, kind)
        cells(suite, kind)
    modules(suite)


def parameters(
    kind: str, features: int, size: int, layers: int, directions: int, biases: bool, projected: int
) -> list[T]:
    rows = GATES[kind] * size
    result = []
    for layer in range(layers):
        for _ in range(directions):
            width = features if layer == 0 else directions * (projected or size)
            shapes = [(rows, width), (rows, projected or size)] + [(rows,), (rows,)] * biases
            shapes += [(projected, size)] if projected else []
            result += [T(*shape, low=-0.7, high=0.7) for shape in shapes]
    return result


def networks(suite: Suite, kind: str) -> None:
    features, size, steps, batch = 3, 4, 5, 2
    for layers, directions, batch_first, biases, projected in (
        (1, 1, False, True, 0),
        (1, 1, True, False, 0),
        (2, 1, False, True, 0),
        (1, 2, False, True, 0),
        (2, 2, True, True, 0),
        (2, 2, False, False, 0),
        (1, 1, False, True, 2),
        (2, 2, True, True, 2),
    ):
        if projected and kind != "lstm":
            continue
        count = layers * directions
        hidden, cell = T(count, batch, projected or size), T(count, batch, size)
        own = parameters(kind, features, size, layers, directions, biases, projected)
        x = T(batch, steps, features) if batch_first else T(steps, batch, features)
        state = [hidden, cell] if kind == "lstm" else hidden
        options = (biases, layers, 0.0, False, directions == 2, batch_first)
        suite.case(f"aten.{kind}.input", x, state, own, *options, dtypes=(F32, F64))
    one_step = parameters(kind, features, size, 1, 1, True, 0)
    state = [T(1, batch, size), T(1, batch, size)] if kind == "lstm" else T(1, batch, size)
    suite.case(f"aten.{kind}.input", T(1, batch, features), state, one_step, True, 1, 0.0, False, False, False)
    dtypes = (BF16,)
    suite.case(
        f"aten.{kind}.input", T(4, batch, features), state, one_step, True, 1, 0.0, False, False, False, dtypes=dtypes
    )


def cells(suite: Suite, kind: str) -> None:
    rows = GATES[kind] * 4
    weights = (T(rows, 3), T(rows, 4))
    state = [T(2, 4), T(2, 4)] if kind == "lstm" else T(2, 4)
    suite.case(f"aten.{kind}_cell", T(2, 3), state, *weights, T(rows), T(rows), dtypes=(F32, F64))
    suite.case(f"aten.{kind}_cell", T(2, 3), state, *weights)


def modules(suite: Suite) -> None:
    torch.manual_seed(2)
    for module in (
        torch.nn.LSTM(3, 4),
        torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True),
        torch.nn.LSTM(3, 4, proj_size=2),
        torch.nn.GRU(3, 4, num_layers=2, batch_first=True),
        torch.nn.GRU(3, 4, bidirectional=True),
        torch.nn.RNN(3, 4, nonlinearity="relu"),
        torch.nn.RNN(3, 4, num_layers=2),
    ):
        shape = (2, 5, 3) if module.batch_first else (5, 2, 3)
        suite.case_module(module.eval(), T(*shape), dtypes=(F32,))
    suite.case_module(torch.nn.LSTM(3, 4), T(5, 3), name="LSTM without a batch")
    suite.case_module(torch.nn.LSTMCell(3, 4), T(2, 3), name="LSTMCell")
    suite.case_module(torch.nn.GRUCell(3, 4), T(2, 3), name="GRUCell")
