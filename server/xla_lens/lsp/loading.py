"""Which files form a dump set, counting open documents and files on disk, and loading them.

All functions but `set_key` read the disk: call them in a worker thread.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from xla_lens.files import LoadedFile, LoadedModule, NotADump, SetFiles, find_set, load_module, load_set
from xla_lens.model.analysis import Analysis
from xla_lens.model.tables.dump_files import DumpFile, kind_of_content
from xla_lens.reading import DamagedFile
from xla_lens.syntax.file_names import FileKind, split_name
from xla_lens.text.document import Document


def set_key(path: Path, document: Document | None) -> Path:
    """Return what identifies the set of a file: the stem of its files, or the path of a file that stands alone."""
    stem, kind = split_name(path.name)
    if kind or (document and kind_of_content(document.data) is FileKind.HLO):
        return path.parent / stem
    return path


def set_files(path: Path, texts: Mapping[Path, Document]) -> SetFiles:
    """Return the files of the set of a file. `texts` are the open documents of the set; if none of them is recognised,
    they still form a set.
    """
    # Prefer a file whose name gives its kind: it leads to its siblings.
    path = min(texts or [path], key=lambda path: split_name(path.name)[1] is None)
    try:
        return find_set(path, texts)
    except NotADump:
        kind = kind_of_content(texts[path].data) if path in texts else None
        return SetFiles(path, {kind if kind is FileKind.HLO else FileKind.BUFFER_ASSIGNMENT: path})
    except (DamagedFile, OSError):
        return SetFiles(path, {})


def load_set_of(
    path: Path,
    texts: Mapping[Path, Document],
    known: Mapping[Path, LoadedFile],
    is_cancelled: Callable[[], bool],
    report_progress: Callable[[float], None],
    *,
    before: Analysis | None,
    report_file: Callable[[DumpFile], None],
) -> tuple[dict[Path, LoadedFile], Analysis]:
    """Load and analyse the set of a file. Files in `known` that have not changed are not read again. If none has
    changed, the analysis is `before`. `report_progress` is called with the fraction that is done, `report_file` with
    each file when it is read, the open documents first. Raises `Cancelled`.
    """
    files = set_files(path, texts)
    loaded, analysis = load_set(
        files, texts, known, is_cancelled, report_progress, before=before, report_file=report_file
    )
    if analysis is not before:
        analysis.prepare()
    return loaded, analysis


def load_module_of(
    path: Path,
    texts: Mapping[Path, Document],
    known: LoadedModule | None,
    is_cancelled: Callable[[], bool],
    report_progress: Callable[[float], None],
) -> LoadedModule | None:
    """Load the HLO module of the set of a file. Return None if the set has none. `report_progress` is called with the
    fraction that is done. Raises `Cancelled`.
    """
    return load_module(set_files(path, texts), texts, known, is_cancelled, report_progress)
