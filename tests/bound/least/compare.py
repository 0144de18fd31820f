"""Holds what `lightline analyze` says of a case against the work that was worked out by hand."""

from __future__ import annotations

import json
import math
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightline_under_test import BINARY

from least.case import Case, Work


@dataclass(frozen=True)
class Rates:
    """Per second: products by dtype, issue slots of 32-bit lanes, transcendental results, bytes."""

    products: dict[str, float]
    slots: float
    special: float
    bytes: float


def rates(units: int, clock: float, tf32: int, bandwidth: float, f64: int) -> Rates:
    """Of an NVIDIA part by its multiply-accumulates per unit and clock; 128 lanes and 16 special results per unit."""
    tick = units * clock
    products = {
        "f64": f64,
        "f32": tf32,
        "f16": 2 * tf32,
        "bf16": 2 * tf32,
        "f8": 4 * tf32,
        "i8": 4 * tf32,
        "bool": 32 * tf32,
    }
    return Rates({dtype: tick * per for dtype, per in products.items()}, 128 * tick, 16 * tick, bandwidth)


PARTS = {
    "H200": rates(132, 1.98e9, 1024, 4.917e12, 128),
    "B200": rates(148, 1.965e9, 2048, 8.184e12, 64),
}


# Vector slots that take less than this share of the least time are not counted by hand.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class Reported:
    """The figures of the fused tier, and the floor's bytes and time; the same for both versions of the schema."""

    products: float
    matrix_ms: float
    slots: float
    special: float
    bytes: float
    fused_ms: float
    floor_bytes: float
    floor_ms: float


def read_report(document: dict[str, Any], arch: str) -> Reported:
    """Version 1 calls the floor `algebraic`; keys that do not apply may be absent. Slots are the time of the vector
    units in issue slots of 32-bit lanes, so that packed types and operations that share an instruction count what
    they take."""
    floor = "floor" if document["version"] >= 2 else "algebraic"
    alone = document.get("resources_ms", {})
    return Reported(
        products=sum(document.get("macs", {}).values()),
        matrix_ms=alone.get("matrix", 0.0),
        slots=alone.get("vector", 0.0) * 1e-3 * PARTS[arch].slots,
        special=document.get("transcendental_ops", 0.0),
        bytes=document["bytes"]["fused"],
        fused_ms=document["bounds_ms"]["fused"],
        floor_bytes=document["bytes"][floor],
        floor_ms=document["bounds_ms"][floor],
    )


def analyze(case: Case, path: Path) -> Reported:
    command = [str(BINARY), "analyze", str(path), "--arch", case.arch, "--json", "--top", "1", *case.options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    return read_report(json.loads(done.stdout), case.arch)


def matrix_ms(products: dict[str, float], arch: str) -> float:
    return 1e3 * sum(count / PARTS[arch].products[dtype] for dtype, count in products.items())


def least_ms(work: Work, arch: str) -> float:
    """The time of an implementation at the part's peak rates; what is not claimed is left out."""
    part = PARTS[arch]
    times = [matrix_ms(work.products or {}, arch)]
    times += [1e3 * (work.slots or 0) / part.slots, 1e3 * (work.special or 0) / part.special]
    return max([*times, 1e3 * (work.bytes or 0) / part.bytes])


@dataclass(frozen=True)
class Finding:
    quantity: str
    reported: float
    limit: float
    direction: str

    @property
    def factor(self) -> float:
        low, high = sorted((self.reported, self.limit))
        return high / low if low > 0 else math.inf

    def __str__(self) -> str:
        factor = "without end" if math.isinf(self.factor) else f"{self.factor:.4g} times"
        return f"{self.quantity} too {self.direction}, {factor}: {self.reported:.6g}, by hand {self.limit:.6g}"


def findings(case: Case, got: Reported) -> list[Finding]:
    found = []
    unseen = NEGLIGIBLE * 1e-3 * least_ms(case.least, case.arch)

    def check(quantity: str, reported: float, least: float | None, at_least: float | None) -> None:
        slack = case.tolerance * max(least or 0, at_least or 0) + 1e-12
        slack += unseen * {"vector slots": PARTS[case.arch].slots}.get(quantity, 0)
        if least is not None and reported > least + slack:
            found.append(Finding(quantity, reported, least, "high"))
        if at_least is not None and reported < at_least - slack:
            found.append(Finding(quantity, reported, at_least, "low"))

    def both(quantity: str, reported: float, value: Any) -> None:
        check(quantity, reported, value(case.least), value(case.at_least))

    both("products", got.products, lambda work: None if work.products is None else sum(work.products.values()))
    both("products' time", got.matrix_ms, lambda work: ms_of(work.products, case.arch))
    both("vector slots", got.slots, lambda work: work.slots)
    both("transcendentals", got.special, lambda work: work.special)
    both("bytes", got.bytes, lambda work: work.bytes)
    check("floor bytes", got.floor_bytes, case.floor.bytes, case.floor_at_least.bytes)
    check("floor bytes beside fused", got.floor_bytes, got.bytes, None)
    check("floor time beside fused", got.floor_ms, got.fused_ms, None)
    if case.floor.products is not None or case.floor_ms is not None:
        check("floor time", got.floor_ms, case.floor_ms or least_ms(case.floor, case.arch), None)
    return found


def ms_of(products: dict[str, float] | None, arch: str) -> float | None:
    return None if products is None else matrix_ms(products, arch)
