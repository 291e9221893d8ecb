"""What op_names say about instructions.

JAX marks the backward pass in op_names with ``transpose(``, TensorFlow with ``gradient_tape/`` or ``gradients/``.
"""

from collections.abc import Sequence
from typing import Final

from xla_lens.text.patterns import lazy_pattern


def is_backward(op_name: str | None) -> bool:
    """Return whether an op_name belongs to the backward pass. The outermost mark of JAX decides: where a loss has a
    gradient in it, all of that belongs to the forward pass of the loss.
    """
    return op_name is not None and _BACKWARD.match(op_name) is not None


def is_nested(op_name: str | None) -> bool:
    """Return whether an op_name of the forward pass belongs to a derivative within what is differentiated. XLA joins
    the op_names of instructions that it merges.
    """
    parts = op_name.split(";") if op_name is not None and not is_backward(op_name) else ()
    return any(part.count(_FORWARD_MARK) > 1 for part in parts)


def is_differentiated(op_name: str | None) -> bool:
    """Return whether an op_name of JAX belongs to what it differentiates: the forward or the backward pass."""
    return op_name is not None and _DIFFERENTIATED.search(op_name) is not None


def is_marked(op_name: str) -> bool:
    """Return whether an op_name tells that the program differentiates something."""
    return is_differentiated(op_name) or is_backward(op_name)


def is_forward(op_name: str | None) -> bool:
    """Return whether an op_name of JAX belongs to the forward pass of what it differentiates."""
    return is_differentiated(op_name) and not is_backward(op_name)


def is_computed_again(op_name: str | None) -> bool:
    """Return whether an op_name belongs to what `jax.checkpoint` computes again in the backward pass."""
    return op_name is not None and _AGAIN in op_name


def is_in_checkpoint(op_name: str) -> bool:
    """Return whether an op_name of the backward pass belongs to a function that `jax.checkpoint` wraps."""
    return _CHECKPOINT in op_name


def is_random(op_name: str | None) -> bool:
    """Return whether an op_name belongs to what draws random numbers in JAX, such as the mask of a dropout."""
    return op_name is not None and any(part in op_name for part in (*RANDOM_BITS, _RANDOM_MASK))


def unmarked(op_name: str) -> str:
    """Return an op_name without the marks of passes and of `jax.checkpoint`: the same for an operation of the forward
    pass and for its backward pass.
    """
    return _MARKS.sub("", op_name.replace(_AGAIN, "/").replace(_CHECKPOINT, "/"))


def folded(op_name: str | None) -> str | None:
    """Return an op_name with ``*`` in place of the numbers of layers."""
    return _LAYER.sub("*", op_name) if op_name is not None else None


def common_name(op_names: Sequence[str | None]) -> str | None:
    """Return what some op_names of layers have in common, with ``*`` in place of the numbers in which they differ."""
    first = op_names[0]
    split = {tuple(_NUMBER.split(name)) for name in op_names if name is not None}
    if first is None or len({parts[::2] for parts in split}) != 1:
        return folded(first)
    return "".join(column[0] if len({*column}) == 1 else "*" for column in zip(*split, strict=True))


RANDOM_BITS: Final = ("threefry", "random_bits", "/iota_2x32_shape", "jit(_uniform)")
"""Parts of the op_names of what draws random numbers by arithmetic."""

BACKWARD_WITHIN: Final = lazy_pattern(r"^(?:(?!transpose\().)*?jvp\(.*transpose\(")
"""The op_names of a backward pass within the forward pass of a loss."""

GRADIENT_WITHIN: Final = lazy_pattern(r"^(?!.*vmap\()(?:(?!transpose\().)*?jvp\(.*transpose\(")
"""Those of a gradient of several examples together: no `vmap` maps it over them."""

KEPT_BY_POLICY: Final = "/reduce_precision"
"""How the op_name of a value ends that a policy of `jax.checkpoint` keeps: JAX rounds it to the type that it has."""

_CHECKPOINT: Final = "/checkpoint/"
_MARKS: Final = lazy_pattern(r"transpose\(|jvp\(|\)")
_AGAIN: Final = "/rematted_computation/"
_RANDOM_MASK: Final = "jit(_bernoulli)"
_DIFFERENTIATED: Final = lazy_pattern(r"jvp\(|transpose\(")
_FORWARD_MARK: Final = "jvp("
_BACKWARD: Final = lazy_pattern(r"(?:(?!jvp\().)*?(?:transpose\(|\bgradient_tape/|\bgradients/)")
_NUMBER: Final = lazy_pattern(r"(\d+)")
_LAYER: Final = lazy_pattern(r"(?<=[_.\[])[0-9]+(?=[\]/)_.']|$)")
