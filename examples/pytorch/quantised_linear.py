"""Weights in 8 bits with one scale per group of 16, activations quantised per row."""

import torch
from torch import nn

batch, inputs, outputs, group = 6, 64, 32, 16


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        weight = torch.randn(outputs, inputs // group, group)
        scale = weight.abs().amax(-1, keepdim=True) / 127
        self.register_buffer("weight", torch.round(weight / scale).to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        row = x.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
        q = torch.clamp(torch.round(x / row), -128, 127).to(torch.int8)
        weight = (self.weight.float() * self.scale).view(outputs, inputs)
        return (q.float() * row) @ weight.t() + self.bias


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, inputs)]
