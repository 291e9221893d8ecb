"""Rules for the tests of the command line."""

import pytest


@pytest.fixture(autouse=True)
def _written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that tests have just cut off count as written, so that no command waits for the rest."""
    monkeypatch.setattr("xla_lens.disk.loading._RECENT_SECONDS", 0)
