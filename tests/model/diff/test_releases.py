"""Dumps of the same program by different releases: most bytes at the peaks belong to matched values."""

from collections import defaultdict
from itertools import combinations, pairwise
from pathlib import Path

from samples import SHARED_DUMPS, facts, needs_shared_dumps
from xla_lens.api import compare
from xla_lens.model.diff.causes import causes
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison, Pair
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import module_name

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
    space = compared.space(DEFAULT_COLOR)
    assert space
    return sum(side.matched_bytes for side in (space.old, space.new)), sum(
        side.peak_live_bytes for side in (space.old, space.new)
    )


@needs_shared_dumps
def test_most_bytes_at_the_peaks_of_all_releases_are_matched() -> None:
    misses, matched_bytes, all_bytes, count = {}, 0, 0, 0
    for (backend, program), paths in _programs().items():
        for old, new in combinations(paths, 2):
            matched, both = _fraction(compare(old, new))
            count += 1
            if both > _SMALL and matched < _ENOUGH * both:
                misses[backend, program, old.parent.parent.name, new.parent.parent.name] = matched / both
            if program not in _DIFFERENT:
                matched_bytes += matched
                all_bytes += both
    assert count > 100
    assert {program for _, program, *_ in misses} == _DIFFERENT, misses
    assert matched_bytes >= 0.98 * all_bytes


@needs_shared_dumps
def test_sums_and_classes_of_all_releases() -> None:
    """What `test_comparison.py` checks for small dumps, for each program by all releases."""
    for paths in _programs().values():
        for old, new in pairwise(paths):
            there, back = compare(old, new), compare(new, old)
            for one, other in zip(there.memory_spaces, back.memory_spaces, strict=True):
                peak = one.peak_live_bytes
                assert peak == Pair(other.peak_live_bytes.new, other.peak_live_bytes.old)
                for rows in one.breakdowns.values():
                    assert sum(row.size_bytes.old for row in rows) == peak.old
                    assert sum(row.size_bytes.new for row in rows) == peak.new
                changes = [sorted(row.change for row in rows) for rows in one.breakdowns.values()]
                opposite = [sorted(-row.change for row in rows) for rows in other.breakdowns.values()]
                assert changes == opposite
            values = there.values
            for column, analysis in ((values.old, there.old), (values.new, there.new)):
                assert sorted(column[column != NONE].tolist()) == list(range(len(analysis.dump.values)))
            counts = [values.count(kind) for kind in ValueClass]
            swap = {ValueClass.ADDED: ValueClass.REMOVED, ValueClass.REMOVED: ValueClass.ADDED}
            assert counts == [back.values.count(swap.get(kind, kind)) for kind in ValueClass]


@needs_shared_dumps
def test_all_dumps_compared_with_themselves_have_no_change() -> None:
    checked = 0
    for fact in facts(SHARED_DUMPS):
        path = SHARED_DUMPS / fact["file"]
        if path.is_file() and "big" not in fact["file"]:
            checked += 1
            compared = compare(path, path)
            assert compared.is_unchanged, path
            assert not [*causes(compared)], path
    assert checked > 200
