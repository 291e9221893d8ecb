"""All requests at all words of real dumps succeed, and `every_request` finds those that fail."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from every_request import check_requests, main
from samples import DUMPS, GLUED, PALLAS, PEAK_NAMES, SEED, SPLIT, TPU, facts
from xla_lens.lsp import handlers
from xla_lens.lsp.handlers import HANDLERS, StateHandler

_OUTCOME = re.compile(r"(.*): ([\d,]+) requests at ([\d,]+) words, ([\d,]+) failed")


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the command line of `every_request`. Return the exit status and what it prints."""
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("fact", facts(DUMPS)[::3], ids=lambda fact: fact["file"])
def test_requests_about_real_dumps_succeed(capsys: pytest.CaptureFixture[str], fact: dict[str, Any]) -> None:
    path = DUMPS / fact["file"]
    status, out, err = _run(capsys, "--sample", 5, path)
    assert (status, err) == (0, "")
    (outcome,) = map(_OUTCOME.fullmatch, out.splitlines())
    assert outcome
    assert outcome[1] == str(path)
    assert int(outcome[2].replace(",", "")) > 60
    assert (outcome[3], outcome[4]) == ("5", "0")


@pytest.mark.parametrize("path", [SEED, GLUED, SPLIT, TPU, PALLAS, PEAK_NAMES], ids=lambda path: path.name[:40])
def test_requests_at_every_word_succeed(path: Path) -> None:
    outcome = check_requests(path, None)
    assert outcome.failures == []
    assert outcome.requests["textDocument/hover"] == outcome.words > 60


def test_every_request_is_made() -> None:
    values = Path(str(SPLIT).replace("-buffer-assignment.txt", "-buffer-assignment-values.txt"))
    assert check_requests(values, 60).requests.keys() == HANDLERS.keys()


def _raises(_context: Any, _params: Any) -> Any:
    raise ZeroDivisionError("broken")


def _hover(row: int, start: int, end: int) -> Callable[[Any, Any], lsp.Hover]:
    range_ = lsp.Range(lsp.Position(row, start), lsp.Position(row, end))
    return lambda _context, _params: lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, "x"), range_)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (_raises, "ZeroDivisionError: broken"),
        (lambda *_: [1, 2], "TypeError: "),
        (_hover(0, 5, 4), "ValueError: a range that ends before it starts: (0, 5) to (0, 4)"),
        (_hover(0, 0, 999), "ValueError: a position that is not in its file: 0:999"),
        (_hover(9999, 0, 0), "ValueError: a position that is not in its file: 9999:0"),
    ],
)
def test_failure_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: Any, reason: str
) -> None:
    find = handlers.function_of
    monkeypatch.setattr(handlers, "function_of", lambda name: answer if name == "hover.hover" else find(name))
    status, out, err = _run(capsys, "--sample", 2, SEED)
    assert (status, err) == (1, "")
    *wrong, last = out.splitlines()
    assert last.endswith("at 2 words, 2 failed")
    assert len(wrong) == 2
    for line in wrong:
        assert re.match(rf"{re.escape(str(SEED))}:\d+:\d+: textDocument/hover: {re.escape(reason)}", line)


_FIRST = (lsp.TEXT_DOCUMENT_CODE_LENS, lsp.TEXT_DOCUMENT_DOCUMENT_LINK, lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
"""Requests whose answers are used for further requests."""


@pytest.mark.parametrize("broken", [_FIRST, HANDLERS.keys() - set(_FIRST)], ids=["first", "others"])
def test_failure_of_each_request_is_reported(monkeypatch: pytest.MonkeyPatch, broken: Iterable[str]) -> None:
    async def raises(*_: Any) -> Any:
        raise ZeroDivisionError("broken")

    found: dict[str, Any] = {}
    for method in broken:
        handler = HANDLERS[method]
        if isinstance(handler, StateHandler):
            found[handler.name] = raises
        else:
            found[handler.dump] = _raises
    find = handlers.function_of
    monkeypatch.setattr(handlers, "function_of", lambda name: found.get(name) or find(name))
    values = Path(str(SPLIT).replace("-buffer-assignment.txt", "-buffer-assignment-values.txt"))
    wrong = [line.rsplit(": ", 2) for line in check_requests(values, 60).failures]
    assert {(error, reason) for _, error, reason in wrong} == {("ZeroDivisionError", "broken")}
    assert {where.split(": ")[-1] for where, _, _ in wrong} == set(broken)
