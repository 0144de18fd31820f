"""What the pages name exists: links, files and folders, commands of the Makefile and subcommands of the program."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
SUFFIXES = (".h", ".cpp", ".def", ".md", ".py", ".toml", ".lir", ".cmake", ".test", ".c", ".map")
ROOMS = {path.parent for path in (ROOT / "src").rglob("*.h")}
FOLDERS = ("src", "tests", "docs", "scripts", "examples", "machines", "python", "cmake")
FILE_NAMES = {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*")} | {p.name for p in ROOT.iterdir()}


def codes(text: str) -> list[str]:
    """What stands between backticks, outside of listings."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def named_files(text: str) -> set[str]:
    """`src/base/error.h`, `frontend/load/load.cpp`, `tests/ops`; not patterns, placeholders or commands."""
    return {
        code
        for code in codes(text)
        if re.fullmatch(r"[a-z_0-9./-]+", code) and "/" in code and not code.startswith(("/", "-", "."))
    }


def exists(name: str) -> bool:
    """A name is written from the project's root, from src, or from inside a room."""
    if any((base / name).exists() for base in (ROOT, ROOT / "src", ROOT / "src" / "ops" / "library", ROOT / "python")):
        return True
    return any((room / name).exists() for room in ROOMS)


def test_links_lead_somewhere() -> None:
    count = 0
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" in target:
                continue
            count += 1
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
    assert count >= 44


def test_files_that_pages_name_exist() -> None:
    made_later = {"build/lightline", "build/liblightline.so", "build/conformance.json", "build-static/lightline"}
    count = 0
    for page in PAGES:
        for name in named_files(page.read_text()):
            looks_like_file = name.endswith(SUFFIXES) or name.split("/")[0] in (
                "src",
                "tests",
                "docs",
                "scripts",
                "examples",
            )
            if not looks_like_file or name in made_later:
                continue
            count += 1
            assert exists(name), f"{page.name} names {name}"
    assert count >= 85


def test_files_that_pages_name_without_a_folder_exist() -> None:
    operators = {"stablehlo.map"}
    count = 0
    for page in PAGES:
        for name in codes(page.read_text()):
            if not re.fullmatch(r"[A-Za-z_0-9][A-Za-z_0-9.-]*", name) or not name.endswith(SUFFIXES):
                continue
            if name in operators:
                continue
            count += 1
            assert name in FILE_NAMES, f"{page.name} names {name}"
    assert count >= 52


def test_tables_of_the_architecture_lead_into_the_code() -> None:
    rooms, words = (ROOT / "docs" / "architecture.md").read_text().split("## Walks")
    starts = 0
    for row in re.findall(r"^\| (`[^|]*) \|[^|]*\| (`[^|]*) \|$", rooms, re.MULTILINE):
        folders = [folder for name in codes(row[0]) for folder in alternatives(name)]
        for header in codes(row[1]):
            starts += 1
            assert any((ROOT / "src" / folder / header).exists() for folder in folders), f"{row[0]}: {header}"
    assert starts >= 28
    definitions = re.findall(r"^\| ([^|(]*?)(?: \([^|]*)? \|[^|]*\| ([a-z][^|`]*\.h) \|$", words, re.MULTILINE)
    assert len(definitions) >= 46
    for entry, headers in definitions:
        text = " ".join(spaced_words((ROOT / "src" / name).read_text()) for name in headers.split(", "))
        for word in entry.split(", "):
            assert word in text, f"the glossary names {headers} for '{word}'"


def spaced_words(code: str) -> str:
    """Names as words: `ScheduledKernel` and `own_index` with a blank in the middle, all in small letters."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", code).replace("_", " ").lower()


def test_rooms_without_a_folder_of_tests_are_named() -> None:
    rooms = {str(path.parent.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.cpp")}
    rooms = {"ops/library" if room.startswith("ops/library/") else room for room in rooms}
    text = (ROOT / "docs" / "architecture.md").read_text()
    (line,) = re.findall(r"^`tests/` has a folder of the same name for every room but (.*), which", text, re.MULTILINE)
    assert {room for room in rooms if not (ROOT / "tests" / room).is_dir()} == set(codes(line))


def alternatives(name: str) -> list[str]:
    """`frontend/{export,fx}` is two folders; `ops/library/<family>` is the one above."""
    plain = name.split("/<")[0]
    braces = re.fullmatch(r"(.*)\{(.*)\}", plain)
    return [braces.group(1) + word for word in braces.group(2).split(",")] if braces else [plain]


def test_files_that_comments_name_exist() -> None:
    count = 0
    for source in (ROOT / "src").rglob("*"):
        if source.suffix not in (".h", ".cpp"):
            continue
        for comment in re.findall(r"//[^\n]*", source.read_text()):
            for name in re.findall(r"(?<![\w./<*-])[a-z_0-9/-]+\.(?:h|cpp|md)\b", comment):
                if name == "cuda.h":
                    continue
                count += 1
                assert exists(name) or (source.parent / name).exists(), f"{source.relative_to(ROOT)}: {comment}"
    assert count >= 41


def test_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    count = 0
    for page in PAGES:
        for name in re.findall(r"`make ([a-z-]+)", page.read_text()):
            count += 1
            assert name in targets, f"{page.name} speaks of make {name}"
    assert count >= 19


def test_commands_that_pages_name_exist() -> None:
    binary = os.environ["LIGHTLINE_BINARY"]
    named = set()
    for page in PAGES:
        for name in set(re.findall(r"`(?:build/)?lightline ([a-z]+)", page.read_text())):
            done = subprocess.run([binary, name, "--help"], capture_output=True, check=False)
            assert done.returncode == 0, f"{page.name} speaks of lightline {name}"
            named.add(name)
    assert len(named) >= 9
