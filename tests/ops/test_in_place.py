"""Random programs of views, copies, elementwise operators and writes in place, against PyTorch: which results share
memory decides what a later write changes. As GraphNet text, and some as torch.export captures them."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from c_library import Library, LibraryError
from lightline_under_test import LONG, REPEAT, SEED

torch = pytest.importorskip("torch")

from lightline.capture import serialise  # noqa: E402

PROGRAMS = 2000 if LONG else 200
EXPORTED = 5  # one in so many is exported too, which is slow
INPUTS = {"a": (3, 4), "b": (2, 3, 4), "c": (2, 2, 3, 2)}
ASSIGNED = 2.0
SLICE = "slice({}, {}, {})"

CLASS = """class Program_input_tensor_meta_{name}:
    name = "{name}"
    shape = {shape}
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0
    std = 1.0
    data = None

"""


class Draft:
    """A program under construction. Each line runs at once, so that only what PyTorch takes is kept."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.values: dict[str, Any] = {name: fresh(name) for name in INPUTS}
        self.names = list(INPUTS)

    def add(self, text: str, name: str = "") -> bool:
        scope = {**self.values, "torch": torch}
        try:
            exec(f"{name} = {text}" if name else text, scope)
        except (RuntimeError, IndexError, ValueError):
            return False
        self.lines.append(f"{name} = {text}" if name else text)
        if name:
            self.values[name] = scope[name]
        return True

    def define(self, text: str) -> bool:
        name = f"t{len(self.lines)}"
        if not self.add(text, name):
            return False
        if isinstance(self.values[name], torch.Tensor):
            self.names.append(name)
            return True
        part = self.rng.randrange(len(self.values[name]))
        return self.define(f"{name}[{part}]")

    def pick(self, condition: Any = lambda tensor: True) -> str:
        # late ones more often, so that chains grow
        names = [name for name in self.names if condition(self.values[name])]
        return names[int(len(names) * self.rng.random() ** 0.6)] if names else "a"

    def grow(self) -> bool:
        x = self.pick(lambda tensor: tensor.dim() > 0 and 0 < tensor.numel() <= 200)
        kind = self.rng.choice(["view", "view", "view", "shaped", "shaped", "fresh", "write", "write"])
        if kind == "write":
            return not overlaps(self.values[x]) and self.add(self.written(x))
        return self.define({"view": self.viewed, "shaped": self.shaped, "fresh": self.made}[kind](x))

    # ---- one operator each ----
    def dim(self, x: str) -> int:
        return self.rng.randrange(self.values[x].dim())

    def index(self, x: str) -> str:
        parts = []
        for extent in self.values[x].shape[: self.rng.randint(1, self.values[x].dim())]:
            low = self.rng.randrange(extent)
            whole = SLICE.format(None, None, None)
            part = SLICE.format(low, self.rng.choice([None, extent]), self.rng.choice([None, 2]))
            parts.append(self.rng.choice([whole, part, str(low), "None, " + whole]))
        return "(" + ", ".join(parts) + ",)"

    def factors(self, count: int) -> list[int]:
        shape = []
        while count > 1 and len(shape) < 3:
            extent = self.rng.choice([d for d in range(1, count + 1) if count % d == 0])
            shape.append(extent)
            count //= extent
        return [*shape, count]

    def viewed(self, x: str) -> str:
        tensor, dim, other = self.values[x], self.dim(x), self.dim(x)
        order = self.rng.sample(range(tensor.dim()), tensor.dim())
        extent = tensor.shape[dim]
        start = self.rng.randrange(extent)
        window = self.rng.randint(1, extent)
        return self.rng.choice(
            [
                f"{x}.transpose({dim}, {other})",
                f"{x}.transpose({dim}, {other})",
                f"{x}.permute({order})",
                f"{x}.swapaxes({dim}, {other})",
                f"{x}.movedim({dim}, {other})",
                f"{x}.t()",
                f"{x}.T",
                f"{x}.mT",
                f"{x}[{self.index(x)}]",
                f"{x}[{self.index(x)}]",
                f"{x}.narrow({dim}, {start}, {extent - start})",
                f"{x}.select({dim}, {start})",
                f"{x}.unsqueeze({dim})",
                f"{x}.squeeze({dim})",
                f"{x}.squeeze()",
                f"{x}.expand({[2, *tensor.shape]})",
                f"{x}.unfold({dim}, {window}, {self.rng.randint(1, 2)})",
                f"{x}.diagonal(0, {dim}, {other})",
                f"{x}.chunk({self.rng.randint(1, 3)}, {dim})",
                f"{x}.split({window}, {dim})",
                f"{x}.unbind({dim})",
                f"{x}.view({self.factors(tensor.numel())})",
                f"{x}.view_as({self.pick()})",
                f"{x}.unflatten({dim}, {self.factors(extent)})",
                f"{x}.as_strided([2, 2], {self.rng.choice([[2, 1], [1, 2], [3, 1], [1, 3]])})",
                f"{x}.detach()",
                f"{x}.expand_as({self.pick()})",
            ]
        )

    def shaped(self, x: str) -> str:
        """Views or copies, as the strides have it."""
        tensor = self.values[x]
        dim = self.dim(x)
        return self.rng.choice(
            [
                f"{x}.reshape({self.factors(tensor.numel())})",
                f"{x}.reshape({self.factors(tensor.numel())})",
                f"{x}.reshape(-1)",
                f"{x}.flatten({self.rng.randint(0, dim)}, {dim})",
                f"{x}.flatten()",
                f"{x}.ravel()",
                f"{x}.contiguous()",
                f"{x}.contiguous()",
                f"{x}.contiguous(memory_format=torch.channels_last)",
                f"{x}.reshape_as({self.pick()})",
                f"{x}.to(torch.float32)",
                f"{x}.float()",
            ]
        )

    def same(self, x: str) -> str:
        return self.pick(lambda tensor: tensor.shape == self.values[x].shape)

    def made(self, x: str) -> str:
        y = self.same(x)
        dim = self.dim(x)
        return self.rng.choice(
            [
                f"{x} + 1",
                f"{x} + {y}",
                f"{x} * 0.5",
                f"{x} - {self.pick()}",
                f"torch.relu({x})",
                f"torch.nn.functional.relu({x})",
                f"{x}.clamp(-1, 2)",
                f"{x}.abs()",
                f"torch.neg({x})",
                f"torch.maximum({x}, {y})",
                f"{x}.clone()",
                f"{x}.clone()",
                f"torch.zeros_like({x})",
                f"torch.ones_like({x})",
                f"torch.full_like({x}, 2.0)",
                f"torch.flip({x}, [{dim}])",
                f"torch.roll({x}, 1, {dim})",
                f"torch.cat([{x}, {y}], {dim})",
                f"torch.stack([{x}, {y}], {dim})",
                f"{x}.repeat({[1] * self.values[x].dim()})",
                f"{x}.sum({dim})",
                f"torch.nn.functional.dropout({x}, 0.5, False, False)",
            ]
        )

    def written(self, x: str) -> str:
        # where memory overlaps, the result is not defined
        def apart(tensor: Any) -> bool:
            return tensor.untyped_storage().data_ptr() != self.values[x].untyped_storage().data_ptr()

        y = self.pick(lambda tensor: tensor.shape == self.values[x].shape and apart(tensor))
        return self.rng.choice(
            [
                f"{x}.add_(1)",
                f"{x}.mul_(0.5)",
                f"{x}.relu_()",
                f"torch.relu_({x})",
                f"torch.nn.functional.relu({x}, inplace=True)",
                f"{x}.zero_()",
                f"{x}.fill_(3.0)",
                f"{x}.copy_({y})",
                f"{x}.sub_({y})",
                f"{x}.add_({self.pick(apart)})",
                f"{x}.neg_()",
                f"torch.add({y if self.values[y].shape == self.values[x].shape else x}, 1, out={x})",
                f"{x}[{self.index(x)}] = {ASSIGNED}",
                f"{x}.clamp_(-1, 1)",
            ]
        )


def overlaps(tensor: Any) -> bool:
    """Whether two elements share a place in memory."""
    places = torch.zeros((), dtype=torch.int64)
    for extent, stride in zip(tensor.shape, tensor.stride(), strict=True):
        places = places.unsqueeze(-1) + torch.arange(extent) * stride
    return places.unique().numel() < places.numel()


def fresh(name: str) -> Any:
    generator = torch.Generator().manual_seed(list(INPUTS).index(name) + 1)
    return torch.randint(-4, 5, INPUTS[name], generator=generator).float()


def draft(number: int) -> tuple[list[str], list[str]]:
    """Lines, and the names that they return: of every tensor, so that no difference hides."""
    program = Draft(random.Random(f"{SEED} {number}"))
    steps = program.rng.randint(4, 12)
    for _ in range(40):
        program.grow()
        if len(program.lines) >= steps:
            break
    return program.lines, program.names


def source(lines: list[str], names: list[str], returned: list[str]) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    parameters = ", ".join(f"{name} : torch.Tensor" for name in names)
    return (
        "import torch\n\n\nclass GraphModule(torch.nn.Module):\n"
        f"    def forward(self, {parameters}):\n{body}        return ({', '.join(returned)},)\n"
    )


def as_graphnet(lines: list[str], returned: list[str]) -> str:
    metas = "".join(CLASS.format(name=name, shape=list(shape)) for name, shape in INPUTS.items())
    return metas + source(lines, list(INPUTS), returned)


def module(lines: list[str], returned: list[str]) -> Any:
    scope: dict[str, Any] = {}
    exec(source(lines, list(INPUTS), returned), scope)
    return scope["GraphModule"]()


def as_exported(model: Any) -> str | None:
    try:
        return json.dumps(serialise(torch.export.export(model, tuple(map(fresh, INPUTS)), strict=False)))
    except Exception:  # torch.export refuses some writes and some views
        return None


def difference(library: Library, text: str, expected: list[Any]) -> str:
    try:
        # numbers that are assigned become inputs of exported programs
        found = library.run(text, {name: fresh(name).numpy() for name in INPUTS}, torch.tensor(ASSIGNED).numpy())
    except LibraryError as error:
        return str(error)
    for i, tensor in enumerate(expected):
        if found[i].shape != tuple(tensor.shape):
            return f"result {i} has the shape {found[i].shape}, not {tuple(tensor.shape)}"
        if not torch.allclose(torch.from_numpy(found[i].copy()), tensor, equal_nan=True):
            return f"result {i} is\n{found[i]}\nnot\n{tensor}"
    return ""


@pytest.mark.parametrize(
    "lines",
    [
        ["t = a.transpose(0, 1)", "r = t.reshape(12)", "y = torch.nn.functional.relu(a, inplace=True)", "z = r + 1"],
        ["s = b[(slice(None, None, None), slice(1, 3, None))]", "z = s.contiguous()", "z.add_(1)"],
        ["x = a * 2", "t = x.transpose(0, 1)", "r = t.reshape(12)", "y = torch.relu_(x)", "z = r + 1"],
        ["x = a * 2", "t = x.transpose(0, 1)", "z = t.contiguous()", "z.add_(1)"],
        ["z = torch.flip(a, [0])", "z.add_(1)"],
        ["t = a.T", "x = t * 2", "r = x.T", "z = r.reshape(12)", "z.add_(1)"],
        ["z = a * 2", "y = torch.add(a, 1, out=z)"],
        ["x = a * 2", "y = x.data", "y.add_(1)", "z = x + 1"],
        ["t = a.transpose(0, 1)", "x = t.contiguous()", "y = x[(1,)]", "y.add_(1)", "z = x + 1"],
        ["t = a.transpose(0, 1)", "x = t + 1", "y = x.as_strided([2, 3], [4, 1])", "z = y + 1"],
    ],
    ids=" ; ".join,
)
def test_what_shares_memory_sees_writes(lines: list[str]) -> None:
    model = module(lines, ["a", "z"])
    expected = [tensor.clone() for tensor in model(*map(fresh, INPUTS))]
    exported = as_exported(model)
    assert (exported is None) == any(".data" in line for line in lines)  # which torch.export refuses to write
    for text in filter(None, (as_graphnet(lines, ["a", "z"]), exported)):
        assert difference(Library(), text, expected) == ""


@pytest.mark.parametrize(
    "lines",
    [
        ["z = a * 1", "q = z[(0,)]", "q += 1", "q *= 0.5"],
        ["x = a * 1", "z = x", "x += 1", "x *= 2"],
        ["z = a * 1", "m = z[(0, 0)]", "m += 1"],
        ["f = c.flatten(2)", "c += 1", "r = torch.nn.functional.relu(c, inplace=True)", "z = f + 1"],
        ["z = a * 1", "z.t_()"],
        ["z = b * 1", "z.transpose_(0, 2)", "z.unsqueeze_(0)", "z.add_(1)", "z.squeeze_(0)"],
        ["x = a.t()", "y = x.clone(memory_format=torch.contiguous_format)", "z = y.flatten()", "y.add_(1)"],
        ["x = a * 1", "z = x.to('cpu', torch.float32, False, True)", "x.add_(1)"],
        ["x = a * 1", "z = x.to('cpu', torch.float32, True)", "x.add_(1)"],
    ],
    ids=" ; ".join,
)
def test_names_stay_with_their_memory(lines: list[str]) -> None:
    expected = [tensor.clone() for tensor in module(lines, ["a", "z"])(*map(fresh, INPUTS))]
    assert difference(Library(), as_graphnet(lines, ["a", "z"]), expected) == ""


def test_random_programs_agree_with_pytorch() -> None:
    library = Library()
    wrong, exported = [], 0
    for number in range(PROGRAMS):
        lines, returned = draft(number)
        model = module(lines, returned)
        with torch.no_grad():
            expected = [tensor.clone() for tensor in model(*map(fresh, INPUTS))]
        texts = [as_graphnet(lines, returned)]
        if number % EXPORTED == 0 and (program := as_exported(model)) is not None:
            texts.append(program)
            exported += 1
        for text in texts:
            if said := difference(library, text, expected):
                form = "exported" if text[0] == "{" else "GraphNet"
                wrong.append(f"program {number}, {form}: {said}\n{source(lines, list(INPUTS), returned)}")
    assert exported > PROGRAMS // EXPORTED // 4
    assert not wrong, f"{len(wrong)} differ; {REPEAT}\n" + "\n".join(wrong[:3])
