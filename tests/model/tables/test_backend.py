"""How the backend of a dump set is recognized."""

import re
from dataclasses import replace

import pytest

from samples import DUMPS, TPU, analysis_of, assignments, dump_file
from xla_lens.model.tables import backend
from xla_lens.model.tables.backend import Backend, backend_of, parse_spaces

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


@pytest.mark.parametrize("word", ["hbm", "default", "space 0", "x", ""])
def test_hbm_and_default_name_memory_space_0_of_a_tpu(word: str) -> None:
    found = backend.SpaceId(0, Backend.TPU) in parse_spaces(word)
    assert found is (word in ("hbm", "default"))
