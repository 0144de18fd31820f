"""A decoder block of eight billion parameters' size: grouped-query attention with rotary positions, gated MLP, bf16.

transformer_block.json beside this file is what `python -m lightline.capture transformer_block.py` wrote.
"""

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

BATCH, LENGTH, WIDTH, HEADS, KV_HEADS, HIDDEN = 4, 4096, 4096, 32, 8, 14336
HEAD = WIDTH // HEADS


class RMSNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight


def rotate(x: torch.Tensor) -> torch.Tensor:
    frequency = 1.0 / 500000 ** (torch.arange(0, HEAD, 2) / HEAD)
    angle = torch.arange(x.shape[2])[:, None] * frequency[None, :]
    cos, sin = torch.cos(angle), torch.sin(angle)
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.query = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.key = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.value = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.out = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.to(torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm1(x)
        q = rotate(self.query(h).unflatten(-1, (HEADS, HEAD)).transpose(1, 2))
        k = rotate(self.key(h).unflatten(-1, (KV_HEADS, HEAD)).transpose(1, 2))
        v = self.value(h).unflatten(-1, (KV_HEADS, HEAD)).transpose(1, 2)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(a.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.bfloat16)]


def get_init_inputs() -> list[object]:
    return []
