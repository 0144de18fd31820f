"""Activation functions, forward and backward."""

from __future__ import annotations

from harness import BF16, F32, F64, FLOATS, NUMBERS, Suite, T

X = T(4, 6, special=True)
GRADIENT = T(4, 6)


def cases(suite: Suite) -> None:
    forward(suite)
    backward(suite)


def forward(suite: Suite) -> None:
    for name in ("silu", "mish", "selu", "hardsigmoid", "hardswish", "log_sigmoid", "celu", "elu", "softplus"):
        suite.case(f"aten.{name}", X, dtypes=FLOATS)
        suite.case(f"aten.{name}", T(4, 6, low=-30, high=30), dtypes=(F32, F64))
    for name in ("relu", "relu6"):
        suite.case(f"aten.{name}", X, dtypes=NUMBERS)
    for name in ("leaky_relu", "hardshrink", "softshrink", "rrelu"):
        suite.case(f"aten.{name}", X, dtypes=FLOATS)
    suite.case("aten.hardtanh", X, dtypes=NUMBERS)
    suite.case("aten.hardtanh", X, -2, 3, dtypes=NUMBERS)
    suite.case("aten.leaky_relu", X, 0.2, dtypes=FLOATS)
    suite.case("aten.elu", X, 1.5, 2.0, 0.5, dtypes=FLOATS)
    suite.case("aten.celu", X, 0.7, dtypes=FLOATS)
    for approximate in ("none", "tanh"):
        suite.case("aten.gelu", T(4, 6, low=-8, high=8), approximate=approximate, dtypes=FLOATS)
    suite.case("aten.softplus", T(4, 6, low=-5, high=30), 0.5, 5, dtypes=FLOATS)
    suite.case("aten.threshold", X, 0.1, 20, dtypes=FLOATS)
    suite.case("aten.threshold", T(4, 6), 1, -7, dtypes=NUMBERS)
    suite.case("aten.hardshrink", X, 1.0, dtypes=FLOATS)
    suite.case("aten.softshrink", X, 0.1, dtypes=FLOATS)
    suite.case("aten.rrelu", X, 0.1, 0.4, False, dtypes=FLOATS)
    suite.case("aten.rrelu", X, 0.1, 0.4, True, runs=False)
    for dim in (-1, 0, 1):
        suite.case("aten.glu", T(4, 6, 2), dim, dtypes=FLOATS)
    suite.case("aten.prelu", T(2, 3, 4), T(3), dtypes=FLOATS)
    suite.case("aten.prelu", T(2, 3, 4), T(1), dtypes=FLOATS)
    suite.case("aten.prelu", T(4), T(1), dtypes=FLOATS)
    suite.case("aten._prelu_kernel", T(2, 3, 4), T(1, 3, 1), dtypes=FLOATS)
    suite.case("aten.log_sigmoid_forward", T(4, 6), dtypes=FLOATS)


def backward(suite: Suite) -> None:
    for name in ("silu", "mish", "gelu", "hardswish"):
        suite.case(f"aten.{name}_backward", GRADIENT, T(4, 6), dtypes=FLOATS)
    # PyTorch multiplies by 1/6 in f32 for all dtypes
    suite.case("aten.hardsigmoid_backward", GRADIENT, T(4, 6), dtypes=FLOATS, tolerance={F64: (1e-7, 1e-7)})
    suite.case("aten.gelu_backward", GRADIENT, T(4, 6), approximate="tanh", dtypes=FLOATS)
    for name in ("sigmoid", "tanh"):
        suite.case(f"aten.{name}_backward", GRADIENT, T(4, 6, low=0, high=1), dtypes=FLOATS)
    suite.case("aten.threshold_backward", GRADIENT, T(4, 6), 0, dtypes=FLOATS)
    suite.case("aten.threshold_backward", GRADIENT, T(4, 6), 0.5, dtypes=FLOATS)
    suite.case("aten.leaky_relu_backward", GRADIENT, T(4, 6), 0.1, False, dtypes=FLOATS)
    suite.case("aten.hardtanh_backward", GRADIENT, T(4, 6), -0.5, 0.7, dtypes=FLOATS)
    suite.case("aten.softplus_backward", GRADIENT, T(4, 6), 2, 3, dtypes=FLOATS)
    suite.case("aten.hardshrink_backward", GRADIENT, T(4, 6), 0.5, dtypes=FLOATS)
    suite.case("aten.softshrink_backward", GRADIENT, T(4, 6), 0.5, dtypes=FLOATS)
    edge = T(4, values=[0.1, -0.1, 0.2, 0.8])
    for name in ("threshold", "hardshrink", "softshrink", "logit"):
        arguments = (T(4), edge, 0.1 if name != "logit" else 0.2)
        suite.case(f"aten.{name}_backward", *arguments, dtypes=FLOATS, tolerance={F64: (1e-7, 1e-7)})
    suite.case("aten.hardshrink", edge, 0.1, dtypes=FLOATS)
    suite.case("aten.elu_backward", GRADIENT, 1.5, 2.0, 0.5, False, T(4, 6), dtypes=FLOATS)
    suite.case("aten.elu_backward", GRADIENT, 1.5, 2.0, 1, True, T(4, 6), dtypes=FLOATS)
    suite.case("aten.glu_backward", T(4, 3), T(4, 6), -1, dtypes=FLOATS)
    suite.case("aten.glu_backward", T(2, 6), T(4, 6), 0, dtypes=(F32, BF16))
    suite.case("aten.log_sigmoid_backward", GRADIENT, T(4, 6, values=[0.5] * 24), T(4, 6, values=[0.6065306] * 24))
    suite.case("aten._prelu_kernel_backward", T(2, 3, 4), T(2, 3, 4), T(1, 3, 1), dtypes=FLOATS)
    suite.case("aten.logit_backward", GRADIENT, T(4, 6, low=0.1, high=0.9), dtypes=FLOATS)
    suite.case("aten.logit_backward", GRADIENT, T(4, 6, low=0, high=1), 0.2, dtypes=FLOATS)
