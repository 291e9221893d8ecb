"""Words that several hovers share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.command_links import CommandLinks
from xla_lens.render.markdown import code
from xla_lens.render.numbers import human
from xla_lens.syntax.columns import Column
from xla_lens.syntax.file_names import FileKind

LONGEST_LIST: Final = 8
"""Maximum number of values in a list of a hover."""

LONGEST_SHAPE: Final = 160
"""Maximum number of characters of a shape."""

_MISSING: Final = {
    FileKind.BUFFER_ASSIGNMENT: "buffer assignment (`-buffer-assignment.txt`): size and placement are unknown",
    FileKind.VALUES: "values (`-buffer-assignment-values.txt`): positions, uses and instructions are unknown",
    FileKind.LIVE_RANGE: "live ranges (`-live-range.txt` since 2026): lifetimes are unknown",
}


@dataclass(frozen=True, slots=True)
class Context:
    """The set that a hover is about, its HLO module, the links that the editor follows, and a function that returns one
    more line about a value, a row of `DumpSet.values`, for below the title.
    """

    analysis: Analysis
    module: HloModule | None
    links: CommandLinks
    note: Callable[[int], str | None]


def missing_lines(dump: DumpSet) -> Iterator[str]:
    """Yield the files that the dump set lacks."""
    yield from (f"- the dump set lacks the {_MISSING[kind]}" for kind in dump.missing)


def largest(dump: DumpSet, values: Column) -> list[str]:
    """Return the names and sizes of the largest of some values, rows of `DumpSet.values`, largest first."""
    order = np.argsort(-dump.values.size_bytes[values], kind="stable")
    shown = values[order[:LONGEST_LIST]].tolist()
    return [f"{code(dump.value_label(value))} {human(int(dump.values.size_bytes[value]))}" for value in shown]


def exact_bytes(size_bytes: int) -> str:
    """Return the bytes of a size that is shown in another unit: ``2,048 B``. Empty if the unit is bytes."""
    return f"{size_bytes:,} B" if size_bytes >= 1024 else ""
