"""What all messages need."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from xla_lens.model.checks.findings import Code
from xla_lens.render.numbers import shortened

Facts: TypeAlias = Mapping[str, int | str]
"""The numbers and names of a finding."""

Wording: TypeAlias = Mapping[Code, Callable[[Facts], str]]
"""For each code what its findings say."""

_WIDEST_SHAPE: Final = 80


def shape_text(text: int | str) -> str:
    """A shape, or as much of it as a message has room for."""
    return shortened(str(text), _WIDEST_SHAPE)
