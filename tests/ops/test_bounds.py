"""Work and bytes of PyTorch programs against numbers worked out by hand: programs that such tools get wrong, and some
that they get right. Every number is the true minimum, so a bound that is too high fails, and so does a trivial one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lightline_under_test import BINARY, ROOT, SEED

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

KERNELBENCH = ROOT.parent / "shared" / "data" / "kernelbench"
torch.manual_seed(SEED)


def analyze(tmp_path: Path, target: Any, *inputs: Any, options: tuple[str, ...] = ()) -> dict[str, Any]:
    from lightline import capture

    path = tmp_path / "program.json"
    capture(target, *inputs, core=False).save(path)
    command = [str(BINARY), "analyze", str(path), "--arch", "H200", "--json", *options]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    bounds, moved = result["bounds_ms"], result["bytes"]
    assert bounds["floor"] <= bounds["fused"] * (1 + 1e-9) and bounds["fused"] <= bounds["unfused"] * (1 + 1e-9)
    assert moved["fused"] <= moved["unfused"] * (1 + 1e-9)
    return result


def macs(result: dict[str, Any]) -> float:
    return sum(result["macs"].values())


def f32(*shape: int) -> Any:
    return torch.randn(*shape)


def different(count: int, *shape: int) -> tuple[Any, ...]:
    """Tensors of one shape; one tensor given several times would be one input."""
    return tuple(f32(*shape) for _ in range(count))


class Apply(nn.Module):
    """A function of a module and its inputs."""

    def __init__(self, inner: nn.Module, body: Any) -> None:
        super().__init__()
        self.inner, self.body = inner, body

    def forward(self, *inputs: Any) -> Any:
        return self.body(self.inner, *inputs)


def causal_by_tril(q: Any, k: Any, v: Any) -> Any:
    n = q.shape[-2]
    mask = torch.tril(torch.ones(n, n))
    scores = (q @ k.transpose(-1, -2)) / 8
    return torch.softmax(scores.masked_fill(mask == 0, float("-inf")), -1) @ v


def causal_products(heads: int, n: int, d: int) -> int:
    return 2 * heads * d * n * (n + 1) // 2


def lstm_products(steps: int, batch: int, size: int) -> int:
    """One layer as wide as its inputs. The state starts at zero: it multiplies nothing, and its forget gate is not
    needed."""
    gate = batch * size * size
    return steps * 2 * 4 * gate - 4 * gate - gate


WORK = {
    "depthwise convolution": (lambda x, w: F.conv1d(x, w, groups=64), (f32(2, 64, 131), f32(64, 1, 4)), 65536),
    "grouped convolution in 3-D": (nn.Conv3d(16, 32, 3, groups=8, bias=False), (f32(2, 16, 8, 8, 8),), 746496),
    "three operands": (
        lambda q, k, v: torch.einsum("bhqd,bhkd,bhkv->bhqv", q, k, v),
        (f32(2, 4, 32, 16), f32(2, 4, 32, 16), f32(2, 4, 32, 16)),
        2 * 2 * 4 * 32 * 16 * 16,
    ),
    "four operands": (  # states of a chunk: the two small ones meet first
        lambda c, b, a, x: torch.einsum("zln,zsn,zls,zsp->zlp", c, b, a, x),
        (f32(4, 64, 16), f32(4, 64, 16), f32(4, 64, 64), f32(4, 64, 32)),
        4 * (64 * 64 * 16 + 64 * 64 * 32),
    ),
    "causal attention by tril": (causal_by_tril, different(3, 1, 4, 256, 32), causal_products(4, 256, 32)),
    "causal attention by flag": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        different(3, 1, 4, 256, 32),
        causal_products(4, 256, 32),
    ),
    "half of a product": (lambda a, b: torch.tril(a @ b), (f32(256, 256), f32(256, 256)), 256 * 256 * 257 // 2),
    "triangular operands": (
        lambda a, b: torch.tril(a) @ torch.tril(b),
        (f32(64, 64), f32(64, 64)),
        64 * 65 * 66 // 6,
    ),
    "the last row only": (
        Apply(nn.Linear(128, 128, bias=False), lambda m, x: m(x)[:, -1, :]),
        (f32(2, 256, 128),),
        2 * 128 * 128,
    ),
    "padding": (nn.Conv2d(1, 32, 3, padding=64, bias=False), (f32(1, 1, 8, 8),), 18432),
    "broadcast batches": (torch.matmul, (f32(1, 4, 32, 16), f32(8, 4, 16, 32)), 524288),
    "addmm": (torch.addmm, (f32(32), f32(16, 64), f32(64, 32)), 16 * 64 * 32),
    "baddbmm": (torch.baddbmm, (f32(4, 16, 32), f32(4, 16, 64), f32(4, 64, 32)), 4 * 16 * 64 * 32),
    "mv": (torch.mv, (f32(16, 64), f32(64)), 16 * 64),
    "tensordot": (lambda a, b: torch.tensordot(a, b, dims=2), (f32(8, 4, 16), f32(4, 16, 32)), 8 * 64 * 32),
    "einsum with ellipsis": (
        lambda a, b: torch.einsum("...ik,...kj->...ij", a, b),
        (f32(3, 8, 16), f32(3, 16, 4)),
        3 * 8 * 16 * 4,
    ),
    "LSTM with three layers": (
        Apply(nn.LSTM(64, 64, 3), lambda m, x: m(x)[0]),
        (f32(10, 4, 64),),
        3 * lstm_products(10, 4, 64),
    ),
    "LSTM in two directions": (
        Apply(nn.LSTM(64, 64, 1, bidirectional=True), lambda m, x: m(x)[0]),
        (f32(10, 4, 64),),
        2 * lstm_products(10, 4, 64),
    ),
    "multi-head attention": (
        Apply(
            nn.MultiheadAttention(64, 4, bias=False, batch_first=True), lambda m, x: m(x, x, x, need_weights=False)[0]
        ),
        (f32(2, 32, 64),),
        2 * 32 * 64 * 64 * 4 + 2 * 2 * 32 * 32 * 64,
    ),
    "one product twice": (lambda a, b: a @ b + torch.tanh(a @ b), (f32(64, 64), f32(64, 64)), 64**3),
    "dead product": (lambda a, b: (a @ b, a + 1)[1], (f32(64, 64), f32(64, 64)), 0),
    "one-hot rows": (  # a gather
        lambda i, w: F.one_hot(i, 1000).float() @ w,
        (torch.randint(0, 1000, (32,)), f32(1000, 64)),
        0,
    ),
    "diagonal": (lambda d, b: torch.diag(d) @ b, (f32(64), f32(64, 32)), 0),  # rows are scaled
    "repeated operand": (lambda a, b: a.repeat(8, 1, 1) @ b, (f32(1, 32, 32), f32(32, 32)), 32**3),
    "sliding window": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=window(128, 16)),
        different(3, 1, 1, 128, 32),
        2 * 32 * (128 * 16 - 120),
    ),
}


def window(n: int, width: int) -> Any:
    rows = torch.arange(n)
    distance = rows[:, None] - rows[None, :]
    return (distance >= 0) & (distance < width)


@pytest.mark.parametrize("name", WORK)
def test_work(tmp_path: Path, name: str) -> None:
    target, inputs, expected = WORK[name]
    assert macs(analyze(tmp_path, target, *inputs)) == expected


def loop(module: nn.Module, x: Any) -> Any:
    for _ in range(200):
        x = module(x)
    return x


def update_cache(cache: Any, k: Any) -> None:
    cache[:, 7] = k


BYTES = {
    "one layer twice": (Apply(nn.Linear(128, 128, bias=False), lambda m, x: m(m(x))), (f32(64, 128),), 4 * 32768),
    "one layer 200 times": (Apply(nn.Linear(64, 64), loop), (f32(8, 64),), 4 * 5184),
    "two views": (lambda x: (x * x.reshape(128, 64).T.reshape(64, 128)).sum(), (f32(64, 128),), 4 * 8193),
    "expanded operand": (
        lambda a, b: torch.bmm(a.expand(8, 64, 64), b),
        (f32(1, 64, 64), f32(8, 64, 64)),
        4 * (64 * 64 + 2 * 8 * 64 * 64),
    ),
    "zeros": (lambda w, x: torch.zeros_like(w) + x, (f32(512, 512), f32(512, 512)), 4 * 2 * 512 * 512),
    "dead code": (lambda a, b: (a * b, a + 1)[1], (f32(64, 128), f32(64, 128)), 4 * 2 * 64 * 128),
    "maximum with indices": (lambda x: torch.max(x, 1), (f32(64, 128),), 4 * 64 * 128 + (4 + 8) * 64),
    "top k": (lambda x: torch.topk(x, 4, 1), (f32(64, 128),), 4 * 64 * 128 + (4 + 8) * 4 * 64),
    "returned intermediate": (lambda x: (x + 1, (x + 1) * 2), (f32(64, 128),), 4 * 3 * 64 * 128),
    "slices of a stack": (
        lambda x, w: x[0] + x[2] + x[4] + x[6] + w,
        (f32(8, 64, 128), f32(64, 128)),
        4 * 6 * 64 * 128,
    ),
    "sliced output": (lambda x: x[:, :32].contiguous() + 0.5, (f32(64, 128),), 4 * 2 * 64 * 32),
    "norm weights": (nn.LayerNorm(128), (f32(64, 128),), 4 * (2 * 64 * 128 + 2 * 128)),
    "batch norm statistics": (nn.BatchNorm2d(16).eval(), (f32(2, 16, 8, 8),), 4 * (2 * 2 * 16 * 64 + 4 * 16)),
    "gelu by formula": (
        lambda x: 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * torch.pow(x, 3)))),
        (f32(512, 512),),
        4 * 2 * 512 * 512,
    ),
    "update in place": (update_cache, (f32(4, 1024, 64), f32(4, 64)), 4 * 2 * 4 * 64),
    "convolution weights": (nn.Conv2d(4, 8, 3, bias=False), (f32(1, 4, 8, 8),), 4 * (256 + 288 + 8 * 36)),
    "expand and copy": (lambda x: x.expand(8, 64).contiguous() * 2, (f32(1, 64),), 4 * (64 + 8 * 64)),
    "returned copy of repeated rows": (lambda x: x.expand(8, 64).contiguous(), (f32(1, 64),), 4 * (64 + 8 * 64)),
    "minimum of two": (lambda x, y: torch.min(x, y), (f32(64, 64), f32(64, 64)), 4 * 3 * 64 * 64),
    "returned view": (lambda x: x.transpose(0, 1), (f32(64, 64),), 0),
    "tied weights": (
        Apply(nn.Embedding(100, 64), lambda m, x: x @ m.weight.T @ m.weight),
        (f32(8, 64),),
        4 * (6400 + 2 * 512),
    ),
    "hidden state of an LSTM": (  # weights, biases, inputs, outputs and nothing else
        Apply(nn.LSTM(64, 64), lambda m, x: m(x)[0]),
        (f32(10, 4, 64),),
        4 * (2 * 4 * 64 * 64 + 2 * 4 * 64 + 2 * 10 * 4 * 64),
    ),
    "half the type": (lambda x: x.to(torch.float32) + 1, (torch.randn(64, 64).bfloat16(),), (2 + 4) * 64 * 64),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes(tmp_path: Path, name: str) -> None:
    target, inputs, expected = BYTES[name]
    assert analyze(tmp_path, target, *inputs)["bytes"]["fused"] == expected


def random_rows(rows: int, indices: int) -> float:
    return rows * (1 - (1 - 1 / rows) ** indices)


GATHER = (
    lambda x, i: torch.index_select(x, 0, i),
    f32(4096, 64),
    torch.tensor([5, 5, 7, 100, 7, 5, 4000, 100]),
)


def test_gathers_are_in_general_position(tmp_path: Path) -> None:
    result = analyze(tmp_path, *GATHER)
    besides = 8 * 8 + 4 * 8 * 64
    assert result["bytes"]["fused"] == pytest.approx(4 * 64 * random_rows(4096, 8) + besides)
    assert result["bytes"]["floor"] == 4 * 64 + besides
    assert len(result["assumptions"]) == 1


def test_known_indices_count_their_rows(tmp_path: Path) -> None:
    result = analyze(tmp_path, *GATHER, options=("--values",))
    for tier in ("floor", "fused", "unfused"):
        assert result["bytes"][tier] == 4 * 4 * 64 + 4 * 8 * 64  # what is known need not be read


def test_data_movement_is_no_arithmetic(tmp_path: Path) -> None:
    def shuffle(x: Any) -> Any:
        a, b = x.chunk(2, -1)
        return torch.cat([b, a], -1), torch.stack([a, b]), x.repeat(2, 1)

    result = analyze(tmp_path, shuffle, f32(64, 64))
    assert result["vector_ops"] == result["transcendental_ops"] == macs(result) == 0


def test_reductions_over_two_dimensions(tmp_path: Path) -> None:
    result = analyze(tmp_path, lambda x: x.sum(dim=(2, 3)), f32(2, 3, 8, 8))
    assert result["bytes"]["fused"] == 4 * (2 * 3 * 64 + 6)
    assert result["vector_ops"] == 2 * 3 * 63


def test_positional_dimension(tmp_path: Path) -> None:
    result = analyze(tmp_path, lambda x: torch.amax(x, 1), f32(4, 8, 16))
    assert result["operators"][0]["einsum"] == "ABC->AC"


def test_routed_experts_count_what_is_chosen(tmp_path: Path) -> None:
    def route(x: Any, weights: Any, choice: Any) -> Any:
        return torch.einsum("td,tdf->tf", x, weights[choice])

    result = analyze(tmp_path, route, f32(4, 32), f32(256, 32, 64), torch.randint(0, 256, (4,)))
    assert macs(result) == 4 * 32 * 64
    experts = random_rows(256, 4)
    assert result["bytes"]["fused"] == pytest.approx(4 * (4 * 32 + experts * 32 * 64 + 4 * 64) + 8 * 4)
    assert result["bytes"]["floor"] == 4 * (4 * 32 + 32 * 64 + 4 * 64) + 8 * 4


def test_precision_through_casts(tmp_path: Path) -> None:
    half = torch.randn(64, 64).bfloat16()
    assert set(analyze(tmp_path, lambda a, b: a.float() @ b.float(), half, half)["macs"]) == {"bf16"}


def test_attention_runs_in_the_type_of_its_operands(tmp_path: Path) -> None:
    inputs = [x.bfloat16() for x in different(3, 1, 4, 128, 32)]
    assert set(analyze(tmp_path, F.scaled_dot_product_attention, *inputs)["macs"]) == {"bf16"}


def test_linear_rewrites(tmp_path: Path) -> None:
    """The rows of the weight are added up first."""
    result = analyze(tmp_path, Apply(nn.Linear(4096, 4096, bias=False), lambda m, x: m(x).sum(1)), f32(8192, 4096))
    assert macs(result) == 8192 * 4096


def test_numbers_that_others_get_right_too(tmp_path: Path) -> None:
    result = analyze(tmp_path, torch.matmul, f32(64, 128), f32(128, 128))
    assert (macs(result), result["bytes"]["fused"]) == (1048576, 4 * 32768)


@pytest.mark.skipif(not KERNELBENCH.exists(), reason="KernelBench is not beside the checkout")
def test_numbers_of_kernelbench() -> None:
    expected = {
        "level1": {
            "1_": (68719476736, 50331648),
            "4_": (2147483648, 2148534272),
            "19_": (0, 3221225472),
            "36_": (None, 3758096384),
            "88_": (0, 134217728),
            "97_": (549755813888, 2147483648),
        },
        "level2": {
            "1_": (149824733184, 394404096),
            "14_": (1024 * 8192, 1024 * 8192 + 8192 * 8192 + 1024),
            "57_": (9364045824, 146838080),
        },
    }
    for level, rows in expected.items():
        command = [str(BINARY), "analyze", str(KERNELBENCH / f"{level}.jsonl.xz"), "--arch", "H200", "--json"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        results = {r["problem"].split("/")[-1].split("_")[0] + "_": r for r in map(json.loads, output.splitlines())}
        for problem, (products, elements) in rows.items():
            if products is not None:
                assert macs(results[problem]) == products, problem
            assert abs(results[problem]["bytes"]["fused"] / (4 * elements) - 1) < 1e-3, problem
