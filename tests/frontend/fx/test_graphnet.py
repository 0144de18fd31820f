"""GraphNet samples run here and in PyTorch: the project's own, single lines, and real ones where they lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from lightline_under_test import BINARY, LONG, ROOT, SEED

torch = pytest.importorskip("torch")

HERE = Path(__file__).resolve().parent
CONFORM = BINARY.parent / "tests" / "lightline_conform"
ARCHIVE = ROOT.parent / "shared" / "data" / "graphnet" / "samples.tar.xz"
OWN_SAMPLES = HERE.parent / "data" / "graphnet"
OWN = sorted(path.parent.name for path in OWN_SAMPLES.glob("*/model.py"))

# The samples with the least work; the first few always run, all of them with LIGHTLINE_LONG=1.
SHORT = 6
SAMPLES = [
    "transformers-auto-model/hf-tiny-model-private_tiny-random-ErnieForSequenceClassification",
    "transformers-auto-model/hf-tiny-model-private_tiny-random-CanineForSequenceClassification",
    "transformers-auto-model/hf-tiny-model-private_tiny-random-MPNetForSequenceClassification",
    "transformers-auto-model/hf-tiny-model-private_tiny-random-CLIPSegModel",
    "transformers-auto-model/Sayan01_tiny-bert-sst2-distilled",
    "timm/convnext_zepto_rms.ra4_e3600_r224_in1k",
    "transformers-auto-model/hossamamer12_BUS15100_MB2_20epoch_notweettokenizer_fp16",
    "transformers-auto-model/hf-tiny-model-private_tiny-random-Data2VecAudioForSequenceClassification",
    "transformers-auto-model/bge-small-en",
    "timm/hardcorenas_b.miil_green_in1k",
    "transformers-auto-model/google/t5-efficient-base-el4",
    "transformers-auto-model/ms-marco-MiniLM-L4-v2",
    "timm/swinv2_cr_small_ns_224.sw_in1k",
    "transformers-auto-model/google/bert_uncased_L-10_H-512_A-8",
    "transformers-auto-model/linkanjarad_mobilenet_v2_1.0_224-plant-disease-identification",
    "mmpose/rtmpose-t",
    "transformers-auto-model/opus-mt-en-niu",
    "timm/regnety_008_tv.tv2_in1k",
    "torchvision/deeplabv3_mobilenet_v3_large",
    "timm/efficientnet_lite0.ra_in1k",
]


def validate(folder: Path, backend: str) -> dict[str, Any]:
    command = [str(BINARY), "validate", str(folder), "--backend", backend, "--seed", str(SEED), "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "LIGHTLINE_PYTHON": sys.executable}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", OWN)
def test_own_sample_agrees(name: str) -> None:
    report = validate(OWN_SAMPLES / name, "both")
    assert len(report["runs"]) == 2


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_agrees(name: str, tmp_path: Path) -> None:
    if not ARCHIVE.exists():
        pytest.skip("the GraphNet samples are not beside the checkout")
    if SAMPLES.index(name) >= SHORT and not LONG:
        pytest.skip("long: set LIGHTLINE_LONG=1 or run make test-long")
    with tarfile.open(ARCHIVE) as archive:
        for file in ("model.py", "weight_meta.py", "input_meta.py"):
            content = archive.extractfile(f"graphnet/{name}/{file}")
            assert content is not None
            (tmp_path / file).write_bytes(content.read())
    validate(tmp_path, "c")


# ---- one call per line, in the spellings that captured programs have ----

INPUTS: dict[str, Any] = {
    "x": ("float32", [2, 3, 4]), "y": ("float32", [2, 3, 4]), "m": ("float32", [3, 4]), "n": ("float32", [4, 5]),
    "v": ("float32", [4]), "s": ("float32", []), "img": ("float32", [2, 4, 6, 6]), "w": ("float32", [8, 4, 3, 3]),
    "wt": ("float32", [4, 8, 3, 3]), "seq": ("float32", [2, 4, 7]), "w1": ("float32", [8, 4, 3]),
    "q": ("float32", [2, 2, 5, 4]), "h": ("bfloat16", [3, 4]), "d": ("float64", [3, 4]), "i": ("int64", [3, 4]),
    "p": ("int64", [3]), "b": ("bool", [3, 4]),
}  # fmt: skip

LINES = """
torch._C._nn.linear(x, m, None)
torch._C._nn.linear(input=x, weight=m, bias=p.float())
torch.nn.functional.linear(x, m)
x.transpose(-2, -1)
torch.transpose(x, 0, 1)
torch.swapaxes(x, -1, -2)
x.permute(2, 0, 1)
x.permute((2, 0, 1))
torch.permute(x, (1, 0, 2))
x.view(2, -1)
x.view((6, 4))
x.reshape(4, -1)
torch.reshape(x, (2, 12))
x.reshape_as(y)
x.expand(5, -1, -1, -1)
x[0].expand_as(y)
torch.broadcast_to(v, (3, 4))
x.flatten(1)
torch.flatten(x, start_dim=1, end_dim=-1)
m.t()
m.T
x.mT
x.unsqueeze(1).squeeze(dim=1)
torch.unsqueeze(x, dim=-1)
torch.squeeze(x.unsqueeze(0))
x.contiguous().clone()
x.detach()
x + y
x - 1
2 - x
x * 0.5
x / y
x // 2
x % 3
x ** 2
2 ** m
-x
x @ n
m < v
m >= 0
i == 1
i.__eq__(1)
i != p.unsqueeze(-1)
b & (m > 0)
b | (m > 0)
b.__and__(i.to(torch.bool))
~b
i.bitwise_and(3)
torch.add(x, y, alpha=2)
x.add(1)
x.mul(y)
x.mul_(2).add_(y)
x.sub(y)
torch.sub(x, y)
x.div(2, rounding_mode="floor")
torch.addcmul(x, y, x)
torch.rsub(x, 1)
torch.matmul(x, n)
x.matmul(n)
torch.bmm(x, x.transpose(1, 2))
torch.addmm(p.float(), m, m.t())
x.baddbmm(x, torch.ones(2, 4, 4), beta=0.5)
torch.functional.einsum("bij,kj->bik", x, m)
torch.conv2d(img, w, None, (1, 1), (1, 1), (1, 1), 1)
torch.conv2d(img, w, None, (1, 1), "valid", (1, 1), 1)
torch.conv2d(img, w[:, :1], padding=1, groups=4)
torch.conv1d(seq, w1, None, (2,), (1,), (1,), 1)
torch.conv_transpose2d(img, wt, None, (2, 2), (1, 1), (1, 1), 1, (1, 1))
torch.conv3d(img.unsqueeze(0), torch.ones(3, 2, 1, 3, 3), None, (1, 1, 1), (0, 1, 1), (1, 1, 1), 1)
torch.nn.functional.batch_norm(img, v, v.abs() + 1, v, v, False, 0.1, 1e-05)
torch.nn.functional.layer_norm(x, (4,), v, None, 1e-05)
torch.nn.functional.group_norm(img, 2, v, v, 1e-05)
torch.nn.functional.instance_norm(img)
torch.rms_norm(x, (4,), v, 1e-06)
torch.nn.functional.normalize(x, dim=-1)
torch.nn.functional.normalize(x, p=2.0, dim=1, eps=1e-06)
torch.nn.functional.relu(x, inplace=True)
torch.relu(x)
x.relu_()
torch.nn.functional.relu6(x, True)
torch.nn.functional.silu(x, inplace=False)
torch._C._nn.gelu(x, approximate="tanh")
torch._C._nn.gelu(x)
torch.nn.functional.gelu(x)
torch.nn.functional.hardswish(x, True)
torch.nn.functional.hardsigmoid(x, False)
torch.nn.functional.hardtanh(x, -0.5, 0.5, True)
torch.nn.functional.leaky_relu(x, 0.1, True)
torch.nn.functional.elu(x, 1.0, False)
torch.nn.functional.mish(x)
torch._C._nn.softplus(x, 1, 20)
torch._C._nn.log_sigmoid(x)
torch.nn.functional.glu(x, dim=-1)
torch.prelu(img, v)
torch.sigmoid(x)
x.sigmoid()
x.tanh()
torch.nn.functional.dropout(x, 0.5, False, False)
torch.nn.functional.dropout(x, p=0.1, training=False)
torch.nn.functional.dropout2d(img, 0.5, False, True)
torch.dropout(x, 0.1, False)
torch.nn.functional.softmax(x, dim=-1, dtype=torch.float32)
torch.nn.functional.softmax(x, 2, _stacklevel=5)
x.softmax(1)
torch.softmax(x, -1)
torch.nn.functional.log_softmax(x, dim=1)
torch._C._nn.scaled_dot_product_attention(q, q, q, attn_mask=None, dropout_p=0.0, scale=0.3, is_causal=True)
torch._C._nn.scaled_dot_product_attention(query=q, key=q, value=q, dropout_p=0.0)
torch.nn.functional.max_pool2d(img, 3, 2, 1, 1, ceil_mode=False, return_indices=False)
torch.nn.functional.max_pool2d(img, 2, return_indices=True)
torch._C._nn.avg_pool2d(img, 3, 1, 1, False, False, None)
torch.nn.functional.adaptive_avg_pool2d(img, 1)
torch.nn.functional.adaptive_avg_pool2d(img, (None, 2))
torch.adaptive_avg_pool1d(seq, 3)
torch.nn.functional.adaptive_max_pool2d(img, (2, 2))
torch.nn.functional.interpolate(img, (9, 9), None, "bilinear", False)
torch.nn.functional.interpolate(img, None, 2.0, "nearest", None, recompute_scale_factor=None)
torch.nn.functional.interpolate(seq, size=5, mode="linear")
torch.nn.functional.interpolate(img, scale_factor=2, mode="bicubic", align_corners=True)
torch._C._nn.pad(img, (1, 2, 0, 1), "constant", None)
torch.nn.functional.pad(img, [1, 1, 1, 1], mode="reflect")
torch.nn.functional.unfold(img, (2, 2), (1, 1), (0, 0), (2, 2))
torch.nn.functional.pixel_shuffle(img, 2)
torch.nn.functional.embedding(i, m, None, None, 2.0, False, False)
torch.nn.functional.one_hot(i, 4)
torch.nn.functional.grid_sample(img, img[(Ellipsis, slice(0, 2, None))], "bilinear", "zeros", False)
torch.cat((x, y), dim=-1)
torch.cat([x, y], 1)
torch.stack((x, y), -1)
torch.chunk(x, 2, dim=-1)
x.chunk(3, 1)
x.split((1, 2), dim=1)
x.split(1, 1)
torch.functional.split(x, [1, 3], 2)
x.tensor_split(2, -1)
x.unbind(0)
torch.unbind(x, dim=1)
x.mean(-1, keepdim=True)
img.mean((2, 3), keepdim=True)
x.mean(dim=1)
torch.mean(x, dim=2, keepdim=True)
x.sum()
x.sum(dim=(0, 1))
torch.sum(x, 1)
x.sum(axis=1, keepdims=True)
torch.var(x, dim=(-1,), keepdim=True)
x.var(1, unbiased=False)
torch.std(x, -1, correction=0)
x.norm(p=2, dim=-1, keepdim=True)
torch.functional.norm(x, dim=-1, keepdim=True)
torch._C._linalg.linalg_norm(x, ord=2, dim=-1, keepdim=True)
torch._C._linalg.linalg_vector_norm(x, 2, [1], True)
torch.max(x, y)
torch.min(x, 1)
x.max(dim=-1, keepdim=True)
torch.max(x)
x.amax((1, 2))
x.argmax(dim=-1)
x.topk(2, dim=-1)
torch.sort(x, dim=1, descending=True)
i.cumsum(1)
torch.cumsum(b, dim=1)
x.cumsum(1, dtype=torch.float64)
torch.where(b, m, v)
torch.where(b, -1.5, m)
m.where(b, v)
m.masked_fill(b, float("-inf"))
m.clone().masked_fill_(b, 0.0)
torch.clamp(x, 0, 1)
torch.clamp(x, max=0.5)
x.clamp(min=0.1)
x.clamp_max(0.2)
x.clamp_(min=0.0)
torch.gather(m, dim=-1, index=i)
m.index_select(0, p)
torch.index_select(m, 1, p)
m.scatter_add(1, i, m)
torch.zeros(3, 4).scatter_(1, i, 2.0)
torch.zeros(3, 4).index_add_(0, p, m)
torch.roll(img, shifts=(-1, 2), dims=(2, 3))
x.flip(-1)
torch.flip(x, [0, 2])
x.repeat(1, 2, 1)
x.repeat((2, 1, 1))
v.repeat_interleave(2, -1)
torch.repeat_interleave(m, repeats=3, dim=0)
torch.tile(v, (2, 2))
torch.triu(m, diagonal=1)
m.tril()
torch.rsqrt(x.abs() + 1)
x.pow(2)
torch.pow(x.abs(), 0.5)
torch.sqrt(x.abs())
x.exp().log()
x.sin() + x.cos()
torch.abs(x)
torch.sign(x)
x.ceil() + torch.floor(x) + x.round()
torch.square(x)
torch.erf(x)
torch.outer(v, v)
torch.arange(5)
torch.arange(1, 9, 2, dtype=torch.float32)
torch.arange(end=4, dtype=torch.float32)
torch.linspace(0, 1, 5)
torch.full((2, 3), 1.5)
torch.full((2,), fill_value=3)
torch.full_like(x, 2)
torch.zeros_like(x, dtype=torch.int64)
torch.ones(2, 3, dtype=torch.float64)
x.new_zeros((2, 1))
x.new_ones(3, dtype=torch.bool)
x.new_full((2,), 4)
torch.tensor(2.5)
torch.tensor([[1, 2], [3, 4]], dtype=torch.float32)
torch.eye(3)
torch.functional.meshgrid(v, v, indexing="ij")
torch.functional.broadcast_tensors(v, m)
x.to(torch.float16).to(torch.float32)
x.to(device("cpu"), torch.float64)
x.to(h)
h.type_as(d)
h.float()
m.long()
m.int() + i
b.float() * h
h * 2.5
i / 2
i * 1.5
m.double() + s
h + m
x.type(torch.float64)
m.bool()
x[(Ellipsis, slice(1, None, 2))]
x[(slice(None, None, None), -1)]
x[(None, 0, slice(None, 2, None))]
m[(p, slice(None, None, None))]
m[(slice(None, None, None), p)]
x[(slice(None, None, None), p, p)]
x.narrow(1, 1, 2)
x.select(1, 0)
torch.diagonal(x, 0, 1, 2)
torch.logical_not(b)
torch.any(b, dim=1)
b.all()
torch.isnan(x)
torch.nan_to_num(x)
torch.fft.rfft(x, dim=-1, norm="ortho").abs()
torch.view_as_real(torch.fft.fft(x))
torch.special.expit(x)
torch.tensordot(x, m, dims=([2], [1]))
torch.cdist(m, m, 2.0)
torch.functional.cdist(m, m, p=1.0)
torch.cosine_similarity(x, y, -1)
torch.nn.functional.mse_loss(x, y)
torch.nn.functional.cross_entropy(m, p)
torch.unflatten(x, 2, (2, 2))
x.unfold(2, 2, 1)
torch.addcdiv(x, y, y.abs() + 1, value=0.5)
torch.bucketize(m, v.sort()[0])
""".strip().splitlines()


def make_inputs() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(SEED)
    made = {}
    for name, (dtype, shape) in INPUTS.items():
        values = (
            torch.randn(shape, generator=generator)
            if "float" in dtype
            else torch.randint(0, 3, shape, generator=generator)
        )
        made[name] = values.to(getattr(torch, dtype))
    return made


def sample_text(line: str, names: list[str]) -> str:
    text = "import torch\nfrom torch import device\n\n\nclass GraphModule(torch.nn.Module):\n"
    text += f"    def forward(self, {', '.join(names)}):\n        out = {line}\n        return (out,)\n"
    for name in names:
        dtype, shape = INPUTS[name]
        text += f'\n\nclass Meta_{name}:\n    name = "{name}"\n    shape = {shape}\n    dtype = "torch.{dtype}"\n'
    return text


def test_lines_in_every_spelling(tmp_path: Path) -> None:
    """One program per line, all in one run of the conformance tool."""
    from torch.utils._pytree import tree_leaves

    from lightline.validate import write_safetensors

    assert CONFORM.exists(), f"{CONFORM} was not built"
    tensors: dict[str, Any] = {}
    with (tmp_path / "cases.jsonl").open("w") as cases:
        for number, line in enumerate(LINES):
            given = make_inputs()
            code = compile(line, line, "eval")
            names = [name for name in given if name in code.co_names]
            originals = {name: given[name].clone() for name in names}
            out = eval(code, {"torch": torch, "device": torch.device, **given})
            results = [leaf for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
            tensors.update({f"{number}.in.{name}": value for name, value in originals.items()})
            tensors.update({f"{number}.out.{i}": value.clone() for i, value in enumerate(results)})
            written = {str(i): name for i, name in enumerate(names) if not torch.equal(given[name], originals[name])}
            tensors.update({f"{number}.after.{name}": given[name] for name in written.values()})
            case = {
                "id": line, "runs": True, "program": sample_text(line, names),
                "inputs": [f"{number}.in.{name}" for name in names],
                "outputs": [f"{number}.out.{i}" for i in range(len(results))],
                "written": {i: f"{number}.after.{name}" for i, name in written.items()},
            }  # fmt: skip
            cases.write(json.dumps(case) + "\n")
    write_safetensors(tmp_path / "data.safetensors", tensors)
    done = subprocess.run([str(CONFORM), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    failures = [f"{r['id']} ({r['backend']}): {r['message']}" for r in reports if not r["pass"]]
    assert not failures, "\n".join(failures)
    assert len(reports) == 3 * len(LINES)
