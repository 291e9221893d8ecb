"""The index of the dump sets in a workspace: a summary and the findings of each set.

Runs in a worker thread. Sets are loaded one after another, and at most one is in memory at a time.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from lsprotocol import types as lsp

from xla_lens.files import SetFiles, Stamp, load_module_or_finding, load_set, stamps, walk_sets
from xla_lens.lsp.convert import Converter
from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import Capacity, capacity_of, main_space, over_bytes
from xla_lens.model.checks.problems import Finding
from xla_lens.model.summary import SetSummary, summarise
from xla_lens.reading import OVERVIEW_SHARE
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import IsCancelled

SET_LIMIT: Final = 5_000
"""Maximum number of indexed dump sets in a workspace."""

FINDING_LIMIT: Final = 1_000
"""Maximum number of findings kept for one file. Editors show no more."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class FileFindings:
    """The first findings of a file, and the number of all its findings. Findings are converted at once: each keeps the
    texts of its set in memory.
    """

    shown: tuple[lsp.Diagnostic, ...]
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class IndexedSet:
    """The index entry of a dump set. `stamps` are those of its files when they were loaded. `findings` has an entry for
    the label of each file, also for files without findings.
    """

    files: SetFiles
    stamps: Mapping[Path, Stamp]
    summary: SetSummary
    findings: Mapping[str, FileFindings]


class Progress(NamedTuple):
    """The progress of indexing, in sets and in bytes of their files. `is_truncated` is whether there are more than
    `SET_LIMIT` sets, so that some are not indexed.
    """

    set_count: int
    all_sets: int
    size_bytes: int
    all_bytes: int
    is_truncated: bool


def index(
    folders: Iterable[Path],
    known: Mapping[Path, IndexedSet],
    *,
    left_out: Collection[Path] = (),
    convert: Converter,
    is_cancelled: IsCancelled,
    report_progress: Callable[[Progress], None],
) -> Iterator[IndexedSet]:
    """Index the dump sets in some folders and their subfolders, the smallest first. Entries in `known`, by the stem of
    their files, are yielded again if the files have not changed. Entries in `known` that are not yielded are gone.

    Raises `Cancelled`.
    """
    walked = (files for files in walk_sets(folders, is_cancelled) if files.stem not in left_out)
    found = list(islice(walked, SET_LIMIT + 1))
    is_truncated = len(found) > SET_LIMIT
    stamped = sorted(
        ((files, stamps(files, files.paths.values())) for files in found[:SET_LIMIT]), key=lambda pair: _size(pair[1])
    )
    size_bytes, all_bytes = 0, sum(_size(stamp) for _, stamp in stamped)
    for number, (files, stamp) in enumerate(stamped):
        report_progress(Progress(number, len(stamped), size_bytes, all_bytes, is_truncated))
        before = known.get(files.stem)
        if before and before.stamps == stamp and before.files.paths == files.paths:
            yield before
        elif indexed := _load(files, stamp, convert, is_cancelled):
            yield indexed
        size_bytes += _size(stamp)
    report_progress(Progress(len(stamped), len(stamped), all_bytes, all_bytes, is_truncated))


def index_set(files: SetFiles, stamp: Mapping[Path, Stamp], analysis: Analysis, convert: Converter) -> IndexedSet:
    """Return the index entry of a loaded dump set."""
    found: dict[str, list[Finding]] = {file.label: [] for file in analysis.dump.files}
    for finding in analysis.findings:
        # A finding may be in the HLO module, which is no file of the dump.
        found.setdefault(finding.place.file.label, []).append(finding)
    findings = {
        label: FileFindings(tuple(map(convert.diagnostic, of_file[:FINDING_LIMIT])), len(of_file))
        for label, of_file in found.items()
    }
    return IndexedSet(files, stamp, summarise(analysis, convert.encoding), findings)


def worst_first(sets: Iterable[IndexedSet], given: Capacity | None) -> list[IndexedSet]:
    """Sort dump sets: first those that do not fit their device, then by the peak of its main memory. `given` is the
    capacity that the user states.
    """

    def worst(one: SetSummary) -> tuple[int, int, int]:
        space = main_space(one.spaces)
        if space is None:
            return 0, 0, 0
        capacity = capacity_of(space, given, one.capacity)
        over = over_bytes(space, capacity.size_bytes) if capacity else None
        return -(over or 0), -space.peak_live_bytes, -space.needed_bytes

    return sorted(sets, key=lambda one: (*worst(one.summary), one.summary.module, one.files.stem))


def _load(
    files: SetFiles, stamp: Mapping[Path, Stamp], convert: Converter, is_cancelled: IsCancelled
) -> IndexedSet | None:
    """Load a set and return its index entry, None if the set is gone or fails to load. A failure is logged, so that it
    does not stop the index.
    """
    if is_cancelled():
        raise Cancelled
    try:
        loaded, analysis = load_set(files, {}, {}, is_cancelled, share=OVERVIEW_SHARE)
        if not any(one.stamp for one in loaded.values()):
            return None
        analysis = load_module_or_finding(files, {}, analysis, is_cancelled, share=OVERVIEW_SHARE)
        return index_set(files, stamp, analysis.with_module(analysis.module, is_cancelled), convert)
    except Cancelled:
        raise
    except Exception:
        logger.exception("cannot index %s", files.stem)
        return None


def _size(stamp: Mapping[Path, Stamp]) -> int:
    return sum(size_bytes for _, size_bytes in stamp.values())
