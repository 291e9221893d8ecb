"""The results as Markdown tables and in words, for the terminal and for README.md."""

from collections.abc import Iterable

from crosscheck.matrix import ROWS
from crosscheck.rules import PROTO, Result, Space
from crosscheck.targets import analysis_bytes
from crosscheck.traced import TracedSpace
from xla_lens.words.numbers import counted


def peak_table(results: list[Result], versions: dict[str, str]) -> str:
    """Return the table that leads from our peak to xprof's."""
    header = ("program", "our peak", "at step", "other step", "not live then", "tables", "xprof's peak", "at step")
    rows = (_peaks(result, space) for result in results for space in result.spaces)
    return f"{_outcome(results, versions)}\n\nThe peaks in bytes; each row adds up:\n\n{_table(header, rows)}\n"


def size_table(results: list[Result], versions: dict[str, str]) -> str:
    """Return the table of programs of real size: our peak and xprof's in each memory space where xprof shows one."""
    spaces = [(result, space) for result in results for space in result.spaces if space.trace]
    rows = (
        (
            result.module,
            str(space.color),
            f"{len(space.trace):,}",
            *(f"{size:,}" for size in (space.space.peak_live_bytes, space.xprof["peak"], _twice(space))),
            f"{space.space.reserved_bytes:,}",
        )
        for result, space in spaces
    )
    header = ("program", "memory space", "events", "our peak", "xprof's peak", "of it counted twice", "reserved")
    return f"{_outcome(results, versions)}\n\n{_table(header, rows)}\n"


def target_table(sizes: dict[str, dict[str, int]]) -> str:
    """Return the table of what was compiled for which target with which flags, and what each program needs."""
    rows = (
        (name, row.program, row.target, " ".join(f"`{flag}`" for flag in row.flags), f"{analysis_bytes(sizes[name]):,}")
        for name, row in ROWS.items()
        if name in sizes
    )
    return f"{_table(('row', 'program', 'target', 'flags', 'needed bytes'), rows)}\n"


def _outcome(results: list[Result], versions: dict[str, str]) -> str:
    comparisons = sum(len(result.comparisons) for result in results)
    differences = sum(len(result.differences) for result in results)
    return (
        f"With {', '.join(map(' '.join, versions.items()))}: {comparisons} comparisons of {len(results)} programs, "
        f"{differences or 'none'} unexplained."
    )


def _twice(space: Space) -> int:
    return space.twice() if isinstance(space, TracedSpace) else 0


def unexplained(results: list[Result]) -> list[str]:
    """Every difference in full."""
    return [
        f"{result.module}: {one.what} differs:\n  ours, by the rules: {one.by_rules}\n  theirs: {one.theirs}"
        for result in results
        for one in result.differences
    ]


def nothing_compared(results: list[Result]) -> list[str]:
    """Everything that agrees only because it is empty on both sides."""
    guarded = (*PROTO, "reserved bytes")
    found = [] if results else ["There is no program to compare."]
    for result in results:
        empty = [one.what for one in result.comparisons if one.what in guarded and not one.by_rules and not one.theirs]
        found += [f"{result.module}: nothing to compare for {what}." for what in empty]
        if not any(space.trace or space.whole_life for space in result.spaces):
            found.append(f"{result.module}: xprof shows no memory space to compare.")
    return found


def summary(results: list[Result], problems: list[str]) -> str:
    """What was compared, and whether everything agrees."""
    comparisons = sum(len(result.comparisons) for result in results)
    outcome = counted(len(problems), "problem") if problems else "all agree, or a rule explains the difference"
    return f"{comparisons:,} comparisons of {counted(len(results), 'program')}: {outcome}."


def _peaks(result: Result, space: Space) -> Iterable[str]:
    peak = space.peak
    changes = (peak.other_step, peak.not_live_then, peak.tables)
    return (
        result.module,
        f"{peak.ours:,}",
        str(peak.our_step),
        *(f"{change:+,}" if change else "0" for change in changes),
        f"{'' if peak.ours + sum(changes) == peak.theirs else '≠ '}{peak.theirs:,}",
        str(peak.their_step),
    )


def _table(header: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """A table with its first column aligned left and the others right."""
    cells = [list(header), *([*row] for row in rows)]
    name, *numbers = (max(map(len, column)) for column in zip(*cells, strict=True))
    lines = [[row[0].ljust(name), *map(str.rjust, row[1:], numbers)] for row in cells]
    rule = ["-" * name, *("-" * (width - 1) + ":" for width in numbers)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
