"""Dumps that editors cannot show as they are."""

import gzip
from pathlib import Path

from samples import SEED, SPLIT
from xla_lens.disk.device import device_beside
from xla_lens.disk.sets import find_set
from xla_lens.disk.unpacking import unpack


def test_compressed_set_is_unpacked_with_its_siblings(tmp_path: Path) -> None:
    files = find_set(SPLIT).paths.values()
    (tmp_path / "dumps").mkdir()
    for file in files:
        (tmp_path / "dumps" / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    (found,) = unpack(tmp_path / "dumps" / f"{SPLIT.name}.gz", tmp_path / "plain")
    assert found == tmp_path / "plain" / SPLIT.name
    for file in files:
        assert (tmp_path / "plain" / file.name).read_bytes() == file.read_bytes()


def test_compressed_set_keeps_the_logs_beside_it(tmp_path: Path) -> None:
    dump = tmp_path / "dumps" / f"{SEED.name}.gz"
    dump.parent.mkdir()
    dump.write_bytes(gzip.compress(SEED.read_bytes()))
    (dump.parent / "error.txt").write_text(
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
        "Used 21.20M of 15.00M hbm. Exceeded hbm capacity by 6.20M."
    )
    (dump.parent / "notes.txt").write_text("not about the device")
    (found,) = unpack(dump, tmp_path / "plain")
    _, capacity = device_beside(find_set(found))
    assert capacity
    assert capacity.size_bytes == 15 << 20
    assert {file.name for file in found.parent.iterdir()} == {SEED.name, "error.txt"}


def test_dumps_in_a_log_are_unpacked_the_biggest_first(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    texts = {SEED.name: SEED.read_text(), SPLIT.name: SPLIT.read_text()}
    log.write_text(
        "".join(f"step 1\n*** Begin {name} ***\n{text}\n*** End {name} ***\n" for name, text in texts.items())
    )
    found = unpack(log, tmp_path / "plain")
    assert {file.name for file in found} == {*texts}
    sizes = [file.stat().st_size for file in found]
    assert sizes == sorted(sizes, reverse=True)
    for file in found:
        assert file.read_text() == texts[file.name]
    # An unsaved text has none.
    assert unpack(log, tmp_path / "none", b"all is well\n") == []


def test_name_in_a_log_stays_in_the_folder(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"*** Begin ../../escaped-buffer-assignment.txt ***\n{SEED.read_text()}\n")
    (found,) = unpack(log, tmp_path / "a" / "b")
    assert found == tmp_path / "a" / "b" / "train.log" / "escaped-buffer-assignment.txt"
