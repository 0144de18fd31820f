"""A two-layer bidirectional LSTM over embedded words, with a tag for every word."""

import torch
from torch import nn

batch, words, vocabulary, width, tags = 3, 12, 50, 16, 7


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True)
        self.tag = nn.Linear(2 * width, tags)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden, (last, _) = self.lstm(self.embedding(ids))
        return self.tag(hidden).log_softmax(-1), last


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, vocabulary, (batch, words))]
