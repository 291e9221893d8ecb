"""What programs need, compared with the compiler's own memory analysis and with sums of the printed allocations."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from samples import DUMPS, SHARED_DUMPS, analysis_of, assignments, needs_shared_dumps, on_all_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.needed import color_parts, kind_bytes, reserved_parts
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import Kind


def _needed(analysis: Analysis) -> int:
    space = analysis.memory.space(DEFAULT_COLOR)
    assert space is None or space.id.is_device
    return space.needed_bytes if space else 0


@pytest.mark.parametrize(
    ("folder", "argument", "output", "alias", "temp", "constants"),
    [
        ("gpu-h100-jaxlib0.12.0.1/offload_state", 16777216, 16777232, 16777216, 16777732, 0),
        ("gpu-h100-jaxlib0.12.0.1/psum_user_buffers", 4194304, 4194304, 0, 4194304, 0),
        ("gpu-h100-jaxlib0.12.0.1/scan_temp_color", 4456448, 4194304, 0, 6032424, 4),
    ],
)
def test_programs_need_what_memory_analysis_says(
    folder: str, argument: int, output: int, alias: int, temp: int, constants: int
) -> None:
    """The numbers of `compiled.memory_analysis()` of the program, which leaves out constants."""
    [path] = (DUMPS / folder).glob("*-buffer-assignment.txt")
    assert _needed(analysis_of(path)) == argument + output - alias + temp + constants


_ALLOCATION = re.compile(rb"^\s*allocation \d+: (?:0x[0-9a-f]+, )?size (\d+)(?:, color (\d+))?(.*)$", re.MULTILINE)


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
def test_programs_need_all_allocations_in_the_memory_of_the_device(path: Path) -> None:
    analysis, needed = analysis_of(path), 0
    for size, color, kinds in _ALLOCATION.findall(path.read_bytes()):
        is_device = color != b"5" if analysis.dump.backend is Backend.GPU else color in (b"", b"0")
        needed += int(size) * (is_device and b"thread-local" not in kinds)
    assert _needed(analysis) == needed


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
def test_the_colors_of_a_memory_space_add_up_to_it(path: Path) -> None:
    analysis = analysis_of(path)
    for space in analysis.memory.spaces:
        assert {part.id.memory for part in space.colors} == {space.id}
        assert sum(part.reserved_bytes for part in space.colors) == space.reserved_bytes
        assert sum(part.needed_bytes for part in space.colors) == space.needed_bytes
        assert sum(part.live.at(space.peak_step or 0) for part in space.colors) == space.live.at(space.peak_step or 0)
        by_kind = defaultdict[str, int](int)
        for part in space.colors:
            for kind, size_bytes in color_parts(analysis.dump, part.color):
                by_kind[kind] += size_bytes
        assert dict(reserved_parts(analysis.dump, space.color)) == by_kind


def _needed_and_constants(analysis: Analysis) -> tuple[int, int]:
    return _needed(analysis), kind_bytes(analysis.dump, DEFAULT_COLOR, Kind.CONSTANT)


@on_all_dumps(_needed_and_constants)
def test_needed_bytes_are_those_of_memory_analysis_on_all_dumps(of_all_dumps: Mapping[str, tuple[int, int]]) -> None:
    """`NEW.json` has the needed bytes of the largest module of a set, and `compiled.memory_analysis()` where known. On
    TPUs, that rounds temporaries to 16 KiB and leaves out tables of pointers.
    """
    known = json.loads((SHARED_DUMPS / "NEW.json").read_text())
    with_analysis = 0
    for name, numbers in known.items():
        found = [sizes for file, sizes in of_all_dumps.items() if file.startswith(f"{name}/")]
        # Those without live ranges are not in the facts, and the others have no buffer assignment of their own.
        assert found or name.endswith(("no_analysis", "no_analysis_mlp")) or numbers["needed_bytes"] is None
        if not found:
            continue
        needed, constants = max(found)
        assert needed == numbers["needed_bytes"], name
        if sizes := numbers.get("memory_analysis"):
            with_analysis += 1
            analysis = sizes.get("argument", 0) + sizes.get("output", 0) - sizes.get("alias", 0) + sizes.get("temp", 0)
            assert abs(needed - analysis - constants) <= (66048 if name.startswith("tpu") else 0), name
    assert with_analysis >= 60


@needs_shared_dumps
@pytest.mark.parametrize("name", ["no_analysis", "no_analysis_mlp"])
def test_needed_bytes_without_live_ranges(name: str) -> None:
    [path] = (SHARED_DUMPS / "cpu-jaxlib0.12.0.1-forms" / name).glob("*-buffer-assignment.txt")
    known = json.loads((SHARED_DUMPS / "NEW.json").read_text())[f"cpu-jaxlib0.12.0.1-forms/{name}"]
    assert _needed(analysis_of(path)) == known["needed_bytes"]
