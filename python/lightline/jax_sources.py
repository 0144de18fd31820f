"""JAX program files: a `.py` file with `program` and `inputs`.

    def program(params, x): ...      # a function, a jitted function, or a Flax module (an instance, or a class)
    def inputs(key): ...             # the arguments: a tuple, or a dict of keywords; it may also take `seed` or nothing

A Flax module class may be called `Model` instead, and takes what `get_init_inputs()` gives, as in the PyTorch files;
`get_inputs` is another name for `inputs`. See docs/jax.md.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from lightline.jax_capture import compute, module_kind
from lightline.sources import Program, SourceError, import_file

FRAMEWORKS = {"jax": "jax", "flax": "jax", "optax": "jax", "equinox": "jax", "haiku": "jax", "torch": "torch"}


def framework_of_file(path: Path) -> str:
    """The framework that a file imports first, by its text alone; "torch" where it imports neither."""
    try:
        tree = ast.parse(path.read_text(), str(path))
    except FileNotFoundError as error:
        raise SourceError(f"no such file: {path}") from error
    except OSError as error:
        raise SourceError(f"can not read {path}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise SourceError(f"{path} is not Python: {error}") from error
    imported: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            imported += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            imported.append(node.module)
    found = [FRAMEWORKS[name.partition(".")[0]] for name in imported if name.partition(".")[0] in FRAMEWORKS]
    return found[0] if found else "torch"


def framework_of_module(module: ModuleType) -> str:
    """The same for a module that is imported: what its top-level names come from."""
    for value in vars(module).values():
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
        framework = FRAMEWORKS.get(str(home).partition(".")[0])
        if framework:
            return framework
    return "torch"


def load_file(path: Path, scale: float, fake: bool, seed: int) -> Program:
    module = import_file(path, scale)
    target = getattr(module, "program", None) or getattr(module, "Model", None)
    inputs = getattr(module, "inputs", None) or getattr(module, "get_inputs", None)
    if target is None or inputs is None:
        missing = "program" if target is None else "inputs"
        raise SourceError(f"{path} has no '{missing}'; a JAX file needs a function program and a function inputs")
    arguments = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    return assemble(path.stem, target, arguments, inputs, fake, seed)


def load_function(name: str, function: Any, inputs: Callable[..., Any], fake: bool, seed: int) -> Program:
    return assemble(name, function, [], inputs, fake, seed)


def assemble(name: str, target: Any, arguments: Any, inputs: Callable[..., Any], fake: bool, seed: int) -> Program:
    given = make_inputs(inputs, fake, seed)
    if isinstance(target, type) and module_kind(target):
        target = make_module(target, arguments, fake, seed)
    if isinstance(given, dict):
        return Program(name, target, (), given, framework="jax")
    # a NamedTuple, such as an optimiser's state, is one argument
    return Program(name, target, tuple(given) if type(given) in (tuple, list) else (given,), framework="jax")


def make_inputs(inputs: Callable[..., Any], fake: bool, seed: int) -> Any:
    """Calls `inputs`; with `fake`, for the shapes of what it would give, where it can be traced."""
    import jax

    parameters = list(inspect.signature(inputs).parameters.values())
    if not parameters or parameters[0].default is not inspect.Parameter.empty:
        make, arguments = inputs, ()
    elif parameters[0].name == "seed":
        make, arguments = (lambda: inputs(seed)), ()
    else:
        make, arguments = inputs, (jax.random.PRNGKey(seed),)
    if fake:
        try:
            return jax.eval_shape(make, *arguments)
        except (TypeError, ValueError):  # it needs values, or gives what is not an array
            pass
    return compute(make, *arguments)


def make_module(kind: type, arguments: Any, fake: bool, seed: int) -> Any:
    """An instance of a Flax class; the parameters of an nnx module are shapes only with `fake`."""
    positional, named = ((), arguments) if isinstance(arguments, dict) else (tuple(arguments), {})
    if module_kind(kind) == "linen":
        return kind(*positional, **named)
    from flax import nnx

    def construct() -> Any:
        return kind(*positional, **named, rngs=nnx.Rngs(seed))

    return nnx.eval_shape(construct) if fake else construct()
