"""A step of Mixtral, Qwen3-MoE and DeepSeek-V3: two layers at the width of the real ones, with the head, one token
for each sequence. Counted from the sizes alone, to 2 %, as if tokens chose their experts at random: norms, rotations,
routers' functions and biases are left out of the products.

Of E experts of which each of T tokens takes k, all different, E (1 - (1 - k / E)^T) are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Shape, Torch, Work, bf16, expected_rows, i64

LAYERS = 2


@dataclass(frozen=True)
class Sizes:
    width: int
    heads: int
    groups: int
    head: int
    hidden: int  # of an expert
    words: int
    experts: int
    chosen: int
    batch: int
    length: int
    shared: int = 0  # experts that every token takes

    def read_experts(self) -> float:
        return self.experts * (1 - (1 - self.chosen / self.experts) ** self.batch) + self.shared


MIXTRAL = Sizes(4096, 32, 8, 128, 14336, 32000, experts=8, chosen=2, batch=4, length=4096)
QWEN = Sizes(2048, 32, 4, 128, 768, 151936, experts=128, chosen=8, batch=8, length=4096)
DEEPSEEK = Sizes(7168, 128, 1, 128, 2048, 129280, experts=256, chosen=8, batch=8, length=4096, shared=1)
QUERY_RANK, LATENT, TURNED = 1536, 512, 64  # DeepSeek's ranks, and the part of a head that is rotated

Experts = Callable[[nn.Module, Any, Any, Any], Any]


def by_look_up(layer: nn.Module, x: Any, weight: Any, choice: Any) -> Any:
    """Every token takes the weights of its experts."""
    gate, up, down = (layer[name].weight[choice] for name in ("gate", "up", "down"))
    hidden = F.silu(torch.einsum("td,tkfd->tkf", x, gate)) * torch.einsum("td,tkfd->tkf", x, up)
    return torch.einsum("tkf,tkdf,tk->td", hidden, down, weight)


def by_groups(layer: nn.Module, x: Any, weight: Any, choice: Any) -> Any:
    """Tokens are sorted by expert, and put back in their order."""
    tokens, chosen = choice.shape
    experts = layer["gate"].weight.shape[0]
    order = choice.flatten().argsort()
    ends = F.one_hot(choice.flatten(), experts).sum(0).cumsum(0).to(torch.int32)
    rows = x[order // chosen]
    gate, up = (torch._grouped_mm(rows, layer[name].weight.transpose(1, 2), ends) for name in ("gate", "up"))
    y = torch._grouped_mm(F.silu(gate) * up, layer["down"].weight.transpose(1, 2), ends)
    y = y * weight.flatten()[order][:, None]
    return y[order.argsort()].view(tokens, chosen, -1).sum(1)


class Stacked(nn.Module):
    def __init__(self, *extents: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*extents, dtype=torch.bfloat16))


def linear(a: int, b: int) -> nn.Linear:
    return nn.Linear(a, b, bias=False, dtype=torch.bfloat16)


def norm(width: int) -> nn.RMSNorm:
    return nn.RMSNorm(width, dtype=torch.bfloat16)


def turned(x: Any, place: Any) -> Any:
    """Rotated by its place."""
    half = x.shape[-1] // 2
    angle = place.float()[:, None] * 1e6 ** (-torch.arange(half).float() / half)
    cos, sin = (torch.cat([f(angle)] * 2, -1).to(x.dtype) for f in (torch.cos, torch.sin))
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Step(nn.Module):
    """Caches come in pairs, one for each layer, after the tokens and their place."""

    def __init__(self, experts: Experts, sizes: Sizes) -> None:
        super().__init__()
        self.experts, self.sizes = experts, sizes
        self.layers = nn.ModuleList(nn.ModuleDict(self.parts() | self.feed_parts()) for _ in range(LAYERS))
        self.words = nn.Embedding(sizes.words, sizes.width, dtype=torch.bfloat16)
        self.head, self.norm = linear(sizes.width, sizes.words), norm(sizes.width)

    def parts(self) -> dict[str, nn.Module]:
        raise NotImplementedError

    def attend(self, layer: Any, x: Any, place: Any, first: Any, second: Any) -> Any:
        raise NotImplementedError

    def choose(self, scores: Any) -> Any:
        weight, choice = scores.float().softmax(-1).topk(self.sizes.chosen, -1)
        return (weight / weight.sum(-1, keepdim=True)).to(scores.dtype), choice

    def feed_parts(self) -> dict[str, nn.Module]:
        s = self.sizes
        found: dict[str, nn.Module] = {"router": linear(s.width, s.experts)}
        found |= {name: Stacked(s.experts, s.hidden, s.width) for name in ("gate", "up")}
        found |= {"down": Stacked(s.experts, s.width, s.hidden), "first": norm(s.width), "second": norm(s.width)}
        for name in ("all_gate", "all_up", "all_down") if s.shared else ():
            found[name] = linear(s.hidden, s.width) if name == "all_down" else linear(s.width, s.hidden)
        return found

    def feed(self, layer: Any, x: Any) -> Any:
        y = self.experts(layer, x, *self.choose(layer["router"](x)))
        if self.sizes.shared:
            y = y + layer["all_down"](F.silu(layer["all_gate"](x)) * layer["all_up"](x))
        return y

    def forward(self, token: Any, place: Any, *caches: Any) -> Any:
        x = self.words(token)
        for i, layer in enumerate(self.layers):
            x = x + self.attend(layer, layer["first"](x), place, *caches[2 * i : 2 * i + 2])
            x = x + self.feed(layer, layer["second"](x))
        return self.head(self.norm(x))


class Grouped(Step):
    """Heads in groups that share keys and values."""

    def parts(self) -> dict[str, nn.Module]:
        s = self.sizes
        inner, shared = s.heads * s.head, s.groups * s.head
        return {"q": linear(s.width, inner), "k": linear(s.width, shared), "v": linear(s.width, shared)} | {
            "o": linear(inner, s.width)
        }

    def attend(self, layer: Any, x: Any, place: Any, keys: Any, values: Any) -> Any:
        q, k, v = (layer[name](x).view(self.sizes.batch, -1, 1, self.sizes.head) for name in "qkv")
        keys.index_copy_(2, place, turned(k, place))
        values.index_copy_(2, place, v)
        mixed = F.scaled_dot_product_attention(turned(q, place), keys, values, enable_gqa=True)
        return layer["o"](mixed.reshape(self.sizes.batch, -1))


class Latent(Step):
    """Keys and values are products of one small vector for each token, which the cache holds."""

    def parts(self) -> dict[str, nn.Module]:
        s = self.sizes
        found = {"q_in": linear(s.width, QUERY_RANK), "q_out": linear(QUERY_RANK, s.heads * (s.head + TURNED))}
        found |= {"kv_in": linear(s.width, LATENT + TURNED), "kv_out": linear(LATENT, 2 * s.heads * s.head)}
        found |= {"o": linear(s.heads * s.head, s.width)}
        return {**found, "q_norm": norm(QUERY_RANK), "kv_norm": norm(LATENT)}

    def choose(self, scores: Any) -> Any:
        scores = scores.float().sigmoid()
        choice = scores.topk(self.sizes.chosen, -1).indices
        weight = scores.gather(1, choice)
        return (2.5 * weight / weight.sum(-1, keepdim=True)).to(torch.bfloat16), choice

    def attend(self, layer: Any, x: Any, place: Any, latents: Any, places: Any) -> Any:
        s = self.sizes
        q = layer["q_out"](layer["q_norm"](layer["q_in"](x))).view(s.batch, s.heads, -1)
        plain, moved = q.split([s.head, TURNED], -1)
        latent, moved_key = layer["kv_in"](x).split([LATENT, TURNED], -1)
        latents[:, place] = layer["kv_norm"](latent)[:, None]
        places[:, place] = turned(moved_key, place)[:, None]
        out = layer["kv_out"].weight.view(s.heads, -1, LATENT)
        inner = torch.einsum("bhd,hdc->bhc", plain, out[:, : s.head])
        scores = torch.einsum("bhc,btc->bht", inner, latents)
        scores = scores + torch.einsum("bhr,btr->bht", turned(moved, place), places)
        weights = (scores.float() * (s.head + TURNED) ** -0.5).softmax(-1).to(x.dtype)
        mixed = torch.einsum("bht,btc->bhc", weights, latents)
        return layer["o"](torch.einsum("bhc,hdc->bhd", mixed, out[:, s.head :]).reshape(s.batch, -1))


def grouped_weights(s: Sizes) -> int:
    """Of attention, in one layer."""
    return 2 * s.width * s.head * (s.heads + s.groups)


def latent_weights(s: Sizes) -> int:
    queries = s.width * QUERY_RANK + QUERY_RANK * s.heads * (s.head + TURNED)
    return queries + s.width * (LATENT + TURNED) + 2 * LATENT * s.heads * s.head + s.heads * s.head * s.width


def step_work(s: Sizes, weights: int, kept: int, met: int) -> Work:
    """`kept` numbers of the cache for each token, of which each head meets `met`, in scores and in sums. A cache is
    read in full, but for the token that is replaced, and that is written."""
    expert = 3 * s.width * s.hidden
    fixed = LAYERS * (weights + s.width * s.experts) + s.width * s.words
    products = s.batch * (fixed + LAYERS * (s.chosen + s.shared) * expert + LAYERS * s.heads * s.length * met)
    cache = LAYERS * s.batch * kept * s.length
    rows = s.width * expected_rows(s.words, s.batch)
    return Work(
        {"bf16": products},
        bytes=2 * (fixed + LAYERS * s.read_experts() * expert + cache + rows + s.batch * s.words),
    )


def step_case(name: str, kind: type[Step], s: Sizes, experts: Experts, caches: tuple[Shape, ...], work: Work) -> Case:
    program = Torch(lambda: kind(experts, s), (i64(s.batch), i64(1), *(caches * LAYERS)), build=True)
    return Case(name, program, work, Work(work.products, bytes=work.bytes), tolerance=0.02)


def grouped_case(name: str, s: Sizes, experts: Experts) -> Case:
    work = step_work(s, grouped_weights(s), kept=2 * s.groups * s.head, met=2 * s.head)
    return step_case(name, Grouped, s, experts, (bf16(s.batch, s.groups, s.length, s.head),) * 2, work)


def latent_case(name: str, s: Sizes, experts: Experts) -> Case:
    work = step_work(s, latent_weights(s), kept=LATENT + TURNED, met=2 * LATENT + TURNED)
    caches = (bf16(s.batch, s.length, LATENT), bf16(s.batch, s.length, TURNED))
    return step_case(name, Latent, s, experts, caches, work)


SPELLINGS = {"look-up": by_look_up, "groups": by_groups}

CASES = [
    *(grouped_case(f"Mixtral, experts by {name}", MIXTRAL, experts) for name, experts in SPELLINGS.items()),
    *(grouped_case(f"Qwen3-MoE, experts by {name}", QWEN, experts) for name, experts in SPELLINGS.items()),
    *(latent_case(f"DeepSeek-V3, experts by {name}", DEEPSEEK, experts) for name, experts in SPELLINGS.items()),
]
