"""What is added up, or picked, before it is multiplied: adapters beside weights, one expert for each row, messages of
graphs. Several spellings of each, of the same work."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, bf16, expected_rows, f32, i64, moved

# ---- adapters: x @ w + (x @ a) @ b of many tokens is x @ (w + a @ b) ----
TOKENS, WIDTH, LOW = 8192, 1024, 64
MERGED = TOKENS * WIDTH * WIDTH + WIDTH * LOW * WIDTH


def adapted(x: Any, w: Any, a: Any, b: Any) -> Any:
    return x @ w + (x @ a) @ b * 2.0


def merged(x: Any, w: Any, a: Any, b: Any) -> Any:
    return x @ (w + (a @ b) * 2.0)


def added_to_a_product(x: Any, w: Any, a: Any, b: Any) -> Any:
    return torch.addmm(x @ w, x @ a, b)


def adapted_relu(x: Any, w: Any, a: Any, b: Any) -> Any:
    return F.relu(x @ w + (x @ a) @ b)


class Adapter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.whole = nn.Linear(WIDTH, WIDTH, dtype=torch.bfloat16)
        self.down = nn.Linear(WIDTH, LOW, bias=False, dtype=torch.bfloat16)
        self.up = nn.Linear(LOW, WIDTH, bias=False, dtype=torch.bfloat16)

    def forward(self, x: Any) -> Any:
        return self.whole(x) + self.up(self.down(x)) * 2


def adapter(name: str, program: Torch | Jax, dtype: str = "f32", bias: int = 0) -> Case:
    bytes_each = 4 if dtype == "f32" else 2
    elements = 2 * TOKENS * WIDTH + WIDTH * WIDTH + 2 * WIDTH * LOW
    work = Work(products={dtype: MERGED}, special=0, bytes=bytes_each * elements + bias)
    return Case(f"adapter, {name}", program, work, Work(products={dtype: MERGED}, bytes=work.bytes))


ADAPTER = (f32(TOKENS, WIDTH), f32(WIDTH, WIDTH), f32(WIDTH, LOW), f32(LOW, WIDTH))

# ---- one expert for each row ----
ROWS, SIDE, EXPERTS = 2048, 512, 8
ROUTED = Work(
    products={"f32": ROWS * SIDE * SIDE + ROWS * SIDE * EXPERTS},
    bytes=moved(f32(2 * ROWS, SIDE), f32(SIDE, EXPERTS), f32(EXPERTS, SIDE, SIDE)),
)


def nested(x: Any, router: Any, w: Any) -> Any:
    expert, y = (x @ router).argmax(-1), torch.zeros_like(x)
    for e in range(EXPERTS):
        y = torch.where((expert == e)[:, None], x @ w[e], y)
    return y


def of_the_others(x: Any, router: Any, w: Any) -> Any:
    expert, y = (x @ router).argmin(-1), torch.zeros_like(x)
    for e in range(EXPERTS):
        y = torch.where((expert != e)[:, None], y, x @ w[e])
    return y


def by_largest_weight(x: Any, router: Any, w: Any) -> Any:
    expert, y = torch.softmax(x @ router, -1).max(-1)[1], torch.zeros_like(x)
    for e in range(EXPERTS):
        y = torch.where((expert == e)[:, None], x @ w[e], y)
    return y


def cleared_and_added(x: Any, router: Any, w: Any) -> Any:
    expert, y = (x @ router).argmax(-1), torch.zeros_like(x)
    for e in range(EXPERTS):
        mine = (expert == e)[:, None]
        y = y.masked_fill(mine, 0) + (x @ w[e]) * mine
    return y


def blended(x: Any, router: Any, w: Any) -> Any:
    expert, y = (x @ router).argmax(-1), torch.zeros_like(x)
    for e in range(EXPERTS):
        mine = (expert == e)[:, None].float()
        y = y * (1 - mine) + (x @ w[e]) * mine
    return y


def jax_nested(x: Any, router: Any, w: Any) -> Any:
    import jax.numpy as jnp

    expert, y = jnp.argmax(x @ router, -1), jnp.zeros_like(x)
    for e in range(EXPERTS):
        y = jnp.where((expert == e)[:, None], x @ w[e], y)
    return y


ROUTER = (f32(ROWS, SIDE), f32(SIDE, EXPERTS), f32(EXPERTS, SIDE, SIDE))

# ---- messages of a graph ----
NODES, EDGES, OWN, FEATURES, KINDS, BASES = 10000, 100000, 64, 8, 20, 4
GRAPH = (i64(EDGES), i64(EDGES))
READ = expected_rows(NODES, EDGES)


def made_for_each_edge(h: Any, feature: Any, w: Any, source: Any, target: Any) -> Any:
    """A matrix for each edge, of its features."""
    message = torch.einsum("ei,eio->eo", h[source], (feature @ w).view(-1, OWN, OWN))
    return torch.zeros_like(h).index_add(0, target, message)


def pooled_edges(h: Any, feature: Any, w: Any, source: Any, target: Any) -> Any:
    message = torch.einsum("ei,eio->eo", h[source], (feature @ w).view(-1, OWN, OWN))
    return h.new_zeros(16, OWN).index_add(0, target, message)


def jax_made_for_each_edge(h: Any, feature: Any, w: Any, source: Any, target: Any) -> Any:
    import jax.numpy as jnp

    message = jnp.einsum("ei,eio->eo", h[source], (feature @ w).reshape(-1, OWN, OWN))
    return jnp.zeros_like(h).at[target].add(message)


def by_relation(h: Any, w: Any, source: Any, target: Any, kind: Any) -> Any:
    return torch.zeros_like(h).index_add(0, target, torch.einsum("ei,eio->eo", h[source], w[kind]))


def by_basis(h: Any, share: Any, basis: Any, source: Any, target: Any, kind: Any) -> Any:
    w = torch.einsum("rb,bio->rio", share, basis)
    return torch.zeros_like(h).index_add(0, target, torch.einsum("ei,eio->eo", h[source], w[kind]))


MESSAGES = (f32(NODES, OWN), f32(EDGES, FEATURES), f32(FEATURES, OWN * OWN), *GRAPH)
# h @ w for each node that is read, then a sum of 8 for each edge
BY_EDGE = Work(products={"f32": READ * FEATURES * OWN * OWN + EDGES * FEATURES * OWN})
# feature * h of each edge, added up at 16 places, then w
POOLED = Work(products={"f32": EDGES * FEATURES * OWN + 16 * FEATURES * OWN * OWN})
# Every edge needs the product of its source's row and its kind, or that of the sum at its target: of each kind's graph
# of n + n nodes and n / 2 edges, n (2 - 2 u - u^2 / 2) of them are enough, where u = exp(-u / 2).
RELATIONS = Work(products={"f32": KINDS * NODES * (2 - 2 * 0.7034674 - 0.7034674**2 / 2) * OWN * OWN})
PAIRS = expected_rows(NODES * KINDS, EDGES)
BASIS = Work(products={"f32": READ * BASES * OWN * OWN + PAIRS * BASES * OWN})


def most_of(work: Work, share: float) -> Work:
    return Work(products={dtype: share * count for dtype, count in (work.products or {}).items()})


# ---- positions relative to the query ----
HEADS, SEQUENCE, HEAD = 8, 512, 64
QUERIES = bf16(2, HEADS, SEQUENCE, HEAD)


class Relative(nn.Module):
    """Scores with the distance, looked up or shifted into place."""

    def __init__(self, shifted: bool) -> None:
        super().__init__()
        self.distances = nn.Parameter(torch.zeros(2 * SEQUENCE - 1, HEAD, dtype=torch.bfloat16))
        self.shifted = shifted

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        if self.shifted:
            far = F.pad(q @ self.distances.T, (0, 1)).flatten(2)
            far = F.pad(far, (0, SEQUENCE - 1)).view(2, HEADS, SEQUENCE + 1, 2 * SEQUENCE - 1)
            far = far[:, :, :SEQUENCE, SEQUENCE - 1 :]
        else:
            i = torch.arange(SEQUENCE)
            far = torch.einsum("bhqd,qkd->bhqk", q, self.distances[i[None] - i[:, None] + SEQUENCE - 1])
        return torch.softmax(q @ k.transpose(-1, -2) + far, -1) @ v


# q (k + r), and the values
RELATIVE = Work(
    products={"bf16": 2 * 2 * HEADS * SEQUENCE * SEQUENCE * HEAD},
    bytes=moved(QUERIES, QUERIES, QUERIES, QUERIES, bf16(2 * SEQUENCE - 1, HEAD)),
)

# ---- guidance: parts of one batch, weighed and added behind a bias, are one product ----
IMAGES, HIDDEN, OUT = 4096, 1152, 4608


class Guided(nn.Module):
    def __init__(self, parts: int, add: Any) -> None:
        super().__init__()
        self.parts, self.add = parts, add
        self.up = nn.Linear(HIDDEN, OUT, dtype=torch.bfloat16)
        self.down = nn.Linear(OUT, HIDDEN, dtype=torch.bfloat16)

    def forward(self, x: Any) -> Any:
        return self.add(*self.down(F.silu(self.up(x))).chunk(self.parts))


def guided(name: str, parts: int, add: Any) -> Case:
    products = Work(products={"bf16": (parts + 1) * IMAGES * HIDDEN * OUT})
    program = Torch(partial(Guided, parts, add), (bf16(parts * IMAGES, HIDDEN),), build=True)
    return Case(f"guidance, {name}", program, products, products, floor=products)


class Ensemble(nn.Module):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(heads)])

    def forward(self, x: Any) -> Any:
        return torch.stack([head(x) for head in self.heads]).mean(0)


def ensemble(heads: int) -> Case:
    products = Work(products={"f32": TOKENS * WIDTH * WIDTH})
    program = Torch(partial(Ensemble, heads), (f32(TOKENS, WIDTH),), build=True)
    return Case(f"mean of {heads} heads", program, products, products, floor=products)


CASES = [
    guided("of two", 2, lambda u, c: u + 4.0 * (c - u)),
    guided("of two, lerp", 2, lambda u, c: torch.lerp(u, c, 4.0)),
    guided("of two, weighted mean", 2, lambda u, c: 0.9 * u + 0.1 * c),
    guided("of three", 3, lambda t, i, u: u + 7.5 * (t - i) + 1.5 * (i - u)),
    *map(ensemble, (2, 5, 8, 12)),
    adapter("two products", Torch(adapted, ADAPTER)),
    adapter("merged weights", Torch(merged, ADAPTER)),
    adapter("addmm", Torch(added_to_a_product, ADAPTER)),
    adapter("inside of a ReLU", Torch(adapted_relu, ADAPTER)),
    adapter("modules", Torch(Adapter, (bf16(TOKENS, WIDTH),), build=True), "bf16", 2 * WIDTH),
    adapter("jax", Jax(adapted, ADAPTER)),
    *(
        Case(f"one expert of eight, {name}", program, ROUTED, ROUTED, tolerance=1e-5)
        for name, program in {
            "nested choices": Torch(nested, ROUTER),
            "choices of the others": Torch(of_the_others, ROUTER),
            "by the largest weight": Torch(by_largest_weight, ROUTER),
            "cleared and added": Torch(cleared_and_added, ROUTER),
            "blended": Torch(blended, ROUTER),
            "jax": Jax(jax_nested, ROUTER),
        }.items()
    ),
    Case("matrices of edges", Torch(made_for_each_edge, MESSAGES), BY_EDGE, most_of(BY_EDGE, 0.99), tolerance=1e-5),
    Case("matrices of edges, pooled", Torch(pooled_edges, MESSAGES), POOLED, most_of(POOLED, 0.99), tolerance=1e-5),
    Case(
        "matrices of edges, jax",
        Jax(jax_made_for_each_edge, MESSAGES),
        BY_EDGE,
        most_of(BY_EDGE, 0.99),
        tolerance=1e-5,
    ),
    Case(
        "matrices of relations",
        Torch(by_relation, (f32(NODES, OWN), f32(KINDS, OWN, OWN), *GRAPH, i64(EDGES))),
        RELATIONS,
        most_of(RELATIONS, 0.99),
        tolerance=1e-5,
    ),
    Case(
        "matrices of relations, of a basis",
        Torch(by_basis, (f32(NODES, OWN), f32(KINDS, BASES), f32(BASES, OWN, OWN), *GRAPH, i64(EDGES))),
        Work(products={"f32": (BASIS.products or {})["f32"] + KINDS * BASES * OWN * OWN}),
        most_of(BASIS, 0.95),
        tolerance=1e-5,
    ),
    *(
        Case(f"relative positions, {name}", Torch(program, (QUERIES,) * 3, build=True), RELATIVE, RELATIVE)
        for name, program in (("looked up", partial(Relative, False)), ("shifted", partial(Relative, True)))
    ),
]
