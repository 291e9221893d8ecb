"""Kate, set up as in docs/editors.md. There is no way to type in it; what it says to the server is looked at."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from editors.driving import SECONDS, Dump, Home, setup_block


@pytest.fixture
def kate(home: Home) -> Iterator[Any]:
    """A function that opens a file in Kate."""
    program = os.environ.get("KATE", "kate")
    assert shutil.which(program), f"there is no {program}: make test-editors installs it"
    home.write(".local/share/org.kde.syntax-highlighting/syntax/xla-dump.xml", setup_block("Kate", "xml"))
    home.write(".config/kate/lspclient/settings.json", setup_block("Kate", "json"))
    # What a person answers when Kate asks whether it may start the server.
    allowed = home.folder / "bin" / "xla-lens"
    home.write(".config/katerc", f"[lspclient]\nAllowedServerCommandLines={allowed} server\n")
    environment = home.environment | {"QT_QPA_PLATFORM": "offscreen"}
    started: list[subprocess.Popen[bytes]] = []

    def open_file(path: Path) -> None:
        command: list[str | Path] = [program, "--new", "--block", path]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    yield open_file
    for process in started:
        # Kate 22.12 then sends a `shutdown` without an id, against the protocol.
        process.terminate()
        process.wait(SECONDS)
    home.wait_for_the_end()


@pytest.mark.parametrize(("dump", "end"), [("split", "live-range"), ("single", "buffer-assignment")])
def test_it_starts_the_server(kate: Any, home: Home, dump: str, end: str, request: pytest.FixtureRequest) -> None:
    opened: Dump = request.getfixturevalue(dump)
    file = opened.file(end)
    kate(file)
    (outline,) = home.answers("textDocument/documentSymbol")
    assert outline
    (initialize,) = home.sent("initialize")
    assert initialize["params"]["rootUri"] == opened.folder.as_uri()
    (document,) = home.sent("textDocument/didOpen")
    assert document["params"]["textDocument"]["languageId"] == "xla-dump"
    (found,) = home.told("textDocument/publishDiagnostics")
    assert (found["uri"], [each["code"] for each in found["diagnostics"]]) == (file.as_uri(), ["peak-understated"])
