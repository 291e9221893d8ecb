"""Joining the files of a dump set."""

from pathlib import Path

import numpy as np
import pytest

from samples import DUMPS, TPU, analysis_of, on_each_dump
from xla_lens.model.tables.dump_files import kind_of_content
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind, module_name, split_name


@on_each_dump
def test_every_row_is_joined(path: Path) -> None:
    """In a complete set every row has its counterpart."""
    dump = analysis_of(path).dump
    assert not np.any(dump.value_of_slice == NONE)
    assert not np.any(dump.value_of_used_value == NONE)
    assert not np.any(dump.value_of_live_range == NONE)
    assert not np.any(dump.value_of_peak_buffer == NONE)
    assert not np.any(dump.values.slice == NONE)
    assert not np.any(dump.values.used_value == NONE)
    # A position belongs to the value whose block lists it.
    found = dump.values_at(dump.positions.name, dump.positions.index)
    assert (found == dump.value_of_used_value[dump.positions.value]).all()
    if len(dump.schedule):
        assert [dump.schedule_row(step) for step in range(len(dump.schedule))] == list(range(len(dump.schedule)))


@on_each_dump
def test_the_printed_peak_lists_live_values(path: Path) -> None:
    """Each entry is a different value that is live at the step, also if the list has no indices."""
    dump = analysis_of(path).dump
    if len(dump.peaks):
        step = int(dump.peaks.step[0])
        listed = dump.value_of_peak_buffer
        assert len(set(listed.tolist())) == len(listed)
        assert (dump.values.start_step[listed] <= step).all()
        assert (step <= dump.values.end_step[listed]).all()


def test_names_resolve_to_values() -> None:
    dump = analysis_of(TPU).dump
    done = dump.name_number(b"copy-done.1")
    assert dump.value_label(dump.value_at(done, NONE)) == "copy-start.1{0}"
    start = dump.name_number(b"copy-start.1")
    assert dump.value_label(dump.value_at(start, dump.index_number(b"{2}"))) == "copy-start.1{2}"
    assert dump.value_label(dump.value_at(start, NONE)) == "copy-start.1{}"
    assert dump.value_at(start, 12345) == NONE
    assert dump.value_at(dump.name_number(b"nothing"), NONE) == NONE
    assert dump.value_label(dump.value_of_id(13)) == "x.1"
    assert dump.value_of_id(99) == NONE
    assert dump.instruction_at(3) == "copy-start"
    assert dump.instruction_at(9) is None


@pytest.mark.parametrize(
    ("name", "stem", "kind"),
    [
        ("module_0001.f.cpu_x-buffer-assignment.txt", "module_0001.f.cpu_x", "buffer-assignment"),
        ("m-buffer-assignment-values.txt", "m", "values"),
        ("m-live-range.txt", "m", "live-range"),
        ("m-memory-usage-report.txt", "m", "memory-usage-report"),
        ("m.txt", "m", None),
        ("000_65ac.txt", "000_65ac", None),
        ("notes", "notes", None),
        ("-live-range.txt", "-live-range", None),
    ],
)
def test_file_names_give_stem_and_kind(name: str, stem: str, kind: str | None) -> None:
    assert split_name(name) == (stem, kind)


@pytest.mark.parametrize("path", sorted(DUMPS.rglob("*.txt")), ids=lambda path: path.name[:60])
def test_files_are_recognized_by_their_content(path: Path) -> None:
    _, kind = split_name(path.name)
    expected = kind or (FileKind.BUFFER_ASSIGNMENT if path.parent.name == "seeds" else FileKind.HLO)
    assert kind_of_content(path.read_bytes()) == expected


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hello\n", b"\x00\xff", b"# Title\n\nBufferAssignment"])
def test_other_files_are_not_recognized(content: bytes) -> None:
    assert kind_of_content(content) is None


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt", "jit_f"),
        ("a/b/1795.module_0012.a_inference_f_14__.15.cpu_after_optimizations.txt", "a_inference_f_14__.15"),
        ("module_0000.jit_f.cl_1003875606.after_optimizations-live-range.txt", "jit_f"),
        ("module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt", "jit_f"),
        ("module_0001.jit_f.gfx90a_gpu_after_optimizations.txt", "jit_f"),
        ("1795.module_0000.after_optimizations-buffer-assignment.txt", None),
        ("000_65ac1592097277d9.txt", None),
        ("17953889818.module_0003.jit_loss.before_optimizations.txt", "jit_loss"),
        ("module_0003.jit_loss.cl_878335365.before_optimizations.txt", "jit_loss"),
    ],
)
def test_file_names_give_the_module_name(name: str, module: str | None) -> None:
    assert module_name(name) == module
