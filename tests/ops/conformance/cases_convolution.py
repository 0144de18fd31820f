"""Convolutions: forward, transposed, backward."""

from __future__ import annotations

from harness import BF16, F16, F32, F64, FLOATS, Suite, T

# PyTorch rounds the sum before it adds the bias.
ROUNDED = {BF16: (0.03, 2**-5), F16: (0.004, 2**-8)}


def cases(suite: Suite) -> None:
    forward(suite)
    named_padding(suite)
    transposed(suite)
    core_forms(suite)
    backward(suite)


def forward(suite: Suite) -> None:
    suite.case("aten.conv1d", T(2, 3, 9), T(4, 3, 3), T(4), dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.conv1d", T(2, 3, 9), T(4, 3, 3), None, [2], [1], [2], dtypes=FLOATS)
    suite.case("aten.conv1d", T(3, 9), T(4, 3, 3), T(4), [1], [2])
    suite.case("aten.conv1d", T(2, 4, 9), T(6, 2, 3), T(6), [1], [1], [1], 2, dtypes=(F32, F64))
    suite.case("aten.conv1d", T(2, 4, 9), T(4, 1, 3), T(4), [1], [2], [2], 4, dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.conv2d", T(2, 3, 7, 8), T(4, 3, 3, 3), T(4), dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.conv2d", T(2, 3, 7, 8), T(4, 3, 3, 2), None, [2, 1], [1, 0], [1, 2], dtypes=FLOATS)
    suite.case("aten.conv2d", T(2, 3, 7, 8), T(4, 3, 1, 1), T(4), dtypes=FLOATS, tolerance=ROUNDED)
    suite.case("aten.conv2d", T(2, 3, 7, 8), T(4, 3, 1, 1), None, [2, 2])
    suite.case("aten.conv2d", T(3, 7, 8), T(4, 3, 3, 3), T(4), [1, 1], [1, 1])
    suite.case("aten.conv2d", T(2, 6, 7, 8), T(4, 3, 3, 3), T(4), [1, 1], [1, 1], [1, 1], 2)
    suite.case("aten.conv2d", T(2, 6, 7, 8), T(12, 1, 3, 3), T(12), [1, 1], [1, 1], [1, 1], 6)
    suite.case("aten.conv2d", T(2, 6, 7, 8), T(6, 1, 3, 3), None, [2, 2], [1, 1], [1, 1], 6, dtypes=FLOATS)
    suite.case("aten.conv2d", T(2, 6, 7, 8), T(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], 3)
    suite.case("aten.conv2d", T(0, 3, 7, 8), T(4, 3, 3, 3), T(4))
    suite.case("aten.conv2d", T(1, 1, 3, 3), T(1, 1, 3, 3))
    suite.case("aten.conv2d", T(2, 3, 4, 4), T(4, 3, 3, 3), T(4), [3, 3], [5, 4])
    suite.case("aten.conv3d", T(2, 3, 4, 5, 6), T(4, 3, 2, 3, 3), T(4), dtypes=(F32, F64))
    suite.case("aten.conv3d", T(2, 4, 4, 5, 6), T(6, 2, 3, 3, 2), T(6), [1, 2, 1], [1, 1, 0], [1, 1, 2], 2)
    suite.case("aten.conv3d", T(3, 4, 5, 6), T(4, 3, 2, 3, 3), T(4), [2, 2, 2], [1, 1, 1])
    suite.case("aten.conv_tbc", T(9, 2, 3), T(3, 3, 4), T(4), 1)
    suite.case("aten.conv_tbc", T(9, 2, 3), T(3, 3, 4), T(4))


def named_padding(suite: Suite) -> None:
    suite.case("aten.conv1d.padding", T(2, 3, 9), T(4, 3, 3), T(4), [1], "same")
    suite.case("aten.conv1d.padding", T(2, 3, 9), T(4, 3, 4), T(4), [1], "same", [3])
    suite.case("aten.conv1d.padding", T(2, 3, 9), T(4, 3, 4), T(4), [2], "valid")
    suite.case("aten.conv2d.padding", T(2, 3, 7, 8), T(4, 3, 3, 2), T(4), [1, 1], "same", [1, 3])
    suite.case("aten.conv2d.padding", T(3, 7, 8), T(4, 3, 3, 2), None, [2, 1], "valid")
    suite.case("aten.conv3d.padding", T(2, 3, 4, 5, 6), T(4, 3, 2, 3, 3), T(4), [1, 1, 1], "same")
    suite.case("aten._convolution_mode", T(2, 4, 9), T(4, 2, 3), T(4), [1], "same", [1], 2)


def transposed(suite: Suite) -> None:
    suite.case("aten.conv_transpose1d", T(2, 3, 9), T(3, 4, 3), T(4), dtypes=FLOATS, tolerance=ROUNDED)
    for stride, kernel, padding, extra, dilation in (
        (1, 3, 1, 0, 2),
        (2, 4, 1, 0, 1),
        (2, 2, 0, 1, 1),
        (2, 3, 1, 1, 1),
        (3, 2, 0, 2, 1),
        (3, 3, 2, 0, 1),
        (3, 6, 1, 1, 1),
        (2, 3, 0, 1, 3),
        (2, 3, 2, 0, 2),
        (3, 1, 0, 0, 1),
        (2, 1, 0, 0, 1),
    ):
        options = ([stride], [padding], [extra], 1, [dilation])
        suite.case(
            "aten.conv_transpose1d", T(2, 3, 5), T(3, 4, kernel), T(4), *options, dtypes=FLOATS, tolerance=ROUNDED
        )
    suite.case("aten.conv_transpose1d", T(3, 5), T(3, 4, 3), T(4), [2])
    for groups in (2, 4):
        suite.case("aten.conv_transpose1d", T(2, 4, 5), T(4, 3, 4), None, [2], [1], [0], groups)
        suite.case("aten.conv_transpose1d", T(2, 4, 5), T(4, 1, 3), None, [2], [1], [0], groups)
    suite.case(
        "aten.conv_transpose2d.input",
        T(2, 3, 5, 6),
        T(3, 4, 3, 3),
        T(4),
        [2, 2],
        [1, 1],
        [1, 1],
        dtypes=FLOATS,
        tolerance=ROUNDED,
    )
    suite.case(
        "aten.conv_transpose2d.input",
        T(2, 3, 5, 6),
        T(3, 4, 4, 2),
        T(4),
        [2, 2],
        [1, 0],
        dtypes=FLOATS,
        tolerance=ROUNDED,
    )
    suite.case("aten.conv_transpose2d.input", T(2, 3, 5, 6), T(3, 4, 3, 4), None, [1, 2], [1, 1], [0, 1])
    suite.case("aten.conv_transpose2d.input", T(2, 6, 5, 6), T(6, 2, 3, 3), T(6), [3, 2], [1, 2], [2, 1], 3, [2, 3])
    suite.case("aten.conv_transpose2d.input", T(2, 6, 5, 6), T(6, 1, 4, 4), T(6), [2, 2], [1, 1], [0, 0], 6)
    suite.case(
        "aten.conv_transpose3d.input",
        T(2, 3, 3, 4, 5),
        T(3, 4, 3, 3, 3),
        T(4),
        [2, 2, 2],
        [1, 1, 1],
        [1, 1, 1],
        dtypes=(F32, F64),
    )
    suite.case(
        "aten.conv_transpose3d.input", T(2, 4, 3, 4, 5), T(4, 2, 2, 3, 4), T(4), [2, 1, 2], [0, 1, 1], [0, 0, 0], 2
    )
    suite.case("aten.conv_transpose3d.input", T(3, 3, 4, 5), T(3, 4, 3, 5, 3), T(4), [1, 1, 1], [1, 2, 1])


def core_forms(suite: Suite) -> None:
    for name in ("convolution", "_convolution"):
        more = (False, False, False, False) if name == "_convolution" else ()
        call = f"aten.{name}"
        suite.case(call, T(2, 4, 7), T(6, 2, 3), T(6), [2], [1], [1], False, [0], 2, *more)
        suite.case(call, T(2, 4, 7, 6), T(4, 3, 4, 3), T(3), [2, 1], [1, 1], [1, 1], True, [1, 0], 1, *more)
        suite.case(
            call, T(2, 4, 3, 4, 5), T(4, 3, 3, 3, 3), None, [2, 2, 2], [1, 1, 1], [1, 1, 1], True, [1, 1, 1], 1, *more
        )
    suite.case("aten.slow_conv_dilated2d", T(2, 3, 7, 8), T(4, 3, 3, 2), [3, 2], T(4), [1, 1], [1, 0], [1, 2])
    suite.case("aten.slow_conv_transpose2d", T(2, 3, 5, 6), T(3, 4, 3, 3), [3, 3], T(4), [2, 2], [1, 1], [1, 1])
    suite.case("aten.mkldnn_convolution", T(2, 3, 7, 8), T(4, 3, 3, 3), T(4), [1, 1], [2, 2], [1, 1], 1)


def backward(suite: Suite) -> None:
    def case(x: tuple, w: tuple, grad: tuple, options: tuple, mask: list[bool], dtypes: tuple = (F32,)) -> None:
        stride, padding, dilation, is_transposed, extra, groups = options
        channels = grad[1]
        suite.case(
            "aten.convolution_backward",
            T(*grad),
            T(*x),
            T(*w),
            [channels] if mask[2] else None,
            stride,
            padding,
            dilation,
            is_transposed,
            extra,
            groups,
            mask,
            dtypes=dtypes,
            tolerance={BF16: (0.3, 0.05), F16: (0.05, 0.02)},
        )

    every = [True, True, True]
    case((2, 3, 9), (4, 3, 3), (2, 4, 7), ([1], [0], [1], False, [0], 1), every, FLOATS)
    case((2, 3, 9), (4, 3, 3), (2, 4, 5), ([2], [1], [1], False, [0], 1), every, FLOATS)
    case((2, 3, 10), (4, 3, 3), (2, 4, 5), ([2], [1], [1], False, [0], 1), [True, True, False])
    case((2, 3, 7, 8), (4, 3, 3, 2), (2, 4, 4, 8), ([2, 1], [1, 1], [1, 2], False, [0, 0], 1), every)
    case((2, 4, 7, 8), (6, 2, 3, 3), (2, 6, 7, 8), ([1, 1], [1, 1], [1, 1], False, [0, 0], 2), every, (F32, F64))
    case((2, 4, 7, 8), (4, 1, 3, 3), (2, 4, 4, 4), ([2, 2], [1, 1], [1, 1], False, [0, 0], 4), every)
    case((2, 4, 8, 8), (6, 4, 2, 2), (2, 6, 4, 4), ([2, 2], [0, 0], [1, 1], False, [0, 0], 1), [False, True, False])
    case(
        (2, 3, 4, 5, 6), (4, 3, 3, 3, 3), (2, 4, 2, 3, 3), ([2, 2, 2], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 1), every
    )
    case((2, 3, 5), (3, 4, 3), (2, 4, 10), ([2], [1], [1], True, [1], 1), every, (F32, F64))
    case((2, 4, 5, 6), (4, 3, 4, 3), (2, 6, 10, 6), ([2, 1], [1, 1], [1, 1], True, [0, 0], 2), every)
    case((2, 4, 5, 6), (4, 3, 4, 3), (2, 6, 10, 6), ([2, 1], [1, 1], [1, 1], True, [0, 0], 2), [True, False, False])
