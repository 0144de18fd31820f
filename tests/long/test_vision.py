"""Models of timm and torchvision, without weights, import in both forms: one of every family.

Long: runs with LIGHTLINE_LONG=1 (make test-long) and needs the packages, each for its own part.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from lightline_under_test import LONG

if not LONG:
    pytest.skip("long: set LIGHTLINE_LONG=1 or run make test-long", allow_module_level=True)
torch = pytest.importorskip("torch")

from import_check import check_import, exported_or_skip  # noqa: E402

IMAGES = """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t
    mnasnet0_5 mobilenet_v2 mobilenet_v3_small regnet_y_400mf resnet18 resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_0
    swin_t swin_v2_t vgg11_bn vit_b_32 fcn_resnet50 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large"""
VIDEOS = "mc3_18 r3d_18 r2plus1d_18 s3d mvit_v1_b mvit_v2_s swin3d_t"
FLOWS = "raft_small raft_large"


def package(name: str) -> ModuleType | None:
    """The package if it is there and fits the PyTorch that is installed."""
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError):
        return None


timm, vision = package("timm"), package("torchvision.models")


def small_timm_models() -> list[str]:
    """For every family the model with the shortest name that says it is small."""
    words = ["test_", "tiny", "atto", "pico", "nano", "mini", "small", "xxs", "lite", "_s"]

    def size(name: str) -> tuple[int, int, str]:
        return next((i for i, word in enumerate(words) if word in name), len(words)), len(name), name

    families = (timm.list_models(module=module) for module in timm.list_modules()) if timm else ()
    return sorted(min(names, key=size) for names in families if names)


@pytest.mark.skipif(vision is None, reason="no torchvision")
@pytest.mark.parametrize("name", f"{IMAGES} {VIDEOS} {FLOWS}".split())
def test_torchvision_model_imports(name: str, tmp_path: Path) -> None:
    backbone = {"weights_backbone": None} if name.startswith(("fcn", "deeplab", "lraspp")) else {}
    if name in VIDEOS.split():
        frames, side = {"s3d": (14, 224), "mvit_v1_b": (16, 224), "mvit_v2_s": (16, 224)}.get(name, (8, 112))
        inputs = (torch.randn(1, 3, frames, side, side),)
    elif name in FLOWS.split():
        inputs = (torch.randn(1, 3, 128, 160), torch.randn(1, 3, 128, 160))
    else:
        inputs = (torch.randn(1, 3, 299, 299) if name == "inception_v3" else torch.randn(1, 3, 224, 224),)
    exported = exported_or_skip(name, lambda: vision.get_model(name, weights=None, **backbone), inputs)
    check_import(name, exported, tmp_path)


@pytest.mark.skipif(timm is None, reason="no timm")
@pytest.mark.parametrize("name", small_timm_models() or ["none"])
def test_timm_model_imports(name: str, tmp_path: Path) -> None:
    model = timm.create_model(name, pretrained=False)
    size = model.default_cfg.get("input_size", (3, 224, 224))
    check_import(name, exported_or_skip(name, lambda: model, (torch.randn(1, *size),)), tmp_path)
