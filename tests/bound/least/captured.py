"""Captures the cases' programs with the project's own capture, and keeps them on disk until a source changes."""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

from lightline_under_test import ROOT

from least.case import Case, Jax, Known, Loops, Shape, Torch

KEPT = ROOT / ".cache" / "least"
TORCH_NAMES = {
    "bool": "bool",
    "u8": "uint8",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "f8e4m3": "float8_e4m3fn",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
}


def program_files(case: Case, module: Any) -> dict[str, Path]:
    """Form to the file that `lightline analyze` reads."""
    folder = KEPT / f"{module.__name__.rpartition('.')[2]}-{fingerprint(module)}"
    folder.mkdir(parents=True, exist_ok=True)
    suffix = {"loops": "lir", "stablehlo": "mlir"}.get(case.forms[0], "json")
    stem = "".join(c if c.isalnum() else "_" for c in case.name)
    files = {form: folder / f"{stem}.{form}.{suffix}" for form in case.forms}
    if not all(path.exists() for path in files.values()):
        for form, text in captured(case).items():
            partial = files[form].with_suffix(".partial")
            partial.write_text(text)
            partial.rename(files[form])
    return files


def fingerprint(module: Any) -> str:
    """Changes with the cases, with the way they are captured, and with the frameworks."""
    from importlib.metadata import PackageNotFoundError, version

    digest = hashlib.sha256()
    folder = Path(__file__).parent
    sources = [Path(inspect.getfile(module)), folder / "case.py", folder / "captured.py"]
    for path in [*sources, *sorted((ROOT / "python" / "lightline").glob("*.py"))]:
        digest.update(path.read_bytes())
    for package in ("torch", "jax"):
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            digest.update(b"none")
    return digest.hexdigest()[:16]


def captured(case: Case) -> dict[str, str]:
    if isinstance(case.program, Loops):
        return {"loops": case.program.text}
    if isinstance(case.program, Jax):
        return {"stablehlo": captured_jax(case.name, case.program)}
    return captured_torch(case.name, case.program)


def captured_jax(name: str, program: Jax) -> str:
    import jax

    from lightline import jax_capture

    dtypes = {"bool": "bool", "f8e4m3": "float8_e4m3fn", **{k: v for k, v in TORCH_NAMES.items() if k != "bool"}}
    inputs = [jax.ShapeDtypeStruct(shape.extents, dtypes[shape.dtype]) for shape in program.inputs]
    target = jax.jit(program.target, donate_argnums=program.donate) if program.donate else program.target
    return jax_capture.capture(target, *inputs, name=name).artefact()


def captured_torch(name: str, program: Torch) -> dict[str, str]:
    import torch

    from lightline import capture, sources

    maker = sources.Maker(fake=True, seed=0)

    def tensor(given: Shape | Known) -> Any:
        if isinstance(given, Known):
            return torch.tensor(given.values)
        with maker.mode:
            return torch.empty(given.extents, dtype=getattr(torch, TORCH_NAMES[given.dtype]))

    inputs = [tensor(given) for given in program.inputs]
    target = program.target
    if program.build and program.real:
        target = program.target().eval()
    elif program.build:
        with maker.model():
            target = program.target().eval()
    done = capture(target, *inputs, name=name, training=program.training)
    if program.training:
        return {"traced": json.dumps(done.program("training"))}
    return {"traced": json.dumps(done.program("training")), "decomposed": json.dumps(done.program("core"))}
