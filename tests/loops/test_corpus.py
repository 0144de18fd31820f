"""Every loop program on other random inputs than its golden values have, through the command line, against its numpy
block."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import golden
import numpy as np
import pytest
from lightline_under_test import BINARY, REPEAT, SEED

FIRST_SEED = 1000 + SEED  # of the inputs; golden values have 1 and the next
NAMES = sorted(path.stem for path in golden.PROGRAMS.glob("*.test"))
COMPILED = sorted(random.Random(SEED).sample(NAMES, min(40, len(NAMES))))  # a compiler run for each takes its time
Process = subprocess.CompletedProcess[str]
BITS = {"bf16": 16, "f8e4m3": 8, "f8e5m2": 8, "f4e2m1": 4}

pytestmark = pytest.mark.skipif(not BINARY.exists(), reason=f"{BINARY.name} is not built")


def decoded(dtype: str, codes: np.ndarray) -> np.ndarray:
    """The values of the codes of a narrow float."""
    mantissa_bits, least, greatest, beyond = golden.NARROW[dtype]
    magnitude = codes.astype(np.int64) & (2 ** (BITS[dtype] - 1) - 1)
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & (2**mantissa_bits - 1)
    hidden = np.where(exponent > 0, 2**mantissa_bits, 0)
    values = np.ldexp((mantissa + hidden).astype(np.float64), np.maximum(exponent, 1) - 1 + least - mantissa_bits)
    above = values > greatest
    values[above] = beyond
    values[above & (mantissa != 0)] = np.nan
    return np.where(codes >> (BITS[dtype] - 1) & 1, -values, values).astype(np.float32)


def encoded(dtype: str, values: np.ndarray) -> np.ndarray:
    """The codes of values that the dtype holds exactly."""
    table = decoded(dtype, np.arange(2 ** (BITS[dtype] - 1)))
    code_of = {float(value): code for code, value in enumerate(table)}
    codes = [code_of.get(abs(float(value)), len(table) - 1) for value in values.ravel()]  # the last one is NaN
    signed = np.array(codes, np.int64) + np.signbit(values.ravel()) * len(table)
    return signed.reshape(values.shape).astype(np.uint16 if dtype == "bf16" else np.uint8)


def to_file(array: golden.Array, values: np.ndarray) -> np.ndarray:
    if array.dtype == "f16":
        return values.astype(np.float16)
    if array.dtype in BITS:
        codes = encoded(array.dtype, values)
        return codes.view(f"V{codes.itemsize}")
    return values


def from_file(array: golden.Array, values: np.ndarray) -> np.ndarray:
    if array.dtype in BITS:
        return decoded(array.dtype, values.view(f"u{values.itemsize}"))
    assert values.dtype == np.dtype(np.float16 if array.dtype == "f16" else golden.NUMPY_TYPES[array.dtype])
    return values.astype(golden.NUMPY_TYPES[array.dtype])


def run(case: golden.Case, inputs: dict[str, np.ndarray], backend: str, folder: Path) -> Process:
    (folder / "program.lir").write_text(case.program)
    command = [str(BINARY), "run", "program.lir", "--backend", backend, "-o", "out.npz"]
    if inputs:
        np.savez(folder / "in.npz", **{array.name: to_file(array, inputs[array.name]) for array in case.inputs})
        command += ["--inputs", "in.npz"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def check(name: str, backend: str, folder: Path) -> None:
    case = golden.load(golden.PROGRAMS / f"{name}.test")
    inputs = case.make_inputs(FIRST_SEED)
    done = run(case, inputs, backend, folder)
    if case.fails:
        assert done.returncode == 2
        assert f"error: {case.fails}" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    wanted = case.evaluate(inputs)
    with np.load(folder / "out.npz") as outputs:
        for array in case.outputs:
            actual = from_file(array, outputs[array.name])
            problem = golden.difference(actual, wanted[array.name], golden.allowed_difference(array, case.tolerance))
            assert not problem, f"output '{array.name}', {REPEAT}: {problem}"


@pytest.mark.parametrize("name", NAMES)
def test_interpreter_agrees_with_numpy(name: str, tmp_path: Path) -> None:
    check(name, "interp", tmp_path)


@pytest.mark.parametrize("name", COMPILED)
def test_emitted_c_agrees_with_numpy(name: str, tmp_path: Path) -> None:
    check(name, "c", tmp_path)


def test_golden_values_are_current() -> None:
    done = subprocess.run([sys.executable, golden.__file__, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
