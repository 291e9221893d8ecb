"""All requests at all words of real dumps succeed, and `every_request` finds those that fail."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from every_request import check_requests, main
from samples import GLUED, PALLAS, PEAK_NAMES, SEED, SPLIT, TPU
from xla_lens.lsp import handlers
from xla_lens.lsp.handlers import HANDLERS


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the command line of `every_request`. Return the exit status and what it prints."""
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


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
