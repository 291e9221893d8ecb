"""The modules of a folder, ranked: one row for each dump set, without keeping the sets in memory."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from posixpath import commonprefix
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import Capacity, capacity_of, main_space, over_bytes
from xla_lens.model.checks.codes import Severity
from xla_lens.model.memory.needed import reserved_parts
from xla_lens.model.memory.over_time import NEVER_LIVE, MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, first_printed_peak
from xla_lens.model.summary import module_of
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Quantity, Warrant, Warrants
from xla_lens.report.options import SortKey
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import module_name, module_number, split_name
from xla_lens.syntax.hlo.shapes import without_layout
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.numbers import is_visible


class RankedModule(Struct, frozen=True):
    """One dump set with the numbers of its main memory, `space`.

    `number` is the one in the names of the files, None if they have none. `peak_bytes` and `temp_bytes` are None if
    they are unknown. `printed_bytes` is the printed peak if it is at a step with fewer live bytes. `files` are the
    paths of the files, `unreadable` those that cannot be read, with the reasons. `over_bytes` are those by which the
    program exceeds the budget, or else the `capacity` of the device, 0 if it fits, None if unknown. `arguments` are the
    names and shapes of its parameters in their order, without layouts; None if there are more than `MOST_ARGUMENTS`.
    """

    number: int | None
    name: str
    files: tuple[str, ...]
    space: MemorySpace
    peak_bytes: int | None
    temp_bytes: int | None
    value_count: int
    printed_bytes: int | None
    error_count: int
    warning_count: int
    warrants: Warrants
    capacity: Capacity | None
    over_bytes: int | None
    unreadable: tuple[tuple[str, str], ...]
    arguments: tuple[tuple[str, str], ...] | None

    @property
    def warrant(self) -> Warrant:
        """Which of its sizes are exact. A module whose sizes are not is never folded away."""
        return self.warrants.of(Quantity.LIVE, Quantity.RESERVED)

    @property
    def folder(self) -> list[str]:
        """The parts of the path of the folder with its files."""
        return _SLASH.split(self.files[0])[:-1]


class Ranking(NamedTuple):
    """The modules in order. A list for people has those that are `shown`, and sums up the `folded` ones, which are all
    small with `are_folded_small`. The first `common_depth` parts of the folders of all modules are the same.
    """

    modules: tuple[RankedModule, ...]
    shown: tuple[RankedModule, ...]
    folded: tuple[RankedModule, ...]
    are_folded_small: bool
    common_depth: int


def ranked_module(analysis: Analysis, files: Sequence[str], budget_bytes: int | None = None) -> RankedModule:
    """Return the row of a dump set whose files have some paths."""
    dump, memory = analysis.dump, analysis.memory
    space = main_space(memory.spaces) or MemorySpace(dump.space_id(DEFAULT_COLOR), 0, 0, None, 0, NEVER_LIVE)
    is_known = analysis.warrants.live.is_known
    printed = first_printed_peak(dump)
    live_bytes = space.live.at(printed[0]) if printed and is_known else space.peak_live_bytes
    is_off = is_visible(space.peak_live_bytes - live_bytes, space.peak_live_bytes)
    capacity = capacity_of(space, analysis.capacity)
    limit_bytes = capacity.size_bytes if capacity and budget_bytes is None else budget_bytes
    severities = Counter(finding.severity for finding in analysis.findings)
    return RankedModule(
        number=next((number for file in files if (number := module_number(file)) is not None), None),
        name=module_of(analysis),
        files=tuple(files),
        space=replace(space, live=NEVER_LIVE, colors=()),
        peak_bytes=space.peak_live_bytes if is_known else None,
        temp_bytes=dict(reserved_parts(dump, space.color)).get("temp", 0) if dump.assignment else None,
        value_count=len(dump.values),
        printed_bytes=printed[1] if printed and is_off else None,
        error_count=severities[Severity.ERROR],
        warning_count=severities[Severity.WARNING],
        warrants=analysis.warrants,
        capacity=capacity,
        over_bytes=None if limit_bytes is None else over_bytes(space, limit_bytes),
        unreadable=tuple((file.label, file.unreadable) for file in analysis.unreadable),
        arguments=_arguments(dump),
    )


_COPY: Final = lazy_pattern(r"\.\d+$")
"""What XLA appends to a name that it has given before."""

MOST_ARGUMENTS: Final = 1000
"""Programs with more parameters are not told apart by their shapes."""


def _arguments(dump: DumpSet) -> tuple[tuple[str, str], ...] | None:
    """The names and shapes of the parameters, in their order. XLA makes the names from their paths."""
    table = dump.allocations
    rows = np.flatnonzero(table.parameter != NONE)
    if len(rows) > MOST_ARGUMENTS:
        return None
    found: list[tuple[str, str]] = []
    for row in rows[np.argsort(table.parameter[rows], kind="stable")].tolist():
        values = dump.values_of_allocation(row).tolist()
        value = next((value for value in values if dump.opcode(dump.values.name.item(value)) == b"parameter"), NONE)
        if value != NONE:
            name = dump.names[dump.values.name.item(value)].decode("utf-8", "replace")
            shape = without_layout(dump.shape(value) or b"").decode("utf-8", "replace")
            found.append((_COPY.sub("", name), shape))
    return tuple(found)


class CompiledAgain(NamedTuple):
    """Modules of the same name in one folder. `argument` is the name of the first argument whose shape differs between
    the first two, in which it has `shapes`; None if all shapes are equal, or the numbers of arguments differ, or they
    are unknown.
    """

    modules: tuple[RankedModule, ...]
    argument: str | None
    shapes: tuple[str, str] | None


def compiled_again(modules: Iterable[RankedModule]) -> Iterator[CompiledAgain]:
    """Yield the modules that a program compiled more than once, in the order of `modules`."""
    alike: dict[tuple[str, tuple[str, ...]], list[RankedModule]] = {}
    for module in modules:
        alike.setdefault((module.name, tuple(module.folder)), []).append(module)
    for same in alike.values():
        if len(same) > 1:
            same.sort(key=lambda module: NONE if module.number is None else module.number)
            pairs = list(zip(same[0].arguments or (), same[1].arguments or (), strict=False))
            are_comparable = len(same[0].arguments or ()) == len(same[1].arguments or ()) > 0
            differing = ((name, (one, other)) for (name, one), (_, other) in pairs if one != other)
            yield CompiledAgain(tuple(same), *(next(differing, (None, None)) if are_comparable else (None, None)))


def sort_key(module: RankedModule, key: SortKey) -> tuple[tuple[int | str, ...], ...]:
    """Return the key by which modules are sorted, the worst first. By peak, those that do not fit the budget or their
    device come first. Modules of equal rank are sorted by peak, by what they need, by the number of values and by name,
    then those of the newest run come first.
    """
    run = _RUN.search(module.files[0])
    newest = -int("".join(run.groups())) if run else 0
    by: dict[SortKey, tuple[int | str, ...]] = {
        SortKey.PEAK: (-(module.over_bytes or 0), -(NONE if module.peak_bytes is None else module.peak_bytes)),
        SortKey.NEEDED: (-module.space.needed_bytes,),
        SortKey.VALUES: (-module.value_count,),
        SortKey.NAME: (module.name, NONE if module.number is None else module.number),
        SortKey.TEMP: (-(module.temp_bytes or 0),),
        SortKey.FINDINGS: (-module.error_count, -module.warning_count),
        SortKey.FILE: module.files,
    }
    ties = (SortKey.PEAK, SortKey.NEEDED, SortKey.VALUES, SortKey.NAME)
    return by[key], *(by[tie] for tie in ties), (newest,), module.files


_RUN: Final = lazy_pattern(r"-(\d{8})-(\d{6})(?=[-/\\])")
"""The time at the end of the name of a folder that `xla-lens run` made."""


def ranking(modules: Iterable[RankedModule], key: SortKey, top: int | None, tiny: float) -> Ranking:
    """Return the modules in order. At most `top` are shown, and none with less than the part `tiny` of the worst peak
    and without errors; None for all.
    """
    found = tuple(sorted(modules, key=lambda module: sort_key(module, key)))
    most = max((module.peak_bytes or 0 for module in found), default=0)
    big = [
        module
        for module in found
        if top is None
        or module is found[0]
        or module.error_count
        or not module.warrant.is_exact
        or (module.peak_bytes or 0) >= tiny * most
    ]
    shown = tuple(big[:top])
    kept = set(shown)
    folded = tuple(module for module in found if module not in kept)
    depth = len(commonprefix([module.folder for module in found]))
    return Ranking(found, shown, folded, len(big) == len(shown), depth)


_SLASH: Final = lazy_pattern(r"[/\\]")


def is_selected(files: Iterable[str], pattern: str, name: str | None = None) -> bool:
    """Return whether a set with some files has a number, or a match of a pattern in its name, which is `name` or else
    in the names of the files. Raises `re.error`.
    """
    files = tuple(files)
    if pattern.isdecimal():
        return any(module_number(file) == int(pattern) for file in files)
    names = {name, *map(module_name, files)} - {None} or {split_name(_SLASH.split(file)[-1])[0] for file in files}
    search = re.compile(pattern).search
    return any(search(name) for name in names if name is not None)
