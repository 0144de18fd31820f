"""A bottleneck block of a residual network with a strided shortcut."""

import torch
from torch import nn

batch, channels, size = 2, 16, 14


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        inner, outer = channels // 2, channels * 2
        self.body = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, outer, 1, bias=False),
            nn.BatchNorm2d(outer),
        )
        self.shortcut = nn.Sequential(nn.Conv2d(channels, outer, 1, stride=2, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, size, size)]


def get_init_inputs() -> list[int]:
    return [channels]
