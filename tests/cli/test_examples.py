"""The twelve worked programs, on both back ends, against the same thing written in NumPy."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lightline_under_test import BINARY, ROOT, SEED

np = pytest.importorskip("numpy")

Arrays = dict[str, np.ndarray]
Case = tuple[Callable[[np.random.Generator], Arrays], Callable[..., Arrays]]


def normal(**shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def with_integers(
    make: Callable[[np.random.Generator], Arrays], name: str, limit: int, shape: tuple[int, ...]
) -> Callable:
    return lambda rng: {**make(rng), name: rng.integers(0, limit, shape)}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def matmul(a: np.ndarray, b: np.ndarray) -> Arrays:
    return {"c": a @ b}


def convolution(x: np.ndarray, w: np.ndarray, bias: np.ndarray) -> Arrays:
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)))
    y = np.zeros((2, 16, 9, 9))
    for k in range(16):
        group = padded[:, 2 * (k // 4) : 2 * (k // 4) + 2]
        for r in range(3):
            for s in range(3):
                window = group[:, :, 2 * r : 2 * r + 17 : 2, 2 * s : 2 * s + 17 : 2]
                y[:, k] += np.einsum("ncpq,c->npq", window, w[k, :, r, s])
    return {"y": y + bias[None, :, None, None]}


def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> Arrays:
    score = np.einsum("bhid,bhjd->bhij", query, key) / np.sqrt(32)
    score = np.where(np.tril(np.ones((64, 64), bool)), score, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    return {"y": weight / weight.sum(-1, keepdims=True) @ value}


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> Arrays:
    return {"y": (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta}


def batch_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, run_mean: np.ndarray, run_var: np.ndarray) -> Arrays:
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))

    def wide(v: np.ndarray) -> np.ndarray:
        return v[None, :, None, None]

    y = (x - wide(mean)) / np.sqrt(wide(variance) + 1e-5) * wide(gamma) + wide(beta)
    new_var = 0.9 * run_var + 0.1 * x.var((0, 2, 3), ddof=1)
    return {"y": y, "new_mean": 0.9 * run_mean + 0.1 * mean, "new_var": new_var}


def pooling(x: np.ndarray) -> Arrays:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    shifted = [padded[:, :, r : r + 27 : 2, s : s + 27 : 2] for r in range(3) for s in range(3)]
    return {"largest": np.max(shifted, 0), "average": x.reshape(2, 16, 14, 2, 14, 2).mean((3, 5))}


def embedding(table: np.ndarray, place: np.ndarray, token: np.ndarray) -> Arrays:
    return {"y": table[token] + place}


def cumulative_sum(x: np.ndarray) -> Arrays:
    inclusive = np.cumsum(x, 1)
    return {"inclusive": inclusive, "exclusive": inclusive - x}


def lstm(x: np.ndarray, w_x: np.ndarray, w_h: np.ndarray, bias: np.ndarray, h0: np.ndarray, c0: np.ndarray) -> Arrays:
    h, c, hs = h0, c0, []
    for step in x:
        i, f, g, o = np.split(step @ w_x.T + h @ w_h.T + bias, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        hs.append(h)
    return {"hs": np.stack(hs), "h": h, "c": c}


def argmax(logits: np.ndarray) -> Arrays:
    return {"label": logits.argmax(1), "best": logits.max(1)}


def scatter_add(base: np.ndarray, place: np.ndarray, update: np.ndarray) -> Arrays:
    y = base.copy()
    np.add.at(y, place, update)
    return {"y": y, "count": np.bincount(place, minlength=100)}


def cross_entropy(logits: np.ndarray, label: np.ndarray) -> Arrays:
    likelihood = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    loss = -np.log(likelihood[np.arange(32), label]).mean()
    return {"loss": loss, "gradient": (likelihood - np.eye(100)[label]) / 32}


CASES: dict[str, Case] = {
    "matmul": (normal(a=(128, 256), b=(256, 64)), matmul),
    "convolution": (normal(x=(2, 8, 17, 17), w=(16, 2, 3, 3), bias=(16,)), convolution),
    "attention": (normal(query=(2, 4, 64, 32), key=(2, 4, 64, 32), value=(2, 4, 64, 32)), attention),
    "layer_norm": (normal(x=(32, 256), gamma=(256,), beta=(256,)), layer_norm),
    "batch_norm": (
        normal(x=(8, 16, 14, 14), gamma=(16,), beta=(16,), run_mean=(16,), run_var=(16,)),
        batch_norm,
    ),
    "pooling": (normal(x=(2, 16, 28, 28)), pooling),
    "embedding": (with_integers(normal(table=(1000, 64), place=(16, 64)), "token", 1000, (4, 16)), embedding),
    "cumulative_sum": (normal(x=(16, 256)), cumulative_sum),
    "lstm": (normal(x=(16, 4, 32), w_x=(128, 32), w_h=(128, 32), bias=(128,), h0=(4, 32), c0=(4, 32)), lstm),
    "argmax": (normal(logits=(64, 100)), argmax),
    "scatter_add": (with_integers(normal(base=(100, 32), update=(256, 32)), "place", 100, (256,)), scatter_add),
    "cross_entropy": (with_integers(normal(logits=(32, 100)), "label", 100, (32,)), cross_entropy),
}


def test_every_example_has_a_case() -> None:
    assert {path.stem for path in (ROOT / "examples" / "loops").glob("*.lir")} == set(CASES)


@pytest.mark.parametrize("backend", ["interp", "c"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_example_agrees_with_numpy(name: str, backend: str, tmp_path: Path) -> None:
    make_inputs, reference = CASES[name]
    inputs = make_inputs(np.random.default_rng(SEED))
    np.savez(tmp_path / "in.npz", **inputs)
    program = ROOT / "examples" / "loops" / f"{name}.lir"
    command = [
        BINARY,
        "run",
        program,
        "--inputs",
        tmp_path / "in.npz",
        "-o",
        tmp_path / "out.npz",
        "--backend",
        backend,
    ]
    environment = {**os.environ, "LIGHTLINE_CACHE": str(tmp_path / "cache")}
    result = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=120)
    assert result.returncode == 0, result.stderr
    exact = {key: value.astype(np.float64) if value.dtype == np.float32 else value for key, value in inputs.items()}
    expected = reference(**exact)
    with np.load(tmp_path / "out.npz") as outputs:
        assert set(outputs) == set(expected)
        for key, value in expected.items():
            np.testing.assert_allclose(outputs[key], value, rtol=1e-4, atol=1e-4, err_msg=key)
