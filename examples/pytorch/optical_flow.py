"""One update of recurrent optical flow: a correlation volume, a lookup by warping, and a convolutional GRU."""

import torch
from torch import nn

batch, width, size = 1, 8, 8


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.z, self.r, self.q = (nn.Conv2d(2 * width + 3, width, 3, padding=1) for _ in range(3))
        self.flow = nn.Conv2d(width, 2, 3, padding=1)

    def forward(self, first: torch.Tensor, second: torch.Tensor, hidden: torch.Tensor, flow: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        b, c, h, w = first.shape
        y, x = torch.meshgrid(torch.arange(h).float(), torch.arange(w).float(), indexing="ij")
        grid = torch.stack([x + flow[:, 0], y + flow[:, 1]], -1) * (2.0 / (size - 1)) - 1
        warped = nn.functional.grid_sample(second, grid, mode="bilinear", padding_mode="border", align_corners=True)
        correlation = (first * warped).sum(1, keepdim=True) / c**0.5
        inputs = torch.cat([first, correlation, flow], 1)
        joined = torch.cat([hidden, inputs], 1)
        z, r = torch.sigmoid(self.z(joined)), torch.sigmoid(self.r(joined))
        hidden = (1 - z) * hidden + z * torch.tanh(self.q(torch.cat([r * hidden, inputs], 1)))
        return hidden, flow + self.flow(hidden)


def get_inputs() -> list[torch.Tensor]:
    feature = (batch, width, size, size)
    return [torch.randn(feature), torch.randn(feature), torch.tanh(torch.randn(feature)), torch.randn(batch, 2, size, size)]
