"""Which files belong together as the editor sees them, some open and some on disk, and loading them.

Made for worker threads, but for `set_key`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from xla_lens.files import LoadedFile, LoadedModule, NotADump, SetFiles, find_set, load_files, load_module
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.tables.dump_files import kind_of_content
from xla_lens.syntax.file_names import FileKind, split_name
from xla_lens.text.document import Document


def set_key(path: Path, document: Document | None) -> Path:
    """What tells sets apart: the stem of the files' names, or a path that stands alone."""
    stem, kind = split_name(path.name)
    if kind or (document and kind_of_content(document.data) is FileKind.HLO):
        return path.parent / stem
    return path


def set_files(path: Path, texts: Mapping[Path, Document]) -> SetFiles:
    """The files of the set of a file. What is open is part of it whatever it holds, if nothing else is."""
    # A name that tells what a file holds leads to its siblings.
    path = min(texts or [path], key=lambda path: split_name(path.name)[1] is None)
    try:
        return find_set(path, texts)
    except NotADump:
        kind = kind_of_content(texts[path].data) if path in texts else None
        return SetFiles(path, {kind if kind is FileKind.HLO else FileKind.BUFFER_ASSIGNMENT: path})
    except OSError:
        return SetFiles(path, {})


def load_set(
    path: Path,
    texts: Mapping[Path, Document],
    known: Mapping[Path, LoadedFile],
    is_cancelled: Callable[[], bool],
) -> tuple[dict[Path, LoadedFile], Analysis]:
    """The set of a file. What is `known` and has not changed is not read again. Raises `Cancelled`."""
    loaded = load_files(set_files(path, texts), texts, known, is_cancelled)
    return loaded, analyse(file.dump_file for file in loaded.values())


def load_module_of(
    path: Path, texts: Mapping[Path, Document], known: LoadedModule | None, is_cancelled: Callable[[], bool]
) -> LoadedModule | None:
    """The HLO module of the set of a file, None if there is none. Raises `Cancelled`."""
    return load_module(set_files(path, texts), texts, known, is_cancelled)
