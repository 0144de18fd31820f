"""Transformers and vision models at their real widths, from their configurations alone; deep ones have two layers.

`capture_zoo` writes both exported forms of each, and what torch.utils.flop_counter says, into .cache/zoo.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from lightline_under_test import ROOT

from lightline import capture, sources

KEPT = ROOT / ".cache" / "zoo"
TWO_LAYERS = "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers".split()


class NotInstalledError(Exception):
    """A model's own package is not here."""


@dataclass(frozen=True)
class Model:
    name: str
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[], tuple[Any, ...]]


class Outputs(torch.nn.Module):
    """torch.export wants plain tensors out."""

    def __init__(self, model: Any, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *inputs: Any) -> list[Any]:
        outputs = self.model(**dict(zip(self.names, inputs, strict=True)), return_dict=True)
        return [value for value in outputs.values() if isinstance(value, torch.Tensor)]


def of_transformers(name: str, names: tuple[str, ...], **changes: Any) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        with contextlib.suppress(ImportError):
            vision_package("torchvision")  # transformers looks at it
        transformers = importlib.import_module("transformers")
        config = transformers.AutoConfig.for_model(name)
        for part in [config, *(getattr(config, sub, None) for sub in ("text_config", "vision_config"))]:
            for key in TWO_LAYERS:
                if isinstance(getattr(part, key, None), int):
                    setattr(part, key, 2)
        config.use_cache = False
        for key, value in changes.items():
            setattr(config, key, value)
        return Outputs(transformers.AutoModel.from_config(config), names)

    return build


def tokens(count: int = 128, batch: int = 2) -> torch.Tensor:
    return torch.arange(3, 3 + batch * count).view(batch, count)


def text(name: str, count: int = 128, **changes: Any) -> Model:
    return Model(name, of_transformers(name, ("input_ids",), **changes), lambda: (tokens(count),))


def both_sides(name: str, **changes: Any) -> Model:
    names = ("input_ids", "decoder_input_ids")
    return Model(name, of_transformers(name, names, **changes), lambda: (tokens(), tokens(64)))


def floats(name: str, key: str, *shape: int, **changes: Any) -> Model:
    return Model(name, of_transformers(name, (key,), **changes), lambda: (torch.randn(*shape),))


def picture(name: str, side: int = 224) -> Model:
    return Model(
        name, lambda: vision_package("torchvision.models").get_model(name, weights=None, **extra(name)), images(side)
    )


def extra(name: str) -> dict[str, Any]:
    return {"init_weights": False} if name in ("inception_v3", "googlenet") else {}


def images(side: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.randn(1, 3, side, side),)


LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def vision_package(name: str) -> ModuleType:
    """Torchvision's models need none of its compiled operators: where they do not load, their names are enough."""
    for _ in range(8):
        try:
            return importlib.import_module(name)
        except RuntimeError as error:
            missing = re.search(r"operator torchvision::(\w+) does not exist", str(error))
            if missing is None:
                raise
            LIBRARY.define(f"{missing[1]}(Tensor x) -> Tensor")
            for module in [module for module in sys.modules if module.partition(".")[0] == "torchvision"]:
                del sys.modules[module]
    raise ImportError(name)


WHISPER = ("input_features", "decoder_input_ids")
CLIP = ("input_ids", "pixel_values")

MODELS = [
    *map(text, "bert roberta distilbert albert electra gpt_neox llama mistral qwen2 qwen3 gemma phi".split()),
    *map(text, "xlnet opt bloom falcon".split()),
    text("gpt2", _attn_implementation="eager"),  # torch.export can not decompose the other
    text("mamba", 16),
    text("mixtral", dtype=torch.bfloat16),  # grouped products take 16 bits
    text("qwen3_moe", dtype=torch.bfloat16),
    text("deepseek_v3", dtype=torch.bfloat16, n_routed_experts=64, first_k_dense_replace=1),
    both_sides("t5"),
    both_sides("bart"),
    floats("vit", "pixel_values", 2, 3, 224, 224),
    floats("deit", "pixel_values", 2, 3, 224, 224),
    floats("swin", "pixel_values", 2, 3, 224, 224),
    floats("convnext", "pixel_values", 2, 3, 224, 224, num_hidden_layers=4),  # they are stages
    floats("wav2vec2", "input_values", 1, 16000),
    Model("whisper", of_transformers("whisper", WHISPER), lambda: (torch.randn(1, 80, 3000), tokens(64, 1))),
    Model(
        "clip",
        of_transformers("clip", CLIP),
        lambda: (tokens(77, 2), torch.randn(2, 3, 224, 224)),
    ),
    *map(picture, "resnet18 resnet50 efficientnet_b0 mobilenet_v2 mobilenet_v3_large regnet_y_400mf".split()),
    *map(picture, "densenet121 vgg16 squeezenet1_0 shufflenet_v2_x1_0 maxvit_t swin_t swin_v2_t convnext_tiny".split()),
    *map(picture, "vit_b_16 googlenet alexnet mnasnet1_0 resnext50_32x4d efficientnet_v2_s".split()),
    picture("inception_v3", 299),
]


def fingerprint() -> str:
    """Changes with the models, the way they are captured, and the packages."""
    digest = hashlib.sha256()
    sources_of = [Path(__file__), *sorted((ROOT / "python" / "lightline").glob("*.py"))]
    for path in sources_of:
        digest.update(path.read_bytes())
    for package in ("torch", "transformers", "torchvision"):
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            digest.update(b"none")
    return digest.hexdigest()[:12]


def kept(model: Model) -> dict[str, Path]:
    folder = KEPT / fingerprint()
    forms = {form: folder / f"{model.name}.{form}.json" for form in ("training", "core")}
    return {**forms, "flops": folder / f"{model.name}.flops"}


def captured(model: Model) -> dict[str, Path]:
    """Both forms on disk, and beside them what the flop counter says of the model."""
    files = kept(model)
    if all(path.exists() for path in files.values()):
        return files
    files["flops"].parent.mkdir(parents=True, exist_ok=True)
    maker = sources.Maker(fake=True, seed=0)
    try:
        with maker.model():
            module = model.build().eval()
    except ImportError as error:
        raise NotInstalledError(str(error)) from error
    with maker.inputs():
        inputs = model.inputs()
    with torch.no_grad():
        done = capture(module, *inputs, name=model.name)
        flops = counted_flops(maker, module, inputs)
    for form in ("training", "core"):
        files[form].write_text(json.dumps(done.program(form)))
    files["flops"].write_text(str(flops))
    return files


def counted_flops(maker: sources.Maker, module: torch.nn.Module, inputs: tuple[Any, ...]) -> int:
    """Attention as products: the counter does not know all of its kernels."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with maker.mode, sdpa_kernel(SDPBackend.MATH), counter:
        module(*inputs)
    return counter.get_total_flops()
