"""A block of a diffusion U-Net: time embedding, residual convolution with group norm, spatial self-attention."""

import math

import torch
from torch import nn

batch, channels, size = 2, 16, 8


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm1, self.norm2, self.norm3 = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)
        self.conv1, self.conv2 = nn.Conv2d(channels, channels, 3, padding=1), nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(channels, channels), nn.SiLU(), nn.Linear(channels, 2 * channels))
        self.attention = nn.MultiheadAttention(channels, 4, batch_first=True)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        frequency = torch.exp(-math.log(10000.0) * torch.arange(c // 2) / (c // 2))
        angle = t.float().unsqueeze(1) * frequency
        scale, shift = self.time(torch.cat([angle.sin(), angle.cos()], 1)).chunk(2, 1)
        y = self.conv1(nn.functional.silu(self.norm1(x)))
        y = self.norm2(y) * (1 + scale[..., None, None]) + shift[..., None, None]
        x = x + self.conv2(nn.functional.silu(y))
        tokens = self.norm3(x).flatten(2).transpose(1, 2)
        attended, _ = self.attention(tokens, tokens, tokens, need_weights=False)
        return x + attended.transpose(1, 2).reshape(b, c, h, w)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, size, size), torch.randint(0, 1000, (batch,))]


def get_init_inputs() -> list[int]:
    return [channels]
