"""An inverted residual with depthwise convolution and squeeze-and-excitation."""

import torch
from torch import nn

batch, channels, size, expansion = 2, 8, 14, 4


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        wide = channels * expansion
        self.expand = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
        self.depthwise = nn.Sequential(nn.Conv2d(wide, wide, 5, padding=2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
        self.squeeze, self.excite = nn.Conv2d(wide, 8, 1), nn.Conv2d(8, wide, 1)
        self.project = nn.Sequential(nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.depthwise(self.expand(x))
        gate = nn.functional.hardsigmoid(self.excite(torch.relu(self.squeeze(nn.functional.adaptive_avg_pool2d(y, 1)))))
        return x + self.project(y * gate)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, size, size)]
