"""A conformer-style speech encoder layer: subsampling convolutions, half-step feed-forward, attention, depthwise convolution."""

import torch
from torch import nn

batch, frames, bands, width = 1, 32, 16, 16


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.subsample = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, stride=2, padding=1), nn.ReLU())
        self.project = nn.Linear(4 * (bands // 4), width)
        self.forward1 = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, 4, batch_first=True)
        self.pointwise1, self.depthwise, self.pointwise2 = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 7, padding=3, groups=width), nn.Conv1d(width, width, 1)
        self.batch_norm, self.last = nn.BatchNorm1d(width), nn.LayerNorm(width)

    def forward(self, spectrogram: torch.Tensor) -> torch.Tensor:
        x = self.subsample(spectrogram.unsqueeze(1))
        b, c, t, f = x.shape
        x = self.project(x.permute(0, 2, 1, 3).reshape(b, t, c * f))
        x = x + 0.5 * self.forward1(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        y = nn.functional.glu(self.pointwise1(x.transpose(1, 2)), dim=1)
        y = self.pointwise2(nn.functional.silu(self.batch_norm(self.depthwise(y))))
        return self.last(x + y.transpose(1, 2))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, frames, bands)]
