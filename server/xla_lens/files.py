"""Dump sets on disk: which files belong together, and what stands in them.

The only module below the language server and the command line that touches the disk. Nothing but the files that it is
asked for, and those beside them that have the same stem, is read.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xla_lens.model.members import SUFFIXES, Member, MemberKind, kind_of_content, split_name
from xla_lens.syntax.tree import parse_file
from xla_lens.syntax.walk import read_columns
from xla_lens.text.document import Document, document_of_file

_HEAD: Final = 4096


class NotADump(Exception):
    """A path is no part of a dump set. Says in one line why."""


@dataclass(frozen=True, slots=True)
class SetFiles:
    """The files of one dump set by what they hold. `stem` is the path that their names have in common."""

    stem: Path
    paths: Mapping[MemberKind, Path]


def find_set(path: Path) -> SetFiles:
    """The dump set that a file belongs to. Raises `NotADump` where it is in none, `OSError` where it cannot be read."""
    stem, kind = split_name(path.name)
    kind = kind or kind_of_content(_head(path))
    if kind is None:
        raise NotADump(f"{path}: not a dump: it has no part of a buffer assignment")
    siblings = _siblings(path.parent / stem)
    if path not in siblings.values():
        # A name that says nothing stands alone.
        siblings = {kind: path}
    if set(siblings) == {MemberKind.HLO}:
        raise NotADump(f"{path}: an HLO module without a buffer assignment beside it")
    return SetFiles(path.parent / stem, siblings)


def find_sets(path: Path) -> list[SetFiles]:
    """The dump set of a file, or all dump sets in a folder and below. Raises as `find_set` does; a folder without any
    raises `NotADump`."""
    if not path.is_dir():
        return [find_set(path)]
    found: dict[Path, SetFiles] = {}
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            stem, _ = split_name(name)
            if not name.endswith(".txt") or Path(folder, stem) in found:
                continue
            try:
                dump_set = find_set(Path(folder, name))
            except (NotADump, OSError):
                continue
            found[dump_set.stem] = dump_set
    if not found:
        raise NotADump(f"{path}: no dumps in this folder")
    return list(found.values())


def read_members(
    paths: Mapping[MemberKind, Path],
    opened: Mapping[Path, Document],
    known: Iterable[Member],
    is_cancelled: Callable[[], bool],
) -> Iterator[Member]:
    """The parsed files of a set, but for the HLO module. An opened document counts instead of the file; a file that
    cannot be read is left out. What is among `known` and has not changed is not parsed again.

    Raises `Cancelled`.
    """
    parsed = {id(member.document): member for member in known}
    for kind, path in paths.items():
        if kind is MemberKind.HLO:
            continue
        document = opened.get(path)
        if document is None:
            try:
                document = document_of_file(path.read_bytes())
            except OSError:
                continue
        yield parsed.get(id(document)) or read_member(kind, str(path), document, is_cancelled)


def read_member(kind: MemberKind, label: str, document: Document, is_cancelled: Callable[[], bool]) -> Member:
    """One parsed file. Raises `Cancelled`."""
    tree = parse_file(document.data, is_cancelled)
    return Member(kind, label, document, read_columns(tree, document.data, is_cancelled))


def _siblings(stem: Path) -> dict[MemberKind, Path]:
    paths = {kind: stem.with_name(stem.name + suffix) for kind, suffix in SUFFIXES.items()}
    return {kind: path for kind, path in paths.items() if path.is_file() and _is_named_rightly(kind, path)}


def _is_named_rightly(kind: MemberKind, path: Path) -> bool:
    """The suffix of an HLO module fits any text."""
    try:
        return kind is not MemberKind.HLO or kind_of_content(_head(path)) is MemberKind.HLO
    except OSError:
        return False


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)
