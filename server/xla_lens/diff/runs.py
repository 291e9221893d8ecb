"""What modules need in several runs: as blocks."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from xla_lens.blocks.blocks import Name, Outline, Role, Section, Text, table
from xla_lens.diff.words import change_text, grown_text
from xla_lens.model.diff.breakdowns import Pair
from xla_lens.words.numbers import counted, human, sparkline


class RunOfModule(Struct, frozen=True):
    """A module in one run, if that has it: what it needs of the default memory space and its peak there, None if
    unknown, and the source line or argument with most bytes at the peak.
    """

    has_module: bool = False
    needed_bytes: int | None = None
    peak_live_bytes: int | None = None
    line: str | None = None
    line_bytes: int | None = None


class ModuleInRuns(Struct, frozen=True):
    """A module in all runs."""

    name: str
    runs: tuple[RunOfModule, ...]

    @property
    def needed_bytes(self) -> list[int]:
        """What it needs in the runs in which that is known."""
        return [run.needed_bytes for run in self.runs if run.needed_bytes is not None]

    @property
    def is_unchanged(self) -> bool:
        """Whether all runs have the module, with the same sizes."""
        return len({(run.has_module, run.needed_bytes, run.peak_live_bytes) for run in self.runs}) == 1


def runs_outline(modules: Sequence[ModuleInRuns], labels: Sequence[str], top: int) -> Outline:
    """Return a table of the runs for each of the first `top` modules that changed, or for a module that is alone."""
    shown = [module for module in modules if not module.is_unchanged or len(modules) == 1]
    same, more = len(modules) - len(shown), len(shown) - len(shown[:top])
    counts = ((same, "with the same sizes in all runs"), (more, "that changed and need less"))
    answer = tuple(f"{counted(count, 'more module')} {words}." for count, words in counts if count)
    parts = tuple((_section(module, labels),) for module in shown[:top])
    return Outline(f"{counted(len(modules), 'module')} in {counted(len(labels), 'run')}", (), parts, answer)


def _section(module: ModuleInRuns, labels: Sequence[str]) -> Section:
    known, last, words = module.needed_bytes, module.runs[-1].needed_bytes, ""
    if last is not None:
        words = f": needs {grown_text(Pair(known[0], last), '{} as before' if len(known) > 1 else '{}')}"
    titles = "needs | change | peak | <run | <most bytes at the peak"
    changes = ("", *(_change(*pair) for pair in pairwise(run.needed_bytes for run in module.runs)))
    rows = zip(module.runs, changes, labels, strict=True)
    return Section(
        (Name(module.name), f"{words}{_trend(known)}"), (table(titles, (tuple(_cells(*row)) for row in rows)),)
    )


def _trend(sizes: Sequence[int]) -> str:
    """The course of sizes as bars, the lowest for the least of them; empty if they are equal."""
    least, most = min(sizes, default=0), max(sizes, default=0)
    span = most - least
    return f"  {sparkline((8 * (size - least) + span for size in sizes), 9 * span)}" if span else ""


def _change(old: int | None, new: int | None) -> str:
    return change_text(Pair(old, new)) if old is not None and new is not None and old != new else ""


def _cells(run: RunOfModule, change: str, label: str) -> Iterator[Text]:
    missing = "unknown" if run.has_module else "not there"
    yield from (missing if run.needed_bytes is None else human(run.needed_bytes), change)
    yield "" if not run.has_module else missing if run.peak_live_bytes is None else human(run.peak_live_bytes)
    yield Name(label)
    yield (f"{human(run.line_bytes or 0)}  ", Name(run.line, role=Role.SOURCE)) if run.line else ""
