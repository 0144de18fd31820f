"""One half of `lightline validate`: captures a program, runs the framework on random inputs, and writes both down.

The other half, in C++, lowers the program, runs it on the same inputs and compares. Files written to the folder:
program_training.json and program_core.json, or program_stablehlo.mlir for a JAX program, and tensors.safetensors with
"in.NAME" by graph input and "out.N" by output.
A GraphNet sample is its own program: only the tensors are written.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
from pathlib import Path
from typing import Any

from lightline import graphnet, sources
from lightline.capture import export, serialise
from lightline.tensor_files import write_safetensors


def graph_inputs(exported: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Every tensor the graph takes, by the name it has there."""
    import torch
    from torch.utils._pytree import tree_leaves

    leaves = tree_leaves((inputs, kwargs))
    found: dict[str, Any] = {}
    position = 0
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name == "USER_INPUT":
            value = leaves[position] if position < len(leaves) else None
            position += 1
        else:
            value = exported.state_dict.get(spec.target, exported.constants.get(spec.target))
        if isinstance(value, torch.Tensor):
            found[f"in.{spec.arg.name}"] = value.clone()
    return found


def run(options: argparse.Namespace) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if graphnet.is_sample(Path(options.source)):
        tensors = graphnet.run_sample(Path(options.source), options.seed)
        return write_safetensors(Path(options.folder) / "tensors.safetensors", tensors)
    program = sources.load(
        options.source, workload=options.workload, scale=options.scale, fake=False, seed=options.seed
    )
    if program.framework == "jax":
        return run_jax(program, options)
    return run_torch(program, options)


def run_jax(program: sources.Program, options: argparse.Namespace) -> None:
    import jax
    import numpy

    from lightline.jax_capture import compile_in_haste, prepare_step, with_names

    call = prepare_step(program.target, program.inputs, program.kwargs, options.backward, seed=options.seed)
    tensors = {f"in.arg{i}": numpy.array(array) for i, array in enumerate(call.concrete())}
    lowered = call.lower(program.name)
    folder = Path(options.folder)
    captured = with_names(call, program.name, call.text(program.name))
    (folder / "program_stablehlo.mlir").write_text(captured.artefact())
    outputs = jax.tree.leaves(compile_in_haste(lowered)(*call.concrete()))
    tensors.update({f"out.{i}": numpy.array(leaf) for i, leaf in enumerate(outputs)})
    write_safetensors(folder / "tensors.safetensors", tensors)


def run_torch(program: sources.Program, options: argparse.Namespace) -> None:
    import torch
    from torch.utils._pytree import tree_leaves

    module = sources.as_module(program.target)
    folder = Path(options.folder)
    if options.backward:
        return run_training(module, program, folder)
    with torch.no_grad():
        exported = export(copy.deepcopy(module), copy.deepcopy(program.inputs), copy.deepcopy(program.kwargs))
        tensors = graph_inputs(exported, program.inputs, program.kwargs)
        (folder / "program_training.json").write_text(json.dumps(serialise(exported)))
        (folder / "program_core.json").write_text(json.dumps(serialise(exported.run_decompositions())))
        outputs = module(*copy.deepcopy(program.inputs), **copy.deepcopy(program.kwargs))
    results = [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]
    tensors.update({f"out.{i}": leaf for i, leaf in enumerate(results)})
    write_safetensors(folder / "tensors.safetensors", tensors)


def run_training(module: Any, program: sources.Program, folder: Path) -> None:
    """The training step: the loss, then the gradient of every parameter in the signature's order."""
    import torch
    from torch.export.experimental import _export_forward_backward

    step = sources.with_loss(module, None)
    exported = _export_forward_backward(
        export(copy.deepcopy(step), copy.deepcopy(program.inputs), copy.deepcopy(program.kwargs))
    )
    tensors = graph_inputs(exported, program.inputs, program.kwargs)
    text = json.dumps(serialise(exported))
    (folder / "program_training.json").write_text(text)
    (folder / "program_core.json").write_text(text)
    loss = step(*program.inputs, **program.kwargs)
    loss.backward()
    parameters = dict(step.named_parameters())
    results = []
    for spec in exported.graph_signature.output_specs:
        kind = spec.kind.name
        if kind in ("LOSS_OUTPUT", "USER_OUTPUT"):
            results.append(loss)
        elif kind == "GRADIENT_TO_PARAMETER":
            gradient = parameters[spec.target].grad
            results.append(torch.zeros_like(parameters[spec.target]) if gradient is None else gradient)
    tensors.update({f"out.{i}": leaf for i, leaf in enumerate(results)})
    write_safetensors(folder / "tensors.safetensors", tensors)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lightline.validate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("folder")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--workload", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    try:
        run(parser.parse_args(arguments))
    except sources.SourceError as error:
        print(f"error: {error}" + (f"\n  hint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
