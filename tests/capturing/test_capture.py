"""Captures of dumps on disk: numbers, tables, pictures and limits. `test_programs.py` compiles real programs."""

import html
import re
import subprocess
import sys
from base64 import b64decode
from gzip import decompress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import xla_lens
from samples import DUMPS, SPLIT, TPU, facts, space_facts
from xla_lens.capturing.shown import MOST_ROWS
from xla_lens.disk.package_files import page_sources

SWITCH = next(DUMPS.glob("tpu-7x-libtpu0.0.52/switch/*jit_sw.*-buffer-assignment.txt"))
"""Has several pieces of advice."""


def _capture(path: Path) -> xla_lens.Capture:
    return xla_lens.read_captures(path)[0]


def _cut(path: Path, folder: Path) -> Path:
    """A copy of a dump whose buffer assignment is cut in the middle of a line."""
    for file in path.parent.glob(f"{path.name.split('.')[0]}.*"):
        data = file.read_bytes()
        (folder / file.name).write_bytes(data[: len(data) // 2 - 3] if file.name == path.name else data)
    return folder / path.name


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize("fact", facts(DUMPS), ids=lambda fact: fact["file"])
def test_peaks_are_those_of_the_dump(fact: dict[str, Any]) -> None:
    capture = _capture(DUMPS / str(fact["file"]))
    for space, row in zip(space_facts(fact), capture.peaks, strict=True):
        peak = capture.peak(space["color"])
        assert row == peak.to_dict()
        assert (peak.size_bytes, peak.reserved_bytes) == (space.get("peak_live_bytes", 0), space["reserved_bytes"])
        assert int(peak) == peak.size_bytes
        if peak.bound is xla_lens.Bound.EXACT and peak.size_bytes:
            assert peak.step == space["peak_step"]
            for table, column in (
                (peak.live_at_peak, "owned_bytes"),
                (peak.lines, "size_bytes"),
                (peak.opcodes, "size_bytes"),
                (peak.kinds, "size_bytes"),
            ):
                assert sum(table[column]) == peak.size_bytes, table.title


def test_names_of_memory_spaces() -> None:
    tpu, cpu = _capture(TPU), _capture(SPLIT)
    assert [tpu.peak(name).space for name in (None, "HBM", "hbm", 0)] == ["HBM"] * 4
    assert tpu.peak("VMEM").space == "VMEM"
    # Host memory is the main memory of a CPU, and a space of its own beside that of a TPU.
    for name in ("HBM", "host", "Host Memory", "host_memory", "memory space 0", "color_0", 0):
        assert cpu.peak(name).space == "host memory"
    assert {tpu.peak(name).space for name in ("vmem", "VMEM", " Vmem ", 1, "memory space 1")} == {"VMEM"}
    with pytest.raises(ValueError, match=r"jit_train_step uses no memory space 'VMEM'; it uses host memory"):
        cpu.peak("VMEM")


def test_only_functions_can_be_tried() -> None:
    for attempt in (_capture(SWITCH).try_donation, _capture(SWITCH).try_advice):
        with pytest.raises(ValueError, match=r"jit_sw was read from a dump; "):
            attempt()


def test_compare_takes_captures() -> None:
    old, new = (
        _capture(next((DUMPS / release / "donation").glob("*mismatch*-buffer-assignment.txt")))
        for release in (
            "cpu-jaxlib0.4.20",
            "cpu-jaxlib0.6.2",
        )
    )
    compared = xla_lens.compare(old, new)
    (space,) = compared.memory_spaces
    assert (space.peak_live_bytes.old, space.peak_live_bytes.new) == (int(old.peak()), int(new.peak()))
    # In a notebook, it is the report of `xla-lens diff` and both maps.
    picture = compared._repr_html_()
    assert "<h1><code>jit_mismatch</code>: host memory peak " in picture
    assert "<h2>Totals" in picture
    assert "comparison</title>" in _page(picture)


# ---------------------------------------------------------------- tables


def test_a_table_is_rows_and_columns() -> None:
    table = _capture(SPLIT).live_at_peak
    columns = table.to_dict()
    assert list(columns) == list(table.columns)
    assert {len(column) for column in columns.values()} == {len(table)}
    assert table[0] == {name: column[0] for name, column in columns.items()}
    assert table["name"][:2] == ["params_0__0_.1", "dot"]
    assert [row["line"] for row in table[:2]] == [None, 50]
    assert str(table[1]["file"]).endswith("programs.py")
    assert isinstance(table[:2], xla_lens.Table)
    assert len(table[:2]) == 2


# ---------------------------------------------------------------- pictures


def test_text_has_the_answer_and_no_line_is_too_long() -> None:
    lines = repr(_capture(SPLIT)).splitlines()
    assert lines[0] == "jit_train_step"
    assert lines[1] == "  It needs 4.21 MiB of host memory."
    assert lines[2] == "  All but 56 B of it is live at once, at step 36 of 40 (ynn_fusion.1)."
    assert any("programs.py:50" in line for line in lines)
    assert max(map(len, lines)) <= 120
    # Sentences wrap: nothing of the answer is cut off.
    capture = _capture(SWITCH)
    answer = repr(capture).split("\n\n")[0]
    assert "…" not in answer
    assert f"{capture.advice[0]['what']}: saves " in " ".join(answer.split())


def _page(picture: str) -> str:
    match = re.search(r'<iframe sandbox="allow-scripts" [^>]*srcdoc="([^"]*)"></iframe>', picture)
    assert match
    return html.unescape(match[1])


def test_picture_is_a_summary_and_then_the_map_in_a_frame() -> None:
    capture = _capture(SPLIT)
    picture = capture._repr_html_()
    summary, frame = picture.split("<iframe")
    assert "It needs 4.21 MiB of host memory" in summary
    assert "<table>" in summary
    assert "<script" not in summary
    page = _page(f"<iframe{frame}")
    script, style = page_sources()
    packed = re.search(r'<script id="program" type="[^"]*">([^<]*)</script>', page)
    assert packed
    unpacked = decompress(b64decode(packed[1])).decode()
    assert unpacked.replace(r"\x3c", "<") == script.replace(r"\x3c", "<")
    assert len(page) < 0.7 * len(script)
    # The policy allows the script that unpacks, what it unpacks, and nothing else.
    (runs,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    policy = re.search(r"script-src ([^;]*);", page)
    assert policy
    assert [b64decode(source[8:-1]) for source in policy[1].split(" ")] == [
        sha256(text.encode()).digest() for text in (unpacked, runs)
    ]
    assert style[:200] in page


def test_no_name_becomes_markup(tmp_path: Path) -> None:
    path = tmp_path / SPLIT.name
    for file in SPLIT.parent.glob("module_0000*"):
        data = file.read_bytes().replace(b"jit(train_step)/", b"</td></iframe><b>&amp;'/")
        (tmp_path / file.name).write_bytes(data)
    picture = _capture(path)._repr_html_()
    assert "<b>" not in picture
    assert picture.count("</iframe>") == 1
    assert "&lt;/td&gt;&lt;/iframe&gt;&lt;b&gt;&amp;amp;&#x27;/" in picture


def test_a_map_that_is_too_big_for_a_notebook_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xla_lens.capturing.shown.MOST_MAP", 1000)
    picture = _capture(SPLIT)._repr_html_()
    assert "<iframe" not in picture
    assert "The memory map is too big for a notebook" in picture


# ---------------------------------------------------------------- limits


def test_a_limit_is_exact_to_the_byte() -> None:
    capture = _capture(TPU)
    for name in ("hbm", "vmem"):
        needed = capture.peak(name).reserved_bytes
        capture.assert_fits(**{name: needed})
        with pytest.raises(AssertionError, match=r"^jit_\w+ needs .* does not fit the budget: 1 B too much"):
            capture.assert_fits(**{name: needed - 1})


def test_the_message_says_by_how_much_and_what_is_live() -> None:
    with pytest.raises(AssertionError) as raised:
        _capture(SPLIT).assert_fits(hbm="3MiB")
    lines = str(raised.value).splitlines()
    needs = "jit_train_step needs 4.21 MiB of 3 MiB of host memory (140.5 %) and does not fit the budget: "
    assert lines[0] == f"{needs}1.21 MiB too much."
    assert lines[1] == "Live at the host memory peak: 4.21 MiB in 13 values at step 36 (ynn_fusion.1)"
    assert re.match(r" *1.53 MiB +36.3 % +dot +programs.py:50 +f32\[784,512\]", lines[4])
    assert lines[13:] == ["  ... and 3 smaller values"]
    # What to do, the action first that lowers most what the limit is about.
    capture = _capture(SWITCH)
    with pytest.raises(AssertionError) as raised:
        capture.assert_fits(hbm=1)
    advice = sorted(capture.advice, key=lambda row: -row["saved_needed_bytes"])
    assert advice
    assert re.findall(r"^(.*): saves ", str(raised.value), re.MULTILINE) == [row["what"] for row in advice]


def test_several_limits_and_those_of_spaces_that_are_not_used() -> None:
    capture = _capture(TPU)
    with pytest.raises(AssertionError) as raised:
        capture.assert_fits(hbm=1, vmem=1)
    spaces = re.findall(r"^jit_\w+ needs .* of (\w+) \(.* does not fit", str(raised.value), re.MULTILINE)
    assert spaces == ["HBM", "VMEM"]
    _capture(SPLIT).assert_fits(hbm="1GiB", vmem=0)
    with pytest.raises(TypeError, match="needs a limit"):
        capture.assert_fits()
    with pytest.raises(ValueError, match="hbm='much': not a size"):
        capture.assert_fits(hbm="much")


def test_a_dump_that_does_not_tell_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(
        AssertionError, match=r"1 TiB of host memory. The dump does not tell whether it fits.\n.* cut off"
    ):
        _capture(_cut(SPLIT, tmp_path)).assert_fits(hbm="1TiB")


# ---------------------------------------------------------------- jax is not needed


def test_neither_the_import_nor_a_picture_imports_jax() -> None:
    code = (
        "import sys, xla_lens\n"
        f"one = xla_lens.read_captures({str(SPLIT)!r})[0]\n"
        "assert one._repr_html_() and repr(one) and xla_lens.capture and xla_lens.dumping\n"
        "assert not {'jax', 'pandas', 'IPython'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tables_show_their_first_rows() -> None:
    rows = [{"name": f"<{number}>", "size_bytes": 1024 * number} for number in range(MOST_ROWS + 5)]
    table = xla_lens.Table("Buffers", rows)
    lines = repr(table).splitlines()
    assert lines[:4] == ["Buffers: 25 rows", "  name  size_bytes", "  <0>          0 B", "  <1>      1.0 KiB"]
    assert lines[-1] == "  ... and 5 more rows"
    assert len(lines) == MOST_ROWS + 3
    assert table._repr_html_().count("<tr>") == MOST_ROWS + 1
    assert '<td class="text"><code>&lt;1&gt;</code></td><td class="number">1.0 KiB</td>' in table._repr_html_()
    assert repr(table[:0]) == "Buffers: 0 rows"


def test_tables_of_an_incomplete_dump_say_so(tmp_path: Path) -> None:
    capture = _capture(_cut(SPLIT, tmp_path))
    assert not capture.analysis.warrants.is_complete
    assert capture.peaks.bound is not xla_lens.Bound.EXACT
    assert re.match(r"Peaks: 1 row, (at least: the dump is incomplete|unknown)\n", repr(capture.peaks))
    assert "cut off" in repr(capture.peak())
