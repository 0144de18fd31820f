"""A latent dynamics model for control: a GRU rolls a state forward under actions, with a discrete latent and reward heads."""

import torch
from torch import nn

batch, horizon, actions, width, groups, classes = 3, 5, 4, 12, 3, 4


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inputs, self.cell = nn.Linear(groups * classes + actions, width), nn.GRUCell(width, width)
        self.latent, self.reward = nn.Linear(width, groups * classes), nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, 1))

    def forward(self, hidden: torch.Tensor, actions_: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        latent = torch.zeros(hidden.shape[0], groups * classes)
        rewards = []
        for t in range(horizon):
            hidden = self.cell(nn.functional.elu(self.inputs(torch.cat([latent, actions_[:, t]], -1))), hidden)
            probabilities = self.latent(hidden).view(-1, groups, classes).softmax(-1)
            latent = nn.functional.one_hot(probabilities.argmax(-1), classes).float().flatten(1)
            rewards.append(self.reward(hidden))
        return torch.cat(rewards, 1).cumsum(1), hidden


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, width), torch.randn(batch, horizon, actions)]
