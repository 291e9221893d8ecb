"""The dump sets of a workspace, each loaded once and let go again: what is kept is its summary and its findings.

Made for a worker thread. No more than one set is in memory at a time.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Generic, TypeVar

from xla_lens.files import SetFiles, Stamp, load_files, stamps, walk_sets
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.findings import Finding
from xla_lens.model.summary import SetSummary, summarise
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.encoding import Encoding

SET_LIMIT: Final = 5_000
"""Dump sets of a workspace that are indexed, at most."""

FINDING_LIMIT: Final = 1_000
"""Findings of one file that are kept, at most: editors show no more."""

logger = logging.getLogger(__name__)

Told = TypeVar("Told")
"""What an edge makes of a finding at once, because a finding holds the texts of its set."""


@dataclass(frozen=True, slots=True, eq=False)
class FileFindings(Generic[Told]):
    """The first findings of a file, as an edge tells them, and how many there are."""

    told: tuple[Told, ...]
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Indexed(Generic[Told]):
    """What is kept of a dump set. `stamps` are those of its files when it was loaded, `findings` those of each of its
    files by its label, also of files without any.
    """

    files: SetFiles
    stamps: Mapping[Path, Stamp]
    summary: SetSummary
    findings: Mapping[str, FileFindings[Told]]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the index is, in sets and in bytes of their files. `is_cut` tells that there are more than `SET_LIMIT`
    sets, of which the others are left out.
    """

    set_count: int
    all_sets: int
    size_bytes: int
    all_bytes: int
    is_cut: bool


def index(
    folders: Iterable[Path],
    known: Mapping[Path, Indexed[Told]],
    *,
    left_out: Collection[Path] = (),
    encoding: Encoding,
    tell: Callable[[Finding], Told],
    is_cancelled: Callable[[], bool],
    report_progress: Callable[[Progress], None],
) -> Iterator[Indexed[Told]]:
    """The dump sets in some folders and below, the smallest first. What is `known`, by the stem of its files, and has
    not changed on disk is given again as it is; what is known and not given is not there any more.

    What `tell` gives must not hold the finding. Raises `Cancelled`.
    """
    walked = (files for files in walk_sets(folders, is_cancelled) if files.stem not in left_out)
    found = list(islice(walked, SET_LIMIT + 1))
    is_cut = len(found) > SET_LIMIT
    stamped = sorted(((files, stamps(files)) for files in found[:SET_LIMIT]), key=lambda pair: _size(pair[1]))
    size_bytes, all_bytes = 0, sum(_size(stamp) for _, stamp in stamped)
    for number, (files, stamp) in enumerate(stamped):
        report_progress(Progress(number, len(stamped), size_bytes, all_bytes, is_cut))
        before = known.get(files.stem)
        if before and before.stamps == stamp and before.files.paths == files.paths:
            yield before
        elif indexed := _load(files, stamp, encoding, tell, is_cancelled):
            yield indexed
        size_bytes += _size(stamp)
    report_progress(Progress(len(stamped), len(stamped), all_bytes, all_bytes, is_cut))


def index_set(
    files: SetFiles,
    stamp: Mapping[Path, Stamp],
    analysis: Analysis,
    encoding: Encoding,
    tell: Callable[[Finding], Told],
) -> Indexed[Told]:
    """What is kept of one dump set that is loaded."""
    told: dict[str, list[Told]] = {file.label: [] for file in analysis.dump.files}
    counts = Counter(finding.place.file.label for finding in analysis.findings)
    for finding in analysis.findings:
        of_file = told[finding.place.file.label]
        if len(of_file) < FINDING_LIMIT:
            of_file.append(tell(finding))
    findings = {label: FileFindings(tuple(of_file), counts[label]) for label, of_file in told.items()}
    return Indexed(files, stamp, summarise(analysis, encoding), findings)


def _load(
    files: SetFiles,
    stamp: Mapping[Path, Stamp],
    encoding: Encoding,
    tell: Callable[[Finding], Told],
    is_cancelled: Callable[[], bool],
) -> Indexed[Told] | None:
    """What is kept of a set on disk, None if it is not there any more. One that fails does not keep others from being
    indexed.
    """
    if is_cancelled():
        raise Cancelled
    try:
        dump_files = [file.dump_file for file in load_files(files, {}, {}, is_cancelled).values()]
        return index_set(files, stamp, analyse(dump_files), encoding, tell) if dump_files else None
    except Cancelled:
        raise
    except Exception:
        logger.exception("cannot index %s", files.stem)
        return None


def _size(stamp: Mapping[Path, Stamp]) -> int:
    return sum(size_bytes for _, size_bytes in stamp.values())
