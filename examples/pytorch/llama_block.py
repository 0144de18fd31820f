"""A decoder block with RMS norm, rotary positions, grouped-query attention and a gated feed-forward network."""

import torch
from torch import nn

batch, sequence, width, heads, groups = 2, 12, 32, 4, 2


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.k, self.v = nn.Linear(width, width, bias=False), nn.Linear(width, groups * self.head, bias=False), nn.Linear(width, groups * self.head, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = nn.Linear(width, 48, bias=False), nn.Linear(width, 48, bias=False), nn.Linear(48, width, bias=False)

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        half = self.head // 2
        frequency = 1.0 / (10000 ** (torch.arange(0, half).float() / half))
        angle = torch.outer(torch.arange(x.shape[2]).float(), frequency)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, _ = x.shape
        y = self.norm1(x)
        q = self.rotate(self.q(y).view(b, s, heads, -1).transpose(1, 2))
        k = self.rotate(self.k(y).view(b, s, groups, -1).transpose(1, 2)).repeat_interleave(heads // groups, 1)
        v = self.v(y).view(b, s, groups, -1).transpose(1, 2).repeat_interleave(heads // groups, 1)
        mask = torch.triu(torch.full((s, s), float("-inf")), diagonal=1)
        weights = torch.softmax(q @ k.transpose(-1, -2) / self.head**0.5 + mask, -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(b, s, -1))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, sequence, width)]
