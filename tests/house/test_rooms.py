"""The rooms of the house: every folder under src is a room, has a charter in one header, and sees what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
SUFFIXES = (".h", ".cpp", ".def")
# The one form that an include has; whatever else on a line with a hash speaks of including or importing is refused.
INCLUDE = re.compile(r'#include (<[A-Za-z][\w+-]*([./][\w+-]+)*>|"[a-z]\w*([./]\w+)*")( *//.*)?')
MAY_INCLUDE = re.compile(r"(#|%:|\?\?=).*(include|import|embed)")


def rooms() -> dict[str, list[str]]:
    """Room to the rooms it may use, as the build has it."""
    text = (ROOT / "CMakeLists.txt").read_text()
    found = {}
    for call in re.finditer(r"^lightline_room\(([^)]*)\)", text, re.MULTILINE):
        words = call.group(1).split()
        uses: list[str] = []
        if "USES" in words:
            for word in words[words.index("USES") + 1 :]:
                if word.isupper():
                    break
                uses.append(word)
        found[words[0]] = uses
    return found


def room_of(path: str, names: list[str]) -> str:
    owners = [name for name in names if path.startswith(name + "/")]
    assert len(owners) == 1, f"{path} is in no room, or in several: {owners}"
    return owners[0]


def test_every_source_is_in_a_room() -> None:
    names = list(rooms())
    sources = [p for p in SOURCE.rglob("*") if p.suffix in SUFFIXES]
    assert len(sources) > 200
    for path in sources:
        room_of(str(path.relative_to(SOURCE)), names)


def test_every_room_has_one_charter_that_says_what_it_may_use() -> None:
    for room, uses in rooms().items():
        charters = []
        for header in (SOURCE / room).rglob("*.h"):
            comment = header.read_text().split("#pragma once")[0]
            if f"// Room {room}: " in comment:
                charters.append(re.sub(r"\n//\s*", " ", comment))
        assert len(charters) == 1, f"room {room} has {len(charters)} charters"
        said = re.search(r"May use: ([^.]*)\.", charters[0])
        assert said is not None, f"the charter of {room} does not say what it may use"
        if not uses:
            assert said.group(1) == "the standard library and small libraries", f"{room} uses no room, its charter does"
            continue
        assert said.group(1).split(", ") == uses, f"the charter of {room} and the build disagree"


def included(text: str) -> tuple[list[str], list[str]]:
    """What a text includes by the names of files, and the lines that might include something and are not plain."""
    found, refused = [], []
    for line in re.sub(r"\\[ \t]*\n", "", text.replace("??/", "\\")).splitlines():
        if not MAY_INCLUDE.search(line):
            continue
        if (plain := INCLUDE.fullmatch(line)) is None:
            refused.append(line)
        elif plain.group(1).startswith('"'):
            found.append(plain.group(1).strip('"'))
    return found, refused


def test_includes_stay_within_what_a_room_may_use() -> None:
    table = rooms()
    for path in SOURCE.rglob("*"):
        if path.suffix not in SUFFIXES:
            continue
        own = room_of(str(path.relative_to(SOURCE)), list(table))
        names, refused = included(path.read_text())
        assert not refused, f"{path.relative_to(ROOT)} includes in another way: {refused}"
        for name in names:
            used = room_of(name, list(table))
            assert used == own or used in table[own], f"{path.relative_to(ROOT)} includes {name}"


def test_rooms_may_use_only_what_an_include_needs() -> None:
    """Directly, or because a header that they include does. What is linked follows from that."""
    table = rooms()
    for room, uses in table.items():
        seen: set[str] = set()
        paths = [str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*") if p.suffix in SUFFIXES]
        pending = [path for path in paths if room_of(path, list(table)) == room]
        while pending:
            if (path := pending.pop()) not in seen:
                seen.add(path)
                pending += included((SOURCE / path).read_text())[0]
        needed = {room_of(path, list(table)) for path in seen}
        assert set(uses) <= needed, f"no include of {room} needs {sorted(set(uses) - needed)}"


@pytest.mark.parametrize(
    "line",
    [
        '#include "../base/error.h"',
        '#include "/elsewhere/src/base/error.h"',
        "#include </elsewhere/src/base/error.h>",
        "#include <../base/error.h>",
        "#include HEADER",
        '# include "base/error.h"',
        ' #include "base/error.h"',
        '#include"base/error.h"',
        '%:include "base/error.h"',
        '??=include "base/error.h"',
        '#import "base/error.h"',
        '#include_next "base/error.h"',
        '#/**/include "base/error.h"',
        '/**/#include "base/error.h"',
        '#embed "base/error.h"',
    ],
)
def test_an_include_has_one_form(line: str) -> None:
    found, refused = included(f"{line}\n")
    assert found == [] and len(refused) == 1


@pytest.mark.parametrize("line", ["#include ", "#\\\ninclude ", "#inc\\\nlude ", "#inc\\ \nlude ", "#inc??/\nlude "])
def test_an_include_is_found(line: str) -> None:
    assert included(f'{line}"base/error.h"  // text\n#include <fmt/format.h>\n') == (["base/error.h"], [])


def test_no_room_uses_one_that_uses_it() -> None:
    table = rooms()

    def reached(room: str) -> set[str]:
        seen: set[str] = set()
        pending = list(table[room])
        while pending:
            if (name := pending.pop()) not in seen:
                seen.add(name)
                pending += table[name]
        return seen

    for room in table:
        assert room not in reached(room), f"{room} uses itself through others"
