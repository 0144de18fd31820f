"""Finds the program and its example inputs in the forms people keep them: KernelBench files, functions, SOL-ExecBench
problems. Programs of JAX are found in jax_sources."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock


class SourceError(Exception):
    """The source can not be captured; the message says what is missing, and it or the hint what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass
class Program:
    name: str
    target: Any
    inputs: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    framework: str = "torch"


def load(source: str, *, workload: int = 0, scale: float = 1.0, fake: bool = True, seed: int = 0) -> Program:
    """Reads a source. With `fake`, floating tensors have no memory and integer ones keep their values."""
    path = Path(source)
    if path.suffix == ".json":
        return load_definition(path, workload, fake, seed)
    if path.suffix == ".py":
        from lightline import jax_sources

        if jax_sources.framework_of_file(path) == "jax":
            return jax_sources.load_file(path, scale, fake, seed)
        return load_file(path, scale, fake, seed)
    if ":" in source:
        return load_function(source, fake, seed)
    raise SourceError(f"'{source}' is not model.py, module:function or definition.json")


# ---- tensors without memory ----


def replace_tensors(module: Any, function: Any, recurse: bool = True) -> Any:
    """What `module.to` and its kin do, for fake tensors: their storage can not be swapped, so they are replaced."""
    import torch

    seen = function.__dict__.setdefault("replaced", {})  # tied parameters stay tied
    for child in module.children() if recurse else ():
        replace_tensors(child, function)
    for name, parameter in module._parameters.items():
        if parameter is not None:
            if id(parameter) not in seen:
                with torch.no_grad():
                    converted = torch.nn.Parameter(function(parameter), parameter.requires_grad)
                seen[id(parameter)] = (converted, parameter)
            module._parameters[name] = seen[id(parameter)][0]
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = function(buffer)
    return module


def drawn_once(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any = None) -> Any:
    """In place of PyTorch's truncated normal numbers, which are drawn until all are within bounds: of fake tensors,
    nobody can tell."""
    import torch

    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


class Maker:
    """Makes models and inputs from a seed; with `fake`, everything floating is a fake tensor of one mode."""

    def __init__(self, fake: bool, seed: int) -> None:
        self.seed = seed
        self.mode: Any = None
        if fake:
            from torch._subclasses.fake_tensor import FakeTensorMode

            self.mode = FakeTensorMode(allow_non_fake_inputs=True)

    @contextlib.contextmanager
    def model(self) -> Iterator[None]:
        """Around a model's constructor."""
        import torch

        torch.manual_seed(self.seed)
        if self.mode is None:
            yield
            return
        from lightline.deferred import Record

        changes = mock.patch.object(torch.nn.Module, "_apply", replace_tensors)
        draws = mock.patch.object(torch.nn.init, "_no_grad_trunc_normal_", drawn_once)
        with self.mode, Record(self.mode), changes, draws:
            yield

    @contextlib.contextmanager
    def inputs(self) -> Iterator[None]:
        """Around the making of inputs: integer tensors keep their values."""
        import torch
        from torch.overrides import TorchFunctionMode

        torch.manual_seed(self.seed)
        if self.mode is None:
            yield
            return
        mode = self.mode
        like = {torch.rand_like, torch.randn_like, torch.zeros_like, torch.ones_like, torch.empty_like}
        factories = {torch.rand, torch.randn, torch.zeros, torch.ones, torch.empty, torch.full, torch.normal} | like

        class FloatsAreFake(TorchFunctionMode):
            def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                kwargs = kwargs or {}
                default = args[0].dtype if function in like else torch.get_default_dtype()
                if function in factories and (kwargs.get("dtype") or default).is_floating_point:
                    with mode:
                        return function(*args, **kwargs)
                return function(*args, **kwargs)

        with FloatsAreFake():
            yield


# ---- modules ----


def as_module(target: Any) -> Any:
    """torch.export takes modules: a function becomes the forward of one."""
    import torch

    if isinstance(target, torch.nn.Module):
        return target

    class Function(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            result = target(*args, **kwargs)
            # named results such as those of torch.topk have no form on file
            return tuple(result) if type(result).__module__ == "torch.return_types" else result

    return Function()


def with_loss(module: Any, loss: Callable[[Any], Any] | None) -> Any:
    """The module with a scalar loss as its only output, for a training step."""
    import torch
    from torch.utils._pytree import tree_leaves

    class WithLoss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            outputs = self.module(*args, **kwargs)
            if loss is not None:
                return loss(outputs)
            floating = [
                leaf for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
            ]
            if not floating:
                raise SourceError("a training step needs a floating output; give a loss")
            if len(floating) == 1 and floating[0].dim() == 0:
                return floating[0]
            return sum(leaf.float().square().mean() for leaf in floating)

    return WithLoss()


# ---- KernelBench files ----


def load_file(path: Path, scale: float, fake: bool, seed: int) -> Program:
    module = import_file(path, scale)
    model = getattr(module, "Model", None) or getattr(module, "ReferenceModel", None)
    get_inputs = getattr(module, "get_inputs", None)
    if model is None or get_inputs is None:
        raise SourceError(
            f"{path} has no {'get_inputs' if model else 'Model'}; it needs a class Model and a function get_inputs"
        )
    maker = Maker(fake, seed)
    with maker.inputs():
        inputs = get_inputs()
    with maker.model():
        arguments = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        target = model(**arguments) if isinstance(arguments, dict) else model(*arguments)
    if not getattr(module, "TRAINING", False):
        target.eval()
    if isinstance(inputs, dict):
        return Program(path.stem, target, (), inputs)
    return Program(path.stem, target, tuple(inputs))


def import_file(path: Path, scale: float) -> ModuleType:
    if not path.exists():
        raise SourceError(f"no such file: {path}")
    tree = ast.parse(path.read_text(), str(path))
    if scale != 1.0:
        tree = ast.fix_missing_locations(ScaleSizes(scale).visit(tree))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        exec(compile(tree, str(path), "exec"), module.__dict__)
    finally:
        sys.path.pop(0)
    return module


class ScaleSizes(ast.NodeTransformer):
    """Scales the large integers of top-level assignments (batch_size = 4096) to multiples of 16."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is int and node.value >= 64:
            return ast.copy_location(ast.Constant(max(16, round(node.value * self.scale / 16) * 16)), node)
        return node


# ---- module:function ----


def load_function(source: str, fake: bool, seed: int) -> Program:
    module_name, function_name = source.split(":", 1)
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        if f"{module_name}.".startswith(f"{error.name}."):
            raise SourceError(
                f"there is no module '{error.name}' in this folder or on Python's path",
                "go to the folder of the module, or set PYTHONPATH to it",
            ) from error
        raise SourceError(f"can not import '{module_name}': {error}") from error
    finally:
        sys.path.pop(0)
    function = getattr(module, function_name, None)
    if function is None:
        raise SourceError(f"'{module_name}' has no '{function_name}'")
    inputs = getattr(module, f"{function_name}_inputs", None) or getattr(module, "get_inputs", None)
    if inputs is None:
        raise SourceError(
            f"'{module_name}' needs a function {function_name}_inputs or get_inputs that gives the example inputs"
        )
    from lightline import jax_sources

    if jax_sources.framework_of_module(module) == "jax":
        return jax_sources.load_function(function_name, function, inputs, fake, seed)
    maker = Maker(fake, seed)
    with maker.model():
        target = function() if inspect.isclass(function) else function
    with maker.inputs():
        given = inputs()
    if isinstance(given, dict):
        return Program(function_name, target, (), given)
    return Program(function_name, target, tuple(given) if isinstance(given, (list, tuple)) else (given,))


# ---- SOL-ExecBench problems ----


def load_definition(path: Path, workload: int, fake: bool, seed: int) -> Program:
    import torch

    definition = json.loads(path.read_text())
    lines = [line for line in (path.parent / "workload.jsonl").read_text().splitlines() if line.strip()]
    if workload >= len(lines):
        raise SourceError(f"{path.parent / 'workload.jsonl'} has {len(lines)} workloads, not {workload + 1}")
    chosen = json.loads(lines[workload])
    axes = resolve_axes(definition["axes"], chosen["axes"])
    scope: dict[str, Any] = {}
    exec(compile(definition["reference"], str(path), "exec"), scope)
    entry = definition.get("custom_inputs_entrypoint")
    with Maker(fake, seed).inputs():
        if entry and any(spec.get("type") == "custom" for spec in chosen["inputs"].values()):
            given = scope[entry](axes, torch.device("cpu"))
            inputs = tuple(given[name] for name in definition["inputs"]) if isinstance(given, dict) else tuple(given)
        else:
            inputs = tuple(
                workload_input(name, spec, chosen["inputs"].get(name, {}), axes)
                for name, spec in definition["inputs"].items()
            )
    return Program(definition["name"], scope["run"], inputs)


def resolve_axes(axes: dict[str, Any], given: dict[str, int]) -> dict[str, int]:
    resolved = {name: axis["value"] for name, axis in axes.items() if axis.get("type") == "const"}
    resolved.update(given)
    for name, axis in axes.items():
        if axis.get("type") == "expr":
            resolved[name] = int(evaluate(ast.parse(axis["expression"], mode="eval").body, resolved))
        elif name not in resolved:
            raise SourceError(f"the workload does not fix axis '{name}'")
    return resolved


def evaluate(node: ast.AST, names: dict[str, int]) -> float:
    """Arithmetic on axes; nothing else is accepted."""
    operators: dict[type, Callable[[Any, Any], Any]] = {
        ast.Add: lambda a, b: a + b,
        ast.Sub: lambda a, b: a - b,
        ast.Mult: lambda a, b: a * b,
        ast.Div: lambda a, b: a / b,
        ast.FloorDiv: lambda a, b: a // b,
        ast.Mod: lambda a, b: a % b,
    }
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in operators:
        return operators[type(node.op)](evaluate(node.left, names), evaluate(node.right, names))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = evaluate(node.left, names), evaluate(node.right, names)
        if abs(exponent) > 64 or abs(base) > 1 << 20:
            raise SourceError("an axis expression has an absurd power")
        return base**exponent
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -evaluate(node.operand, names)
    raise SourceError(f"axis expression not understood: {ast.dump(node)}")


def workload_input(name: str, spec: dict[str, Any], given: dict[str, Any], axes: dict[str, int]) -> Any:
    import torch

    dtype = getattr(torch, {"float4_e2m1": "float4_e2m1fn_x2"}.get(spec["dtype"], spec["dtype"]))
    if given.get("type") == "scalar":
        return given["value"]
    if spec["shape"] is None:
        return 1.0 if dtype.is_floating_point else 1
    shape = [int(entry) if entry.isdigit() else axes[entry] for entry in spec["shape"]]
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, dtype=torch.int64).bool()
    if dtype.is_floating_point:
        small = dtype.itemsize < 2
        return torch.randn(shape).to(dtype) if small else torch.randn(shape, dtype=dtype)
    return torch.randint(0, 2, shape, dtype=torch.int64).to(dtype)
