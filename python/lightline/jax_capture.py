"""Captures JAX programs as StableHLO text, which `lightline import` reads.

Nothing is computed: arguments are shapes, and the parameters of Flax modules come from `jax.eval_shape`.
`lightline.capture(function, *inputs)` and `python -m lightline.capture` come here when the program is one of JAX.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lightline.sources import SourceError


@dataclass
class CapturedJax:
    """A program as StableHLO text; `inputs` names the arguments of its main function in order."""

    name: str
    text: str
    inputs: list[dict[str, str]] = field(default_factory=list)

    def artefact(self) -> str:
        """The text behind a comment that names the program and its inputs."""
        return f"// lightline: {json.dumps({'name': self.name, 'inputs': self.inputs})}\n{self.text}"

    def save(self, path: str | Path) -> None:
        """Writes the text, or a corpus line if the name ends in .jsonl."""
        path = Path(path)
        line = {"problem": self.name, "stablehlo": self.artefact()}
        path.write_text(json.dumps(line) + "\n" if path.suffix == ".jsonl" else self.artefact())


@dataclass
class Call:
    """A call to lower: the arrays among its arguments are the program's inputs, everything else is fixed."""

    function: Callable[..., Any]
    arrays: list[Any]
    names: list[str]
    donated: list[bool]

    def concrete(self) -> list[Any]:
        """Fresh arrays of the inputs' values, which a run may overwrite."""
        import jax.numpy as jnp

        return [jnp.array(array) for array in self.arrays]

    def text(self, name: str) -> str:
        """The program as StableHLO, with grouped products as they are."""
        with grouped_products_kept():
            return self.lower(name).as_text()

    def lower(self, name: str) -> Any:
        import jax

        def program(*arrays: Any) -> Any:
            return self.function(*arrays)

        program.__name__ = program.__qualname__ = identifier(name)
        places = tuple(i for i, donated in enumerate(self.donated) if donated)
        return jax.jit(program, keep_unused=True, donate_argnums=places).lower(*self.arrays)


def capture(
    target: Any,
    *inputs: Any,
    name: str | None = None,
    training: bool = False,
    loss: Callable[[Any], Any] | None = None,
    **kwargs: Any,
) -> CapturedJax:
    """Captures a function, a jitted function or a Flax module on example inputs: arrays or jax.ShapeDtypeStruct.

    With `training`, the program is the loss and the gradient for the floating arrays of the first argument (of a
    module: its parameters); `loss` maps the outputs to a scalar (default: the mean squares of all floating outputs).
    """
    label = name or getattr(target, "__name__", None) or type(target).__name__
    call = prepare_step(target, inputs, kwargs, training, loss)
    return with_names(call, label, call.text(label))


def prepare_step(
    target: Any, inputs: tuple, kwargs: dict[str, Any], training: bool, loss: Any = None, seed: int | None = None
) -> Call:
    """The call that a program file stands for; with a seed, a module has real parameters."""
    function, inputs = as_function(target, inputs, kwargs, seed)
    return prepare(with_gradient(function, loss) if training else function, inputs, kwargs)


def with_names(call: Call, label: str, text: str) -> CapturedJax:
    kinds = ["parameter" if "params" in name else "user" for name in call.names]
    inputs = [{"name": name, "kind": kind} for name, kind in zip(call.names, kinds, strict=True)]
    return CapturedJax(label, text, inputs)


@contextlib.contextmanager
def grouped_products_kept() -> Iterator[None]:
    """Lowers `jax.lax.ragged_dot` to the operator of its own that TPUs have: for CPUs, JAX multiplies every row by the
    matrices of all groups. Where this version of JAX has no such rule, nothing changes."""
    try:
        from jax._src.interpreters import mlir
        from jax._src.lax import lax

        product, rules = lax.ragged_dot_general_p, mlir._platform_specific_lowerings
        rule = rules["tpu"][product]
    except (ImportError, AttributeError, KeyError):
        yield
        return
    before = rules["cpu"].get(product)
    rules["cpu"][product] = rule
    try:
        yield
    finally:
        if before is None:
            del rules["cpu"][product]
        else:
            rules["cpu"][product] = before


def identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name) or "program"


# ---- Flax modules ----


def module_kind(target: Any) -> str:
    """The kind, linen or nnx, or nothing, of an object or a class, without importing Flax where nobody has."""
    kind = target if isinstance(target, type) else type(target)
    for base in kind.__mro__:
        if base.__name__ == "Module" and base.__module__.startswith("flax.linen"):
            return "linen"
        if base.__name__ == "Module" and base.__module__.startswith("flax.nnx"):
            return "nnx"
    return ""


def as_function(
    target: Any, inputs: tuple, kwargs: dict[str, Any], seed: int | None = None
) -> tuple[Callable[..., Any], tuple]:
    """A module becomes a function of its parameters and the inputs; without a seed, parameters are shapes only."""
    import jax

    kind = module_kind(target)
    if kind == "linen":
        key = jax.random.PRNGKey(seed or 0)

        def initialise(key: Any, *args: Any) -> Any:
            return target.init(key, *args, **kwargs)

        variables = jax.eval_shape(initialise, key, *inputs) if seed is None else compute(initialise, key, *inputs)
        return (lambda params, *args, **options: target.apply(params, *args, **options)), (variables, *inputs)
    if kind == "nnx":
        from flax import nnx

        definition, state = nnx.split(target)
        return (lambda params, *args, **options: nnx.merge(definition, params)(*args, **options)), (state, *inputs)
    if not callable(target):
        raise SourceError(f"a JAX program is a function or a Flax module, not {type(target).__name__}")
    return target, inputs


def with_gradient(function: Callable[..., Any], loss: Callable[[Any], Any] | None) -> Callable[..., Any]:
    """The training step of `function`: its loss, and the gradient for the floating arrays of the first argument."""
    import jax
    import jax.numpy as jnp

    def is_floating(leaf: Any) -> bool:
        return jnp.issubdtype(leaf.dtype, jnp.floating)

    def scalar(outputs: Any) -> Any:
        if loss is not None:
            return loss(outputs)
        floating = [leaf for leaf in jax.tree.leaves(outputs) if is_floating(leaf)]
        if not floating:
            raise SourceError("a training step needs a floating output; give a loss")
        return sum(jnp.mean(jnp.square(leaf.astype(jnp.float32))) for leaf in floating)

    def step(first: Any, *rest: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten(first)
        moving = [i for i, leaf in enumerate(leaves) if is_floating(leaf)]

        def objective(values: list[Any]) -> Any:
            changed = list(leaves)
            for place, value in zip(moving, values, strict=True):
                changed[place] = value
            return scalar(function(jax.tree.unflatten(tree, changed), *rest, **kwargs))

        return jax.value_and_grad(objective)([leaves[i] for i in moving])

    return step


# ---- arguments ----


def compute(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function that makes values, compiled as a whole and in haste; as it stands if it can not be traced."""
    import jax

    try:
        lowered = jax.jit(function).lower(*arguments)
    except (TypeError, ValueError):  # it needs values, or gives what is not an array
        return function(*arguments)
    return compile_in_haste(lowered)(*arguments)


def compile_in_haste(lowered: Any) -> Any:
    """Compiles for the CPU with little optimisation: programs run once here, and compiling takes most of the time."""
    return lowered.compile(compiler_options={"xla_backend_optimization_level": 0})


def is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def prepare(function: Callable[..., Any], inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Flattens a call. Python numbers are inputs as in `jax.jit`, unless the function can not be traced that way."""
    import jax

    numbers = [leaf for leaf in jax.tree.leaves((inputs, kwargs)) if isinstance(leaf, int | float | complex)]
    call = flatten(function, inputs, kwargs, trace_numbers=True)
    if not numbers:
        return call
    try:
        jax.eval_shape(call.function, *call.arrays)
    except (TypeError, ValueError):  # jax.errors of concrete values are TypeErrors; static arguments raise ValueError
        return flatten(function, inputs, kwargs, trace_numbers=False)
    return call


def flatten(function: Callable[..., Any], inputs: tuple, kwargs: dict[str, Any], trace_numbers: bool) -> Call:
    import jax

    paths, tree = jax.tree_util.tree_flatten_with_path((inputs, kwargs))
    leaves = [leaf for _, leaf in paths]
    is_input = [is_array(leaf) or (trace_numbers and isinstance(leaf, int | float | complex)) for leaf in leaves]
    unwrapped = [key_data(leaf) if given else (leaf, None) for leaf, given in zip(leaves, is_input, strict=True)]

    def call(*arrays: Any) -> Any:
        remaining = iter(arrays)
        values = [
            restore_key(next(remaining), implementation) if given else leaf
            for (leaf, implementation), given in zip(unwrapped, is_input, strict=True)
        ]
        args, options = jax.tree.unflatten(tree, values)
        return jax.tree.map(lambda leaf: key_data(leaf)[0], function(*args, **options))

    positional = positional_names(function, len(inputs))
    names = [argument_name(path, positional) for (path, _), given in zip(paths, is_input, strict=True) if given]
    arrays = [value for (value, _), given in zip(unwrapped, is_input, strict=True) if given]
    return Call(call, arrays, names, donations(function, inputs, kwargs, is_input))


def donations(function: Any, inputs: tuple, kwargs: dict[str, Any], is_input: list[bool]) -> list[bool]:
    """Which arrays a jitted function may overwrite."""
    import jax

    none = [False] * sum(is_input)
    if not hasattr(function, "trace"):
        return none
    try:
        infos = jax.tree.leaves(function.trace(*inputs, **kwargs).args_info)
    except TypeError:
        return none
    return [info.donated for info in infos] if len(infos) == len(none) else none


def key_data(leaf: Any) -> tuple[Any, Any]:
    """A typed random key as the integers it holds, and its implementation; other leaves as they are."""
    import jax

    if not is_array(leaf) or not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf, None
    implementation = leaf.dtype._impl.name
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return jax.eval_shape(jax.random.key_data, leaf), implementation
    return jax.random.key_data(leaf), implementation


def restore_key(value: Any, implementation: str | None) -> Any:
    import jax

    return value if implementation is None else jax.random.wrap_key_data(value, impl=implementation)


def positional_names(function: Any, count: int) -> list[str]:
    """The names of the first `count` parameters, where the signature tells them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [named[i] if i < len(named) else f"argument{i}" for i in range(count)]


def argument_name(path: tuple[Any, ...], positional: list[str]) -> str:
    """params['dense']['kernel'] for a leaf of an argument."""
    import jax

    which, argument, *rest = path
    name = positional[argument.idx] if which.idx == 0 else argument.key
    return name + jax.tree_util.keystr(tuple(rest))


# ---- jax.export artefacts ----


def read_export(path: Path) -> CapturedJax:
    """The StableHLO text inside a file that holds `jax.export.export(f)(...).serialize()`."""
    from jax import export

    try:
        exported = export.deserialize(bytearray(path.read_bytes()))
        text = str(exported.mlir_module())
    except (OSError, ImportError) as error:  # reading an export takes the package flatbuffers
        raise SourceError(str(error)) from error
    except Exception as error:
        raise SourceError(f"{path} is not what jax.export serialises: {type(error).__name__}: {error}") from error
    return CapturedJax(
        exported.fun_name, text, [{"name": f"arg{i}", "kind": "user"} for i in range(len(exported.in_avals))]
    )
