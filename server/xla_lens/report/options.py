"""What a report contains, as the command line and the server understand it. Imports nothing of the model."""

from collections.abc import Collection
from enum import StrEnum
from typing import Final

from msgspec import Struct


class Part(StrEnum):
    """A part of a report, as `--part` names it."""

    TOTALS = "totals"
    PEAK = "peak"
    CURVE = "curve"
    LIVE = "live"
    LINE = "line"
    STACKS = "stacks"
    SOURCE = "source"
    ALIVE = "alive"
    PADDING = "padding"
    ARENAS = "arenas"
    DONATION = "donation"
    BUDGET = "budget"
    ADVICE = "advice"


LONG_PARTS: Final = (Part.CURVE, Part.STACKS)
"""Parts that are shown only on request: one row for each step or call stack."""

DEFAULT_PARTS: Final = frozenset(Part) - {*LONG_PARTS, Part.BUDGET}

_OF_MODULE: Final = frozenset((Part.LIVE, Part.LINE, Part.STACKS, Part.SOURCE, Part.BUDGET, Part.DONATION, Part.ADVICE))
"""Parts that show sources of values, or what outputs are computed from."""

SHORT_PARTS: Final = frozenset({Part.LINE, Part.ADVICE})
"""The parts that follow the output of a program, which the whole report would hide."""

DEFAULT_TOP: Final = 20
"""Rows of each list in a report for people. JSON has all rows unless a limit is given."""

TINY: Final = 0.001
"""Modules with less than this part of the worst peak are folded into one line."""

TINY_IN_RUN: Final = 0.05
"""The same among the modules of one run, most of which only prepare the data of the others."""

FORMATS: Final = ("text", "markdown", "json", "html")
"""The formats of `xla-lens report` and `diff`; HTML is the memory map, see `memory_map/page.py`."""


class CiFormat(StrEnum):
    """A format of `check` and `diff` for continuous integration (CI)."""

    GITHUB = "github"
    GITLAB = "gitlab"
    SARIF = "sarif"
    JUNIT = "junit"


class SortKey(StrEnum):
    """A column by which `--sort` ranks modules."""

    PEAK = "peak"
    NEEDED = "needed"
    TEMP = "temp"
    VALUES = "values"
    FINDINGS = "findings"
    NAME = "name"
    FILE = "file"


class ReportOptions(Struct, frozen=True):
    """What a report contains.

    `top` limits the rows of each list, None for no limit. `at_step` adds the live set of that step. `budget_bytes` is
    the size that the default memory space should fit into; `Part.BUDGET` and `Part.ADVICE` use it. Without
    `has_answer`, nothing is computed for the sentences at the beginning, which JSON does not have. With `has_map`,
    actions lead to their buffers in a memory map beside the report. Without `has_measured`, the head does not say what
    the process used of its memory. Without `through_loops`, what a loop carries has
    the source of the loop, not of the instruction in its body that writes it.
    """

    top: int | None = None
    at_step: int | None = None
    parts: frozenset[Part] = DEFAULT_PARTS
    budget_bytes: int | None = None
    has_answer: bool = True
    has_map: bool = False
    has_measured: bool = True
    through_loops: bool = True


def report_options(
    parts: Collection[Part],
    *,
    top: int | None = None,
    at_step: int | None = None,
    budget_bytes: int | None = None,
    is_json: bool = False,
    through_loops: bool = True,
) -> ReportOptions:
    """Return the options of a report as the command line and the server understand them.

    Empty `parts` mean the default ones, and call stacks are shown below their lines. Reports for people have
    `DEFAULT_TOP` rows in each list unless `top` is given.
    A budget selects its part, unless only the advice is wanted, which uses it as well. The part needs a budget.
    """
    wanted = frozenset(parts) or DEFAULT_PARTS
    wanted |= {Part.LINE} if Part.STACKS in wanted else frozenset()
    chosen = wanted if wanted == {Part.ADVICE} else wanted | {Part.BUDGET}
    return ReportOptions(
        top=DEFAULT_TOP if top is None and not is_json else top,
        at_step=at_step,
        parts=wanted - {Part.BUDGET} if budget_bytes is None else chosen,
        budget_bytes=budget_bytes,
        has_answer=not is_json,
        through_loops=through_loops,
    )


def needs_module(options: ReportOptions) -> bool:
    """Return whether a report uses the HLO module: for sources of values, or what outputs are computed from."""
    return bool(_OF_MODULE & options.parts) or options.at_step is not None
