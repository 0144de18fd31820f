"""A three-dimensional convolution network over a clip, with temporal pooling and instance norm."""

import torch
from torch import nn

batch, frames, size = 1, 6, 10


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv3d(3, 6, (3, 5, 5), stride=(1, 2, 2), padding=(1, 2, 2))
        self.norm = nn.InstanceNorm3d(6, affine=True)
        self.mix = nn.Conv3d(6, 8, 3, padding=2, dilation=2, groups=2)
        self.head = nn.Linear(8, 4)

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        x = nn.functional.leaky_relu(self.norm(self.stem(clip)), 0.1)
        x = nn.functional.avg_pool3d(nn.functional.elu(self.mix(x)), (2, 1, 1))
        x = nn.functional.adaptive_max_pool3d(x, (1, 2, 2))
        return self.head(x.mean((2, 3, 4)))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, 3, frames, size, size)]
