"""Dumps that XLA writes while a command reads them."""

import json
import os
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from commands import run
from goldens import SWAP_2025
from samples import PALLAS, SPLIT, TPU, WHILE, sweep
from xla_lens.disk.sets import find_set
from xla_lens.syntax.file_names import FileKind

_CHUNKS = 6
_ORDERS = (
    (FileKind.HLO, FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE, FileKind.MEMORY_USAGE_REPORT),
    (FileKind.HLO, FileKind.MEMORY_USAGE_REPORT, FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE),
)
"""XLA writes the module first, then what belongs to it (DumpHloModuleImpl in dump.cc)."""


def _written(path: Path, folder: Path, order: tuple[FileKind, ...], chance: random.Random) -> Iterator[None]:
    """Write the set of a file to a folder, and stop after each of some chunks. Half of them end with a line."""
    paths = find_set(path).paths
    for kind in order:
        if kind not in paths:
            continue
        data = paths[kind].read_bytes()
        line_ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
        ends = {*chance.sample(range(1, len(data)), _CHUNKS // 2), *chance.sample(line_ends, _CHUNKS // 2), len(data)}
        with (folder / paths[kind].name).open("wb", buffering=0) as file:
            for end in sorted(ends):
                file.write(data[file.tell() : end])
                yield


def _findings(folder: Path) -> list[tuple[str, str]] | None:
    """What `check` finds in a folder, None if it is no dump yet."""
    _, out, err = run("check", folder, "--output-format", "json")
    if "dump" in err and not out:
        return None
    return sorted((finding["code"], finding["message"]) for finding in json.loads(out))


@pytest.mark.parametrize("path", sweep([SWAP_2025, SPLIT, TPU, WHILE, PALLAS], 5), ids=lambda path: path.parent.name)
@pytest.mark.parametrize("order", _ORDERS, ids=["report last", "report first"])
def test_findings_wait_for_the_end_of_a_dump(
    path: Path, order: tuple[FileKind, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From whichever chunk on `check` reads, it finds what is wrong with the whole dump, or less."""
    monkeypatch.setattr("xla_lens.disk.loading._RECENT_SECONDS", 60.0)
    (tmp_path / "whole").mkdir()
    for _ in _written(path, tmp_path / "whole", order, random.Random(0)):
        pass
    expected = _findings(tmp_path / "whole")
    assert expected is not None
    waited = 0
    for start in range(1, _CHUNKS * len(order)):
        folder = tmp_path / str(start)
        folder.mkdir()
        writer = _written(path, folder, order, random.Random(start))
        for _ in range(start):
            next(writer, None)

        def write_more(_: float, writer: Iterator[None] = writer) -> None:
            nonlocal waited
            waited += 1
            next(writer, None)

        monkeypatch.setattr("xla_lens.cli.sets.time.sleep", write_more)
        found = _findings(folder)
        assert not {*(found or ())} - {*expected}, start
        with suppress(StopIteration):
            while True:
                next(writer)
        assert _findings(folder) == expected
    assert waited > _CHUNKS


def test_dump_that_is_no_longer_written_is_cut_off(tmp_path: Path) -> None:
    paths = find_set(SPLIT).paths
    for kind, path in paths.items():
        data = path.read_bytes()
        (tmp_path / path.name).write_bytes(data[: len(data) // 2] if kind is FileKind.LIVE_RANGE else data)
        os.utime(tmp_path / path.name, (0, 0))
    found = _findings(tmp_path)
    assert found is not None
    assert "truncated-dump" in {code for code, _ in found}
