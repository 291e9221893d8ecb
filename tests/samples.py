"""The dumps that tests use, and the markers with which tests point into them."""

import gzip
import json
import os
import random
import tarfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hlo_trees import ParsedInstruction, parse_instruction
from xla_lens.disk.loading import load_files, load_module, load_module_or_finding
from xla_lens.disk.sets import find_set, find_sets
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Mention, mention_at
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind, split_name
from xla_lens.syntax.hlo.module import read_module
from xla_lens.syntax.rows import end_of_lines, read_columns
from xla_lens.syntax.tables import FileColumns
from xla_lens.text.document import Document

ROOT = Path(__file__).parent.parent
DUMPS = Path(__file__).parent / "dumps"
FIELD = Path(__file__).parent / "field"
"""Incomplete dumps and dumps with other files beside them, as people have them."""

SHARED_DUMPS = Path(os.environ.get("XLA_LENS_DUMPS", ROOT.parent / "shared" / "dumps"))

needs_shared_dumps = pytest.mark.collection
"""A test that reads the whole collection; `conftest.py` skips it if the collection is missing."""

SEED = DUMPS / "seeds" / "001_491faa5ce21a17c6.txt"
"""One file that contains everything, from 2022."""

SPLIT = next(DUMPS.glob("cpu-jaxlib0.12.0.1/mlp_train/module_0000*-buffer-assignment.txt"))
"""Three files, from 2026."""

TPU = next(DUMPS.glob("tpu-v5e2x2-*/host_offload/module_0000*-buffer-assignment.txt"))
"""Three files with several memory spaces."""

GLUED = next(DUMPS.glob("cpu-jaxlib0.4.30/zero_size/module_0000*-buffer-assignment.txt"))
"""One file from 2024. The header of each value follows the instruction of the previous one without a line break."""

WHILE = next(DUMPS.glob("cpu-jaxlib0.12.0.1/nested_tuples/module_0010*-buffer-assignment.txt"))
"""Three files and a module whose instructions call computations."""

BARE = next(DUMPS.glob("cpu-jaxlib0.4.30/zero_size/module_0001*-buffer-assignment.txt"))
"""One file and a module whose names have no `%`."""

PALLAS = next(DUMPS.glob("tpu-v5e2x2-*/pallas_flash/*-buffer-assignment.txt"))
"""Three files. The text of an instruction spans several lines."""

PEAK_NAMES = next(DUMPS.glob("cpu-jaxlib0.10.2/peak_names/*-buffer-assignment.txt"))
"""Three files. Names in the stack trace imitate other parts of a dump."""


FORMS = [
    files
    for folder in (
        "tpu-v5e2x2-libtpu0.0.51/mlp_train",
        "tpu-v5e2x2-libtpu0.0.51/host_offload",
        "tpu-v5e2x2-libtpu0.0.51/pallas_flash",
        "tpu-v5p-jaxlib0.6.2-libtpu0.0.17.1/host_offload",
        "gpu-h100-jaxlib0.12.0.1/smap_loop",
        "gpu-h100-jaxlib0.4.38/matmul",
        "cpu-jaxlib0.12.0.1/nested_tuples",
        "cpu-jaxlib0.8.3/callbacks",
        "cpu-jaxlib0.6.2/donation",
        "cpu-jaxlib0.4.30/zero_size",
        "cpu-tf2.16.2/while",
        "cpu-tf2.8.4/while",
        "cpu-tf2.5.3/while",
        "seeds",
    )
    for files in find_sets(DUMPS / folder)
]
"""One set or more of each print form."""

TPU_LOG = Path(__file__).parent / "logs" / "tpu-v5e-libtpu0.0.51.log"
"""The error of a TPU whose memory ran out."""


def never() -> bool:
    """Never cancel."""
    return False


def facts(folder: Path) -> list[dict[str, Any]]:
    """The numbers that an independent line parser computed for each dump set of a folder."""
    return [json.loads(line) for line in (folder / "FACTS.jsonl").read_text().splitlines()]


_DEVICE_MEMORY = {
    "fsdp_user_buffers": (52431964, 48234520, 17, 33554472),
    "psum_user_buffers": (12582924, 12582912, 3, 12582912),
    "scan_temp_color": (14683216, 14155832, 71, 13631544),
}
"""The numbers of the device's memory in dumps for GPUs where it has several colors, counted like those of the facts.
The peaks of the colors do not add up, because they are at different steps.
"""


def space_facts(fact: dict[str, Any]) -> list[dict[str, Any]]:
    """The numbers of the memory spaces of a dump set. The facts have those of each color."""
    spaces: list[dict[str, Any]] = fact["memory_spaces"]
    numbers = _DEVICE_MEMORY.get(Path(fact["file"]).parent.name)
    if numbers is None:
        return spaces
    names = ("color", "reserved_bytes", "peak_live_bytes", "peak_step", "live_bytes_at_printed_peak")
    return [dict(zip(names, (0, *numbers), strict=True))]


def fact_of(path: Path) -> dict[str, Any]:
    """The numbers of the dump set of a file in `tests/dumps`."""
    return _facts_by_file()[path.relative_to(DUMPS).as_posix()]


@cache
def _facts_by_file() -> dict[str, dict[str, Any]]:
    return {fact["file"]: fact for fact in facts(DUMPS)}


def sweep(cases: Iterable[Any], every: int) -> list[Any]:
    """The cases of a sweep as parameters. `make test` runs each `every`-th of them, `make test-all` all."""
    return [
        case if number % every == 0 else pytest.param(*_cells(case), marks=pytest.mark.slow)
        for number, case in enumerate(cases)
    ]


def _cells(case: Any) -> tuple[Any, ...]:
    return case if type(case) is tuple else (case,)


def extracted(program: str, folder: Path) -> Path:
    """The buffer assignment of a program of `tests/advice/programs`, in a folder beside its other files."""
    for path in (Path(__file__).parent / "advice" / "programs" / program).glob("*.gz"):
        (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return next(folder.glob("*-buffer-assignment.txt"))


def dump_paths(folder: Path) -> list[Path]:
    """All dump files below a folder, without what else XLA writes about a module: HLO texts, flags and metadata."""
    return sorted(
        path
        for path in folder.rglob("*.txt")
        if split_name(path.name)[1] or not (path.name.startswith("module_") or path.name.endswith("_optimizations.txt"))
    )


def assignments() -> list[Path]:
    """One file of each dump set in `tests/dumps`."""
    return [DUMPS / fact["file"] for fact in facts(DUMPS)]


on_each_dump = pytest.mark.parametrize(
    "path", sweep(assignments(), 3), ids=lambda path: f"{path.parent.name}-{path.name[:30]}"
)
"""Runs a test on one file of each dump set in `tests/dumps`; `make test` takes every third."""

on_each_file = pytest.mark.parametrize(
    "path", sweep(dump_paths(DUMPS), 5), ids=lambda path: str(path.relative_to(DUMPS))
)
"""Runs a test on each dump file in `tests/dumps`; `make test` takes every fifth."""


@cache
def big_dumps(folder: Path) -> Path:
    """Unpack the big dumps into a folder, and return it."""
    for archive in sorted((SHARED_DUMPS / "big").glob("*.tar.xz")):
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    return folder


@cache
def analysis_of(path: Path) -> Analysis:
    """The analysis of the dump set of a file."""
    return analyse(file.dump_file for file in load_files(find_set(path), {}, {}, never).values())


@cache
def joined(path: Path) -> Analysis:
    """The analysis of the dump set of a file, with its HLO module if there is one."""
    return load_module_or_finding(find_set(path), {}, analysis_of(path))


@cache
def module_of(path: Path) -> HloModule:
    """The HLO module of the dump set of a file."""
    loaded = load_module(find_set(path), {}, None, never)
    module = loaded.module if loaded else None
    assert module, f"{path}: no HLO module"
    return module


def parsed_instruction(dump: DumpSet, name: int) -> ParsedInstruction | None:
    """Parse the first quote of an instruction with the grammar. None if the set does not quote it."""
    row = int(dump.first_quote[name]) if name != NONE else NONE
    text = dump.instruction_text(row) if row != NONE else None
    return parse_instruction(text) if text else None


def modules() -> list[Path]:
    """The HLO modules in `tests/dumps`."""
    return sorted(DUMPS.rglob("*_optimizations.txt"))


def module_of_text(text: bytes) -> HloModule:
    """The HLO module of a text."""
    file = DumpFile(FileKind.HLO, str(Path("test.txt").absolute()), Document(text), FileColumns.empty())
    return HloModule(file, read_module(file.document, never))


def malformed_modules() -> Iterator[bytes]:
    """Damaged HLO modules: with moved lines, cut off, with other line ends, two in one file, empty."""
    yield from (b"", b"\n", b"ENTRY a {\n  ROOT b = f32[] c(b)", b"StackFrames\n", b"}\n%a {\n}\n")
    chance = random.Random(0)
    for path in modules()[::3]:
        text = path.read_bytes()
        yield from (text.replace(b"\n", b"\r\n"), text.replace(b"\n", b"\r"), text + text, text.replace(b'"', b"", 1))
        yield from (text[: chance.randrange(len(text))] for _ in range(3))
        yield from (_with_moved_lines(text, chance) for _ in range(6))


def all_analyses(folder: Path) -> Iterator[tuple[str, Analysis]]:
    """Load the whole collection, one set at a time. Unpacks the big dumps into a folder."""
    big = big_dumps(folder)
    for fact in facts(SHARED_DUMPS):
        path = SHARED_DUMPS / fact["file"]
        # Bypasses the cache of `analysis_of`, because the whole collection does not fit into memory.
        yield fact["file"], analysis_of.__wrapped__(path if path.is_file() else big / fact["file"])


def on_dumps(check: Callable[[Analysis], None]) -> Callable[..., None]:
    """Make a test of a check, with a case for each dump set in `tests/dumps`, of which `make test` takes every third,
    and one for the whole collection, which shares its pass over the collection with other tests.
    """

    def test(path: Path | None, request: pytest.FixtureRequest) -> None:
        if path:
            check(analysis_of(path))
        else:
            request.getfixturevalue("of_all_dumps")

    cases = [*sweep(assignments(), 3), pytest.param(None, marks=needs_shared_dumps)]
    ids = [f"{path.parent.name}-{path.name[:30]}" for path in assignments()]
    marked: Any = pytest.mark.parametrize("path", cases, ids=[*ids, "collection"])(test)
    marked.__name__, marked.__doc__, marked.check = check.__name__, check.__doc__, check
    return marked


def on_all_dumps(check: Callable[[Analysis], Any]) -> Callable[[Any], Any]:
    """Run a check on the whole collection, and pass its results to the test in the fixture `of_all_dumps`. All such
    tests share one pass over the collection.
    """

    def mark_test(test: Any) -> Any:
        test.check = check
        return needs_shared_dumps(test)

    return mark_test


def dump_file(text: bytes, kind: FileKind = FileKind.BUFFER_ASSIGNMENT) -> DumpFile:
    """Return a dump file with this text."""
    document = Document(text)
    return DumpFile(kind, str(Path("test.txt").absolute()), document, read_columns(text[: end_of_lines(text)], never))


def analysis_of_text(text: str) -> Analysis:
    """Analyze a dump that consists of one file."""
    return analyse([dump_file(text.encode())])


def slots_text(slots: list[tuple[int, int, int, int, int]]) -> str:
    """A dump with one value for each slot: its allocation, offset, size, start step and length in steps."""
    text = "BufferAssignment:\n"
    for allocation in sorted({slot[0] for slot in slots}):
        text += f"allocation {allocation}: size 99, preallocated-temp:\n"
        for number, (where, offset, size, *_) in enumerate(slots):
            if where == allocation:
                text += f" value: <{number} v{number} @0> (size={size},offset={offset}): u8[{size}]{{0}}\n"
    text += "\nTotal bytes used: 99 (99B)\n\nUsed values:\n\n\nHloLiveRange (max 30):\n  InstructionSequence:\n"
    text += "".join(f"    {number}:v{number}\n" for number in range(len(slots))) + "  BufferLiveRange:\n"
    return text + "".join(
        f"    v{number}{{}}:{start}-{start + length}\n" for number, (*_, start, length) in enumerate(slots)
    )


def mark(analysis: Analysis, marked: str) -> tuple[DumpFile, Mention | None]:
    """The mention at a mark: `marked` is a line that occurs once in the dump, and a line with `^` below the place."""
    line, mark_line = (part for part in marked.strip("\n").split("\n"))
    column = mark_line.index("^")
    for file in analysis.dump.files:
        text = b"\n" + file.document.data + b"\n"
        found = text.count(b"\n" + line.encode() + b"\n")
        if found:
            assert found == 1, f"{line!r} occurs {found} times in {file.label}"
            offset = text.index(b"\n" + line.encode() + b"\n") + len(line[:column].encode())
            return file, mention_at(analysis.dump, file, offset)
    raise AssertionError(f"{line!r} is not in the dump")


def lines_with_marks(places: list[Any]) -> str:
    """Places as text: the line of each, and below it `^` under the place."""
    return "\n".join(_lines_with_mark(place) for place in places)


def _lines_with_mark(place: Any) -> str:
    document = place.file.document
    start, end = document.line_span(document.row(place.start))
    line = document.data[start:end].decode()
    before = document.data[start : place.start].decode()
    width = len(document.data[place.start : min(place.end, end)].decode())
    return f"{line}\n{' ' * len(before)}{'^' * width}"


def damaged(text: bytes) -> Iterator[tuple[int, bytes]]:
    """For each line of a dump, its number and the dump with that line replaced."""
    lines = text.splitlines(keepends=True)
    for number in range(len(lines)):
        yield number, b"".join([*lines[:number], b"?!\n", *lines[number + 1 :]])


def malformed_texts() -> Iterator[bytes]:
    """Damaged dumps: with a broken line, with moved lines, cut off, with other line ends, empty."""
    yield from (b"", b"\n", b"\r\n\n", b"?", b"<1 a @0>", b"HloModule a\n\nENTRY %a () -> f32[] {\n}\n")
    chance = random.Random(0)
    for path in (SEED, SPLIT, TPU, GLUED, PALLAS, PEAK_NAMES):
        text = b"".join(file.document.data for file in analysis_of(path).dump.files)
        broken = [text for _, text in damaged(text)]
        yield from (text.replace(b"\n", end) for end in (b"\n", b"\r\n", b"\r"))
        yield from broken[:: max(1, len(broken) // 12)]
        yield from (text[: chance.randrange(len(text))] for _ in range(4))
        yield from (_with_moved_lines(text, chance) for _ in range(12))


def _with_moved_lines(text: bytes, chance: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    for _ in range(chance.randrange(1, 9)):
        if not lines:
            break
        place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        lines[other:other] = lines[place : place + chance.randrange(1, 9)]
        del lines[place : place + chance.randrange(9)]
    return b"".join(lines)
