"""A selective state-space layer: input-dependent steps, and a recurrence over time."""

import torch
from torch import nn

batch, length, width, state = 2, 10, 8, 4


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(width, 2 * width)
        self.conv = nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.step, self.b, self.c = nn.Linear(width, width), nn.Linear(width, state), nn.Linear(width, state)
        self.a_log = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(width, 1))
        self.skip, self.out = nn.Parameter(torch.ones(width)), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, gate = self.project(x).chunk(2, -1)
        x = nn.functional.silu(self.conv(x.transpose(1, 2))[..., :length].transpose(1, 2))
        step = nn.functional.softplus(self.step(x))
        decay = torch.exp(step.unsqueeze(-1) * -torch.exp(self.a_log))
        update = (step * x).unsqueeze(-1) * self.b(x).unsqueeze(2)
        c = self.c(x)
        h = torch.zeros(x.shape[0], width, state)
        outputs = []
        for t in range(length):
            h = decay[:, t] * h + update[:, t]
            outputs.append((h * c[:, t].unsqueeze(1)).sum(-1))
        y = torch.stack(outputs, 1) + self.skip * x
        return self.out(y * nn.functional.silu(gate))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, length, width)]
