"""A Fourier layer: transform rows, mix the low frequencies with learned complex weights, transform back."""

import torch
from torch import nn

batch, channels, length, modes = 2, 4, 16, 5


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.real, self.imaginary = nn.Parameter(torch.randn(channels, channels, modes)), nn.Parameter(torch.randn(channels, channels, modes))
        self.skip = nn.Conv1d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(x)
        a, b = spectrum[..., :modes].real, spectrum[..., :modes].imag
        real = torch.einsum("bim,iom->bom", a, self.real) - torch.einsum("bim,iom->bom", b, self.imaginary)
        imaginary = torch.einsum("bim,iom->bom", a, self.imaginary) + torch.einsum("bim,iom->bom", b, self.real)
        mixed = torch.complex(nn.functional.pad(real, (0, length // 2 + 1 - modes)), nn.functional.pad(imaginary, (0, length // 2 + 1 - modes)))
        return nn.functional.gelu(torch.fft.irfft(mixed, n=length) + self.skip(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, length)]
