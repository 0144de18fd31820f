"""Captures the cases' programs with the project's own capture, and keeps them on disk until a source changes."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import json
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from lightline_under_test import ROOT

from least.case import Case, Jax, Known, Loops, Shape, Torch

KEPT = ROOT / ".cache" / "least"
NAMES = {
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


def program_files(case: Case, module: ModuleType) -> dict[str, Path]:
    """Form to the file that `lightline analyze` reads."""
    files = kept_files(case, module)
    if not all(path.exists() for path in files.values()):
        for form, text in captured(case).items():
            files[form].parent.mkdir(parents=True, exist_ok=True)
            partial = files[form].with_suffix(".partial")
            partial.write_text(text)
            partial.rename(files[form])
    return files


def capture_together(cases: list[tuple[ModuleType, Case]]) -> None:
    """Captures what is not kept yet, on as many processes as there are cores."""
    missing = [
        (module.__name__, case.name)
        for module, case in cases
        if not all(path.exists() for path in kept_files(case, module).values())
    ]
    if len(missing) < 8:
        return
    seldom = {"initializer": gc.set_threshold, "initargs": (200_000, 20, 20)}  # tracing makes much that stays
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"), **seldom) as pool:
        list(pool.map(capture_quietly, *zip(*missing, strict=True)))


def capture_quietly(module_name: str, case_name: str) -> None:
    """What fails here is captured again, and fails again, where it is wanted."""
    module = importlib.import_module(module_name)
    with contextlib.suppress(Exception):
        program_files(next(case for case in module.CASES if case.name == case_name), module)


def kept_files(case: Case, module: ModuleType) -> dict[str, Path]:
    folder = KEPT / f"{module.__name__.rpartition('.')[2]}-{fingerprint(module.__file__)}"
    suffix = {"loops": "lir", "stablehlo": "mlir"}.get(case.forms[0], "json")
    stem = "".join(c if c.isalnum() else "_" for c in case.name)
    return {form: folder / f"{stem}.{form}.{suffix}" for form in case.forms}


@functools.cache
def fingerprint(cases: str) -> str:
    """Changes with the cases, with the way they are captured, and with the frameworks."""
    from importlib.metadata import PackageNotFoundError, version

    digest = hashlib.sha256()
    folder = Path(__file__).parent
    capturing = [ROOT / "python" / "lightline" / name for name in ("capture.py", "jax_capture.py", "sources.py")]
    for path in [Path(cases), folder / "case.py", folder / "captured.py", *capturing]:
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

    inputs = [jax.ShapeDtypeStruct(shape.extents, NAMES[shape.dtype]) for shape in program.inputs]
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
            return torch.empty(given.extents, dtype=getattr(torch, NAMES[given.dtype]))

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
