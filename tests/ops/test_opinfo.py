"""Every operator of PyTorch's own operator tests (OpInfo), by the interpreter and by emitted C.

A sample of each runs in `make test`; all of them, and reference inputs, with LIGHTLINE_LONG=1. What is opaque,
refused or different, and why, is in opinfo.toml.

    python tests/ops/test_opinfo.py --table [--samples N] [--form F] [--dtype D] [--write FILE] [--show VERDICT] [NAME]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    root = HERE.parents[1]
    sys.path[:0] = [str(root / folder) for folder in ("python", "tests/support", "tests/ops/conformance")]

from lightline_under_test import BINARY, LONG, SEED  # noqa: E402

KNOWN = HERE / "opinfo.toml"
TOOL = BINARY.parent / "tests" / "lightline_conform"
SHARDS = 16  # of the operators, in the long form


def groups_of(
    infos: Sequence[Any], count: int | None, dtypes: Sequence[str], forms: Sequence[str], references: bool = False
) -> Iterator[tuple[str, list[Any]]]:
    """Samples of all dtypes together, per form and operator."""
    from opinfo_samples import drawn

    for info in infos:
        samples = [one for dtype in dtypes for one in drawn(info, dtype, SEED, count, references)]
        for form in forms:
            yield form, samples


def short_groups(infos: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    """One sample of every operator, in a dtype and a form that differ from one to the next."""
    from opinfo_samples import DTYPES, FORMS, drawn

    for info in infos:
        chosen = random.Random(f"{SEED} {info.full_name}")
        supported = [name for name in DTYPES if info.supports_dtype(DTYPES[name], "cpu")]
        if supported:
            yield chosen.choice(FORMS), drawn(info, chosen.choice(supported), SEED, 1)


def complaints(found: Sequence[Any], whole: bool) -> list[str]:
    from opinfo_verdicts import Known

    known = Known(KNOWN)
    said = [f"{one}" for one in known.news(found)]
    return said + [f"no longer so: {entry}" for entry in known.outdated(found)] if whole else said


def judged(groups: Iterator[tuple[str, list[Any]]]) -> list[Any]:
    from opinfo_verdicts import Judge, Known

    assert TOOL.exists(), f"{TOOL} was not built"
    return list(Judge(TOOL, Known(KNOWN)).judge(groups))


@pytest.mark.skipif(LONG, reason="the long form has these samples, too")
def test_a_sample_of_every_operator() -> None:
    pytest.importorskip("torch", reason="no torch")
    pytest.importorskip("expecttest", reason="no expecttest, which PyTorch's tests need")
    from opinfo_samples import operators

    found = judged(short_groups(list(operators().values())))
    assert found
    assert not (said := complaints(found, whole=False)), "\n".join(said[:60])


@pytest.mark.skipif(not LONG, reason="long: set LIGHTLINE_LONG=1 or run make test-long")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_all_samples(shard: int) -> None:
    pytest.importorskip("torch", reason="no torch")
    pytest.importorskip("expecttest", reason="no expecttest, which PyTorch's tests need")
    from opinfo_samples import DTYPES, FORMS, operators

    infos = list(operators().values())[shard::SHARDS]
    found = judged(groups_of(infos, None, list(DTYPES), FORMS, references=True))
    assert not (said := complaints(found, whole=True)), "\n".join(said[:200])


def main() -> int:
    from opinfo_samples import DTYPES, FORMS, operators
    from opinfo_verdicts import BACKENDS, VERDICTS, Judge, Known, as_toml, table

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", action="store_true", help="print counts by verdict, dtype and form")
    parser.add_argument("--samples", type=int, default=3, help="of each operator and dtype; 0: all")
    parser.add_argument("--form", action="append", choices=FORMS)
    parser.add_argument("--dtype", action="append", choices=list(DTYPES))
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="one backend only")
    parser.add_argument("--write", type=Path, help="write opinfo.toml as it should be")
    parser.add_argument("--show", action="append", choices=VERDICTS, help="print these verdicts as they are found")
    options = parser.parse_args()
    infos = [info for name, info in operators().items() if not options.names or name in options.names]
    groups = groups_of(infos, options.samples or None, options.dtype or list(DTYPES), options.form or FORMS)
    found = []
    known = Known(KNOWN)
    for one in Judge(TOOL, known, options.backend or BACKENDS).judge(groups):
        found.append(one)
        if one.verdict in (options.show or ()):
            print(str(one).replace("\n", " | ")[:400], flush=True)
    if options.table:
        print(table(found, known))
    if options.write:
        options.write.write_text(as_toml(found, known))
    return 1 if known.news(found) else 0


if __name__ == "__main__":
    sys.exit(main())
