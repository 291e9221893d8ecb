"""Findings in words.

A message says what is wrong, with both numbers, then what it implies. The table in `xla_lens.model.checks.problems` has
the message of each problem with its facts as replacement fields: `{name}` shows a fact as it is, `{count:# row|# rows}`
one of the texts before and after the bar, by number, with the number in place of `#`. If there are three texts, the
first is for none. Other words after the colon are in `_FORMS`, or format specifications of Python, as in `{offset:,}`.
"""

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from string import Formatter
from typing import Any, Final

from xla_lens.model.checks.problems import Finding
from xla_lens.model.tables.backend import SpaceId
from xla_lens.text.document import Span
from xla_lens.words.numbers import apart, differing_parts, exact, exact_as_given, human, shortened


def message(finding: Finding) -> str:
    """The message of a finding: plain text on one line, with names in backticks."""
    problem, facts = finding.problem.kind, finding.problem.facts
    template = next((other for name, other in problem.if_empty if not facts[name]), problem.message)
    return worded(template, {**facts, **dict(_differing(facts))})


_COMPARED: Final = (("shape", "other_shape"), ("printed", "expected"))
"""Facts that differ from each other."""


def _differing(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the facts that are two different texts, cut to the part that differs."""
    for first, second in _COMPARED:
        one, other = facts.get(first), facts.get(second)
        if isinstance(one, str) and isinstance(other, str):
            yield from zip((first, second), differing_parts(one, other, _WIDEST_SHAPE), strict=True)


def worded(template: str, facts: Mapping[str, Any]) -> str:
    """Return a text with facts in place of its replacement fields."""
    return _WORDS.vformat(template, (), facts)


class _Words(Formatter):
    """Words facts as messages ask for."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" in format_spec:
            *none, one, many = format_spec.split("|")
            text = none[0] if none and not value else one if value == 1 else many
            return text.replace("#", f"{value:,}")
        return _FORMS[format_spec](value) if format_spec in _FORMS else format(value, format_spec)


_WORDS: Final = _Words()

_WIDEST_SHAPE: Final = 80


def _byte_count(number: int) -> str:
    """A number of bytes, not rounded."""
    return f"{number:,} byte{'' if number == 1 else 's'}"


def _byte_range(span: Span) -> str:
    """The bytes from the first up to, not including, the second."""
    start, end = span
    return f"byte {start:,}" if end == start + 1 else f"bytes {start:,}\N{EN DASH}{end - 1:,}"


def _steps(span: Span) -> str:
    """One step or a range of steps, both ends included."""
    first, last = span
    return f"step {first}" if first == last else f"steps {first}\N{EN DASH}{last}"


def _numbered_space(space: SpaceId) -> str:
    """The name of a memory space with its number, as that is what dumps print: VMEM (memory space 1)."""
    name, number = space.name, f"memory space {space.color}"
    return number if name == number else f"{name} ({number})"


_FORMS: Final[dict[str, Callable[[Any], str]]] = {
    "apart": lambda sizes: apart(*sizes),
    "backend": str.upper,
    "byte range": _byte_range,
    "bytes": _byte_count,
    "human": human,
    "list": " and ".join,
    "less or more": lambda size_bytes: f"{human(abs(size_bytes))} {'less' if size_bytes < 0 else 'more'}",
    "limit": exact_as_given,
    "percent": lambda fraction: f"{100 * fraction:.1f} %",
    "shape": lambda text: f"`{shortened(text, _WIDEST_SHAPE)}`",
    "size": exact,
    "space": _numbered_space,
    "space name": attrgetter("name"),
    "steps": _steps,
}
"""How messages show facts that are more than a number or a name."""
