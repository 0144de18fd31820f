"""Gradients of operators that place and select, and of noise."""

from __future__ import annotations

from harness import BF16, BOOL, F32, F64, FLOATS, I64, Suite, T


def cases(suite: Suite) -> None:
    views(suite)
    gathers(suite)
    noise(suite)


def views(suite: Suite) -> None:
    suite.case("aten.select_backward", T(3, 5), [3, 4, 5], 1, 2, dtypes=FLOATS)
    suite.case("aten.select_backward", T(4, 5), [3, 4, 5], 0, -1)
    suite.case("aten.slice_backward", T(3, 2, 5), [3, 6, 5], 1, 2, 4, 1, dtypes=FLOATS)
    suite.case("aten.slice_backward", T(3, 2, 5), [3, 6, 5], 1, 1, 6, 3)
    suite.case("aten.slice_backward", T(3, 4, 5), [3, 6, 5], 1, -4, 9223372036854775807, 1)
    suite.case("aten.slice_backward", T(2, 6), [5, 6], 0, 1, 5, 2)
    for offset, length in ((0, 4), (1, 4), (-2, 2)):
        suite.case("aten.diagonal_backward", T(2, length), [2, 4, 5], offset, 1, 2, dtypes=FLOATS)
    suite.case("aten.diagonal_backward", T(4, 3), [3, 4, 5], 0, 2, 0)
    suite.case("aten.unfold_backward", T(3, 4, 2), [3, 8], 1, 2, 2, dtypes=FLOATS)
    suite.case("aten.unfold_backward", T(3, 2, 5, 4), [3, 6, 5], 1, 4, 2)


def gathers(suite: Suite) -> None:
    rows = T(2, 6, dtype=I64, kind="indices", limit=7)
    suite.case("aten.embedding_dense_backward", T(2, 6, 4), rows, 7, -1, False, dtypes=FLOATS)
    suite.case("aten.embedding_dense_backward", T(2, 6, 4), rows, 7, 3, False)
    suite.case("aten.embedding_dense_backward", T(2, 6, 4), rows, 7, 3, True)
    suite.case("aten.embedding_dense_backward", T(4), T(dtype=I64, kind="indices", limit=7), 7, -1, False)
    suite.case("aten.embedding_backward", T(2, 6, 4), rows, 7, -1, False, False)
    chosen = T(3, 5, dtype=I64, kind="indices", limit=4)
    suite.case("aten.value_selecting_reduction_backward", T(3, 5), 1, chosen, [3, 4, 5], False, dtypes=FLOATS)
    suite.case(
        "aten.value_selecting_reduction_backward",
        T(3, 1, 5),
        1,
        T(3, 1, 5, dtype=I64, kind="indices", limit=4),
        [3, 4, 5],
        True,
    )
    suite.case(
        "aten.index_select_backward", T(3, 6, 2), [3, 4, 2], 1, T(6, dtype=I64, kind="indices", limit=4), dtypes=FLOATS
    )


def noise(suite: Suite) -> None:
    suite.case("aten.native_dropout", T(3, 4), 0.5, False, dtypes=(F32, F64, BF16))
    suite.case("aten.native_dropout", T(3, 4), 0.5, True, runs=False)
    suite.case("aten.native_dropout_backward", T(3, 4), T(3, 4, dtype=BOOL), 2.0, dtypes=(F32, F64, BF16))
    suite.case("aten.rrelu", T(3, 4), dtypes=(F32, F64))
    suite.case("aten.rrelu", T(3, 4), 0.1, 0.3, True, runs=False, in_place=False)
    suite.case("aten.rrelu_with_noise", T(3, 4), T(3, 4), 0.1, 0.3, dtypes=(F32, F64))
    suite.case("aten.rrelu_with_noise_functional", T(3, 4), T(3, 4), 0.1, 0.3)
    for training in (False, True):
        suite.case(
            "aten.rrelu_with_noise_backward",
            T(3, 4),
            T(3, 4),
            T(3, 4, low=0.1, high=0.3),
            0.1,
            0.3,
            training,
            False,
            dtypes=(F32, F64),
        )
