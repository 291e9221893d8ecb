"""`xla-lens check --all-features`: nothing goes wrong on real dumps, and what goes wrong is found."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from cli.test_cli import run
from samples import DUMPS, GLUED, PALLAS, PEAK_NAMES, SEED, SPLIT, TPU, facts
from xla_lens.lsp.every_request import check_requests
from xla_lens.lsp.requests import HANDLERS, Quick, Wide

_OUTCOME = re.compile(r"(.*): ([\d,]+) requests at ([\d,]+) words, ([\d,]+) went wrong")


@pytest.mark.parametrize("fact", facts(DUMPS)[::3], ids=lambda fact: fact["file"])
def test_nothing_goes_wrong(capsys: pytest.CaptureFixture[str], fact: dict[str, Any]) -> None:
    path = DUMPS / fact["file"]
    status, out, err = run(capsys, "check", "--all-features", "--sample", 5, path)
    assert (status, err) == (0, "")
    (outcome,) = map(_OUTCOME.fullmatch, out.splitlines())
    assert outcome
    assert outcome[1] == str(path)
    assert int(outcome[2].replace(",", "")) > 60
    assert (outcome[3], outcome[4]) == ("5", "0")


@pytest.mark.parametrize("path", [SEED, GLUED, SPLIT, TPU, PALLAS, PEAK_NAMES], ids=lambda path: path.name[:40])
def test_nothing_goes_wrong_at_any_word(path: Path) -> None:
    outcome = check_requests(path, None)
    assert outcome.wrong == []
    assert outcome.requests["textDocument/hover"] == outcome.words > 60


def test_a_folder_is_all_of_its_files(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "check", "--all-features", "--sample", 1, SPLIT.parent)
    files = [Path(line.split(": ")[0]).name for line in out.splitlines()]
    assert len(files) == 5
    assert {name.split("_optimizations")[1] for name in files} == {
        ".txt",
        "-buffer-assignment.txt",
        "-buffer-assignment-values.txt",
        "-live-range.txt",
        "-memory-usage-report.txt",
    }


def test_what_is_no_dump_is_said_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing of a dump\n")
    status, out, err = run(capsys, "check", "--all-features", path)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "not an XLA dump" in err


def test_all_requests_are_made() -> None:
    values = Path(str(SPLIT).replace("-buffer-assignment.txt", "-buffer-assignment-values.txt"))
    assert check_requests(values, 60).requests.keys() == HANDLERS.keys()


def _raises(_context: Any, _params: Any) -> Any:
    raise ZeroDivisionError("broken")


def _hover(row: int, start: int, end: int) -> Callable[[Any, Any], lsp.Hover]:
    range_ = lsp.Range(lsp.Position(row, start), lsp.Position(row, end))
    return lambda _context, _params: lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, "x"), range_)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_raises, "ZeroDivisionError: broken"),
        (lambda *_: [1, 2], "TypeError: "),
        (_hover(0, 5, 4), "ValueError: a range that ends before it starts: (0, 5) to (0, 4)"),
        (_hover(0, 0, 999), "ValueError: a position that is not in its file: 0:999"),
        (_hover(9999, 0, 0), "ValueError: a position that is not in its file: 9999:0"),
    ],
)
def test_what_goes_wrong_is_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: Any, told: str
) -> None:
    monkeypatch.setitem(HANDLERS, lsp.TEXT_DOCUMENT_HOVER, Quick(answer))
    status, out, err = run(capsys, "check", "--all-features", "--sample", 2, SEED)
    assert (status, err) == (1, "")
    *wrong, last = out.splitlines()
    assert last.endswith("at 2 words, 2 went wrong")
    assert len(wrong) == 2
    for line in wrong:
        assert re.match(rf"{re.escape(str(SEED))}:\d+:\d+: textDocument/hover: {re.escape(told)}", line)


_FIRST = (lsp.TEXT_DOCUMENT_CODE_LENS, lsp.TEXT_DOCUMENT_DOCUMENT_LINK, lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
"""Requests whose answers lead to others."""


@pytest.mark.parametrize("broken", [_FIRST, HANDLERS.keys() - set(_FIRST)], ids=["first", "others"])
def test_each_request_that_fails_is_found(monkeypatch: pytest.MonkeyPatch, broken: Iterable[str]) -> None:
    async def raises(*_: Any) -> Any:
        raise ZeroDivisionError("broken")

    for method in broken:
        handler = HANDLERS[method]
        answer = raises if isinstance(handler, Wide) else _raises
        monkeypatch.setitem(HANDLERS, method, type(handler)(answer))
    values = Path(str(SPLIT).replace("-buffer-assignment.txt", "-buffer-assignment-values.txt"))
    wrong = [line.rsplit(": ", 2) for line in check_requests(values, 60).wrong]
    assert {(error, reason) for _, error, reason in wrong} == {("ZeroDivisionError", "broken")}
    assert {where.split(": ")[-1] for where, _, _ in wrong} == set(broken)
