"""What the pages name exists: links, files and folders, commands of the Makefile and subcommands of the program."""

from __future__ import annotations

import re
import subprocess

from lightline_under_test import BINARY, ROOT

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


SYMBOL = r"`((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)(?:\(\))?`"
SOURCE = r"`(?:src/)?([a-z_0-9/]+\.(?:h|cpp))`"


def symbols_with_files(text: str) -> set[tuple[str, str]]:
    """`Needs::run` (`demand/needs.cpp`), (`Needs::run`, `demand/needs.cpp`) and `demand/needs.cpp` (`Needs::run`)."""
    pairs = re.findall(rf"{SYMBOL} \({SOURCE}", text) + re.findall(rf"\({SYMBOL}, {SOURCE}\)", text)
    return set(pairs) | {(symbol, file) for file, symbol in re.findall(rf"{SOURCE} \({SYMBOL}\)", text)}


def defines(code: str, symbol: str, in_header: bool = False) -> bool:
    """A type's or a function's body, or a member function's inside or outside of its class; a header may declare it."""
    *scopes, name = symbol.split("::")
    scopes = [scope for scope in scopes if scope[0].isupper()]  # a namespace has small letters
    if re.search(rf"^\s*(?:class|struct|enum class) {name}\b[^;]*?\{{", code, re.MULTILINE):
        return True
    heads = [rf"^\S[^;{{}}=]*\b{'::'.join([*scopes[-1:], name])}"]
    if scopes and re.search(rf"\b(?:class|struct) {scopes[-1]}\b[^;]*?\{{", code):
        heads.append(rf"^  \S[^;{{}}=]*\b{name}")
    parameters = r"\((?:[^()]|\([^()]*\))*\)(?: const| noexcept| try|\s)*(?:->[^;{]*)?(?::[^;]*?)?\{"
    if in_header:
        parameters = parameters.removesuffix(r"\{") + r"[;{]"
    return any(re.search(head + parameters, code, re.MULTILINE) for head in heads)


def test_symbols_that_pages_name_beside_a_file_are_defined_there() -> None:
    count = 0
    for page in PAGES:
        for symbol, file in symbols_with_files(page.read_text()):
            count += 1
            code = (ROOT / "src" / file).read_text()
            assert defines(code, symbol, file.endswith(".h")), f"{page.name}: {symbol} is not in {file}"
    assert count >= 27


def test_a_symbol_is_not_defined_where_it_is_only_used() -> None:
    code = (
        "class Walk {\n  int go(int n) const { return n; }\n  void stop();\n};\n"
        "int Walk::run(\n    int n) {\n  return go(n) + help(n);\n}\nvoid later(int n);\n"
        "Status refuse(const std::function<void()>& tell) {\n  tell();\n}\n"
    )
    for symbol in ("Walk", "Walk::go", "Walk::run", "refuse"):
        assert defines(code, symbol), symbol
    for symbol in ("Walk::stop", "later", "help", "tell", "go", "Walk::help", "Other::run"):
        assert not defines(code, symbol), symbol
    assert defines(code, "later", in_header=True) and not defines(code, "help", in_header=True)
    page = "`Walk::run` (`a/b.cpp`) and (`go`, `a/c.cpp`), in `a/d.cpp` (`stop`); `later()` (`e.h`)"
    named = {("Walk::run", "a/b.cpp"), ("go", "a/c.cpp"), ("stop", "a/d.cpp"), ("later", "e.h")}
    assert symbols_with_files(page) == named


def test_the_environment_is_documented() -> None:
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".h", ".cpp")]
    read = set()
    for path in sources:
        for argument in re.findall(r"\bgetenv\(([^)]*)\)", path.read_text()):
            assert re.fullmatch(r'"[A-Z_]+"', argument), f"{path.relative_to(ROOT)} reads a variable without its name"
            read.add(argument.strip('"'))
    for path in (ROOT / "python" / "lightline").glob("*.py"):
        text = path.read_text()
        found = re.findall(r'\bos\.(?:getenv\(|environ(?:\[|\.\w+\())"([A-Z_]+)"', text)
        assert len(found) == len(re.findall(r"\bos\.(?:getenv|environ)\b", text)), path.name
        read.update(found)
    (table,) = re.findall(
        r"^\| variable \|.*\n\|[-|]*\n((?:\|.*\n)+)", (ROOT / "docs" / "library.md").read_text(), re.M
    )
    named = set(re.findall(r"`([A-Z][A-Z_]+)`", table))
    assert len(read) >= 11
    assert named == read


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


def commands_in(text: str) -> list[list[str]]:
    """`build/lightline arch show B200 --clock 1.5GHz`, between backticks or on a line of its own: words after the name,
    up to a comment, a pipe or a redirection."""
    found = re.findall(r"(?:^ *|`|<\()(?:build/)?lightline ((?:(?!  +#)[^`\n|>)])+)", text, re.MULTILINE)
    return [words.split() for words in found]


def test_commands_are_found_in_pages() -> None:
    page = "`lightline run FILE --json`, but Lightline runs\n    build/lightline fmt --check a.lir   # --write\n"
    assert commands_in(page) == [["run", "FILE", "--json"], ["fmt", "--check", "a.lir"]]
    assert commands_in("  lightline arch show X --toml > x\nsource <(lightline completion bash)") == [
        ["arch", "show", "X", "--toml"],
        ["completion", "bash"],
    ]


def test_commands_and_options_that_pages_and_helps_name_exist() -> None:
    def help_of(*command: str) -> str:
        done = subprocess.run([BINARY, *command, "--help"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"lightline {' '.join(command)}"
        return done.stdout

    names = re.findall(r"^  ([a-z]+)  ", help_of().split("Subcommands:")[1], re.MULTILINE)
    helps = {(name,): help_of(name) for name in names}
    helps |= {("arch", part): help_of("arch", part) for part in ("list", "show", "diff", "probe")}
    texts = {page.name: page.read_text() for page in PAGES}
    texts |= {f"{' '.join(name)} --help": text for name, text in helps.items()}
    count = 0
    for place, text in texts.items():
        for words in commands_in(text):
            if not re.fullmatch(r"[a-z]+", words[0]) or (place.endswith("--help") and words[0] not in names):
                continue
            known = helps.get(tuple(words[:2])) or helps.get((words[0],))
            assert known is not None, f"{place} speaks of lightline {' '.join(words)}"
            for option in re.findall(r"--[a-z-]+", " ".join(words)):
                count += 1
                assert re.search(rf"{option}\b(?!-)", known.split("Example")[0]), f"{place}: {' '.join(words)}"
    assert len(names) >= 10 and count >= 40


def test_the_readme_counts_the_machines() -> None:
    count = len(list((ROOT / "machines").glob("*.toml")))
    assert f"on {count} machines" in (ROOT / "README.md").read_text()
