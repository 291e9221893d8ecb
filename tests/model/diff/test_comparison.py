"""Comparisons of real dumps: their sums, their symmetry, and what renaming must not change."""

import random
import re
from functools import cache
from itertools import combinations, islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from samples import (
    DUMPS,
    SHARED_DUMPS,
    SPLIT,
    analysis_of,
    assignments,
    dump_file,
    facts,
    malformed_texts,
    module_of,
    needs_shared_dumps,
    on_each_dump,
    sweep,
)
from xla_lens.files import find_set, load_module
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.diff.breakdowns import By
from xla_lens.model.diff.causes import causes
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparable import differences
from xla_lens.model.diff.comparison import Comparison, compare_analyses
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import split_name


@cache
def _module(path: Path) -> HloModule | None:
    loaded = load_module(find_set(path), {}, None, lambda: False)
    return loaded.module if loaded else None


@cache
def _compared(old: Path, new: Path) -> Comparison:
    return compare_analyses(analysis_of(old), _module(old), analysis_of(new), _module(new))


def _name(path: Path) -> str:
    return f"{path.parent.parent.name}-{path.parent.name}-{path.name[:11]}"


def _pairs() -> list[tuple[Path, Path]]:
    """Neighbors in the list of all small dumps, and dumps of one program by two compilers."""
    paths = assignments()
    same = ((one, other) for one, other in combinations(paths, 2) if one.parent.name == other.parent.name)
    return [*pairwise(paths), *(pair for pair in same if pair[0].parent.parent != pair[1].parent.parent)]


_PAIRS = [pytest.param(old, new, id=f"{_name(old)}-{_name(new)}") for old, new in _pairs()]


@on_each_dump
def test_dump_compared_with_itself_has_no_change(path: Path) -> None:
    compared = _compared(path, path)
    assert compared.is_unchanged
    assert compared.matched_peak_bytes_fraction == 1
    assert compared.values.count(ValueClass.UNCHANGED) == len(analysis_of(path).dump.values)


@pytest.mark.parametrize(("old", "new"), _PAIRS)
def test_rows_add_up_to_the_peaks_and_the_reserved_bytes(old: Path, new: Path) -> None:
    peaks = [{space["color"]: space for space in _fact(path)["memory_spaces"]} for path in (old, new)]
    compared = _compared(old, new)
    assert {space.color for space in compared.memory_spaces} == peaks[0].keys() | peaks[1].keys()
    for space in compared.memory_spaces:
        for side, facts_of_side in zip(("old", "new"), peaks, strict=True):
            fact = facts_of_side.get(space.color, {"peak_live_bytes": 0, "reserved_bytes": 0})
            peak = fact.get("peak_live_bytes") or 0
            assert getattr(space.peak_live_bytes, side) == peak
            assert getattr(space.reserved_bytes, side) == fact["reserved_bytes"]
            for by in By:
                assert sum(getattr(row.size_bytes, side) for row in space.breakdowns[by]) == peak, by
            kinds = sum(getattr(row.size_bytes, side) for row in space.reserved_by_kind or ())
            assert kinds == fact["reserved_bytes"]


@pytest.mark.parametrize(("old", "new"), _PAIRS)
def test_every_value_is_in_one_class(old: Path, new: Path) -> None:
    compared = _compared(old, new)
    values = compared.values
    for rows, path in ((values.old, old), (values.new, new)):
        assert sorted(rows[rows != NONE].tolist()) == list(range(_fact(path)["values"]))
    assert ((values.old == NONE) == (values.value_class == ValueClass.ADDED)).all()
    assert ((values.new == NONE) == (values.value_class == ValueClass.REMOVED)).all()
    assert sum(values.count(value_class) for value_class in ValueClass) == len(values)
    assert ((values.confidence != NONE) == ((values.old != NONE) & (values.new != NONE))).all()


@pytest.mark.parametrize(("old", "new"), _PAIRS)
def test_opposite_comparison_has_the_opposite_changes(old: Path, new: Path) -> None:
    there, back = _compared(old, new), _compared(new, old)
    assert there.matched_peak_bytes_fraction == back.matched_peak_bytes_fraction
    for one, other in zip(there.memory_spaces, back.memory_spaces, strict=True):
        assert one.peak_live_bytes.change == -other.peak_live_bytes.change
        assert one.reserved_bytes.change == -other.reserved_bytes.change
        padding = [space.exact("padding_bytes") for space in (one, other)]
        assert [pair and pair.change for pair in padding] == [pair and -pair.change for pair in padding[::-1]]
        for by in By:
            # A line that an edit moved has its new number, which is that of the other dump after a swap.
            changes, back_changes = ([row.change for row in space.breakdowns[by]] for space in (one, other))
            assert sorted(changes) == sorted(-change for change in back_changes)
            if not there.moved_lines:
                keys = {row.key: -row.change for row in other.breakdowns[by]}
                assert {row.key: row.change for row in one.breakdowns[by]} == keys
    assert _rows(there, 1) == _rows(back, -1)


_OPPOSITES = {ValueClass.ADDED: ValueClass.REMOVED, ValueClass.REMOVED: ValueClass.ADDED}


def _rows(compared: Comparison, sign: int) -> set[tuple[int, ...]]:
    """All rows of the values; with the sign -1 with the dumps swapped."""
    values = compared.values
    columns = (values.old, values.new)[::sign]
    classes = [ValueClass(number) for number in values.value_class.tolist()]
    classes = [_OPPOSITES.get(one, one) if sign < 0 else one for one in classes]
    rest = (values.change.tolist(), values.confidence.tolist(), (sign * values.longer_by).tolist())
    return set(zip(*(column.tolist() for column in columns), classes, *rest, strict=True))


@cache
def _facts() -> dict[str, dict[str, Any]]:
    return {fact["file"]: fact for fact in facts(DUMPS)}


def _fact(path: Path) -> dict[str, Any]:
    return _facts()[path.relative_to(DUMPS).as_posix()]


# ---------------------------------------------------------------- renaming

_WORD = re.compile(rb"(?<![\w.\-])[A-Za-z_][\w.\-]*")
_VALUE = re.compile(rb"<(\d+) (?=\S+ (?:\(phi\) )?@)")
_NUMBERED = re.compile(rb"(.*?)\.(\d+)")


def _renamed(path: Path) -> Analysis:
    """A dump with other numbers in all names, other ids, and the allocations in another order."""
    chance = random.Random(1)
    before = analysis_of(path).dump
    by_stem: dict[bytes, list[bytes]] = {}
    for name in before.names:
        match = _NUMBERED.fullmatch(name)
        if match:
            by_stem.setdefault(match[1], []).append(name)
    names = {
        old: new
        for of_stem in by_stem.values()
        for old, new in zip(of_stem, chance.sample(of_stem, len(of_stem)), strict=True)
    }
    known = before.values.id.tolist()
    ids = dict(zip(known, chance.sample(known, len(known)), strict=True))
    files = []
    for file in before.files:
        text = _WORD.sub(lambda word: names.get(word[0], word[0]), file.document.data)
        text = _VALUE.sub(lambda found: b"<%d " % ids.get(int(found[1]), int(found[1])), text)
        files.append(dump_file(_reordered(text, chance), split_name(Path(file.label).name)[1] or file.kind))
    return analyse(files)


def _reordered(text: bytes, chance: random.Random) -> bytes:
    """The allocations of a buffer assignment in another order, numbered anew."""
    head, mark, rest = text.partition(b"BufferAssignment:\n")
    if not mark:
        return text
    body, end, tail = rest.partition(b"\n\n")
    blocks = re.split(rb"(?m)^(?=allocation \d+: )", body)[1:]
    blocks = [block.rstrip(b"\n") for block in blocks]
    chance.shuffle(blocks)
    numbered = (re.sub(rb"^allocation \d+", b"allocation %d" % number, block) for number, block in enumerate(blocks))
    return head + mark + b"\n".join(numbered) + (end or b"\n") + tail


_RENAMED = [path for path in assignments() if "seeds" not in path.parts and "tf2.5" not in str(path)]


@pytest.mark.parametrize("path", _RENAMED, ids=_name)
def test_renamed_dump_has_no_change(path: Path) -> None:
    old, new = analysis_of(path), _renamed(path)
    assert sorted(old.dump.names) == sorted(new.dump.names)
    numbered = [name for name in old.dump.names if _NUMBERED.fullmatch(name)]
    if len(numbered) > 20:
        scheduled = [[dump.names[name] for name in dump.schedule.name] for dump in (old.dump, new.dump)]
        assert scheduled[0] != scheduled[1]
    compared = compare_analyses(old, None, new, None)
    assert compared.values.count(ValueClass.UNCHANGED) == len(old.dump.values)
    assert compared.is_unchanged
    assert compared.matched_peak_bytes_fraction == 1


# ---------------------------------------------------------------- edited programs


def test_lines_that_an_edit_moved_are_the_same_lines() -> None:
    path = next(DUMPS.glob("cpu-jaxlib0.4.20/donation/*jit_f.*-buffer-assignment.txt"))
    text = path.read_bytes()
    moved = text.replace(b"source_line=277", b"source_line=280")
    assert moved != text
    compared = compare_analyses(analysis_of(path), None, analyse([dump_file(moved)]), None)
    assert compared.moved_lines == {
        "/home/user/programs/programs.py:277": "/home/user/programs/programs.py:280",
    }
    assert compared.is_unchanged


def test_old_line_whose_number_another_line_took_is_told_apart() -> None:
    path = next(DUMPS.glob("cpu-jaxlib0.6.2/donation/*jit_f.*-buffer-assignment.txt"))
    text = path.read_bytes()
    # In the old dump, the conversion is at line 280, and is gone in the new one, where all others are at that line.
    line = next(line for line in text.splitlines() if b"/convert_element_type" in line)
    old = text.replace(line, line.replace(b"source_line=277", b"source_line=280"))
    other = line.replace(b"/convert_element_type", b"/tan").replace(b"source_line=277", b"source_line=299")
    new = text.replace(line, other).replace(b"source_line=277", b"source_line=280")
    compared = compare_analyses(analyse([dump_file(old)]), None, analyse([dump_file(new)]), None)
    file = "/home/user/programs/programs.py"
    assert compared.moved_lines == {f"{file}:277": f"{file}:280", f"{file}:280": f"{file}:280 (old)"}
    changes = {row.key: row.change for row in compared.memory_spaces[0].breakdowns[By.LINE] if row.change}
    assert changes == {f"{file}:280 (old)": -200, f"{file}:299": 200}


# ---------------------------------------------------------------- damaged dumps


@needs_shared_dumps
def test_parameters_are_compared_by_their_paths() -> None:
    """The same model on 64 and on 4 devices, each of which then has more of every parameter."""
    paths = [
        next(SHARED_DUMPS.glob(f"{backend}-*/llama3_8b_scan_L32/module_0000*-buffer-assignment.txt"))
        for backend in ("tpu-v5p-big", "tpu-v5e-oom")
    ]
    (old, old_module), (new, new_module) = ((analysis_of(path), module_of(path)) for path in paths)
    compared = compare_analyses(old, old_module, new, new_module)
    rows = {row.key: row.size_bytes for row in compared.memory_spaces[0].breakdowns[By.PARAMETER]}
    # 32 layers of 14336 by 4096, in f32.
    w_down = rows["state[1]['layers']['w_down']"]
    assert (w_down.old, w_down.new) == (4 * 32 * 14336 * 4096 // 64, 4 * 32 * 14336 * 4096 // 4)
    assert sum(pair.new for pair in rows.values()) == compared.memory_spaces[0].peak_live_bytes.new
    lines = {str(row.key): row.size_bytes for row in compared.memory_spaces[0].breakdowns[By.LINE]}
    moments = [pair for key, pair in rows.items() if str(key).startswith("state[1]")]
    assert lines["parameters state[1]"].change == sum(pair.change for pair in moments)


def test_parameters_have_paths_only_where_both_dumps_have_them() -> None:
    old = next(DUMPS.glob("cpu-jaxlib0.4.20/donation/*-buffer-assignment.txt"))
    compared = compare_analyses(analysis_of(old), None, analysis_of(SPLIT), None)
    for space in compared.memory_spaces:
        assert [row.key for row in space.breakdowns[By.PARAMETER]] == [None]


@pytest.mark.parametrize("every", sweep([7, 1], 2))
def test_damaged_dumps_are_compared_without_errors(every: int) -> None:
    good = analysis_of(SPLIT)
    for text in islice(malformed_texts(), 0, None, every):
        bad = analyse([dump_file(text)])
        for old, new in ((bad, good), (good, bad), (bad, bad)):
            compared = compare_analyses(old, None, new, None)
            list(differences(old, None, new, None, compared.matched_peak_bytes_fraction))
            list(causes(compared))
            for space in compared.memory_spaces:
                for by in By:
                    sums = (
                        sum(getattr(row.size_bytes, side) for row in space.breakdowns[by]) for side in ("old", "new")
                    )
                    assert tuple(sums) == (space.peak_live_bytes.old, space.peak_live_bytes.new)
