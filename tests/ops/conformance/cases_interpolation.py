"""Interpolation, grid sampling, and windows as columns."""

from __future__ import annotations

from typing import Any

from harness import BF16, BOOL, C64, F16, F32, F64, FLOATS, U8, Suite, T
from torch.nn import functional


def cases(suite: Suite) -> None:
    nearest(suite)
    linear(suite)
    cubic(suite)
    smooth(suite)
    factors(suite)
    backward(suite)
    modules(suite)
    grids(suite)
    grid_gradients(suite)
    affine_grids(suite)
    folding(suite)


SIZES = {1: ((5, 10), (5, 3), (7, 7), (1, 4), (6, 1)), 2: ((5, 10), (4, 3), (7, 7)), 3: ((3, 6), (4, 3), (2, 2))}


def shape(spatial: int, size: int) -> tuple[int, ...]:
    return (2, 3, *(size + i for i in range(spatial)))


def nearest(suite: Suite) -> None:
    for name in ("upsample_nearest", "_upsample_nearest_exact"):
        for spatial in (1, 2, 3):
            for before, after in SIZES[spatial]:
                dtypes = (*FLOATS, U8) if (before, after) == SIZES[spatial][0] else (F32,)
                suite.case(
                    f"aten.{name}{spatial}d",
                    T(*shape(spatial, before)),
                    [after + i for i in range(spatial)],
                    dtypes=dtypes,
                )
    # f32 arithmetic and exact division disagree here
    suite.case("aten.upsample_nearest1d", T(1, 1, 2), [82])
    suite.case("aten.upsample_nearest1d", T(1, 1, 5), [205])
    suite.case("aten.upsample_nearest2d", T(1, 1, 3, 4), [7, 9], 2.5, 2.4)


def linear(suite: Suite) -> None:
    for name, spatial in (("upsample_linear1d", 1), ("upsample_bilinear2d", 2), ("upsample_trilinear3d", 3)):
        for before, after in SIZES[spatial]:
            for align in (False, True):
                dtypes = FLOATS if (before, after) == SIZES[spatial][0] else (F32,)
                suite.case(
                    f"aten.{name}",
                    T(*shape(spatial, before)),
                    [after + i for i in range(spatial)],
                    align,
                    dtypes=dtypes,
                )
    suite.case("aten.upsample_linear1d", T(1, 2, 6, special=True), [12], False)
    suite.case("aten.upsample_bilinear2d", T(1, 2, 5, 7), [12, 16], False, 2.5, 2.3)


def cubic(suite: Suite) -> None:
    for before, after in SIZES[2]:
        for align in (False, True):
            dtypes = FLOATS if (before, after) == SIZES[2][0] else (F32,)
            suite.case("aten.upsample_bicubic2d", T(*shape(2, before)), [after, after + 1], align, dtypes=dtypes)
    suite.case("aten.upsample_bicubic2d", T(1, 2, 5, 7), [12, 16], False, 2.5, 2.3)


def smooth(suite: Suite) -> None:
    for name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa"):
        for before, after in ((12, 5), (5, 10), (7, 7), (9, 1)):
            for align in (False, True):
                dtypes = (F32, F64) if (before, after) == (12, 5) else (F32,)
                suite.case(f"aten.{name}", T(*shape(2, before)), [after, after + 1], align, dtypes=dtypes)
        suite.case(f"aten.{name}", T(1, 2, 10, 10), [4, 4], False, 0.45, 0.4)


def factors(suite: Suite) -> None:
    for name, spatial in (
        ("upsample_nearest1d", 1),
        ("upsample_nearest2d", 2),
        ("_upsample_nearest_exact2d", 2),
        ("upsample_nearest3d", 3),
    ):
        suite.case(f"aten.{name}.vec", T(*shape(spatial, 4)), None, [2.0] * spatial)
        suite.case(f"aten.{name}.vec", T(*shape(spatial, 4)), None, [1.3] * spatial)
        suite.case(f"aten.{name}.vec", T(*shape(spatial, 4)), [6] * spatial, None)
    for name, spatial in (
        ("upsample_linear1d", 1),
        ("upsample_bilinear2d", 2),
        ("upsample_bicubic2d", 2),
        ("upsample_trilinear3d", 3),
        ("_upsample_bilinear2d_aa", 2),
    ):
        for align in (False, True):
            suite.case(f"aten.{name}.vec", T(*shape(spatial, 4)), None, align, [2.0] * spatial)
            suite.case(f"aten.{name}.vec", T(*shape(spatial, 4)), None, align, [0.7] * spatial)
            suite.case(f"aten.{name}.vec", T(*shape(spatial, 4)), [6] * spatial, align, None)


def backward(suite: Suite) -> None:
    plain: list[tuple[str, int, list[Any]]] = [
        (f"{name}{n}d", n, []) for n in (1, 2, 3) for name in ("upsample_nearest", "_upsample_nearest_exact")
    ]
    weighted = [
        ("upsample_linear1d", 1),
        ("upsample_bilinear2d", 2),
        ("upsample_trilinear3d", 3),
        ("upsample_bicubic2d", 2),
        ("_upsample_bilinear2d_aa", 2),
        ("_upsample_bicubic2d_aa", 2),
    ]
    for name, spatial, extra in plain + [
        (name, spatial, [align]) for name, spatial in weighted for align in (False, True)
    ]:
        for before, after in ((3, 6), (5, 2), (4, 5)):
            output = [after + i for i in range(spatial)]
            dtypes = (F32, F64, BF16) if (before, after) == (3, 6) and "aa" not in name else (F32,)
            suite.case(
                f"aten.{name}_backward", T(2, 3, *output), output, list(shape(spatial, before)), *extra, dtypes=dtypes
            )


def modules(suite: Suite) -> None:
    image = T(1, 2, 6, 5)
    for options in (
        {"scale_factor": 2},
        {"scale_factor": 1.7, "mode": "nearest-exact"},
        {"size": (9, 4), "mode": "bilinear"},
        {"scale_factor": (0.5, 2), "mode": "bilinear", "align_corners": True},
        {"scale_factor": 1.3, "mode": "bilinear", "recompute_scale_factor": True},
        {"size": (3, 8), "mode": "bicubic"},
        {"size": (3, 4), "mode": "area"},
        {"size": (3, 3), "mode": "bilinear", "antialias": True},
    ):
        suite.case_module(
            lambda x, options=options: functional.interpolate(x, **options),
            image,
            name="interpolate",
            dtypes=(F32, BF16) if "scale_factor" in options else (F32,),
        )


def grids(suite: Suite) -> None:
    # beyond the borders as well
    grid = T(2, 3, 5, 2, low=-1.7, high=1.7)
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            for align in (False, True):
                suite.case("aten.grid_sampler_2d", T(2, 3, 4, 6), grid, mode, padding, align, dtypes=(F32, F64))
    for mode in (0, 1):
        for padding in (0, 1, 2):
            for align in (False, True):
                suite.case(
                    "aten.grid_sampler_3d", T(2, 2, 3, 4, 5), T(2, 2, 3, 2, 3, low=-1.7, high=1.7), mode, padding, align
                )
    suite.case("aten.grid_sampler", T(2, 3, 4, 6), grid, 0, 0, False)
    suite.case("aten.grid_sampler", T(2, 3, 1, 1), grid, 0, 2, True)
    suite.case_module(
        lambda x, g: functional.grid_sample(x, g, align_corners=False), T(2, 3, 4, 6), grid, name="grid_sample"
    )


def grid_gradients(suite: Suite) -> None:
    grid = T(2, 3, 5, 2, low=-1.7, high=1.7)
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            for align in (False, True):
                suite.case(
                    "aten.grid_sampler_2d_backward",
                    T(2, 3, 3, 5),
                    T(2, 3, 4, 6),
                    grid,
                    mode,
                    padding,
                    align,
                    [True, True],
                )
    suite.case(
        "aten.grid_sampler_2d_backward", T(2, 3, 3, 5), T(2, 3, 4, 6), grid, 0, 0, False, [True, True], dtypes=(F64,)
    )
    for mode in (0, 1):
        volume = T(1, 2, 3, 4, 3, low=-1.7, high=1.7)
        suite.case(
            "aten.grid_sampler_3d_backward", T(1, 2, 2, 3, 4), T(1, 2, 3, 4, 5), volume, mode, 0, False, [True, True]
        )


def affine_grids(suite: Suite) -> None:
    for align in (False, True):
        suite.case("aten.affine_grid_generator", T(2, 2, 3), [2, 3, 4, 5], align, dtypes=(F32, F64))
        suite.case("aten.affine_grid_generator", T(2, 3, 4), [2, 3, 4, 5, 1], align)
        suite.case("aten.affine_grid_generator_backward", T(2, 4, 5, 2), [2, 3, 4, 5], align)
        suite.case_module(
            lambda t, align=align: functional.affine_grid(t, [1, 3, 4, 5], align_corners=align),
            T(1, 2, 3),
            name="affine_grid",
        )


def folding(suite: Suite) -> None:
    images = T(2, 3, 7, 8)
    suite.case("aten.im2col", images, [3, 2], [1, 1], [0, 0], [1, 1], dtypes=(*FLOATS, BOOL, C64))
    suite.case("aten.im2col", images, [3, 3], [2, 1], [1, 2], [2, 3])
    suite.case("aten.im2col", T(3, 7, 8), [2, 2], [1, 1], [0, 0], [2, 2])
    suite.case("aten.col2im", T(2, 18, 35), [7, 8], [3, 2], [1, 1], [0, 0], [1, 1], dtypes=(*FLOATS, BOOL, C64))
    suite.case("aten.col2im", T(2, 27, 12), [7, 8], [3, 3], [2, 1], [1, 2], [2, 3], dtypes=(F32, F16))
    suite.case("aten.col2im", T(12, 12), [6, 8], [2, 2], [1, 1], [0, 0], [2, 2])
    suite.case_module(
        lambda x: functional.fold(functional.unfold(x, 3, padding=1), (7, 8), 3, padding=1), images, name="unfold_fold"
    )
