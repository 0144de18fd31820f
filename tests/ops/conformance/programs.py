"""Programs as torch.export writes them: one call of an operator, or a small module."""

from __future__ import annotations

import copy
import json
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from specs import F64, I64, draw
from torch._export.serde import serialize as serde
from torch.export.graph_signature import ExportGraphSignature


def find_operator(target: str) -> torch._ops.OpOverload:
    """aten.add.Tensor, or aten.relu for its default overload."""
    namespace, name, *overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload[0] if overload else "default")


def in_place_form(target: str) -> str | None:
    namespace, name, *overload = target.split(".")
    if name.endswith("_") or not hasattr(getattr(torch.ops, namespace), name + "_"):
        return None
    packet = getattr(getattr(torch.ops, namespace), name + "_")
    wanted = overload[0] if overload else "default"
    return ".".join([namespace, name + "_", wanted]) if wanted in packet.overloads() else None


# The program, its inputs, its outputs, and the inputs it writes as they are afterwards.
Program = tuple[dict[str, Any], list[torch.Tensor], list[torch.Tensor | None], dict[int, torch.Tensor]]


def _without_trailing_defaults(
    schema: torch.FunctionSchema, args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """As torch.export leaves out arguments that equal their defaults."""

    def is_default(argument: torch._C.Argument, value: Any) -> bool:
        plain = not isinstance(value, torch.Tensor | list | tuple)
        return (
            plain
            and argument.has_default_value()
            and type(argument.default_value) is type(value)
            and argument.default_value == value
        )

    by_name = {argument.name: argument for argument in schema.arguments}
    kwargs = {name: value for name, value in kwargs.items() if not is_default(by_name[name], value)}
    while args and is_default(schema.arguments[len(args) - 1], args[-1]):
        args = args[:-1]
    return args, kwargs


class _GraphBuilder:
    """An fx graph of a few nodes, and what torch.export's own serializer makes of it."""

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.inputs: list[torch.Tensor] = []
        self.placeholders: list[torch.fx.Node] = []

    def placeholders_for(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            node = self.graph.placeholder(f"x{len(self.inputs)}")
            node.meta["val"] = value
            self.inputs.append(value.clone())
            self.placeholders.append(node)
            return node
        if isinstance(value, list | tuple):
            return [self.placeholders_for(item) for item in value]
        return value

    def call(self, op: torch._ops.OpOverload, args: Sequence[Any], kwargs: dict[str, Any], value: Any) -> torch.fx.Node:
        node = self.graph.call_function(op, tuple(args), kwargs)
        node.meta["val"] = value
        return node

    def item(self, node: torch.fx.Node, index: int, value: Any) -> torch.fx.Node:
        got = self.graph.call_function(operator.getitem, (node, index))
        got.meta["val"] = value
        return got

    def program(self, outputs: Sequence[torch.fx.Node | None]) -> dict[str, Any]:
        self.graph.output(tuple(outputs))
        serializer = serde.GraphModuleSerializer(ExportGraphSignature([], []), [])
        for node in self.graph.nodes:
            getattr(serializer, f"handle_{node.op}")(node)
        state = serializer.graph_state
        graph = serde.Graph(
            inputs=state.inputs,
            outputs=state.outputs,
            nodes=state.nodes,
            tensor_values=state.tensor_values,
            sym_int_values=state.sym_int_values,
            sym_float_values=state.sym_float_values,
            sym_bool_values=state.sym_bool_values,
            custom_obj_values=state.custom_obj_values,
            is_single_tensor_return=False,
        )
        plain = json.loads(serde._to_json_bytes(graph))
        return {
            "graph_module": {
                "graph": plain,
                "signature": {
                    "input_specs": [{"user_input": {"arg": argument}} for argument in plain["inputs"]],
                    "output_specs": [{"user_output": {"arg": argument}} for argument in plain["outputs"]],
                },
                "module_call_graph": [],
            },
            "opset_version": {"aten": 10},
            "range_constraints": {},
            "schema_version": {"major": serde.SCHEMA_VERSION[0], "minor": serde.SCHEMA_VERSION[1]},
            "verifiers": ["TRAINING"],
            "torch_version": torch.__version__,
        }


def one_node(
    op: torch._ops.OpOverload,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    dtype: torch.dtype,
    through_view: bool,
    expect_same: bool,
) -> Program | None:
    """The program of one call. `expect_same`: an in-place form nobody asked for; None where PyTorch refuses it."""
    schema = op._schema
    drawn = [draw(value, dtype) for value in args]
    drawn_kwargs = {name: draw(value, dtype) for name, value in kwargs.items()}
    builder = _GraphBuilder()
    first_node = base = None
    if through_view and not isinstance(drawn[0], torch.Tensor):
        return None
    if through_view:
        # the tensor that is written is every second element of the input
        base = torch.stack([torch.zeros_like(drawn[0]), drawn[0]], dim=-1)
        placeholder = builder.placeholders_for(base)
        drawn[0] = torch.ops.aten.select.int(base, -1, 1)
        first_node = builder.call(torch.ops.aten.select.int, (placeholder, -1, 1), {}, drawn[0])
    drawn, drawn_kwargs = _without_trailing_defaults(schema, drawn, drawn_kwargs)
    nodes = [first_node if first_node and i == 0 else builder.placeholders_for(value) for i, value in enumerate(drawn)]
    node_kwargs = {name: builder.placeholders_for(value) for name, value in drawn_kwargs.items()}
    try:
        with torch.no_grad():
            result = op(*drawn, **drawn_kwargs)
    except RuntimeError:
        if expect_same:
            return None
        raise
    node = builder.call(op, nodes, node_kwargs, result)
    outputs: list[torch.fx.Node | None] = []
    expected: list[torch.Tensor | None] = []

    def collect(value: Any, produced: torch.fx.Node) -> None:
        if isinstance(value, list | tuple):
            for i, item in enumerate(value):
                if item is not None:
                    collect(item, builder.item(produced, i, item))
        else:
            outputs.append(produced)
            expected.append(_as_tensor(value))

    collect(result, node)
    after = [placeholder.meta["val"] for placeholder in builder.placeholders]
    return builder.program(outputs), builder.inputs, expected, _changed(builder.inputs, after)


def _changed(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> dict[int, torch.Tensor]:
    pairs = enumerate(zip(before, after, strict=True))
    return {i: new for i, (old, new) in pairs if bytes_of(old) != bytes_of(new)}


def bytes_of(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _as_tensor(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, bool):
        return torch.tensor(value)
    return torch.tensor(value, dtype=I64 if isinstance(value, int) else F64)


class _Wrapped(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def exported(
    function: Callable[..., Any] | torch.nn.Module, specs: Sequence[Any], dtype: torch.dtype, form: str
) -> Program:
    module = copy.deepcopy(function) if isinstance(function, torch.nn.Module) else _Wrapped(function)
    module = module.to(dtype) if dtype.is_floating_point else module
    inputs = tuple(draw(spec, dtype) for spec in specs)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(module, inputs)
        if form == "core":
            exported = exported.run_decompositions()
        program = json.loads(serde.serialize(exported, serialize_example_inputs=False).exported_program)
    users = _tensors_in(inputs)
    user_names = exported.graph_signature.user_inputs
    state = {**exported.state_dict, **exported.constants}
    given = []
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name == "TOKEN":
            continue
        is_user = spec.kind is torch.export.graph_signature.InputKind.USER_INPUT
        is_buffer = spec.kind is torch.export.graph_signature.InputKind.BUFFER and spec.persistent is not None
        if is_user:
            given.append(users[user_names.index(spec.arg.name)])
        else:
            given.append(module.get_buffer(spec.target) if is_buffer else state[spec.target])
    values = [value.detach().clone() for value in given]
    with torch.no_grad():
        leaves = torch.utils._pytree.tree_leaves(module(*inputs))
        results = iter([_as_tensor(leaf) for leaf in leaves if leaf is not None])
    expected: list[torch.Tensor | None] = []
    for spec in exported.graph_signature.output_specs:
        if spec.kind.name == "TOKEN":
            continue
        if spec.kind.name == "USER_INPUT_MUTATION":
            expected.append(users[user_names.index(spec.target)])
        elif spec.kind.name == "BUFFER_MUTATION":
            expected.append(module.get_buffer(spec.target))
        else:
            expected.append(next(results))
    return program, values, expected, _changed(values, given)


def _tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
