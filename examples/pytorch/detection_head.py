"""An anchor-free detection head: feature pyramid by upsampling, box decoding, and the best boxes by score."""

import torch
from torch import nn

batch, width, classes, size, best = 1, 8, 5, 8, 10


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(width, width, 1) for _ in range(2)])
        self.tower = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU())
        self.scores, self.boxes = nn.Conv2d(width, classes, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, fine: torch.Tensor, coarse: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        top = self.lateral[1](coarse)
        x = self.tower(self.lateral[0](fine) + nn.functional.interpolate(top, scale_factor=2.0, mode="nearest"))
        scores = self.scores(x).sigmoid().flatten(2)
        sides = torch.exp(self.boxes(x).clamp(-4, 4)).flatten(2)
        y, x_ = torch.meshgrid(torch.arange(size) + 0.5, torch.arange(size) + 0.5, indexing="ij")
        centre = torch.stack([x_.flatten(), y.flatten()])
        boxes = torch.cat([centre - sides[:, :2], centre + sides[:, 2:]], 1)
        value, index = scores.amax(1).topk(best, dim=1)
        return value, scores.argmax(1).gather(1, index), boxes.gather(2, index.unsqueeze(1).expand(-1, 4, -1))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, width, size, size), torch.randn(batch, width, size // 2, size // 2)]
