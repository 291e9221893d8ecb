"""What the editor supports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.capabilities import ServerCapabilitiesBuilder, get_capability

from xla_lens.text.encoding import Encoding

_REFRESH_SUPPORT: Final = {
    lsp.WORKSPACE_DIAGNOSTIC_REFRESH: "workspace.diagnostics.refresh_support",
    lsp.WORKSPACE_INLAY_HINT_REFRESH: "workspace.inlay_hint.refresh_support",
    lsp.WORKSPACE_CODE_LENS_REFRESH: "workspace.code_lens.refresh_support",
    lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH: "workspace.semantic_tokens.refresh_support",
    lsp.WORKSPACE_FOLDING_RANGE_REFRESH: "workspace.folding_range.refresh_support",
}

SOURCE_METHODS: Final[Mapping[str, Mapping[str, Any]]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: {},
    lsp.TEXT_DOCUMENT_DID_CHANGE: {"syncKind": lsp.TextDocumentSyncKind.Incremental.value},
    lsp.TEXT_DOCUMENT_DID_SAVE: {"includeText": False},
    lsp.TEXT_DOCUMENT_DID_CLOSE: {},
    lsp.TEXT_DOCUMENT_HOVER: {},
    lsp.TEXT_DOCUMENT_INLAY_HINT: {"resolveProvider": False},
}
"""What is registered for files of the program, with the options of each."""

_SOURCE_SUPPORT: Final = {
    **dict.fromkeys(SOURCE_METHODS, "text_document.synchronization.dynamic_registration"),
    lsp.TEXT_DOCUMENT_HOVER: "text_document.hover.dynamic_registration",
    lsp.TEXT_DOCUMENT_INLAY_HINT: "text_document.inlay_hint.dynamic_registration",
}

_DRAWN: Final = frozenset({lsp.TEXT_DOCUMENT_HOVER, lsp.TEXT_DOCUMENT_INLAY_HINT})
"""What an editor that draws the memory of its lines by itself does not request."""


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """What the editor supports.

    `refreshes` are the refresh requests that it handles. `folding_limit` is None if the editor sets no limit.
    `has_pull_diagnostics` means that it requests diagnostics at all, `pulls_diagnostics` that it also refreshes them,
    so that the server need not publish any. `has_command_uris` means that links in Markdown may be `command:` URIs. It
    cannot open files above `largest_file_bytes`, if it has such a limit.
    `source_methods` are what can be registered for single files of the program.
    """

    encoding: Encoding = Encoding.UTF16
    refreshes: frozenset[str] = frozenset()
    folding_limit: int | None = None
    has_markdown: bool = True
    has_link_tooltips: bool = False
    has_pull_diagnostics: bool = False
    pulls_diagnostics: bool = False
    has_configuration: bool = False
    has_progress: bool = False
    has_show_document: bool = False
    has_text_document_content: bool = False
    has_did_load: bool = False
    source_methods: frozenset[str] = frozenset()
    has_command_uris: bool = False
    largest_file_bytes: int | None = None


def read_capabilities(capabilities: lsp.ClientCapabilities) -> ClientCapabilities:
    """Read what matters here of the capabilities that the editor announces."""

    def get(path: str) -> Any:
        return get_capability(capabilities, path)

    def supported(paths: Mapping[str, str]) -> frozenset[str]:
        return frozenset(method for method, path in paths.items() if get(path))

    experimental = capabilities.experimental
    own = experimental.get("xlaLens") if isinstance(experimental, Mapping) else None
    extras = own if isinstance(own, Mapping) else {}
    largest = extras.get("largestFileBytes")
    formats = get("text_document.hover.content_format") or [lsp.MarkupKind.Markdown]
    refreshes, pulls = supported(_REFRESH_SUPPORT), get("text_document.diagnostic") is not None
    return ClientCapabilities(
        encoding=Encoding(ServerCapabilitiesBuilder.choose_position_encoding(capabilities)),
        refreshes=refreshes,
        folding_limit=get("text_document.folding_range.range_limit"),
        has_markdown=lsp.MarkupKind.Markdown in formats,
        has_link_tooltips=bool(get("text_document.document_link.tooltip_support")),
        has_pull_diagnostics=pulls,
        # An edit of one file can change the findings in another, so pulling only works with refresh requests.
        pulls_diagnostics=pulls and lsp.WORKSPACE_DIAGNOSTIC_REFRESH in refreshes,
        has_configuration=bool(get("workspace.configuration")),
        has_progress=bool(get("window.work_done_progress")),
        has_show_document=bool(get("window.show_document.support")),
        has_text_document_content=get("workspace.text_document_content") is not None,
        has_did_load=extras.get("didLoad") is True,
        has_command_uris=extras.get("commandUris") is True,
        largest_file_bytes=largest if isinstance(largest, int) else None,
        source_methods=supported(_SOURCE_SUPPORT) - (_DRAWN if extras.get("sourceLines") is True else frozenset()),
    )
