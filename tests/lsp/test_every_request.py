"""All requests at all words of real dumps succeed."""

from pathlib import Path

import pytest

from every_request import check_requests
from samples import GLUED, SPLIT, TPU
from xla_lens.lsp.handlers import HANDLERS


@pytest.mark.parametrize("path", [GLUED, TPU], ids=lambda path: path.name[:40])
def test_requests_at_every_word_succeed(path: Path) -> None:
    outcome = check_requests(path, None)
    assert outcome.failures == []
    assert outcome.requests["textDocument/hover"] == outcome.words > 60


def test_every_request_is_made() -> None:
    values = Path(str(SPLIT).replace("-buffer-assignment.txt", "-buffer-assignment-values.txt"))
    assert check_requests(values, 60).requests.keys() == HANDLERS.keys()
