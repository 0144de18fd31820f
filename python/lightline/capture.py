"""Captures PyTorch and JAX programs as the files that `lightline import` reads.

Nothing is computed: models and inputs are shapes, so a program of any size is captured in little memory.

    python -m lightline.capture model.py -o model.json
    python -m lightline.capture program_of_jax.py -o program.mlir
    python -m lightline.capture package.module:function -o function.json
    python -m lightline.capture problem/definition.json --workload 0 -o problem.json
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from lightline import jax_capture, sources, training_calls
from lightline.jax_capture import CapturedJax
from lightline.known_values import known_values


@dataclass
class Captured:
    """A program in torch.export's public serialisation, without weights."""

    name: str
    training: dict[str, Any]
    core: dict[str, Any] | None = None
    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def program(self, form: str = "training") -> dict[str, Any]:
        """The program JSON of one form; under "lightline" what is known of its inputs (see known_values)."""
        program = self.core if form == "core" else self.training
        if program is None:
            raise ValueError(f"the program was captured without its {form} form")
        return {**program, "lightline": {"name": self.name, "values": self.values, "notes": self.notes}}

    def save(self, path: str | Path, form: str = "training") -> None:
        """Writes program JSON, or a line with both forms if the name ends in .jsonl."""
        path = Path(path)
        if path.suffix == ".jsonl":
            line = {"problem": self.name, "training": self.program("training")}
            if self.core is not None:
                line["core"] = self.program("core")
            text = json.dumps(line, allow_nan=False) + "\n"
        else:
            text = json.dumps(self.program(form), separators=(",", ":"), allow_nan=False)
        path.write_text(text)


def capture(
    target: Any,
    *inputs: Any,
    name: str | None = None,
    training: bool = False,
    core: bool = True,
    loss: Callable[[Any], Any] | None = None,
    **kwargs: Any,
) -> Captured | CapturedJax:
    """Captures a module or function on example inputs; a program of JAX as `jax_capture.capture` does.

    With `training`, the program is the forward and the backward pass together: `loss` maps the outputs to a scalar
    (default: the mean squares of all floating outputs), and the results are the loss and all parameters' gradients.
    """
    if is_jax(target, inputs, kwargs):
        return jax_capture.capture(target, *inputs, name=name, training=training, loss=loss, **kwargs)
    module = sources.as_module(target)
    if training:
        module = sources.with_loss(module, loss)
    with training_calls.watched() as calls:
        exported = export(module, inputs, kwargs)
    traced = serialise(exported)
    decomposed = functional = None
    lost = calls.notes(exported)
    for note in lost:
        warnings.warn(note, stacklevel=2)
    if training:
        joint, unused = forward_backward(exported)
        lost += unused
        traced = decomposed = serialise(joint)
        exported = joint
    elif core:
        functional = exported.run_decompositions()
        decomposed = serialise(functional)
    label = name or getattr(target, "__name__", None) or type(target).__name__
    known = known_values(exported, inputs, kwargs, functional or exported)
    return Captured(label, traced, decomposed, known.values, known.notes + lost)


def is_jax(target: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the target is a Flax module or made by JAX, or an input is an array of JAX."""
    if jax_capture.module_kind(target) or type(target).__module__.startswith(("jax", "jaxlib")):
        return True
    if "jax" not in sys.modules:
        return False
    import jax

    leaves = jax.tree.leaves((inputs, kwargs))
    return any(isinstance(leaf, jax.Array | jax.ShapeDtypeStruct) for leaf in leaves)


def export(module: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import torch

    return torch.export.export(module, tuple(inputs), kwargs or None, strict=False)


def forward_backward(exported: Any) -> tuple[Any, list[str]]:
    """The forward and the backward pass together, and notes on the parameters that get no gradient: those that are not
    used, as the second name of a tied weight, and those that are used without gradients alone."""
    from torch.export.experimental import _export_forward_backward

    def gives_gradients(user: Any) -> bool:
        return not ("set_grad_enabled" in str(user.target) and user.args and user.args[0] is False)

    parameters = exported.graph_signature.inputs_to_parameters
    left_out = [
        node
        for node in exported.graph.nodes
        if node.op == "placeholder" and node.name in parameters and not any(map(gives_gradients, node.users))
    ]
    changed = []
    for node in left_out:
        for tensor in (node.meta["val"], exported.state_dict[parameters[node.name]]):
            if tensor.requires_grad:
                tensor.requires_grad_(False)
                changed.append(tensor)
    try:
        joint = _export_forward_backward(exported)
    except AssertionError as error:
        if "did not receive a gradient" not in str(error):
            raise
        raise sources.SourceError(
            "a parameter takes no part in the loss; freeze it (requires_grad_(False)) or leave it out of the module"
        ) from error
    finally:
        for tensor in changed:
            tensor.requires_grad_(True)
    read = [node for node in left_out if node.users]
    names = ", ".join(parameters[node.name].removeprefix("module.") for node in read)
    return joint, [f"parameters used without gradients: {names}"] if read else []


def serialise(exported: Any) -> dict[str, Any]:
    """The exported program as the public JSON schema has it, without weights."""
    from torch._export.serde import serialize as serde

    warnings.filterwarnings("ignore", category=FutureWarning)
    try:
        artifact = serde.serialize(
            exported, serialize_state_dict=False, serialize_constants=False, serialize_example_inputs=False
        )
    except TypeError:  # PyTorch before 2.12 always serialises the weights
        serialised = serde.ExportedProgramSerializer().serialize(exported)
        text = json.dumps(serde._dataclass_to_dict(serialised.exported_program), cls=serde.EnumEncoder)
        return without_traces(json.loads(text))
    return without_traces(json.loads(artifact.exported_program))


def without_traces(value: Any) -> Any:
    """The program without the stack traces of its nodes, which are long and name the folders of this machine."""
    if isinstance(value, dict):
        return {
            key: {} if key == "metadata" and isinstance(inner, dict) else without_traces(inner)
            for key, inner in value.items()
        }
    return [without_traces(inner) for inner in value] if isinstance(value, list) else value


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lightline.capture", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "source",
        help="model.py (Model, get_inputs, get_init_inputs), a JAX file (program, inputs), module:function, "
        "a definition.json, or what jax.export serialised (.bin, .jax_export)",
    )
    parser.add_argument(
        "-o",
        "--output",
        help="program JSON or StableHLO text, or a corpus line if it ends in .jsonl; default: standard output",
    )
    parser.add_argument(
        "--form", choices=["training", "core"], default="training", help="as traced, or after run_decompositions()"
    )
    parser.add_argument("--backward", action="store_true", help="capture forward and backward as one program")
    parser.add_argument(
        "--workload", type=int, default=0, help="which line of workload.jsonl fixes the axes of a definition.json"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="scale the sizes of a model.py down by this factor")
    options = parser.parse_args(arguments)
    try:
        captured = capture_source(options)
    except sources.SourceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if isinstance(captured, CapturedJax):
        if options.output:
            captured.save(options.output)
        else:
            print(captured.artefact(), end="")
    elif options.output:
        captured.save(options.output, options.form)
    else:
        print(json.dumps(captured.program(options.form), allow_nan=False))
    return 0


def capture_source(options: argparse.Namespace) -> Captured | CapturedJax:
    path = Path(options.source)
    if path.suffix in (".bin", ".jax_export"):
        return jax_capture.read_export(path)
    program = sources.load(options.source, workload=options.workload, scale=options.scale, fake=True)
    make = jax_capture.capture if program.framework == "jax" else capture
    return make(program.target, *program.inputs, name=program.name, training=options.backward, **program.kwargs)


class _Callable(ModuleType):
    """Lets `lightline.capture(...)` be the function and `python -m lightline.capture` the command."""

    def __call__(self, *args: Any, **kwargs: Any) -> Captured:
        return capture(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    sys.exit(main())
