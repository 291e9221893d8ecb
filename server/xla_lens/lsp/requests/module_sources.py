"""Requests about an HLO module that have to do with the lines of the program, or with what the dump knows of it."""

from lsprotocol import types as lsp

from xla_lens.features.hlo_links import hlo_links
from xla_lens.lsp.plain import Plain
from xla_lens.lsp.requests.context import Context
from xla_lens.lsp.requests.documents import LINK_LIMIT, links_to


def list_links(context: Context, _params: lsp.DocumentLinkParams) -> Plain | None:
    """The links to sources."""
    if context.module is None:
        return None
    found = hlo_links(context.module, LINK_LIMIT + 1)
    return links_to(context, [(link.start, link.end, link.frame) for link in found])
