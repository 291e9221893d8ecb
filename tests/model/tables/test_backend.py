"""How the backend of a dump set is recognized."""

import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from samples import DUMPS, TPU, analysis_of, assignments, dump_file
from xla_lens.model.tables import backend
from xla_lens.model.tables.backend import Backend, SpaceId, backend_of, memories, parse_spaces
from xla_lens.syntax.columns import NONE

_STAGE = "after_optimizations-buffer-assignment.txt"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"module_0001.jit_f.cpu_{_STAGE}", Backend.CPU),
        (f"dumps/module_0001.jit_f.cl_1003875606.cpu_{_STAGE}", Backend.CPU),
        (f"module_0001.jit_f.sm_9.0a_gpu_{_STAGE}", Backend.GPU),
        (f"module_0001.jit_f.gfx90a_gpu_{_STAGE}", Backend.GPU),
        (f"module_0001.jit_f.gpu_{_STAGE}", Backend.GPU),
        (f"module_0001.jit_f.cl_1003875606.{_STAGE}", Backend.TPU),
        (f"module_0001.jit_f.{_STAGE}", None),
        (f"x.cpu_{_STAGE}/notes.txt", None),
    ],
)
def test_file_names_show_the_backend(name: str, expected: Backend | None) -> None:
    assert backend_of([replace(dump_file(b""), label=name)]) is expected
    assert backend_of([dump_file(b"*** Begin %b ***\nBufferAssignment:\n" % name.encode())]) is expected


def test_content_never_contradicts_file_names(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {path: analysis_of(path).dump for path in assignments()}
    monkeypatch.setattr(backend, "_STAGE", re.compile("(?!)"))
    by_content = {path: backend_of(dump.files) for path, dump in named.items()}
    assert set(by_content.values()) == {*Backend, None}
    for path, dump in named.items():
        assert by_content[path] in (dump.backend, None), path


def test_memory_spaces_have_the_names_of_their_backend() -> None:
    tpu, seed = (analysis_of(path).dump for path in (TPU, DUMPS / "seeds" / "000_65ac1592097277d9.txt"))
    assert [tpu.space_id(color).name for color in (0, 1, 2, 5, 7)] == [
        "HBM",
        "VMEM",
        "sync flags",
        "host memory",
        "SparseCore stack",
    ]
    assert seed.backend is None
    assert seed.space_id(0).name == "memory space 0"


def test_colors_in_the_same_memory_have_one_memory_space() -> None:
    of_gpu = {color: SpaceId(color, Backend.GPU).memory.color for color in (0, 1, 2, 3, 5, 7, 99)}
    assert of_gpu == {0: 0, 1: 0, 2: 0, 3: 0, 5: 5, 7: 0, 99: 0}
    of_tpu = {color: SpaceId(color, Backend.TPU).memory.color for color in range(17)}
    assert of_tpu == {color: 0 if color == 9 else color for color in range(17)}
    assert {SpaceId(color, Backend.CPU).memory.color for color in range(9)} == {0}
    assert {SpaceId(color, None).memory.color for color in range(9)} == set(range(9))
    assert memories(np.array([7, NONE, 5, 0, 7]), Backend.GPU).tolist() == [0, NONE, 5, 0, 0]
    assert memories(np.zeros(0, np.int64), Backend.GPU).tolist() == []


@pytest.mark.parametrize(
    ("word", "colors"),
    [
        ("vmem", {(1, "tpu"), (1, None)}),
        ("smem", {(4, "tpu"), (2, None)}),
        ("CMEM", {(3, "tpu"), (5, "gpu"), (5, None)}),
        ("host memory", {(5, "tpu"), (5, "gpu"), (0, "cpu"), (4, None)}),
        ("7", {(7, "tpu"), (0, "gpu"), (0, "cpu"), (7, None)}),
        ("color 5", {(5, "tpu"), (5, "gpu"), (0, "cpu"), (5, None)}),
    ],
)
def test_words_for_memory_spaces(word: str, colors: set[tuple[int, str | None]]) -> None:
    """A printed name is no other color of a backend that has the name, and no part of the device's memory."""
    assert {(space.color, space.backend) for space in parse_spaces(word)} == colors


@pytest.mark.parametrize("word", ["hbm", "default", "space 0", "x", ""])
def test_hbm_and_default_name_memory_space_0_of_a_tpu(word: str) -> None:
    found = SpaceId(0, Backend.TPU) in parse_spaces(word)
    assert found is (word in ("hbm", "default"))


def test_colors_without_tiles_are_those_of_a_gpu(tmp_path: Path) -> None:
    (path,) = DUMPS.glob("gpu-h100-jaxlib0.12.0.1/psum_user_buffers/*-buffer-assignment.txt")
    renamed = tmp_path / "0001-buffer-assignment.txt"
    renamed.write_bytes(path.read_bytes())
    dump = analysis_of(renamed).dump
    assert dump.backend is Backend.GPU
    assert [space.needed_bytes for space in analysis_of(renamed).memory.spaces] == [12582912]
