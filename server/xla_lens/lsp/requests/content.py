"""`workspace/textDocumentContent`: the text of a page."""

from typing import Final

from lsprotocol import types as lsp

from xla_lens.lsp.state import State
from xla_lens.text.positions import decode

_UNKNOWN: Final = "There is no such page, or its dump is neither open nor in the workspace.\n"


async def text_document_content(state: State, params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
    """The text of a page, or why there is none."""
    page = await state.page(params.uri)
    return lsp.TextDocumentContentResult(decode(page.document.data) if page else _UNKNOWN)
