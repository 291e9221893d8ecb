"""The results as Markdown tables, for the terminal and for README.md."""

from collections.abc import Iterable

from crosscheck.rules import Comparison, Result, Space
from crosscheck.traced import TracedSpace
from xla_lens.render.numbers import counted
from xla_lens.syntax.columns import Kind

_PROTO = ("allocations", "buffers", "schedule", "starts", "reserved bytes")
_LISTS = ("heap simulator", "heap by event", "heap by step", "spans", "blocks", "at the peak")


def tables(results: list[Result], versions: dict[str, str]) -> str:
    """Return all tables. A number on which both sides agree is printed once, others as `ours ≠ theirs`."""
    spaces = [(result, space) for result in results for space in result.spaces]
    parts = [
        _outcome(results, versions),
        "XLA's proto. Items compared:",
        _table(("program", *_PROTO), (_counts(result, _PROTO) for result in results)),
        "xprof, in bytes. Our reserved bytes without thread-local ones are its total:",
        _table(
            ("program", "reserved", "thread-local", "total", "parameters", "live-out", "whole life"),
            (_sizes(result, space) for result, space in spaces),
        ),
        "xprof's peak from ours, in bytes; each row adds up:",
        _table(
            ("program", "our peak", "at step", "other step", "not live then", "tables", "xprof's peak", "at step"),
            (_peaks(result, space) for result, space in spaces),
        ),
        "xprof's lists. Items compared:",
        _table(("program", *_LISTS), (_counts(result, _LISTS) for result in results)),
    ]
    return "\n\n".join(parts) + "\n"


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
    found = [] if results else ["There is no program to compare."]
    for result in results:
        empty = [one.what for one in result.comparisons if one.what in _PROTO and not one.by_rules and not one.theirs]
        found += [f"{result.module}: nothing to compare for {what}." for what in empty]
        if not any(space.trace or space.whole_life for space in result.spaces):
            found.append(f"{result.module}: xprof shows no memory space to compare.")
    return found


def summary(results: list[Result], problems: list[str]) -> str:
    """What was compared, and whether everything agrees."""
    comparisons = sum(len(result.comparisons) for result in results)
    outcome = counted(len(problems), "problem") if problems else "all agree, or a rule explains the difference"
    return f"{comparisons:,} comparisons of {counted(len(results), 'program')}: {outcome}."


def _counts(result: Result, names: tuple[str, ...]) -> list[str]:
    found = {one.what: one for one in result.comparisons}
    return [result.module, *(_count(found[name]) for name in names)]


def _count(one: Comparison) -> str:
    ours, theirs = (f"{items if isinstance(items, int) else len(items):,}" for items in (one.by_rules, one.theirs))
    return ours if one.is_explained else f"{ours} ≠ {theirs}"


def _sizes(result: Result, space: Space) -> Iterable[str]:
    local = space.ours.size(space.ours.rows(space.color, Kind.THREAD_LOCAL))
    name, *counts = _counts(result, ("total", "parameters", "live-out", "whole life"))
    return (name, f"{space.space.reserved_bytes:,}", f"{-local:,}", *counts)


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
