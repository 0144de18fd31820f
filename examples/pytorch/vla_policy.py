"""A vision-language-action policy: image patches and instruction tokens go through one transformer, action bins come out."""

import torch
from torch import nn

batch, size, patch, words, vocabulary, width, joints, bins = 2, 16, 8, 6, 40, 24, 7, 16


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.words = nn.Embedding(vocabulary, width)
        self.state = nn.Linear(joints, width)
        self.query = nn.Parameter(torch.randn(joints, width) * 0.1)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, norm_first=True)
        self.trunk = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, bins)

    def forward(self, image: torch.Tensor, instruction: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        b = image.shape[0]
        seen = self.patches(image).flatten(2).transpose(1, 2)
        tokens = torch.cat([seen, self.words(instruction), self.state(state).unsqueeze(1), self.query.expand(b, -1, -1)], 1)
        logits = self.head(self.trunk(tokens)[:, -joints:])
        centres = torch.linspace(-1, 1, bins)
        return logits.argmax(-1), (logits.softmax(-1) * centres).sum(-1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, 3, size, size), torch.randint(0, vocabulary, (batch, words)), torch.randn(batch, joints)]
