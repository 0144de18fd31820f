"""validate without a framework: what it refuses before it starts one, and what it says of those that fail."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import lightline, refused, script
from lightline_under_test import BINARY


def test_validate_looks_before_it_starts_a_framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTLINE_PYTHON", str(script(tmp_path / "python", "touch started; exit 1")))
    for name in ("text.txt", "model.py", "definition.json"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "model.py").touch()
    kinds = "this is no model.py, module:function, definition.json or folder of a GraphNet sample"
    cases: dict[str, list[list[str]]] = {
        kinds: [["text.txt"]],
        "this folder is no GraphNet sample: it has no model.py": [["folder"]],
        "only a model.py can be scaled": [["definition.json", "--scale", "0.5"], ["m:f", "--scale", "0.5"]],
        "only a definition.json has workloads": [["model.py", "--workload", "1"]],
        "a GraphNet sample has one form": [["sample", "--form", "core"]],
        "a GraphNet sample has no training step to go backward in": [["sample", "--backward"]],
    }
    for message, calls in cases.items():
        for arguments in calls:
            stderr = refused("validate", *arguments, folder=tmp_path)
            hint = "  hint: name what the program was made from: there is a framework to compare with\n"
            assert stderr == f"{arguments[0]}: error: {message}\n" + (hint if message == kinds else "")
    for name in ("none", "none.py", "/none.json", "no/folder/"):
        assert refused("validate", name, folder=tmp_path) == (
            f"{name}: error: can not open the file: No such file or directory\n"
            "  hint: check the path and its permissions\n"
        )
    for name in ("none.py", "model.py", "no/folder", "./model", ""):
        assert refused("validate", f"{name}:function", folder=tmp_path) == (
            f"{name}:function: error: '{name}' is no name of a module\n"
            "  hint: write module:function as Python imports it, package.model:function; or the name of a file alone\n"
        )
    assert not (tmp_path / "started").exists()
    refused("validate", "module:function", folder=tmp_path)
    assert (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("framework", "message"),
    [
        ("echo noise; echo trace >&2; echo 'error: no such thing' >&2; exit 2", "model.py: error: no such thing\n"),
        (
            "echo 'error: no such thing' >&2; echo '  hint: look again' >&2; exit 2",
            "model.py: error: no such thing\n  hint: look again\n",
        ),
        ("echo only here; exit 1", "model.py: error: only here\n"),
        ("exit 1", "model.py: error: the framework could not run the program\n"),
        (
            "kill -SEGV $$",
            "model.py: error: the framework was ended by signal SIGSEGV\n"
            "  hint: run it again, with more memory or a smaller program\n",
        ),
        (
            "echo 'ModuleNotFoundError: No module named torch' >&2; exit 1",
            "model.py: error: ModuleNotFoundError: No module named torch\n"
            "  hint: install it for PYTHON, or set LIGHTLINE_PYTHON to a Python that has it\n",
        ),
    ],
)
def test_validate_repeats_the_last_words_of_the_framework(
    framework: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = script(tmp_path / "python", f"[ $1 = -c ] && exit\n{framework}")
    monkeypatch.setenv("LIGHTLINE_PYTHON", str(python))
    (tmp_path / "model.py").touch()
    result = lightline("validate", "model.py", folder=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == message.replace("PYTHON,", f"{python},")


def test_validate_adds_our_package_to_the_path_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "LIGHTLINE_PYTHON", str(script(tmp_path / "python", '[ $1 = -c ] || echo "$PYTHONPATH"; [ $1 = -c ]'))
    )
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    ours = Path(BINARY).resolve().parent.parent / "python"
    expected = f"{ours}:/theirs" if (ours / "lightline").exists() else "/theirs"
    (tmp_path / "model.py").touch()
    assert lightline("validate", "model.py", folder=tmp_path).stderr == f"model.py: error: {expected}\n"


def make_broken_python(kind: str, path: Path) -> str:
    """Puts something there that does not work as Python; returns what is said of it."""
    if kind == "nothing":
        return f"'{path}' can not be started: No such file or directory"
    if kind == "dangling link":
        path.symlink_to(path.parent / "gone")
        return f"'{path}' can not be started: No such file or directory"
    if kind == "endless":
        script(path, "[ $1 = -c ] || exit 7; while :; do echo noise noise noise; done")
        return f"Python '{path}' does not work: asked to do nothing, it wrote more than 1048576 bytes"
    script(path, "echo noise; echo 'no encodings' >&2; exit 7" if kind == "failing" else "")
    if kind == "failing":
        return f"Python '{path}' does not work: no encodings"
    path.chmod(0o600)
    return f"'{path}' can not be started: Permission denied"


@pytest.mark.parametrize("kind", ["nothing", "dangling link", "not executable", "failing", "endless"])
def test_validate_names_a_python_that_does_not_work(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    message = make_broken_python(kind, python)
    monkeypatch.setenv("LIGHTLINE_PYTHON", str(python))
    (tmp_path / "model.py").touch()
    result = lightline("validate", "model.py", folder=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (f"error: {message}\n  hint: set LIGHTLINE_PYTHON to a Python that works\n")


@pytest.mark.parametrize("kind", ["dangling link", "not executable", "failing"])
def test_validate_names_a_broken_virtual_environment(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the clone that the program was built in: its packages are nowhere else."""
    monkeypatch.delenv("LIGHTLINE_PYTHON", raising=False)
    for folder in ("build", "python/lightline", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    binary = tmp_path / "build" / "lightline"
    shutil.copy(BINARY, binary)
    python = tmp_path / ".venv/bin/python"
    message = make_broken_python(kind, python)
    (tmp_path / "model.py").touch()
    result = subprocess.run([binary, "validate", "model.py"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (f"error: {message}\n  hint: run scripts/setup python torch jax in {tmp_path}\n")


AS_F32 = """module @m {
  func.func public @main(%arg0: tensor<3xf16>) -> tensor<3xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<3xf16>
    %1 = stablehlo.convert %0 : (tensor<3xf16>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
"""


@pytest.mark.parametrize(
    ("text", "result", "agrees"),
    [
        (AS_F32, [2.0, 4.004, 8.0], True),  # a unit in the last place of an f16 is 0.0039 here
        (AS_F32, [2.0, 4.2, 8.0], False),
        (AS_F32.replace("xf16", "xf32").replace("%1 = stablehlo.convert", "%1 = stablehlo.abs"), [2, 4.004, 8], False),
    ],
)
def test_results_are_as_exact_as_what_they_were_converted_from(
    text: str, result: list[float], agrees: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numpy = pytest.importorskip("numpy")
    from lightline.tensor_files import write_safetensors

    made = tmp_path / "made"
    made.mkdir()
    (made / "program_stablehlo.mlir").write_text(text)
    dtype = "float16" if "xf16" in text else "float32"
    tensors = {"in.arg0": numpy.array([1, 2, 4], dtype), "out.0": numpy.array(result, "float32")}
    write_safetensors(made / "tensors.safetensors", tensors)
    framework = script(tmp_path / "python", f'for folder in "$@"; do :; done; cp {made}/* "$folder"')
    monkeypatch.setenv("LIGHTLINE_PYTHON", str(framework))
    (tmp_path / "model.py").touch()
    answer = lightline("validate", "model.py", folder=tmp_path)
    assert answer.returncode == (0 if agrees else 1), answer.stdout + answer.stderr
