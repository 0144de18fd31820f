"""Operators of torchvision. Where the package is not installed, plain PyTorch stands in for them."""

from __future__ import annotations

import contextlib

import torch
from harness import F32, F64, Suite, T

SCHEMAS = {
    "roi_align": "(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
    "deform_conv2d": "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, "
    "int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int offset_groups, "
    "bool use_mask) -> Tensor",
}


def cases(suite: Suite) -> None:
    declare()
    regions(suite)
    deformed(suite)


def declare() -> None:
    with contextlib.suppress(ImportError, RuntimeError):
        import torchvision  # noqa: F401
    for name, schema in SCHEMAS.items():
        if not hasattr(torch.ops.torchvision, name):
            torch.library.custom_op(f"torchvision::{name}", globals()[name], mutates_args=(), schema=schema)


def regions(suite: Suite) -> None:
    # left, top, right, bottom: inside, across the border, far outside, and of no size
    boxes = [[0, 1, 2, 9.5, 8], [1, -3, -2, 4, 5.25], [0, 8, 8, 20, 19], [1, 4, 4, 4, 4], [1, 30, 30, 40, 40]]
    rois = T(make=lambda dtype: torch.tensor(boxes, dtype=dtype or F32))
    for aligned in (False, True):
        for scale, height, width, samples in ((1.0, 3, 4, 2), (0.5, 2, 2, 3), (1.0, 1, 1, 1)):
            suite.case(
                "torchvision.roi_align", T(2, 3, 12, 14), rois, scale, height, width, samples, aligned,
                dtypes=(F32, F64),
            )  # fmt: skip


def deformed(suite: Suite) -> None:
    for groups, offset_groups in ((1, 1), (2, 1), (1, 2), (2, 4)):
        sizes = {"stride_h": 2, "stride_w": 1, "pad_h": 1, "pad_w": 2, "dilation_h": 1, "dilation_w": 2}
        suite.case(
            "torchvision.deform_conv2d", T(2, 4, 7, 6), T(6, 4 // groups, 3, 2),
            T(2, 2 * offset_groups * 6, 4, 8, low=-2, high=2), T(2, offset_groups * 6, 4, 8), T(6),
            **sizes, groups=groups, offset_groups=offset_groups, use_mask=groups == 1, dtypes=(F32, F64),
        )  # fmt: skip


# ---- the operators in plain PyTorch ----


def roi_align(
    input: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    count, channels = len(rois), input.shape[1]
    out = input.new_zeros(count, channels, pooled_height, pooled_width)
    for k, (image, *box) in enumerate(rois.tolist()):
        left, top, right, bottom = (edge * spatial_scale - (0.5 if aligned else 0) for edge in box)
        width, height = right - left, bottom - top
        if not aligned:
            width, height = max(width, 1.0), max(height, 1.0)
        for i in range(pooled_height):
            for j in range(pooled_width):
                for iy in range(sampling_ratio):
                    for ix in range(sampling_ratio):
                        y = top + (i + (iy + 0.5) / sampling_ratio) * height / pooled_height
                        x = left + (j + (ix + 0.5) / sampling_ratio) * width / pooled_width
                        out[k, :, i, j] += clamped_sample(input[int(image)], y, x) / sampling_ratio**2
    return out


def clamped_sample(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    height, width = image.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return image.new_zeros(image.shape[0])
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    return sample(image, y, x)


def sample(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """Bilinear, with zeros outside."""
    height, width = image.shape[1:]
    top, left = int(y // 1), int(x // 1)
    total = image.new_zeros(image.shape[0])
    for row, across in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, along in ((left, 1 - (x - left)), (left + 1, x - left)):
            if 0 <= row < height and 0 <= column < width:
                total = total + image[:, row, column] * across * along
    return total


def deform_conv2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> torch.Tensor:
    images, channels = input.shape[:2]
    kernel_h, kernel_w = weight.shape[2:]
    out_h, out_w = offset.shape[2:]
    taps = kernel_h * kernel_w
    columns = input.new_zeros(images, channels, taps, out_h, out_w)
    share = channels // offset_groups
    for n in range(images):
        for g in range(offset_groups):
            for tap in range(taps):
                r, s = divmod(tap, kernel_w)
                for p in range(out_h):
                    for q in range(out_w):
                        shift = offset[n, 2 * (g * taps + tap) :, p, q]
                        y = p * stride_h - pad_h + r * dilation_h + float(shift[0])
                        x = q * stride_w - pad_w + s * dilation_w + float(shift[1])
                        value = sample(input[n, g * share : (g + 1) * share], y, x)
                        if use_mask:
                            value = value * mask[n, g * taps + tap, p, q]
                        columns[n, g * share : (g + 1) * share, tap, p, q] = value
    return torch.nn.functional.conv2d(
        columns.reshape(images, channels * taps, out_h, out_w),
        weight.reshape(len(weight), -1, 1, 1),
        bias,
        groups=groups,
    )
