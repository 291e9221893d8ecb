"""Source lines that an edit of the program moved: the same line with another number.

The lines of matched values vote. Without values, which a report does not have, the lines of like buffers do.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from xla_lens.model.diff.breakdowns import Breakdown, Group, Key
from xla_lens.model.diff.traits import line_key

Source: TypeAlias = tuple[str, int | None]
"""A file and a line."""

Votes: TypeAlias = Mapping[tuple[Source, Source], int]
"""How many pairs of values have an old and a new line."""


def moved_lines(votes: Votes, old_lines: Iterable[Source]) -> dict[str, str]:
    """Return the new text of old lines: those whose values mostly have partners of another line of the same file, which
    mostly have them as partners.

    An old line that is still there keeps its text only if no other line took it.
    """
    old_counts, new_counts = Counter[Source](), Counter[Source]()
    for (before, after), count in votes.items():
        old_counts[before] += count
        new_counts[after] += count
    moved: dict[str, str] = {}
    for (before, after), count in votes.items():
        is_mutual = 2 * count > old_counts[before] and 2 * count > new_counts[after]
        if before != after and is_mutual and before[0] == after[0]:
            moved[line_key(*before)] = line_key(*after)
    taken_lines = set(moved.values())
    for line in (line_key(*source) for source in old_lines):
        if line in taken_lines and line not in moved:
            moved[line] = f"{line} (old)"
    return moved


def moved_lines_of_groups(pairs: Iterable[tuple[Breakdown, Breakdown]]) -> dict[str, str]:
    """Return the same from groups of like buffers of both dumps. Groups that differ only in their lines correspond, in
    the order of the lines, if they have the same numbers of buffers.
    """
    votes: Counter[tuple[Source, Source]] = Counter()
    old_lines: set[Source] = set()
    for pair in pairs:
        old, new = map(_by_rest, pair)
        old_lines |= {source for rows in old.values() for source, _ in rows}
        for rest, rows in old.items():
            others = new.get(rest, [])
            if [count for _, count in rows] == [count for _, count in others]:
                for (before, count), (after, _) in zip(rows, others, strict=True):
                    votes[before, after] += count
    return moved_lines(votes, old_lines)


def with_moved_lines(rows: Breakdown, moved: Mapping[str, str]) -> Breakdown:
    """Return the rows of a breakdown by lines or groups with the new text of lines that moved."""
    return {_with_moved_line(key, moved): part for key, part in rows.items()}


def _with_moved_line(key: Key, moved: Mapping[str, str]) -> Key:
    if isinstance(key, Group):
        return replace(key, line=moved.get(key.line, key.line)) if key.line is not None else key
    return moved.get(key, key) if isinstance(key, str) else key


def _by_rest(groups: Breakdown) -> dict[tuple[str | None, ...], list[tuple[Source, int]]]:
    """The lines and the numbers of buffers of groups by what else they have, in the order of the lines."""
    found: defaultdict[tuple[str | None, ...], list[tuple[Source, int]]] = defaultdict(list)
    for group, part in groups.items():
        if isinstance(group, Group) and group.line is not None:
            found[group.shape, group.op_name, group.opcode].append((_source(group.line), part.count))
    return {rest: sorted(rows, key=lambda row: (row[0][0], row[0][1] or 0)) for rest, rows in found.items()}


def _source(line: str) -> Source:
    file, _, number = line.rpartition(":")
    return (file, int(number)) if file and number.isdecimal() else (line, None)
