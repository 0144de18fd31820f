"""What `lightline_conform` says of the samples of PyTorch's operator tests, and what is known of them (opinfo.toml)."""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import opinfo_samples
import runner
from opinfo_samples import DTYPES, FORMS, Sample
from runner import Case

BACKENDS = ("interpreter", "c")
TOLERANCES = {"f32": (1e-5, 1e-4), "c64": (1e-5, 1e-4), "bf16": (2**-7, 2**-5)}
# From best to worst. "not exported": torch.export does not take it, which says nothing of us.
VERDICTS = ("agree", "not exported", "opaque", "refused", "wrong")
TOGETHER = 24  # samples in a program
PER_RUN = 100  # programs in a run of lightline_conform
MAX_TEXT = 8 << 20


@dataclass
class Verdict:
    operator: str
    dtype: str
    form: str
    number: int
    verdict: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.operator} {self.dtype} {self.form} #{self.number}: {self.verdict}: {self.why}"


@dataclass
class Program:
    """A case with the samples that it is made of."""

    form: str
    samples: list[Sample]
    case: Case
    backends: Sequence[str] = BACKENDS
    found: dict[str, str] = field(default_factory=dict)  # what failed, by backend
    passed: set[str] = field(default_factory=set)

    @property
    def agrees(self) -> bool:
        return not self.found and self.passed >= (set(self.backends) if self.case.runs else {"lowering"})

    def verdicts(self, verdict: str, why: str = "") -> list[Verdict]:
        return [Verdict(one.operator, one.dtype, self.form, one.number, verdict, why) for one in self.samples]


# ---- what is known ----


@dataclass
class Known:
    """The verdicts that are listed, by operator and perhaps dtype and form, with reasons."""

    path: Path

    def __post_init__(self) -> None:
        self.listed: dict[str, dict[str, str]] = tomllib.loads(self.path.read_text()) if self.path.exists() else {}

    def reason(self, found: Verdict) -> str | None:
        """Why a verdict is no news, or None."""
        listed = self.listed.get(found.verdict.replace(" ", "_"), {})
        return next((listed[key] for key in keys_of(found) if key in listed), None)

    def mentions(self, sample: Sample, form: str) -> bool:
        keys = keys_of(Verdict(sample.operator, sample.dtype, form, sample.number, ""))
        return any(key in listed for listed in self.listed.values() for key in keys)

    def news(self, found: Iterable[Verdict]) -> list[Verdict]:
        return [one for one in found if one.verdict not in ("agree", "not exported") and self.reason(one) is None]

    def outdated(self, found: Sequence[Verdict]) -> list[str]:
        """What is listed and no longer so, of the operators that were run."""
        seen = {(one.verdict.replace(" ", "_"), key) for one in found for key in keys_of(one)}
        ran = {key for one in found for key in keys_of(one)}
        return [
            f"{verdict}: {key}"
            for verdict, listed in self.listed.items()
            for key in listed
            if key in ran and (verdict, key) not in seen
        ]


def keys_of(found: Verdict) -> list[str]:
    name, dtype, form = found.operator, found.dtype, found.form
    return [name, f"{name} {dtype}", f"{name} {form}", f"{name} {dtype} {form}"]


# ---- judging ----


def suited(samples: Iterable[Sample], form: str) -> list[Sample]:
    return [one for one in samples if form != "backward" or (one.weights and not one.random)]


class Judge:
    """Runs programs of many samples, and halves those that fail until the culprit is alone. Samples of which something
    is known are alone from the start."""

    def __init__(self, tool: Path, known: Known, backends: Sequence[str] = BACKENDS) -> None:
        self.tool = tool
        self.known = known
        self.backends = backends

    def judge(self, groups: Iterable[tuple[str, list[Sample]]]) -> Iterator[Verdict]:
        """`groups`: a form and samples; those of one form share programs."""
        pools: dict[tuple[str, bool], list[Sample]] = collections.defaultdict(list)
        waiting: list[Program] = []
        for form, samples in groups:
            for sample in suited(samples, form):
                if self.known.mentions(sample, form):
                    yield from self.captured(form, [sample], waiting)
                    continue
                pool = pools[form, sample.random]
                pool.append(sample)
                if len(pool) >= TOGETHER:
                    yield from self.captured(form, pool.copy(), waiting)
                    pool.clear()
            if len(waiting) >= PER_RUN:
                yield from self.settled(waiting)
                waiting = []
        for (form, _), pool in pools.items():
            yield from self.captured(form, pool, waiting)
        yield from self.settled(waiting)

    def captured(self, form: str, samples: list[Sample], programs: list[Program]) -> Iterator[Verdict]:
        """Adds programs; verdicts on what torch.export refuses, by halves until the culprit is alone."""
        if not samples:
            return
        try:
            programs.append(Program(form, samples, opinfo_samples.case_of(samples, form), self.backends))
        except Exception as error:
            if len(samples) > 1:
                middle = len(samples) // 2
                yield from self.captured(form, samples[:middle], programs)
                yield from self.captured(form, samples[middle:], programs)
                return
            one = samples[0]
            if isinstance(error, opinfo_samples.ForeignDtypeError):
                yield Verdict(one.operator, one.dtype, form, one.number, "refused", str(error))
                return
            why = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:120]}"
            yield Verdict(one.operator, one.dtype, form, one.number, "not exported", why)

    def settled(self, programs: list[Program]) -> Iterator[Verdict]:
        alone: list[Program] = []
        while programs:
            self.run(programs)
            halves: list[Program] = []
            for program in programs:
                middle = len(program.samples) // 2
                if program.agrees:
                    yield from program.verdicts("agree")
                elif middle == 0:
                    alone.append(program)
                else:
                    yield from self.captured(program.form, program.samples[:middle], halves)
                    yield from self.captured(program.form, program.samples[middle:], halves)
            programs = halves
        doubted: list[Program] = []
        for program in alone:
            verdict, why = verdict_of(program)
            if verdict != "wrong":
                yield from program.verdicts(verdict, why)
            else:
                doubted.append(self.beside_the_truth(program))
        self.run(doubted)
        for program in doubted:
            yield from program.verdicts(*verdict_of(program))

    def beside_the_truth(self, program: Program) -> Program:
        """The program again, with as much more tolerance as PyTorch itself is away from twice the precision."""
        absolute, relative = TOLERANCES.get(program.case.dtype, (1e-5, 1e-4))
        try:
            error = opinfo_samples.own_error(program.samples[0], program.form)
        except Exception:
            error = 0.0
        case = Case(**{**vars(program.case), "tolerance": (absolute + 4 * error, relative)})
        return Program(program.form, program.samples, case, self.backends)

    def run(self, programs: Sequence[Program]) -> None:
        """Fills in what failed. Where the tool itself ends early, each program gets a run of its own."""
        if not programs:
            return
        cases = runner.Cases("opinfo", 0, found=[program.case for program in programs])
        by_id = {program.case.id: program for program in programs}
        with tempfile.TemporaryDirectory() as scratch:
            runner.write(cases, Path(scratch))
            environment = {"LIGHTLINE_CACHE": str(self.tool.parent / "conformance-cache"), **os.environ}
            command = [str(self.tool), scratch, *self.backends]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        for line in done.stdout.splitlines():
            result = json.loads(line)
            program = by_id[result["id"]]
            if result["pass"]:
                program.passed.add(result["backend"])
            else:
                program.found[result["backend"]] = result["message"]
        if done.returncode == 0:
            return
        if len(programs) == 1:
            programs[0].found["crash"] = f"lightline_conform ended with {done.returncode}: {done.stderr[-300:]}"
            return
        for program in programs:
            program.found.clear()
            program.passed.clear()
            self.run([program])


def verdict_of(program: Program) -> tuple[str, str]:
    if program.agrees:
        return "agree", ""
    for backend, message in program.found.items():
        text = re.sub(r"node '[^']*' ", "", message)
        if backend in ("frontend", "lowering"):
            if "no definition" in message:
                return "opaque", text
            defect = "defect" in message or "do not verify" in message or "LL_CHECK" in message
            return ("wrong" if defect else "refused"), text
        if "sizes that depend on data" in message:
            return "opaque", "a size depends on data"
        return "wrong", f"{backend}: {text}"
    return "wrong", "no result"


# ---- reports ----


def as_toml(found: Sequence[Verdict], known: Known) -> str:
    """opinfo.toml as these verdicts would have it; reasons that are there stay."""
    lines = []
    for verdict in VERDICTS[1:]:
        lines.append(f"\n[{verdict.replace(' ', '_')}]")
        mine = [one for one in found if one.verdict == verdict]
        for key, one in sorted(fewest_keys(mine, found).items()):
            reason = known.reason(one) or one.why.partition("\n")[0][:150]
            lines.append(f"{json.dumps(key)} = {json.dumps(reason)}")
    return "\n".join(lines) + "\n"


def fewest_keys(mine: Sequence[Verdict], found: Sequence[Verdict]) -> dict[str, Verdict]:
    """Short keys that name these verdicts: a dtype or a form is left out where all that were run are among them."""
    ran: dict[str, set[tuple[str, str]]] = collections.defaultdict(set)
    here: dict[str, dict[tuple[str, str], Verdict]] = collections.defaultdict(dict)
    for one in found:
        ran[one.operator].add((one.dtype, one.form))
    for one in mine:
        here[one.operator].setdefault((one.dtype, one.form), one)
    keys: dict[str, Verdict] = {}
    for name, pairs in here.items():
        left = dict(pairs)
        if len(pairs) == len(ran[name]):
            keys[name] = next(iter(left.values()))
            continue
        for form in FORMS:
            of_form = [pair for pair in ran[name] if pair[1] == form]
            if of_form and all(pair in left for pair in of_form):
                keys[f"{name} {form}"] = left[of_form[0]]
                left = {pair: one for pair, one in left.items() if pair not in of_form}
        for dtype in DTYPES:
            of_dtype = [pair for pair in ran[name] if pair[0] == dtype]
            if of_dtype and all(pair in left for pair in of_dtype):
                keys[f"{name} {dtype}"] = left[of_dtype[0]]
                left = {pair: one for pair, one in left.items() if pair not in of_dtype}
        keys.update({f"{name} {dtype} {form}": one for (dtype, form), one in left.items()})
    return keys


def table(found: Sequence[Verdict], known: Known) -> str:
    """Counts by verdict, dtype and form."""
    counts: collections.Counter[tuple[str, str, str]] = collections.Counter()
    for one in found:
        reasoned = one.verdict == "wrong" and known.reason(one)
        counts[one.dtype, one.form, "exception" if reasoned else one.verdict] += 1
    columns = [*VERDICTS[:-1], "exception", "wrong"]
    lines = [" ".join(["dtype form    ", *(f"{name:>12}" for name in columns)])]
    for form in FORMS:
        for dtype in DTYPES:
            numbers = [counts[dtype, form, name] for name in columns]
            if any(numbers):
                lines.append(" ".join([f"{dtype:5} {form:8}", *(f"{number:12}" for number in numbers)]))
    totals = [sum(count for key, count in counts.items() if key[2] == name) for name in columns]
    lines.append(" ".join([f"{'all':14}", *(f"{number:12}" for number in totals)]))
    return "\n".join(lines)
