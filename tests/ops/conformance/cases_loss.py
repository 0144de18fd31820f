"""Losses and their gradients."""

from __future__ import annotations

from math import inf

import torch
from harness import BF16, F32, F64, FLOATS, I64, Suite, T

NONE, MEAN, SUM = 0, 1, 2
REDUCTIONS = (MEAN, NONE, SUM)


def cases(suite: Suite) -> None:
    pairs(suite)
    vectors(suite)
    labels(suite)
    cross_entropy(suite)
    margins(suite)
    backward(suite)
    modules(suite)


def pairs(suite: Suite) -> None:
    x, y = T(3, 4), T(3, 4)
    share = T(3, 4, low=0.05, high=0.95)
    sign = T(3, 4, make=lambda dtype: torch.randint(0, 2, (3, 4)).mul(2).sub(1).to(dtype))
    for reduction in REDUCTIONS:
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            suite.case(f"aten.{name}", x, y, reduction, dtypes=FLOATS)
        suite.case("aten.smooth_l1_loss", x, y, reduction, 0.3)
        suite.case("aten.smooth_l1_loss", x, y, reduction, 0.0)
        suite.case("aten.huber_loss", x, y, reduction, 0.3)
        suite.case("aten.binary_cross_entropy", share, share, None, reduction, dtypes=FLOATS)
        suite.case("aten.binary_cross_entropy", share, share, T(4), reduction)
        suite.case("aten.binary_cross_entropy", T(4, values=[0, 1, 0, 1]), T(4, values=[0, 1, 1, 0]), None, reduction)
        suite.case("aten.binary_cross_entropy_with_logits", x, share, None, None, reduction, dtypes=FLOATS)
        suite.case("aten.binary_cross_entropy_with_logits", x, share, T(3, 4), T(4), reduction)
        suite.case(
            "aten.binary_cross_entropy_with_logits",
            T(4, values=[-200, 200, 0, 50]),
            T(4, low=0, high=1),
            None,
            None,
            reduction,
        )
        suite.case("aten.kl_div", x, share, reduction, dtypes=FLOATS)
        suite.case("aten.kl_div", x, y, reduction, log_target=True)
        suite.case("aten.kl_div", T(4), T(4, values=[0, 0.5, 0, 1]), reduction)
        for flags in ((True, False), (False, True), (True, True)):
            suite.case(
                "aten.poisson_nll_loss", T(3, 4, low=0.1, high=2), T(3, 4, low=0, high=4), *flags, 1e-8, reduction
            )
        suite.case("aten.soft_margin_loss", x, sign, reduction, dtypes=(F32, F64, BF16))
        suite.case("aten.hinge_embedding_loss", x, sign, 1.0, reduction, dtypes=(F32, F64))
        suite.case("aten.margin_ranking_loss", x, y, sign, 0.2, reduction, dtypes=(F32, F64))


def vectors(suite: Suite) -> None:
    x = T(3, 4)
    sign = T(3, values=[1, -1, 1])
    for reduction in REDUCTIONS:
        suite.case("aten.cosine_embedding_loss", x, x, sign, 0.1, reduction, dtypes=(F32, F64))
        suite.case("aten.triplet_margin_loss", x, x, x, 1.0, 2.0, 1e-6, False, reduction, dtypes=(F32, F64))
        suite.case("aten.triplet_margin_loss", x, x, x, 1.0, 1.0, 1e-6, True, reduction)
    suite.case("aten.cosine_embedding_loss", T(4), T(4), T(values=[1]))
    suite.case("aten.triplet_margin_loss", T(3, 4), T(3, 4), T(3, 4), 0.5, inf)


def classes(*shape: int, count: int, ignored: int | None = None) -> T:
    """Class labels; about every third is `ignored`."""

    def make(_: torch.dtype) -> torch.Tensor:
        drawn = torch.randint(0, count, shape)
        return drawn if ignored is None else torch.where(torch.rand(shape) < 0.3, ignored, drawn)

    return T(*shape, make=make)


def labels(suite: Suite) -> None:
    scores, weight = T(6, 5), T(5, low=0.5, high=2)
    for reduction in REDUCTIONS:
        for name in ("nll_loss", "nll_loss_nd", "nll_loss_forward"):
            suite.case(f"aten.{name}", scores, classes(6, count=5), None, reduction, -100, dtypes=FLOATS)
            suite.case(f"aten.{name}", scores, classes(6, count=5), weight, reduction, -100)
            suite.case(f"aten.{name}", scores, classes(6, count=5, ignored=-100), weight, reduction, -100)
            suite.case(f"aten.{name}", scores, classes(6, count=5), None, reduction, 2)
            suite.case(f"aten.{name}", T(5), classes(count=5), None, reduction, -100)
        for name in ("nll_loss2d", "nll_loss2d_forward", "nll_loss_nd"):
            suite.case(
                f"aten.{name}",
                T(2, 5, 3, 4),
                classes(2, 3, 4, count=5, ignored=-100),
                weight,
                reduction,
                -100,
                dtypes=(F32, F64),
            )
        suite.case("aten.nll_loss_nd", T(2, 5, 3, 2, 2), classes(2, 3, 2, 2, count=5), None, reduction)
    suite.case("aten.ctc_loss.IntList", T(6, 2, 4), classes(2, 3, count=3), [6, 5], [3, 2], runs=False)


def cross_entropy(suite: Suite) -> None:
    scores, weight = T(6, 5), T(5, low=0.5, high=2)
    shares = T(6, 5, low=0, high=1)
    for reduction in REDUCTIONS:
        for smoothing in (0.0, 0.2):
            rest = (reduction, -100, smoothing)
            suite.case("aten.cross_entropy_loss", scores, classes(6, count=5), None, *rest, dtypes=FLOATS)
            suite.case("aten.cross_entropy_loss", scores, classes(6, count=5, ignored=-100), weight, *rest)
            suite.case("aten.cross_entropy_loss", T(2, 5, 3, 4), classes(2, 3, 4, count=5, ignored=-100), None, *rest)
            suite.case("aten.cross_entropy_loss", T(5), classes(count=5), weight, *rest)
            suite.case("aten.cross_entropy_loss", scores, shares, None, *rest, dtypes=FLOATS)
            suite.case("aten.cross_entropy_loss", scores, shares, weight, *rest)
            suite.case("aten.cross_entropy_loss", T(2, 5, 3), T(2, 5, 3, low=0, high=1), weight, *rest)
        suite.case("aten.cross_entropy_loss", scores, classes(6, count=5), None, reduction, 1)
    suite.case("aten.cross_entropy_loss", T(2, 3, values=[1000, 999, -1000, 3, 2, 1]), classes(2, count=3))


def margins(suite: Suite) -> None:
    targets = T(3, 5, dtype=I64, values=[1, 3, -1, 0, 2, -1, 0, 0, 0, 0, 4, 2, 0, 1, 3])
    for reduction in REDUCTIONS:
        suite.case("aten.multi_margin_loss", T(6, 5), classes(6, count=5), 1, 1.0, None, reduction, dtypes=(F32, F64))
        suite.case("aten.multi_margin_loss", T(6, 5), classes(6, count=5), 2, 0.5, T(5), reduction)
        suite.case("aten.multi_margin_loss", T(5), classes(count=5), 1, 1.0, None, reduction)
        suite.case("aten.multilabel_margin_loss", T(3, 5), targets, reduction, dtypes=(F32, F64))
        suite.case("aten.multilabel_margin_loss_forward", T(3, 5), targets, reduction)
        suite.case("aten.multilabel_margin_loss_forward", T(5), T(5, dtype=I64, values=[1, 3, -1, 0, 2]), reduction)


def backward(suite: Suite) -> None:
    x, y = T(3, 4), T(3, 4)
    share = T(3, 4, low=0.05, high=0.95)
    weight = T(5, low=0.5, high=2)
    for reduction in REDUCTIONS:
        grad = T(3, 4) if reduction == NONE else T()
        suite.case("aten.mse_loss_backward", grad, x, y, reduction, dtypes=FLOATS)
        suite.case("aten.smooth_l1_loss_backward", grad, x, y, reduction, 0.7, dtypes=FLOATS)
        suite.case("aten.huber_loss_backward", grad, x, y, reduction, 0.7, dtypes=FLOATS)
        suite.case("aten.soft_margin_loss_backward", grad, x, T(3, 4, values=[1, -1] * 6), reduction, dtypes=(F32, F64))
        suite.case("aten.binary_cross_entropy_backward", grad, share, share, None, reduction, dtypes=(F32, F64))
        suite.case("aten.binary_cross_entropy_backward", grad, share, share, T(3, 4), reduction)
        grad = T(6) if reduction == NONE else T()
        rest = (reduction, -100, T(values=[3.5]))
        suite.case("aten.nll_loss_backward", grad, T(6, 5), classes(6, count=5), None, *rest, dtypes=FLOATS)
        suite.case("aten.nll_loss_backward", grad, T(6, 5), classes(6, count=5, ignored=-100), weight, *rest)
        grad = T(2, 3, 4) if reduction == NONE else T()
        suite.case(
            "aten.nll_loss2d_backward", grad, T(2, 5, 3, 4), classes(2, 3, 4, count=5, ignored=-100), weight, *rest
        )


def modules(suite: Suite) -> None:
    functional = torch.nn.functional
    suite.case_module(
        lambda x, y: functional.kl_div(x, y, reduction="batchmean"), T(3, 4), T(3, 4, low=0, high=1), name="batchmean"
    )
    suite.case_module(
        lambda x, y: functional.multilabel_soft_margin_loss(x, y), T(3, 4), T(3, 4, low=0, high=1), name="multilabel"
    )
    suite.case_module(
        lambda x, y: functional.cross_entropy(x, y, label_smoothing=0.1),
        T(3, 4),
        classes(3, count=4),
        name="cross_entropy",
    )
