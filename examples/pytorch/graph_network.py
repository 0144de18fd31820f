"""Message passing on a graph: messages along edges, summed at nodes, then degree-normalised attention over neighbours."""

import torch
from torch import nn

nodes, edges, width = 20, 60, 12


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))
        self.score = nn.Linear(2 * width, 1)
        self.update = nn.GRUCell(width, width)

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        pair = torch.cat([x[source], x[target]], -1)
        score = torch.exp(torch.tanh(self.score(pair)))
        total = torch.zeros(nodes, 1).index_add(0, target, score)
        weighted = self.message(pair) * (score / total[target])
        gathered = torch.zeros(nodes, width).scatter_add(0, target.unsqueeze(1).expand(-1, width), weighted)
        return self.update(gathered, x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(nodes, width), torch.randint(0, nodes, (edges,)), torch.randint(0, nodes, (edges,))]
