"""Kate, set up as in docs/editors.md. The tests cannot type in it, so they check the messages that it sends."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from editors.driving import SECONDS, Dump, Home, installed, setup_block


@pytest.fixture
def kate(home: Home) -> Iterator[Any]:
    """A function that opens a file in Kate."""
    program = installed(os.environ.get("KATE", "kate"))
    home.write(".local/share/org.kde.syntax-highlighting/syntax/xla-dump.xml", setup_block("Kate", "xml"))
    home.write(".config/kate/lspclient/settings.json", setup_block("Kate", "json"))
    # The answer to the question whether Kate may start the server.
    allowed = home.folder / "bin" / "xla-lens"
    home.write(".config/katerc", f"[lspclient]\nAllowedServerCommandLines={allowed} server\n")
    environment = home.environment | {"QT_QPA_PLATFORM": "offscreen"}
    started: list[subprocess.Popen[bytes]] = []

    def open_file(path: Path) -> None:
        command: list[str | Path] = [program, "--new", "--block", path]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    yield open_file
    for process in started:
        # Kate 22.12 then sends a `shutdown` without an id, which violates the protocol.
        process.terminate()
        process.wait(SECONDS)
    home.wait_for_exit()


@pytest.mark.parametrize(("dump", "end"), [("split", "live-range"), ("single", "buffer-assignment")])
def test_kate_starts_the_server(kate: Any, home: Home, dump: str, end: str, request: pytest.FixtureRequest) -> None:
    opened: Dump = request.getfixturevalue(dump)
    file = opened.file(end)
    kate(file)
    (outline,) = home.answers("textDocument/documentSymbol")
    assert outline
    (initialize,) = home.sent("initialize")
    assert initialize["params"]["rootUri"] == opened.folder.as_uri()
    (document,) = home.sent("textDocument/didOpen")
    assert document["params"]["textDocument"]["languageId"] == "xla-dump"
    (found,) = home.received("textDocument/publishDiagnostics")
    assert (found["uri"], [each["code"] for each in found["diagnostics"]]) == (file.as_uri(), ["peak-understated"])
