"""Trace a function of jax again as if its source were changed: functions in `jax.checkpoint`, the batch in parts.

Names are replaced while the function is traced, and restored. Nothing runs, and jax keeps the traces apart from those
of the function itself.
"""

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

from xla_lens.trying.changes import Change, Checkpoint
from xla_lens.trying.process import CannotTry

_TRANSFORMATIONS: Final = (
    *(("jax", name) for name in ("grad", "value_and_grad", "vjp", "linearize", "vmap")),
    *(("jax.lax", name) for name in ("scan", "map")),
)
"""Functions of jax that call their first argument. Through them, also local functions are found."""

_GRADIENTS: Final = ("grad", "value_and_grad")


@contextmanager
def retracing(change: Change) -> Iterator[None]:
    """Trace with the changes of the source inside a `with` block. Raises `CannotTry` at its end if a function that is
    to be changed was not called.
    """
    done: set[object] = set()
    with ExitStack() as stack:
        stack.enter_context(_fresh_traces())
        for checkpoint in change.checkpoints:
            mark = functools.partial(done.add, checkpoint)
            wrap = functools.partial(_checkpointed, policy=_policy(checkpoint), mark=mark)
            for holder, name, function in _bindings(checkpoint.function):
                stack.enter_context(patch.object(holder, name, wrap(function)))
        for module, name in _TRANSFORMATIONS:
            real = getattr(sys.modules[module], name)
            replaced = _changing(real, change, done.add, is_gradient=name in _GRADIENTS)
            stack.enter_context(patch.object(sys.modules[module], name, replaced))
        yield
    for checkpoint in change.checkpoints:
        if checkpoint not in done:
            raise CannotTry(f"`{checkpoint.function}` is not called through a name that can be replaced")
    if change.microbatches and _MICROBATCHES not in done:
        raise CannotTry("while the function is traced, the batch is no argument of one that `jax.grad` differentiates")


_COUNTER: Final = itertools.count(1)
_CONTEXTS: list[Any] = []


@contextmanager
def _fresh_traces() -> Iterator[None]:
    """Have jax trace everything anew in a block: it keeps what it has traced by the functions and by its settings."""
    import jax

    if not hasattr(jax, "make_user_context"):
        # Releases before 0.8
        jax.clear_caches()
        try:
            yield
        finally:
            jax.clear_caches()
        return
    if not _CONTEXTS:
        _CONTEXTS.append(jax.make_user_context(0))
    with _CONTEXTS[0](next(_COUNTER)):
        yield


def _policy(checkpoint: Checkpoint) -> Any:
    import jax

    if checkpoint.policy is None:
        return None
    policy = getattr(jax.checkpoint_policies, checkpoint.policy, None)
    if policy is None:
        raise CannotTry(f"this release of jax has no policy {checkpoint.policy}")
    return policy


# ---------------------------------------------------------------- functions by their names


def _bindings(qualified_name: str) -> list[tuple[Any, str, Any]]:
    """What holds a function of the program under a name: modules, also those that import it, and classes. A function
    inside of another has no such name.
    """
    if "<" in qualified_name:
        return []
    first, *path = qualified_name.split(".")
    found: dict[tuple[int, str], tuple[Any, str, Any]] = {}
    modules = [module for module in list(sys.modules.values()) if _is_of_user(module)]
    functions = set[int]()
    for module in modules:
        holder: Any = module
        for name in (first, *path)[:-1]:
            holder = vars(holder).get(name) if isinstance(holder, ModuleType | type) else None
        name = (first, *path)[-1]
        function = vars(holder).get(name) if isinstance(holder, ModuleType | type) else None
        if callable(function) and getattr(function, "__qualname__", None) == qualified_name:
            functions.add(id(function))
            found[id(holder), name] = holder, name, function
    # The same function may have been imported under another name.
    for module in modules:
        for name, value in list(vars(module).items()):
            if id(value) in functions:
                found[id(module), name] = module, name, value
    return [*found.values()]


_LIBRARIES: Final = frozenset({"jax", "jaxlib", "numpy", "xla_lens"})


def _is_of_user(module: Any) -> bool:
    name = getattr(module, "__name__", "")
    is_plain = isinstance(module, ModuleType) and isinstance(getattr(module, "__dict__", None), dict)
    return is_plain and name.partition(".")[0] not in _LIBRARIES and name not in sys.builtin_module_names


# ---------------------------------------------------------------- changes


_MARK: Final = "_xla_lens_is_changed"
_MICROBATCHES: Final = "microbatches"


def _changing(real: Any, change: Change, mark: Callable[[object], None], *, is_gradient: bool) -> Any:
    """A function of jax that changes the function that it is given, if that is to be changed."""

    @functools.wraps(real)
    def changing(function: Any, *args: Any, **kwargs: Any) -> Any:
        for checkpoint in change.checkpoints:
            is_meant = getattr(inspect.unwrap(function), "__qualname__", None) == checkpoint.function
            if callable(function) and is_meant and not hasattr(function, _MARK):
                function = _checkpointed(function, _policy(checkpoint), functools.partial(mark, checkpoint))
        found = real(function, *args, **kwargs)
        if is_gradient and change.microbatches:
            arguments = inspect.signature(real).bind(function, *args, **kwargs).arguments
            found = _in_parts(found, arguments.get("argnums", 0), change, mark)
        return found

    return changing


def _checkpointed(function: Any, policy: Any, mark: Callable[[], None]) -> Any:
    """A function in `jax.checkpoint`, which takes only arrays: the other arguments and results pass around it."""
    import jax

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        mark()
        given, tree = jax.tree.flatten((args, kwargs))
        outcome: list[Any] = []

        def of_arrays(*arrays: Any) -> Any:
            arguments, named = jax.tree.unflatten(tree, _merged(given, arrays))
            results, result_tree = jax.tree.flatten(function(*arguments, **named))
            outcome[:] = [None if _is_array(leaf) else leaf for leaf in results], result_tree
            outcome.append([_is_array(leaf) for leaf in results])
            return [leaf for leaf in results if _is_array(leaf)]

        arrays = iter(jax.checkpoint(of_arrays, policy=policy)(*filter(_is_array, given)))
        others, result_tree, are_arrays = outcome
        merged = [next(arrays) if is_array else leaf for leaf, is_array in zip(others, are_arrays, strict=True)]
        return jax.tree.unflatten(result_tree, merged)

    setattr(wrapper, _MARK, True)
    return wrapper


def _is_array(leaf: Any) -> bool:
    import jax
    import numpy as np

    return isinstance(leaf, jax.Array | np.ndarray)


def _merged(leaves: list[Any], arrays: Collection[Any]) -> list[Any]:
    """Leaves with other arrays in the place of theirs."""
    remaining = iter(arrays)
    return [next(remaining) if _is_array(leaf) else leaf for leaf in leaves]


def _in_parts(gradient: Any, argnums: Any, change: Change, mark: Callable[[object], None]) -> Any:
    """A gradient that goes through the batch in parts, one after another, and adds up what comes of them. The batch is
    a dimension of the largest argument that is not differentiated, those of integers before others.
    """
    import jax
    import jax.numpy as jnp

    differentiated = {argnums} if isinstance(argnums, int) else {*argnums}
    parts, dimension = change.microbatches or 1, change.batch_dimension

    @functools.wraps(gradient)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        others = [argument for number, argument in enumerate(args) if number not in differentiated]
        leaves, tree = jax.tree.flatten((others, kwargs))
        given = filter(_is_array, leaves)
        arrays = [leaf for leaf in given if leaf.ndim > dimension and leaf.dtype != jax.dtypes.float0]
        if not arrays:
            return gradient(*args, **kwargs)
        largest = max(arrays, key=lambda leaf: (jnp.issubdtype(leaf.dtype, jnp.integer), leaf.size))
        batch = largest.shape[dimension]
        if batch % parts:
            return gradient(*args, **kwargs)
        mark(_MICROBATCHES)
        are_divided = [_is_array(leaf) and leaf.ndim > dimension and leaf.shape[dimension] == batch for leaf in leaves]
        divided = [leaf for leaf, is_divided in zip(leaves, are_divided, strict=True) if is_divided]
        size = batch // parts

        def of_part(part: Any) -> Any:
            arrays = iter(part)
            both = zip(leaves, are_divided, strict=True)
            merged = [next(arrays) if is_divided else leaf for leaf, is_divided in both]
            rest, named = jax.tree.unflatten(tree, merged)
            remaining = iter(rest)
            arguments = [args[number] if number in differentiated else next(remaining) for number in range(len(args))]
            return gradient(*arguments, **named)

        def part_of(leaf: Any, number: Any) -> Any:
            if not change.is_sharded:
                # Another dimension than the first one would be moved there, which copies the whole batch.
                return jax.lax.dynamic_slice_in_dim(leaf, number * size, size, dimension)
            # Of neighboring examples, those of one device, all devices would compute the whole part.
            before, after = leaf.shape[:dimension], leaf.shape[dimension + 1 :]
            apart = leaf.reshape(*before, size, parts, *after)
            return jax.lax.dynamic_index_in_dim(apart, number, dimension + 1, keepdims=False)

        def of_number(number: Any) -> Any:
            return of_part([part_of(leaf, number) for leaf in divided])

        def body(total: Any, number: Any) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, of_number(number)), None

        shapes = jax.eval_shape(of_number, 0)
        zeros = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
        total = jax.lax.scan(body, zeros, jnp.arange(parts))[0]
        return jax.tree.map(lambda leaf: (leaf / parts).astype(leaf.dtype), total)

    return wrapper
