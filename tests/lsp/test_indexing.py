"""Finding, indexing and reloading the dump sets of a workspace."""

import gzip
import os
import shutil
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from samples import DUMPS, SEED, SPLIT, TPU, WHILE, never
from xla_lens.disk import sets
from xla_lens.disk.sets import SetFiles, find_sets, walk_sets
from xla_lens.lsp import index as indexing
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.index import FileFindings, IndexedSet, Progress, index
from xla_lens.model.checks.problems import Finding
from xla_lens.model.warrants import Quantity
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document
from xla_lens.text.encoding import Encoding

_BROKEN = b"BufferAssignment:\nallocation 0: size 4, constant:\n?!\n"

_CONVERT = Converter({}, Encoding.UTF16)


def _index(
    *folders: Path,
    known: Mapping[Path, IndexedSet] | None = None,
    left_out: Collection[Path] = (),
    convert: Converter = _CONVERT,
    is_cancelled: Callable[[], bool] = never,
    report_progress: Callable[[Progress], None] = lambda _: None,
) -> Iterator[IndexedSet]:
    return index(
        folders,
        known or {},
        left_out=left_out,
        convert=convert,
        is_cancelled=is_cancelled,
        report_progress=report_progress,
    )


def _codes(found: FileFindings) -> list[object]:
    return [diagnostic.code for diagnostic in found.shown]


def _copied(folder: Path, *paths: Path) -> Path:
    """A folder with the sets of some files."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        for sibling in next(found for found in find_sets(path)).paths.values():
            shutil.copy(sibling, folder)
    return folder


def _names(folder: Path, found: Iterator[SetFiles]) -> list[str]:
    return [str(dump_set.stem.relative_to(folder)) for dump_set in found]


def _compress(folder: Path) -> None:
    for file in folder.iterdir():
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()


# ------------------------------------------------------------ discovery


def test_findings_beside_the_module_are_indexed(tmp_path: Path) -> None:
    folder = _copied(tmp_path, WHILE)
    (module,) = folder.glob("*after_optimizations.txt")
    (before,) = _index(folder)
    module.write_text(module.read_text().replace("copy(%arg_tuple.1#1)", "copy(%arg_tuple.1#2)"))
    (after,) = _index(folder, known={before.files.stem: before})
    codes = [[code for found in one.findings.values() for code in _codes(found)] for one in (before, after)]
    assert [code for code in codes[1] if code not in codes[0]] == ["operand-mismatch"]
    assert not after.summary.warrants.of(Quantity.USES).is_exact


def test_compressed_sets_are_indexed_like_others(tmp_path: Path) -> None:
    plain, compressed = (_copied(tmp_path / name, SPLIT, TPU) for name in ("plain", "compressed"))
    _compress(compressed)
    (compressed / f"{SEED.name}.gz").write_bytes(gzip.compress(SEED.read_bytes())[:-20])
    (compressed / "module_0001.jit_g.cpu_after_optimizations-buffer-assignment.txt.gz").write_bytes(b"not gzip")
    (compressed / "train.txt").write_text(f"*** Begin {SPLIT.name} ***\n{SPLIT.read_text()}")
    (compressed / "notes.txt.gz").write_bytes(gzip.compress(b"hello"))
    sizes = [
        sorted(
            (one.summary.module, *((space.reserved_bytes, space.peak_live_bytes) for space in one.summary.spaces))
            for one in found
        )
        for found in (list(_index(plain)), list(_index(compressed)))
    ]
    assert [("jit_g",), *sizes[0]] == sizes[1]
    assert len(sizes[0]) == 2
    (damaged,) = (one for one in _index(compressed) if one.summary.module == "jit_g")
    assert [_codes(found) for found in damaged.findings.values()] == [["syntax"]]
    # Editors show the files that are not compressed, so those count.
    both = _copied(tmp_path / "compressed", SPLIT)
    found = {files.stem.name: files for files in walk_sets([both], never)}
    assert len(found) == 3
    assert not any(
        path.suffix == ".gz" for path in found[SPLIT.name.removesuffix("-buffer-assignment.txt")].paths.values()
    )


def test_hidden_folders_and_packages_are_skipped(tmp_path: Path) -> None:
    for name in (".git", ".cache", "node_modules", "node_modules/a", "b/.venv/lib", "b/c", "a.b"):
        _copied(tmp_path / name, SEED)
    assert _names(tmp_path, walk_sets([tmp_path], never)) == [f"a.b/{SEED.name}", f"b/c/{SEED.name}"]
    assert _names(tmp_path, walk_sets([tmp_path / ".cache"], never)) == [f".cache/{SEED.name}"]


def test_links_are_not_followed_out_of_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside, inside = _copied(tmp_path / "outside", SEED, SPLIT), tmp_path / "inside"
    inside.mkdir()
    (inside / "folder").symlink_to(outside)
    (inside / "dump.txt").symlink_to(outside / SEED.name)
    (inside / "up.txt").symlink_to("../outside/" + SEED.name)
    (inside / "gone.txt").symlink_to("nowhere")
    (inside / "notes.txt").write_text("Only the content tells that this is no dump.")
    for path in outside.glob("module*"):
        if path.name.endswith("-buffer-assignment.txt"):
            shutil.copy(path, inside)
        else:
            (inside / path.name).symlink_to(path)
    read: list[Path] = []
    head = sets._head

    def recorded_head(path: Path, *arguments: Any) -> Any:
        read.append(path)
        return head(path, *arguments)

    monkeypatch.setattr(sets, "_head", recorded_head)
    (found,) = walk_sets([inside], never)
    assert list(found.paths) == [FileKind.BUFFER_ASSIGNMENT]
    assert {path.resolve().parent for path in read} == {inside}
    # A link may point out of one folder into another one.
    assert len(list(walk_sets([inside, outside], never))) == 5


def test_unreadable_files_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copied(tmp_path / "a", SEED)
    _copied(tmp_path / "b", SEED)
    os.mkfifo(tmp_path / "b" / "pipe.txt")
    (tmp_path / "b" / "folder.txt").mkdir()

    def scandir(path: str, real: Callable[[str], object] = os.scandir) -> object:
        if os.path.basename(path) == "a":
            raise PermissionError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert _names(tmp_path, walk_sets([tmp_path, tmp_path / "nowhere", SEED], never)) == [f"b/{SEED.name}"]


# ------------------------------------------------------------ the index


def test_at_most_one_set_is_in_memory(tmp_path: Path) -> None:
    documents: list[weakref.ref[Document]] = []

    class Recording(Converter):
        def diagnostic(self, finding: Finding) -> lsp.Diagnostic:
            documents.append(weakref.ref(finding.place.file.document))
            return super().diagnostic(finding)

    for number in range(3):
        (tmp_path / f"{number}.txt").write_bytes(_BROKEN)
    kept = []
    for indexed in _index(tmp_path, convert=Recording({}, Encoding.UTF16)):
        kept.append(indexed)
        assert len(documents) == len(kept)
        assert {document() for document in documents} == {None}
    assert len(kept) == 3


def test_findings_are_grouped_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _copied(tmp_path, SPLIT)
    assignment = folder / SPLIT.name
    text = assignment.read_bytes()
    assignment.write_bytes(text + b"?!\n" + text[-200:] + b"?!\n")
    (indexed,) = _index(folder)
    dump = {str(path) for path in indexed.stamps if path != indexed.files.paths[FileKind.HLO]}
    assert dump == set(indexed.findings)
    counts = {Path(label).name: findings.count for label, findings in indexed.findings.items()}
    assert counts.pop(SPLIT.name) > 2
    assert "syntax" in _codes(indexed.findings[str(assignment)])
    monkeypatch.setattr(indexing, "FINDING_LIMIT", 1)
    (cut,) = _index(folder)
    before, after = indexed.findings[str(assignment)], cut.findings[str(assignment)]
    assert (after.shown, after.count) == (before.shown[:1], before.count)


def test_too_many_sets_are_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "SET_LIMIT", 2)
    reported: list[Progress] = []
    found = list(_index(DUMPS, report_progress=reported.append))
    assert len(found) == 2
    assert {indexed.files.stem for indexed in found} == {
        files.stem for _, files in zip(range(2), walk_sets([DUMPS], never), strict=False)
    }
    assert {progress.is_truncated for progress in reported} == {True}


def test_file_names_can_be_invalid_text(tmp_path: Path) -> None:
    name = b"module_0001.jit_\xff\nf.cpu_after_optimizations-buffer-assignment.txt"
    (tmp_path / os.fsdecode(b"folder\xfe")).mkdir()
    path = tmp_path / os.fsdecode(b"folder\xfe") / os.fsdecode(name)
    shutil.copy(SEED, path)
    (indexed,) = _index(tmp_path)
    assert indexed.summary.entries.label(0) == indexed.summary.module
    assert indexed.summary.module == "module_0001.jit_? f.cpu_after_optimizations"
    assert indexed.summary.files[0][0] == str(path)
    assert Path(indexed.summary.files[0][0]).as_uri().endswith("-buffer-assignment.txt")


# ------------------------------------------------------------ reloading


def _known(found: Iterator[IndexedSet]) -> dict[Path, IndexedSet]:
    return {indexed.files.stem: indexed for indexed in found}


def test_the_biggest_files_are_indexed_first(tmp_path: Path) -> None:
    """They are most likely those of the worst module."""
    _copied(tmp_path / "a", SEED, SPLIT, TPU)
    found = [indexed.files for indexed in _index(tmp_path)]
    sizes = [sum(path.stat().st_size for path in files.paths.values()) for files in found]
    assert len(sizes) == 3
    assert sizes == sorted(sizes, reverse=True)


def test_unchanged_sets_are_reused(tmp_path: Path) -> None:
    folder = _copied(tmp_path / "a", SEED, SPLIT, TPU)
    before = _known(_index(tmp_path))
    after = _known(_index(tmp_path, known=before))
    assert len(before) == 3
    assert all(after[stem] is before[stem] for stem in before)
    (hlo,) = (path for path in folder.glob(f"{SPLIT.name[:12]}*_optimizations.txt") if "jit_train" in path.name)
    os.utime(hlo, ns=(1, 1))
    again = _known(_index(tmp_path, known=before))
    # The findings are also those beside the HLO module.
    assert [stem for stem in before if again[stem] is not before[stem]] == [
        folder / SPLIT.name.removesuffix("-buffer-assignment.txt")
    ]


def test_changed_sets_are_reloaded(tmp_path: Path) -> None:
    folder = _copied(tmp_path, SEED, SPLIT, TPU)
    before = _known(_index(tmp_path))
    seed = folder / SEED.name
    os.utime(seed, ns=(1, 1))
    (folder / SPLIT.name.replace("-buffer-assignment", "-live-range")).unlink()
    after = _known(_index(tmp_path, known=before))
    changed = {stem for stem in before if after[stem] is not before[stem]}
    assert changed == {seed, folder / SPLIT.name.removesuffix("-buffer-assignment.txt")}
    seed.unlink()
    assert set(_known(_index(tmp_path, known=after))) == set(after) - {seed}


def test_set_deleted_during_indexing_is_skipped(tmp_path: Path) -> None:
    folder = _copied(tmp_path, SEED, SPLIT, TPU)

    def vanish(progress: Progress) -> None:
        if progress.set_count == 0:
            (folder / SEED.name).unlink(missing_ok=True)
            for path in folder.glob("*-live-range.txt"):
                path.unlink()

    found = _known(_index(tmp_path, report_progress=vanish))
    assert len(found) == 2
    assert folder / SEED.name not in found
    assert all(len(indexed.summary.files) == len(indexed.stamps) - 2 for indexed in found.values())
    again = _known(_index(tmp_path, known=found))
    assert [again[stem] is indexed for stem, indexed in found.items()] == [False, False]


def test_an_index_can_be_cancelled(tmp_path: Path) -> None:
    _copied(tmp_path, SEED, SPLIT, TPU)
    found: list[IndexedSet] = []
    with pytest.raises(Cancelled):
        found.extend(_index(tmp_path, is_cancelled=lambda: len(found) > 0))
    is_cancelled = False
    indexes = _index(tmp_path, is_cancelled=lambda: is_cancelled)
    next(indexes)
    is_cancelled = True
    with pytest.raises(Cancelled):
        next(indexes)


def test_a_set_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _copied(tmp_path, SEED, TPU)

    real = vars(indexing)["load_set"]

    def load_set(files: SetFiles, *more: object, **named: object) -> object:
        if len(files.paths) == 1:
            raise ZeroDivisionError
        return real(files, *more, **named)

    monkeypatch.setattr(indexing, "load_set", load_set)
    (indexed,) = _index(tmp_path)
    assert len(indexed.files.paths) > 1
    assert str(tmp_path / SEED.name) in caplog.text
