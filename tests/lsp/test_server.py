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


async def test_dump_in_one_file_has_all_features(client: LanguageClient) -> None:
    text, uri = SEED.read_text(), SEED.as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "xla-dump", 1, text)))
    row = text.split("\n").index("    cublas-gemm.1{}:4-5")
    document, position = lsp.TextDocumentIdentifier(uri), lsp.Position(row, 11)
    hover = await client.text_document_hover_async(lsp.HoverParams(document, position))
    assert hover
    assert isinstance(hover.contents, lsp.MarkupContent)
    title = "**`cublas-gemm.1`** · 4.0 KiB · 0.7 % of the HBM peak · `test_auto_sharding_basic.py:52`"
    assert hover.contents.value.startswith(f"{title}\n")
    assert hover.range == lsp.Range(lsp.Position(row, 4), lsp.Position(row, 19))
    including = lsp.ReferenceContext(include_declaration=True)
    found = await client.text_document_references_async(lsp.ReferenceParams(including, document, position))
    assert len(found or []) == 8
    # Diagnostics are sent before any answer about the document.
    (diagnostic,) = client.diagnostics[uri]
    assert diagnostic.code == "peak-understated"
    assert diagnostic.severity == lsp.DiagnosticSeverity.Information
    assert diagnostic.code_description
    page = Path(url2pathname(urlsplit(diagnostic.code_description.href).path))
    assert page.read_text().startswith("# peak-understated\n")
