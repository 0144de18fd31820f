"""Look-ups at places that only data tell, from inputs and from intermediates, in general position; and results that
depend on everything though they look like a pick. Far too low where a look-up counts as one row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from least.case import Case, Jax, Torch, Work, bf16, expected_rows, f32, i32, i64, moved


def needed(work: Work, share: float = 1.0) -> Work:
    """What general position makes necessary, for claims from below."""
    products = work.products and {dtype: count * share for dtype, count in work.products.items()}
    return Work(products=products, bytes=work.bytes and work.bytes * share)


def embedding(table: Any, token: Any) -> Any:
    return F.embedding(token, table)


def rows_of_a_product(x: Any, w: Any, place: Any) -> Any:
    return F.relu(x @ w)[place]


def neighbours(x: Any, w: Any, near: Any) -> Any:
    """A layer on each of 16 neighbours: a function of the neighbour alone."""
    return F.relu(x[near] @ w).amax(1)


def kept_tokens(x: Any, w: Any, score: Any) -> Any:
    kept = score.topk(512, -1).indices
    return F.gelu(x @ w).gather(1, kept[:, :, None].expand(-1, -1, 4096))


class GraphNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(512, 256, bias=False), nn.Linear(256, 64, bias=False)

    def forward(self, x: Any, source: Any, target: Any) -> Any:
        def spread(h: Any) -> Any:
            return torch.zeros_like(h).index_add(0, target, h[source])

        return spread(self.second(F.relu(spread(self.first(x)))))


def added_rows(x: Any, w: Any, target: Any) -> Any:
    return x.new_zeros(20000, 256).index_add(0, target, x @ w)


def some_added_rows(x: Any, w: Any, target: Any) -> Any:
    """Only the first hundred places are looked at."""
    return x.new_zeros(20000, 256).index_add(0, target, F.relu(x @ w))[:100]


def relations(x: Any, w: Any, source: Any, target: Any) -> Any:
    """A layer of a graph with several kinds of edges, each with weights of its own."""
    y = x.new_zeros(x.shape[0], w.shape[2])
    for kind in range(w.shape[0]):
        y = y.index_add(0, target[kind], (x @ w[kind])[source[kind]])
    return F.relu(y)


def slices_of_a_table(table: Any, *bags: Any) -> Any:
    """Several features in one table, one after the other."""
    size = table.shape[0] // len(bags)
    return torch.cat([F.embedding(bag, table[i * size : (i + 1) * size]) for i, bag in enumerate(bags)], -1)


def tokens_of_experts(x: Any, choice: Any, weight: Any, up: Any, down: Any) -> Any:
    """As transformers does: sorted by expert, and back by the order of the order."""
    order = torch.argsort(choice.reshape(-1))
    token = torch.arange(x.shape[0])[:, None].expand(-1, 2).reshape(-1)
    ends = torch.nn.functional.one_hot(choice.reshape(-1)[order], 8).sum(0).cumsum(0).to(torch.int32)
    h = F.gelu(torch._grouped_mm(x[token[order]], up, ends))
    y = torch._grouped_mm(h, down, ends) * weight.reshape(-1)[order][:, None]
    return y[torch.argsort(order)].view(x.shape[0], 2, -1).sum(1)


def pairs_of_places(x: Any, row: Any, column: Any) -> Any:
    return x[row, column]


class Recommender(nn.Module):
    """Eight tables, bags of four, pairwise products of features, two towers."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(1_000_000, 128, mode="sum") for _ in range(8))
        self.bottom = tower(13, 512, 256, 128)
        self.top = tower(128 + 36, 1024, 1024, 512, 256, 1)

    def forward(self, dense: Any, *bags: Any) -> Any:
        x = self.bottom(dense)
        z = torch.stack([x, *(table(bag) for table, bag in zip(self.tables, bags, strict=True))], 1)
        i, j = torch.tril_indices(9, 9, -1)
        pairs = torch.bmm(z, z.transpose(1, 2))[:, i, j]
        return self.top(torch.cat([x, pairs], 1))


BOTTOM, TOP = (13, 512, 256, 128), (164, 1024, 1024, 512, 256, 1)


def tower(*sizes: int) -> nn.Sequential:
    layers = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def weights_of(*sizes: int) -> int:
    return sum(a * b for a, b in pairwise(sizes))


def experts_by_look_up(x: Any, router: Any, up: Any, gate: Any, down: Any) -> Any:
    """Every token takes the weights of its two experts."""
    weight, choice = (x @ router).softmax(-1).topk(2, -1)
    hidden = torch.einsum("td,tkdf->tkf", x, up[choice]) * F.silu(torch.einsum("td,tkdf->tkf", x, gate[choice]))
    return torch.einsum("tkf,tkfd,tk->td", hidden, down[choice], weight)


def tokens_by_expert(x: Any, router: Any, up: Any, down: Any) -> Any:
    """Every expert takes its 1024 best tokens."""
    score, token = (x @ router).T.softmax(-1).topk(1024, -1)
    y = F.gelu(torch.bmm(x[token], up)).bmm(down) * score[:, :, None]
    return torch.zeros_like(x).index_add(0, token.flatten(), y.flatten(0, 1))


def sorted_experts(x: Any, router: Any, up: Any, down: Any) -> Any:
    """Pairs of token and expert in the experts' order; bounds between experts are data."""
    weight, choice = (x @ router).softmax(-1).topk(2, -1)
    order = choice.flatten().argsort()
    ends = torch.nn.functional.one_hot(choice.flatten(), 8).sum(0).cumsum(0).to(torch.int32)
    h = F.gelu(torch._grouped_mm(x[order // 2], up, ends))
    y = torch._grouped_mm(h, down, ends) * weight.flatten()[order][:, None]
    return torch.zeros_like(x).index_add(0, order // 2, y)


def jax_ragged(x: Any, w: Any, sizes: Any) -> Any:
    import jax

    return jax.lax.ragged_dot(x, w, sizes)


def cross_entropy(x: Any, w: Any, target: Any) -> Any:
    return F.cross_entropy(x @ w, target)


def picked_log_softmax(x: Any, w: Any, target: Any) -> Any:
    return -F.log_softmax(x @ w, -1).gather(1, target[:, None]).mean()


def shifted_labels(x: Any, w: Any, label: Any) -> Any:
    """The loss of a language model: every token predicts the next."""
    scores = (x @ w)[:, :-1].float()
    return F.cross_entropy(scores.reshape(-1, VOCABULARY), label[:, 1:].reshape(-1), ignore_index=-100)


def picked_scores(x: Any, w: Any, target: Any) -> Any:
    """Scores of the targets alone: one dot product each."""
    return torch.sigmoid((x @ w).gather(1, target[:, None]))


def jax_optax_loss(x: Any, w: Any, target: Any) -> Any:
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(x @ w, target).mean()


def jax_cross_entropy(x: Any, w: Any, target: Any) -> Any:
    import jax
    import jax.numpy as jnp

    scores = x @ w
    picked = jnp.take_along_axis(scores, target[:, None], 1)[:, 0]
    return (jax.nn.logsumexp(scores, axis=-1) - picked).mean()


def jax_logits_of_tokens(table: Any, token: Any, w: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tanh(table[token]) @ w


NODES, EDGES = 20000, 400000
GRAPH = Work(
    products={"f32": NODES * (512 * 256 + 256 * 64)},
    slots=EDGES * (256 + 64),
    special=0,
    bytes=moved(f32(NODES, 512), i64(2 * EDGES), f32(512, 256), f32(256, 64), f32(NODES, 64)),
)
ROWS = expected_rows(65536, 65536)
PICKED = Work(
    products={"f32": ROWS * 512 * 512},
    slots=ROWS * 512,
    special=0,
    bytes=ROWS * 512 * 4 + moved(f32(512, 512), i64(65536), f32(65536, 512)),
)
TOKENS = 4096
MIX_BYTES = moved(bf16(TOKENS, 1024), bf16(1024, 8), bf16(8, 1024, 4096), bf16(8, 4096, 1024), bf16(TOKENS, 1024))
SPARSE = 8 * expected_rows(1_000_000, 4 * 2048)
DLRM = Work(
    products={"f32": 2048 * (weights_of(*BOTTOM) + 36 * 128 + weights_of(*TOP))},
    slots=2048 * (8 * 3 * 128 + 2 * (sum(BOTTOM) + sum(TOP))),
    special=0,
    bytes=4
    * (SPARSE * 128 + 2048 * 13 + weights_of(*BOTTOM) + weights_of(*TOP) + sum(BOTTOM[1:]) + sum(TOP[1:]) + 2048)
    + 8 * 2048 * 4 * 8,
)
VOCABULARY = 32000
LOSS = Work(
    products={"bf16": TOKENS * 2048 * VOCABULARY},
    slots=4 * TOKENS * VOCABULARY,
    special=TOKENS * (VOCABULARY + 1),
    bytes=moved(bf16(TOKENS, 2048), bf16(2048, VOCABULARY), i64(TOKENS), bf16()),
)
LOSS_NEEDED = Work(products=LOSS.products, special=TOKENS * (VOCABULARY - 1), bytes=LOSS.bytes)
LOSS_INPUTS = (bf16(TOKENS, 2048), bf16(2048, VOCABULARY), i64(TOKENS))
JAX_LOSS = Work(LOSS.products, LOSS.slots, LOSS.special, LOSS.bytes - 4 * TOKENS)
FEW, FEW_ROWS = 64, 3584
FEW_PRODUCTS = FEW * 1024 * 8 + FEW * 2 * 3 * 1024 * FEW_ROWS
FEW_BYTES = moved(bf16(FEW, 1024), bf16(1024, 8), bf16(3, 8, 1024, FEW_ROWS), bf16(FEW, 1024))

KINDS, FEW_EDGES = 8, 5000
# Every edge needs the product of its source's row, or that of the sum at its target: in a random graph of n + n nodes
# and n / 2 edges, n (2 - 2 u - u^2 / 2) of them are enough, where u = exp(-u / 2).
COVER = 10000 * (2 - 2 * 0.7034674 - 0.7034674**2 / 2)
RELATIONS = Work(
    products={"f32": KINDS * COVER * 128 * 64},
    special=0,
    bytes=4 * 128 * expected_rows(10000, KINDS * FEW_EDGES)
    + moved(f32(KINDS, 128, 64), i64(2, KINDS, FEW_EDGES), f32(10000, 64)),
)
ADDED = Work(
    {"f32": expected_rows(20000, 22000) * 512 * 256},
    bytes=moved(f32(22000, 512), f32(512, 256), i64(22000), f32(20000, 256)),
)
SLICES = Work({}, special=0, bytes=26 * (512 * expected_rows(1000, 2048) + moved(i64(2048), f32(2048, 128))))
CHOSEN = Work(
    products={"bf16": 2 * TOKENS * 2 * 1024 * 4096},
    bytes=moved(
        bf16(TOKENS, 1024),
        i64(TOKENS, 2),
        bf16(TOKENS, 2),
        bf16(8, 1024, 4096),
        bf16(8, 4096, 1024),
        bf16(TOKENS, 1024),
    ),
)

CASES = [
    Case(  # rows that go to one place are added before they are multiplied
        "rows that are added where data tell",
        Torch(added_rows, (f32(22000, 512), f32(512, 256), i64(22000))),
        ADDED,
        needed(ADDED, 0.99),
        floor=Work({"f32": 512 * 256}, bytes=ADDED.bytes),
        tolerance=1e-3,
    ),
    Case(  # one update of 200 goes to a place that is looked at
        "some of the places that rows are added to",
        Torch(some_added_rows, (f32(22000, 512), f32(512, 256), i64(22000))),
        Work({"f32": 110 * 512 * 256}, bytes=moved(f32(110, 512), f32(512, 256), i64(22000), f32(100, 256))),
        Work({"f32": 110 * 512 * 256}, bytes=moved(f32(110, 512), f32(512, 256), f32(100, 256))),
        tolerance=1e-2,
    ),
    Case(
        "layer of relations",
        Torch(relations, (f32(10000, 128), f32(KINDS, 128, 64), *(i64(KINDS, FEW_EDGES),) * 2)),
        RELATIONS,
        needed(RELATIONS, 0.98),
        tolerance=1e-5,
    ),
    Case(
        "slices of one table",
        Torch(slices_of_a_table, (f32(26000, 128), *(i64(2048),) * 26)),
        SLICES,
        needed(SLICES),
        floor=Work(bytes=26 * (512 + moved(i64(2048), f32(2048, 128)))),
        tolerance=1e-5,
    ),
    Case(  # two choices of one token are taken to be the same as often as two draws of 8
        "tokens of experts, and back",
        Torch(
            tokens_of_experts,
            (bf16(TOKENS, 1024), i64(TOKENS, 2), bf16(TOKENS, 2), bf16(8, 1024, 4096), bf16(8, 4096, 1024)),
        ),
        CHOSEN,
        Work({"bf16": 0.96 * CHOSEN.products["bf16"]}, bytes=0.98 * CHOSEN.bytes),
    ),
    Case(
        "elements by rows and columns",
        Torch(pairs_of_places, (f32(4000, 4000), i64(1000), i64(1000))),
        Work({}, special=0, bytes=4 * expected_rows(4000 * 4000, 1000) + moved(i64(2, 1000), f32(1000))),
        Work({}, bytes=4 * expected_rows(4000 * 4000, 1000) + moved(i64(2, 1000), f32(1000))),
    ),
    Case(
        "tokens from a table",
        Torch(embedding, (bf16(50257, 4096), i64(8192))),
        Work({}, slots=0, special=0, bytes=8192 * (expected_rows(50257, 8192) + 8192) + 8 * 8192),
        Work({}, bytes=8192 * (expected_rows(50257, 8192) + 8192) + 8 * 8192),
        floor=Work(bytes=8192 * (1 + 8192) + 8 * 8192),
        floor_at_least=Work(bytes=8192 * 8192),
    ),
    Case(
        "rows of a product",
        Torch(rows_of_a_product, (f32(65536, 512), f32(512, 512), i64(65536))),
        PICKED,
        needed(PICKED),
        floor=Work(bytes=2048 + moved(f32(512, 512), i64(65536), f32(65536, 512))),
        tolerance=1e-5,
    ),
    Case(  # each row once, however many neighbours it is of
        "layer on neighbours",
        Torch(neighbours, (f32(20000, 256), f32(256, 1024), i64(20000, 16))),
        Work(
            products={"f32": 20000 * 256 * 1024},
            slots=20000 * 16 * 1024,
            special=0,
            bytes=moved(f32(20000, 256), f32(256, 1024), i64(20000, 16), f32(20000, 1024)),
        ),
        Work(products={"f32": expected_rows(20000, 320000) * 256 * 1024}),
        tolerance=1e-5,
    ),
    Case(  # 512 distinct tokens of each sequence, as many as random picks would find or more
        "tokens that are kept",
        Torch(kept_tokens, (bf16(8, 4096, 1024), bf16(1024, 4096), bf16(8, 4096))),
        Work(
            products={"bf16": 8 * 512 * 1024 * 4096},
            bytes=moved(bf16(8, 512, 1024), bf16(1024, 4096), bf16(8, 4096), bf16(8, 512, 4096)),
        ),
        Work(
            products={"bf16": 8 * expected_rows(4096, 512) * 1024 * 4096},
            bytes=moved(bf16(1024, 4096), bf16(8, 4096), bf16(8, 512, 4096)),
        ),
        tolerance=1e-5,
    ),
    Case(
        "graph network of two layers",
        Torch(GraphNetwork, (f32(NODES, 512), i64(EDGES), i64(EDGES)), build=True),
        GRAPH,
        needed(GRAPH, 0.98),
    ),
    Case(
        "recommendation model",
        Torch(Recommender, (f32(2048, 13), *(i64(2048, 4),) * 8), build=True),
        DLRM,
        needed(DLRM, 0.98),
        tolerance=1e-5,
    ),
    Case(  # 128 choices among 8 experts leave out none; two random picks of 8 are 1.875 experts
        "experts' weights by look-up",
        Torch(
            experts_by_look_up,
            (bf16(FEW, 1024), bf16(1024, 8), *(bf16(8, 1024, FEW_ROWS),) * 2, bf16(8, FEW_ROWS, 1024)),
        ),
        Work(products={"bf16": FEW_PRODUCTS + FEW * 2 * 1024}, bytes=FEW_BYTES),
        Work(products={"bf16": FEW_PRODUCTS * expected_rows(8, 2) / 2}, bytes=FEW_BYTES),
    ),
    Case(
        "experts choose tokens",
        Torch(tokens_by_expert, (bf16(TOKENS, 1024), bf16(1024, 8), bf16(8, 1024, 4096), bf16(8, 4096, 1024))),
        Work(products={"bf16": TOKENS * 1024 * 8 + 8 * 1024 * 2 * 1024 * 4096}, bytes=MIX_BYTES),
        Work(
            products={"bf16": TOKENS * 1024 * 8 + 8 * expected_rows(TOKENS, 1024) * 2 * 1024 * 4096},
            bytes=MIX_BYTES,
        ),
        tolerance=1e-5,
    ),
    Case(  # two choices of one token are taken to be the same as often as two draws of 8
        "experts on sorted tokens",
        Torch(sorted_experts, (bf16(TOKENS, 1024), bf16(1024, 8), bf16(8, 1024, 4096), bf16(8, 4096, 1024))),
        Work(products={"bf16": TOKENS * 1024 * 8 + 2 * TOKENS * 2 * 1024 * 4096}, bytes=MIX_BYTES),
        Work(products={"bf16": 0.96 * (TOKENS * 1024 * 8 + 2 * TOKENS * 2 * 1024 * 4096)}, bytes=0.98 * MIX_BYTES),
    ),
    Case(  # every row meets the weights of one expert
        "jax ragged_dot",
        Jax(jax_ragged, (bf16(8192, 1024), bf16(8, 1024, 4096), i32(8))),
        Work(
            products={"bf16": 8192 * 1024 * 4096},
            slots=0,
            special=0,
            bytes=moved(bf16(8192, 1024), bf16(8, 1024, 4096), i32(8), bf16(8192, 4096)),
        ),
        Work(products={"bf16": 8192 * 1024 * 4096}, bytes=moved(bf16(8192, 1024), bf16(8192, 4096))),
    ),
    Case("cross entropy of a product", Torch(cross_entropy, LOSS_INPUTS), LOSS, LOSS_NEEDED),
    Case("picked from a log-softmax", Torch(picked_log_softmax, LOSS_INPUTS), LOSS, LOSS_NEEDED),
    Case(  # the last token predicts nothing
        "loss of shifted labels",
        Torch(shifted_labels, (bf16(4, 1025, 2048), bf16(2048, VOCABULARY), i64(4, 1025))),
        Work(LOSS.products, LOSS.slots, LOSS.special, LOSS.bytes + 2),
        Work(LOSS.products, special=LOSS_NEEDED.special, bytes=LOSS.bytes - 8),
    ),
    Case(
        "scores of the targets alone",
        Torch(picked_scores, LOSS_INPUTS),
        Work(
            {"bf16": TOKENS * 2048},
            special=TOKENS,
            bytes=moved(bf16(TOKENS, 2048), i64(TOKENS), bf16(TOKENS)) + 4096 * expected_rows(VOCABULARY, TOKENS),
        ),
        Work(
            {"bf16": TOKENS * 2048},
            bytes=moved(bf16(TOKENS, 2048), i64(TOKENS), bf16(TOKENS)) + 4096 * expected_rows(VOCABULARY, TOKENS),
        ),
    ),
    Case(
        "jax loss of optax",
        Jax(jax_optax_loss, (*LOSS_INPUTS[:2], i32(TOKENS))),
        JAX_LOSS,
        Work(LOSS.products, special=LOSS_NEEDED.special, bytes=JAX_LOSS.bytes),
    ),
    Case(
        "jax pick beside a logsumexp",
        Jax(jax_cross_entropy, (*LOSS_INPUTS[:2], i32(TOKENS))),
        JAX_LOSS,
        Work(LOSS.products, special=LOSS_NEEDED.special, bytes=JAX_LOSS.bytes),
    ),
    Case(
        "jax layer on rows of a table",
        Jax(jax_logits_of_tokens, (f32(10000, 512), i32(10000), f32(512, 2048))),
        Work(
            products={"f32": expected_rows(10000, 10000) * 512 * 2048},
            special=expected_rows(10000, 10000) * 512,
            bytes=4 * (expected_rows(10000, 10000) * 512 + 10000 + 512 * 2048 + 10000 * 2048),
        ),
        Work(
            products={"f32": expected_rows(10000, 10000) * 512 * 2048},
            bytes=4 * (expected_rows(10000, 10000) * 512 + 10000 + 512 * 2048 + 10000 * 2048),
        ),
        floor=Work(products={"f32": 512 * 2048}, bytes=4 * (512 + 10000 + 512 * 2048 + 10000 * 2048)),
        tolerance=1e-5,
    ),
]
