"""A dump that is cut off: every format and every place in an editor says so beside its numbers."""

import base64
import gzip
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from commands import as_printed, run
from samples import DUMPS, SPLIT, analysis_of, dump_file, sweep
from xla_lens.disk.sets import SetFiles, find_sets
from xla_lens.editor.annotations import hints, lenses
from xla_lens.editor.hover import hover
from xla_lens.editor.page_kinds import LiveSetPage, SummaryPage
from xla_lens.editor.page_text import page_text
from xla_lens.memory_map.map_data import space_data
from xla_lens.model.analysis import analyse
from xla_lens.model.places.mentions import Mention, Step
from xla_lens.model.summary import summarise
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.report.data import report_data
from xla_lens.report.facts import Report, report
from xla_lens.report.options import ReportOptions
from xla_lens.report.outline import report_markdown, report_text
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tables import MentionRole
from xla_lens.text.document import document_of_file
from xla_lens.text.encoding import Encoding
from xla_lens.words.numbers import apart, human, signed
from xla_lens.words.warrants import reasons

SETS = [
    "tpu-v5e2x2-libtpu0.0.51/mlp_train",
    "tpu-v5p-jaxlib0.6.2-libtpu0.0.17.1/host_offload",
    "gpu-h100-jaxlib0.12.0.1/smap_loop",
    "gpu-h100-jaxlib0.4.38/matmul",
    "cpu-jaxlib0.12.0.1/mlp_train",
    "cpu-tf2.16.2/while",
    "seeds/001_491faa5ce21a17c6.txt",
]


def cut_in_live_ranges(name: str, folder: Path) -> Path:
    """A copy of a set, cut off after a third of its live ranges."""
    files = find_sets(DUMPS / name)[0]
    for path in files.paths.values():
        (folder / path.name).write_bytes(path.read_bytes())
    kind = FileKind.LIVE_RANGE if FileKind.LIVE_RANGE in files.paths else FileKind.BUFFER_ASSIGNMENT
    path = folder / files.paths[kind].name
    text = path.read_bytes()
    start = text.index(b"BufferLiveRange:")
    end = text.index(b"  Live ranges at ", start)
    path.write_bytes(text[: start + (end - start) // 3])
    return path


def shown(*arguments: object) -> str:
    status, out, _ = run("report", *arguments)
    assert status == 1
    return out


@pytest.mark.parametrize("name", sweep(SETS, 3))
def test_reports_of_cut_dumps_say_so_at_the_number(name: str, tmp_path: Path) -> None:
    path = cut_in_live_ranges(name, tmp_path)
    one = analysis_of(path)
    assert one.warrants.of(Quantity.LIVE).bound is Bound.AT_LEAST
    first = one.memory.spaces[0]
    peak = f"≥ {human(first.peak_live_bytes)}"
    data = json.loads(shown(path, "--output-format", "json"))[0]
    assert data["complete"] is False
    assert ("live_bytes", "at_least", "cut_off") in {
        (gap["quantity"], gap["bound"], gap["cause"]) for gap in data["incomplete"]
    }
    assert "truncated-dump" in {finding["code"] for finding in data["findings"]}
    page = shown(path, "--output-format", "html")
    packed = re.search(r'id="memory-map" type="[^"]*">([^<]*)<', page)
    assert packed
    drawn = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    assert "cut off" in drawn["incomplete"]
    assert drawn["spaces"][0]["peak"] == peak
    assert {space["peak_bound"] for space in drawn["spaces"]} == {"at_least"}


@pytest.mark.parametrize("name", SETS)
def test_editors_say_so_at_the_number(name: str, tmp_path: Path) -> None:
    one = analysis_of(cut_in_live_ranges(name, tmp_path))
    live_file = one.dump.live
    assert live_file
    first = one.memory.spaces[0]
    size = human(first.peak_live_bytes)
    labels = [hint.label for hint in hints(one, live_file, (0, 1 << 30), 1000)]
    peaks = [label for label in labels if "◀ peak" in label]
    assert peaks
    assert all("≥ " in label and "dump is cut off" in label for label in peaks)
    titles = [lens.title for file in one.dump.files for lens in lenses(one, file)]
    assert any(f"≥ {size}" in title for title in titles)
    assert all(f"≥ {size}" in title for title in titles if re.search(rf"peak\D*{size}", title))
    assert first.peak_step is not None
    markdown = hover(one, Mention(Step(first.peak_step), MentionRole.USED_VALUE, 0, 0))
    assert f"≥ {size} live" in markdown
    assert "- incomplete: the live ranges are cut off" in markdown or "cut off" in markdown
    for page in (SummaryPage(), LiveSetPage(first.peak_step)):
        text = page_text(one, page).text
        assert f"≥ {size}" in text
        assert "cut off" in text
    spaces = summarise(one, Encoding.UTF16).spaces
    assert {space_data(space)["peak_bound"] for space in spaces} == {"at_least"}


@pytest.mark.parametrize("name", sweep(SETS, 3))
def test_every_format_says_so_wherever_a_dump_is_cut(name: str) -> None:
    files = find_sets(DUMPS / name)[0]
    texts: dict[FileKind, bytes] = {
        kind: path.read_bytes() for kind, path in files.paths.items() if kind is not FileKind.HLO
    }
    truth = as_printed(report_data(_report(files, texts)))
    peaks = {space["color"]: space["peak_live_bytes"] for space in truth["memory_spaces"]}
    reserved = {space["color"]: space["reserved_bytes"] for space in truth["memory_spaces"]}
    chosen = random.Random(name)
    different = 0
    for kind, text in texts.items():
        line_ends = [place + 1 for place, byte in enumerate(text[:-1]) if byte == 10]
        for cut in (*chosen.sample(line_ends, min(8, len(line_ends))), *chosen.sample(range(1, len(text) - 1), 4)):
            one = _report(files, {**texts, kind: text[:cut]})
            data, shown = as_printed(report_data(one)), "\n".join(report_text(one, 200))
            markdown = "\n".join(report_markdown(one))
            found = {space["color"]: space for space in data["memory_spaces"]}
            is_different = False
            for color, peak in peaks.items():
                space = found.get(color)
                if space is None or space["peak_live_bytes"] != peak:
                    is_different = True
                    assert space is None or space["peak_live_bytes"] is None or "peak_live_bytes" in space["bounds"]
                if space is None or space["reserved_bytes"] != reserved[color]:
                    is_different = True
                    assert "reserved_bytes" in data["bounds"]
                    assert space is None or space["reserved_bytes"] is None or "reserved_bytes" in space["bounds"]
            if is_different:
                different += 1
                assert data["complete"] is False
                for words in (shown, markdown):
                    assert "≥ " in words or "unknown" in words, (kind, cut)
                    assert "incomplete" in words, (kind, cut)
                    # A sentence that is sure of the peak is true.
                    for claim in re.findall(r" peaks at ([\d.]+ \w+)", words):
                        assert claim == human(peaks[0])
                    assert "Nothing is ever live" not in words
    assert different > 5


def _report(files: SetFiles, texts: Mapping[FileKind, bytes]) -> Report:
    one = analyse(dump_file(document_of_file(text).data, kind) for kind, text in texts.items())
    return report(one, {kind: str(files.paths[kind]) for kind in texts}, ReportOptions(top=3))


def test_sizes_that_look_the_same_show_their_difference() -> None:
    assert apart(4_833_280, 4_833_284) == "4.61 MiB − 4 B"
    assert apart(4_833_284, 4_833_280) == "4.61 MiB + 4 B"
    assert apart(4_833_280, 4_833_280) == "4.61 MiB"
    assert apart(4_833_280, 9_000_000) == "4.61 MiB"
    assert [signed(size) for size in (2048, -2048, 0)] == ["+2.0 KiB", "−2.0 KiB", "0 B"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"!junk!\n" * 1000, "the buffer assignment is missing, since its file has no line of a dump"),
        (b"\n\n", "the buffer assignment is missing, since its file is empty"),
    ],
)
def test_file_that_is_no_dump_is_called_that(text: bytes, reason: str) -> None:
    whole = analysis_of(SPLIT).dump.files
    junk = dump_file(text, FileKind.BUFFER_ASSIGNMENT)
    files = [junk if file.kind is FileKind.BUFFER_ASSIGNMENT else file for file in whole]
    assert reasons(analyse(files).warrants.of(Quantity.RESERVED).gaps) == reason
