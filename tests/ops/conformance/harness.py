"""Operators against PyTorch: draws inputs, runs the real operator, writes the program torch.export would write, and
has `lightline_conform` run it with the interpreter and with emitted C.

usage: harness.py [--build FOLDER] [--backend interpreter|c] [-k TEXT] [--keep FOLDER] [NAME...]
       (NAME: elementwise for cases_elementwise.py)

A case file defines `def cases(suite: Suite) -> None` and calls

    suite.case("aten.add.Tensor", T(2, 3), T(3), alpha=2, dtypes=FLOATS + INTEGERS)
    suite.case_module(lambda x: x.relu() + 1, T(2, 3))

LIGHTLINE_SEED fixes the random inputs.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import operator
import os
import random
import subprocess
import sys
import tempfile
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch._export.serde import serialize as serde
from torch.export.graph_signature import ExportGraphSignature

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent

F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
I64, I32, I16, I8, U8, BOOL, C64 = (
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
)
FLOATS = (F32, BF16, F16, F64)
INTEGERS = (I64, I32)
NUMBERS = FLOATS + INTEGERS
ALL = (*NUMBERS, BOOL)

SHORT_NAMES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "f8e4m3",
    torch.float8_e5m2: "f8e5m2",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
    torch.complex64: "c64",
}
SAFETENSORS_NAMES = {
    "f64": "F64",
    "f32": "F32",
    "f16": "F16",
    "bf16": "BF16",
    "f8e4m3": "F8_E4M3",
    "f8e5m2": "F8_E5M2",
    "i64": "I64",
    "i32": "I32",
    "i16": "I16",
    "i8": "I8",
    "u8": "U8",
    "bool": "BOOL",
    "c64": "C64",
}
BACKENDS = ("interpreter", "c")
SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5)


@dataclass
class TensorSpec:
    """An input to draw. Without `dtype` it takes the dtype that the case enumerates."""

    shape: tuple[int, ...]
    dtype: torch.dtype | None = None
    kind: str = ""  # normal, uniform, int, bool, indices, distinct; by dtype if empty
    low: float | None = None
    high: float | None = None
    limit: int = 0  # indices: 0 <= value < limit
    special: bool = False  # the first elements are NaN, infinities, signed zeros, halves
    values: Sequence[float] | None = None  # exactly these, row-major
    make: Callable[[torch.dtype], torch.Tensor] | None = None

    def draw(self, default: torch.dtype) -> torch.Tensor:
        dtype = self.dtype or default
        if self.make is not None:
            return self.make(dtype)
        if self.values is not None:
            return (
                torch.tensor(self.values, dtype=F64 if dtype.is_floating_point else dtype).reshape(self.shape).to(dtype)
            )
        tensor = self._draw(dtype).to(dtype)
        if self.special and dtype.is_floating_point:
            flat = tensor.reshape(-1)
            count = min(flat.numel(), len(SPECIAL))
            flat[:count] = torch.tensor(SPECIAL[:count], dtype=dtype)
            tensor = flat.reshape(self.shape)
        return tensor

    def _draw(self, dtype: torch.dtype) -> torch.Tensor:
        kind = self.kind or ("bool" if dtype == BOOL else "normal" if not _is_integer(dtype) else "int")
        if kind == "bool":
            return torch.rand(self.shape) < 0.5
        if kind == "indices":
            return torch.randint(0, self.limit, self.shape)
        if kind == "distinct":
            count = _product(self.shape)
            return (torch.randperm(count) - count // 2).reshape(self.shape)
        if kind == "int":
            low = (0 if dtype == U8 else -10) if self.low is None else int(self.low)
            return torch.randint(low, (11 if self.high is None else int(self.high)), self.shape)
        if kind == "uniform" or self.low is not None or self.high is not None:
            low, high = -1.0 if self.low is None else self.low, 1.0 if self.high is None else self.high
            return torch.rand(self.shape, dtype=F64) * (high - low) + low
        if dtype.is_complex:
            return torch.randn(self.shape, dtype=dtype)
        return torch.randn(self.shape, dtype=F64)


def T(*shape: int, **options: Any) -> TensorSpec:  # noqa: ANN401, N802
    return TensorSpec(tuple(shape), **options)


def _is_integer(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex and dtype != BOOL


def _product(shape: Iterable[int]) -> int:
    result = 1
    for extent in shape:
        result *= extent
    return result


def find_operator(target: str) -> torch._ops.OpOverload:
    """aten.add.Tensor, or aten.relu for its default overload."""
    namespace, name, *overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload[0] if overload else "default")


@dataclass
class Case:
    id: str
    operator: str
    dtype: str
    program: dict[str, Any]
    inputs: list[torch.Tensor]
    outputs: list[torch.Tensor | None]  # None: no such result
    written: dict[int, torch.Tensor]  # inputs that are written in place, as they are afterwards
    tolerance: tuple[float, float] | None = None
    runs: bool = True  # False: has a part that can not run, so only shapes and dtypes are checked


@dataclass
class Suite:
    """Cases of one file. `only` keeps the cases whose id contains it."""

    name: str
    seed: int
    only: str = ""
    found: list[Case] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)  # cases that PyTorch itself does not accept

    def case(
        self,
        target: str,
        *args: Any,  # noqa: ANN401
        dtypes: Sequence[torch.dtype] = (F32,),
        tolerance: tuple[float, float] | dict[torch.dtype, tuple[float, float]] | None = None,
        in_place: bool = True,
        runs: bool = True,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """One call of an operator. Where the in-place form exists, the first dtype is tried in place as well: on an
        input, and through a view of one (`in_place=False` leaves this out). `tolerance` is (absolute, relative)."""
        count = self._count(target)
        for position, dtype in enumerate(dtypes):
            own = tolerance.get(dtype) if isinstance(tolerance, dict) else tolerance
            identity = f"{target} {SHORT_NAMES[dtype]} #{count}"
            variants: list[tuple[str, str, bool]] = [(target, identity, False)]
            mutated = _in_place_form(target) if in_place and position == 0 else None
            if mutated:
                variants += [(mutated, identity + " _", False), (mutated, identity + " view_", True)]
            for name, variant, through_view in variants:
                if self.only and self.only not in variant:
                    continue
                self._seed(variant)
                try:
                    found = _one_node(
                        find_operator(name), args, kwargs, dtype, through_view, expect_same=name != target
                    )
                except Exception as error:
                    self.broken.append(f"{variant}: {_first_line(error)}")
                    continue
                if found:
                    self.found.append(Case(variant, target, SHORT_NAMES[dtype], *found, tolerance=own, runs=runs))

    def case_module(
        self,
        function: Callable[..., Any] | torch.nn.Module,
        *inputs: Any,  # noqa: ANN401
        dtypes: Sequence[torch.dtype] = (F32,),
        tolerance: tuple[float, float] | None = None,
        name: str = "",
        forms: Sequence[str] = ("training", "core"),
        runs: bool = True,
    ) -> None:
        """A small program, exported by torch.export as traced and after run_decompositions()."""
        name = name or getattr(function, "__name__", type(function).__name__)
        count = self._count(f"module {name}")
        for dtype in dtypes:
            for form in forms:
                identity = f"module {name} {SHORT_NAMES[dtype]} {form} #{count}"
                if self.only and self.only not in identity:
                    continue
                self._seed(identity)
                try:
                    found = _exported(function, inputs, dtype, form)
                except Exception as error:
                    self.broken.append(f"{identity}: {_first_line(error)}")
                    continue
                name_and_type = f"module {name}", SHORT_NAMES[dtype]
                self.found.append(Case(identity, *name_and_type, *found, tolerance=tolerance, runs=runs))

    def _count(self, operator_name: str) -> int:
        self.counts[operator_name] = self.counts.get(operator_name, -1) + 1
        return self.counts[operator_name]

    def _seed(self, identity: str) -> None:
        seed = zlib.crc32(f"{self.seed} {identity}".encode())
        torch.manual_seed(seed)
        random.seed(seed)


def _first_line(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]} ({Path(place.filename).name}:{place.lineno})"


def _in_place_form(target: str) -> str | None:
    namespace, name, *overload = target.split(".")
    if name.endswith("_") or not hasattr(getattr(torch.ops, namespace), name + "_"):
        return None
    packet = getattr(getattr(torch.ops, namespace), name + "_")
    wanted = overload[0] if overload else "default"
    return ".".join([namespace, name + "_", wanted]) if wanted in packet.overloads() else None


# The program, its inputs, its outputs, and the inputs it writes as they are afterwards.
Program = tuple[dict[str, Any], list[torch.Tensor], list[torch.Tensor | None], dict[int, torch.Tensor]]


def _draw(value: Any, dtype: torch.dtype) -> Any:  # noqa: ANN401
    if isinstance(value, TensorSpec):
        return value.draw(dtype)
    if isinstance(value, list | tuple):
        return type(value)(_draw(item, dtype) for item in value)
    return value


def _without_trailing_defaults(
    schema: torch.FunctionSchema, args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """As torch.export leaves out arguments that equal their defaults."""

    def is_default(argument: torch._C.Argument, value: Any) -> bool:  # noqa: ANN401
        plain = not isinstance(value, torch.Tensor | list | tuple)
        return (
            plain
            and argument.has_default_value()
            and type(argument.default_value) is type(value)
            and argument.default_value == value
        )

    by_name = {argument.name: argument for argument in schema.arguments}
    kwargs = {name: value for name, value in kwargs.items() if not is_default(by_name[name], value)}
    while args and is_default(schema.arguments[len(args) - 1], args[-1]):
        args = args[:-1]
    return args, kwargs


class _GraphBuilder:
    """An fx graph of a few nodes, and what torch.export's own serializer makes of it."""

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.inputs: list[torch.Tensor] = []
        self.placeholders: list[torch.fx.Node] = []

    def placeholders_for(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, torch.Tensor):
            node = self.graph.placeholder(f"x{len(self.inputs)}")
            node.meta["val"] = value
            self.inputs.append(value.clone())
            self.placeholders.append(node)
            return node
        if isinstance(value, list | tuple):
            return [self.placeholders_for(item) for item in value]
        return value

    def call(self, op: torch._ops.OpOverload, args: Sequence[Any], kwargs: dict[str, Any], value: Any) -> torch.fx.Node:  # noqa: ANN401
        node = self.graph.call_function(op, tuple(args), kwargs)
        node.meta["val"] = value
        return node

    def item(self, node: torch.fx.Node, index: int, value: Any) -> torch.fx.Node:  # noqa: ANN401
        got = self.graph.call_function(operator.getitem, (node, index))
        got.meta["val"] = value
        return got

    def program(self, outputs: Sequence[torch.fx.Node | None]) -> dict[str, Any]:
        self.graph.output(tuple(outputs))
        serializer = serde.GraphModuleSerializer(ExportGraphSignature([], []), [])
        for node in self.graph.nodes:
            getattr(serializer, f"handle_{node.op}")(node)
        state = serializer.graph_state
        graph = serde.Graph(
            inputs=state.inputs,
            outputs=state.outputs,
            nodes=state.nodes,
            tensor_values=state.tensor_values,
            sym_int_values=state.sym_int_values,
            sym_float_values=state.sym_float_values,
            sym_bool_values=state.sym_bool_values,
            custom_obj_values=state.custom_obj_values,
            is_single_tensor_return=False,
        )
        plain = json.loads(serde._to_json_bytes(graph))
        return {
            "graph_module": {
                "graph": plain,
                "signature": {
                    "input_specs": [{"user_input": {"arg": argument}} for argument in plain["inputs"]],
                    "output_specs": [{"user_output": {"arg": argument}} for argument in plain["outputs"]],
                },
                "module_call_graph": [],
            },
            "opset_version": {"aten": 10},
            "range_constraints": {},
            "schema_version": {"major": serde.SCHEMA_VERSION[0], "minor": serde.SCHEMA_VERSION[1]},
            "verifiers": ["TRAINING"],
            "torch_version": torch.__version__,
        }


def _one_node(
    op: torch._ops.OpOverload,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    dtype: torch.dtype,
    through_view: bool,
    expect_same: bool,
) -> Program | None:
    """The program of one call. `expect_same`: an in-place form nobody asked for; None where PyTorch refuses it."""
    schema = op._schema
    drawn = [_draw(value, dtype) for value in args]
    drawn_kwargs = {name: _draw(value, dtype) for name, value in kwargs.items()}
    builder = _GraphBuilder()
    first_node = base = None
    if through_view and not isinstance(drawn[0], torch.Tensor):
        return None
    if through_view:
        # the tensor that is written is every second element of the input
        base = torch.stack([torch.zeros_like(drawn[0]), drawn[0]], dim=-1)
        placeholder = builder.placeholders_for(base)
        drawn[0] = torch.ops.aten.select.int(base, -1, 1)
        first_node = builder.call(torch.ops.aten.select.int, (placeholder, -1, 1), {}, drawn[0])
    drawn, drawn_kwargs = _without_trailing_defaults(schema, drawn, drawn_kwargs)
    nodes = [first_node if first_node and i == 0 else builder.placeholders_for(value) for i, value in enumerate(drawn)]
    node_kwargs = {name: builder.placeholders_for(value) for name, value in drawn_kwargs.items()}
    try:
        with torch.no_grad():
            result = op(*drawn, **drawn_kwargs)
    except RuntimeError:
        if expect_same:
            return None
        raise
    node = builder.call(op, nodes, node_kwargs, result)
    outputs: list[torch.fx.Node | None] = []
    expected: list[torch.Tensor | None] = []

    def collect(value: Any, produced: torch.fx.Node) -> None:  # noqa: ANN401
        if isinstance(value, list | tuple):
            for i, item in enumerate(value):
                if item is not None:
                    collect(item, builder.item(produced, i, item))
        else:
            outputs.append(produced)
            expected.append(_as_tensor(value))

    collect(result, node)
    after = [placeholder.meta["val"] for placeholder in builder.placeholders]
    return builder.program(outputs), builder.inputs, expected, _changed(builder.inputs, after)


def _changed(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> dict[int, torch.Tensor]:
    pairs = enumerate(zip(before, after, strict=True))
    return {i: new for i, (old, new) in pairs if _bytes(old) != _bytes(new)}


def _bytes(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _as_tensor(value: Any) -> torch.Tensor:  # noqa: ANN401
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, bool):
        return torch.tensor(value)
    return torch.tensor(value, dtype=I64 if isinstance(value, int) else F64)


class _Wrapped(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:  # noqa: ANN401
        return self.function(*inputs)


def _exported(
    function: Callable[..., Any] | torch.nn.Module, specs: Sequence[Any], dtype: torch.dtype, form: str
) -> Program:
    module = copy.deepcopy(function) if isinstance(function, torch.nn.Module) else _Wrapped(function)
    module = module.to(dtype) if dtype.is_floating_point else module
    inputs = tuple(_draw(spec, dtype) for spec in specs)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(module, inputs)
        if form == "core":
            exported = exported.run_decompositions()
        program = json.loads(serde.serialize(exported, serialize_example_inputs=False).exported_program)
    users = _tensors_in(inputs)
    user_names = exported.graph_signature.user_inputs
    state = {**exported.state_dict, **exported.constants}
    given = []
    for spec in exported.graph_signature.input_specs:
        is_user = spec.kind is torch.export.graph_signature.InputKind.USER_INPUT
        is_buffer = spec.kind is torch.export.graph_signature.InputKind.BUFFER and spec.persistent is not None
        if is_user:
            given.append(users[user_names.index(spec.arg.name)])
        else:
            given.append(module.get_buffer(spec.target) if is_buffer else state[spec.target])
    values = [value.detach().clone() for value in given]
    with torch.no_grad():
        leaves = torch.utils._pytree.tree_leaves(module(*inputs))
        results = iter([_as_tensor(leaf) for leaf in leaves if leaf is not None])
    expected: list[torch.Tensor | None] = []
    for spec in exported.graph_signature.output_specs:
        if spec.kind.name == "USER_INPUT_MUTATION":
            expected.append(users[user_names.index(spec.target)])
        elif spec.kind.name == "BUFFER_MUTATION":
            expected.append(module.get_buffer(spec.target))
        else:
            expected.append(next(results))
    return program, values, expected, _changed(values, given)


def _tensors_in(value: Any) -> list[torch.Tensor]:  # noqa: ANN401
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


# ---- running ----


@dataclass
class Report:
    """What came of one case file."""

    name: str
    seed: int
    triples: int = 0  # cases, each an (operator, dtype, attributes) triple, that pass on both backends
    failures: list[str] = field(default_factory=list)
    proved: dict[str, set[str]] = field(default_factory=dict)  # operator to dtypes without a failure

    def summary(self) -> str:
        return f"{self.name}: {self.triples} cases pass, {len(self.failures)} fail (LIGHTLINE_SEED={self.seed})"


def collect(name: str, seed: int, only: str = "") -> Suite:
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    suite = Suite(name, seed, only)
    importlib.import_module(f"cases_{name}").cases(suite)
    return suite


def write(suite: Suite, folder: Path) -> None:
    """cases.jsonl and data.safetensors, as lightline_conform reads them."""
    tensors: dict[str, torch.Tensor] = {}
    with (folder / "cases.jsonl").open("w") as lines:
        for number, case in enumerate(suite.found):
            names: dict[str, Any] = {"inputs": [], "outputs": [], "written": {}}
            for kind, values in (("inputs", case.inputs), ("outputs", case.outputs)):
                for i, value in enumerate(values):
                    key = f"{number}.{kind}.{i}"
                    names[kind].append(key if value is not None else None)
                    if value is not None:
                        tensors[key] = value
            for i, value in case.written.items():
                names["written"][str(i)] = f"{number}.written.{i}"
                tensors[f"{number}.written.{i}"] = value
            line: dict[str, Any] = {"id": case.id, "runs": case.runs, **names, "program": case.program}
            if case.tolerance:
                line["tolerance"] = list(case.tolerance)
            lines.write(json.dumps(line) + "\n")
    write_safetensors(folder / "data.safetensors", tensors)


def write_safetensors(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    header: dict[str, Any] = {}
    chunks: list[bytes] = []
    offset = 0
    for name, tensor in tensors.items():
        data = _bytes(tensor)
        header[name] = {
            "dtype": SAFETENSORS_NAMES[SHORT_NAMES[tensor.dtype]],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(data)],
        }
        chunks.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(chunks))


def run(suite: Suite, tool: Path, folder: Path, backends: Sequence[str] = BACKENDS) -> Report:
    write(suite, folder)
    command = [str(tool), str(folder), *(backends if len(backends) == 1 else ())]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    report = Report(suite.name, suite.seed)
    report.failures += [f"not accepted by PyTorch: {text}" for text in suite.broken]
    passed: dict[str, set[str]] = {}
    failed: dict[str, str] = {}
    for line in process.stdout.splitlines():
        result = json.loads(line)
        if result["pass"]:
            passed.setdefault(result["id"], set()).add(result["backend"])
        else:
            failed[result["id"]] = failed.get(result["id"], "") + f"\n    {result['backend']}: {result['message']}"
    disproved: set[tuple[str, str]] = set()
    for case in suite.found:
        wanted = set(backends) if case.runs else {"lowering"}
        if case.id not in failed and passed.get(case.id, set()) >= wanted:
            report.triples += 1
            if case.runs:
                report.proved.setdefault(case.operator, set()).add(case.dtype)
        else:
            reason = failed.get(case.id, f"\n    no result; lightline_conform ended with code {process.returncode}")
            report.failures.append(f"{case.id}{reason}")
            disproved.add((case.operator, case.dtype))
    for name, dtype in disproved:
        report.proved.get(name, set()).discard(dtype)
    return report


def fresh_seed() -> int:
    return int(os.environ.get("LIGHTLINE_SEED") or random.SystemRandom().randrange(2**31))


def case_files() -> list[str]:
    return sorted(path.stem.removeprefix("cases_") for path in HERE.glob("cases_*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("-k", dest="only", default="")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="one backend only")
    parser.add_argument("--keep", type=Path, help="write cases.jsonl and data.safetensors here and leave them")
    options = parser.parse_args()
    failed = False
    for name in options.names or case_files():
        suite = collect(name, fresh_seed(), options.only)
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            report = run(suite, options.build / "tests" / "lightline_conform", folder, options.backend or BACKENDS)
        for failure in report.failures:
            print("FAIL", failure)
        print(report.summary(), f"{len(report.proved)} operators")
        failed |= bool(report.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    import harness  # the module that case files see, not this __main__

    sys.exit(harness.main())
