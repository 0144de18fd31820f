#!/usr/bin/env python3
"""Golden values of the loop programs: runs the numpy block of each .test file and writes its `expect` blocks.

usage: golden.py [--check] [FILE...]        (without files: all of programs/*.test)

A .test file holds, in this order:

  # one line saying what it shows
  numpy:                     python that defines every output by name; inputs are in scope by name, as are np, math
    y = x @ w                and the rounding functions f16 bf16 f8e4m3 f8e5m2 f4e2m1; narrow floats arrive as float32
  inputs:                    optional; the default is random_tensor of base/tensor.h with seed 1 + position
    idx limit 5              integers, uniform in [0, 5)
    x range -20 20           uniform in [-20, 20)
    z values 1 nan -inf      row-major, or one value for all elements; c64 is written re,im
  program name(...) -> (...) {
  }
  expect y: f32[2, 3]        written by this tool, one line per row
    0.5 0.25 ...
  expect z: f32[64, 64] digest
    sum 0.5 absolute 12.5 weighted -3.25      weights are (i mod 97) + 1
  tolerance 1e-5 1e-4        optional: absolute and relative, for all outputs
  fails in 'y': ...          in place of numpy and expect: the error that ends the run
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).resolve().parent / "programs"
STORE_AT_MOST = 300  # elements; larger outputs are stored as a digest

# What an array of each dtype is inside a numpy block.
NUMPY_TYPES: dict[str, type[np.generic]] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float32,
    "bf16": np.float32,
    "f8e4m3": np.float32,
    "f8e5m2": np.float32,
    "f4e2m1": np.float32,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u8": np.uint8,
    "bool": np.bool_,
    "c64": np.complex64,
}
# mantissa bits, least exponent, greatest finite value, what lies beyond it
NARROW: dict[str, tuple[int, int, float, float]] = {
    "f16": (10, -14, 65504.0, np.inf),
    "bf16": (7, -126, float.fromhex("0x1.fep127"), np.inf),
    "f8e4m3": (3, -6, 448.0, np.nan),
    "f8e5m2": (2, -14, 57344.0, np.inf),
    "f4e2m1": (1, 0, 6.0, 6.0),
}
TOLERANCES: dict[str, tuple[float, float]] = {
    "f64": (1e-12, 1e-10),
    "f32": (1e-5, 1e-4),
    "c64": (1e-5, 1e-4),
    "f16": (2.0**-10, 2.0**-8),
    "bf16": (2.0**-7, 2.0**-5),
    "f8e4m3": (2.0**-4, 2.0**-3),
    "f8e5m2": (2.0**-3, 2.0**-2),
    "f4e2m1": (0.5, 0.375),
}


def round_narrow(dtype: str, values: np.ndarray | float) -> np.ndarray:
    """The nearest values of a narrow float, ties to even, as float32."""
    mantissa, least, greatest, beyond = NARROW[dtype]
    x = np.asarray(values, np.float64)
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 0))
    step = np.ldexp(1.0, np.maximum(exponent - 1, least) - mantissa)
    with np.errstate(all="ignore"):
        rounded = np.rint(x / step) * step
        rounded = np.where(np.abs(rounded) > greatest, np.copysign(beyond, x), rounded)
    if dtype == "f4e2m1":
        rounded = np.where(np.isnan(x), greatest, rounded)
    return rounded.astype(np.float32)


def rounding(dtype: str) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: round_narrow(dtype, values)


def splitmix64(x: np.ndarray) -> np.ndarray:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass
class Array:
    name: str
    dtype: str
    shape: tuple[int, ...]

    def typed(self, values: np.ndarray) -> np.ndarray:
        """Values as the array would store them."""
        values = np.reshape(values, self.shape)
        if self.dtype in NARROW:
            return round_narrow(self.dtype, values)
        with np.errstate(all="ignore"):
            return values.astype(NUMPY_TYPES[self.dtype])

    def random(self, seed: int, low: float | None, high: float) -> np.ndarray:
        """random_tensor of base/tensor.h; with `low`, spread over [low, high)."""
        count = math.prod(self.shape) * (2 if self.dtype == "c64" else 1)
        start = np.uint64((seed << 32) % 2**64)
        draws = splitmix64(start + np.arange(count, dtype=np.uint64))
        if self.dtype == "bool":
            return self.typed(draws >> np.uint64(63))
        if self.dtype.startswith(("i", "u")):
            first = int(low or 0)
            offset = (draws >> np.uint64(33)) % np.uint64(int(high) - first)
            return self.typed(offset.astype(np.int64) + first)
        unit = (draws >> np.uint64(40)).astype(np.float64) * 2.0**-24
        spread = unit * 2 - 1 if low is None else low + (high - low) * unit
        if self.dtype == "c64":
            spread = spread[0::2] + 1j * spread[1::2]
        return self.typed(spread)


@dataclass
class Rule:
    """How one input is made: `values`, or uniform in [low, high)."""

    values: list[str] = field(default_factory=list)
    low: float | None = None
    high: float = 10


@dataclass
class Case:
    path: Path
    title: str
    code: str
    program: str
    inputs: list[Array]
    outputs: list[Array]
    rules: dict[str, Rule]
    expected: dict[str, str]
    digests: set[str]
    tolerance: tuple[float, float] | None
    fails: str

    def make_inputs(self, first_seed: int = 1) -> dict[str, np.ndarray]:
        made: dict[str, np.ndarray] = {}
        for position, array in enumerate(self.inputs):
            rule = self.rules.get(array.name, Rule())
            if not rule.values:
                made[array.name] = array.random(first_seed + position, rule.low, rule.high)
                continue
            values = np.array([number(text, array.dtype) for text in rule.values])
            made[array.name] = array.typed(np.broadcast_to(values, math.prod(array.shape)))
        return made

    def evaluate(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by the numpy block, rounded to their dtypes."""
        scope: dict[str, object] = {"np": np, "math": math}
        scope |= {dtype: rounding(dtype) for dtype in NARROW}
        scope |= {name: values.copy() for name, values in inputs.items()}
        with np.errstate(all="ignore"):
            exec(compile(self.code, str(self.path), "exec"), scope)
        return {array.name: self.output(array, scope) for array in self.outputs}

    def output(self, array: Array, scope: dict[str, object]) -> np.ndarray:
        if array.name not in scope:
            raise ValueError(f"{self.path}: the numpy block does not define '{array.name}'")
        values = np.asarray(scope[array.name])
        if values.shape != array.shape:
            raise ValueError(f"{self.path}: numpy's '{array.name}' has shape {values.shape}, not {array.shape}")
        kind, wanted = values.dtype.kind, np.dtype(NUMPY_TYPES[array.dtype]).kind
        if kind != wanted and not (kind in "iu" and wanted in "iu"):
            raise ValueError(f"{self.path}: numpy's '{array.name}' is {values.dtype}, not {array.dtype}")
        if kind in "iu" and np.any(values != values.astype(NUMPY_TYPES[array.dtype])):
            raise ValueError(f"{self.path}: numpy's '{array.name}' does not fit {array.dtype}")
        return array.typed(values)


def number(text: str, dtype: str) -> complex | float | int:
    if dtype == "c64":
        real, _, imaginary = text.partition(",")
        return complex(float(real), float(imaginary or 0))
    if dtype == "bool":
        return int(text == "true")
    return int(text) if dtype.startswith(("i", "u")) else float.fromhex(text) if "0x" in text else float(text)


def parse_arrays(text: str) -> list[Array]:
    found = re.findall(r"(\w+)\s*:\s*(\w+)\s*\[([\d\s,]*)\]", text)
    return [Array(name, dtype, tuple(int(e) for e in shape.split(",") if e.strip())) for name, dtype, shape in found]


def parse_rule(text: str) -> tuple[str, Rule]:
    name, kind, *words = text.split()
    if kind == "values":
        return name, Rule(values=words)
    if kind == "limit":
        return name, Rule(high=int(words[0]))
    if kind == "range":
        return name, Rule(low=float(words[0]), high=float(words[1]))
    raise ValueError(f"unknown input rule '{text.strip()}'")


def parse_signature(path: Path, program: str) -> tuple[list[Array], list[Array]]:
    text = re.sub(r"#.*", "", program)
    header = re.match(r"program\s+\w+\s*\((.*?)\)\s*->\s*\((.*?)\)\s*\{", text, re.DOTALL)
    if not header:
        raise ValueError(f"{path}: no program")
    by_name = {array.name: array for array in parse_arrays(text)}
    names = [out.split()[0] for out in header[2].split(",") if out.strip()]
    missing = [name for name in names if name not in by_name]
    if missing:
        raise ValueError(f"{path}: no declaration of output {missing[0]}")
    return parse_arrays(header[1]), [by_name[name] for name in names]


def load(path: Path) -> Case:
    sections: dict[str, list[str]] = {"title": [], "numpy": [], "inputs": [], "program": []}
    expected: dict[str, str] = {}
    digests: set[str] = set()
    tolerance: tuple[float, float] | None = None
    fails = ""
    current = sections["title"]
    in_program = False
    for line in path.read_text().splitlines():
        if in_program:
            sections["program"].append(line)
            in_program = line != "}"
        elif line.startswith("program "):
            sections["program"].append(line)
            in_program = True
            current = []
        elif line in ("numpy:", "inputs:"):
            current = sections[line[:-1]]
        elif line.startswith("expect "):
            name = line.split()[1].rstrip(":")
            if line.endswith(" digest"):
                digests.add(name)
            current = []
            expected[name] = ""
        elif line.startswith("tolerance "):
            absolute, relative = line.split()[1:]
            tolerance = float(absolute), float(relative)
        elif line.startswith("fails "):
            fails = line.removeprefix("fails ")
        elif expected and line.startswith("  "):
            expected[list(expected)[-1]] += line + "\n"
        elif line.strip():
            current.append(line)
    program = "\n".join(sections["program"]) + "\n"
    inputs, outputs = parse_signature(path, program)
    # One level of indentation belongs to the file, the rest to python.
    code = "\n".join(line[2:] for line in sections["numpy"])
    rules = dict(parse_rule(line) for line in sections["inputs"])
    unknown = set(rules) - {array.name for array in inputs}
    if unknown or len(sections["title"]) != 1 or not sections["title"][0].startswith("# "):
        raise ValueError(f"{path}: needs one title line, and rules only for inputs {sorted(unknown)}")
    return Case(path, sections["title"][0], code, program, inputs, outputs, rules, expected, digests, tolerance, fails)


def format_number(value: np.generic, dtype: str) -> str:
    if dtype == "c64":
        return f"{value.real:.9g},{value.imag:.9g}"
    if dtype == "bool":
        return "true" if value else "false"
    if dtype.startswith(("i", "u")):
        return str(int(value))
    return f"{float(value):.17g}" if dtype == "f64" else f"{float(value):.9g}"


def digest(values: np.ndarray) -> tuple[float, float, float]:
    """Sum, sum of absolutes, sum weighted by (i mod 97) + 1."""
    flat = values.astype(np.float64).ravel()
    weights = np.arange(flat.size) % 97 + 1
    return float(flat.sum()), float(np.abs(flat).sum()), float((flat * weights).sum())


def format_expected(array: Array, values: np.ndarray) -> str:
    extents = ", ".join(map(str, array.shape))
    head = f"expect {array.name}: {array.dtype}[{extents}]"
    if values.size > STORE_AT_MOST:
        total, absolute, weighted = digest(values)
        return f"{head} digest\n  sum {total:.12g} absolute {absolute:.12g} weighted {weighted:.12g}\n"
    if values.size == 0:
        return head + "\n"
    rows = values.reshape(-1, array.shape[-1] if array.shape else 1)
    lines = ["  " + " ".join(format_number(value, array.dtype) for value in row) for row in rows]
    return head + "\n" + "\n".join(lines) + "\n"


def allowed_difference(array: Array, tolerance: tuple[float, float] | None) -> tuple[float, float]:
    if array.dtype not in TOLERANCES:
        return 0, 0
    return tolerance or TOLERANCES[array.dtype]


def difference(actual: np.ndarray, wanted: np.ndarray, allowed: tuple[float, float]) -> str:
    """Empty if the arrays agree, else what is wrong, in words."""
    if actual.shape != wanted.shape:
        return f"the shape is {actual.shape}, expected {wanted.shape}"
    inexact = wanted.dtype.kind in "fc"
    with np.errstate(all="ignore"):
        close = np.abs(actual - wanted) <= allowed[0] + allowed[1] * np.abs(wanted) if inexact else False
        nan = (actual != actual) & (wanted != wanted)
        wrong = ~((actual == wanted) | nan | (np.isfinite(wanted) & np.isfinite(actual) & close))
    if not np.any(wrong):
        return ""
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    count = f"{int(np.sum(wrong))} of {wrong.size} elements differ"
    return f"{count}, first {list(where)}: {actual[where]}, expected {wanted[where]}"


def stored(array: Array, text: str) -> np.ndarray:
    return array.typed(np.array([number(word, array.dtype) for word in text.split()]))


def check(case: Case, results: dict[str, np.ndarray]) -> list[str]:
    problems = []
    for array in case.outputs:
        values = results[array.name]
        if array.name not in case.expected:
            problems.append(f"{array.name}: no expect block")
            continue
        text = case.expected[array.name]
        # Another numpy may round its last bits differently; what is stored must still be what numpy says.
        absolute, relative = allowed_difference(array, case.tolerance)
        if array.name in case.digests:
            actual = np.array(digest(values))
            wanted = np.array([float(word) for word in text.split()[1::2]])
            mean = float(np.abs(values).mean())
            slack = 4 * math.sqrt(values.size) * (absolute + relative * mean)
            problem = difference(actual / [1, 1, 97], wanted / [1, 1, 97], (slack, 0))
        elif len(text.split()) != values.size:
            problem = f"{len(text.split())} values are stored, numpy gives {values.size}"
        else:
            problem = difference(values, stored(array, text), (absolute / 4, relative / 4))
        if problem:
            problems.append(f"{array.name}: {problem}")
    return problems


def write(case: Case, results: dict[str, np.ndarray]) -> bool:
    """Rewrites the part after the program where it is out of date; tells whether it was."""
    old = case.path.read_text()
    head = old[: old.index(case.program) + len(case.program)]
    unique = {array.name: array for array in case.outputs}.values()
    blocks = [format_expected(array, results[array.name]) for array in unique]
    if case.tolerance:
        blocks.append(f"tolerance {case.tolerance[0]:g} {case.tolerance[1]:g}\n")
    new = head + "".join(blocks)
    if new == old:
        return False
    case.path.write_text(new)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes or checks the golden values of the loop programs.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a stored value differs")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args()
    files = options.files or sorted(PROGRAMS.glob("*.test"))
    problems: list[str] = []
    written = 0
    for path in files:
        try:
            case = load(path)
            if case.fails:
                continue
            results = case.evaluate(case.make_inputs())
        except Exception as error:  # a numpy block may fail in any way
            problems.append(f"{path}: {error!r}")
            continue
        if options.check:
            problems += [f"{path}: {problem}" for problem in check(case, results)]
        else:
            written += write(case, results)
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(files)} programs, {written} written, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
