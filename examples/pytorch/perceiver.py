"""Cross-attention from a few latents to many inputs, with Fourier position features and a key padding mask."""

import math

import torch
from torch import nn

batch, inputs, latents, width, bands = 2, 20, 5, 16, 4


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, width))
        self.embed = nn.Linear(3 + 2 * bands, width)
        self.cross, self.self_ = nn.MultiheadAttention(width, 4, batch_first=True), nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        position = torch.linspace(-1, 1, inputs)
        angle = position.unsqueeze(-1) * (math.pi * 2.0 ** torch.arange(bands))
        features = torch.cat([angle.sin(), angle.cos()], -1).expand(x.shape[0], -1, -1)
        tokens = self.embed(torch.cat([x, features], -1))
        z = self.latents.expand(x.shape[0], -1, -1)
        z = self.norm1(z + self.cross(z, tokens, tokens, key_padding_mask=padding, need_weights=False)[0])
        return self.norm2(z + self.self_(z, z, z, need_weights=False)[0])


def get_inputs() -> list[torch.Tensor]:
    padding = torch.arange(inputs).expand(batch, -1) >= torch.tensor([[15], [20]])
    return [torch.randn(batch, inputs, 3), padding]
