"""Shifted-window attention: roll, partition into windows, relative position bias, and back."""

import torch
from torch import nn

batch, size, window, width, heads = 1, 8, 4, 16, 2


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.1)
        grid = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        relative = (grid[:, :, None] - grid[:, None, :]).permute(1, 2, 0) + window - 1
        self.register_buffer("index", relative[..., 0] * (2 * window - 1) + relative[..., 1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, h, w, c = x.shape
        y = torch.roll(self.norm(x), (-window // 2, -window // 2), (1, 2))
        y = y.view(b, h // window, window, w // window, window, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, window * window, c)
        q, k, v = self.qkv(y).view(-1, window * window, 3, heads, c // heads).permute(2, 0, 3, 1, 4)
        bias = self.bias[self.index.view(-1)].view(window * window, window * window, heads).permute(2, 0, 1)
        y = ((q @ k.transpose(-1, -2)) * (c // heads) ** -0.5 + bias).softmax(-1) @ v
        y = self.out(y.transpose(1, 2).reshape(-1, window * window, c))
        y = y.view(b, h // window, w // window, window, window, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        return x + torch.roll(y, (window // 2, window // 2), (1, 2))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, size, size, width)]
