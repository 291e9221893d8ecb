"""The server over standard input and output, with the capabilities of three editors."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from samples import SEED

_CLIENTS = [
    "visual_studio_code",
    pytest.param("neovim", marks=pytest.mark.slow),
    pytest.param("emacs", marks=pytest.mark.slow),
]


@pytest_lsp.fixture(
    params=_CLIENTS, config=ClientServerConfig(server_command=[sys.executable, "-m", "xla_lens", "server"])
)
async def client(request: pytest.FixtureRequest, lsp_client: LanguageClient) -> AsyncIterator[None]:
    capabilities = client_capabilities(request.param)
    await lsp_client.initialize_session(lsp.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()


def _open(client: LanguageClient, path: Path, text: str | None = None, version: int = 1) -> str:
    uri = path.as_uri()
    text = path.read_text() if text is None else text
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "xla-dump", version, text)))
    return uri


def _units(client: LanguageClient, text: str) -> int:
    """Return the width of a text in the units of the negotiated encoding."""
    general = client.capabilities.general if client.capabilities else None
    offered = (general.position_encodings if general else None) or [lsp.PositionEncodingKind.Utf16]
    if offered[0] == lsp.PositionEncodingKind.Utf8:
        return len(text.encode())
    return len(text.encode("utf-16-le")) // 2


def _at(client: LanguageClient, text: str, line: str, word: str) -> lsp.Position:
    """Return the position of a word in a line that occurs once in a text."""
    rows = [row for row, found in enumerate(text.split("\n")) if found == line]
    assert len(rows) == 1, line
    return lsp.Position(rows[0], _units(client, line[: line.index(word)]))


def _shown(client: LanguageClient, location: lsp.Location, text: str | None = None) -> str:
    """Return the text of a location."""
    text = text if text is not None else Path(location.uri.removeprefix("file://")).read_text()
    line = text.split("\n")[location.range.start.line]
    assert location.range.start.line == location.range.end.line
    units = [_units(client, line[:column]) for column in range(len(line) + 1)]
    return line[units.index(location.range.start.character) : units.index(location.range.end.character)]


def _places(answer: object) -> list[lsp.Location]:
    """Return the locations of an answer, which may be links."""
    assert isinstance(answer, list)
    return [
        lsp.Location(place.target_uri, place.target_selection_range) if isinstance(place, lsp.LocationLink) else place
        for place in answer
    ]


def _position_params(uri: str, position: lsp.Position) -> tuple[lsp.TextDocumentIdentifier, lsp.Position]:
    return lsp.TextDocumentIdentifier(uri), position


async def test_dump_in_one_file_has_all_features(client: LanguageClient) -> None:
    text = SEED.read_text()
    uri = _open(client, SEED)
    place = _position_params(uri, _at(client, text, "    cublas-gemm.1{}:4-5", "gemm"))

    hover = await client.text_document_hover_async(lsp.HoverParams(*place))
    assert hover is not None
    assert isinstance(hover.contents, lsp.MarkupContent)
    title = "**`cublas-gemm.1`** · 4.0 KiB · 0.7 % of the HBM peak · `test_auto_sharding_basic.py:52`"
    assert hover.contents.value.startswith(f"{title}\n")
    assert hover.range is not None
    assert _shown(client, lsp.Location(uri, hover.range), text) == "cublas-gemm.1{}"

    answers = {
        "definition": await client.text_document_definition_async(lsp.DefinitionParams(*place)),
        "declaration": await client.text_document_declaration_async(lsp.DeclarationParams(*place)),
        "type": await client.text_document_type_definition_async(lsp.TypeDefinitionParams(*place)),
    }
    shown = {name: [_shown(client, location) for location in _places(locations)] for name, locations in answers.items()}
    assert shown == {
        "definition": ["<4 cublas-gemm.1 @0>"],
        "declaration": ["<4 cublas-gemm.1 @0>"],
        "type": ["allocation 2: 0x399bf70, size 4096, maybe-live-out:"],
    }
    found = await client.text_document_references_async(
        lsp.ReferenceParams(lsp.ReferenceContext(include_declaration=True), *place)
    )
    assert [_shown(client, location) for location in found or []] == [
        "<4 cublas-gemm.1 @0>",
        "<4 cublas-gemm.1 @0>",
        "cublas-gemm.1",
        "negate.0, operand 0",
        "cublas-gemm.1{}",
        "cublas-gemm.1: 4096 bytes",
        "cublas-gemm.1",
        "%cublas-gemm.1",
    ]
    # Diagnostics are sent before any answer about the document.
    (diagnostic,) = client.diagnostics[uri]
    assert diagnostic.code == "peak-understated"
    assert diagnostic.severity == lsp.DiagnosticSeverity.Information
    assert diagnostic.code_description
    page = Path(url2pathname(urlsplit(diagnostic.code_description.href).path))
    assert page.read_text().startswith("# peak-understated\n")
