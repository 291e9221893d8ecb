"""Comparisons of real dumps: their sums, their symmetry, what renaming must not change, and how much is matched between
the dumps of one program by different releases.
"""

import os
import random
import re
from collections import defaultdict
from functools import cache
from itertools import combinations, islice, pairwise
from pathlib import Path

import pytest
from msgspec.structs import astuple

from samples import (
    DUMPS,
    SHARED_DUMPS,
    SPLIT,
    analysis_of,
    assignments,
    dump_file,
    fact_of,
    facts,
    joined,
    malformed_texts,
    needs_shared_dumps,
    on_each_dump,
    space_facts,
    sweep,
)
from xla_lens.api import compare
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.diff.breakdowns import WITH_SOURCES, By, Owner, moved_lines
from xla_lens.model.diff.causes import causes
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparable import DiffSide, differences
from xla_lens.model.diff.comparison import Comparison, compare_analyses
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import module_name, split_name


@cache
def _compared(old: Path, new: Path) -> Comparison:
    return compare_analyses(joined(old), joined(new))


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
def test_comparison_adds_up_and_is_the_opposite_of_its_opposite(old: Path, new: Path) -> None:
    compared = _compared(old, new)
    _check(compared, _compared(new, old))
    for side, path in (("old", old), ("new", new)):
        spaces = {space["color"]: space for space in space_facts(fact_of(path))}
        assert spaces.keys() <= {space.color for space in compared.memory_spaces}
        for space in compared.memory_spaces:
            fact = spaces.get(space.color, {"peak_live_bytes": 0, "reserved_bytes": 0})
            assert getattr(space.peak_live_bytes, side) == (fact.get("peak_live_bytes") or 0)
            assert getattr(space.reserved_bytes, side) == fact["reserved_bytes"]


def _check_sums(compared: Comparison) -> None:
    for space in compared.memory_spaces:
        for side in ("old", "new"):
            sums = [sum(getattr(row.size_bytes, side) for row in rows) for rows in space.breakdowns.values()]
            assert sums == [getattr(space.peak_live_bytes, side)] * len(By)
            kinds = sum(getattr(row.size_bytes, side) for row in space.reserved_by_kind or ())
            assert kinds == getattr(space.reserved_bytes, side)


def _check(there: Comparison, back: Comparison) -> None:
    """All rows add up, each value is in one class, and the opposite comparison has the opposite changes."""
    assert there.matched_peak_bytes_fraction == back.matched_peak_bytes_fraction
    _check_sums(there)
    for one, other in zip(there.memory_spaces, back.memory_spaces, strict=True):
        for pairs in zip(astuple(one.exact), astuple(other.exact), strict=True):
            changes = [pair.change if pair else None for pair in pairs]
            assert changes in ([None, None], [changes[0], -(changes[0] or 0)])
        for by in By:
            rows, back_rows = one.breakdowns[by], other.breakdowns[by]
            assert sorted(row.change for row in rows) == sorted(-row.change for row in back_rows)
            # A line that an edit moved has its new number, which is that of the other dump after a swap.
            if by not in WITH_SOURCES or not moved_lines(one.old.owners or (), one.new.owners or ()):
                assert {row.key: row.change for row in rows} == {row.key: -row.change for row in back_rows}
    values = there.values
    for column, analysis in ((values.old, there.old), (values.new, there.new)):
        assert sorted(column[column != NONE].tolist()) == list(range(len(analysis.dump.values)))
    assert ((values.old == NONE) == (values.value_class == ValueClass.ADDED)).all()
    assert ((values.new == NONE) == (values.value_class == ValueClass.REMOVED)).all()
    assert ((values.confidence != NONE) == ((values.old != NONE) & (values.new != NONE))).all()
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
    compared = compare_analyses(old, new)
    assert compared.values.count(ValueClass.UNCHANGED) == len(old.dump.values)
    assert compared.is_unchanged
    assert compared.matched_peak_bytes_fraction == 1


# ---------------------------------------------------------------- edited programs


def test_lines_that_an_edit_moved_are_the_same_lines() -> None:
    path = next(DUMPS.glob("cpu-jaxlib0.4.20/donation/*jit_f.*-buffer-assignment.txt"))
    text = path.read_bytes()
    moved = text.replace(b"source_line=277", b"source_line=280")
    assert moved != text
    compared = compare_analyses(analysis_of(path), analyse([dump_file(moved)]))
    assert compared.is_unchanged


def owner(file: str, line: int, function: str | None, size_bytes: int = 1) -> Owner:
    return Owner(size_bytes, "temp", op_name="jit(f)/add", source=(file, line), function=function)


def test_lines_of_a_renamed_file_are_the_same_lines() -> None:
    old = [owner("train.py", 3, "block"), owner("train.py", 4, "block"), owner("train.py", 9, "loss")]
    new = [
        owner("net.py", 5, "block"),
        owner("net.py", 4, "block"),
        owner("net.py", 4, "block"),
        owner("net.py", 1, "x"),
    ]
    assert moved_lines(old, new) == {("train.py", 3): "net.py:4", ("train.py", 4): "net.py:5"}
    # Neither a file that both have was renamed, nor one whose functions are others.
    assert not moved_lines(old, [*new, owner("train.py", 3, "block")])
    assert not moved_lines(old, [owner("net.py", 3, "other"), owner("net.py", 4, "more")])


def test_a_renamed_file_without_functions_is_known_by_its_op_names() -> None:
    path = next(DUMPS.glob("cpu-jaxlib0.4.20/donation/*jit_f.*-buffer-assignment.txt"))
    text = path.read_bytes()
    renamed = text.replace(b"programs.py", b"new_name.py")
    assert renamed != text
    assert compare_analyses(analysis_of(path), analyse([dump_file(renamed)])).is_unchanged


def test_old_line_whose_number_another_line_took_is_told_apart() -> None:
    path = next(DUMPS.glob("cpu-jaxlib0.6.2/donation/*jit_f.*-buffer-assignment.txt"))
    text = path.read_bytes()
    # In the old dump, the conversion is at line 280, and is gone in the new one, where all others are at that line.
    line = next(line for line in text.splitlines() if b"/convert_element_type" in line)
    old = text.replace(line, line.replace(b"source_line=277", b"source_line=280"))
    other = line.replace(b"/convert_element_type", b"/tan").replace(b"source_line=277", b"source_line=299")
    new = text.replace(line, other).replace(b"source_line=277", b"source_line=280")
    compared = compare_analyses(analyse([dump_file(old)]), analyse([dump_file(new)]))
    file = "/home/user/programs/programs.py"
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
    compared = compare_analyses(*map(joined, paths))
    rows = {row.key: row.size_bytes for row in compared.memory_spaces[0].breakdowns[By.PARAMETER]}
    # 32 layers of 14336 by 4096, in f32.
    w_down = rows["state[1]['layers']['w_down']"]
    assert (w_down.old, w_down.new) == (4 * 32 * 14336 * 4096 // 64, 4 * 32 * 14336 * 4096 // 4)
    assert sum(pair.new for pair in rows.values()) == compared.memory_spaces[0].peak_live_bytes.new
    lines = {str(row.key): row.size_bytes for row in compared.memory_spaces[0].breakdowns[By.LINE]}
    moments = [pair for key, pair in rows.items() if str(key).startswith("state[1]")]
    assert lines["parameters state[1]"].change == sum(pair.change for pair in moments)


@pytest.mark.parametrize("every", sweep([7, 1], 2))
def test_damaged_dumps_are_compared_without_errors(every: int) -> None:
    good = analysis_of(SPLIT)
    for text in islice(malformed_texts(), 0, None, every):
        bad = analyse([dump_file(text)])
        for old, new in ((bad, good), (good, bad), (bad, bad)):
            compared = compare_analyses(old, new)
            list(differences(DiffSide(old, {}), DiffSide(new, {}), compared.matched_peak_bytes_fraction))
            list(causes(compared))
            _check_sums(compared)


# ---------------------------------------------------------------- releases

_ENOUGH = 0.9

_SMALL = 4096
"""One scalar more or less would count too much in smaller programs."""

_DIFFERENT = {
    # libtpu 0.0.17 copies an array of 16 MiB back from the host at another step.
    "host_offload/jit_remat_off",
    # Some releases call a library, which needs scratch memory, and have no intermediate before the ReLU.
    "matmul/jit_matmul_bias_relu",
    # The older release pads twice before it sums up.
    "long_names/jit_fn_name_with_odd_chars___",
}
"""Programs that some releases compile to different buffers."""


def _programs() -> dict[tuple[str, str], list[Path]]:
    """The dumps by backend and program, where a folder has only one dump with the name of the module."""
    found: defaultdict[tuple[str, str], list[Path]] = defaultdict(list)
    for fact in facts(SHARED_DUMPS):
        release, *rest = Path(fact["file"]).parts
        name = module_name(fact["file"])
        if name and len(rest) == 2 and "big" not in release and "oom" not in release:
            found[release[:3], f"{rest[0]}/{name}"].append(SHARED_DUMPS / fact["file"])
    return {
        key: paths
        for key, paths in found.items()
        if len({path.parent for path in paths}) == len(paths) > 1 and all(path.is_file() for path in paths)
    }


def _fraction(compared: Comparison) -> tuple[int, int]:
    """The matched bytes and all bytes at the peaks of the default memory space."""
    space, matching = compared.space(DEFAULT_COLOR), compared.matching
    assert space
    sides = (space.old.owners or (), matching.new_of_old), (space.new.owners or (), matching.old_of_new)
    sizes = [(one.size_bytes, partner[one.value] != NONE) for owners, partner in sides for one in owners]
    return sum(size for size, is_matched in sizes if is_matched), sum(size for size, _ in sizes)


_SHARES = Path(__file__).parent / "matched_shares.txt"


@needs_shared_dumps
def test_most_bytes_at_the_peaks_of_all_releases_are_matched() -> None:
    """`matched_shares.txt` has the share of each program. `XLA_LENS_GOLDENS=keep` writes it again."""
    misses, matched_bytes, all_bytes, count = {}, 0, 0, 0
    lines = []
    for (backend, program), paths in sorted(_programs().items()):
        shares = []
        for old, new in combinations(sorted(paths), 2):
            compared = compare(old, new)
            _check_sums(compared)
            matched, both = _fraction(compared)
            count += 1
            shares.append((round(100 * matched / both, 1) if both else 100.0, f"{_release(old)} – {_release(new)}"))
            if both > _SMALL and matched < _ENOUGH * both:
                misses[backend, program, old.parent.parent.name, new.parent.parent.name] = matched / both
            if program not in _DIFFERENT:
                matched_bytes += matched
                all_bytes += both
        least, releases = min(shares)
        mean = sum(share for share, _ in shares) / len(shares)
        lines.append(f"{backend} {program}: {len(shares)} pairs, mean {mean:.1f} %, least {least} % ({releases})\n")
    if os.environ.get("XLA_LENS_GOLDENS"):
        _SHARES.write_text("".join(lines), encoding="utf-8")
    assert lines == _SHARES.read_text(encoding="utf-8").splitlines(keepends=True)
    assert count > 100
    assert {program for _, program, *_ in misses} == _DIFFERENT, misses
    assert matched_bytes >= 0.98 * all_bytes


def _release(path: Path) -> str:
    return path.parent.parent.name.partition("-")[2]
