"""A click model: embedding bags for sparse features, pairwise interactions, and two towers of dense layers."""

import torch
from torch import nn

batch, dense, tables, rows, width, bag = 4, 6, 3, 30, 8, 5


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables)])
        self.bottom = nn.Sequential(nn.Linear(dense, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + tables * (tables + 1) // 2, 16), nn.ReLU(), nn.Linear(16, 1))
        self.register_buffer("rows", torch.tril_indices(tables + 1, tables + 1, -1)[0])
        self.register_buffer("columns", torch.tril_indices(tables + 1, tables + 1, -1)[1])

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        x = self.bottom(x)
        features = torch.stack([x] + [table(ids[:, i]) for i, table in enumerate(self.bags)], 1)
        pairs = torch.bmm(features, features.transpose(1, 2))[:, self.rows, self.columns]
        return torch.sigmoid(self.top(torch.cat([x, pairs], 1)))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, dense), torch.randint(0, rows, (batch, tables, bag))]
