"""Reports and findings on a terminal: they fit, names stay recognizable, colors and links."""

import io
import os
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import pytest

from commands import on_terminal, printed, printed_json
from samples import PALLAS, SPLIT, TPU, joined, on_all_dumps, on_each_dump
from terminals import read_all
from xla_lens.blocks.terminal import Shortening, Style, StyledText, Terminal, columns, shortened, width_of, wrapped
from xla_lens.blocks.text import terminal_lines
from xla_lens.cli.terminal import find_terminal
from xla_lens.disk.sets import find_set
from xla_lens.model.analysis import Analysis
from xla_lens.report.facts import Report, report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.outline import report_outline

WIDTHS = (60, 80, 120)
LINK = re.compile(r"\x1b\]8;;(.*?)\x1b\\(.*?)\x1b\]8;;\x1b\\")


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", LINK.sub(r"\2", text))


def _report(path: Path) -> Report:
    files = find_set(path).paths
    options = ReportOptions(top=20, at_step=None, parts=frozenset(Part) - {Part.BUDGET})
    return report(joined(path), {kind: str(file) for kind, file in files.items()}, options)


def _names(text: str, label: str) -> list[str]:
    """The words of a text that name a value, in full or with its middle left out."""
    ends = re.compile(r"(.+)…(.+)")
    words = {word.strip("(),.`") for word in text.split()} | set(text.split())
    parts = [(word, ends.fullmatch(word)) for word in words]
    return [
        word
        for word, cut in parts
        if word == label or (cut and len(word) >= 18 and label.startswith(cut[1]) and label.endswith(cut[2]))
    ]


def _check(found: Report) -> None:
    """Check that a report fits, and that its values and source lines can be told apart."""
    outline = report_outline(found)
    for width in WIDTHS:
        lines = list(terminal_lines(outline, found.dump, Terminal(width, has_colors=False)))
        assert [line for line in lines if columns(line) > width] == []
        text = "\n".join(lines)
        for one in found.spaces:
            labels = [found.dump.value_label(value) for value in one.peak.values[:20].tolist()] if one.peak else []
            for label in labels:
                names = _names(text, label)
                assert [name for name in names if not any(_names(name, other) for other in {*labels} - {label})], label
            for line in one.lines.lines if one.lines else ():
                if line.frame and line.frame.line is not None:
                    assert f"{line.frame.file.rpartition('/')[2]}:{line.frame.line}" in text
        painted = "\n".join(terminal_lines(outline, found.dump, Terminal(width, has_colors=True)))
        assert painted.count("\x1b[0m") > 5
        assert _plain(painted) == text


@on_each_dump
def test_every_report_fits_and_names_its_values_and_lines(path: Path) -> None:
    _check(_report(path))


def _check_live_values(analysis: Analysis) -> None:
    parts = frozenset({Part.TOTALS, Part.PEAK, Part.LIVE, Part.SOURCE})
    files = {file.kind: file.label for file in analysis.dump.files}
    _check(report(analysis, files, ReportOptions(top=20, parts=parts)))


@on_all_dumps(_check_live_values)
def test_the_reports_of_the_whole_collection_fit(of_all_dumps: Mapping[str, None]) -> None:
    assert len(of_all_dumps) >= 475


def test_narrow_terminals_move_columns_below_their_row() -> None:
    found = _report(SPLIT)
    lines = list(terminal_lines(report_outline(found), found.dump, Terminal(60, has_colors=False)))
    start = lines.index("Live at the host memory peak: 4.21 MiB in 13 values at step")
    assert lines[start : start + 7] == [
        "Live at the host memory peak: 4.21 MiB in 13 values at step",
        "  36 (ynn_fusion.1)",
        "       size   share  value",
        "   1.53 MiB  36.3 %  params_0__0_.1",
        "      shape f32[784,512]{1,0}  live 0–37",
        "      op_name params[0][0]",
        "   1.53 MiB  36.3 %  dot",
    ]


# ---------------------------------------------------------------- fitting


@pytest.mark.parametrize(
    ("cut", "width", "expected"),
    [
        (Shortening.START, 24, "…/programs.py:50"),
        (Shortening.START, 12, "…grams.py:50"),
        (Shortening.MIDDLE, 16, "/home…rams.py:50"),
        (Shortening.END, 10, "/home/use…"),
        (Shortening.START, 40, "/home/user/programs/programs.py:50"),
    ],
)
def test_names_are_shortened_where_they_say_least(cut: Shortening, width: int, expected: str) -> None:
    assert (
        shortened(StyledText("/home/user/programs/programs.py:50", cut=cut), width).text[-len(expected) :] == expected
    )
    assert columns(shortened(StyledText("/home/user/programs/programs.py:50", cut=cut), width).text) <= width


# ---------------------------------------------------------------- real terminals


def test_the_width_is_that_of_the_terminal() -> None:
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    kept = {name: text for name, text in os.environ.items() if name in ("PATH", "HOME", "PYTHONPATH")}
    command = [sys.executable, "-m", "xla_lens", "report", str(PALLAS)]
    variables = {**kept, "PYTHONIOENCODING": "utf-8", "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=variables):
        os.close(theirs)
        output = read_all(ours)
    os.close(ours)
    assert output.decode().replace("\r\n", "\n") == on_terminal(60, "report", PALLAS)[1]


@pytest.mark.parametrize("width", WIDTHS)
def test_reports_fill_the_terminal(width: int) -> None:
    status, output, errors = on_terminal(width, "report", PALLAS)
    assert (status, errors) == (0, "")
    assert width - 20 < max(map(columns, _plain(output).splitlines())) <= width
    assert "\x1b[36m" in output
    assert "\x1b]8;;file:" in output
    assert "\x1b]8" not in on_terminal(width, "report", PALLAS, FORCE_HYPERLINK="0")[1]
    assert on_terminal(width, "report", PALLAS, NO_COLOR="1")[1] == _plain(output)


class _Stream(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("color", "environment", "has_colors"),
    [
        ("auto", {}, True),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"NO_COLOR": ""}, True),
        ("auto", {"TERM": "dumb"}, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
    ],
)
def test_colors_follow_the_option_the_environment_and_the_terminal(
    monkeypatch: pytest.MonkeyPatch, color: str, environment: dict[str, str], *, has_colors: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "90", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", _Stream())
    terminal = find_terminal(color)
    assert terminal
    assert (terminal.width, terminal.has_colors) == (90, has_colors)


def test_files_get_plain_text_unless_colors_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in printed("report", SPLIT)
    monkeypatch.setenv("COLUMNS", "60")
    for options, variable in ((("--color", "always"), "0"), ((), "1")):
        monkeypatch.setenv("FORCE_COLOR", variable)
        output = printed("report", SPLIT, *options)
        assert "\x1b[36m" in output
        assert max(map(columns, _plain(output).splitlines())) <= 60


def test_links_lead_to_files_and_lines(tmp_path: Path) -> None:
    program = tmp_path / "the program.py"
    program.write_text("pass\n" * 90)
    for file in SPLIT.parent.glob("module_0000*"):
        text = file.read_text().replace("/home/user/programs/programs.py", str(program))
        (tmp_path / file.name).write_text(text)
    shown = ("report", str(tmp_path), "--part", "line,live")
    (report_,) = printed_json(*shown)
    names = [value["name"] for value in report_["memory_spaces"][0]["live_at_peak"]][:20]
    for environment, form in (
        ({"TERM_PROGRAM": "vscode"}, r"vscode://file(?P<path>/.*):(?P<line>\d+)"),
        ({"TERM": "xterm-kitty"}, r"file://[^/]*(?P<path>/.*)#(?P<line>\d+)"),
        ({"TERM_PROGRAM": "WezTerm"}, r"file://[^/]*(?P<path>/.*)(?P<line>)"),
    ):
        places: dict[str, tuple[Path, str]] = {}
        for url, text in LINK.findall(on_terminal(100, *shown, **environment)[1]):
            place = re.fullmatch(form, url)
            assert place, url
            places[_plain(text)] = Path(unquote(place["path"])), place["line"]
        for name in names:
            path, line = places[name]
            assert name in (path.read_text().splitlines()[int(line) - 1] if line else path.read_text())
        sources = [place for text, place in places.items() if "program.py:" in text]
        assert len(sources) >= 3
        assert {path for path, _ in sources} == {program}
        assert {line for _, line in sources} <= {"50", "51", "57", "59", ""}
    assert "\x1b]8" not in on_terminal(100, *shown, TERM_PROGRAM="vscode", NO_COLOR="1")[1]


def test_findings_wrap_on_a_terminal_and_keep_their_place() -> None:
    status, output, _ = on_terminal(60, "check", str(TPU.parent), str(SPLIT))
    assert status == 0
    lines = _plain(output).splitlines()
    assert max(map(columns, lines)) <= 60
    assert f"{SPLIT.name.removesuffix('-buffer-assignment.txt')}-live-range.txt:84:3" in "".join(
        line.strip() for line in lines
    )


@pytest.mark.parametrize("length", range(20, 100))
def test_long_words_lose_nothing_where_they_are_broken(length: int) -> None:
    text = "".join(chr(ord("a") + place % 26) for place in range(length))
    lines = wrapped([StyledText(text, Style.SOURCE), StyledText(": "), StyledText("error")], 60, 4)
    assert "".join(piece.text for line in lines for piece in line).replace(" ", "") == f"{text}:error"
    assert max(map(width_of, lines)) <= 60


def test_explanations_fit_the_terminal() -> None:
    for arguments in (("explain", "overlapping-slices"), ("explain",)):
        status, output, _ = on_terminal(60, *arguments)
        assert status == 0
        assert max(map(columns, _plain(output).splitlines())) <= 60
        assert "\x1b[" in output
    printed_ = printed("explain", "overlapping-slices")
    shown = _plain(on_terminal(60, "explain", "overlapping-slices")[1])
    assert shown.split() == printed_.replace("#", "").split()
    assert shown.startswith("overlapping-slices\n\n**Two values occupy")
