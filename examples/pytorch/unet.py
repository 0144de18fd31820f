"""A small U-Net: two levels down, two up, with skip connections."""

import torch
from torch import nn

batch, size, width = 1, 32, 8


def double(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1), nn.SiLU())


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.down1, self.down2, self.middle = double(3, width), double(width, 2 * width), double(2 * width, 4 * width)
        self.up2, self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.join2, self.join1 = double(4 * width, 2 * width), double(2 * width, width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down1(x)
        second = self.down2(nn.functional.max_pool2d(first, 2))
        y = self.middle(nn.functional.max_pool2d(second, 2))
        y = self.join2(torch.cat([self.up2(y), second], 1))
        y = self.join1(torch.cat([self.up1(y), first], 1))
        return torch.sigmoid(self.head(y))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, 3, size, size)]


def get_init_inputs() -> list[int]:
    return [width]
