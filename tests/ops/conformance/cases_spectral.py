"""Fourier transforms."""

from __future__ import annotations

import torch
from harness import C64, F32, I64, Suite, T

LOOSE = (1e-4, 1e-4)


def cases(suite: Suite) -> None:
    low_level(suite)
    one_dimension(suite)
    many_dimensions(suite)
    helpers(suite)
    short_time(suite)
    modules(suite)


def low_level(suite: Suite) -> None:
    for norm in (0, 1, 2):
        for size in (8, 7, 1, 12):
            for forward in (True, False):
                suite.case("aten._fft_c2c", T(3, size), [1], norm, forward, dtypes=(C64,), tolerance=LOOSE)
            for onesided in (True, False):
                suite.case("aten._fft_r2c", T(3, size), [1], norm, onesided, tolerance=LOOSE)
            suite.case("aten._fft_c2r", T(3, size // 2 + 1, dtype=C64), [1], norm, size, tolerance=LOOSE)
        suite.case("aten._fft_c2c", T(3, 4, 5), [0, 2], norm, True, dtypes=(C64,), tolerance=LOOSE)
        suite.case("aten._fft_r2c", T(3, 4, 6), [2, 0], norm, True, tolerance=LOOSE)
        suite.case("aten._fft_c2r", T(3, 4, 6, dtype=C64), [1, 2], norm, 10, tolerance=LOOSE)


def one_dimension(suite: Suite) -> None:
    for norm in (None, "forward", "backward", "ortho"):
        for name in ("fft", "ifft"):
            suite.case(f"aten.fft_{name}", T(3, 8), None, -1, norm, dtypes=(F32, C64, I64), tolerance=LOOSE)
        for name in ("rfft", "ihfft"):
            suite.case(f"aten.fft_{name}", T(3, 8), None, -1, norm, dtypes=(F32, I64), tolerance=LOOSE)
        for name in ("irfft", "hfft"):
            suite.case(f"aten.fft_{name}", T(3, 5), None, -1, norm, dtypes=(C64, F32), tolerance=LOOSE)
    for name in ("fft", "ifft", "rfft", "ihfft", "irfft", "hfft"):
        dtypes = (F32,) if name in ("rfft", "ihfft") else (C64,)
        for size in (4, 11):
            suite.case(f"aten.fft_{name}", T(6, 3), size, 0, dtypes=dtypes, tolerance=LOOSE)


def many_dimensions(suite: Suite) -> None:
    for base in ("fft", "ifft", "rfft", "ihfft", "irfft", "hfft"):
        dtypes = (F32,) if base in ("rfft", "ihfft") else (C64,)
        suite.case(f"aten.fft_{base}2", T(2, 4, 5), dtypes=dtypes, tolerance=LOOSE)
        suite.case(f"aten.fft_{base}2", T(4, 2, 5), [3, 6], [0, 2], "ortho", dtypes=dtypes, tolerance=LOOSE)
        suite.case(f"aten.fft_{base}n", T(2, 4, 5), dtypes=dtypes, tolerance=LOOSE)
        suite.case(f"aten.fft_{base}n", T(2, 4, 5), [5, 4], None, "forward", dtypes=dtypes, tolerance=LOOSE)
        suite.case(f"aten.fft_{base}n", T(2, 4, 5), None, [1], dtypes=dtypes, tolerance=LOOSE)
        suite.case(f"aten.fft_{base}n", T(2, 4, 5), [-1, 6], [0, 1], dtypes=dtypes, tolerance=LOOSE)


def helpers(suite: Suite) -> None:
    for name in ("fft_fftshift", "fft_ifftshift"):
        suite.case(f"aten.{name}", T(4, 5), dtypes=(F32, C64, I64))
        suite.case(f"aten.{name}", T(4, 5), [-1])
    for name in ("fft_fftfreq", "fft_rfftfreq"):
        for size in (1, 8, 9):
            suite.case(f"aten.{name}", size)
        suite.case(f"aten.{name}", 10, 0.25)


def short_time(suite: Suite) -> None:
    signal, batch, window = T(40), T(2, 40), T(8, low=0.5, high=1)
    for options in (
        {},
        {"hop_length": 3},
        {"onesided": False},
        {"normalized": True},
        {"hop_length": 4, "win_length": 6},
    ):
        suite.case("aten.stft", batch, 8, return_complex=True, tolerance=LOOSE, **options)
        suite.case("aten.stft.center", signal, 8, return_complex=True, tolerance=LOOSE, **options)
    suite.case("aten.stft", signal, 8, 4, 8, window, return_complex=True, tolerance=LOOSE)
    suite.case("aten.stft", signal, 10, 4, 8, window, return_complex=True, tolerance=LOOSE)
    suite.case("aten.stft", signal, 8, 4, 8, window, return_complex=False, tolerance=LOOSE)
    suite.case("aten.stft", batch, 8, 4, 8, window, return_complex=True, dtypes=(C64,), tolerance=LOOSE)
    for mode in ("reflect", "constant", "replicate", "circular"):
        suite.case("aten.stft.center", batch, 8, 4, 8, window, True, mode, return_complex=True, tolerance=LOOSE)
    spectra = T(2, 5, 9, dtype=C64)
    for length in (None, 25, 40):
        suite.case("aten.istft", spectra, 8, 2, 8, window, length=length, tolerance=LOOSE)
    suite.case("aten.istft", T(5, 9, dtype=C64), 8, 2, None, None, tolerance=LOOSE)
    suite.case("aten.istft", spectra, 8, 4, 8, window, False, True, tolerance=LOOSE)
    suite.case("aten.istft", spectra, 9, 3, 8, window, tolerance=LOOSE)
    suite.case("aten.istft", T(2, 8, 9, dtype=C64), 8, 2, 8, window, True, False, False, tolerance=LOOSE)
    suite.case("aten.istft", T(2, 8, 9, dtype=C64), 8, 2, 8, window, True, False, False, None, True, tolerance=LOOSE)


def modules(suite: Suite) -> None:
    suite.case_module(_spectrogram, T(2, 64), name="spectrogram", tolerance=LOOSE)
    suite.case_module(_mixer, T(2, 6, 8), name="fourier_mixing", tolerance=LOOSE)
    suite.case_module(_long_convolution, T(2, 3, 16), T(3, 16), name="long_convolution", tolerance=LOOSE)


def _spectrogram(x: torch.Tensor) -> torch.Tensor:
    return torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True).abs().pow(2)


def _mixer(x: torch.Tensor) -> torch.Tensor:
    return torch.fft.fft2(x).real


def _long_convolution(x: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
    size = 2 * x.shape[-1]
    return torch.fft.irfft(torch.fft.rfft(x, n=size) * torch.fft.rfft(kernel, n=size), n=size)[..., : x.shape[-1]]
