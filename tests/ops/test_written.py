"""Products as PyTorch's own counter sees them, against what an analysis calls written; and what is needed of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lightline_under_test import BINARY

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812


class VisionTransformer(nn.Module):
    """Only the first of 17 tokens reaches the output."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 48, 8, 8)
        self.first = nn.Parameter(torch.zeros(1, 1, 48))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(48, 3, 192, batch_first=True, norm_first=True, dropout=0.0) for _ in range(2)
        )
        self.head = nn.Linear(48, 10)

    def forward(self, x: Any) -> Any:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1)
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1, groups=16),
            nn.Conv2d(16, 24, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(24, 8, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 4, 3, 2, 1),
        )

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class Functions(nn.Module):
    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body

    def forward(self, *inputs: Any) -> Any:
        return self.body(*inputs)


def causal(q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def three_factors(a: Any, b: Any, c: Any) -> Any:
    return torch.einsum("bij,bjk,bkl->bil", a, b, c)


MODELS = {
    "vision transformer": (VisionTransformer, lambda: (torch.randn(2, 3, 32, 32),)),
    "convolutions": (Convolutions, lambda: (torch.randn(2, 3, 32, 32),)),
    "causal attention": (lambda: Functions(causal), lambda: tuple(torch.randn(2, 2, 32, 16) for _ in range(3))),
    "three factors": (
        lambda: Functions(three_factors),
        lambda: (torch.randn(2, 16, 32), torch.randn(2, 32, 8), torch.randn(2, 8, 24)),
    ),
    "two layers": (
        lambda: nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8)),
        lambda: (torch.randn(4, 10, 32),),
    ),
}


def counted(model: Any, inputs: tuple[Any, ...]) -> float:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(*inputs)
    return counter.get_total_flops() / 2


def written(model: Any, inputs: tuple[Any, ...], path: Path, core: bool) -> dict[str, Any]:
    from lightline import capture

    capture(model, *inputs, core=core).save(path)
    command = [str(BINARY), "analyze", str(path), "--json"]
    document = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert document["written"]["needed"] == sum(document["macs"].values())
    return document["written"]


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
@pytest.mark.parametrize("name", MODELS)
def test_what_is_written_is_what_a_counter_counts(name: str, core: bool, tmp_path: Path) -> None:
    make, inputs = MODELS[name][0]().eval(), MODELS[name][1]()
    found = written(make, inputs, tmp_path / "program.json", core)
    assert found["macs"] == pytest.approx(counted(make, inputs), rel=0.01)
    assert found["macs"] - sum(reason["macs"] for reason in found["reasons"]) == found["needed"]


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
def test_tokens_that_nobody_uses_are_named(core: bool, tmp_path: Path) -> None:
    found = written(VisionTransformer().eval(), (torch.randn(2, 3, 32, 32),), tmp_path / "program.json", core)
    reasons = {reason["reason"]: reason for reason in found["reasons"]}
    # of the last layer: the projection of the output and both layers of the perceptron, for 16 of 17 tokens, the
    # queries of 16 tokens and what they attend to
    tokens = 2 * 16
    perceptron = tokens * 48 * (48 + 192 + 192)
    attention = tokens * (48 * 48 + 2 * 17 * 48)
    assert reasons["not_used"]["macs"] == perceptron + attention


def test_half_of_causal_attention_is_not_needed(tmp_path: Path) -> None:
    make, inputs = MODELS["causal attention"]
    found = written(make(), inputs(), tmp_path / "program.json", False)
    hidden = 2 * 2 * 16 * (32 * 31 // 2)
    assert {reason["reason"]: reason["macs"] for reason in found["reasons"]} == {"not_used": hidden, "zeros": hidden}
