"""Values that a captured program carries: written exactly, and relied on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lightline_under_test import BINARY

torch = pytest.importorskip("torch")

import lightline  # noqa: E402
from lightline import known_values  # noqa: E402
from lightline.capture import main  # noqa: E402

INF, NAN = float("inf"), float("nan")
FORMS = ("training", "core")
SAFETENSORS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
FLOATS = tuple(SAFETENSORS.values())


class Holding(torch.nn.Module):
    """Gives back what it holds, beside a copy of its input."""

    def __init__(self, tensor: Any, persistent: bool = False) -> None:
        super().__init__()
        self.register_buffer("held", tensor, persistent=persistent)

    def forward(self, x: Any) -> Any:
        return x.clone(), self.held.clone()


def outputs_of(path: Path) -> list[Any]:
    """What `lightline run` computes of a program; its fixed inputs come from the file."""
    written = path.with_suffix(".safetensors")
    subprocess.run([BINARY, "run", str(path), "-o", str(written)], capture_output=True, text=True, check=True)
    content = written.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    tensors = []
    for entry in json.loads(content[8:start]).values():
        first, last = (start + offset for offset in entry["data_offsets"])
        raw = torch.frombuffer(bytearray(content[first:last]), dtype=torch.uint8)
        tensors.append(raw.view(getattr(torch, SAFETENSORS[entry["dtype"]])).reshape(entry["shape"]))
    return tensors


def analyze(path: Path, *options: str) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [BINARY, "analyze", str(path), "--json", *options], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout), done.stderr


def strict_json(path: Path) -> dict[str, Any]:
    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(path.read_text(), parse_constant=refuse)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [4, 4096])
@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_read_back_exactly(name: str, count: int, form: str, tmp_path: Path) -> None:
    dtype = getattr(torch, name)
    special = torch.tensor([INF, -INF, NAN, -0.0, 0.1, 1e-3, 448.0, -3.0]).repeat(count // 4).to(dtype)
    path = tmp_path / "holding.json"
    lightline.capture(Holding(special), torch.zeros(2)).save(path, form)
    strict_json(path)
    held = next(tensor for tensor in outputs_of(path) if tensor.shape == special.shape)
    assert held.dtype == dtype
    real, expected = held.double(), special.double()
    assert torch.equal(real.isnan(), expected.isnan())
    numbers = ~expected.isnan()
    assert torch.equal(real[numbers], expected[numbers])
    assert torch.equal(real[numbers].signbit(), expected[numbers].signbit())


@pytest.mark.parametrize("form", FORMS)
def test_infinities_among_arguments_and_lifted_constants(form: str, tmp_path: Path) -> None:
    def program(x: Any) -> Any:
        x = x + torch.full((4, 4), -INF)
        x = torch.clamp(x, -INF, INF)
        x = torch.nan_to_num(x, nan=NAN, posinf=INF)
        x = torch.where(x > 0, x, torch.tensor(-INF))
        return torch.nn.functional.pad(x, (0, 1), value=-INF) + torch.tensor([INF, 1.0, 2.0, NAN, 3.0])

    path = tmp_path / "infinite.json"
    lightline.capture(program, torch.zeros(4, 4)).save(path, form)
    values = strict_json(path)["lightline"]["values"].values()
    assert ["inf", 1.0, 2.0, "nan", 3.0] in [value["data"] for value in values]
    analyze(path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "program",
    [
        lambda x, i: x + torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        lambda x, i: x[torch.tensor([[1, 0], [0, 1]])],
        lambda x, i: x * torch.tensor([[i.sum().item(), 2], [3, i.sum().item()]]),
        lambda x, i: x @ torch.eye(300)[:2, :2],
    ],
    ids=["floats", "indices", "items of data", "eye beyond 255"],
)
def test_written_tensors_are_imported(program: Any, form: str, tmp_path: Path) -> None:
    path = tmp_path / "written.json"
    lightline.capture(program, torch.zeros(2, 2), torch.tensor([1, 2])).save(path, form)
    done = subprocess.run([BINARY, "import", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_nested_lists_in_printed_python(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import torch\n\n\nclass GraphModule(torch.nn.Module):\n"
        "    def forward(self, x: torch.Tensor, s: torch.Tensor):\n"
        "        y = torch.tensor([[s, 1.5], [2, s]])\n        z = x + y\n        return (z,)\n"
    )
    metas = [
        f'class {name.upper()}:\n    name = "{name}"\n    shape = {shape}\n    dtype = "torch.float32"\n'
        f'    device = "cpu"\n    mean = 0.1\n    std = 1.0\n    data = None\n'
        for name, shape in (("x", [2, 2]), ("s", []))
    ]
    (tmp_path / "weight_meta.py").write_text("\n\n".join(metas))
    done = subprocess.run([BINARY, "import", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "y: f32[2, 2]" in done.stdout


def test_inputs_and_outputs_of_unsigned_types_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "unsigned.json"
    for program, given in (
        (lambda x: x.to(torch.int32), torch.zeros(3, dtype=torch.uint16)),
        (lambda x: x.to(torch.uint16), torch.zeros(3, dtype=torch.int32)),
    ):
        lightline.capture(program, given).save(path)
        done = subprocess.run([BINARY, "import", str(path)], capture_output=True, text=True)
        assert done.returncode == 2
        assert "is uint16, which Lightline does not have" in done.stderr


# ---- what is relied on ----

SIZE = 1024


class Masked(torch.nn.Module):
    def __init__(self, mask: Any, **kwargs: Any) -> None:
        super().__init__()
        self.register_buffer("mask", mask, **kwargs)

    def forward(self, a: Any, b: Any) -> Any:
        return (a * self.mask) @ b


def products(path: Path) -> float:
    return sum(analyze(path)[0]["macs"].values())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "bool", "int64"])
def test_a_mask_that_the_program_holds_saves_its_products(dtype: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "masked.json"
    mask = torch.tril(torch.ones(SIZE, SIZE)).to(getattr(torch, dtype))
    lightline.capture(Masked(mask), torch.zeros(SIZE, SIZE), torch.zeros(SIZE, SIZE)).save(path, form)
    assert products(path) == SIZE * (SIZE + 1) // 2 * SIZE


MODEL = f"""
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear({SIZE}, 65536 * 64)
        self.register_buffer("mask", torch.ones({SIZE}, {SIZE}).tril_())
        self.register_buffer("noise", torch.randn(5))
        table = torch.tensor([1.0, 2.0, 3.0])
        table.mul_(2)
        self.register_buffer("table", table)
        self.register_buffer("again", table.double().to("cpu"))
        self.norm = torch.nn.BatchNorm1d({SIZE})
        self.register_buffer("packed", torch.zeros(16, 16, dtype=torch.int8))
        self.register_buffer("cache", torch.ones(4, {SIZE}))

    def forward(self, a, b):
        self.cache.copy_(a[:4])
        a = self.norm(a * self.mask)
        return a @ b, self.linear(a)[0, 0] + self.table, self.again + 1, self.noise + 1, self.packed + 1

def get_inputs():
    return [torch.rand({SIZE}, {SIZE}), torch.rand({SIZE}, {SIZE})]
"""


def test_a_model_made_without_memory_holds_its_tables(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    assert main([str(tmp_path / "model.py"), "-o", str(tmp_path / "model.json")]) == 0
    extra = json.loads((tmp_path / "model.json").read_text())["lightline"]
    assert sorted(extra["values"]) == ["b_again", "b_mask", "b_table"]
    assert extra["values"]["b_table"]["data"] == extra["values"]["b_again"]["data"] == [2.0, 4.0, 6.0]
    assert len(extra["values"]["b_mask"]["gzip"]) < 100_000
    named = [note.split("'")[1] for note in extra["notes"]]
    assert named == ["noise", "packed"], extra["notes"]
    result, _ = analyze(tmp_path / "model.json")
    assert any("'packed'" in line for line in result["assumptions"])


def test_a_model_made_without_memory_may_ask_for_numbers() -> None:
    with lightline.sources.Maker(fake=True, seed=0).model():
        layer = torch.nn.Linear(4, 4)
        torch.nn.init.trunc_normal_(layer.weight, std=0.02)
        rates = [rate.tolist() for rate in torch.linspace(0, 0.5, 3).split([2, 1])]
    assert rates == [[0.0, 0.25], [0.5]]
    assert layer.weight.shape == (4, 4)


def test_what_the_program_writes_is_not_relied_on(tmp_path: Path) -> None:
    class Counting(Masked):
        def forward(self, a: Any, b: Any) -> Any:
            result = super().forward(a, b)
            self.mask.add_(1)
            return result

    path = tmp_path / "counting.json"
    given = (torch.zeros(SIZE, SIZE), torch.zeros(SIZE, SIZE))
    for form in FORMS:
        lightline.capture(Counting(torch.tril(torch.ones(SIZE, SIZE))), *given).save(path, form)
        assert products(path) == SIZE**3


def test_values_over_the_budget_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    captured = lightline.capture(Holding(torch.ones(8192, 2049)), torch.zeros(2))
    assert not captured.values
    assert ["b_held" in note for note in captured.notes] == [True]
    monkeypatch.setattr(known_values, "MAX_BYTES", 1 << 30)
    path = tmp_path / "large.json"
    lightline.capture(Holding(torch.ones(8192, 2049)), torch.zeros(2)).save(path)
    result, errors = analyze(path)
    expected = "the values of 'b_held' (67141632 bytes) are not used"
    assert expected in errors
    assert any(expected in line for line in result["assumptions"])


def test_examples_over_the_budget_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Picks(torch.nn.Module):
        def forward(self, x: Any, ids: Any) -> Any:
            return x[ids]

    monkeypatch.setattr(known_values, "MAX_BYTES", 1 << 30)
    path = tmp_path / "picks.json"
    lightline.capture(Picks(), torch.zeros(2), torch.zeros((1 << 23) + 1, dtype=torch.int64)).save(path)
    notes = analyze(path, "--values")[0]["assumptions"]
    assert any("the values of 'ids' (67108872 bytes) are not used" in note for note in notes)
    assert not any("values changes nothing" in note for note in notes)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"gzip": "@@@@"}, "are not base64"),
        ({"gzip": "AAA"}, "are not base64"),
        ({"gzip": "AAAA"}, "have 3 bytes, but f32[3] has 12"),
        ({"data": [1, 2]}, "do not fit its shape [3]"),
        ({}, "a known value has no 'data'"),
    ],
)
def test_bad_values_are_refused(entry: dict[str, Any], message: str, tmp_path: Path) -> None:
    program = lightline.capture(Holding(torch.ones(3)), torch.zeros(2)).program()
    program["lightline"]["values"] = {"b_held": entry}
    (tmp_path / "bad.json").write_text(json.dumps(program))
    done = subprocess.run([BINARY, "import", str(tmp_path / "bad.json")], capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr


# ---- training inside of forward ----


class Training(torch.nn.Module):
    def __init__(self, after: str) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.after = after
        self.optimizers = [torch.optim.SGD(self.parameters(), 0.1)]

    def forward(self, x: Any) -> Any:
        loss = self.linear(x).square().mean()
        loss.backward()
        if self.after == "step":
            self.optimizers[0].step()
        if self.after == "update":
            with torch.no_grad():
                for parameter in self.parameters():
                    parameter -= 0.1 * parameter.grad
        return loss


def test_a_step_of_an_optimizer_is_refused() -> None:
    with pytest.raises(lightline.sources.SourceError, match=r"forward calls SGD\.step\(\)"):
        lightline.capture(Training("step"), torch.zeros(2, 4))


def test_gradients_that_nothing_uses_are_named(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"forward calls backward\(\)"):
        captured = lightline.capture(Training("nothing"), torch.zeros(2, 4))
    captured.save(tmp_path / "lost.json")
    assert any("backward()" in line for line in analyze(tmp_path / "lost.json")[0]["assumptions"])


def test_an_update_in_forward_is_captured(tmp_path: Path) -> None:
    captured = lightline.capture(Training("update"), torch.zeros(2, 4))
    assert not captured.notes
    for form in FORMS:
        captured.save(tmp_path / "update.json", form)
        loops = subprocess.run(
            [BINARY, "import", str(tmp_path / "update.json")], capture_output=True, text=True, check=True
        ).stdout
        assert "as p_linear_weight" in loops
