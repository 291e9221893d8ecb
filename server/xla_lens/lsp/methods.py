"""The requests that the server says that it answers."""

from collections.abc import Mapping
from typing import Any, Final

from lsprotocol import types as lsp

METHODS: Final[Mapping[str, Any]] = {
    lsp.TEXT_DOCUMENT_HOVER: None,
    lsp.TEXT_DOCUMENT_DEFINITION: None,
    lsp.TEXT_DOCUMENT_DECLARATION: None,
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: None,
    lsp.TEXT_DOCUMENT_REFERENCES: None,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: None,
    lsp.TEXT_DOCUMENT_INLAY_HINT: None,
}
"""The requests that are answered, with what is told of them at the start; `xla_lens.lsp.requests` has the answers."""

REFRESHES: Final[Mapping[str, str]] = {
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: lsp.WORKSPACE_DIAGNOSTIC_REFRESH,
    lsp.TEXT_DOCUMENT_INLAY_HINT: lsp.WORKSPACE_INLAY_HINT_REFRESH,
    lsp.TEXT_DOCUMENT_CODE_LENS: lsp.WORKSPACE_CODE_LENS_REFRESH,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: lsp.WORKSPACE_FOLDING_RANGE_REFRESH,
}
"""How an editor is asked to ask for something again."""
