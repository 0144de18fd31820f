"""Layer, RMS, batch, instance, group and weight normalisation, and their gradients."""

from __future__ import annotations

import torch
from harness import BF16, F16, F32, F64, FLOATS, U8, Suite, T

# The CPU's gradients of narrow floats add up in the narrow type.
NARROW_SUMS = {BF16: (4e-2, 4e-2), F16: (4e-3, 1e-2)}


def cases(suite: Suite) -> None:
    layer(suite)
    group(suite)
    batch(suite)
    instance(suite)
    weight(suite)
    modules(suite)


# The CPU has no kernel for these; the same operators under names that it knows stand in.
aten = torch.ops.aten
LIBRARY = torch.library.Library("aten", "IMPL")
STAND_INS = {
    "_fused_rms_norm_backward": torch._decomp.decomposition_table[aten._fused_rms_norm_backward.default],
    "cudnn_batch_norm": lambda *args: (*aten.native_batch_norm(*args), torch.empty(0, dtype=torch.uint8)),
    "cudnn_batch_norm_backward": lambda x, grad, weight, mean, var, saved, inverse, eps, _: (
        aten.native_batch_norm_backward(grad, x, weight, mean, var, saved, inverse, True, eps, [True, True, True])
    ),
    "batch_norm_stats": lambda x, eps: aten.native_batch_norm(x, None, None, None, None, True, 0.1, eps)[1:],
    "batch_norm_elemt": lambda x, weight, bias, mean, inverse, _: aten.native_batch_norm(
        x, weight, bias, mean, inverse.pow(-2), False, 0.1, 0.0
    )[0],
}
for name, function in STAND_INS.items():
    LIBRARY.impl(name, function, "CPU")


def layer(suite: Suite) -> None:
    for name in ("layer_norm", "native_layer_norm"):
        eps = (1e-5,)
        suite.case(f"aten.{name}", T(3, 4, 5), [5], T(5), T(5), *eps, dtypes=FLOATS)
        suite.case(f"aten.{name}", T(3, 4, 5), [4, 5], T(4, 5), None, *eps)
        suite.case(f"aten.{name}", T(3, 4, 5), [3, 4, 5], None, None, 1e-3)
        suite.case(f"aten.{name}", T(6, 5), [5], T(5, dtype=F32), T(5, dtype=F32), *eps, dtypes=(BF16,))
    for name in ("rms_norm", "_fused_rms_norm"):
        suite.case(f"aten.{name}", T(3, 4, 5), [5], T(5), 1e-5, dtypes=FLOATS)
        suite.case(f"aten.{name}", T(3, 4, 5), [4, 5], None, None, dtypes=FLOATS)
    for mask in ([True, True, True], [True, False, False], [False, True, True]):
        suite.case(
            "aten.native_layer_norm_backward",
            *(T(6, 5), T(6, 5), [5], T(6, 1), T(6, 1, low=0.5, high=1), T(5), T(5), mask),
            dtypes=FLOATS if all(mask) else (F32,),
            tolerance=NARROW_SUMS,
        )
    suite.case(
        "aten.native_layer_norm_backward",
        *(T(2, 3, 4), T(2, 3, 4), [3, 4], T(2, 1, 1), T(2, 1, 1, low=0.5, high=1), None, None, [True, False, False]),
    )
    suite.case(
        "aten._fused_rms_norm_backward",
        *(T(6, 5), T(6, 5), [5], T(6, 1, low=0.5, high=1), T(5), [True, True]),
        dtypes=(F32, F64),
    )


def group(suite: Suite) -> None:
    suite.case("aten.group_norm", T(2, 6, 4, 3), 3, T(6), T(6), dtypes=FLOATS)
    suite.case("aten.group_norm", T(2, 6), 2, None, None, 1e-3)
    suite.case("aten.group_norm", T(2, 6, 5), 1, T(6), None)
    suite.case("aten.group_norm", T(2, 6, 5), 6, T(6), T(6))
    suite.case("aten.native_group_norm", T(2, 6, 4, 3), T(6), T(6), 2, 6, 12, 3, 1e-5, dtypes=FLOATS)
    suite.case("aten.native_group_norm", T(2, 6, 4, 3), None, None, 2, 6, 12, 2, 1e-5)
    suite.case(
        "aten.native_group_norm_backward",
        *(T(2, 6, 4, 3), T(2, 6, 4, 3), T(2, 3), T(2, 3, low=0.5, high=1), T(6), 2, 6, 12, 3, [True, True, True]),
        dtypes=(F32, F64, BF16),
        tolerance=NARROW_SUMS,
    )
    suite.case(
        "aten.native_group_norm_backward",
        *(T(2, 6, 12), T(2, 6, 12), T(2, 2), T(2, 2, low=0.5, high=1), None, 2, 6, 12, 2, [True, False, False]),
    )


def batch(suite: Suite) -> None:
    variance = T(3, low=0.5, high=2)
    running = (T(3), variance)
    affine = (T(3), T(3))
    for name in ("batch_norm", "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional"):
        more = (True,) if name == "batch_norm" else ()
        for training in (True, False):
            suite.case(f"aten.{name}", T(4, 3, 5, 2), *affine, *running, training, 0.1, 1e-5, *more, dtypes=FLOATS)
        suite.case(f"aten.{name}", T(8, 3), *affine, *running, True, 0.3, 1e-3, *more)
        if "legit" not in name:
            suite.case(f"aten.{name}", T(4, 3, 5), None, None, None, None, True, 0.1, 1e-5, *more)
    wide = T(3, dtype=F32)
    suite.case(
        "aten.native_batch_norm",
        *(T(4, 3, 5), wide, wide, wide, T(3, dtype=F32, low=0.5, high=2), True, 0.1, 1e-5),
        dtypes=(BF16,),
    )
    suite.case("aten._native_batch_norm_legit.no_stats", T(4, 3, 5), *affine, True, 0.1, 1e-5)
    suite.case("aten._native_batch_norm_legit_no_training", T(4, 3, 5), *affine, *running, 0.1, 1e-5, dtypes=FLOATS)
    for name in ("_batch_norm_with_update", "_batch_norm_with_update_functional", "_batch_norm_no_update"):
        suite.case(f"aten.{name}", T(4, 3, 5), *affine, *running, 0.1, 1e-5)
    suite.case("aten.cudnn_batch_norm", T(4, 3, 5), *affine, *running, True, 0.1, 1e-5)
    saved = (T(3), T(3, low=0.5, high=1))
    suite.case("aten.cudnn_batch_norm_backward", T(4, 3, 5), T(4, 3, 5), T(3), *running, *saved, 1e-5, T(0, dtype=U8))
    suite.case(
        "aten.batch_norm_backward",
        *(T(4, 3, 5), T(4, 3, 5), T(3), *running, *saved, True, 1e-5, [True, True, True], T(0, dtype=U8)),
    )
    suite.case("aten.batch_norm_stats", T(4, 3, 5), 1e-5)
    suite.case("aten.batch_norm_elemt", T(4, 3, 5), *affine, T(3), T(3, low=0.5, high=1), 1e-5)
    suite.case("aten.batch_norm_update_stats", T(4, 3, 5), *running, 0.1)
    for train in (True, False):
        suite.case(
            "aten.native_batch_norm_backward",
            *(T(4, 3, 5), T(4, 3, 5), T(3), *running, *saved, train, 1e-5, [True, True, True]),
            dtypes=(F32, F64, BF16),
            tolerance=NARROW_SUMS,
        )
    suite.case(
        "aten.native_batch_norm_backward",
        *(T(4, 3, 5), T(4, 3, 5), None, None, None, T(3), T(3, low=0.5, high=1), True, 1e-5, [True, False, False]),
    )


def instance(suite: Suite) -> None:
    running = (T(3), T(3, low=0.5, high=2))
    suite.case("aten.instance_norm", T(2, 3, 5, 2), T(3), T(3), None, None, True, 0.1, 1e-5, True, dtypes=FLOATS)
    suite.case("aten.instance_norm", T(2, 3, 5), None, None, None, None, True, 0.1, 1e-5, True)
    suite.case("aten.instance_norm", T(2, 3, 5), T(3), T(3), *running, True, 0.1, 1e-5, True)
    suite.case("aten.instance_norm", T(2, 3, 5), T(3), T(3), *running, False, 0.1, 1e-5, True)


def weight(suite: Suite) -> None:
    suite.case("aten._weight_norm", T(4, 3, 2), T(4, 1, 1), 0, dtypes=(F32, F64))
    suite.case("aten._weight_norm", T(4, 3), T(1, 3), 1)
    suite.case("aten._weight_norm_interface", T(4, 3, 2), T(4, 1, 1), 0, dtypes=(F32, F64, BF16))
    suite.case("aten._weight_norm_interface", T(4, 3), T(1, 3), 1)
    suite.case("aten.norm_except_dim", T(4, 3, 2), 2, 0)
    suite.case("aten.norm_except_dim", T(4, 3, 2), 2, 1)
    suite.case("aten.norm_except_dim", T(4, 3, 2), 2, -1)
    suite.case(
        "aten._weight_norm_interface_backward",
        *(T(4, 3, 2), T(4, 3, 2), T(4, 1, 1), T(4, 1, 1, low=1, high=2), 0),
        dtypes=(F32, F64),
    )
    suite.case("aten._weight_norm_interface_backward", T(4, 3), T(4, 3), T(1, 3), T(1, 3, low=1, high=2), 1)


def modules(suite: Suite) -> None:
    norms = {
        "LayerNorm": (torch.nn.LayerNorm(5), T(3, 5)),
        "RMSNorm": (torch.nn.RMSNorm(5), T(3, 5)),
        "GroupNorm": (torch.nn.GroupNorm(2, 4), T(3, 4, 5)),
        "BatchNorm1d": (torch.nn.BatchNorm1d(4), T(6, 4)),
        "BatchNorm2d": (torch.nn.BatchNorm2d(4), T(3, 4, 5, 2)),
        "InstanceNorm2d": (torch.nn.InstanceNorm2d(4, affine=True, track_running_stats=True), T(3, 4, 5, 2)),
        "LocalResponseNorm": (torch.nn.LocalResponseNorm(3), T(2, 5, 4, 3)),
        "weight_norm": (torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3)), T(2, 4)),
    }
    for name, (module, x) in norms.items():
        suite.case_module(module.train(), x, name=name)
        suite.case_module(module.eval(), x, name=name + "_eval")
