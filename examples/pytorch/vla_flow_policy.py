"""A flow-matching action head for a robot: four Euler steps that turn noise into a chunk of actions, given fused features."""

import torch
from torch import nn

batch, views, width, horizon, actions, steps = 1, 2, 16, 8, 6, 4


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.vision = nn.Sequential(nn.Conv2d(3, 8, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(8, width, 3, stride=2, padding=1), nn.AdaptiveAvgPool2d(2))
        self.language = nn.Linear(12, width)
        self.action_in, self.time_in, self.action_out = nn.Linear(actions, width), nn.Linear(1, width), nn.Linear(width, actions)
        self.cross = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width))

    def forward(self, images: torch.Tensor, text: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        b = images.shape[0]
        seen = self.vision(images.flatten(0, 1)).flatten(2).transpose(1, 2).reshape(b, -1, width)
        context = torch.cat([seen, self.language(text)], 1)
        action = noise
        for step in range(steps):
            time = torch.full((b, 1, 1), step / steps)
            h = self.action_in(action) + self.time_in(time)
            h = h + self.cross(h, context, context, need_weights=False)[0]
            action = action + self.action_out(h + self.mlp(h)) / steps
        return torch.tanh(action)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, views, 3, 16, 16), torch.randn(batch, 3, 12), torch.randn(batch, horizon, actions)]
