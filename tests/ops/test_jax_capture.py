"""lightline.capture on programs of JAX: what becomes an input, what is fixed, and that nothing is computed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax", reason="no jax")
import jax.numpy as jnp  # noqa: E402

import lightline  # noqa: E402
from lightline import jax_capture, sources  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def shape(*extents: int, dtype: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(extents, dtype)


def main_line(captured: Any) -> str:
    return next(line for line in captured.text.splitlines() if "@main" in line)


def test_inputs_are_named_and_unused_ones_kept() -> None:
    captured = lightline.capture(lambda params, x, unused: params["w"] * x, {"w": shape(3)}, shape(3), shape(7))
    assert [entry["name"] for entry in captured.inputs] == ["params['w']", "x", "unused"]
    assert [entry["kind"] for entry in captured.inputs] == ["parameter", "user", "user"]
    assert "tensor<7xf32>" in main_line(captured)


def test_donated_arguments_stay_donated() -> None:
    step = jax.jit(lambda cache, x: cache.at[0].set(x), donate_argnums=0)
    assert "tf.aliasing_output = 0" in main_line(lightline.capture(step, shape(8, 4), shape(4)))


def test_numbers_are_inputs_unless_the_program_needs_their_value() -> None:
    assert "%arg1: tensor<f32>" in main_line(lightline.capture(lambda x, a: x * a, shape(3), 2.0))
    fixed = lightline.capture(lambda x, n: x.reshape(n, -1), shape(6), 2)
    assert "%arg1" not in main_line(fixed)
    assert len(fixed.inputs) == 1


def test_a_typed_key_is_its_integers() -> None:
    captured = lightline.capture(lambda key: jax.random.split(key)[0], jax.random.key(0))
    assert "(%arg0: tensor<2xui32>) -> (tensor<2xui32>" in main_line(captured)


def test_linen_parameters_are_shapes_only() -> None:
    linen = pytest.importorskip("flax.linen", reason="no flax")
    captured = lightline.capture(linen.Dense(1 << 20), shape(4, 1 << 16))  # weights of 256 GiB
    assert "tensor<65536x1048576xf32>" in main_line(captured)
    assert all(entry["kind"] == "parameter" for entry in captured.inputs[:2])


def test_nnx_parameters_may_be_shapes_only() -> None:
    nnx = pytest.importorskip("flax.nnx", reason="no flax")
    model = nnx.eval_shape(lambda: nnx.Linear(1 << 16, 1 << 20, rngs=nnx.Rngs(0)))
    assert "tensor<65536x1048576xf32>" in main_line(lightline.capture(model, shape(4, 1 << 16)))


def test_training_gives_loss_and_gradients() -> None:
    captured = lightline.capture(lambda w, ids: w[ids], shape(5, 2), shape(3, dtype="int32"), training=True)
    assert "-> (tensor<f32>" in main_line(captured)
    assert main_line(captured).count("tensor<5x2xf32>") == 2


def test_corpus_lines_and_files(tmp_path: Path) -> None:
    captured = lightline.capture(jnp.sin, shape(3), name="sine")
    captured.save(tmp_path / "sine.jsonl")
    line = json.loads((tmp_path / "sine.jsonl").read_text())
    assert line["problem"] == "sine"
    captured.save(tmp_path / "sine.mlir")
    assert (tmp_path / "sine.mlir").read_text() == line["stablehlo"]
    assert "module @jit_sine" in line["stablehlo"]


def test_exported_artefacts_become_text(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers", reason="no flatbuffers")
    exported = jax.export.export(jax.jit(lambda x: x * 2))(shape(3))
    (tmp_path / "double.bin").write_bytes(exported.serialize())
    assert "tensor<3xf32>" in main_line(jax_capture.read_export(tmp_path / "double.bin"))
    (tmp_path / "broken.bin").write_bytes(b"not an export")
    with pytest.raises(sources.SourceError, match=r"not what jax.export serialises"):
        jax_capture.read_export(tmp_path / "broken.bin")


PROGRAMS = {
    "seed": "import jax\ndef program(x): return x + 1\ndef inputs(seed): return jax.numpy.full(3, seed)",
    "nothing": "import jax.numpy as jnp\ndef program(x, y): return x @ y\ndef inputs(): return *[jnp.ones(3)] * 2,",
    "keywords": "import jax\ndef program(*, x): return x\ndef inputs(key): return {'x': jax.random.normal(key, (3,))}",
    "numpy": "import jax, numpy as np\ndef program(x): return x\ndef inputs(): return np.random.rand(3).astype('f4')",
    "kernelbench": (
        "from flax import nnx\nimport jax.numpy as jnp\n"
        "class Model(nnx.Module):\n"
        "    def __init__(self, width, *, rngs): self.layer = nnx.Linear(3, width, rngs=rngs)\n"
        "    def __call__(self, x): return self.layer(x)\n"
        "def get_inputs(): return [jnp.ones((2, 3))]\ndef get_init_inputs(): return [5]"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("fake", [True, False])
def test_program_files(name: str, fake: bool, tmp_path: Path) -> None:
    pytest.importorskip("flax", reason="no flax")
    path = tmp_path / f"{name}_file.py"
    path.write_text(PROGRAMS[name])
    program = sources.load(str(path), fake=fake)
    assert program.framework == "jax"
    call = jax_capture.prepare_step(program.target, program.inputs, program.kwargs, False, seed=None if fake else 0)
    assert "3" in main_line(jax_capture.with_names(call, name, call.lower(name).as_text()))


def test_a_file_without_inputs_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "half.py"
    path.write_text("import jax\ndef program(x): return x\n")
    command = [sys.executable, "-m", "lightline.capture", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 2
    assert "has no 'inputs'" in result.stderr
