"""Samples of PyTorch's own tests of its operators (OpInfo), and programs that call several of them at once."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from programs import bytes_of
from runner import Case
from specs import BF16, BOOL, C64, F32, I64, SHORT_NAMES
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from lightline.capture import export, forward_backward, serialise

FORMS = ("training", "core", "backward")
DTYPES = {SHORT_NAMES[dtype]: dtype for dtype in (F32, BF16, I64, BOOL, C64)}
WIDE = {F32: torch.float64, BF16: torch.float64, torch.float16: torch.float64, C64: torch.complex128}
MAX_ELEMENTS = 20_000  # of all tensors of a sample
UNSET = re.compile(r"(new_)?empty(_like|_strided|_permuted)?")  # their results hold anything
CONSIDERED = 12  # the samples of an operator that a short run chooses from


def operators() -> dict[str, Any]:
    """PyTorch's operators by the name that its tests give them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {info.full_name: info for info in op_db}


@contextlib.contextmanager
def seeded(*words: Any) -> Iterator[None]:
    number = zlib.crc32(" ".join(map(str, words)).encode())
    torch.manual_seed(number)
    random.seed(number)
    numpy.random.seed(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class ForeignDtypeError(Exception):
    """A program takes or gives a dtype that we do not have."""


@dataclass
class Sample:
    """One call of an operator. `differentiated` says which of its tensors get a gradient."""

    operator: str
    dtype: str
    number: int
    function: Callable[..., Any]
    leaves: list[Any]
    structure: Any
    differentiated: list[bool]
    random: bool = False  # two runs differ: only shapes and dtypes are compared
    weights: list[torch.Tensor] = field(default_factory=list)  # of the outputs, in the loss

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    def call(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The tensors among the results."""
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        args, kwargs = tree_unflatten(leaves, self.structure)
        return [leaf for leaf in tree_leaves(self.function(*args, **kwargs)) if isinstance(leaf, torch.Tensor)]

    def loss(self, tensors: Sequence[torch.Tensor], weights: Sequence[torch.Tensor]) -> torch.Tensor:
        """The sum of products of the outputs that have a gradient and the weights."""
        outputs = [output for output in self.call(tensors) if output.requires_grad]
        parts = [torch.view_as_real(output) if output.is_complex() else output for output in outputs]
        return torch.stack(
            [(part.to(weight.dtype) * weight).sum() for part, weight in zip(parts, weights, strict=True)]
        ).sum()


# ---- drawing ----


def drawn(info: Any, dtype: str, seed: int, count: int | None, references: bool = False) -> list[Sample]:
    """Samples that PyTorch itself can run: `count` of the first ones, or all."""
    if not info.supports_dtype(DTYPES[dtype], "cpu"):
        return []
    gradients = info.supports_autograd and DTYPES[dtype] in info.supported_backward_dtypes("cpu")
    with seeded(seed, info.full_name, dtype):
        try:
            draw = info.reference_inputs if references else info.sample_inputs
            source = draw("cpu", DTYPES[dtype], requires_grad=gradients)
            numbered = list(enumerate(source if count is None else itertools.islice(source, CONSIDERED)))
            source.close() if hasattr(source, "close") else None
        except Exception:  # PyTorch's own tests leave these out, too
            return []
        chosen = numbered if count is None else random.sample(numbered, min(count, len(numbered)))
        samples = [sample_of(info, dtype, number, given) for number, given in sorted(chosen, key=lambda one: one[0])]
        return [sample for sample in samples if sample is not None and runs(sample)]


def sample_of(info: Any, dtype: str, number: int, given: Any) -> Sample | None:
    leaves, structure = tree_flatten(((given.input, *given.args), given.kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if any(type(one) is not torch.Tensor or one.layout is not torch.strided or one.is_nested for one in tensors):
        return None
    if any(one.dtype not in SHORT_NAMES for one in tensors) or sum(one.numel() for one in tensors) > MAX_ELEMENTS:
        return None
    differentiated = [one.requires_grad for one in tensors]
    plain = [leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    return Sample(info.full_name, dtype, number, info.op, plain, structure, differentiated)


class RandomCalls(TorchDispatchMode):
    """Notes whether random numbers are drawn: samples of random operators set the seed themselves."""

    found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.found |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def runs(sample: Sample) -> bool:
    """Whether PyTorch takes the sample and gives tensors; notes whether it is random, and draws weights of a loss."""
    try:
        with RandomCalls() as calls:
            results = sample.call([one.clone() for one in sample.tensors])
        if not results or any(one.layout is not torch.strided or one.is_nested for one in results):
            return False
    except Exception:
        return False
    sample.random = calls.found or UNSET.fullmatch(sample.operator) is not None
    weigh(sample)
    return True


def weigh(sample: Sample) -> None:
    """Draws a weight for every output that has a gradient, and leaves out tensors that get none."""
    try:
        tensors = parameters_of(sample)
        outputs = [one for one in sample.call([one.clone() for one in tensors]) if one.requires_grad]
        shapes = [(*one.shape, 2) if one.is_complex() else one.shape for one in outputs]
        sample.weights = [torch.randn(shape) for shape in shapes]
        if not outputs:
            return
        sample.loss([one.clone() for one in tensors], sample.weights).backward()
        sample.differentiated = [one.grad is not None for one in tensors]
    except Exception:
        sample.weights = []
    if not any(sample.differentiated):
        sample.weights = []


def parameters_of(sample: Sample) -> list[torch.Tensor]:
    pairs = zip(sample.tensors, sample.differentiated, strict=True)
    return [tensor.detach().clone().requires_grad_(wanted) for tensor, wanted in pairs]


# ---- programs ----


class Calls(torch.nn.Module):
    """The samples one after the other; all tensors are inputs."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        super().__init__()
        self.samples = samples

    def forward(self, *tensors: torch.Tensor) -> list[list[torch.Tensor]]:
        given = iter(tensors)
        return [sample.call(list(itertools.islice(given, len(sample.tensors)))) for sample in self.samples]


class Training(torch.nn.Module):
    """The sum of the samples' losses; what gets a gradient is a parameter, the rest and the weights are inputs."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        super().__init__()
        self.samples = samples
        flags = [flag for sample in samples for flag in sample.differentiated]
        tensors = [tensor for sample in samples for tensor in sample.tensors]
        chosen = [tensor.clone() for tensor, flag in zip(tensors, flags, strict=True) if flag]
        self.chosen = torch.nn.ParameterList([torch.nn.Parameter(tensor) for tensor in chosen])

    def given(self) -> tuple[torch.Tensor, ...]:
        given: list[torch.Tensor] = []
        for sample in self.samples:
            pairs = zip(sample.tensors, sample.differentiated, strict=True)
            given += [tensor.clone() for tensor, flag in pairs if not flag] + sample.weights
        return tuple(given)

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        given, parameters = iter(tensors), iter(self.chosen)
        losses = []
        for sample in self.samples:
            own = [next(parameters).clone() if flag else None for flag in sample.differentiated]
            own = [next(given) if one is None else one for one in own]
            losses.append(sample.loss(own, list(itertools.islice(given, len(sample.weights)))))
        return torch.stack(losses).sum()


def case_of(samples: Sequence[Sample], form: str) -> Case:
    """One program of all the samples, and what PyTorch makes of it. Raises what torch.export raises."""
    names = "; ".join(f"{sample.operator} {sample.dtype} #{sample.number}" for sample in samples)
    with seeded(names):
        parts = training_case(samples) if form == "backward" else forward_case(samples, form)
    for tensor in (*parts[1], *parts[2]):
        if tensor is not None and tensor.dtype not in SHORT_NAMES:
            raise ForeignDtypeError(f"{str(tensor.dtype).removeprefix('torch.')} is no dtype of the loops")
    return Case(
        f"{form} {names}",
        samples[0].operator,
        samples[0].dtype,
        *parts,
        runs=not any(sample.random for sample in samples),
    )


def forward_case(samples: Sequence[Sample], form: str) -> tuple[Any, ...]:
    module = Calls(samples)
    inputs = tuple(tensor.clone() for sample in samples for tensor in sample.tensors)
    with torch.no_grad():
        exported = export(module, inputs, {})
        if form == "core":
            exported = exported.run_decompositions()
        values = inputs_of(exported, inputs)
        after = tuple(tensor.clone() for tensor in inputs)
        results = iter(tree_leaves(module(*after)))
    expected: list[torch.Tensor | None] = []
    for spec in exported.graph_signature.output_specs:
        if spec.kind.name == "TOKEN":
            continue
        if spec.kind.name == "USER_INPUT_MUTATION":
            expected.append(after[exported.graph_signature.user_inputs.index(spec.target)])
        else:
            expected.append(next(results))
    return serialise(exported), values, expected, written_by(values, inputs_of(exported, after))


def written_by(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> dict[int, torch.Tensor]:
    """The inputs that a program writes, as they are afterwards."""
    pairs = enumerate(zip(before, after, strict=True))
    return {place: new for place, (old, new) in pairs if bytes_of(old) != bytes_of(new)}


def inputs_of(exported: Any, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    users = iter(given)
    held = {**exported.constants, **exported.state_dict}
    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind.name != "TOKEN"]
    return [next(users) if spec.kind.name == "USER_INPUT" else held[spec.target] for spec in specs]


def training_case(samples: Sequence[Sample]) -> tuple[Any, ...]:
    module = Training(samples)
    inputs = module.given()
    exported, _ = forward_backward(export(module, inputs, {}))
    values = [value.detach().clone() for value in inputs_of(exported, inputs)]
    after = tuple(tensor.clone() for tensor in inputs)
    loss = module(*after)
    loss.backward()
    parameters = dict(module.named_parameters())
    expected = []
    for spec in exported.graph_signature.output_specs:
        if spec.kind.name == "TOKEN":
            continue
        if spec.kind.name == "USER_INPUT_MUTATION":
            expected.append(after[exported.graph_signature.user_inputs.index(spec.target)])
        elif spec.kind.name == "GRADIENT_TO_PARAMETER":
            gradient = parameters[spec.target].grad
            expected.append(torch.zeros_like(parameters[spec.target]) if gradient is None else gradient)
        else:
            expected.append(loss.detach())
    return serialise(exported), values, expected, written_by(values, inputs_of(exported, after))


# ---- how exact PyTorch itself is ----


def widened(sample: Sample) -> Sample:
    """The same call in twice the precision."""
    leaves = [leaf.to(WIDE.get(leaf.dtype, leaf.dtype)) if isinstance(leaf, torch.Tensor) else leaf
              for leaf in sample.leaves]  # fmt: skip
    weights = [weight.double() for weight in sample.weights]
    return Sample(**{**vars(sample), "leaves": leaves, "weights": weights})


def own_error(sample: Sample, form: str) -> float:
    """How far PyTorch's results are from those in twice the precision."""

    def results(one: Sample) -> list[torch.Tensor]:
        with seeded("error"):
            if form != "backward":
                return one.call([tensor.clone() for tensor in one.tensors])
            tensors = parameters_of(one)
            loss = one.loss([tensor.clone() for tensor in tensors], one.weights)
            loss.backward()
            return [loss, *(tensor.grad for tensor in tensors if tensor.grad is not None)]

    worst = 0.0
    for mine, exact in zip(results(sample), results(widened(sample)), strict=True):
        if mine.dtype not in WIDE or exact.dtype != WIDE[mine.dtype]:
            continue
        apart = (mine.detach().to(exact.dtype) - exact.detach()).abs().nan_to_num(0, 0, 0)
        worst = max(worst, float(apart.max()) if apart.numel() else 0.0)
    return worst
