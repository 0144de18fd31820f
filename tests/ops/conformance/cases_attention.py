"""Attention: scaled dot products, their device kernels and gradients, multi-head layers."""

from __future__ import annotations

import torch
from harness import BF16, BOOL, F16, F32, F64, FLOATS, Suite, T

GRADIENT = {BF16: (0.1, 0.06), F16: (0.02, 0.02), F32: (1e-4, 1e-4)}


def cases(suite: Suite) -> None:
    scaled_dot_product(suite)
    kernels(suite)
    gradients(suite)
    layers(suite)


def some_false(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """A mask whose second row looks nowhere."""
    mask = torch.rand(shape) < 0.6
    mask[..., 0, :] = True
    if shape[-2] > 1:
        mask[..., 1, :] = False
    return mask if dtype == BOOL else torch.where(mask, torch.randn(shape), float("-inf")).to(dtype)


def mask_of(*shape: int, dtype: torch.dtype | None = None) -> T:
    return T(*shape, dtype=dtype, make=lambda drawn: some_false(dtype or drawn, *shape))


def scaled_dot_product(suite: Suite) -> None:
    name = "aten.scaled_dot_product_attention"

    def case(*args: object, dtypes: tuple = (F32,), **kwargs: object) -> None:
        suite.case(name, *args, dtypes=dtypes, **kwargs)

    case(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 7), dtypes=FLOATS)
    case(T(2, 3, 5, 4), T(2, 3, 5, 4), T(2, 3, 5, 4), dtypes=FLOATS)
    case(T(5, 4), T(6, 4), T(6, 7))
    case(T(3, 5, 4), T(3, 6, 4), T(3, 6, 7), dtypes=(F32, F64))
    case(T(2, 2, 3, 5, 4), T(2, 2, 3, 6, 4), T(2, 2, 3, 6, 4))
    case(T(2, 1, 5, 4), T(1, 3, 6, 4), T(1, 3, 6, 4))
    case(T(2, 3, 5, 4), T(2, 3, 5, 4), T(2, 3, 5, 4), is_causal=True, dtypes=FLOATS)
    case(T(2, 3, 5, 4), T(2, 3, 8, 4), T(2, 3, 8, 4), is_causal=True)
    case(T(2, 3, 8, 4), T(2, 3, 5, 4), T(2, 3, 5, 4), is_causal=True)
    case(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4), scale=0.3, dtypes=FLOATS)
    case(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4), scale=1.0)
    for shape in ((5, 6), (2, 3, 5, 6), (2, 1, 1, 6), (1, 1, 5, 6), (2, 1, 5, 6)):
        case(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4), T(*shape))
    case(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4), mask_of(2, 1, 5, 6, dtype=BOOL), dtypes=FLOATS)
    case(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4), mask_of(5, 6), dtypes=FLOATS)
    case(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4), mask_of(2, 3, 5, 6, dtype=BOOL))
    case(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4), T(1, 6, dtype=BOOL, values=[1, 1, 0, 1, 0, 1]))
    case(T(2, 6, 5, 4), T(2, 2, 7, 4), T(2, 2, 7, 4), enable_gqa=True, dtypes=FLOATS)
    case(T(2, 6, 5, 4), T(2, 2, 5, 4), T(2, 2, 5, 3), is_causal=True, enable_gqa=True)
    case(T(2, 6, 5, 4), T(2, 3, 7, 4), T(2, 3, 7, 4), mask_of(2, 6, 5, 7), enable_gqa=True)
    case(T(2, 6, 5, 4), T(2, 1, 7, 4), T(2, 1, 7, 4), enable_gqa=True)
    case(T(2, 4, 1, 8), T(2, 4, 33, 8), T(2, 4, 33, 8), dtypes=FLOATS)
    suite.case_module(
        lambda x: (
            torch.nn.functional.scaled_dot_product_attention(
                *x.view(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4), is_causal=True
            )
            .transpose(1, 2)
            .reshape(2, 5, 12)
        ),
        T(2, 5, 36),
        name="packed heads",
        dtypes=(F32, F64),
    )


def kernels(suite: Suite) -> None:
    shapes = (T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4))
    for target in ("aten._scaled_dot_product_flash_attention_for_cpu", "aten._scaled_dot_product_attention_math"):
        suite.case(target, *shapes, dtypes=FLOATS)
        suite.case(target, *shapes, is_causal=True, dtypes=(F32, F64))
        suite.case(target, *shapes, attn_mask=T(2, 3, 5, 6), scale=0.4, dtypes=(F32, F64))
    suite.case("aten._scaled_dot_product_attention_math", *shapes, attn_mask=mask_of(5, 6, dtype=BOOL))
    suite.case("aten._scaled_dot_product_attention_math", T(2, 6, 5, 4), T(2, 2, 6, 4), T(2, 2, 6, 4), enable_gqa=True)


def gradients(suite: Suite) -> None:
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward

    def case(causal: bool, mask: T | None, *shapes: T, scale: float | None = None, dtypes: tuple = (F32,)) -> None:
        def both(grad: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *masks: torch.Tensor) -> object:
            own = masks[0] if masks else None
            out, rows = flash(q, k, v, 0.0, causal, attn_mask=own, scale=scale)
            return flash_backward(grad, q, k, v, out, rows, 0.0, causal, attn_mask=own, scale=scale)

        for dtype in dtypes:
            suite.case_module(
                both,
                *shapes,
                *([mask] if mask else []),
                name="flash attention and its gradient",
                forms=("training",),
                dtypes=(dtype,),
                tolerance=GRADIENT.get(dtype),
            )

    shapes = (T(2, 3, 5, 4), T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4))
    case(False, None, *shapes, dtypes=FLOATS)
    case(True, None, *shapes, dtypes=(F32, F64))
    case(False, T(2, 1, 5, 6), *shapes, scale=0.7)


def layers(suite: Suite) -> None:
    weights = (T(12, 4), T(12), T(4, 4), T(4))
    x = T(2, 5, 4)
    suite.case("aten._native_multi_head_attention", x, T(2, 5, 4), T(2, 5, 4), 4, 2, *weights, dtypes=(F32,))
    native = torch.ops.aten._native_multi_head_attention
    suite.case_module(
        lambda q, k, *w: native(q, q, q, 4, 2, *w, need_weights=False)[0] + native(q, k, k, 4, 2, *w)[0],
        x,
        T(2, 5, 4),
        *weights,
        name="native multi-head attention",
        forms=("training",),
    )
    suite.case_module(
        lambda q, *w: native(q, q, q, 4, 2, *w, average_attn_weights=False),
        x,
        *weights,
        name="native multi-head attention",
        forms=("training",),
    )
    for kind, shape in ((0, (5, 5)), (1, (2, 5))):
        mask = T(*shape, dtype=BOOL, make=lambda _, shape=shape: torch.rand(shape) < 0.3)
        suite.case(
            "aten._native_multi_head_attention", x, T(2, 5, 4), T(2, 5, 4), 4, 2, *weights, mask, True, True, kind
        )
    norms = (T(4), T(4), T(4), T(4))
    feed_forward = (T(6, 4), T(6), T(4, 6), T(4))
    for gelu in (False, True):
        for norm_first in (False, True):
            suite.case(
                "aten._transformer_encoder_layer_fwd",
                x,
                4,
                2,
                *weights,
                gelu,
                norm_first,
                1e-5,
                *norms,
                *feed_forward,
                tolerance=(2e-4, 1e-4),
            )
    torch.manual_seed(1)
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    suite.case_module(lambda q: attention(q, q, q), T(2, 5, 8), name="MultiheadAttention")
    suite.case_module(
        lambda q, k: attention(q, k, k, need_weights=False)[0], T(2, 5, 8), T(2, 7, 8), name="MultiheadAttention"
    )
    encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    suite.case_module(encoder, T(2, 5, 8), name="TransformerEncoderLayer", tolerance=(2e-4, 1e-4))
    decoder = torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    suite.case_module(decoder, T(2, 5, 8), T(2, 6, 8), name="TransformerDecoderLayer", tolerance=(2e-4, 1e-4))
