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


def named_files(text: str) -> set[str]:
    """`src/base/error.h`, `frontend/load/load.cpp`, `tests/ops`; not patterns, placeholders or commands."""
    found = set()
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if re.fullmatch(r"[a-z_0-9./-]+", code) and "/" in code and not code.startswith(("/", "-", ".")):
            found.add(code)
    return found


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
    assert count > 20


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
    assert count > 40


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
    assert count > 20


def test_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for name in re.findall(r"`make ([a-z-]+)", page.read_text()):
            assert name in targets, f"{page.name} speaks of make {name}"


def test_commands_that_pages_name_exist() -> None:
    binary = os.environ["LIGHTLINE_BINARY"]
    for page in PAGES:
        for name in set(re.findall(r"`(?:build/)?lightline ([a-z]+)", page.read_text())):
            done = subprocess.run([binary, name, "--help"], capture_output=True, check=False)
            assert done.returncode == 0, f"{page.name} speaks of lightline {name}"
