"""What op_names say about instructions.

JAX marks the backward pass in op_names with ``transpose(``, TensorFlow with ``gradient_tape/`` or ``gradients/``.
"""

import re
from typing import Final


def is_backward(op_name: str | None) -> bool:
    """Return whether an op_name belongs to the backward pass."""
    return op_name is not None and _BACKWARD.search(op_name) is not None


def is_differentiated(op_name: str | None) -> bool:
    """Return whether an op_name of JAX belongs to what it differentiates: the forward or the backward pass."""
    return op_name is not None and _DIFFERENTIATED.search(op_name) is not None


def is_computed_again(op_name: str | None) -> bool:
    """Return whether an op_name belongs to what `jax.checkpoint` computes again in the backward pass."""
    return op_name is not None and _AGAIN in op_name


_AGAIN: Final = "/rematted_computation/"
_DIFFERENTIATED: Final = re.compile(r"jvp\(|transpose\(")
_BACKWARD: Final = re.compile(r"transpose\(|(?:^|/)gradient_tape/|(?:^|/)gradients/")
